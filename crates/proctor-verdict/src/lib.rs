//! The rules of a verdict, in one place.
//!
//! This crate owns the identity of an attempt, what a status and a fault say about what was tested, when a pass rate is reached, the
//! verdict of an example, and the state, verdict and exit code of a run. Everything that shows, counts, stores or compares results asks
//! here; no other crate compares statuses or faults to decide anything. Verdicts have private fields: only this crate makes them.
//!
//! The tables are data (`tables.json`). The Rust, TypeScript and Ruby tables are generated from that file
//! (`cargo run -p proctor-verdict --example generate`), and a test holds all of them to it.
//!
//! It knows no files, clocks, processes or terminals.

mod attempt;
mod counts;
mod evidence;
mod example;
mod rate;
mod run;
mod stop;
mod tables;

pub use attempt::{AttemptKey, AttemptNumber};
pub use counts::Counts;
pub use evidence::{
    AGENT_PROCESS_DIED, Evidence, evidence, is_agent_process_death, is_failure, is_made,
    is_success, never_ran, normalize_status,
};
pub use example::{ExampleTally, ExampleVerdict, Observation, deciding, worst_first};
pub use rate::{PassRate, Rate, RateState};
pub use run::{Facts, Liveness, Policy, RunVerdict};
pub use stop::StopCause;
pub use tables::{Outcome, RunState};
