//! Models that say what they were told to: rules, and queues of replies.
//!
//! A rule applies by purpose, label and pattern; the first that applies and has a reply left
//! gives it. Queues are kept per conversation, so many can run at the same time and each sees the
//! script from its beginning. A script without an answer is an error that says so, never silence.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use proctor_text::shorten;
use regex::Regex;

use crate::answer::{Answer, StopReason, Timings, Usage};
use crate::error::{ErrorKind, ModelError};
use crate::model::{Billing, Identity, Model, ModelFuture};
use crate::request::{Purpose, Request, ToolCall};

/// What a rule does when its queue is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenSpent {
    /// It no longer applies.
    #[default]
    Stop,
    /// It says the last reply again.
    RepeatLast,
    /// It begins anew.
    Cycle,
}

/// One reply.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptedReply {
    /// The words.
    pub text: String,
    /// Tool calls.
    pub tool_calls: Vec<ToolCall>,
    /// Tokens to claim.
    pub usage: Option<Usage>,
    /// How long to take.
    pub delay: Duration,
    /// To fail instead.
    pub error: Option<ModelError>,
}

impl ScriptedReply {
    /// A reply of words.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A reply that fails.
    pub fn failure(error: ModelError) -> Self {
        Self { error: Some(error), ..Self::default() }
    }
}

impl From<&str> for ScriptedReply {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

/// When to say what.
#[derive(Clone, Debug, Default)]
pub struct Rule {
    /// Only for this purpose.
    pub purpose: Option<Purpose>,
    /// Only for this label.
    pub label: Option<String>,
    /// Only where the last words of the user match; the instructions are not looked at.
    pub pattern: Option<Regex>,
    /// What to say, in this order.
    pub replies: Vec<ScriptedReply>,
    /// And then.
    pub when_spent: WhenSpent,
}

impl Rule {
    /// A queue that applies to everything, until it is empty.
    pub fn queue<R: Into<ScriptedReply>>(replies: impl IntoIterator<Item = R>) -> Self {
        Self { replies: replies.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// One reply, every time the pattern matches.
    pub fn on(pattern: Regex, reply: impl Into<ScriptedReply>) -> Self {
        Self {
            pattern: Some(pattern),
            when_spent: WhenSpent::RepeatLast,
            ..Self::queue([reply.into()])
        }
    }

    /// The same rule for one purpose.
    #[must_use]
    pub fn for_purpose(mut self, purpose: Purpose) -> Self {
        self.purpose = Some(purpose);
        self
    }

    /// The same rule with another end.
    #[must_use]
    pub fn with_end(mut self, when_spent: WhenSpent) -> Self {
        self.when_spent = when_spent;
        self
    }

    fn applies(&self, request: &Request) -> bool {
        self.purpose.is_none_or(|purpose| purpose == request.purpose)
            && self.label.as_ref().is_none_or(|label| *label == request.label)
            && self
                .pattern
                .as_ref()
                .is_none_or(|pattern| pattern.is_match(request.last_user_text()))
    }

    /// The reply for the `used`-th use.
    fn reply(&self, used: usize) -> Option<&ScriptedReply> {
        let last = self.replies.len().checked_sub(1)?;
        self.replies.get(match self.when_spent {
            WhenSpent::Stop => used,
            WhenSpent::RepeatLast => used.min(last),
            WhenSpent::Cycle => used % (last + 1),
        })
    }
}

/// A model that follows rules.
#[derive(Debug)]
pub struct ScriptedModel {
    rules: Vec<Rule>,
    identity: Identity,
    /// Uses per rule, per conversation.
    used: Mutex<HashMap<String, Vec<usize>>>,
}

impl ScriptedModel {
    /// A model of these rules, under a name.
    pub fn new(name: impl Into<String>, rules: Vec<Rule>) -> Self {
        let identity = Identity {
            backend: "scripted",
            model: name.into(),
            billing: Billing::Free,
            fingerprint: String::new(),
        };
        Self { rules, identity, used: Mutex::default() }
    }

    /// Drops the counts of a conversation that is over.
    pub fn forget(&self, conversation: &str) {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).remove(conversation);
    }

    fn next(&self, request: &Request) -> Result<&ScriptedReply, ModelError> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if !used.contains_key(&request.conversation) {
            used.insert(request.conversation.clone(), vec![0; self.rules.len()]);
        }
        let counts = used.get_mut(&request.conversation);
        let mut spent = 0;
        for (rule, count) in self.rules.iter().zip(counts.into_iter().flatten()) {
            if !rule.applies(request) {
                continue;
            }
            if let Some(reply) = rule.reply(*count) {
                *count += 1;
                return Ok(reply);
            }
            spent += rule.replies.len();
        }
        Err(self.no_reply_error(request, spent))
    }

    fn no_reply_error(&self, request: &Request, spent: usize) -> ModelError {
        let name = &self.identity.model;
        let asked = shorten(request.last_user_text(), 80);
        let why = if spent > 0 {
            format!("has used all {spent} replies for this request")
        } else {
            "has no rule for this request".to_owned()
        };
        let message = format!(
            "the script `{name}` {why} (purpose {}, label `{}`, conversation `{}`, last message: {asked}); add a reply or a rule that repeats",
            request.purpose, request.label, request.conversation
        );
        ModelError::new(ErrorKind::ScriptExhausted, message)
    }

    fn answer(&self, reply: &ScriptedReply) -> Result<Answer, ModelError> {
        if let Some(error) = &reply.error {
            return Err(error.clone());
        }
        let calls = !reply.tool_calls.is_empty();
        Ok(Answer {
            tool_calls: reply.tool_calls.clone(),
            usage: reply.usage,
            model: self.identity.model.clone(),
            stop: if calls { StopReason::ToolUse } else { StopReason::End },
            timings: Timings { total: reply.delay, first_token: None },
            ..Answer::text(reply.text.clone())
        })
    }
}

impl Model for ScriptedModel {
    fn ask<'a>(&'a self, request: &'a Request) -> ModelFuture<'a> {
        Box::pin(async move {
            let reply = self.next(request)?;
            if !reply.delay.is_zero() {
                tokio::time::sleep(reply.delay).await;
            }
            self.answer(reply)
        })
    }

    fn identity(&self) -> &Identity {
        &self.identity
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::now_or_never;

    fn says(model: &ScriptedModel, request: &Request) -> String {
        now_or_never(model.ask(request))
            .map_or_else(|error| error.to_string(), |answer| answer.text)
    }

    #[test]
    fn the_first_rule_that_applies_and_has_something_left_speaks() {
        let book = Regex::new("(?i)book").unwrap();
        let model = ScriptedModel::new(
            "venue",
            vec![
                Rule::on(book, "Which day?").for_purpose(Purpose::Agent),
                Rule::queue(["one", "two"]),
                Rule {
                    label: Some("goal".into()),
                    ..Rule::queue(["yes", "no"]).with_end(WhenSpent::Cycle)
                },
            ],
        );
        let agent = |text: &str| Request::ask(Purpose::Agent, text).in_conversation("a");
        assert_eq!(says(&model, &agent("I want to BOOK")), "Which day?");
        assert_eq!(says(&model, &agent("hello")), "one");
        assert_eq!(says(&model, &Request::ask(Purpose::Judge, "book").in_conversation("a")), "two");
        assert_eq!(says(&model, &agent("book again")), "Which day?");
        assert_eq!(says(&model, &agent("hello").in_conversation("b")), "one");
        let goal = Request { label: "goal".into(), ..agent("reached?") };
        assert_eq!(["yes", "no", "yes"].map(|_| says(&model, &goal)), ["yes", "no", "yes"]);
        insta::assert_snapshot!(says(&model, &agent("hello")), @"the script `venue` has used all 2 replies for this request (purpose agent, label ``, conversation `a`, last message: hello); add a reply or a rule that repeats");
        model.forget("a");
        assert_eq!(says(&model, &agent("hello")), "one");
    }

    #[test]
    fn a_script_without_a_rule_says_so_and_failures_can_be_scripted() {
        let error = ModelError::new(ErrorKind::Overloaded, "busy");
        let model = ScriptedModel::new(
            "x",
            vec![Rule::queue([ScriptedReply::failure(error)]).for_purpose(Purpose::Judge)],
        );
        assert_eq!(says(&model, &Request::ask(Purpose::Judge, "?")), "busy");
        let missing = says(&model, &Request::ask(Purpose::Agent, "?"));
        assert!(missing.starts_with("the script `x` has no rule for this request"), "{missing}");
    }

    #[test]
    fn empty_rules_never_speak() {
        for end in [WhenSpent::Stop, WhenSpent::RepeatLast, WhenSpent::Cycle] {
            assert_eq!(Rule::queue(Vec::<ScriptedReply>::new()).with_end(end).reply(0), None);
        }
    }
}
