//! What the judge is asked, how, and which of its answers count.
//!
//! Everything the agent, the user or a tool said stands between lines that carry the mark of the request,
//! so that no text can pretend to be outside them. An answer counts only if it is one JSON object that
//! carries the same mark and answers every item; anything else is [`UnusableAnswer`], which is never a pass. Who
//! asks again, and how often, is the engine's business.

mod answer;
mod mark;
mod prompt;
#[cfg(test)]
mod tests;

use crate::format::{Criterion, Grounding, Intent};
use crate::transcript::Turn;

pub use self::answer::{
    ItemAnswer, JudgeAnswer, UnusableAnswer, add_mark_to_recorded_answer, parse_judge_answer,
};
pub use self::mark::MarkKey;
pub use self::prompt::{judge_prompt, judge_prompt_without_mark};

/// A text for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// What the model is and how it answers.
    pub system: String,
    /// What it is asked.
    pub user: String,
}

/// Questions about a conversation that are asked together.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeRequest {
    /// Marks what was said by others, and the answer; occurs in nothing that was said. Each try has its own.
    pub mark: String,
    /// What is asked, in the order of the prompt.
    pub items: Vec<JudgeItem>,
    /// The conversation so far.
    pub turns: Vec<Turn>,
    /// The turns the questions are about.
    pub focus: Vec<u32>,
    /// How often these questions have been answered about these turns before: 0, or more for further votes.
    pub vote: u32,
}

/// One question.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeItem {
    /// Its name in the answer.
    pub id: String,
    /// What is asked.
    pub question: JudgeQuestion,
}

/// What a judge can be asked.
#[derive(Debug, Clone, PartialEq)]
pub enum JudgeQuestion {
    /// Whether a criterion holds.
    Criterion(Criterion),
    /// Whether claims are backed by tool results.
    Grounded(Grounding),
    /// Whether none of these claims is made.
    ForbiddenClaims(Vec<String>),
    /// Whether the agent means to do this.
    Intent(Intent),
    /// Whether the user's goal has been achieved.
    Goal(String),
    /// Which topic the last turn belongs to.
    Topic(Vec<TopicChoice>),
}

/// A topic the judge can choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicChoice {
    /// Its name.
    pub name: String,
    /// How to recognise it.
    pub characteristic: Option<String>,
    /// What the agent wants in it.
    pub agent_intent: Option<String>,
}
