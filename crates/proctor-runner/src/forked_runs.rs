//! Runs of chosen examples, each in a process of its own that is forked from a suite loaded once: what `proctor mutate` stands on.
//!
//! A process may be prepared before its first example (`prepare` of the worker protocol). What it tells besides results is
//! handed on as it came; nothing here knows what a mutant is. A process may also come from a checkpoint: a copy from the time when the
//! suite was being loaded, which loads the rest by itself.

use std::sync::Arc;
use std::time::Duration;

use proctor_events::{Body, Status};
use proctor_verdict::is_failure;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::example::{Discovery, Example};
use crate::plan::Selection;
use crate::suite::{OpenedSuite, Suite, SuiteEnd, SuiteEnvironment, SuiteError};
use crate::worker_link::orders::{ExampleRun, Order, OrderAction, OrderNumbers};
use crate::worker_link::reports::{ExitFacts, FailedLoad, OutputTails, Report};
use crate::worker_link::{
    BoxFuture, CheckpointLinkFactory, CheckpointRequest, LinkFactory, SlotSeat, WorkerLink,
};

/// How many batches of reports may wait.
const INBOX: usize = 64;

/// A suite that is loaded and can be forked.
pub struct LoadedSuite {
    /// What loading found. If it has errors, nothing can be run.
    pub discovery: Discovery,
    links: LinkFactory,
    checkpoint_links: Option<CheckpointLinkFactory>,
    finish: Box<dyn FnOnce(bool) -> BoxFuture<SuiteEnd> + Send>,
}

impl LoadedSuite {
    /// Loads a suite; `selection` chooses among its examples.
    pub async fn open(
        suite: &Suite,
        environment: &SuiteEnvironment,
        selection: &Selection,
    ) -> Result<Self, SuiteError> {
        let environment = SuiteEnvironment { workers: 0, ..environment.clone() };
        let OpenedSuite { mut discovery, links, checkpoint_links, finish, .. } =
            suite.open(&environment).await?;
        discovery.examples = selection.apply(discovery.examples);
        Ok(Self { discovery, links, checkpoint_links, finish })
    }

    /// A slot in which one run after the other is made. Slots of the same number must not meet in a generation: each run has the next
    /// one after `generation`.
    pub fn slot(&self, number: u32, generation: u32) -> ForkSlot {
        ForkSlot { link: (self.links)(number), number, generation }
    }

    /// A slot whose processes load the suite from a checkpoint; `None` where suites of this kind have none.
    pub fn slot_from_checkpoint(
        &self,
        number: u32,
        generation: u32,
        request: CheckpointRequest,
    ) -> Option<ForkSlot> {
        let link = self.checkpoint_links.as_ref()?(request);
        Some(ForkSlot { link, number, generation })
    }

    /// Ends the processes of the suite without its own endings.
    pub async fn close(self) {
        (self.finish)(true).await;
    }
}

/// Where one run at a time is made.
pub struct ForkSlot {
    link: Arc<dyn WorkerLink>,
    number: u32,
    generation: u32,
}

/// An example to be run, and how long it may take.
#[derive(Debug, Clone)]
pub struct ForkedExample {
    /// Its name within this load of the suite.
    pub key: String,
    /// In milliseconds.
    pub limit_ms: Option<u64>,
}

impl ForkedExample {
    /// Without a limit.
    pub fn of(example: &Example) -> Self {
        Self { key: example.key.clone(), limit_ms: None }
    }
}

/// One run.
#[derive(Debug, Clone)]
pub struct ForkedRunRequest {
    /// What the process is told before its first example.
    pub prepare: Option<Value>,
    /// The examples, in order. Those of one inner list run in the same groups without their hooks being run in between.
    pub units: Vec<Vec<ForkedExample>>,
    /// Whether the first failure ends the run.
    pub stop_at_failure: bool,
    /// How long everything together may take.
    pub limit: Duration,
}

/// What an example came to.
#[derive(Debug, Clone, PartialEq)]
pub struct ForkedResult {
    /// Its name within this load of the suite.
    pub key: String,
    /// How it ended.
    pub status: Status,
    /// In milliseconds.
    pub duration_ms: f64,
    /// What it said, if it failed.
    pub message: String,
}

/// What a run came to.
#[derive(Debug, Clone, Default)]
pub struct ForkedRun {
    /// The answer to `prepare`.
    pub prepared: Option<Value>,
    /// The examples that ended, in order.
    pub results: Vec<ForkedResult>,
    /// The example that was running when the process ended.
    pub open: Option<String>,
    /// Errors outside of examples, in words.
    pub outside: Vec<String>,
    /// What the process told about traced lines and mutants.
    pub notices: Vec<Value>,
    /// Whether it was ended because an example, or all of them together, took too long.
    pub timed_out: bool,
    /// How the process ended, if not in the proper way.
    pub crash: Option<String>,
    /// Why it did not run, or not everything.
    pub problem: Option<String>,
    /// How a process that was to load the suite from a checkpoint has failed to.
    pub failed_load: Option<FailedLoad>,
}

impl ForkedRun {
    /// The first example that failed.
    pub fn failure(&self) -> Option<&ForkedResult> {
        self.results.iter().find(|result| is_failure(&result.status))
    }
}

/// The process of one run, as far as it is known.
struct Running<'a> {
    request: &'a ForkedRunRequest,
    orders: mpsc::UnboundedSender<Order>,
    numbers: OrderNumbers,
    left: usize,
    is_ending: bool,
    run: ForkedRun,
}

impl Running<'_> {
    fn send(&mut self, action: OrderAction) {
        // The receiver is dropped when the process has just ended; its exit is reported.
        let _ = self.orders.send(self.numbers.number(action));
    }

    fn end(&mut self) {
        if !self.is_ending {
            self.is_ending = true;
            self.send(OrderAction::Shutdown { stopped: true });
        }
    }

    fn start_examples(&mut self) {
        let run = |example: &ForkedExample| ExampleRun {
            key: example.key.clone(),
            repeat: 1,
            attempt: 1,
            limit_ms: example.limit_ms,
        };
        let units = self.request.units.iter().map(|unit| unit.iter().map(run).collect()).collect();
        let failures_left = self.request.stop_at_failure.then_some(1);
        self.send(OrderAction::Run { units, failures_left });
    }

    fn prepared(&mut self, reply: Value) {
        let is_ready = reply.get("applied").is_some();
        self.run.prepared = Some(reply);
        if is_ready { self.start_examples() } else { self.end() }
    }

    fn finished(&mut self, result: ForkedResult) {
        self.run.open = None;
        self.left = self.left.saturating_sub(1);
        let is_over =
            self.left == 0 || (self.request.stop_at_failure && is_failure(&result.status));
        self.run.results.push(result);
        if is_over {
            self.end();
        }
    }

    /// Handles a report; true if it is the last one.
    fn handle(&mut self, report: Report) -> bool {
        match report {
            Report::Ready { .. } => match &self.request.prepare {
                Some(request) => self.send(OrderAction::Prepare { request: request.clone() }),
                None => self.start_examples(),
            },
            Report::Prepared { reply } => self.prepared(reply),
            Report::Mutation { notice } => self.run.notices.push(notice),
            Report::Started { key, .. } => self.run.open = Some(key),
            Report::Finished { key, outcome, .. } => {
                let exception = outcome.exception.as_ref();
                let message = exception.map(|exception| exception.message.trim().to_owned());
                self.finished(ForkedResult {
                    key,
                    duration_ms: outcome.duration_ms.unwrap_or_default().get(),
                    message: message.or_else(|| outcome.message.clone()).unwrap_or_default(),
                    status: outcome.status,
                });
            }
            Report::Event { event, .. } => {
                if let Body::ErrorOutsideExample(error) = &event.body {
                    self.run.outside.push(error_in_words(error));
                }
            }
            Report::Refused { reason, .. } => {
                self.run.problem = Some(reason);
                self.end();
            }
            Report::Problem { message } | Report::Unreadable { message } => {
                self.run.problem.get_or_insert(message);
            }
            Report::StartFailed { message, loading } => {
                (self.run.problem, self.run.failed_load) = (Some(message), loading);
                return true;
            }
            Report::Unreachable { message } => {
                self.run.problem = Some(message);
                return true;
            }
            Report::Exited { exit, tails } => {
                self.exited(&exit, tails);
                return true;
            }
            _ => {}
        }
        false
    }

    fn exited(&mut self, exit: &ExitFacts, tails: OutputTails) {
        self.run.timed_out |= exit.timed_out;
        if self.run.open.is_some() || exit.unanswered {
            self.run.crash = Some(exit_in_words(exit, tails));
        }
    }
}

fn error_in_words(error: &proctor_events::ErrorOutsideExample) -> String {
    let class = |it: &proctor_events::Exception| it.class.clone().unwrap_or_default();
    let exception =
        error.exception.as_ref().map(|it| format!("{}: {}", class(it), it.message.trim()));
    let phase = || error.phase.clone().unwrap_or_default();
    exception.unwrap_or_else(|| format!("an error outside of examples ({})", phase()))
}

fn exit_in_words(exit: &ExitFacts, mut tails: OutputTails) -> String {
    let how = match (exit.signal, exit.status, &exit.message) {
        (Some(signal), ..) => format!("ended by signal {signal}"),
        (_, Some(status), _) => format!("exit status {status}"),
        (_, _, Some(message)) => message.clone(),
        _ => "it ended".to_owned(),
    };
    (tails.stdout.marked, tails.stderr.marked) = (false, false);
    let lines = tails.lines_of(None);
    let line = lines.iter().find(|line| line.contains("Error") || line.contains("[BUG]"));
    match line {
        Some(line) => format!("{how}: {}", line.trim()),
        None => how,
    }
}

impl ForkSlot {
    /// Makes one run; a cancelled run is killed, and what it came to is of no interest.
    pub async fn run(&mut self, request: &ForkedRunRequest, stop: &CancellationToken) -> ForkedRun {
        self.generation += 1;
        let (inbox, mut batches) = mpsc::channel(INBOX);
        let worker = (self.number, self.generation);
        let (seat, orders) = SlotSeat::new(worker, inbox, "\u{1}proctor-mutate\u{1}".into());
        let serving = tokio::spawn(Arc::clone(&self.link).serve(seat));
        let mut running = Running {
            request,
            orders,
            numbers: OrderNumbers::default(),
            left: request.units.iter().map(Vec::len).sum(),
            is_ending: false,
            run: ForkedRun::default(),
        };
        let deadline = tokio::time::sleep(request.limit);
        tokio::pin!(deadline);
        let mut is_killed = false;
        loop {
            let batch = tokio::select! {
                batch = batches.recv() => batch,
                () = stop.cancelled(), if !is_killed => {
                    is_killed = true;
                    running.send(OrderAction::Kill { timed_out: false });
                    continue;
                }
                () = &mut deadline, if !is_killed => {
                    is_killed = true;
                    running.run.timed_out = true;
                    running.send(OrderAction::Kill { timed_out: false });
                    continue;
                }
            };
            let Some(batch) = batch else { break };
            let mut reports = batch.reports.into_iter();
            if reports.any(|report| running.handle(report)) {
                break;
            }
        }
        // It has reported its exit; only its tasks are left.
        let _ = serving.await;
        running.run
    }
}
