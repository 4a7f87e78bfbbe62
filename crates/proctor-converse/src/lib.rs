//! The async side of conversations.
//!
//! [`Conversation`] conducts one attempt at one example: it steps the pure engine of `proctor-dialogue`, carries its
//! questions to the parties, keeps its deadlines, and hands every event to an [`EventSink`]. The parties are small
//! traits, so that each can be used alone (an RSpec process that asks for a judge needs nothing else):
//!
//! * [`Agent`]: scripted, a model behind HTTP, a program that speaks the worker protocol, or an object in Python or JavaScript, which one
//!   of the programs in `shims/` serves;
//! * [`Simulator`] and [`Judge`]: a model with its layers, or a script;
//! * [`Tools`]: what the scenario says, a command, or a server of the Model Context Protocol;
//! * [`Checks`]: commands that look at a conversation.
//!
//! [`PartyRegistry`] makes the parties of an example from its description and from the project's [`Settings`], shares them
//! between all conversations of a run, records them to a cassette or replays them, and ends what it has
//! started. Nothing here prints or reads the environment; variables are asked of the caller.

mod agent;
mod attempt_id;
mod check;
mod conversation;
mod failure;
mod interpreter;
mod judge;
mod judge_marks;
mod open_cassette;
mod party_registry;
mod sandbox;
mod saved_conversation;
mod saved_conversation_builder;
mod shims;
mod simulator;
mod tools;
mod wire;
pub mod worker_host;

use std::future::Future;
use std::pin::Pin;

pub use agent::{
    Agent, AgentOutput, AgentOutputLine, AgentReporter, AgentTurn, CommandAgent, ModelAgent,
    ScriptedAgent, ServedAgent, Session,
};
pub use attempt_id::AttemptId;
pub use check::{Checks, CommandChecks};
pub use conversation::{Conversation, EventSink, Parties};
pub use failure::{Failure, FailureOrigin, PartyAnswer};
pub use judge::{Judge, ModelJudge, ScriptedJudge, model_call};
pub use judge_marks::MarkSource;
pub use open_cassette::{OpenCassette, PartySettings};
pub use party_registry::{
    Cassette, EndReport, Environment, PartyRegistry, PartySetupError, Settings, SharedResources,
    SingleModel, SingleModelSetup,
};
pub use saved_conversation::{SavedCall, SavedConversation, SavedConversations, SavedEnding};
pub use saved_conversation_builder::SavedConversationBuilder;
pub use simulator::{ModelSimulator, ScriptedSimulator, Simulator};
pub use tools::{McpServer, ScenarioTools, Tools};
pub use wire::{AnswerError, read_answer};

/// How the answers of a cassette are found.
pub use proctor_llm::ReplayMode;
/// Name, description and schema of a tool, as agents receive them.
pub use proctor_llm::ToolSpec;

/// A boxed future.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
