//! Runs over links that no real suite has yet: slots that join, leave and are lost while the run goes on.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use proctor_events::{Bus, BusConfig, EventType, ExampleFinished, RunId, Status, Timestamp};
use proctor_process::GuardCommand;

use super::{Controller, RunOptions, RunResult, RunSetup};
use crate::example::{Discovery, Listed, Register};
use crate::suite::{
    LoadNotices, OpenedSuite, Opening, SUITE_CAPABILITIES, Suite, SuiteCapabilities, SuiteEnd,
    SuiteEnvironment, SuiteKind,
};
use crate::worker_link::orders::{ExampleRun, OrderAction};
use crate::worker_link::reports::{ExitFacts, OutputTails, Report};
use crate::worker_link::{BoxFuture, ReportSender, SlotSeat, WorkerLink};

/// What a link does besides passing every example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkBehavior {
    /// The first worker of the first slot reports a further slot when it starts its first example, and is lost.
    LostOnce,
    /// Every worker is lost while it runs an example.
    AlwaysLost,
    /// The first slot leaves after its first example, when another has joined.
    HandsOver,
}

#[derive(Debug)]
struct FixtureSuite {
    habit: LinkBehavior,
    examples: usize,
}

impl SuiteKind for FixtureSuite {
    fn capabilities(&self) -> &'static SuiteCapabilities {
        SUITE_CAPABILITIES[0]
    }

    fn name(&self) -> &'static str {
        "fixture"
    }

    fn open<'a>(&'a self, _environment: &'a SuiteEnvironment) -> Opening<'a> {
        let mut register = Register::default();
        for number in 0..self.examples {
            let listed = serde_json::json!({"key": number.to_string(), "file": "./f", "path": [number.to_string()]});
            register.add("fixture", serde_json::from_value::<Listed>(listed).unwrap());
        }
        let habit = self.habit;
        Box::pin(std::future::ready(Ok(OpenedSuite {
            checkpoint_links: None,
            discovery: Discovery { examples: register.examples, ..Discovery::default() },
            observers: None,
            links: Box::new(move |_| Arc::new(FixtureLink(habit))),
            slots: Some(1),
            finish: Box::new(|_| Box::pin(std::future::ready(SuiteEnd::default()))),
        })))
    }
}

struct FixtureLink(LinkBehavior);

impl WorkerLink for FixtureLink {
    fn serve(self: Arc<Self>, seat: SlotSeat) -> BoxFuture<()> {
        Box::pin(serve(self.0, seat))
    }

    fn has_process(&self) -> bool {
        true
    }
}

async fn serve(habit: LinkBehavior, seat: SlotSeat) {
    let SlotSeat { mut orders, reports, .. } = seat;
    let is_first = (reports.slot(), reports.generation()) == (0, 1);
    reports.send(Report::Ready { pid: None }).await;
    if habit == LinkBehavior::HandsOver && is_first {
        reports.send(Report::SlotJoined).await;
    }
    while let Some(order) = orders.next().await {
        match order.action {
            OrderAction::Run { units, .. } => {
                for run in units.into_iter().flatten() {
                    if !perform(run, habit, is_first, &reports).await {
                        let message = "no route".to_owned();
                        return reports.send(Report::Unreachable { message }).await;
                    }
                    if habit == LinkBehavior::HandsOver && is_first {
                        reports.send(Report::SlotLeft).await;
                        break;
                    }
                }
            }
            OrderAction::GiveBack { .. } => {
                reports.send(Report::Returned { examples: Vec::new() }).await;
            }
            OrderAction::ChangeFailuresLeft { .. } | OrderAction::Prepare { .. } => {}
            OrderAction::Shutdown { .. } | OrderAction::Kill { .. } => break,
        }
    }
    let (exit, tails) = (ExitFacts::without_process(), OutputTails::default());
    reports.send(Report::Exited { exit, tails }).await;
}

/// Passes an example; false if the worker is lost while it runs it.
async fn perform(
    run: ExampleRun,
    habit: LinkBehavior,
    is_first: bool,
    reports: &ReportSender,
) -> bool {
    let ExampleRun { key, repeat, .. } = run;
    reports.send(Report::Started { key: key.clone(), repeat }).await;
    if habit == LinkBehavior::AlwaysLost || (habit == LinkBehavior::LostOnce && is_first) {
        reports.send(Report::SlotJoined).await;
        return false;
    }
    let outcome =
        Box::new(ExampleFinished { status: Status::Passed, ..ExampleFinished::default() });
    reports.send(Report::Finished { key, repeat, outcome }).await;
    true
}

/// The type of an event and the worker that it comes from.
type Seen = (Option<EventType>, Option<u32>);

/// The result of a run and its events.
fn run(habit: LinkBehavior, examples: usize) -> (Arc<RunResult>, Vec<Seen>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let controller = Controller::new(RunSetup {
        suites: vec![Suite::from(FixtureSuite { habit, examples })],
        environment: SuiteEnvironment {
            root: path.clone(),
            guard: GuardCommand::new("/nowhere", ["guard"]),
            cache: path.clone(),
            sockets: path,
            workers: 1,
            first_slot: 0,
            load_notices: LoadNotices::default(),
            final_report: None,
            sandbox: None,
            mutation: None,
        },
        options: RunOptions { workers: 1, ..RunOptions::default() },
        bus: Bus::new(BusConfig {
            run_id: RunId::new("links"),
            clock: Box::new(Timestamp::now),
            on_warning: Box::new(|_| {}),
        }),
    });
    let events = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&events);
    controller.on_event(move |event| {
        seen.lock().unwrap().push((event.body.event_type(), event.worker));
    });
    controller.start().unwrap();
    let result = controller.wait_timeout(Duration::from_secs(40)).expect("the run ends");
    controller.bus().close(Duration::from_secs(40));
    let events = events.lock().unwrap().clone();
    (result, events)
}

fn count(events: &[Seen], kind: EventType) -> usize {
    events.iter().filter(|(other, _)| *other == Some(kind)).count()
}

#[test]
fn what_a_lost_worker_ran_is_run_again_and_a_further_slot_helps() {
    let (result, events) = run(LinkBehavior::LostOnce, 3);
    assert_eq!((result.counts.passed, result.verdict.exit_code()), (3, Some(0)));
    assert_eq!(count(&events, EventType::ExampleStarted), 3, "the lost one is not announced twice");
    assert_eq!(count(&events, EventType::ExampleFinished), 3);
    assert!(events.contains(&(Some(EventType::WorkerStarted), Some(1))), "{events:?}");
}

#[test]
fn an_example_that_loses_every_worker_is_errored() {
    let (result, events) = run(LinkBehavior::AlwaysLost, 1);
    assert_eq!((result.failed.len(), result.verdict.exit_code()), (1, Some(1)));
    assert_eq!(count(&events, EventType::ExampleStarted), 1);
    assert_eq!(count(&events, EventType::ExampleFinished), 1);
}

#[test]
fn a_slot_that_leaves_gets_no_further_worker() {
    let (result, events) = run(LinkBehavior::HandsOver, 5);
    assert_eq!((result.counts.passed, result.verdict.exit_code()), (5, Some(0)));
    let of_first = (Some(EventType::WorkerStarted), Some(0));
    assert_eq!(events.iter().filter(|seen| **seen == of_first).count(), 1, "{events:?}");
    assert!(events.contains(&(Some(EventType::ExampleStarted), Some(1))), "{events:?}");
}
