//! Tapes: cassettes that are brought up to date conversation by conversation.
//!
//! The lines are those of a cassette ([`mod@super::format`]). A run that conducts some of the conversations replaces their calls and leaves
//! the others as they are. The file is written anew and moved into its place, so it is never half a tape.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proctor_redact::Redactor;
use serde_json::{Map, Value};

use super::format::{Entry, Outcome, header, parse};
use crate::canonical::{request_hash, sorted};
use crate::error::{ErrorKind, ModelError};
use crate::request::{ConversationId, Purpose};

/// A tape on disk.
#[derive(Debug)]
pub struct Tape {
    path: PathBuf,
    redactor: Redactor,
    conversations: Mutex<BTreeMap<ConversationId, Vec<Entry>>>,
}

/// Tapes by their files, so that all conversations of a run share one.
#[derive(Debug, Default)]
pub struct Tapes(Mutex<HashMap<PathBuf, Arc<Tape>>>);

impl Tapes {
    /// The tape in this file; an empty one if there is no file and it may be made.
    pub fn open(
        &self,
        path: &Path,
        may_be_new: bool,
        redactor: &Redactor,
    ) -> Result<Arc<Tape>, ModelError> {
        let mut tapes = lock(&self.0);
        if let Some(tape) = tapes.get(path) {
            return Ok(Arc::clone(tape));
        }
        let tape = Arc::new(Tape::open(path, may_be_new, redactor.clone())?);
        tapes.insert(path.to_owned(), Arc::clone(&tape));
        Ok(tape)
    }
}

impl Tape {
    /// Reads a tape.
    pub fn open(path: &Path, may_be_new: bool, redactor: Redactor) -> Result<Self, ModelError> {
        let name = path.display().to_string();
        let entries = match proctor_files::read_text(path, proctor_files::limits::CASSETTE) {
            Ok(text) => parse(&text, &name)?.1,
            Err(_) if may_be_new && !path.exists() => Vec::new(),
            Err(problem) => {
                let message = format!("cannot read the tape {name}: {problem}; record it first");
                return Err(ModelError::new(ErrorKind::Storage, message));
            }
        };
        let mut conversations: BTreeMap<ConversationId, Vec<Entry>> = BTreeMap::new();
        for entry in entries {
            conversations.entry(entry.conversation.clone()).or_default().push(entry);
        }
        for calls in conversations.values_mut() {
            calls.sort_by_key(|entry| entry.n);
        }
        Ok(Self { path: path.to_owned(), redactor, conversations: Mutex::new(conversations) })
    }

    /// The file, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A request as tapes keep it: without known secrets, its members in order.
    pub fn canonical(&self, request: &Value) -> Value {
        sorted(&self.redactor.redact_value(request))
    }

    /// The calls of a conversation, in the order in which they were made.
    pub fn calls_of(&self, conversation: &str) -> Vec<Entry> {
        self.conversations().get(conversation).cloned().unwrap_or_default()
    }

    /// Puts these calls in the place of those that the conversation had, and writes the tape.
    pub fn replace(
        &self,
        conversation: &str,
        calls: Vec<(Value, Outcome)>,
    ) -> Result<(), ModelError> {
        let entries = calls.into_iter().zip(0..).map(|((request, outcome), n)| {
            let request = self.canonical(&request);
            let outcome = match outcome {
                Outcome::Answer(answer) => Outcome::Answer(self.redactor.redact_value(&answer)),
                Outcome::Error(error) => {
                    let message = self.redactor.redact_text(&error.message).into_owned();
                    Outcome::Error(ModelError { message, ..error })
                }
            };
            let (kind, hash) = (Purpose::Agent, request_hash(&request));
            let conversation = conversation.to_owned();
            Entry { seq: 0, kind, conversation, n, hash, request, outcome }
        });
        let entries = entries.collect();
        let mut conversations = self.conversations();
        conversations.insert(conversation.to_owned(), entries);
        self.write(&mut conversations).map_err(|problem| {
            let message = format!("cannot write the tape {}: {problem}", self.path.display());
            ModelError::new(ErrorKind::Storage, message)
        })
    }

    fn write(
        &self,
        conversations: &mut BTreeMap<ConversationId, Vec<Entry>>,
    ) -> std::io::Result<()> {
        let mut text = header(&Map::new()) + "\n";
        for (entry, seq) in conversations.values_mut().flatten().zip(0..) {
            entry.seq = seq;
            text.push_str(&serde_json::to_string(entry)?);
            text.push('\n');
        }
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        // Temporary files are made for their owner alone, and keep that when they are moved.
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.persist(&self.path)?;
        Ok(())
    }

    fn conversations(&self) -> MutexGuard<'_, BTreeMap<ConversationId, Vec<Entry>>> {
        lock(&self.conversations)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use proctor_redact::Secret;
    use serde_json::json;

    use super::*;

    fn call(text: &str) -> (Value, Outcome) {
        (json!({"ask": text}), Outcome::Answer(json!({"said": text})))
    }

    #[test]
    fn one_conversation_is_replaced_and_the_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tapes/a.tape.jsonl");
        let tape = Tape::open(&path, true, Redactor::default()).unwrap();
        tape.replace("b.1", vec![call("one"), call("two")]).unwrap();
        tape.replace("a.1", vec![call("first")]).unwrap();
        let again = Tape::open(&path, false, Redactor::default()).unwrap();
        again.replace("b.1", vec![call("three")]).unwrap();
        let read = Tape::open(&path, false, Redactor::default()).unwrap();
        let asked = |conversation| -> Vec<Value> {
            read.calls_of(conversation).into_iter().map(|entry| entry.request).collect()
        };
        assert_eq!(asked("a.1"), [json!({"ask": "first"})]);
        assert_eq!(asked("b.1"), [json!({"ask": "three"})]);
        assert!(asked("c.1").is_empty());
    }

    #[test]
    fn secrets_never_reach_a_tape() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tape.jsonl");
        let redactor = Redactor::new([Secret::new("hush-hush-hush")]);
        let tape = Tape::open(&path, true, redactor).unwrap();
        let said = Outcome::Answer(json!({"said": "it is hush-hush-hush"}));
        tape.replace("a.1", vec![(json!({"ask": "hush-hush-hush?"}), said)]).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("hush"), "{text}");
        assert!(text.contains("[redacted]"), "{text}");
    }

    #[test]
    fn a_missing_tape_is_an_error_unless_it_is_to_be_made() {
        let path = Path::new("/nowhere/a.tape.jsonl");
        let error = Tape::open(path, false, Redactor::default()).unwrap_err();
        assert!(error.message.contains("record it first"), "{}", error.message);
    }
}
