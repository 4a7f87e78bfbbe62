//! One worker process, from launch to exit: carries out the dispatcher's orders and reports what happens.
//!
//! Three tasks per worker: one takes orders and waits for the exit, one forwards notifications, and one per
//! output stream attributes lines to examples. They meet in the inbox of the run. The exit is reported
//! last, when everything the worker said and printed has been read.

mod asking;
mod output;
pub(crate) mod said;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use proctor_process::{Channel, Notifications, OutputStream};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

pub(crate) use self::asking::Asking;
pub(crate) use self::output::{Owner, Tail};
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
    /// Run these units.
    Run(Vec<Vec<Item>>),
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
    Printed {
        stderr: bool,
        owner: Option<Arc<Owner>>,
        line: Arc<str>,
    },
    Problem(String),
    Exited(Exit),
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
/// How long to wait for the rest of what an ended worker said and printed; its children may hold the pipes.
const REST_WITHIN: Duration = Duration::from_millis(200);

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
    let tail = Arc::new(Mutex::new(Tail::default()));
    let Launched { channel, notifications, asking, stdout, stderr, pid, mut ended, mut kill } =
        launched;
    let streams = [stdout.clone(), stderr.clone()];
    let readers = [
        notifications
            .map(|notifications| tokio::spawn(forward(notifications, asking, inbox.clone()))),
        Some(tokio::spawn(output::attribute(
            stdout,
            false,
            Arc::clone(&marks),
            Arc::clone(&tail),
            inbox.clone(),
        ))),
        Some(tokio::spawn(output::attribute(
            stderr,
            true,
            Arc::clone(&marks),
            Arc::clone(&tail),
            inbox.clone(),
        ))),
    ];
    inbox.send(Report::Ready { pid }).await;
    let mut hung_at = Vec::new();
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
                order => follow(order, &channel, &inbox, &marks),
            },
        }
    };
    streams.iter().for_each(OutputStream::hurry);
    drain(readers).await;
    exit.output_tail = tail.lock().unwrap_or_else(PoisonError::into_inner).lines();
    exit.backtrace = hung_at;
    inbox.send(Report::Exited(exit)).await;
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

async fn drain(readers: [Option<JoinHandle<()>>; 3]) {
    let deadline = tokio::time::Instant::now() + REST_WITHIN;
    for mut reader in readers.into_iter().flatten() {
        if tokio::time::timeout_at(deadline, &mut reader).await.is_err() {
            reader.abort();
        }
    }
}

/// Sends an order on its way; its answer is awaited elsewhere, because orders must not wait for each other.
fn follow(order: Order, channel: &Channel, inbox: &Inbox, marks: &Arc<str>) {
    let (channel, inbox, marks) = (channel.clone(), inbox.clone(), Arc::clone(marks));
    tokio::spawn(async move {
        let outcome = match order {
            Order::Run(units) => {
                let request = json!({"units": units, "marks": &*marks});
                channel.request("run", &request, None).await.map(drop)
            }
            Order::GiveBack(keys) => {
                match channel.request("unrun", &json!({"keys": keys}), None).await {
                    Ok(reply) => {
                        inbox.send(Report::Returned(returned(&reply.body.value()))).await;
                        Ok(())
                    }
                    Err(error) => Err(error),
                }
            }
            Order::Shutdown => {
                // What it has not started is not to be started; then it may go.
                let _ = channel.request("cancel", &json!({}), None).await;
                channel.request("__shutdown__", &(), None).await.map(drop)
            }
            Order::Kill { .. } => Ok(()),
        };
        if let Err(error) = outcome
            && !matches!(error, proctor_process::RequestError::Closed { .. })
        {
            inbox.send(Report::Problem(error.to_string())).await;
        }
    });
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
