//! One worker process, from launch to exit: carries out the dispatcher's orders and reports what happens.
//!
//! Three tasks per worker: one takes orders and waits for the exit, one forwards notifications, and one per
//! output stream attributes lines to examples. They meet in the inbox of the run. The exit is reported
//! last, when everything the worker said and printed has been read: when the process has ended, its bytes are in the kernel, so
//! that takes no guess about time, and whoever else holds the pipes cannot hold it up.

mod asking;
mod output;
pub(crate) mod said;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use proctor_process::protocol::Reply;
use proctor_process::{Channel, Notifications, OutputStream, RequestError};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;

pub(crate) use self::asking::Asking;
pub(crate) use self::output::{Owner, Tails};
use crate::dispatch::Exit;

/// A boxed future.
pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A worker process of some suite, ready to take orders.
pub(crate) struct Launched {
    pub(crate) channel: Channel,
    pub(crate) notifications: Option<Notifications>,
    /// What it may ask of us, where it may.
    pub(crate) asking: Option<Asking>,
    pub(crate) stdout: OutputStream,
    pub(crate) stderr: OutputStream,
    pub(crate) pid: Option<u32>,
    /// Resolves when the process has ended.
    pub(crate) ended: BoxFuture<Exit>,
    /// Ends the process and its children, now.
    pub(crate) kill: Box<dyn FnMut() + Send>,
    /// Whether it is a worker of our own library, which answers when it is told to end.
    pub(crate) answers: bool,
}

/// Starts workers of one suite.
pub(crate) trait Launcher: Send + Sync {
    /// Starts the process for a slot.
    fn launch(&self, slot: u32, generation: u32) -> BoxFuture<Result<Launched, String>>;

    /// Serves a slot from launch to exit: by a process, unless a suite runs its examples right here.
    fn serve(
        self: Arc<Self>,
        place: Place,
        orders: mpsc::UnboundedReceiver<Order>,
    ) -> BoxFuture<()> {
        let launching = self.launch(place.inbox.slot, place.inbox.generation);
        Box::pin(serve(launching, orders, place.inbox, place.marks))
    }

    /// Whether its slots are worker processes, with a number and a life of their own to report.
    fn has_processes(&self) -> bool {
        true
    }
}

/// Where a worker belongs: whom it reports to, and how it marks output.
pub(crate) struct Place {
    pub(crate) inbox: Inbox,
    pub(crate) marks: Arc<str>,
}

/// An order of the dispatcher, with jobs already named as the worker knows them.
#[derive(Debug)]
pub(crate) enum Order {
    /// Run these units; after so many failures, wait.
    Run { units: Vec<Vec<Item>>, failures_left: Option<u32> },
    /// So many more failures are allowed, or fewer.
    ChangeFailuresLeft(i32),
    /// Give these back.
    GiveBack(Vec<String>),
    /// End when through.
    Shutdown,
    /// End now.
    Kill { timed_out: bool },
}

/// One example to run.
#[derive(Debug, Clone, serde::Serialize)]
pub(crate) struct Item {
    pub(crate) key: String,
    pub(crate) repeat: u32,
    pub(crate) attempt: u32,
}

/// What a worker reports.
#[derive(Debug)]
pub(crate) enum Report {
    Ready {
        pid: Option<u32>,
    },
    StartFailed(String),
    Said(proctor_process::protocol::Notification),
    /// What examples that run in this process have to say, several things at once.
    Heard(Vec<said::Said>),
    /// The run has spent what it may: nothing more shall be started.
    StopRun,
    Returned(Vec<(String, u32)>),
    /// It will not run these, for this reason.
    Refused(Vec<(String, u32)>, String),
    /// What it says it has sent, when it ends properly.
    Farewell(Farewell),
    Printed {
        stderr: bool,
        owner: Option<Arc<Owner>>,
        line: Arc<str>,
    },
    Problem(String),
    Exited {
        exit: Exit,
        tails: Tails,
    },
}

impl Report {
    /// A slot without a process has come to its end.
    pub(crate) fn ended() -> Self {
        let exit = Exit { status: Some(0), ..Exit::default() };
        Self::Exited { exit, tails: Tails::default() }
    }
}

/// How much a worker says it has sent. Numbers that it does not give are absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default)]
pub(crate) struct Farewell {
    /// `ExampleStarted`.
    pub(crate) started: Option<u64>,
    /// `ExampleFinished`.
    pub(crate) finished: Option<u64>,
    /// `ErrorOutsideExample`.
    pub(crate) errors: Option<u64>,
}

/// A report with its sender.
#[derive(Debug)]
pub(crate) struct FromWorker {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
    pub(crate) report: Report,
}

/// Where workers report to.
#[derive(Clone)]
pub(crate) struct Inbox {
    slot: u32,
    generation: u32,
    sender: mpsc::Sender<FromWorker>,
}

impl Inbox {
    pub(crate) fn new(slot: u32, generation: u32, sender: mpsc::Sender<FromWorker>) -> Self {
        Self { slot, generation, sender }
    }

    /// Waits while the run is behind; that is the back-pressure. A run that is over hears nothing more.
    pub(crate) async fn send(&self, report: Report) {
        let message = FromWorker { slot: self.slot, generation: self.generation, report };
        let _ = self.sender.send(message).await;
    }
}

/// How long a dump of a hanging worker may take.
const DUMP_WITHIN: Duration = Duration::from_millis(80);
/// How long a process may live on after it has closed its channel, or has agreed to end: it cannot report anything more.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// Runs a worker to its end.
pub(crate) async fn serve(
    launching: BoxFuture<Result<Launched, String>>,
    mut orders: mpsc::UnboundedReceiver<Order>,
    inbox: Inbox,
    marks: Arc<str>,
) {
    let launched = match launch_unless_killed(launching, &mut orders).await {
        Ok(launched) => launched,
        Err(message) => return inbox.send(Report::StartFailed(message)).await,
    };
    let tails = Tails::default();
    let Launched {
        channel,
        notifications,
        asking,
        stdout,
        stderr,
        pid,
        mut ended,
        mut kill,
        answers,
    } = launched;
    let streams = [stdout.clone(), stderr.clone()];
    let readers = [
        notifications
            .map(|notifications| tokio::spawn(forward(notifications, asking, inbox.clone()))),
        Some(tokio::spawn(output::attribute(
            stdout,
            false,
            Arc::clone(&marks),
            tails.clone(),
            inbox.clone(),
        ))),
        Some(tokio::spawn(output::attribute(
            stderr,
            true,
            Arc::clone(&marks),
            tails.clone(),
            inbox.clone(),
        ))),
    ];
    inbox.send(Report::Ready { pid }).await;
    let mut hung_at = Vec::new();
    let mut ending = None;
    let silent = Box::pin(silence(channel.clone()));
    tokio::pin!(silent);
    let mut is_silent = false;
    let mut exit = loop {
        tokio::select! {
            exit = &mut ended => break exit,
            Some(order) = orders.recv() => match order {
                Order::Kill { timed_out } => {
                    if timed_out {
                        hung_at = backtrace(&channel).await;
                    }
                    kill();
                }
                Order::Shutdown => {
                    ending = Some(tokio::spawn(shut_down(channel.clone(), inbox.clone())));
                }
                order => follow(order, &channel, &inbox, &marks),
            },
            () = &mut silent, if !is_silent => {
                is_silent = true;
                kill();
            }
        }
    };
    channel.peer_is_gone();
    streams.iter().for_each(OutputStream::writer_ended);
    for reader in readers.into_iter().flatten() {
        // A task that panicked has nothing more to tell.
        let _ = reader.await;
    }
    if let Some(ending) = ending {
        let answered = ending.await.unwrap_or_default();
        exit.unanswered = answers && !answered;
    }
    if is_silent {
        let why = "it had closed its channel and did not end by itself";
        exit.message.get_or_insert_with(|| why.to_owned());
    }
    exit.backtrace = hung_at;
    inbox.send(Report::Exited { exit, tails }).await;
}

/// Returns when the process should long have ended: it has closed its channel, so it can report nothing more.
async fn silence(channel: Channel) {
    channel.closed().await;
    tokio::time::sleep(ENDS_WITHIN).await;
}

/// Asks a worker to end: what it has not started is not to be started; then it may go. Its last answer says how much it has sent.
async fn shut_down(channel: Channel, inbox: Inbox) -> bool {
    let _ = channel.request("cancel", &json!({}), None).await;
    match channel.request("__shutdown__", &(), None).await {
        Ok(reply) => {
            let farewell = reply.body.parse().unwrap_or_default();
            inbox.send(Report::Farewell(farewell)).await;
            // It agreed to end. If it does not, the closed channel is what ends it.
            tokio::select! {
                () = tokio::time::sleep(ENDS_WITHIN) => channel.close(),
                _ = channel.closed() => {}
            }
            true
        }
        Err(error) => {
            complain(&error, &inbox).await;
            false
        }
    }
}

/// Tells of an order that failed, unless the worker is gone: then its exit tells.
async fn complain(error: &RequestError, inbox: &Inbox) {
    if !matches!(error, RequestError::Closed { .. }) {
        inbox.send(Report::Problem(error.to_string())).await;
    }
}

/// Waits for the launch; an order to kill ends it. Other orders come only after the worker is ready.
async fn launch_unless_killed(
    mut launching: BoxFuture<Result<Launched, String>>,
    orders: &mut mpsc::UnboundedReceiver<Order>,
) -> Result<Launched, String> {
    loop {
        tokio::select! {
            launched = &mut launching => return launched,
            order = orders.recv() => if matches!(order, None | Some(Order::Kill { .. })) {
                return Err("it was stopped while it started".to_owned());
            },
        }
    }
}

async fn forward(mut notifications: Notifications, asking: Option<Asking>, inbox: Inbox) {
    let Some(mut asking) = asking else {
        while let Some(notification) = notifications.next().await {
            inbox.send(Report::Said(notification)).await;
        }
        return;
    };
    loop {
        // What the worker said before it asked comes before what we found out for it.
        tokio::select! {
            biased;
            notification = notifications.next() => match notification {
                Some(notification) => inbox.send(Report::Said(notification)).await,
                None => break,
            },
            heard = asking.next() => inbox.send(Report::Heard(heard)).await,
        }
    }
    inbox.send(Report::Heard(asking.rest())).await;
}

/// Sends an order on its way; its answer is awaited elsewhere, because orders must not wait for each other.
fn follow(order: Order, channel: &Channel, inbox: &Inbox, marks: &Arc<str>) {
    let (channel, inbox, marks) = (channel.clone(), inbox.clone(), Arc::clone(marks));
    tokio::spawn(async move {
        match order {
            Order::Run { units, failures_left } => {
                let mut request = json!({"units": units, "marks": &*marks});
                if let Some(left) = failures_left {
                    request["failures_left"] = left.into();
                }
                let answer = channel.request("run", &request, None).await;
                if let Some(why) = refusal(answer, units.iter().map(Vec::len).sum()) {
                    let items = units.into_iter().flatten().map(|item| (item.key, item.repeat));
                    inbox.send(Report::Refused(items.collect(), why)).await;
                }
            }
            Order::GiveBack(keys) => {
                // A worker that fails at it keeps what it has; that is an answer too.
                let returned = match channel.request("unrun", &json!({"keys": keys}), None).await {
                    Ok(reply) => returned(&reply.body.value()),
                    Err(error) => {
                        complain(&error, &inbox).await;
                        Vec::new()
                    }
                };
                inbox.send(Report::Returned(returned)).await;
            }
            Order::ChangeFailuresLeft(by) => {
                // A worker that is gone needs to know nothing.
                let _ = channel.notify("failures_left", &json!({"by": by})).await;
            }
            // These are not sent from here.
            Order::Shutdown | Order::Kill { .. } => {}
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

/// The examples that a worker gives back: with their repetition where it says so.
fn returned(reply: &Value) -> Vec<(String, u32)> {
    let repeat =
        |item: &Value| item["repeat"].as_u64().and_then(|n| u32::try_from(n).ok()).unwrap_or(1);
    if let Some(items) = reply["items"].as_array() {
        let named = |item: &Value| Some((item["key"].as_str()?.to_owned(), repeat(item)));
        return items.iter().filter_map(named).collect();
    }
    let keys = reply["returned"].as_array().into_iter().flatten();
    keys.filter_map(|key| Some((key.as_str()?.to_owned(), 1))).collect()
}

/// Where the main thread of a hanging worker is, if it still answers.
async fn backtrace(channel: &Channel) -> Vec<String> {
    let dump = timeout(DUMP_WITHIN, channel.request("dump", &(), None)).await;
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
