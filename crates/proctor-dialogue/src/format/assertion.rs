//! The assertions a scenario can make, as they are written.
//!
//! Each is a mapping with one key. `not` turns any of them round. Where it stands says what it looks
//! at: under a turn that turn, under a topic the topic's turns, elsewhere the whole conversation.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::block::Block;
use super::matcher::{Matcher, NumberMatcher};
use super::shorthand::{Expression, OneOrMany, Pattern, text_or_mapping};
use crate::file::At;

/// One assertion.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Assertion {
    /// The opposite of another assertion.
    Not(Box<Assertion>),
    /// The judge finds that named criteria or texts hold.
    Satisfy(OneOrMany<At<String>>),
    /// All patterns occur in an answer of the agent.
    Match(OneOrMany<Pattern>),
    /// One of the patterns occurs in an answer of the agent.
    MatchAny(Vec<Pattern>),
    /// A tool was called, here or wherever this assertion looks.
    CallTool(ToolExpectation),
    /// A tool was called at any time up to now.
    CalledTool(ToolExpectation),
    /// Tools were called in this order; others may stand between.
    ToolOrder(Vec<String>),
    /// What the agent claims is backed by tool results.
    Grounded(Grounding),
    /// The agent claims none of these.
    ForbiddenClaims(OneOrMany<String>),
    /// The agent means to do this.
    Intent(Intent),
    /// The conversation is in this topic.
    Topic(At<String>),
    /// The conversation has been in this topic.
    ReachedTopic(At<String>),
    /// The topics were visited in exactly this order.
    TopicHistory(Vec<At<String>>),
    /// The user's goal, or the one named here, has been achieved.
    GoalAchieved(Goal),
    /// How many turns there were.
    TurnCount(NumberMatcher),
    /// How many milliseconds the slowest answer took.
    LatencyMs(NumberMatcher),
    /// What the answers cost, in US dollars.
    CostUsd(NumberMatcher),
    /// A CEL expression is true.
    Expression(Expression),
    /// A command, given the conversation as JSON, exits with 0.
    Command(OneOrMany<String>),
    /// A block outside says so. Not for files.
    #[serde(rename = "$block")]
    #[schemars(skip)]
    Block(Block),
}

impl Assertion {
    /// The keys a scenario can use.
    pub const KINDS: &'static [&'static str] = &[
        "not",
        "satisfy",
        "match",
        "match_any",
        "call_tool",
        "called_tool",
        "tool_order",
        "grounded",
        "forbidden_claims",
        "intent",
        "topic",
        "reached_topic",
        "topic_history",
        "goal_achieved",
        "turn_count",
        "latency_ms",
        "cost_usd",
        "expression",
        "command",
    ];

    /// The assertion inside all `not`s, and whether it is turned round.
    pub fn unwrapped(&self) -> (&Self, bool) {
        let mut negated = false;
        let mut inner = self;
        while let Self::Not(next) = inner {
            negated = !negated;
            inner = next;
        }
        (inner, negated)
    }
}

/// A call to a tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolExpectation {
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub with: BTreeMap<String, Matcher>,
    /// How many such calls; at least one when absent.
    pub times: Option<NumberMatcher>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ToolExpectationFields {
    /// The tool.
    name: String,
    /// Its arguments, each a value or conditions.
    #[serde(default)]
    with: BTreeMap<String, Matcher>,
    /// How many such calls.
    times: Option<NumberMatcher>,
}

impl From<ToolExpectationFields> for ToolExpectation {
    fn from(fields: ToolExpectationFields) -> Self {
        Self { name: fields.name, with: fields.with, times: fields.times }
    }
}

text_or_mapping!(
    ToolExpectation,
    ToolExpectationFields,
    "a tool or a mapping with `name`",
    |text| { ToolExpectation { name: text.to_owned(), ..ToolExpectation::default() } }
);

/// What must be backed by tool results.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grounding {
    /// The kinds of claims that count: prices, dates …; all factual claims when empty.
    #[serde(default)]
    pub claims: Vec<String>,
    /// The tools whose results count; all when empty.
    #[serde(default)]
    pub from_tools: Vec<String>,
}

/// An intent of the agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Intent {
    /// Its name.
    pub name: String,
    /// What it means.
    pub described_as: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct IntentFields {
    /// Its name.
    name: String,
    /// What it means.
    described_as: Option<String>,
}

impl From<IntentFields> for Intent {
    fn from(fields: IntentFields) -> Self {
        Self { name: fields.name, described_as: fields.described_as }
    }
}

text_or_mapping!(Intent, IntentFields, "an intent or a mapping with `name`", |text| Intent {
    name: text.to_owned(),
    described_as: None
});

/// A goal: `stated` for the goal of the simulated user, or any other text.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub struct Goal(pub String);

impl Goal {
    /// The text, unless it stands for the stated goal.
    pub fn text(&self) -> Option<&str> {
        (self.0 != "stated").then_some(self.0.as_str())
    }
}
