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
    /// Pointers to places in a request that may differ.
    ignore: Vec<String>,
    on_drift: OnDrift,
    drift: Vec<String>,
}

/// A request as tapes keep it.
pub(crate) fn asked(protocol: Protocol, body: &Value) -> Value {
    json!({"interface": protocol.as_str(), "body": body})
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
                let drift = self.describe_drift(next, &compared);
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
            if let Some(place) = compared.pointer_mut(&format!("/body{pointer}")) {
                *place = Value::Null;
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

    fn describe_drift(&self, index: usize, compared: &Value) -> String {
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
