//! The async side of conversations.
//!
//! [`Conversation`] conducts one attempt at one example: it steps the pure engine of `proctor-dialogue`, carries its
//! questions to the parties, keeps its deadlines, and hands every event to a [`Sink`]. The parties are small
//! traits, so that each can be used alone (an RSpec process that asks for a judge needs nothing else):
//!
//! * [`Agent`]: scripted, a model behind HTTP, or a program that speaks the worker protocol;
//! * [`Simulator`] and [`Judge`]: a model with its layers, or a script;
//! * [`Tools`]: what the scenario says, a command, or a server of the Model Context Protocol;
//! * [`Checks`]: commands that look at a conversation.
//!
//! [`Stage`] makes the parties of an example from its description and from the project's [`Settings`], shares them
//! between all conversations of a run, records them to a cassette or replays them, and ends what it has
//! started. Nothing here prints or reads the environment; variables are asked of the caller.

mod agent;
mod check;
mod conversation;
mod failure;
mod judge;
mod lane;
mod marks;
mod saved;
mod saved_events;
mod simulator;
mod stage;
mod tape;
mod tools;
mod wire;

use std::future::Future;
use std::pin::Pin;

pub use agent::{
    Agent, AgentTurn, CommandAgent, ModelAgent, Printed, PrintedLine, ScriptedAgent, ServedAgent,
    Session,
};
pub use check::{Checks, CommandChecks};
pub use conversation::{Conversation, Room, Sink};
pub use failure::{Asked, Blame, Failure};
pub use judge::{Judge, ModelJudge, ScriptedJudge};
pub use lane::Lane;
pub use marks::MarkSource;
pub use saved::{Saved, SavedCall, SavedEnding, SavedTalk};
pub use saved_events::SavedTalkBuilder;
pub use simulator::{ModelSimulator, ScriptedSimulator, Simulator};
pub use stage::{Cassette, Ended, Environment, Settings, Shared, Stage, StageError};
pub use tape::{PartySettings, Tape};
pub use tools::{McpServer, ScenarioTools, Tools};
pub use wire::{AnswerError, read_answer};

/// How the answers of a cassette are found.
pub use proctor_llm::ReplayMode;
/// What agents are told about a tool.
pub use proctor_llm::ToolSpec;

/// A boxed future.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
