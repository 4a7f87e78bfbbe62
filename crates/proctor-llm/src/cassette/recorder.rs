//! Writing a cassette.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proctor_redact::Redactor;
use serde_json::{Map, Value};

use super::format::{Entry, Outcome, header};
use crate::answer::Answer;
use crate::canonical::{canonical_request, request_hash, sorted};
use crate::error::{ErrorKind, ModelError};
use crate::model::{Identity, Model, ModelFuture};
use crate::request::{ConversationId, Purpose, Request};

#[derive(Debug)]
struct CassetteFile {
    file: File,
    seq: u64,
    asked: HashMap<(Purpose, ConversationId), u64>,
}

/// The cassette of a run that is being recorded. Every entry is written when it is known, so a
/// crash loses nothing that came before it.
#[derive(Debug)]
pub struct Recorder {
    cassette_file: Mutex<CassetteFile>,
    redactor: Redactor,
    name: String,
}

/// The place of a call in its conversation, taken when it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallPosition {
    kind: Purpose,
    conversation: ConversationId,
    n: u64,
}

impl Recorder {
    /// Begins a cassette, for its owner alone. A file that is there is not overwritten: delete it
    /// to record again.
    pub fn create(
        path: &Path,
        about: &Map<String, Value>,
        redactor: Redactor,
    ) -> Result<Self, ModelError> {
        let name = path.display().to_string();
        let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let file = opened.map_err(|problem| {
            let message = if problem.kind() == std::io::ErrorKind::AlreadyExists {
                format!("the cassette {name} exists; replay it, or delete it to record again")
            } else {
                format!("cannot record to {name}: {problem}")
            };
            ModelError::new(ErrorKind::Storage, message)
        })?;
        let cassette_file = Mutex::new(CassetteFile { file, seq: 0, asked: HashMap::new() });
        let recorder = Self { cassette_file, redactor, name };
        let about = recorder.redactor.redact_value(&Value::Object(about.clone()));
        recorder.write(
            &mut recorder.cassette_file(),
            header(about.as_object().unwrap_or(&Map::new())),
        )?;
        Ok(recorder)
    }

    /// Takes down that a call is being made. Calls of one conversation that run at the same time
    /// are replayed in the order of their tickets, however they end.
    pub fn begin(&self, kind: Purpose, conversation: &str) -> CallPosition {
        let mut cassette_file = self.cassette_file();
        let asked = cassette_file.asked.entry((kind, conversation.to_owned())).or_default();
        let n = *asked;
        *asked += 1;
        CallPosition { kind, conversation: conversation.to_owned(), n }
    }

    /// Writes what came of a call. Secrets are removed from both sides.
    pub fn record_outcome(
        &self,
        ticket: CallPosition,
        request: &Value,
        outcome: Outcome,
    ) -> Result<(), ModelError> {
        let request = sorted(&self.redactor.redact_value(request));
        let outcome = match outcome {
            Outcome::Answer(answer) => Outcome::Answer(self.redactor.redact_value(&answer)),
            Outcome::Error(error) => {
                let message = self.redactor.redact_text(&error.message).into_owned();
                Outcome::Error(ModelError { message, ..error })
            }
        };
        let CallPosition { kind, conversation, n } = ticket;
        let conversation = self.redactor.redact_text(&conversation).into_owned();
        let hash = request_hash(&request);
        let mut cassette_file = self.cassette_file();
        let entry = Entry { seq: cassette_file.seq, kind, conversation, n, hash, request, outcome };
        let line = serde_json::to_string(&entry).map_err(|problem| self.failed(&problem))?;
        cassette_file.seq += 1;
        self.write(&mut cassette_file, line)
    }

    fn write(&self, cassette_file: &mut CassetteFile, line: String) -> Result<(), ModelError> {
        let line = line + "\n";
        cassette_file.file.write_all(line.as_bytes()).map_err(|problem| self.failed(&problem))
    }

    fn cassette_file(&self) -> MutexGuard<'_, CassetteFile> {
        self.cassette_file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, problem: &dyn std::error::Error) -> ModelError {
        let message = format!("cannot record to {}: {problem}", self.name);
        ModelError::new(ErrorKind::Storage, message)
    }
}

/// A model whose calls are recorded.
#[derive(Debug)]
pub struct RecordedModel<M> {
    inner: M,
    recorder: Arc<Recorder>,
}

impl<M: Model> RecordedModel<M> {
    /// Records the calls of a model.
    pub fn new(inner: M, recorder: Arc<Recorder>) -> Self {
        Self { inner, recorder }
    }
}

impl<M: Model> Model for RecordedModel<M> {
    fn ask<'a>(&'a self, request: &'a Request) -> ModelFuture<'a> {
        Box::pin(async move {
            let ticket = self.recorder.begin(request.purpose, &request.conversation);
            let outcome = self.inner.ask(request).await;
            let recorded = match &outcome {
                // Raw bodies are large, and may hold unexpected secrets.
                Ok(answer) => {
                    let kept = Answer { raw: String::new(), ..answer.clone() };
                    let kept = serde_json::to_value(kept);
                    Outcome::Answer(kept.map_err(|problem| self.recorder.failed(&problem))?)
                }
                Err(error) if error.kind.is_from_peer() => Outcome::Error(error.clone()),
                // What we refused ourselves is no fact about a peer.
                Err(_) => return outcome,
            };
            let asked = canonical_request(request, &self.inner.identity().model);
            self.recorder.record_outcome(ticket, &asked, recorded)?;
            outcome
        })
    }

    fn identity(&self) -> &Identity {
        self.inner.identity()
    }
}
