//! Playing a cassette back.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proctor_redact::Redactor;
use serde_json::Value;

use super::drift::{Drift, differences, distance};
use super::format::{Entry, Outcome, VERSION, parse};
use crate::answer::Answer;
use crate::canonical::{canonical_request, request_hash, sorted};
use crate::error::{ErrorKind, ModelError};
use crate::model::{Billing, Identity, Model, ModelFuture};
use crate::request::{ConversationId, Purpose, Request};

/// How many differences a message shows, and how many recorded requests are looked at for it.
const SHOWN: usize = 4;
const MAX_COMPARED_REQUESTS: usize = 2000;

/// How a recorded answer is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplayMode {
    /// The next one of the same kind in the same conversation, for any request. Survives edits
    /// of a prompt; what changed is in [`Player::drift`].
    #[default]
    Sequence,
    /// The one that was given to the same request. Any change is a miss.
    Keyed,
}

#[derive(Debug, Default)]
struct State {
    asked: HashMap<(Purpose, ConversationId), u64>,
    by_key: HashMap<(Purpose, String, ConversationId), usize>,
    played: Vec<bool>,
    drift: Vec<Drift>,
}

/// A cassette that is being played.
#[derive(Debug)]
pub struct Player {
    name: String,
    mode: ReplayMode,
    redactor: Redactor,
    version: u64,
    entries: Vec<Entry>,
    sequences: HashMap<(Purpose, ConversationId), BTreeMap<u64, usize>>,
    keys: HashMap<(Purpose, String), Vec<usize>>,
    state: Mutex<State>,
}

impl Player {
    /// Loads a cassette.
    pub fn load(path: &Path, mode: ReplayMode, redactor: Redactor) -> Result<Self, ModelError> {
        let name = path.display().to_string();
        let text =
            proctor_files::read_text(path, proctor_files::limits::CASSETTE).map_err(|problem| {
                let message = format!(
                    "cannot read the cassette {name}: {problem}; record the cassette first"
                );
                ModelError::new(ErrorKind::Storage, message)
            })?;
        let (version, entries) = parse(&text, &name)?;
        Ok(Self { version, ..Self::new(name, mode, redactor, entries) })
    }

    fn new(name: String, mode: ReplayMode, redactor: Redactor, entries: Vec<Entry>) -> Self {
        let mut sequences: HashMap<_, BTreeMap<u64, usize>> = HashMap::new();
        let mut keys: HashMap<_, Vec<usize>> = HashMap::new();
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_by_key(|&index| (entries[index].n, entries[index].seq));
        for index in order {
            let entry = &entries[index];
            sequences
                .entry((entry.kind, entry.conversation.clone()))
                .or_default()
                .insert(entry.n, index);
            keys.entry((entry.kind, entry.hash.clone())).or_default().push(index);
        }
        let state = State { played: vec![false; entries.len()], ..State::default() };
        let version = VERSION;
        Self { name, mode, redactor, version, entries, sequences, keys, state: Mutex::new(state) }
    }

    /// The version of the cassette's format: which form its requests and answers have.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The recorded outcome of a call.
    pub fn take_outcome(
        &self,
        kind: Purpose,
        conversation: &str,
        request: &Value,
    ) -> Result<Outcome, ModelError> {
        let request = sorted(&self.redactor.redact_value(request));
        let hash = request_hash(&request);
        let conversation = self.redactor.redact_text(conversation).into_owned();
        let mut state = self.state();
        let n =
            *state.asked.entry((kind, conversation.clone())).and_modify(|n| *n += 1).or_insert(0);
        let found = match self.mode {
            ReplayMode::Sequence => self.find_nth(kind, &conversation, n),
            ReplayMode::Keyed => self.find_same_request(&mut state, kind, &conversation, &hash),
        };
        let Some(index) = found else {
            drop(state);
            return Err(self.miss_error(kind, &conversation, n, &request));
        };
        state.played[index] = true;
        let entry = &self.entries[index];
        if entry.hash != hash {
            let differences = differences(&entry.request, &request);
            state.drift.push(Drift { kind, conversation, n, differences });
        }
        Ok(entry.outcome.clone())
    }

    /// The requests that were answered by sequence although they changed.
    pub fn drift(&self) -> Vec<Drift> {
        self.state().drift.clone()
    }

    /// How many recorded calls were not replayed, by kind and conversation.
    pub fn leftover(&self) -> BTreeMap<(Purpose, ConversationId), usize> {
        let state = self.state();
        let mut left = BTreeMap::new();
        for (entry, _) in self.entries.iter().zip(&state.played).filter(|(_, played)| !**played) {
            *left.entry((entry.kind, entry.conversation.clone())).or_default() += 1;
        }
        left
    }

    /// A call that was given up while it was recorded has no entry, and its number stays a gap: to
    /// move the others up would give every later call the wrong answer.
    fn find_nth(&self, kind: Purpose, conversation: &str, n: u64) -> Option<usize> {
        self.sequences.get(&(kind, conversation.to_owned()))?.get(&n).copied()
    }

    /// The answer to the same request: of the same conversation if it asked it, else of another;
    /// asked more often than recorded, the last one again.
    fn find_same_request(
        &self,
        state: &mut State,
        kind: Purpose,
        conversation: &str,
        hash: &str,
    ) -> Option<usize> {
        let all = self.keys.get(&(kind, hash.to_owned()))?;
        let own: Vec<_> = all
            .iter()
            .copied()
            .filter(|&index| self.entries[index].conversation == conversation)
            .collect();
        let among = if own.is_empty() { all } else { &own };
        let used =
            state.by_key.entry((kind, hash.to_owned(), conversation.to_owned())).or_default();
        let index = among.get(*used).or(among.last()).copied();
        *used += 1;
        index
    }

    fn miss_error(&self, kind: Purpose, conversation: &str, n: u64, request: &Value) -> ModelError {
        let count = |conversation: &str| {
            self.sequences.get(&(kind, conversation.to_owned())).map_or(0, BTreeMap::len)
        };
        let why = match self.mode {
            ReplayMode::Sequence => {
                format!(
                    "it has {} {kind} calls of conversation `{conversation}`, and this is call {}",
                    count(conversation),
                    n + 1
                )
            }
            ReplayMode::Keyed => format!("no {kind} call in it asked the same"),
        };
        let near = self.find_nearest(kind, conversation, request);
        let near = near.map_or_else(|| " ".into(), |entry| Self::explain(entry, request));
        let message = format!(
            "the cassette {} has no answer to this request: {why}.{near}Record the cassette again if the change is intended",
            self.name
        );
        ModelError::new(ErrorKind::CassetteMiss, message)
    }

    /// The recorded request that is most like this one; of equally near ones, one of the same
    /// conversation.
    fn find_nearest(&self, kind: Purpose, conversation: &str, request: &Value) -> Option<&Entry> {
        let same_kind = self.entries.iter().filter(|entry| entry.kind == kind);
        same_kind.take(MAX_COMPARED_REQUESTS).min_by_key(|entry| {
            (distance(&entry.request, request), entry.conversation != conversation)
        })
    }

    fn explain(entry: &Entry, request: &Value) -> String {
        let differences = differences(&entry.request, request);
        let place = format!(
            "line {} ({} call {} in `{}`)",
            entry.seq + 2,
            entry.kind,
            entry.n + 1,
            entry.conversation
        );
        if differences.is_empty() {
            return format!(" The same request is recorded in {place}. ");
        }
        let shown: Vec<_> =
            differences.iter().take(SHOWN).map(|one| format!("\n  {one}")).collect();
        let more = differences.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!("\n  and {more} more") } else { String::new() };
        format!(" The nearest is in {place} and differs at{}{more}\n", shown.concat())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A model that gives recorded answers.
#[derive(Debug)]
pub struct ReplayedModel {
    player: Arc<Player>,
    identity: Identity,
}

impl ReplayedModel {
    /// Plays the calls of the model of this name.
    pub fn new(player: Arc<Player>, model: impl Into<String>) -> Self {
        let identity = Identity {
            backend: "replay",
            model: model.into(),
            billing: Billing::Free,
            fingerprint: String::new(),
        };
        Self { player, identity }
    }

    fn play(&self, request: &Request) -> Result<Answer, ModelError> {
        let asked = canonical_request(request, &self.identity.model);
        match self.player.take_outcome(request.purpose, &request.conversation, &asked)? {
            Outcome::Error(error) => Err(error),
            Outcome::Answer(answer) => {
                let answer: Answer = serde_json::from_value(answer).map_err(|problem| {
                    let message = format!(
                        "the cassette {} has a malformed model answer: {problem}",
                        self.player.name
                    );
                    ModelError::new(ErrorKind::Storage, message)
                })?;
                Ok(Answer { cached: true, ..answer })
            }
        }
    }
}

impl Model for ReplayedModel {
    fn ask<'a>(&'a self, request: &'a Request) -> ModelFuture<'a> {
        Box::pin(async move { self.play(request) })
    }

    fn identity(&self) -> &Identity {
        &self.identity
    }
}
