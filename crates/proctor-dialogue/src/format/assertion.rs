//! The assertions a scenario can make, as they are written.
//!
//! Each is a mapping with one key. `not` turns any of them round. Where it stands says what it looks
//! at: under a turn that turn, under a topic the topic's turns, elsewhere the whole conversation.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::block::Block;
use super::matcher::{Matcher, NumberMatcher};
use super::schema::{
    NOT_BLANK, also, exclude, given, no_blank_items, not_blank, not_empty, or_nothing,
    program_first, with,
};
use super::shorthand::{Expression, OneOrMany, Pattern, text_or_mapping};
use proctor_yaml::At;

/// One assertion.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Assertion {
    /// The opposite of another assertion.
    Not(Box<Assertion>),
    /// The judge finds that named criteria or texts hold.
    Satisfy(#[schemars(transform = not_empty)] OneOrMany<At<String>>),
    /// All patterns occur in an answer of the agent.
    Match(#[schemars(transform = not_empty)] OneOrMany<Pattern>),
    /// One of the patterns occurs in an answer of the agent.
    MatchAny(#[schemars(transform = not_empty)] Vec<Pattern>),
    /// A tool was called, here or wherever this assertion looks.
    CallTool(ToolExpectation),
    /// A tool was called at any time up to now.
    CalledTool(ToolExpectation),
    /// Tools were called in this order; others may stand between.
    ToolOrder(#[schemars(transform = not_empty)] Vec<String>),
    /// What the agent claims is backed by tool results.
    Grounded(Grounding),
    /// The agent claims none of these.
    ForbiddenClaims(#[schemars(transform = not_empty)] OneOrMany<String>),
    /// The agent means to do this.
    Intent(Intent),
    /// The conversation is in this topic.
    Topic(#[schemars(transform = not_blank)] At<String>),
    /// The conversation has been in this topic.
    ReachedTopic(#[schemars(transform = not_blank)] At<String>),
    /// The topics were visited in exactly this order.
    TopicHistory(#[schemars(transform = not_empty)] Vec<At<String>>),
    /// The user's goal, or the one named here, has been achieved.
    GoalAchieved(Goal),
    /// How many turns there were.
    TurnCount(NumberMatcher),
    /// How many milliseconds the slowest answer took.
    LatencyMs(NumberMatcher),
    /// What the answers cost, in US dollars.
    CostUsd(NumberMatcher),
    /// A prompt that the agent sent to its model endpoint contains or matches something.
    Prompt(PromptExpectation),
    /// A CEL expression is true.
    Expression(Expression),
    /// A command, given the conversation as JSON, exits with 0.
    Command(#[schemars(transform = program_first)] OneOrMany<String>),
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
        "prompt",
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

/// What is wrong with an assertion although it is well formed: it looks at nothing, so it would say nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EmptyAssertion {
    /// A list of what is checked has no items.
    #[error("`{0}` is an empty list: nothing is checked; name at least one, or leave it out")]
    List(&'static str),
    /// One of the texts is blank.
    #[error("`{0}` holds an empty text: nothing is checked by it")]
    Text(&'static str),
}

impl Assertion {
    /// Why it checks nothing, if it does not. Holds for negations too: what looks at nothing cannot be turned round.
    pub fn problem(&self) -> Option<EmptyAssertion> {
        fn list<'a>(
            key: &'static str,
            texts: impl Iterator<Item = &'a str>,
        ) -> Option<EmptyAssertion> {
            let mut texts = texts.peekable();
            if texts.peek().is_none() {
                return Some(EmptyAssertion::List(key));
            }
            texts.any(|text| text.trim().is_empty()).then_some(EmptyAssertion::Text(key))
        }
        fn texts(texts: &[String]) -> impl Iterator<Item = &str> {
            texts.iter().map(String::as_str)
        }
        match self.unwrapped().0 {
            Self::Satisfy(names) => list("satisfy", names.0.iter().map(|name| name.value.as_str())),
            Self::Match(patterns) => list("match", patterns.0.iter().map(Pattern::source)),
            Self::MatchAny(patterns) => list("match_any", patterns.iter().map(Pattern::source)),
            Self::ToolOrder(tools) => list("tool_order", texts(tools)),
            Self::ForbiddenClaims(claims) => list("forbidden_claims", texts(&claims.0)),
            Self::TopicHistory(topics) => {
                list("topic_history", topics.iter().map(|topic| topic.value.as_str()))
            }
            Self::Command(words) => {
                list("command", words.0.first().into_iter().map(String::as_str))
            }
            Self::CallTool(tool) => list("call_tool", std::iter::once(tool.name.as_str())),
            Self::CalledTool(tool) => list("called_tool", std::iter::once(tool.name.as_str())),
            Self::Intent(intent) => list("intent", std::iter::once(intent.name.as_str())),
            Self::GoalAchieved(goal) => list("goal_achieved", std::iter::once(goal.0.as_str())),
            Self::Grounded(grounding) => {
                let blank = |named: &[String]| texts(named).any(|text| text.trim().is_empty());
                let empty = blank(&grounding.claims) || blank(&grounding.from_tools);
                empty.then_some(EmptyAssertion::Text("grounded"))
            }
            Self::Prompt(prompt) => prompt.is_empty().then_some(EmptyAssertion::List("prompt")),
            // These cannot be empty, or an empty one says something.
            Self::Topic(_)
            | Self::ReachedTopic(_)
            | Self::TurnCount(_)
            | Self::LatencyMs(_)
            | Self::CostUsd(_)
            | Self::Expression(_)
            | Self::Block(_)
            | Self::Not(_) => None,
        }
    }
}

/// What must stand in one prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PromptExpectation {
    /// All of these texts.
    pub contains: Vec<String>,
    /// All of these patterns.
    pub matches: Vec<Pattern>,
}

impl PromptExpectation {
    /// Whether it looks for nothing.
    pub fn is_empty(&self) -> bool {
        let blank = |texts: &[String]| texts.iter().any(|text| text.trim().is_empty());
        (self.contains.is_empty() && self.matches.is_empty()) || blank(&self.contains)
    }

    /// Whether all of it stands in this prompt.
    pub fn occurs_in(&self, prompt: &str) -> bool {
        self.contains.iter().all(|text| prompt.contains(text.as_str()))
            && self.matches.iter().all(|pattern| pattern.occurs_in(prompt))
    }

    /// Texts and patterns, all as patterns.
    pub(crate) fn patterns(&self) -> Vec<Pattern> {
        let literal = |text: &String| Pattern::new(&regex::escape(text)).ok();
        let literals = self.contains.iter().filter_map(literal);
        literals.chain(self.matches.iter().cloned()).collect()
    }
}

impl std::fmt::Display for PromptExpectation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let texts = self.contains.iter().map(|text| format!("{text:?}"));
        let patterns = self.matches.iter().map(|pattern| format!("/{}/", pattern.source()));
        f.write_str(&texts.chain(patterns).collect::<Vec<_>>().join(" and "))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = prompt_rules)]
struct PromptFields {
    /// Texts that stand in it.
    #[serde(default)]
    contains: Option<OneOrMany<String>>,
    /// Patterns that occur in it.
    #[serde(default)]
    matches: Option<OneOrMany<Pattern>>,
}

fn prompt_rules(schema: &mut schemars::Schema) {
    let filled = serde_json::json!({
        "type": ["string", "array"], "minItems": 1, "pattern": NOT_BLANK, "items": {"pattern": NOT_BLANK},
    });
    let key = |key: &str| with(key, filled.clone());
    also(schema, serde_json::json!({"anyOf": [key("contains"), key("matches")]}));
    for key in ["contains", "matches"] {
        exclude(schema, given(key), serde_json::json!({"not": with(key, filled.clone())}));
    }
}

impl From<PromptFields> for PromptExpectation {
    fn from(fields: PromptFields) -> Self {
        let contains = fields.contains.map(|texts| texts.0).unwrap_or_default();
        Self { contains, matches: fields.matches.map(|patterns| patterns.0).unwrap_or_default() }
    }
}

text_or_mapping!(
    PromptExpectation,
    PromptFields,
    "a text or a mapping with `contains` or `matches`",
    text: {"type": "string", "pattern": NOT_BLANK},
    |text| PromptExpectation { contains: vec![text.to_owned()], matches: Vec::new() }
);

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
    #[schemars(transform = not_blank)]
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
    text: {"type": "string", "pattern": NOT_BLANK},
    |text| ToolExpectation { name: text.to_owned(), ..ToolExpectation::default() }
);

/// What must be backed by tool results.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = or_nothing)]
pub struct Grounding {
    /// The kinds of claims that count: prices, dates …; all factual claims when empty.
    #[serde(default)]
    #[schemars(transform = no_blank_items)]
    pub claims: Vec<String>,
    /// The tools whose results count; all when empty.
    #[serde(default)]
    #[schemars(transform = no_blank_items)]
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
    #[schemars(transform = not_blank)]
    name: String,
    /// What it means.
    described_as: Option<String>,
}

impl From<IntentFields> for Intent {
    fn from(fields: IntentFields) -> Self {
        Self { name: fields.name, described_as: fields.described_as }
    }
}

text_or_mapping!(
    Intent,
    IntentFields,
    "an intent or a mapping with `name`",
    text: {"type": "string", "pattern": NOT_BLANK},
    |text| Intent { name: text.to_owned(), described_as: None }
);

/// A goal: `stated` for the goal of the simulated user, or any other text.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub struct Goal(#[schemars(transform = not_blank)] pub String);

impl Goal {
    /// The text, unless it stands for the stated goal.
    pub fn text(&self) -> Option<&str> {
        (self.0 != "stated").then_some(self.0.as_str())
    }
}
