//! `proctor cover`: the stages that find untested Ruby code, write specs for it, run them and review them.
//!
//! Purpose: I/O and order of the pipeline; what is known from reading sources comes from `proctor-ruby`. What it must not
//! know: terminals, the environment, events, models and runners themselves (they come in as [`Helpers`]), how reports
//! reach people.
//!
//! * [`run_with`] runs the stages; [`run`] does so without help.
//! * [`plan`] and [`submit`] are what is left and the gate through which it is filled; [`agent_tools`] offers them to agents.
//! * [`review`] checks specs by rules and by running them.

mod agent_tools;
mod answers;
mod blocks;
mod choice;
mod discover;
mod factories;
mod fill;
mod git;
mod implement;
mod isolate;
mod load_methods;
mod metadata;
mod object_strategy;
mod observation;
mod outline;
mod pipeline;
mod plain_numbers;
mod project;
mod record_support;
mod report;
pub mod review;
mod sandbox;
mod scratch;
mod select;
mod skeleton;
mod spec_style;
mod stop;
mod style;
mod syntax;
mod titles;
mod verify;
mod waves;

pub use agent_tools::{CoveredProject, agent_tools};
pub use choice::{Answers, Choice, PromptAnswer, parse_prompt_answer};
pub use discover::{Discovery, Mode, Target, discover};
pub use factories::{Factories, Factory, Proposal};
pub use fill::{
    Answer, Condition, FillError, FillRequest, Filler, Kept, OpenItem, Plan, PromptMessage,
    Refusal, SYSTEM_PROMPT, plan, prompt_messages, read_model_answer, submit,
};
pub use implement::{DroppedExample, Task, Written, implement};
pub use load_methods::{LoadError, find_load_methods};
pub use metadata::{KeptAnswer, Metadata, MetadataError, STAGES, VERSION, slug};
pub use observation::{
    CallOutcome, Case, Effort, Fault, Observation, ProjectCopies, faults, observe,
};
pub use pipeline::{
    FactoryFile, FileReport, Helpers, MethodReport, Options, Report, SpecFailure, SpecRun,
    SpecRunner, StageOutcome, Step, run, run_with,
};
pub use project::{Layout, LoadMethod, Project, SourceFile};
pub use report::{Totals, answers_yaml, html, json, text, totals, yaml};
pub use review::{Covered, Measured, measure};
pub use sandbox::{Finished, Sandbox};
pub use select::WantedMethods;
pub use stop::Stop;
pub use waves::{Item, Waves, waves};

/// The JSON Schema of metadata files and of what stages answer.
pub const SCHEMA: &str = include_str!("../../../schema/cover.schema.json");
