//! What goes into the dispatcher and what comes out of it: jobs, the policy of a run, inputs and effects.

use proctor_events::ExampleFinished;

use super::slot::Exit;
use super::stop::StopReason;

/// A moment: microseconds since the run began.
pub(crate) type Moment = u64;

/// One example in one repetition, by its place in the list given to the dispatcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct JobId(pub(crate) u32);

/// A job as the dispatcher needs to know it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct JobSpec {
    /// The pool of slots that can run it.
    pub(crate) pool: usize,
    /// Jobs of one pool with the same unit, next to each other, run in one slot, in order.
    pub(crate) unit: Option<u32>,
    /// How long it took before, in milliseconds.
    pub(crate) estimate: Option<f64>,
    /// Whether its example demands a pass rate. Its failure counts only when [`Input::RateMissed`] says so, and an earlier repetition may
    /// make it unnecessary: no slot has it waiting.
    pub(crate) gated: bool,
}

/// In which order units are handed out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Schedule {
    /// Unknown ones first, then the longest.
    #[default]
    LongestFirst,
    /// As listed.
    AsListed,
    /// As listed, the n-th unit to slot n modulo the number of slots, for good.
    RoundRobin,
}

/// What follows when a worker ends unexpectedly.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnCrash {
    /// What it ran is crashed, and another worker goes on.
    #[default]
    Continue,
    /// The run ends: every other worker is killed, and what waits is not run.
    Stop,
}

/// The rules of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Policy {
    /// How many slots each pool has.
    pub(crate) slots: Vec<u32>,
    /// In which order units are handed out.
    pub(crate) schedule: Schedule,
    /// Stop after so many failures.
    pub(crate) fail_fast: Option<u32>,
    /// How long an example may take, in milliseconds. The link of a slot judges that; hooks, which may take longer, are judged here.
    pub(crate) timeout: Option<u64>,
    /// When to say that an example is slow, in milliseconds.
    pub(crate) slow_after: Option<u64>,
    /// How often a failed example is tried again.
    pub(crate) retries: u32,
    /// After how many examples a worker is replaced.
    pub(crate) max_per_worker: Option<u32>,
    /// How long running examples may go on after a stop, in milliseconds.
    pub(crate) grace: u64,
    /// How long a worker may take to end when there is nothing left to do, in milliseconds.
    pub(crate) end_within: u64,
    /// Whether a worker that ends unexpectedly ends the run.
    pub(crate) on_crash: OnCrash,
    /// How many workers in a row may die without having started an example.
    pub(crate) idle_deaths: u32,
    /// How often one attempt is run again because its worker cannot be reached any more.
    pub(crate) losses: u32,
    /// Whether slots may join until [`Input::NoMoreSlots`]: work waits where there is no slot at all.
    pub(crate) awaits_slots: bool,
    /// How much work a worker may have waiting, in milliseconds.
    pub(crate) prefetch: f64,
    /// Whether jobs may be added until [`Input::NoMoreJobs`]: workers without work wait for them.
    pub(crate) grows: bool,
    /// Which verdicts fail the run.
    pub(crate) verdict: proctor_verdict::Policy,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            slots: vec![4],
            schedule: Schedule::default(),
            fail_fast: None,
            timeout: None,
            slow_after: None,
            retries: 0,
            max_per_worker: None,
            grace: 2_000,
            end_within: 10_000,
            on_crash: OnCrash::default(),
            idle_deaths: 8,
            losses: 1,
            awaits_slots: false,
            prefetch: 10.0,
            grows: false,
            verdict: proctor_verdict::Policy::default(),
        }
    }
}

impl Policy {
    /// How long a worker may take to start what it has, in milliseconds. Context and suite hooks run in
    /// between, and may well be slower than any example.
    pub(super) fn hook_limit(&self) -> Option<u64> {
        self.timeout.map(|limit| limit.saturating_mul(10).max(10_000))
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Input {
    /// The run begins.
    Begin,
    /// A worker can take work.
    Ready { slot: u32, generation: u32 },
    /// A worker could not be started.
    StartFailed { slot: u32, generation: u32, message: String },
    /// A worker is about to run an example.
    Started { slot: u32, generation: u32, job: JobId },
    /// A worker has run an example.
    Finished { slot: u32, generation: u32, job: JobId, outcome: Box<ExampleFinished> },
    /// A worker has given back what it had not started; nothing when it could not.
    Returned { slot: u32, generation: u32, jobs: Vec<JobId> },
    /// A worker will not run what it was given.
    Refused { slot: u32, generation: u32, jobs: Vec<JobId>, why: String },
    /// A line of a worker could not be read: it may have been a result.
    Unreadable { slot: u32, generation: u32, what: String },
    /// A worker has ended; its output has been read.
    Exited { slot: u32, generation: u32, exit: Exit },
    /// The link to a worker is lost: the outcome of its example is unknown, and no example is at fault.
    Unreachable { slot: u32, generation: u32, message: String },
    /// There is one more slot in this pool; its number follows on those there are.
    SlotJoined { pool: usize },
    /// A slot is not to be used again; its worker finishes what it runs.
    SlotLeft { slot: u32 },
    /// A slot is gone together with its worker, if it had one; no example is at fault.
    SlotLost { slot: u32, message: String },
    /// No slot will join any more.
    NoMoreSlots { why: String },
    /// These need not be run any more, for this reason. What a worker already has, it runs all the same.
    Skip { jobs: Vec<JobId>, why: String },
    /// An example has missed the pass rate it demands of itself.
    RateMissed,
    /// These are to be run too; their ids follow on those there are.
    AddJobs { jobs: Vec<JobSpec> },
    /// A worker has defined these while it ran others; it alone can run them, and will. Their ids follow on those there are.
    OwnJobs { slot: u32, generation: u32, jobs: Vec<JobSpec> },
    /// No job will be added any more.
    NoMoreJobs,
    /// Time has passed.
    Tick,
    /// The run shall end: nothing new is started, what runs may finish within the grace.
    Stop(StopReason),
    /// The run shall end now.
    KillNow,
}

impl Input {
    pub(super) fn slot(&self) -> Option<u32> {
        match self {
            Self::Ready { slot, .. }
            | Self::StartFailed { slot, .. }
            | Self::Started { slot, .. }
            | Self::Finished { slot, .. }
            | Self::Returned { slot, .. }
            | Self::Refused { slot, .. }
            | Self::Unreadable { slot, .. }
            | Self::Exited { slot, .. }
            | Self::Unreachable { slot, .. }
            | Self::OwnJobs { slot, .. }
            | Self::SlotLost { slot, .. }
            | Self::SlotLeft { slot } => Some(*slot),
            Self::Begin
            | Self::SlotJoined { .. }
            | Self::NoMoreSlots { .. }
            | Self::Skip { .. }
            | Self::RateMissed
            | Self::AddJobs { .. }
            | Self::NoMoreJobs
            | Self::Tick
            | Self::Stop(_)
            | Self::KillNow => None,
        }
    }
}

/// One job to be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Assigned {
    /// The job.
    pub(crate) job: JobId,
    /// Which attempt this is, from 1.
    pub(crate) attempt: u32,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Effect {
    /// Start a worker.
    Start { slot: u32, generation: u32 },
    /// Give units to a worker. After `failures_left` failures it has to wait until it is told how to go on; only the first number
    /// that a worker gets counts, what follows comes as [`Effect::ChangeFailuresLeft`].
    Assign { slot: u32, units: Vec<Vec<Assigned>>, failures_left: Option<u32> },
    /// A failure of this worker does not count after all (+1), or one of another worker does (-1).
    ChangeFailuresLeft { slot: u32, by: i32 },
    /// Ask a worker to give back jobs that it has not started.
    TakeBack { slot: u32, jobs: Vec<JobId> },
    /// Ask a worker to start nothing more, and to end when it is through.
    Shutdown { slot: u32 },
    /// End a worker and its children now.
    Kill { slot: u32, timed_out: bool },
    /// Tell the world that an attempt has started.
    Announce { slot: u32, assigned: Assigned },
    /// Tell the world that an attempt is over.
    Report { slot: Option<u32>, assigned: Assigned, outcome: Box<ExampleFinished> },
    /// Tell the world that an example is slow.
    Slow { slot: u32, assigned: Assigned, running: u64 },
    /// Tell the world that a worker was lost between examples: its hooks have not run to their end.
    Lost { slot: u32, message: String, exit: Box<Exit> },
    /// A worker did something it may not; it was ignored, and the run cannot be trusted.
    Odd { slot: u32, what: String },
    /// The run is over.
    Done,
}
