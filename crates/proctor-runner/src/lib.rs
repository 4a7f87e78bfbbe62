//! Running suites: what to run, who runs it, what became of it.
//!
//! * [`Controller`] makes one run: discovers, dispatches, publishes, and says how it ended.
//! * [`bisect`](fn@bisect) finds out which examples make another one fail.
//! * [`LoadedSuite`] makes runs of chosen examples in forks of a suite that is loaded once.
//! * `dispatch` decides, in pure code: queue, prefetch, retries, time limits, crashes, stops.
//! * `worker` and `suite` act: they start processes, talk to them and end them.
//! * `machines` lets other machines serve the slots of a run.
//!
//! Nothing here prints or reads the environment.

mod bisect;
mod dispatch;
mod example;
mod forked_runs;
mod listing;
mod machines;
mod plan;
mod recorded_conversations;
mod run;
mod suite;
mod worker_link;

pub use bisect::{
    BisectError, BisectOptions, BisectProgress, BisectReport, BisectStop, BisectedExample,
    ExplainedFailure, FailureRate, FindingKind, bisect,
};
#[cfg(feature = "simulation")]
pub use dispatch::world::Fate;
pub use dispatch::{OnCrash, Schedule};
pub use example::{Discovery, Example, FailureExit, OutsideError};
pub use forked_runs::{
    ForkSlot, ForkedExample, ForkedResult, ForkedRun, ForkedRunRequest, LoadedSuite,
};
pub use listing::{ListError, list};
pub use machines::{
    CodeProof, HostError, HostEvent, HostPort, HostedRun, MachineConnection, MachineEvent,
    MachineMessage, MachineOptions, MachineSetup, MachineTransport, MachinesPort, OpeningHostPort,
    OpeningPort, RunFacts, serve_machine,
};
pub use plan::Selection;
pub use recorded_conversations::{RecordedConversation, recorded_conversations};
#[cfg(feature = "simulation")]
pub use run::simulation::{PlayedRun, SimulatedExample, SimulatedRun};
pub use run::{
    AdaptiveRepeats, AlreadyStarted, Controller, EventsRead, ExternalRun, PastOutcome, PastRun,
    Problem, Progress, RateCounts, RepeatPlanner, RepeatReport, Repetition, RunOptions, RunOutputs,
    RunResult, RunSetup, RunStatus, SampledExample, ServedEvents, SuiteEvidence,
    follow_external_run,
};
pub use suite::{
    BadPattern, CommandSuite, DialogueSuite, ExampleFiles, ExampleFilter, FinalReport, LoadNotices,
    MinitestSuite, Reported, RspecSuite, RubySuites, SUITE_CAPABILITIES, ScenarioFile, Suite,
    SuiteCapabilities, SuiteEnvironment, SuiteError, SuiteSandbox, UnusablePath, WorkspaceSuite,
};
pub use worker_link::CheckpointRequest;
pub use worker_link::reports::FailedLoad;
