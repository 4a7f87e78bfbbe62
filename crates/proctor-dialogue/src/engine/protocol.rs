//! What goes in and out of the engine.

use std::time::Duration;

use proctor_events::{Body, EvaluationMode, Fault, Status};
use serde::Serialize;
use serde_json::Value;

use crate::format::{Assertion, Simulate};
use crate::judge::{JudgeRequest, MarkKey};
use crate::live_calls::CallReport;
use crate::simulated_user::SimulatorRequest;
use crate::transcript::{DoneCall, Scope, ToolCall};

/// Names a question, so that its answer is known as such.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// What the driver tells the engine.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// The attempt begins.
    Begin {
        /// What the marks of the judge's questions are made of; no other conversation has the same.
        marks: MarkKey,
    },
    /// The simulator gave a message.
    SimulatorAnswered {
        /// The id of the effect that this answers.
        id: RequestId,
        /// The message, as the model wrote it.
        text: String,
    },
    /// The simulator could not be asked.
    SimulatorFailed {
        /// The id of the effect that this answers.
        id: RequestId,
        /// What went wrong, for people.
        message: String,
    },
    /// The agent answered.
    AgentAnswered {
        /// The id of the effect that this answers.
        id: RequestId,
        /// Text, tool calls and usage.
        answer: AgentAnswer,
    },
    /// The agent makes a call itself and says so before it answers.
    AgentReportedCall {
        /// The id of the effect that is being answered.
        id: RequestId,
        /// That it has begun, or what came of it.
        report: CallReport,
    },
    /// The agent broke, refused or took too long.
    AgentFailed {
        /// The id of the effect that this answers.
        id: RequestId,
        /// The error's class.
        class: Option<String>,
        /// What happened, for people.
        message: String,
    },
    /// A tool answered; its error is an answer too, which the agent sees.
    ToolResult {
        /// The id of the effect that this answers.
        id: RequestId,
        /// What came of it.
        outcome: ToolOutcome,
    },
    /// A tool could not be asked at all.
    ToolFailed {
        /// The id of the effect that this answers.
        id: RequestId,
        /// What went wrong, for people.
        message: String,
    },
    /// The judge answered.
    JudgeAnswered {
        /// The id of the effect that this answers.
        id: RequestId,
        /// The raw answer.
        text: String,
    },
    /// The judge could not be asked.
    JudgeFailed {
        /// The id of the effect that this answers.
        id: RequestId,
        /// What went wrong, for people.
        message: String,
    },
    /// A command has looked at the conversation.
    CheckResult {
        /// The id of the effect that this answers.
        id: RequestId,
        /// Whether it found what it wanted.
        passed: bool,
        /// What it said.
        message: Option<String>,
    },
    /// A command could not be run.
    CheckFailed {
        /// The id of the effect that this answers.
        id: RequestId,
        /// What went wrong, for people.
        message: String,
    },
    /// Time is up.
    DeadlineReached {
        /// The id of the [`Effect::SetDeadline`] that has passed.
        id: RequestId,
    },
    /// The driver cannot go on: a cassette without an answer, a budget that is spent, a saved conversation that ends
    /// here.
    PartyUnavailable {
        /// What becomes of the attempt.
        status: Status,
        /// Who is at fault: the harness, unless a saved conversation says otherwise.
        fault: Option<Fault>,
        /// What went wrong, for people.
        message: String,
    },
    /// The attempt as a whole took longer than it may. The party that is waited for is at fault.
    TimedOut,
    /// The attempt is cancelled; no verdict is given.
    Cancel,
    /// How an open-ended conversation goes on; counts only while it pauses.
    Next(Next),
}

/// How an open-ended conversation goes on.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// The user says this.
    Say {
        /// What the user says, as it is sent.
        text: String,
        /// Data that is recorded with the message.
        metadata: Option<Value>,
    },
    /// A model plays the user.
    Simulate(Box<Simulate>),
    /// Something is asserted about what has been said so far.
    Check {
        /// All of them are checked, in this order.
        assertions: Vec<Assertion>,
        /// Whether a failure decides the verdict or is only recorded.
        mode: EvaluationMode,
        /// What it looks at.
        scope: Scope,
    },
    /// It is over: the last topic is left, and the verdict is given.
    End,
}

/// What the engine wants done.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "most effects are events; boxing them would cost more"
)]
pub enum Effect {
    /// Publish an event.
    Emit(Body),
    /// Ask the simulator for the user's next message.
    AskSimulator {
        /// The id that the answer must carry.
        id: RequestId,
        /// What to ask.
        request: SimulatorRequest,
    },
    /// Ask the agent.
    CallAgent {
        /// The id that the answer must carry.
        id: RequestId,
        /// The number of the turn, from 1.
        turn: u32,
        /// The conversation so far.
        messages: Vec<Message>,
    },
    /// Call a tool for the agent.
    ExecuteTool {
        /// The id that the answer must carry.
        id: RequestId,
        /// As the agent asked for it.
        call: ToolCall,
    },
    /// Ask the judge; [`judge_prompt`](crate::judge_prompt) writes the prompt.
    AskJudge {
        /// The id that the answer must carry.
        id: RequestId,
        /// What is asked about which part of the conversation.
        request: Box<JudgeRequest>,
    },
    /// Run a command that looks at the conversation.
    RunCheck {
        /// The id that the answer must carry.
        id: RequestId,
        /// Program and arguments; a single word with blanks is for a shell.
        command: Vec<String>,
        /// The conversation as JSON, for its standard input.
        conversation: Value,
    },
    /// Send [`Input::DeadlineReached`] after this time, unless the deadline is cleared or the attempt has ended.
    SetDeadline {
        /// The id that [`Input::DeadlineReached`] must carry.
        id: RequestId,
        /// From now.
        after: Duration,
    },
    /// The deadline is no longer needed.
    ClearDeadline {
        /// The id of the [`Effect::SetDeadline`].
        id: RequestId,
    },
    /// An open-ended conversation waits for [`Input::Next`]; the verdict is about what came since it last did.
    Pause(ConversationOutcome),
    /// The attempt is over. Sent once, last.
    Finish(ConversationOutcome),
}

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user.
    User,
    /// The agent.
    Assistant,
    /// A tool.
    Tool,
}

/// A message as chat models know it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: String,
    /// Tools the agent asks for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The call a tool answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

impl Message {
    pub(crate) fn new(role: Role, content: String) -> Self {
        Self { role, content, tool_calls: Vec::new(), tool_call_id: None }
    }
}

/// What the agent answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentAnswer {
    /// What it said.
    pub text: String,
    /// Tools it called itself.
    pub tool_calls: Vec<DoneCall>,
    /// Tools it asks the host to call.
    pub pending_tool_calls: Vec<ToolCall>,
    /// Whatever else it said about itself.
    pub metadata: Option<Value>,
    /// How long it took.
    pub duration_ms: Option<f64>,
    /// How long until its first token.
    pub first_token_ms: Option<f64>,
    /// What it cost.
    pub cost_usd: Option<f64>,
    /// What it sent to its model endpoint, call by call; `None` where that is not known.
    pub prompts: Option<Vec<String>>,
    /// Whether it wants no answer to the tools it asks for: their results are there in the next turn.
    pub ends_turn: bool,
    /// Whether it lists the calls that the agent made itself; an empty list says that there were none. Counts only for
    /// agents whose `AgentReports` leave it to each answer.
    pub calls_listed: bool,
    /// Why it is not known which calls the agent made, if there is more to say than that it does not list them.
    pub calls_unknown_reason: Option<String>,
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutcome {
    /// The result, or an error text for the agent.
    pub result: Result<Value, String>,
    /// How long it took.
    pub duration_ms: Option<f64>,
    /// What else the tool says about the call.
    pub metadata: Option<Value>,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationOutcome {
    /// The status.
    pub status: Status,
    /// Whose failure it was.
    pub fault: Option<Fault>,
    /// Why, for people; nothing for a pass.
    pub message: Option<String>,
    /// Every hard assertion that failed.
    pub failures: Vec<FailedAssertion>,
    /// How many checks were answered that could have failed the attempt: hard assertions, and goals that must be reached.
    pub checks: u64,
}

/// A hard assertion that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedAssertion {
    /// The turn it looked at.
    pub turn: Option<u32>,
    /// Expected and actual.
    pub message: String,
    /// The line of the scenario file on which it stands; of assertions that a program sends it means nothing.
    pub line: Option<u32>,
}

impl ConversationOutcome {
    pub(crate) fn pending(reason: String) -> Self {
        Self {
            status: Status::Pending,
            fault: None,
            message: Some(reason),
            failures: Vec::new(),
            checks: 0,
        }
    }
}
