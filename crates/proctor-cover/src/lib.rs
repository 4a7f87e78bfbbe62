//! `proctor cover`: the stages that find untested Ruby code, write specs for it, run them and review them.
//!
//! Purpose: I/O and order of the pipeline; what is known from reading code comes from `proctor-ruby`. What it must not
//! know: terminals, the environment, how reports reach people.

mod discover;
mod git;
mod implement;
mod isolate;
mod metadata;
mod observation;
mod pipeline;
mod project;
mod report;
mod review;
mod sandbox;
mod scratch;
mod select;
mod stop;
mod verify;
mod waves;

pub use discover::{Choice, Discovery, Mode, Target, discover};
pub use implement::{Task, Written, implement};
pub use metadata::{Metadata, STAGES, VERSION, slug};
pub use observation::{
    Case, Effort, Fault, Observation, Sight, Workshop, faults, find_ways, observe,
};
pub use pipeline::{FileReport, Options, Progress, Report, run};
pub use project::{Layout, Project, SourceFile, Way};
pub use report::{html, text, yaml};
pub use review::{Covered, Measured, measure};
pub use sandbox::{Finished, Sandbox};
pub use stop::Stop;
pub use waves::{Item, Waves, waves};
