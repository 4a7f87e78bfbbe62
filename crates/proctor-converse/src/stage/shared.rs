//! What all stages of a run have in common: what they may spend, what they remember, the cassette, and the secrets that
//! nobody may write down.
//!
//! Made when the first stage needs it, from that stage's settings; so nothing is begun for scenarios that cannot be run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use proctor_llm::{Budget, Cache, Cost, Player, Recorder, Redactor, UnknownPrice};
use serde_json::Map;

use super::{Cassette, Settings, StageError};
use crate::tape::Tape;

/// How many drifted requests are told in full.
const TOLD: usize = 10;

/// What all stages of a run share. Clones are the same.
#[derive(Clone, Default)]
pub struct Shared(Arc<Inner>);

#[derive(Default)]
struct Inner {
    redactor: Redactor,
    budget: OnceLock<Option<Arc<Budget>>>,
    cache: Mutex<Option<Arc<Cache>>>,
    tape: Mutex<Option<Tape>>,
    told: AtomicBool,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shared")
    }
}

fn cannot(error: proctor_llm::ModelError) -> StageError {
    StageError { place: None, message: error.message }
}

impl Shared {
    pub(super) fn redactor(&self) -> &Redactor {
        &self.0.redactor
    }

    pub(super) fn budget(&self, settings: &Settings) -> Option<Arc<Budget>> {
        let make = |limit| Arc::new(Budget::new(Cost::from_dollars(limit), UnknownPrice::Refuse));
        self.0.budget.get_or_init(|| settings.budget_usd.map(make)).clone()
    }

    pub(super) fn cache(&self, settings: &Settings) -> Result<Option<Arc<Cache>>, StageError> {
        let Some(folder) = &settings.cache else { return Ok(None) };
        let mut cache = self.0.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.is_none() {
            let opened = Cache::open(folder, self.0.redactor.clone()).map_err(cannot)?;
            *cache = Some(Arc::new(opened));
        }
        Ok(cache.clone())
    }

    pub(super) fn tape(&self, settings: &Settings) -> Result<Tape, StageError> {
        let mut tape = self.0.tape.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tape) = &*tape {
            return Ok(tape.clone());
        }
        let redactor = self.0.redactor.clone();
        let made = match &settings.cassette {
            Cassette::Off => return Ok(Tape::Off),
            Cassette::Record(path) => Tape::Record(Arc::new(
                Recorder::create(path, &Map::new(), redactor).map_err(cannot)?,
            )),
            Cassette::Replay(path, mode) => {
                Tape::Replay(Arc::new(Player::load(path, *mode, redactor).map_err(cannot)?))
            }
        };
        *tape = Some(made.clone());
        Ok(made)
    }

    /// What is to be told about a run that is over; once, whoever asks first.
    pub(super) fn notes(&self) -> Vec<String> {
        if self.0.told.swap(true, Ordering::Relaxed) {
            return Vec::new();
        }
        let mut notes = Vec::new();
        if let Some(Some(budget)) = self.0.budget.get()
            && budget.is_exhausted()
        {
            let spent = budget.spent();
            notes.push(format!(
                "the budget is used up: {spent} were spent, and the next call did not fit"
            ));
        }
        if let Some(Tape::Replay(player)) =
            &*self.0.tape.lock().unwrap_or_else(PoisonError::into_inner)
        {
            notes.extend(replayed(player));
        }
        notes
    }
}

fn replayed(player: &Player) -> Vec<String> {
    let drift = player.drift();
    let mut notes: Vec<String> =
        drift.iter().take(TOLD).map(|one| format!("drift: {one}")).collect();
    if drift.len() > TOLD {
        let more = drift.len() - TOLD;
        notes.push(format!("drift: {more} more requests differ from the recorded ones"));
    }
    let left = player.leftover();
    let count: usize = left.values().sum();
    if count > 0 {
        let lanes = left.len();
        notes.push(format!("{count} recorded calls were not asked for, in {lanes} lanes"));
    }
    notes
}
