//! The conversation engine of Proctor and its scenario files.
//!
//! * [`parse`] reads a `*.scenario.yaml` file or says what is wrong with it, with place and hint;
//!   [`ScenarioFile::examples`] inherits, expands sets and gives stable ids.
//! * [`Engine`] takes one [`Example`] through its conversation: [`Input`]s in, [`Effect`]s out.
//! * [`judge_prompt`] and [`parse_judge_answer`] are the two halves of a judge, [`simulator_prompt`] and
//!   [`clean_simulator_answer`] those of a simulated user.
//!
//! This crate is pure: no I/O, no async, no clock, no randomness, no environment. A driver asks models and
//! agents, runs commands, reads files, measures time, and publishes the events it is handed.

mod capabilities;
mod check;
mod engine;
mod expression;
mod format;
mod judge;
mod live_calls;
mod reported_calls;
mod rows;
mod scenario;
mod simulated_user;
mod transcript;

pub use capabilities::{
    AGENT_CAPABILITIES, AgentKind, AgentReports, Capabilities, Capability, OfferedTools,
};
pub use engine::{
    AgentAnswer, ConversationOutcome, DEFAULT_JUDGE_RETRIES, DEFAULT_MAX_TURNS, Effect, Engine,
    FailedAssertion, Input, MAX_TOOL_ROUNDS, Message, Next, RequestId, Role, SIMULATOR_RETRIES,
    ToolOutcome,
};
pub use expression::{EvaluationError, evaluate};
pub use format::*;
pub use judge::{
    ItemAnswer, JudgeAnswer, JudgeItem, JudgeQuestion, JudgeRequest, MarkKey, Prompt, TopicChoice,
    UnusableAnswer, add_mark_to_recorded_answer, judge_prompt, judge_prompt_without_mark,
    parse_judge_answer,
};
pub use live_calls::{CallReport, LiveCalls};
pub use proctor_yaml::{At, FileProblem, Node, Place, ValueError, read_value};
pub use reported_calls::{
    MalformedCall, read_call, read_made_call, read_made_calls, read_made_calls_at,
    read_requested_calls,
};
pub use rows::{Row, RowFormat, RowsError, parse_rows, row_name};
pub use scenario::{
    Example, ExampleOrigin, GroupKey, OpenEnded, PartySpecs, ScenarioFile, parse, scenario_schema,
};
pub use simulated_user::{
    SimulatorRequest, clean_simulator_answer, simulator_prompt, simulator_request,
};
pub use transcript::{DoneCall, Scope, ToolCall, TopicVisit, Transcript, Turn};
