//! What has been said and done: the conversation as the engine remembers it and as checks see it.
//!
//! Owned by the engine; checks, prompts and expressions only read it.

use std::sync::Arc;

use proctor_text::{VisibleMatch, has_mask};
use serde::Serialize;
use serde_json::{Value, json};

use crate::capabilities::AgentReports;
use crate::format::Pattern;

/// A call to a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ToolCall {
    /// Pairs the call with its result.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments, an object; `null` if a call was reported without them, so that they are unknown.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub arguments: Value,
}

/// A call to a tool with what came of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct DoneCall {
    /// The call.
    #[serde(flatten)]
    pub call: ToolCall,
    /// The result, where it succeeded.
    pub result: Option<Value>,
    /// The error, where it failed.
    pub error: Option<String>,
    /// How long it took, in milliseconds.
    pub duration_ms: Option<f64>,
    /// What else the agent says about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

/// One message and its answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Turn {
    /// Its number, from 1.
    pub number: u32,
    /// What the user said.
    pub user: String,
    /// What the agent said; the parts of several rounds joined by line feeds.
    pub agent: String,
    /// The tools that were called, in order.
    pub tool_calls: Vec<DoneCall>,
    /// The topic the turn belongs to.
    pub topic: Option<String>,
    /// How long the agent took in all, where it is known.
    pub latency_ms: Option<f64>,
    /// What the answer cost, where it is known.
    pub cost_usd: Option<f64>,
    /// Whether the agent may have made calls that `tool_calls` does not hold.
    #[serde(skip)]
    pub calls_unknown: bool,
    /// Why, if there is more to say than how the agent can report its calls.
    #[serde(skip)]
    pub calls_unknown_reason: Option<String>,
    /// What the agent sent to its model endpoint, call by call; `None` where that is not known.
    #[serde(skip)]
    pub prompts: Option<Vec<String>>,
}

/// A stay in a topic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TopicVisit {
    /// The topic.
    pub topic: String,
    /// The turns that belong to this visit.
    pub turns: Vec<u32>,
}

/// The whole conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Transcript {
    /// The turns, in order.
    pub turns: Vec<Turn>,
    /// The topics, in the order they were visited.
    pub visits: Vec<TopicVisit>,
    /// What the user wants, where that was said.
    pub goal: Option<String>,
    /// The row of a scenario set.
    #[serde(serialize_with = "serialize_shared")]
    pub row: Option<Arc<Value>>,
    /// What the agent can report.
    #[serde(skip)]
    pub reports: Arc<AgentReports>,
    /// Whether answers come from a recording or a cassette, in which secrets are masked. A mask in a live answer is the agent's own.
    #[serde(skip)]
    pub is_stored: bool,
}

#[expect(clippy::ref_option, reason = "serde asks for this signature")]
fn serialize_shared<S: serde::Serializer>(
    row: &Option<Arc<Value>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    row.as_deref().serialize(serializer)
}

impl Transcript {
    /// The topic the conversation is in.
    pub fn topic(&self) -> Option<&str> {
        self.visits.last().map(|visit| visit.topic.as_str())
    }

    /// The turns of all visits to a topic.
    pub fn turns_in(&self, topic: &str) -> Vec<u32> {
        let visits = self.visits.iter().filter(|visit| visit.topic == topic);
        visits.flat_map(|visit| visit.turns.iter().copied()).collect()
    }

    /// The turn with this number.
    pub fn turn(&self, number: u32) -> Option<&Turn> {
        self.turns.iter().find(|turn| turn.number == number)
    }

    /// Whether a secret is masked in this text, so that what is not seen in it may be there.
    pub(crate) fn hides(&self, text: &str) -> bool {
        self.is_stored && has_mask(text)
    }

    /// Whether a pattern occurs in a text of the conversation; `None` if a mask may hide it.
    pub(crate) fn has_match(&self, pattern: &Pattern, text: &str) -> Option<bool> {
        if !self.hides(text) {
            return Some(pattern.occurs_in(text));
        }
        match VisibleMatch::of(text, pattern.matches_in(text)) {
            VisibleMatch::Found(_) => Some(true),
            VisibleMatch::Absent => Some(false),
            VisibleMatch::Unknown => None,
        }
    }

    /// Whether the agent may have made unreported calls in these turns.
    pub(crate) fn calls_unknown_in(turns: &[&Turn]) -> bool {
        turns.iter().any(|turn| turn.calls_unknown)
    }

    /// Why the calls of these turns are not known.
    pub(crate) fn calls_unknown_reason(&self, turns: &[&Turn]) -> String {
        let known =
            turns.iter().find_map(|turn| Some((turn.number, turn.calls_unknown_reason.as_ref()?)));
        known.map_or_else(
            || self.reports.how_to_report_calls(),
            |(number, reason)| format!("turn {number}: {reason}"),
        )
    }

    /// The transcript as expressions and commands see it, with this turn as the current one. `tool_calls` is `null`
    /// where calls are not known: an empty list would say that there were none.
    pub fn to_value(&self, current: Option<u32>) -> Value {
        let turn = match current {
            Some(number) => self.turn(number),
            None => self.turns.last(),
        };
        let calls: Vec<&DoneCall> = self.turns.iter().flat_map(|turn| &turn.tool_calls).collect();
        let topics: Vec<&str> = self.visits.iter().map(|visit| visit.topic.as_str()).collect();
        let unknown = self.turns.iter().any(|turn| turn.calls_unknown);
        let calls = (!unknown).then_some(calls);
        json!({
            "turn": turn.map(turn_value),
            "turns": self.turns.iter().map(turn_value).collect::<Vec<_>>(),
            "turn_count": self.turns.len(),
            "tool_calls": calls,
            "topic": self.topic().unwrap_or_default(),
            "topics": topics,
            "goal": self.goal.as_deref().unwrap_or_default(),
            "row": self.row.as_deref(),
        })
    }
}

impl Transcript {
    /// The conversation as an assertion in this scope sees it: of a topic nothing but its own turns, elsewhere
    /// everything up to now, with the scope's turn as the current one.
    pub fn visible_in(&self, scope: &Scope) -> Value {
        match scope {
            Scope::Topic(topic) => self.limited_to_topic(topic).to_value(None),
            _ => self.to_value(scope.turn_number()),
        }
    }

    /// The turns and visits of a topic.
    fn limited_to_topic(&self, topic: &str) -> Self {
        let numbers = self.turns_in(topic);
        Self {
            turns: self
                .turns
                .iter()
                .filter(|turn| numbers.contains(&turn.number))
                .cloned()
                .collect(),
            visits: self.visits.iter().filter(|visit| visit.topic == topic).cloned().collect(),
            goal: self.goal.clone(),
            row: self.row.clone(),
            reports: Arc::clone(&self.reports),
            is_stored: self.is_stored,
        }
    }

    /// The conversation up to the end of what a scope looks at, for assertions about what has been before: the turn
    /// that shows that a topic was left is not part of it.
    pub(crate) fn up_to(&self, scope: &Scope) -> std::borrow::Cow<'_, Self> {
        let Scope::Topic(topic) = scope else { return std::borrow::Cow::Borrowed(self) };
        let last_visit = self.visits.iter().rposition(|visit| visit.topic == *topic);
        let last_turn = self.turns_in(topic).last().copied().unwrap_or_default();
        std::borrow::Cow::Owned(Self {
            turns: self.turns.iter().filter(|turn| turn.number <= last_turn).cloned().collect(),
            visits: self.visits[..last_visit.map_or(0, |index| index + 1)].to_vec(),
            goal: self.goal.clone(),
            row: self.row.clone(),
            reports: Arc::clone(&self.reports),
            is_stored: self.is_stored,
        })
    }
}

/// The calls of a turn that are known where there may have been others.
pub(crate) const KNOWN_CALLS: &str = "known_tool_calls";

fn turn_value(turn: &Turn) -> Value {
    let mut value = json!(turn);
    if turn.calls_unknown {
        let known = value["tool_calls"].take();
        value[KNOWN_CALLS] = known;
    }
    value
}

/// The turns an assertion looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// One turn.
    Turn(u32),
    /// All turns spent in a topic.
    Topic(String),
    /// Everything up to now.
    Conversation,
}

impl Scope {
    /// The turns.
    pub fn turns<'a>(&self, transcript: &'a Transcript) -> Vec<&'a Turn> {
        match self {
            Self::Turn(number) => transcript.turn(*number).into_iter().collect(),
            Self::Topic(topic) => {
                let numbers = transcript.turns_in(topic);
                transcript.turns.iter().filter(|turn| numbers.contains(&turn.number)).collect()
            }
            Self::Conversation => transcript.turns.iter().collect(),
        }
    }

    /// The turn's number, for a single turn.
    pub fn turn_number(&self) -> Option<u32> {
        match self {
            Self::Turn(number) => Some(*number),
            _ => None,
        }
    }

    /// How it is called in messages.
    pub fn label(&self, transcript: &Transcript) -> String {
        let numbers = |turns: &[u32]| {
            let shown: Vec<String> = turns.iter().map(u32::to_string).collect();
            shown.join(", ")
        };
        match self {
            Self::Turn(number) => format!("turn {number}"),
            Self::Topic(topic) => {
                format!("topic `{topic}` (turns {})", numbers(&transcript.turns_in(topic)))
            }
            Self::Conversation => match transcript.turns.len() {
                0 => "the conversation (no turns)".into(),
                1 => "the conversation (1 turn)".into(),
                count => format!("the conversation ({count} turns)"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_visits_of_a_topic_count() {
        let visit =
            |topic: &str, turns: &[u32]| TopicVisit { topic: topic.into(), turns: turns.into() };
        let transcript = Transcript {
            turns: (1..=3).map(|number| Turn { number, ..Turn::default() }).collect(),
            visits: vec![visit("a", &[1]), visit("b", &[2]), visit("a", &[3])],
            ..Transcript::default()
        };
        assert_eq!(transcript.turns_in("a"), [1, 3]);
        assert_eq!(Scope::Topic("a".into()).label(&transcript), "topic `a` (turns 1, 3)");
        assert_eq!(Scope::Topic("a".into()).turns(&transcript).len(), 2);
        assert_eq!(transcript.to_value(Some(1))["turn"]["number"], 1);
    }
}
