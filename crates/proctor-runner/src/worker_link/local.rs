//! The link of slots whose examples run in this process: the input and output around [`LocalSlot`].

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::local_slot::{LocalSlot, SlotAction, SlotInput, StopCause};
use super::orders::ExampleRun;
use super::reports::{ExitFacts, OutputTails, Report};
use super::{BoxFuture, ReportSender, SlotSeat, WorkerLink};

/// Runs examples of a suite in this process.
pub(crate) trait ExamplePerformer: Send + Sync + 'static {
    /// Runs one example and reports its start, its events and its result. When `stop` resolves, it ends soon; a result that it
    /// does not report then is the dispatcher's to tell.
    fn perform(
        self: Arc<Self>,
        run: ExampleRun,
        reports: ReportSender,
        stop: oneshot::Receiver<StopCause>,
    ) -> BoxFuture<()>;

    /// Called before the first slot is served, and for every further one.
    fn slot_opened(&self, _reports: &ReportSender) {}

    /// Whether what waits is not to be started.
    fn is_paused(&self) -> bool {
        false
    }
}

/// The link of one slot.
pub(crate) struct LocalLink<P>(pub(crate) Arc<P>);

impl<P: ExamplePerformer> WorkerLink for LocalLink<P> {
    fn serve(self: Arc<Self>, seat: SlotSeat) -> BoxFuture<()> {
        self.0.slot_opened(&seat.reports);
        Box::pin(serve(Arc::clone(&self.0), seat))
    }

    fn has_process(&self) -> bool {
        false
    }
}

/// What is performed, and the way to stop it.
struct Performing {
    done: BoxFuture<()>,
    stop: Option<oneshot::Sender<StopCause>>,
    /// When its time is up.
    deadline: Option<Instant>,
}

async fn serve<P: ExamplePerformer>(performer: Arc<P>, seat: SlotSeat) {
    let SlotSeat { mut orders, reports, .. } = seat;
    let mut slot = LocalSlot::new();
    let mut performing: Option<Performing> = None;
    let mut link_closed = false;
    let mut timed_out = false;
    reports.send(Report::Ready { pid: None }).await;
    loop {
        let deadline = performing.as_ref().and_then(|performing| performing.deadline);
        let input = tokio::select! {
            biased;
            () = ended(&mut performing) => {
                performing = None;
                SlotInput::Performed
            }
            order = orders.next(), if !link_closed => {
                link_closed = order.is_none();
                order.map_or(SlotInput::LinkClosed, |order| SlotInput::Order(order.action))
            }
            () = time_is_up(deadline), if !timed_out => {
                timed_out = true;
                SlotInput::TimeIsUp
            }
        };
        for action in slot.step(input, performer.is_paused()) {
            match action {
                SlotAction::Send(report) => reports.send(report).await,
                SlotAction::Perform(run) => {
                    let (stop, stopped) = oneshot::channel();
                    let limit = run.limit_ms.map(Duration::from_millis);
                    let deadline = limit.map(|limit| Instant::now() + limit);
                    let done = Arc::clone(&performer).perform(run, reports.clone(), stopped);
                    performing = Some(Performing { done, stop: Some(stop), deadline });
                }
                SlotAction::Stop(cause) => {
                    let stop = performing.as_mut().and_then(|performing| performing.stop.take());
                    // The receiver is dropped when the example has just ended by itself.
                    let _ = stop.map(|stop| stop.send(cause));
                }
                SlotAction::End => {
                    let exit = ExitFacts { timed_out, ..ExitFacts::without_process() };
                    let tails = OutputTails::default();
                    return reports.send(Report::Exited { exit, tails }).await;
                }
            }
        }
    }
}

/// Resolves when what is performed has ended; never while nothing is.
async fn ended(performing: &mut Option<Performing>) {
    match performing {
        Some(performing) => performing.done.as_mut().await,
        None => std::future::pending().await,
    }
}

/// Resolves when the time of what is performed is up; never if it has no limit.
async fn time_is_up(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use proctor_events::{ExampleFinished, Status};
    use tokio::sync::mpsc;

    use super::super::orders::{OrderAction, OrderNumbers};
    use super::super::reports::ReportBatch;
    use super::*;

    /// An example named `hang` runs until it is stopped, all others pass at once.
    #[derive(Default)]
    struct Fixture {
        paused: AtomicBool,
    }

    impl ExamplePerformer for Fixture {
        fn perform(
            self: Arc<Self>,
            run: ExampleRun,
            reports: ReportSender,
            stop: oneshot::Receiver<StopCause>,
        ) -> BoxFuture<()> {
            Box::pin(async move {
                let ExampleRun { key, repeat, .. } = run;
                reports.send(Report::Started { key: key.clone(), repeat }).await;
                let status = if key == "hang" {
                    match stop.await {
                        Ok(StopCause::TimedOut) => Status::TimedOut,
                        _ => return,
                    }
                } else {
                    Status::Passed
                };
                let outcome = Box::new(ExampleFinished { status, ..ExampleFinished::default() });
                reports.send(Report::Finished { key, repeat, outcome }).await;
            })
        }

        fn is_paused(&self) -> bool {
            self.paused.load(Ordering::Relaxed)
        }
    }

    /// Passes every example; it leaves the rest to the trait.
    struct Plain;

    impl ExamplePerformer for Plain {
        fn perform(
            self: Arc<Self>,
            run: ExampleRun,
            reports: ReportSender,
            stop: oneshot::Receiver<StopCause>,
        ) -> BoxFuture<()> {
            Arc::new(Fixture::default()).perform(run, reports, stop)
        }
    }

    /// Serves a slot with these orders and returns its reports, in short.
    async fn served(performer: impl ExamplePerformer, orders: Vec<OrderAction>) -> Vec<String> {
        let (inbox, mut batches) = mpsc::channel::<ReportBatch>(64);
        let (seat, sender) = SlotSeat::new((0, 1), inbox, "".into());
        let mut numbers = OrderNumbers::default();
        let serving = tokio::spawn(Arc::new(LocalLink(Arc::new(performer))).serve(seat));
        for order in orders {
            sender.send(numbers.number(order)).unwrap();
            // The slot gets to what it can do before the next order.
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
        }
        drop(sender);
        serving.await.unwrap();
        let mut all = Vec::new();
        while let Some(batch) = batches.recv().await {
            all.extend(batch.reports.into_iter().map(|report| match report {
                Report::Started { key, .. } => format!("started {key}"),
                Report::Finished { key, outcome, .. } => {
                    format!("{key} {}", outcome.status.as_str())
                }
                Report::Returned { examples } => format!("returned {}", examples.len()),
                Report::Ready { .. } => "ready".to_owned(),
                Report::Exited { exit, .. } => format!("exited {:?}", exit.status),
                other => format!("{other:?}"),
            }));
        }
        all
    }

    fn run(keys: &[&str]) -> OrderAction {
        let unit = |key: &&str| {
            vec![ExampleRun { key: (*key).to_owned(), repeat: 1, attempt: 1, limit_ms: None }]
        };
        OrderAction::Run { units: keys.iter().map(unit).collect(), failures_left: None }
    }

    #[tokio::test]
    async fn examples_run_in_order_and_the_exit_is_the_last_report() {
        let reports = served(
            Fixture::default(),
            vec![run(&["a", "b"]), OrderAction::Shutdown { stopped: false }],
        )
        .await;
        assert_eq!(
            reports,
            ["ready", "started a", "a passed", "started b", "b passed", "exited Some(0)"]
        );
    }

    #[tokio::test]
    async fn a_kill_stops_what_runs_and_the_rest_is_not_run() {
        let kill = |timed_out| OrderAction::Kill { timed_out };
        let reports = served(Fixture::default(), vec![run(&["hang", "b"]), kill(true)]).await;
        assert_eq!(reports, ["ready", "started hang", "hang timed_out", "exited Some(0)"]);
        let reports = served(Fixture::default(), vec![run(&["hang", "b"]), kill(false)]).await;
        assert_eq!(reports, ["ready", "started hang", "exited Some(0)"]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_example_that_exceeds_its_limit_is_stopped_and_ends_the_slot() {
        let (inbox, mut batches) = mpsc::channel::<ReportBatch>(64);
        let (seat, orders) = SlotSeat::new((0, 1), inbox, "".into());
        let mut numbers = OrderNumbers::default();
        let limited = |key: &str| {
            let run = ExampleRun { key: key.to_owned(), repeat: 1, attempt: 1, limit_ms: Some(50) };
            vec![run]
        };
        let units = vec![limited("a"), limited("hang"), limited("b")];
        orders.send(numbers.number(OrderAction::Run { units, failures_left: None })).unwrap();
        let began = Instant::now();
        Arc::new(LocalLink(Arc::new(Fixture::default()))).serve(seat).await;
        assert_eq!(began.elapsed(), Duration::from_millis(50));
        let mut results = Vec::new();
        while let Some(batch) = batches.recv().await {
            for report in batch.reports {
                match report {
                    Report::Finished { key, outcome, .. } => results.push((key, outcome.status)),
                    Report::Exited { exit, .. } => assert!(exit.timed_out),
                    _ => {}
                }
            }
        }
        let expected = [("a", Status::Passed), ("hang", Status::TimedOut)];
        assert_eq!(results, expected.map(|(key, status)| (key.to_owned(), status)));
    }

    #[tokio::test]
    async fn a_suite_that_knows_no_pause_runs_what_it_is_given() {
        let reports =
            served(Plain, vec![run(&["a"]), OrderAction::Shutdown { stopped: false }]).await;
        assert_eq!(reports, ["ready", "started a", "a passed", "exited Some(0)"]);
    }

    #[tokio::test]
    async fn a_paused_suite_gives_back_what_it_has() {
        let paused = Fixture { paused: AtomicBool::new(true) };
        let OrderAction::Run { units, .. } = run(&["a"]) else { unreachable!() };
        let back = OrderAction::GiveBack { examples: units.into_iter().flatten().collect() };
        let reports =
            served(paused, vec![run(&["a"]), back, OrderAction::Shutdown { stopped: false }]).await;
        assert_eq!(reports, ["ready", "returned 1", "exited Some(0)"]);
    }

    #[tokio::test]
    async fn a_link_that_closes_ends_the_slot() {
        let reports = served(Fixture::default(), vec![run(&["hang"])]).await;
        assert_eq!(reports, ["ready", "started hang", "exited Some(0)"]);
    }
}
