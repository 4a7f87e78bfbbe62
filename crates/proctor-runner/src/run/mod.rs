//! The controller: one run, from discovery to its exit code, usable from any thread.

mod driver;
mod execute;
mod external_run;
#[cfg(test)]
mod link_tests;
#[cfg(test)]
mod machine_tests;
pub(crate) mod outputs;
mod publish;
mod repeat_plan;
mod repeat_report;
#[cfg(feature = "simulation")]
pub(crate) mod simulation;
#[cfg(test)]
mod tests;
pub(crate) mod tracker;
mod verdicts;

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use proctor_events::{
    BoxedError, Bus, Event, EventType, ExampleId, Filter, Observer, Progress as ProgressEvent,
};
use proctor_verdict::{Counts, Facts, RunState, RunVerdict, StopCause};
use tokio::sync::mpsc;

pub use self::external_run::{ExternalRun, follow_external_run};
pub use self::outputs::{EventsRead, RunOutputs, ServedEvents};
pub use self::repeat_plan::{PastOutcome, RepeatPlanner, Repetition, SampledExample};
pub use self::repeat_report::{RateCounts, RepeatReport, SuiteEvidence};

pub(crate) use self::execute::open_all;
use crate::dispatch::{OnCrash, Policy, Schedule};
use crate::example::{Example, FailureExit};
use crate::machines::MachineOptions;
use crate::plan::Selection;
use crate::suite::{Suite, SuiteEnvironment};

/// How a run is to be made.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// How many workers may run at once.
    pub workers: u32,
    /// In which order examples are handed out.
    pub schedule: Schedule,
    /// Stop after so many failures.
    pub fail_fast: Option<u32>,
    /// How long an example may take, in milliseconds.
    pub timeout: Option<u64>,
    /// When to say that an example is slow, in milliseconds.
    pub slow_after: Option<u64>,
    /// How often a failed example is tried again.
    pub retries: u32,
    /// How often each example is run; 0 leaves it to the examples, most of which want to be run once.
    pub repeats: u32,
    /// How results decide on repetitions; `repeats` is then without meaning.
    pub adaptive: Option<AdaptiveRepeats>,
    /// After how many examples a worker is replaced.
    pub max_per_worker: Option<u32>,
    /// How many workers in a row may end without having run anything.
    pub idle_deaths: Option<u32>,
    /// Whether a worker that ends unexpectedly ends the run.
    pub on_crash: OnCrash,
    /// How long running examples may go on after a stop, in milliseconds.
    pub grace: u64,
    /// Whether a long group with context hooks may be cut in two.
    pub split_groups: bool,
    /// Which examples to run.
    pub selection: Selection,
    /// How long examples took before, in milliseconds.
    pub estimates: Arc<HashMap<ExampleId, f64>>,
    /// Whether an example that passes only after failing fails the run.
    pub flaky_fails: bool,
    /// Whether an inconclusive example fails the run.
    pub inconclusive_fails: bool,
    /// Whether an example that passes without having checked anything fails the run.
    pub unchecked_fails: bool,
    /// Whether finding nothing to run is all right.
    pub allow_empty: bool,
}

/// Repetitions that are decided on by results (`--repeat auto`).
#[derive(Debug, Clone)]
pub struct AdaptiveRepeats {
    /// Up to how many repetitions an example may get.
    pub limit: u32,
    /// What the examples are compared with; without one only pass rates decide.
    pub baseline: Option<Arc<PastRun>>,
}

impl AdaptiveRepeats {
    /// What decides on the repetitions of these examples.
    fn planner(&self, examples: &[Example]) -> RepeatPlanner {
        let past = |example: &Example| {
            let baseline = self.baseline.as_ref()?;
            baseline.outcomes.get(&example.id).cloned()
        };
        let sampled = examples.iter().map(|example| SampledExample {
            title: example.full_description.clone(),
            pass_rate: example.pass_rate,
            baseline: past(example).unwrap_or_default(),
        });
        RepeatPlanner::new(self.limit, sampled.collect())
    }
}

/// A run that is compared with.
#[derive(Debug, Clone, Default)]
pub struct PastRun {
    /// Its run id, else what people call it.
    pub name: String,
    /// What its examples did, in order, as far as it counts.
    pub outcomes: HashMap<ExampleId, Vec<PastOutcome>>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            workers: 4,
            schedule: Schedule::default(),
            fail_fast: None,
            timeout: None,
            slow_after: None,
            retries: 0,
            repeats: 1,
            adaptive: None,
            max_per_worker: None,
            idle_deaths: None,
            on_crash: OnCrash::default(),
            grace: 2_000,
            split_groups: false,
            selection: Selection::default(),
            estimates: Arc::default(),
            flaky_fails: false,
            inconclusive_fails: true,
            unchecked_fails: false,
            allow_empty: false,
        }
    }
}

impl RunOptions {
    fn verdict_policy(&self) -> proctor_verdict::Policy {
        proctor_verdict::Policy {
            flaky_fails: self.flaky_fails,
            inconclusive_fails: self.inconclusive_fails,
            unchecked_fails: self.unchecked_fails,
            allow_empty: self.allow_empty,
        }
    }

    fn policy(&self, slots: Vec<u32>, fail_fast: Option<u32>) -> Policy {
        let defaults = Policy::default();
        Policy {
            slots,
            schedule: self.schedule,
            // 0 means off in every source of settings.
            fail_fast: self.fail_fast.or(fail_fast).filter(|limit| *limit > 0),
            timeout: self.timeout,
            slow_after: self.slow_after,
            retries: self.retries,
            max_per_worker: self.max_per_worker,
            on_crash: self.on_crash,
            grace: self.grace,
            idle_deaths: self.idle_deaths.unwrap_or(self.workers.saturating_mul(2).max(4)),
            grows: self.adaptive.is_some(),
            verdict: self.verdict_policy(),
            ..defaults
        }
    }
}

/// Everything a run needs.
pub struct RunSetup {
    /// What to run.
    pub suites: Vec<Suite>,
    /// Where.
    pub environment: SuiteEnvironment,
    /// How.
    pub options: RunOptions,
    /// Where events go. The caller has added the recording.
    pub bus: Bus,
}

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStatus {
    /// Not started.
    Idle,
    /// Going on.
    Running,
    /// Over; everything passed.
    Completed,
    /// Over; something did not.
    Failed,
    /// Stopped on request.
    Cancelled,
}

impl RunStatus {
    fn of(verdict: &RunVerdict) -> Self {
        match verdict.state() {
            RunState::Stopped => Self::Cancelled,
            _ if verdict.is_passed() => Self::Completed,
            _ => Self::Failed,
        }
    }
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Repetitions with a result.
    pub completed: u64,
    /// Repetitions in all; 0 before discovery.
    pub total: u64,
    /// Examples that fail the run.
    pub failures: u64,
    /// Where the run is.
    pub status: RunStatus,
}

/// What became of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunResult {
    /// How it ended.
    pub status: RunStatus,
    /// The state of the run, its verdict and its exit code.
    pub verdict: RunVerdict,
    /// The verdicts of its examples, counted.
    pub counts: Counts,
    /// How the process shall exit if the run finished and failed.
    pub failure_exit: FailureExit,
    /// Why nothing ran, if nothing did.
    pub problem: Option<Problem>,
    /// What a person should know.
    pub notes: Vec<String>,
    /// Where the repetitions went, if results decided on them.
    pub repeats: Option<RepeatReport>,
    /// How long examples took, in milliseconds, by id.
    pub durations: HashMap<ExampleId, f64>,
    /// The ids of examples that fail the run.
    pub failed: Vec<ExampleId>,
}

impl RunResult {
    /// The exit code of a process that made this run; `None` while there is none.
    pub fn exit_code(&self) -> Option<u8> {
        let own = self.verdict.exit_code()?;
        let failed = self.verdict.state() == RunState::Finished && !self.verdict.is_passed();
        let errors = self.counts.errors > 0;
        Some(if failed { self.failure_exit.code(errors, own) } else { own })
    }
}

/// Why nothing ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What went wrong.
    pub message: String,
    /// What a suite's programs printed.
    pub output: Vec<String>,
}

/// A request from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Control {
    /// Start nothing more; running examples get the grace.
    Stop(StopCause),
    /// End now.
    Kill(StopCause),
}

impl Control {
    fn cause(self) -> StopCause {
        match self {
            Self::Stop(cause) | Self::Kill(cause) => cause,
        }
    }
}

struct State {
    progress: Progress,
    setup: Option<RunSetup>,
    machines: Option<MachineOptions>,
    result: Option<Arc<RunResult>>,
}

struct Shared {
    state: Mutex<State>,
    ended: Condvar,
    bus: Bus,
    outputs: Option<Arc<dyn RunOutputs>>,
    control: mpsc::UnboundedSender<Control>,
    orders: Mutex<Option<mpsc::UnboundedReceiver<Control>>>,
}

/// Runs one set of suites. Clones are handles to the same run; any number of controllers may live in one
/// process, and callbacks may call back into theirs.
#[derive(Clone)]
pub struct Controller {
    shared: Arc<Shared>,
}

/// The run was started before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this run was already started; make a new controller for another run")]
pub struct AlreadyStarted;

impl Controller {
    /// A run that has not started. The observers and destinations that a project's code names are left out.
    pub fn new(setup: RunSetup) -> Self {
        Self::with_outputs(setup, None)
    }

    /// A run that has not started, whose outputs the project's code may use.
    pub fn with_outputs(setup: RunSetup, outputs: Option<Arc<dyn RunOutputs>>) -> Self {
        let (control, orders) = mpsc::unbounded_channel();
        let progress = Progress { completed: 0, total: 0, failures: 0, status: RunStatus::Idle };
        let bus = setup.bus.clone();
        let state = State { progress, setup: Some(setup), machines: None, result: None };
        let shared = Shared {
            state: Mutex::new(state),
            ended: Condvar::new(),
            bus,
            outputs,
            control,
            orders: Mutex::new(Some(orders)),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Lets other machines serve the slots of the run; to be said before it starts.
    pub fn use_machines(&self, machines: MachineOptions) {
        self.state().machines = Some(machines);
    }

    /// Starts the run on a thread of its own and returns at once.
    pub fn start(&self) -> Result<(), AlreadyStarted> {
        let (setup, machines) = {
            let mut state = self.state();
            let setup = state.setup.take().ok_or(AlreadyStarted)?;
            state.progress.status = RunStatus::Running;
            (setup, state.machines.take())
        };
        let orders = self.shared.orders.lock().unwrap_or_else(PoisonError::into_inner).take();
        let orders = orders.ok_or(AlreadyStarted)?;
        let shared = Arc::clone(&self.shared);
        let spawned = std::thread::Builder::new()
            .name("proctor run".to_owned())
            .spawn(move || run_thread(setup, machines, orders, &shared));
        if let Err(error) = spawned {
            self.shared.end(failed_to_run(format!("cannot start a thread: {error}")));
        }
        Ok(())
    }

    /// Waits for the end of the run. A run that was never started has none: this waits for its start too.
    pub fn wait(&self) -> Arc<RunResult> {
        let mut state = self.state();
        loop {
            if let Some(result) = &state.result {
                return Arc::clone(result);
            }
            state = self.shared.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits for the end of the run, but not longer than this.
    pub fn wait_timeout(&self, timeout: Duration) -> Option<Arc<RunResult>> {
        let deadline = Instant::now() + timeout;
        let mut state = self.state();
        while state.result.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let waited = self.shared.ended.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.result.clone()
    }

    /// How far the run is.
    pub fn progress(&self) -> Progress {
        self.state().progress
    }

    /// Where the run is.
    pub fn status(&self) -> RunStatus {
        self.progress().status
    }

    /// The result, once there is one.
    pub fn result(&self) -> Option<Arc<RunResult>> {
        self.state().result.clone()
    }

    /// Stops the run: nothing new starts, running examples get the grace, the rest is not run.
    pub fn cancel(&self, cause: StopCause) {
        // The receiver is dropped when the run is over; nothing is left to stop then.
        let _ = self.shared.control.send(Control::Stop(cause));
    }

    /// Ends the run now.
    pub fn kill(&self, cause: StopCause) {
        let _ = self.shared.control.send(Control::Kill(cause));
    }

    /// The bus of the run, to subscribe to.
    pub fn bus(&self) -> &Bus {
        &self.shared.bus
    }

    /// Calls back for every event, on a thread of its own.
    pub fn on_event(&self, callback: impl FnMut(&Event) + Send + 'static) {
        self.shared.bus.observe("on_event", Filter::All, EventCallback(callback));
    }

    /// Calls back with completed, total and failures, now and then and at the end.
    pub fn on_progress(&self, callback: impl FnMut(u64, u64, u64) + Send + 'static) {
        let filter = Filter::Types(vec![EventType::Progress]);
        self.shared.bus.observe("on_progress", filter, ProgressCallback(callback));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state()
    }
}

struct EventCallback<F>(F);

impl<F: FnMut(&Event) + Send> Observer for EventCallback<F> {
    fn on_event(&mut self, event: &Event) -> Result<(), BoxedError> {
        (self.0)(event);
        Ok(())
    }
}

struct ProgressCallback<F>(F);

impl<F: FnMut(u64, u64, u64) + Send> Observer for ProgressCallback<F> {
    fn on_progress(&mut self, _: &Event, progress: &ProgressEvent) -> Result<(), BoxedError> {
        (self.0)(progress.completed, progress.total, progress.failures);
        Ok(())
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn advance(&self, completed: u64, total: u64, failures: u64) {
        let mut state = self.state();
        let status = state.progress.status;
        state.progress = Progress { completed, total, failures, status };
    }

    fn end(&self, result: RunResult) {
        let mut state = self.state();
        state.progress.status = result.status;
        state.result = Some(Arc::new(result));
        drop(state);
        self.ended.notify_all();
    }
}

fn run_thread(
    setup: RunSetup,
    machines: Option<MachineOptions>,
    orders: mpsc::UnboundedReceiver<Control>,
    shared: &Arc<Shared>,
) {
    // One thread is enough: the work is done by other processes, and there are few cores to share.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = match runtime {
        Ok(runtime) => {
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                runtime.block_on(execute::execute(setup, machines, orders, shared))
            }));
            runtime.shutdown_background();
            caught.unwrap_or_else(|_| {
                failed_to_run("the runner itself failed; this is a bug".to_owned())
            })
        }
        Err(error) => failed_to_run(format!("cannot start the runtime: {error}")),
    };
    shared.end(result);
}

fn failed_to_run(message: String) -> RunResult {
    let counts = Counts { errors: 1, ..Counts::default() };
    let verdict = RunVerdict::conclude(
        &Facts { counts, ..Facts::default() },
        proctor_verdict::Policy::default(),
    );
    RunResult {
        status: RunStatus::of(&verdict),
        verdict,
        counts,
        failure_exit: FailureExit::default(),
        problem: Some(Problem { message, output: Vec::new() }),
        notes: Vec::new(),
        repeats: None,
        durations: HashMap::new(),
        failed: Vec::new(),
    }
}
