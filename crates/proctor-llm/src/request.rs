//! What is asked of a model: one request, independent of any wire format.
//!
//! Owns the vocabulary (roles, tools, purposes). Does not know how a backend writes it down, and
//! holds no key: nothing in here is secret by construction.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::{Answer, StopReason};

/// Who asks, which is also the kind of a cassette entry.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The agent under test.
    Agent,
    /// The simulated user.
    Simulator,
    /// The judge of criteria, topics and goals.
    Judge,
    /// A tool that the host executes. Never asked of a model, but recorded beside the models.
    Tool,
    /// Anything else.
    #[default]
    Other,
}

impl Purpose {
    /// The word used in files and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Simulator => "simulator",
            Self::Judge => "judge",
            Self::Tool => "tool",
            Self::Other => "other",
        }
    }
}

impl std::fmt::Display for Purpose {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// One conversation, by a name its owner chooses (example id, repeat, attempt). Queues of scripted
/// replies and sequences of a cassette are kept per conversation, so that conversations that run at the
/// same time do not take each other's answers.
pub type ConversationId = String;

/// Whose turn a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user, or the host on the user's side (tool results).
    User,
    /// The model.
    Assistant,
}

/// A call the model wants made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Pairs the call with its result.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments; a plain string where the model wrote something that is not JSON.
    pub arguments: Value,
}

/// What a tool gave back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call that this answers.
    pub call_id: String,
    /// The result as text.
    pub content: String,
    /// Whether the tool failed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_error: bool,
}

/// One message of the conversation so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// The words; may be empty beside tool calls or results.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Calls the model made in this message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Results handed to the model in this message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_results: Vec<ToolResult>,
}

impl Message {
    /// Words of the user.
    pub fn user(text: impl Into<String>) -> Self {
        Self {
            role: Role::User,
            text: text.into(),
            tool_calls: Vec::new(),
            tool_results: Vec::new(),
        }
    }

    /// Words of the model.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self { role: Role::Assistant, ..Self::user(text) }
    }

    /// Calls of the model, with the words around them.
    pub fn calls(text: impl Into<String>, tool_calls: Vec<ToolCall>) -> Self {
        Self { tool_calls, ..Self::assistant(text) }
    }

    /// Results of tools.
    pub fn results(tool_results: Vec<ToolResult>) -> Self {
        Self { tool_results, ..Self::user("") }
    }
}

/// A tool offered to the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does, in words for the model.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
}

/// Whether the model must use a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// Some tool, whichever.
    Any,
    /// No tool.
    None,
    /// This tool. The way to get a structured answer from either wire format.
    Named(String),
}

/// One request to a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Standing instructions.
    #[serde(default)]
    pub system: Option<String>,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// Tools on offer.
    #[serde(default)]
    pub tools: Vec<ToolSpec>,
    /// Whether one of them must be used.
    #[serde(default)]
    pub tool_choice: ToolChoice,
    /// Longest answer, in tokens.
    #[serde(default)]
    pub max_tokens: Option<u32>,
    /// Sampling temperature.
    #[serde(default)]
    pub temperature: Option<f64>,
    /// Sampling seed, where the backend has one.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Words at which to stop.
    #[serde(default)]
    pub stop: Vec<String>,
    /// Who asks.
    #[serde(default)]
    pub purpose: Purpose,
    /// A finer word for the purpose (`goal`, `criteria`), for rules of a script and for reports.
    #[serde(default)]
    pub label: String,
    /// The conversation this belongs to.
    #[serde(default)]
    pub conversation: ConversationId,
    /// Which repeat of the example this is: repeats do not share cached answers.
    #[serde(default)]
    pub repeat: u32,
    /// How often this question has been answered before in its conversation: votes do not share cached answers either.
    #[serde(default)]
    pub vote: u32,
    /// A random word in the texts that is another one in each request. Not part of the question: a cache finds the
    /// answer to the same question under another mark, and puts the present mark into it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
    /// The trace that the answer belongs to, as the header of W3C Trace Context. Not part of the question.
    #[serde(skip)]
    pub traceparent: Option<String>,
    /// Which answers are worth keeping.
    #[serde(skip)]
    pub acceptance: Acceptance,
}

type Accepts = dyn Fn(&Request, &Answer) -> bool + Send + Sync;

/// Which answers are worth keeping in a cache: those that the caller can use; by default all that are whole.
#[derive(Clone, Default)]
pub struct Acceptance(Option<Arc<Accepts>>);

impl Acceptance {
    /// Keeps those answers for which the function says so.
    pub fn new(accepts: impl Fn(&Request, &Answer) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(accepts)))
    }
}

impl std::fmt::Debug for Acceptance {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(if self.0.is_some() { "Acceptance(own)" } else { "Acceptance(all)" })
    }
}

/// Not part of the question, so always equal.
impl PartialEq for Acceptance {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Request {
    /// A request of one user message.
    pub fn ask(purpose: Purpose, text: impl Into<String>) -> Self {
        Self { messages: vec![Message::user(text)], purpose, ..Self::default() }
    }

    /// The same request with standing instructions.
    #[must_use]
    pub fn with_system(mut self, system: impl Into<String>) -> Self {
        self.system = Some(system.into());
        self
    }

    /// The same request in a conversation.
    #[must_use]
    pub fn in_conversation(mut self, conversation: impl Into<ConversationId>) -> Self {
        self.conversation = conversation.into();
        self
    }

    /// Whether the caller can use an answer. One that was refused, cut off or is empty cannot.
    pub fn accepts(&self, answer: &Answer) -> bool {
        let whole = !matches!(answer.stop, StopReason::Refusal | StopReason::MaxTokens)
            && (!answer.text.trim().is_empty() || !answer.tool_calls.is_empty());
        whole && self.acceptance.0.as_ref().is_none_or(|accepts| accepts(self, answer))
    }

    /// The last words from the user's side.
    pub fn last_user_text(&self) -> &str {
        let last = self.messages.iter().rev();
        last.filter(|message| message.role == Role::User && !message.text.is_empty())
            .map(|message| message.text.as_str())
            .next()
            .unwrap_or_default()
    }

    /// A rough count of the input tokens, at four bytes each. Good enough to reserve with; what
    /// was really used is settled afterwards.
    pub fn estimated_input_tokens(&self) -> u64 {
        let tools: usize = self
            .tools
            .iter()
            .map(|tool| {
                tool.name.len() + tool.description.len() + tool.input_schema.to_string().len()
            })
            .sum();
        let bytes = self.system.as_deref().unwrap_or_default().len()
            + self.messages.iter().map(message_bytes).sum::<usize>()
            + tools;
        (bytes as u64).div_ceil(4).max(1)
    }
}

fn message_bytes(message: &Message) -> usize {
    let calls = message.tool_calls.iter();
    let results = message.tool_results.iter();
    message.text.len()
        + calls.map(|call| call.name.len() + call.arguments.to_string().len()).sum::<usize>()
        + results.map(|result| result.content.len()).sum::<usize>()
        + 16
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes the field by reference")]
fn is_false(value: &bool) -> bool {
    !value
}
