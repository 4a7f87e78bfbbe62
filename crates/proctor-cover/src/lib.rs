//! `proctor cover`: the stages that find untested Ruby code, write specs for it, run them and review them.
//!
//! Purpose: I/O and order of the pipeline; what is known from reading code comes from `proctor-ruby`. What it must not
//! know: terminals, the environment, how reports reach people.

mod implement;
mod observation;
mod project;
mod review;
mod sandbox;
mod scratch;
mod select;
mod verify;

pub use implement::{Written, implement};
pub use observation::{Case, Effort, Fault, Observation, Sight, Workshop, faults, find_way, observe};
pub use project::{Layout, Project, SourceFile, Way};
pub use review::{Covered, Measured, measure};
pub use sandbox::{Finished, Sandbox};
