//! Running suites: what to run, who runs it, what became of it.
//!
//! * [`Controller`] makes one run: discovers, dispatches, publishes, and says how it ended.
//! * `dispatch` decides, in pure code: queue, prefetch, retries, time limits, crashes, stops.
//! * `worker` and `suite` act: they start processes, talk to them and end them.
//!
//! Nothing here prints or reads the environment.

mod dispatch;
mod example;
mod listing;
mod plan;
mod recorded_conversations;
mod run;
mod suite;
mod worker_link;

#[cfg(feature = "simulation")]
pub use dispatch::world::Fate;
pub use dispatch::{OnCrash, Schedule};
pub use example::{Discovery, Example, OutsideError};
pub use listing::{ListError, list};
pub use plan::Selection;
pub use recorded_conversations::{RecordedConversation, recorded_conversations};
#[cfg(feature = "simulation")]
pub use run::simulation::{PlayedRun, SimulatedExample, SimulatedRun};
pub use run::{
    AdaptiveRepeats, AlreadyStarted, Controller, ExternalRun, PastOutcome, PastRun, Problem,
    Progress, RateCounts, RepeatPlanner, RepeatReport, Repetition, RunOptions, RunResult, RunSetup,
    RunStatus, SampledExample, SuiteEvidence, follow_external_run,
};
pub use suite::{
    BadPattern, CommandSuite, DialogueSuite, ExampleFiles, ExampleFilter, LoadNotices,
    MinitestSuite, MissingPath, Reported, RspecSuite, RubySuites, SUITE_CAPABILITIES, ScenarioFile,
    Suite, SuiteCapabilities, SuiteEnvironment, SuiteError, SuiteSandbox, WorkspaceSuite,
};
