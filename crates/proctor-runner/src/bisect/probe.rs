//! One run of some examples, in order, in a process of its own that is forked from the loaded project.

use std::collections::BTreeMap;
use std::sync::Arc;

use proctor_events::Status;
use proctor_verdict::is_failure;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::worker_link::orders::{ExampleRun, Order, OrderAction, OrderNumbers};
use crate::worker_link::reports::Report;
use crate::worker_link::{SlotSeat, WorkerLink};

/// How many batches of reports may wait.
const INBOX: usize = 64;

/// What a run came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ProbeResult {
    /// The examples that ended, by key: whether they failed, and what they said.
    pub(super) ended: BTreeMap<String, Option<String>>,
    /// Why nothing could be run, or not everything.
    pub(super) problem: Option<String>,
}

impl ProbeResult {
    /// Whether this example failed; `None` if it did not run.
    pub(super) fn failed(&self, key: &str) -> Option<bool> {
        self.ended.get(key).map(Option::is_some)
    }
}

/// The process of one run.
struct Running {
    orders: mpsc::UnboundedSender<Order>,
    numbers: OrderNumbers,
    started: Option<String>,
    open: usize,
    result: ProbeResult,
}

impl Running {
    fn send(&mut self, action: OrderAction) {
        // The receiver is dropped when the process has just ended; its exit is reported.
        let _ = self.orders.send(self.numbers.number(action));
    }

    fn ended(&mut self, key: String, failure: Option<String>) {
        self.started = None;
        self.open = self.open.saturating_sub(1);
        self.result.ended.insert(key, failure);
        if self.open == 0 {
            self.send(OrderAction::Shutdown { stopped: false });
        }
    }

    /// Handles a report; true if it is the last one.
    fn handle(&mut self, report: Report, keys: &[String], limit_ms: Option<u64>) -> bool {
        match report {
            Report::Ready { .. } => {
                let run =
                    |key: &String| ExampleRun { key: key.clone(), repeat: 1, attempt: 1, limit_ms };
                let units = vec![keys.iter().map(run).collect()];
                self.send(OrderAction::Run { units, failures_left: None });
            }
            Report::Started { key, .. } => self.started = Some(key),
            Report::Finished { key, outcome, .. } if keys.contains(&key) => {
                if matches!(outcome.status, Status::NotRun) {
                    self.result.problem.clone_from(&outcome.message);
                    self.open = self.open.saturating_sub(1);
                    if self.open == 0 {
                        self.send(OrderAction::Shutdown { stopped: false });
                    }
                    return false;
                }
                let message = || {
                    let exception = outcome.exception.as_ref();
                    let message = exception.map(|exception| exception.message.trim().to_owned());
                    message.or_else(|| outcome.message.clone()).unwrap_or_default()
                };
                let failure = is_failure(&outcome.status).then(message);
                self.ended(key, failure);
            }
            Report::Refused { reason, .. } => {
                self.result.problem = Some(reason);
                self.send(OrderAction::Shutdown { stopped: false });
            }
            Report::StartFailed { message, .. } | Report::Unreachable { message } => {
                self.result.problem = Some(message);
                return true;
            }
            Report::Exited { exit, .. } => {
                if let Some(key) = self.started.take() {
                    let how = if exit.timed_out { "it took too long" } else { "its process ended" };
                    self.result.ended.insert(key, Some(how.to_owned()));
                }
                if self.open > 0 {
                    self.result.problem.get_or_insert_with(|| "the process ended early".to_owned());
                }
                return true;
            }
            _ => {}
        }
        false
    }
}

/// Runs these examples in this order; a cancelled run is killed, and what it came to is of no interest.
pub(super) async fn run(
    link: Arc<dyn WorkerLink>,
    worker: (u32, u32),
    keys: Vec<String>,
    limit_ms: Option<u64>,
    cancelled: CancellationToken,
) -> ProbeResult {
    let (inbox, mut batches) = mpsc::channel(INBOX);
    let (seat, orders) = SlotSeat::new(worker, inbox, "\u{1}proctor-bisect\u{1}".into());
    let serving = tokio::spawn(link.serve(seat));
    let mut running = Running {
        orders,
        numbers: OrderNumbers::default(),
        started: None,
        open: keys.len(),
        result: ProbeResult::default(),
    };
    let mut is_killed = false;
    loop {
        let batch = tokio::select! {
            batch = batches.recv() => batch,
            () = cancelled.cancelled(), if !is_killed => {
                is_killed = true;
                running.send(OrderAction::Kill { timed_out: false });
                continue;
            }
        };
        let Some(batch) = batch else { break };
        let mut reports = batch.reports.into_iter();
        if reports.any(|report| running.handle(report, &keys, limit_ms)) {
            break;
        }
    }
    // It has reported its exit; only its tasks are left.
    let _ = serving.await;
    running.result
}
