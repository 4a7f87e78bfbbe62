//! The link of slots that are served by worker processes: launches one, sends it the orders, reports what it does.
//!
//! Three tasks per worker: one takes orders and waits for the exit, one forwards notifications, and one per
//! output stream attributes lines to examples. They meet in the inbox of the run. The exit is reported
//! last, when everything the worker said and printed has been read: when the process has ended, its bytes are in the kernel, so
//! that takes no guess about time, and other holders of the pipes cannot hold it up.

use std::sync::Arc;
use std::time::Duration;

use proctor_process::protocol::{Notification, Reply};
use proctor_process::{Channel, Notifications, OutputStream, RequestError};
use serde::Deserialize;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::example_clock::ExampleClock;
use super::orders::{ExampleRun, OrderAction};
use super::output::{TailRecorder, report_lines};
use super::reports::{ExitFacts, FailedLoad, Report, ReturnedExample};
use super::worker_message::read_notification;
use super::{BoxFuture, HostRequests, OrderReceiver, ReportSender, SlotSeat, WorkerLink};

/// A worker process of some suite, ready to take orders.
pub(crate) struct LaunchedProcess {
    pub(crate) channel: Channel,
    pub(crate) notifications: Option<Notifications>,
    /// What answers its requests, where the suite has a host.
    pub(crate) host_requests: Option<HostRequests>,
    pub(crate) stdout: OutputStream,
    pub(crate) stderr: OutputStream,
    pub(crate) pid: Option<u32>,
    /// Resolves when the process has ended.
    pub(crate) ended: BoxFuture<ExitFacts>,
    /// Ends the process and its children, now.
    pub(crate) kill: Box<dyn FnMut() + Send>,
    /// Whether it is a worker of this library, which always replies to `__shutdown__`.
    pub(crate) replies_to_shutdown: bool,
}

/// Why a worker process is not there.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LaunchError {
    #[error("it was stopped while it started")]
    Stopped,
    #[error(transparent)]
    Start(#[from] proctor_process::StartError),
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error(transparent)]
    Suite(#[from] crate::suite::SuiteError),
    #[error("the suite could not be loaded again: {0}")]
    LoadedWithError(String),
    #[error("the forked worker did not connect")]
    NotConnected,
    #[error("the process ended while it loaded the suite")]
    EndedWhileLoading,
    #[error("the suite did not load within its time limit")]
    LoadedTooLong,
    #[error("the worker has no channel")]
    NoChannel,
    #[error(transparent)]
    Pipe(#[from] crate::suite::ruby::PipeError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Starts worker processes of one suite.
pub(crate) trait ProcessLauncher: Send + Sync + 'static {
    fn launch(&self, slot: u32, generation: u32)
    -> BoxFuture<Result<LaunchedProcess, LaunchError>>;
}

/// The link of one slot.
pub(crate) struct ProcessLink(pub(crate) Arc<dyn ProcessLauncher>);

impl WorkerLink for ProcessLink {
    fn serve(self: Arc<Self>, seat: SlotSeat) -> BoxFuture<()> {
        let launching = self.0.launch(seat.reports.slot(), seat.reports.generation());
        Box::pin(serve(launching, seat))
    }

    fn has_process(&self) -> bool {
        true
    }
}

/// How long a dump of a hanging worker may take.
const DUMP_TIMEOUT: Duration = Duration::from_millis(80);
/// How long a process may live on after it has closed its channel, or has agreed to end: it cannot report anything more.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs a worker to its end.
async fn serve(launching: BoxFuture<Result<LaunchedProcess, LaunchError>>, seat: SlotSeat) {
    let SlotSeat { mut orders, reports, marks } = seat;
    let launched = match launch_unless_killed(launching, &mut orders).await {
        Ok(launched) => launched,
        Err(error) => {
            return reports.send(start_failed(&error)).await;
        }
    };
    let tails = TailRecorder::default();
    let clock = Arc::new(ExampleClock::default());
    let LaunchedProcess {
        channel,
        notifications,
        host_requests,
        stdout,
        stderr,
        pid,
        mut ended,
        mut kill,
        replies_to_shutdown,
    } = launched;
    let streams = [stdout, stderr];
    let mut readers = report_output(&streams, &marks, &tails, &reports);
    readers.extend(notifications.map(|from| {
        tokio::spawn(forward(from, host_requests, reports.clone(), Arc::clone(&clock)))
    }));
    reports.send(Report::Ready { pid }).await;
    let mut hung_at = Vec::new();
    let mut ending = None;
    let mut silent = Box::pin(wait_for_overdue_exit(channel.clone()));
    let mut is_silent = false;
    let mut time_is_up = Box::pin(clock.time_is_up());
    let mut timed_out = false;
    let mut exit = loop {
        tokio::select! {
            exit = &mut ended => break exit,
            Some(order) = orders.next() => match order.action {
                OrderAction::Kill { timed_out } => {
                    if timed_out {
                        hung_at = backtrace(&channel).await;
                    }
                    kill();
                }
                OrderAction::Shutdown { stopped } => {
                    let ended = shut_down(channel.clone(), reports.clone(), stopped);
                    ending = Some(tokio::spawn(ended));
                }
                action => {
                    if let OrderAction::Run { units, .. } = &action {
                        clock.add_limits(units);
                    }
                    send_order(action, &channel, &reports, &marks);
                }
            },
            () = &mut time_is_up, if !timed_out => {
                timed_out = true;
                hung_at = backtrace(&channel).await;
                kill();
            }
            () = &mut silent, if !is_silent => {
                is_silent = true;
                kill();
            }
        }
    };
    channel.peer_is_gone();
    streams.iter().for_each(OutputStream::writer_ended);
    for reader in readers {
        // A task that panicked has nothing more to report.
        let _ = reader.await;
    }
    exit.unanswered = replies_to_shutdown && !has_answered(ending).await;
    if is_silent {
        let why = "the worker closed its channel and did not exit";
        exit.message.get_or_insert_with(|| why.to_owned());
    }
    (exit.backtrace, exit.timed_out) = (hung_at, timed_out);
    reports.send(Report::Exited { exit, tails: tails.take() }).await;
}

fn start_failed(error: &LaunchError) -> Report {
    let loading = match error {
        LaunchError::EndedWhileLoading => Some(FailedLoad::Ended),
        LaunchError::LoadedTooLong => Some(FailedLoad::TooLong),
        _ => None,
    };
    Report::StartFailed { message: error.to_string(), loading }
}

/// Starts the tasks that report what a worker prints to standard output and standard error.
fn report_output(
    [stdout, stderr]: &[OutputStream; 2],
    marks: &Arc<str>,
    tails: &TailRecorder,
    reports: &ReportSender,
) -> Vec<JoinHandle<()>> {
    let read = |stream: &OutputStream, is_stderr: bool| {
        let (marks, tails) = (Arc::clone(marks), tails.clone());
        tokio::spawn(report_lines(stream.clone(), is_stderr, marks, tails, reports.clone()))
    };
    vec![read(stdout, false), read(stderr, true)]
}

/// Whether the worker has replied to the order to end. Its exit may come before that order: then there was no reply either.
async fn has_answered(ending: Option<JoinHandle<bool>>) -> bool {
    match ending {
        Some(ending) => ending.await.unwrap_or_default(),
        None => false,
    }
}

/// Returns when the process should long have ended: it has closed its channel, so it can report nothing more.
async fn wait_for_overdue_exit(channel: Channel) {
    channel.closed().await;
    tokio::time::sleep(EXIT_TIMEOUT).await;
}

/// Asks a worker to end: what it has not started is not to be started; then it may go. Its last answer says how much it has sent.
async fn shut_down(channel: Channel, reports: ReportSender, stopped: bool) -> bool {
    let _ = channel.request("cancel", &json!({ "stopped": stopped }), None).await;
    match channel.request("__shutdown__", &(), None).await {
        Ok(reply) => {
            let farewell = reply.body.parse().unwrap_or_default();
            reports.send(Report::Farewell(farewell)).await;
            // It agreed to end. If it does not, the closed channel is what ends it.
            tokio::select! {
                () = tokio::time::sleep(EXIT_TIMEOUT) => channel.close(),
                _ = channel.closed() => {}
            }
            true
        }
        Err(error) => {
            report_failed_order(&error, &reports).await;
            false
        }
    }
}

/// Reports an order that failed, unless the worker is gone: then its exit is reported.
async fn report_failed_order(error: &RequestError, reports: &ReportSender) {
    if !matches!(error, RequestError::Closed { .. }) {
        reports.send(Report::Problem { message: error.to_string() }).await;
    }
}

/// Waits for the launch; an order to kill ends it. Other orders come only after the worker is ready.
async fn launch_unless_killed(
    mut launching: BoxFuture<Result<LaunchedProcess, LaunchError>>,
    orders: &mut OrderReceiver,
) -> Result<LaunchedProcess, LaunchError> {
    loop {
        tokio::select! {
            launched = &mut launching => return launched,
            order = orders.next() => match order.map(|order| order.action) {
                None | Some(OrderAction::Kill { .. }) => return Err(LaunchError::Stopped),
                Some(_) => {}
            },
        }
    }
}

/// So many notifications that wait are reported together.
const BATCH: usize = 64;

/// Reports what a worker notifies of and what its conversations come to, until its channel is closed and read to its end.
async fn forward(
    mut notifications: Notifications,
    host_requests: Option<HostRequests>,
    reports: ReportSender,
    clock: Arc<ExampleClock>,
) {
    let Some(mut host_requests) = host_requests else {
        while let Some(notification) = notifications.next().await {
            reports.send_all(read_waiting(notification, &mut notifications, &clock)).await;
        }
        return;
    };
    loop {
        // What the worker said before its request comes before the events of the answer.
        tokio::select! {
            biased;
            notification = notifications.next() => match notification {
                Some(notification) => {
                    reports.send_all(read_waiting(notification, &mut notifications, &clock)).await;
                }
                None => break,
            },
            events = host_requests.next() => reports.send_all(events).await,
        }
    }
    reports.send_all(host_requests.rest()).await;
}

/// A notification and those that wait behind it, read as reports.
fn read_waiting(
    first: Notification,
    waiting: &mut Notifications,
    clock: &ExampleClock,
) -> Vec<Report> {
    let mut all = vec![read_notification(first)];
    while all.len() < BATCH
        && let Some(notification) = waiting.try_next()
    {
        all.push(read_notification(notification));
    }
    clock.observe(&mut all);
    all
}

/// Sends an order on its way; its answer is awaited elsewhere, because orders must not wait for each other.
fn send_order(order: OrderAction, channel: &Channel, reports: &ReportSender, marks: &Arc<str>) {
    let (channel, reports, marks) = (channel.clone(), reports.clone(), Arc::clone(marks));
    tokio::spawn(async move {
        match order {
            OrderAction::Run { units, failures_left } => {
                let mut request = json!({"units": units, "marks": &*marks});
                if let Some(left) = failures_left {
                    request["failures_left"] = left.into();
                }
                let answer = channel.request("run", &request, None).await;
                if let Some(reason) = refusal(answer, units.iter().map(Vec::len).sum()) {
                    let examples = units.into_iter().flatten().collect();
                    reports.send(Report::Refused { examples, reason }).await;
                }
            }
            OrderAction::GiveBack { examples } => {
                let keys: Vec<String> =
                    examples.into_iter().map(|run: ExampleRun| run.key).collect();
                // A worker that fails at it keeps what it has; that is an answer too.
                let examples = match channel.request("unrun", &json!({"keys": keys}), None).await {
                    Ok(reply) => returned_examples(&reply),
                    Err(error) => {
                        report_failed_order(&error, &reports).await;
                        Vec::new()
                    }
                };
                reports.send(Report::Returned { examples }).await;
            }
            OrderAction::Prepare { request } => {
                let reply = match channel.request("prepare", &request, None).await {
                    Ok(reply) => reply.body.value(),
                    Err(error) => json!({ "not_prepared": error.to_string() }),
                };
                reports.send(Report::Prepared { reply }).await;
            }
            OrderAction::ChangeFailuresLeft { by } => {
                // A worker that is gone needs to know nothing.
                let _ = channel.notify("failures_left", &json!({"by": by})).await;
            }
            // These are not sent from here.
            OrderAction::Shutdown { .. } | OrderAction::Kill { .. } => {}
        }
    });
}

/// Why a worker will not run all it was given. One that is gone says so by its exit.
fn refusal(answer: Result<Reply, RequestError>, given: usize) -> Option<String> {
    match answer {
        Ok(reply) => {
            let accepted = reply.body.value()["accepted"].as_u64();
            let short = accepted.filter(|accepted| *accepted != given as u64)?;
            Some(format!("of {given} examples it accepted {short}"))
        }
        Err(RequestError::Closed { .. }) => None,
        Err(RequestError::Failed { error, .. }) => Some(error.message),
        Err(error) => Some(error.to_string()),
    }
}

/// The reply to `unrun`. Workers that know repetitions answer with `items`, others with keys only.
#[derive(Deserialize, Default)]
#[serde(default)]
struct UnrunReply {
    items: Option<Vec<ReturnedExample>>,
    returned: Vec<String>,
}

/// The examples that a worker gives back; none if its reply cannot be read.
fn returned_examples(reply: &Reply) -> Vec<ReturnedExample> {
    let UnrunReply { items, returned } = reply.body.parse().unwrap_or_default();
    let first = |key: String| ReturnedExample { key, repeat: 1 };
    items.unwrap_or_else(|| returned.into_iter().map(first).collect())
}

/// Where the main thread of a hanging worker is, if it still answers.
async fn backtrace(channel: &Channel) -> Vec<String> {
    let dump = timeout(DUMP_TIMEOUT, channel.request("dump", &(), None)).await;
    let Ok(Ok(reply)) = dump else { return Vec::new() };
    let value = reply.body.value();
    let mut threads = value["threads"].as_array().into_iter().flatten();
    let Some(main) = threads.find_map(|thread| thread["backtrace"].as_array()) else {
        return Vec::new();
    };
    let lines = main.iter().filter_map(|line| line.as_str().map(str::to_owned));
    // Below the test there is only our own library.
    lines.take_while(|line| !line.contains("/lib/proctor/runner/")).take(50).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_worker_has_answered_if_it_was_told_to_end_and_has_replied() {
        assert!(!has_answered(None).await, "it ended before it was told to");
        assert!(!has_answered(Some(tokio::spawn(async { false }))).await);
        assert!(has_answered(Some(tokio::spawn(async { true }))).await);
    }
}
