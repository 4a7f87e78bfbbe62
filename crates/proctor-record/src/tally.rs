//! The counts of one attempt that lists, time lines, tables and comparisons show.
//!
//! A tally is made from an attempt and from nothing else, so events are interpreted in one place, the fold. An outline
//! ([`Aggregator::outline`](crate::Aggregator::outline)) keeps the tally of an ended attempt instead of its conversation.

use std::borrow::Cow;

use proctor_events::EvaluationMode;
use serde::Serialize;

use crate::model::{Attempt, Evaluation, ModelUse};

/// The counts of one attempt.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Tally {
    /// The number of its last turn.
    pub turns: u32,
    /// How often the agent answered.
    pub replies: u32,
    /// Tool calls, whether the agent or the host reported them.
    pub tool_calls: u32,
    /// Model calls that were made.
    pub model_calls: u32,
    /// Model calls of the agent.
    pub agent_calls: u32,
    /// Model calls whose answer is neither scripted nor cached.
    pub open_calls: u32,
    /// Tokens sent and received.
    pub tokens: u64,
    /// What model calls cost, in US dollars; absent where none had a price.
    pub cost_usd: Option<f64>,
    /// The topics it went through.
    pub topics: Vec<String>,
    /// What was checked.
    pub checks: Vec<CheckTally>,
}

/// One check.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CheckTally {
    /// The criterion, else the description, else the kind of the check.
    pub name: Option<String>,
    /// Whether a failure does not fail the attempt.
    pub soft: bool,
    /// Whether the check holds; absent where no verdict was reached.
    pub passed: Option<bool>,
    /// Its score.
    pub score: Option<f64>,
    /// Whether a judge decided it, not a rule.
    pub judged: bool,
    /// The turn that it looked at; absent where it looked at the whole conversation.
    pub turn: Option<u32>,
}

/// Kinds of checks that a judge decides. Programs may have kinds of their own: theirs are judged where they give a score.
const JUDGED: &[&str] = &["quality", "grounding", "forbidden_claims", "intent", "goal_achievement"];
/// Kinds of checks that a rule decides, with a score or without.
const MECHANICAL: &[&str] = &[
    "pattern",
    "tool_call",
    "conversation_tool_call",
    "tool_order",
    "topic",
    "topic_history",
    "turn_count",
    "latency",
    "cost",
    "prompt",
    "custom",
];

impl Tally {
    fn of(attempt: &Attempt) -> Self {
        let mut tally = Self::default();
        if let Some(talk) = &attempt.conversation {
            tally.turns = talk.turns.last().map_or(0, |turn| turn.number);
            tally.replies = sum(talk.turns.iter().map(|turn| turn.responses.len()));
            tally.tool_calls = sum(talk.turns.iter().map(|turn| turn.tool_calls.len()));
            tally.topics = talk.topics.iter().map(|visit| visit.topic.clone()).collect();
        }
        for call in &attempt.model_calls {
            tally.count(call);
        }
        tally.checks = attempt.evaluations.iter().map(CheckTally::of).collect();
        tally
    }

    fn count(&mut self, call: &ModelUse) {
        self.model_calls += 1;
        self.agent_calls += u32::from(call.purpose.as_deref() == Some("agent"));
        self.open_calls += u32::from(!call.is_fixed());
        self.tokens +=
            call.input_tokens.unwrap_or_default() + call.output_tokens.unwrap_or_default();
        if let Some(cost) = call.cost_usd {
            *self.cost_usd.get_or_insert_default() += cost;
        }
    }

    /// Adds events that came after the end of the attempt.
    fn add(mut self, late: Self) -> Self {
        self.turns = self.turns.max(late.turns);
        self.replies += late.replies;
        self.tool_calls += late.tool_calls;
        self.model_calls += late.model_calls;
        self.agent_calls += late.agent_calls;
        self.open_calls += late.open_calls;
        self.tokens += late.tokens;
        if let Some(cost) = late.cost_usd {
            *self.cost_usd.get_or_insert_default() += cost;
        }
        self.topics.extend(late.topics);
        self.checks.extend(late.checks);
        self
    }
}

fn sum(counts: impl Iterator<Item = usize>) -> u32 {
    u32::try_from(counts.sum::<usize>()).unwrap_or(u32::MAX)
}

impl CheckTally {
    fn of(evaluation: &Evaluation) -> Self {
        Self {
            name: evaluation.title().map(ToOwned::to_owned),
            soft: evaluation.mode == EvaluationMode::Soft,
            passed: evaluation.passed,
            score: evaluation.score,
            judged: evaluation.is_judged(),
            turn: evaluation.turn,
        }
    }
}

impl Evaluation {
    /// The name of the criterion, else the description, else the kind.
    pub fn title(&self) -> Option<&str> {
        self.name.as_deref().or(self.description.as_deref()).or(self.kind.as_deref())
    }

    /// Whether a judge decided it, not a rule.
    pub fn is_judged(&self) -> bool {
        let kind = self.kind.as_deref().unwrap_or_default();
        JUDGED.contains(&kind) || (!MECHANICAL.contains(&kind) && self.score.is_some())
    }
}

impl ModelUse {
    /// Whether the answer is the same every time: it is scripted, or comes from a cache or cassette.
    pub fn is_fixed(&self) -> bool {
        self.cached || matches!(self.backend.as_deref(), Some("scripted" | "replay" | "cassette"))
    }
}

impl Attempt {
    /// The counts of the attempt.
    pub fn tally(&self) -> Cow<'_, Tally> {
        let bare = self.conversation.is_none()
            && self.model_calls.is_empty()
            && self.evaluations.is_empty();
        match &self.final_tally {
            Some(final_tally) if bare => Cow::Borrowed(final_tally),
            Some(final_tally) => Cow::Owned(Tally::clone(final_tally).add(Tally::of(self))),
            None => Cow::Owned(Tally::of(self)),
        }
    }

    /// Stores the tally and drops the data from which it was made.
    pub(crate) fn reduce_to_tally(&mut self) {
        let tally = self.tally().into_owned();
        self.conversation = None;
        self.model_calls = Vec::new();
        self.evaluations = Vec::new();
        self.final_tally = Some(Box::new(tally));
    }
}
