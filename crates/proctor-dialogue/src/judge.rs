//! What the judge is asked, how, and which of its answers count.
//!
//! Everything the agent, the user or a tool said stands between marks that carry a nonce of the request,
//! so that no text can pretend to be outside them. An answer counts only if it is one JSON object that
//! answers every item; anything else is [`Unusable`], which is never a pass. Who asks again, and how
//! often, is the engine's business.

mod answer;
mod prompt;
#[cfg(test)]
mod tests;

use crate::format::{Criterion, Grounding, Intent};
use crate::transcript::Turn;

pub use self::answer::{ItemAnswer, JudgeAnswer, Unusable, parse_judge_answer};
pub use self::prompt::judge_prompt;

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
    /// Marks what was said by others; occurs in none of it.
    pub nonce: String,
    /// The questions.
    pub items: Vec<JudgeItem>,
    /// The conversation so far.
    pub turns: Vec<Turn>,
    /// The turns the questions are about.
    pub focus: Vec<u32>,
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

/// A mark that occurs in none of the texts. The seed should be hard to guess for the agent.
pub(crate) fn nonce(seed: u64, counter: u64, turns: &[Turn]) -> String {
    let mut state = seed ^ counter.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    loop {
        state = mix(state);
        let nonce = format!("{state:016x}");
        let occurs = turns.iter().any(|turn| {
            turn.user.contains(&nonce)
                || turn.agent.contains(&nonce)
                || turn.tool_calls.iter().any(|call| {
                    let texts = [
                        &call.call.arguments,
                        call.result.as_ref().unwrap_or(&serde_json::Value::Null),
                    ];
                    texts.iter().any(|value| value.to_string().contains(&nonce))
                })
        });
        if !occurs {
            return nonce;
        }
    }
}

/// The finaliser of splitmix64.
fn mix(state: u64) -> u64 {
    let mut value = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
