//! Mutation testing of Ruby code with its RSpec suite: `proctor mutate`.
//!
//! * `source_files` and `changed_lines` find what is to be mutated; `plan` makes mutants of it.
//! * `touched` decides which examples look at a mutant, from one clean run with traced lines.
//! * [`campaign`] decides what is run next and what a result means: a pure step with a table of states.
//! * `execute` loads the suite, makes the runs and feeds the campaign; `observation` reads a run; `stored_results` keeps verdicts.
//! * [`report`] shows what came of it, as text, JSON, JUnit and HTML.
//!
//! Nothing here prints or reads the environment. It knows no terminal, no MCP and no event stream of runs.

pub mod campaign;
mod changed_lines;
mod execute;
mod observation;
mod plan;
pub mod report;
mod source_files;
mod stored_results;
mod touched;

pub use execute::{MutateError, MutateProgress, MutateSetup, mutate};
pub use plan::{MutationPlan, PlanError, PlanOptions, PlannedFile, PlannedMutant, plan};
