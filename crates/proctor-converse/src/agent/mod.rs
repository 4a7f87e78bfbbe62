//! Agents under test.
//!
//! An [`Agent`] is shared by a run; a [`Session`] is one conversation with it and holds what belongs to that
//! conversation alone.

mod agent_output;
mod attempts_alone;
mod command;
mod endpoint;
mod http_server;
mod malformed_lines;
mod model;
mod program;
mod reports;
mod scripted;
mod span_events;
mod traced;

use std::sync::Arc;

use proctor_dialogue::{AgentAnswer, Message, ToolCall};
use proctor_llm::ToolSpec;

pub use self::agent_output::{AgentOutput, AgentOutputLine};
pub use self::command::CommandAgent;
pub(crate) use self::command::Processes;
pub(crate) use self::endpoint::{
    EndpointAgent, EndpointHost, EndpointNotes, MakeSource, ModelAddress,
};
pub use self::http_server::ServedAgent;
pub(crate) use self::http_server::{MakeClient, ReadinessCheck};
pub use self::model::ModelAgent;
pub(crate) use self::program::LaunchSpec;
pub use self::reports::AgentReporter;
pub(crate) use self::reports::LiveReport;
pub(crate) use self::reports::ReportRoutes;
pub use self::scripted::ScriptedAgent;
pub(crate) use self::traced::{TraceParts, TracedAgent};
use crate::BoxFuture;
use crate::attempt_id::AttemptId;
use crate::failure::{Failure, PartyAnswer};
use crate::tools::Tools;

/// An agent under test.
pub trait Agent: Send + Sync {
    /// Begins a conversation.
    fn open<'a>(
        &'a self,
        attempt_id: &'a AttemptId,
    ) -> BoxFuture<'a, Result<Box<dyn Session>, Failure>>;

    /// Whether its answers come from a recording, in which secrets are masked.
    fn is_recorded(&self) -> bool {
        false
    }

    /// Ends what was started for it; `at_once` kills instead of asking.
    fn end(&self, _at_once: bool) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// One conversation with an agent.
pub trait Session: Send {
    /// The agent's answer to the conversation so far.
    fn chat<'a>(&'a mut self, turn: AgentTurn<'a>) -> BoxFuture<'a, PartyAnswer<AgentAnswer>>;

    /// Whether it ended because a process died that answers other conversations too. The next attempt of the example has a process of its own.
    fn lost_shared_process(&self) -> bool {
        false
    }

    /// The conversation is over.
    fn close(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// What an agent is asked.
#[derive(Clone, Copy)]
pub struct AgentTurn<'a> {
    /// Which attempt the conversation belongs to.
    pub attempt_id: &'a AttemptId,
    /// The turn, from 1.
    pub turn: u32,
    /// Everything said so far.
    pub messages: &'a [Message],
    /// The tools it may ask the host to call.
    pub tools: &'a dyn Tools,
    /// Where it reports while it works.
    pub reporter: &'a AgentReporter,
    /// The trace that its work belongs to, as the header of W3C Trace Context, if its spans are received.
    pub traceparent: Option<&'a str>,
}

impl AgentTurn<'_> {
    /// The tools to offer to the agent. A tool server that cannot list them is at fault itself.
    async fn offered_tools(&self) -> Result<Arc<[ToolSpec]>, Failure> {
        self.tools.specs().await.map_err(Failure::of_tools)
    }
}

/// An error where an agent asks for tools although none was offered to it.
///
/// Answering that there is no such tool would have it ask again and again. Most such agents make their calls themselves
/// and list them where requests stand.
fn refuse_unoffered_calls(
    name: &str,
    offered: &[ToolSpec],
    asked: &[ToolCall],
) -> Result<(), Failure> {
    let Some(call) = asked.first().filter(|_| offered.is_empty()) else { return Ok(()) };
    let message = format!(
        "the agent `{name}` asks the host to call `{}`, but the scenario offers no tools; describe it under `tools:` or `mcp:`, or, if the agent makes its calls itself, say where it lists them (`made_calls: /pointer`; in the worker protocol `tool_calls`)",
        call.name
    );
    Err(Failure::party("NoTools", message))
}

/// An agent that cannot be used; every conversation fails with the same message.
pub(crate) struct NoAgent(pub(crate) Failure);

impl Agent for NoAgent {
    fn open<'a>(&'a self, _: &'a AttemptId) -> BoxFuture<'a, Result<Box<dyn Session>, Failure>> {
        Box::pin(std::future::ready(Err(self.0.clone())))
    }
}
