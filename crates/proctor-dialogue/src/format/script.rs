//! Scripts: what an agent, a simulated user or a judge says without a model behind it.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde_json::Value;

use super::schema::{at_most_one, not_blank};
use super::shorthand::{OneOrMany, Pattern, text_or_mapping};
use super::values::TimeSpan;

/// When to say what. The first rule that applies and has something left speaks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScriptRule {
    /// Only when this occurs in the last message.
    pub when: Option<Pattern>,
    /// What to say, one after the other.
    pub say: Vec<Say>,
    /// What to do when everything has been said.
    pub then: Option<Then>,
}

impl ScriptRule {
    /// What is said at the `used`-th use of the rule.
    pub fn reply(&self, used: usize) -> Option<&Say> {
        let last = self.say.len().checked_sub(1)?;
        let then = self.then.unwrap_or(if self.when.is_some() { Then::Repeat } else { Then::Stop });
        self.say.get(match then {
            Then::Stop => used,
            Then::Repeat => used.min(last),
            Then::Again => used % (last + 1),
        })
    }
}

/// What is wrong with the rules of a script, if anything is.
pub(super) fn rules_problem(rules: &[ScriptRule]) -> Option<&'static str> {
    if rules.is_empty() {
        return Some("`script` is an empty list: there is nothing to say");
    }
    let answers = || rules.iter().flat_map(|rule| &rule.say);
    let calls = || answers().flat_map(|say| say.call.iter().chain(&say.called));
    match () {
        () if rules.iter().any(|rule| rule.say.is_empty()) => {
            Some("a rule of `script` has an empty `say`: the rule would never be used")
        }
        () if answers().any(|say| say.cost_usd.is_some_and(|cost| cost < 0.0)) => {
            Some("`cost_usd` in `script` is below 0")
        }
        () if calls().any(|call| call.tool.trim().is_empty()) => {
            Some("a call in `script` has an empty `tool`")
        }
        () if calls().any(|call| call.result.is_some() && call.error.is_some()) => {
            Some("`result` and `error` of a call in `script` exclude each other")
        }
        () => None,
    }
}

/// What is wrong with the answers of a scripted judge, if anything is.
pub(super) fn verdicts_problem(rules: &[VerdictRule]) -> Option<&'static str> {
    match () {
        () if rules.is_empty() => {
            Some("`verdicts` is an empty list: no question would be answered")
        }
        () if rules
            .iter()
            .any(|rule| rule.score.is_some_and(|score| !(0.0..=1.0).contains(&score))) =>
        {
            Some("`score` in `verdicts` is not between 0 and 1")
        }
        () => None,
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RuleFields {
    /// Only when this occurs in the last message.
    when: Option<Pattern>,
    /// What to say, one after the other.
    #[schemars(extend("not" = {"enum": [[], null]}))]
    say: OneOrMany<Say>,
    /// What to do when everything has been said: `stop` (without `when`) or `repeat` (with it) when absent.
    then: Option<Then>,
}

impl From<RuleFields> for ScriptRule {
    fn from(fields: RuleFields) -> Self {
        Self { when: fields.when, say: fields.say.0, then: fields.then }
    }
}

text_or_mapping!(ScriptRule, RuleFields, "a text or a mapping with `say`", |text| ScriptRule {
    say: vec![Say { text: text.to_owned(), ..Say::default() }],
    ..ScriptRule::default()
});

/// What a rule does when everything has been said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// It no longer applies.
    Stop,
    /// It says the last thing again and again.
    Repeat,
    /// It begins anew.
    Again,
}

/// One thing to say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Say {
    /// The words.
    pub text: String,
    /// Tools that the agent asks the host to call.
    pub call: Vec<ScriptedCall>,
    /// Tools that the agent has called itself.
    pub called: Vec<ScriptedCall>,
    /// How long to take.
    pub delay: Option<TimeSpan>,
    /// To fail with this message instead.
    pub fail: Option<String>,
    /// What it costs, in US dollars.
    pub cost_usd: Option<f64>,
    /// Whatever else is said about the answer.
    pub metadata: Option<Value>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SayFields {
    /// The words.
    #[serde(default)]
    text: String,
    /// Tools that the agent asks the host to call.
    #[serde(default)]
    call: OneOrMany<ScriptedCall>,
    /// Tools that the agent has called itself.
    #[serde(default)]
    called: OneOrMany<ScriptedCall>,
    /// How long to take.
    delay: Option<TimeSpan>,
    /// To fail with this message instead.
    fail: Option<String>,
    /// What it costs, in US dollars.
    #[schemars(range(min = 0))]
    cost_usd: Option<f64>,
    /// Whatever else is said about the answer.
    metadata: Option<Value>,
}

impl From<SayFields> for Say {
    fn from(fields: SayFields) -> Self {
        let SayFields { text, call, called, delay, fail, cost_usd, metadata } = fields;
        Self { text, call: call.0, called: called.0, delay, fail, cost_usd, metadata }
    }
}

text_or_mapping!(Say, SayFields, "a text or a mapping with `text`", |text| Say {
    text: text.to_owned(),
    ..Say::default()
});

/// A call to a tool in a script.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = call_rules)]
pub struct ScriptedCall {
    /// The tool.
    #[schemars(transform = not_blank)]
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: BTreeMap<String, Value>,
    /// Its result, for calls that the agent has made itself.
    #[serde(default)]
    pub result: Option<Value>,
    /// Its error, in place of a result.
    #[serde(default)]
    pub error: Option<String>,
}

fn call_rules(schema: &mut Schema) {
    at_most_one(schema, &["result", "error"]);
}

/// What a scripted judge answers to a question. The first rule that applies does.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerdictRule {
    /// Only questions of this kind.
    #[serde(default)]
    pub about: Option<QuestionKind>,
    /// Only where this occurs in the question: the criterion's text, the goal, the claims, the intent.
    #[serde(default)]
    pub asked: Option<Pattern>,
    /// Only where this occurs in what was said or done in the turns that are asked about.
    #[serde(default)]
    pub seen: Option<Pattern>,
    /// Only where this does not occur there.
    #[serde(default)]
    pub unseen: Option<Pattern>,
    /// Whether it holds.
    #[serde(default)]
    pub satisfied: Option<bool>,
    /// The topic, for questions about it.
    #[serde(default)]
    pub topic: Option<String>,
    /// How well it holds, between 0 and 1.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    pub score: Option<f64>,
    /// Why; a judge always says so.
    pub because: String,
}

/// What a judge is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// A criterion.
    Criterion,
    /// Whether claims are backed by tool results.
    Grounded,
    /// Claims that must not be made.
    ForbiddenClaims,
    /// What the agent means to do.
    Intent,
    /// Whether the goal has been achieved.
    Goal,
    /// Which topic a turn belongs to.
    Topic,
}

impl QuestionKind {
    /// The word in scenario files and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Criterion => "criterion",
            Self::Grounded => "grounded",
            Self::ForbiddenClaims => "forbidden_claims",
            Self::Intent => "intent",
            Self::Goal => "goal",
            Self::Topic => "topic",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_end_as_they_are_told_to() {
        let rule = |json: &str| serde_json::from_str::<ScriptRule>(json).unwrap();
        let reply_text = |rule: &ScriptRule, used| rule.reply(used).map(|say| say.text.clone());
        let queue = rule(r#"{"say": ["a", "b"]}"#);
        assert_eq!(
            [0, 1, 2].map(|used| reply_text(&queue, used)),
            [Some("a".into()), Some("b".into()), None]
        );
        let answer = rule(r#"{"when": "x", "say": ["a", {"text": "b"}]}"#);
        assert_eq!(reply_text(&answer, 7), Some("b".into()));
        let again = rule(r#"{"say": ["a", "b"], "then": "again"}"#);
        assert_eq!(reply_text(&again, 2), Some("a".into()));
        assert_eq!(reply_text(&rule(r#""hello""#), 0), Some("hello".into()));
        assert_eq!(reply_text(&rule(r#"{"say": []}"#), 0), None);
        assert_eq!(reply_text(&rule(r#"{"say": {"text": "one"}}"#), 0), Some("one".into()));
    }
}
