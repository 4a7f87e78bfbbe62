//! Calls that are answered from a tape, and how they differ from those that were recorded.
//!
//! A call is answered by the recorded one that asked the same, so calls that an agent makes side by side may come in another order. If no
//! call that is left asked the same, that is drift: an error that shows the difference, or, where that is wanted, the next recorded answer
//! and a remark. More calls than were recorded are an error in any case.

use std::fmt::Write as _;
use std::sync::Arc;

use proctor_llm::cassette::drift::differences;
use proctor_llm::cassette::{Entry, Outcome, Tape};
use proctor_llm::wire::{AnswerParts, Protocol};
use proctor_llm::{ErrorKind, ModelError};
use serde_json::{Value, json};

use crate::answer::Reply;
use crate::conversation::Answered;
use crate::prompt::{Memory, prompt_text};
use crate::prompt_diff::prompt_difference;

/// How many differences are shown.
const SHOWN: usize = 8;

/// What becomes of a call that differs from the recorded one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDrift {
    /// It is refused, and the conversation is errored.
    #[default]
    Fail,
    /// It is answered by the next recorded answer, and the difference is reported.
    Report,
}

/// The replay of one conversation.
#[derive(Debug)]
pub struct Replay {
    tape: Arc<Tape>,
    conversation: String,
    entries: Vec<Entry>,
    played: Vec<bool>,
    /// Pointers to places in a request that may differ; `*` stands for every member or item.
    ignore: Vec<String>,
    on_drift: OnDrift,
    drift: Vec<String>,
}

/// A request as tapes keep it.
pub(crate) fn asked(protocol: Protocol, body: &Value) -> Value {
    json!({"interface": protocol.as_str(), "body": body})
}

/// The prompt of a request as tapes keep it. What it refers to is what this conversation was answered.
fn prompt_text_of(request: &Value, memory: &Memory) -> String {
    let name = request["interface"].as_str().unwrap_or_default();
    let protocol = Protocol::ALL.into_iter().find(|protocol| protocol.as_str() == name);
    protocol.map_or_else(String::new, |protocol| prompt_text(protocol, &request["body"], memory))
}

/// Replaces what stands at a place by null. `*` in the pointer is every member or item there.
fn clear(value: &mut Value, pointer: &str) {
    let (name, rest) = match pointer.split_once('/') {
        Some((name, rest)) => (name, Some(rest)),
        None => (pointer, None),
    };
    let name = name.replace("~1", "/").replace("~0", "~");
    let inner: Vec<&mut Value> = match value {
        Value::Object(members) if name == "*" => members.values_mut().collect(),
        Value::Object(members) => members.get_mut(&name).into_iter().collect(),
        Value::Array(items) if name == "*" => items.iter_mut().collect(),
        Value::Array(items) => {
            let index = name.parse::<usize>().ok();
            index.and_then(|index| items.get_mut(index)).into_iter().collect()
        }
        _ => Vec::new(),
    };
    for one in inner {
        match rest {
            Some(rest) => clear(one, rest),
            None => *one = Value::Null,
        }
    }
}

/// What a kept body holds.
pub(crate) fn read_parts(protocol: Protocol, kept: &Value) -> Result<AnswerParts, ModelError> {
    let parts = match kept {
        Value::String(stream) => protocol.decode_stream(stream),
        whole => protocol.decode(whole),
    };
    parts.map_err(|fault| ModelError::new(fault.kind, fault.message))
}

impl Replay {
    /// The replay of the first of these conversations that the tape knows.
    pub fn new(
        tape: Arc<Tape>,
        conversations: &[String],
        ignore: Vec<String>,
        on_drift: OnDrift,
    ) -> Self {
        let known = conversations.iter().find(|name| !tape.calls_of(name).is_empty());
        let conversation = known.or(conversations.first()).cloned().unwrap_or_default();
        let entries = tape.calls_of(&conversation);
        let played = vec![false; entries.len()];
        Self { tape, conversation, entries, played, ignore, on_drift, drift: Vec::new() }
    }

    pub(crate) fn take(
        &mut self,
        protocol: Protocol,
        body: &Value,
        memory: &Memory,
    ) -> Result<Answered, ModelError> {
        let request = self.tape.canonical(&asked(protocol, body));
        let compared = self.without_ignored(&request);
        let left: Vec<usize> =
            (0..self.entries.len()).filter(|&index| !self.played[index]).collect();
        let is_same =
            |&&index: &&usize| self.without_ignored(&self.entries[index].request) == compared;
        let index = match (left.iter().find(is_same), left.first()) {
            (Some(&same), _) => same,
            (None, None) => return Err(self.no_more_calls()),
            (None, Some(&next)) => {
                let drift = self.describe_drift(next, &compared, memory);
                if self.on_drift == OnDrift::Fail {
                    return Err(ModelError::new(ErrorKind::CassetteMiss, drift));
                }
                self.drift.push(drift);
                next
            }
        };
        self.played[index] = true;
        match &self.entries[index].outcome {
            Outcome::Error(error) => Err(error.clone()),
            Outcome::Answer(recorded) => self.answered(protocol, recorded),
        }
    }

    fn answered(&self, protocol: Protocol, recorded: &Value) -> Result<Answered, ModelError> {
        let kept = &recorded["body"];
        let parts = read_parts(protocol, kept).map_err(|error| {
            let message = format!(
                "the tape {} has an answer that cannot be read: {}; record it again",
                self.tape.path().display(),
                error.message
            );
            ModelError::new(ErrorKind::Storage, message)
        })?;
        let reply = match kept {
            Value::String(stream) => Reply::received_stream(stream),
            whole => Reply::json(200, whole),
        };
        Ok(Answered {
            reply,
            whole: Some(kept.clone()),
            text: parts.text,
            tool_calls: parts.tool_calls,
            usage: parts.usage,
            model: parts.model,
            cost_usd: recorded["cost_usd"].as_f64(),
            cached: true,
            tries: None,
        })
    }

    fn without_ignored(&self, request: &Value) -> Value {
        let mut compared = request.clone();
        for pointer in &self.ignore {
            if let (Some(body), Some(path)) = (compared.get_mut("body"), pointer.strip_prefix('/'))
            {
                clear(body, path);
            }
        }
        compared
    }

    fn no_more_calls(&self) -> ModelError {
        let (path, conversation) = (self.tape.path().display(), &self.conversation);
        let message = match self.entries.len() {
            0 => format!(
                "the tape {path} has no calls of the conversation `{conversation}`; record it: `proctor run --record-tapes`"
            ),
            count => format!(
                "the agent makes a call more than were recorded: the tape {path} has {count} of the conversation `{conversation}`; if that is intended, record it again: `proctor run --record-tapes`"
            ),
        };
        ModelError::new(ErrorKind::CassetteMiss, message)
    }

    fn describe_drift(&self, index: usize, compared: &Value, memory: &Memory) -> String {
        let recorded = self.without_ignored(&self.entries[index].request);
        let differences = differences(&recorded, compared);
        let mut text = format!(
            "drift: call {} of the conversation `{}` is not the recorded one; it differs from the tape {} at",
            index + 1,
            self.conversation,
            self.tape.path().display(),
        );
        for difference in differences.iter().take(SHOWN) {
            let shown = difference.to_string();
            let _ = write!(text, "\n  {}", shown.strip_prefix("/body").unwrap_or(&shown));
        }
        if differences.len() > SHOWN {
            let _ = write!(text, "\n  and {} more", differences.len() - SHOWN);
        }
        let prompt = |request: &Value| prompt_text_of(request, memory);
        if let Some(lines) = prompt_difference(&prompt(&recorded), &prompt(compared)) {
            let _ = write!(text, "\nits prompt, recorded (-) and now (+):\n{lines}");
        }
        text.push_str("\nif the change is intended, record it again: `proctor run --record-tapes`; a place that differs each time can be named under `ignore:`");
        text
    }

    /// The differences that were let through.
    pub(crate) fn take_drift(&mut self) -> Vec<String> {
        std::mem::take(&mut self.drift)
    }

    /// How many recorded calls were not made.
    pub(crate) fn left(&self) -> usize {
        self.played.iter().filter(|played| !**played).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_cleared_and_a_star_is_every_one() {
        let cleared = |pointer: &str| {
            let mut value =
                json!({"input": [{"id": "a", "text": "x"}, {"id": "b"}, "c"], "a/b": {"c": 1}});
            clear(&mut value, pointer);
            value
        };
        assert_eq!(
            cleared("input/*/id")["input"],
            json!([{"id": null, "text": "x"}, {"id": null}, "c"])
        );
        assert_eq!(cleared("input/1")["input"], json!([{"id": "a", "text": "x"}, null, "c"]));
        assert_eq!(cleared("a~1b/c")["a/b"], json!({"c": null}));
        assert_eq!(cleared("*/c")["a/b"], json!({"c": null}));
        for nowhere in ["gone", "input/7/id", "input/x", "a~1b/c/d", ""] {
            assert_eq!(cleared(nowhere), cleared("nowhere"), "{nowhere}");
        }
    }
}
