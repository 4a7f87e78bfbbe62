//! Code outside the scenario: a block of a spec, which the caller of the engine runs.
//!
//! Scenario files have none. Programs that write examples (the RSpec library) refer to their blocks of code by this type; the engine
//! hands the name to the driver, which has the block executed.

use serde::Deserialize;

/// A block that answers yes or no.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// The name by which the caller finds it.
    pub id: String,
    /// What it demands, for people.
    #[serde(default)]
    pub description: String,
    /// What kind of check it is.
    #[serde(default)]
    pub kind: BlockKind,
    /// The criterion's name, where it is one.
    #[serde(default)]
    pub name: Option<String>,
}

/// What kind of check a block is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    /// A quality of what was said.
    Quality,
    /// A pattern in what was said.
    Pattern,
    /// A tool call in a turn.
    ToolCall,
    /// A tool call at any time.
    ConversationToolCall,
    /// Anything else.
    #[default]
    Custom,
}

impl Block {
    /// The first word of a command that stands for a block.
    pub const WORD: &'static str = "$block";

    /// The command by which the engine asks for it.
    pub fn command(&self) -> Vec<String> {
        vec![Self::WORD.to_owned(), self.id.clone()]
    }

    /// The name of the block that a command stands for.
    pub fn named_by(command: &[String]) -> Option<&str> {
        match command {
            [word, id] if word == Self::WORD => Some(id),
            _ => None,
        }
    }
}
