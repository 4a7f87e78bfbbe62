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
mod run;
mod suite;
mod worker;

pub use dispatch::Schedule;
#[cfg(feature = "simulation")]
pub use dispatch::world::Fate;
pub use example::{Discovery, Example, OutsideError};
pub use listing::{ListError, list};
pub use plan::Selection;
#[cfg(feature = "simulation")]
pub use run::simulation::{PlayedRun, SimulatedExample, SimulatedRun};
pub use run::{
    AlreadyStarted, AttendedRun, Controller, Problem, Progress, RunOptions, RunResult, RunSetup,
    RunStatus, attend,
};
pub use suite::{
    CommandSuite, DialogueSuite, ExampleFilter, Reported, RspecSuite, SUITE_CAPABILITIES,
    ScenarioFile, Suite, SuiteCapabilities, SuiteError, SuiteKind, Surroundings, Waiting,
    WorkspaceSuite,
};
