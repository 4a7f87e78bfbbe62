//! What the parties of all suites of a run have in common: their models, what they may spend, what they remember, the cassette, the marks
//! of questions, and the secrets that must not be recorded.
//!
//! Made when the first suite needs it, from that suite's settings; so nothing is begun for scenarios that cannot be run.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use proctor_dialogue::ModelFields;
use proctor_endpoint::Forward;
use proctor_llm::cassette::{Tape, Tapes};
use proctor_llm::{Budget, Cache, Cost, Player, Recorder, UnknownPrice, WaitCounts};
use proctor_redact::{Redactor, SHORTEST_SECRET};
use proctor_text::{plural, pluralize};
use proctor_traces::Traces;
use serde_json::Map;

use super::made_parties::MadeParties;
use super::models::MadeModel;
use super::{Cassette, PartySetupError, Settings};
use crate::agent::{EndpointHost, EndpointNotes};
use crate::failure::Failure;
use crate::judge_marks::MarkSource;
use crate::open_cassette::OpenCassette;
use crate::sandbox::Sandboxes;

/// How many drifted requests are shown in full.
const MAX_DRIFTS_SHOWN: usize = 10;

/// What all suites of a run share. Clones refer to the same resources.
#[derive(Clone, Default)]
pub struct SharedResources(Arc<Inner>);

#[derive(Default)]
struct Inner {
    redactor: Redactor,
    sandboxes: Sandboxes,
    marks: OnceLock<MarkSource>,
    models: Mutex<MadeParties<ModelFields, Result<MadeModel, Failure>>>,
    /// Variables whose values are too short to be filtered.
    short_secrets: Arc<Mutex<BTreeSet<String>>>,
    budget: OnceLock<Option<Arc<Budget>>>,
    cache: Mutex<Option<Arc<Cache>>>,
    cassette: Mutex<Option<OpenCassette>>,
    traces: Arc<Traces>,
    waits: Arc<WaitCounts>,
    endpoint_host: Arc<EndpointHost>,
    endpoint_notes: Arc<EndpointNotes>,
    tapes: Tapes,
    forwards: Mutex<MadeParties<ModelFields, Result<Arc<Forward>, Failure>>>,
    notes_given: AtomicBool,
}

impl std::fmt::Debug for SharedResources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shared")
    }
}

fn setup_error(error: proctor_llm::ModelError) -> PartySetupError {
    PartySetupError { place: None, message: error.message }
}

impl SharedResources {
    /// Resources whose texts pass this filter; it learns what `${env:…}` names.
    pub fn with_redactor(redactor: Redactor) -> Self {
        Self(Arc::new(Inner { redactor, ..Inner::default() }))
    }

    pub(super) fn redactor(&self) -> &Redactor {
        &self.0.redactor
    }

    pub(super) fn sandboxes(&self) -> &Sandboxes {
        &self.0.sandboxes
    }

    pub(super) fn traces(&self) -> &Arc<Traces> {
        &self.0.traces
    }

    pub(super) fn waits(&self) -> &Arc<WaitCounts> {
        &self.0.waits
    }

    pub(super) fn short_secrets(&self) -> Arc<Mutex<BTreeSet<String>>> {
        Arc::clone(&self.0.short_secrets)
    }

    pub(super) fn marks(&self) -> Result<MarkSource, PartySetupError> {
        if let Some(marks) = self.0.marks.get() {
            return Ok(marks.clone());
        }
        let marks = MarkSource::random().map_err(|error| PartySetupError {
            place: None,
            message: format!("the operating system provides no random numbers for the marks of the judge: {error}"),
        })?;
        Ok(self.0.marks.get_or_init(|| marks).clone())
    }

    /// The model of this name and description; made now if no suite has made it.
    pub(super) fn model(
        &self,
        name: &str,
        fields: &ModelFields,
        here: &Path,
        make: impl FnOnce() -> Result<MadeModel, Failure>,
    ) -> Result<MadeModel, Failure> {
        let mut models = self.0.models.lock().unwrap_or_else(PoisonError::into_inner);
        models.get(name, fields, here, make)
    }

    pub(super) fn endpoint_host(&self) -> Arc<EndpointHost> {
        Arc::clone(&self.0.endpoint_host)
    }

    pub(super) fn endpoint_notes(&self) -> Arc<EndpointNotes> {
        Arc::clone(&self.0.endpoint_notes)
    }

    pub(super) fn tape(&self, path: &Path, may_be_new: bool) -> Result<Arc<Tape>, Failure> {
        Ok(self.0.tapes.open(path, may_be_new, &self.0.redactor)?)
    }

    /// The real model of this description that agents' calls are forwarded to: its limits hold for all of them together.
    pub(super) fn forward(
        &self,
        fields: &ModelFields,
        here: &Path,
        make: impl FnOnce() -> Result<Arc<Forward>, Failure>,
    ) -> Result<Arc<Forward>, Failure> {
        let mut forwards = self.0.forwards.lock().unwrap_or_else(PoisonError::into_inner);
        forwards.get("", fields, here, make)
    }

    pub(super) fn budget(&self, settings: &Settings) -> Option<Arc<Budget>> {
        let make = |limit| Arc::new(Budget::new(Cost::from_dollars(limit), UnknownPrice::Refuse));
        self.0.budget.get_or_init(|| settings.budget_usd.map(make)).clone()
    }

    pub(super) fn cache(&self, settings: &Settings) -> Result<Option<Arc<Cache>>, PartySetupError> {
        let Some(folder) = &settings.cache else { return Ok(None) };
        let mut cache = self.0.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.is_none() {
            let opened = Cache::open(folder, self.0.redactor.clone()).map_err(setup_error)?;
            *cache = Some(Arc::new(opened));
        }
        Ok(cache.clone())
    }

    pub(super) fn cassette(&self, settings: &Settings) -> Result<OpenCassette, PartySetupError> {
        let mut cassette = self.0.cassette.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cassette) = &*cassette {
            return Ok(cassette.clone());
        }
        let redactor = self.0.redactor.clone();
        let made = match &settings.cassette {
            Cassette::Off => return Ok(OpenCassette::Off),
            Cassette::Record(path) => OpenCassette::Record(Arc::new(
                Recorder::create(path, &Map::new(), redactor).map_err(setup_error)?,
            )),
            Cassette::Replay(path, mode) => OpenCassette::Replay(Arc::new(
                Player::load(path, *mode, redactor).map_err(setup_error)?,
            )),
        };
        *cassette = Some(made.clone());
        Ok(made)
    }

    /// Remarks about a run that is over; empty from the second call on.
    pub(super) fn notes(&self) -> Vec<String> {
        if self.0.notes_given.swap(true, Ordering::Relaxed) {
            return Vec::new();
        }
        let mut notes = self.0.sandboxes.notes();
        notes.extend(self.0.traces.notes());
        notes.extend(waits_note(&self.0.waits));
        notes.extend(self.0.endpoint_notes.take());
        for variable in &*self.0.short_secrets.lock().unwrap_or_else(PoisonError::into_inner) {
            notes.push(format!(
                "the value of {variable} has less than {SHORTEST_SECRET} characters: it is not filtered from what is written"
            ));
        }
        if let Some(Some(budget)) = self.0.budget.get()
            && budget.is_exhausted()
        {
            let spent = budget.spent();
            notes.push(format!(
                "the budget is used up: {spent} were spent, and the next call did not fit"
            ));
        }
        if let Some(OpenCassette::Replay(player)) =
            &*self.0.cassette.lock().unwrap_or_else(PoisonError::into_inner)
        {
            notes.extend(replayed(player));
        }
        notes
    }
}

/// How often agents were waited for that said that they were busy.
fn waits_note(waits: &WaitCounts) -> Option<String> {
    let times = match waits.waits() {
        0 => return None,
        1 => "once".to_owned(),
        count => format!("{count} times"),
    };
    let seconds = (waits.waited().as_secs_f64() * 10.0).round() / 10.0;
    Some(format!(
        "agents were busy (status 429 or 503) and were waited for {times}, {seconds} s in all"
    ))
}

fn replayed(player: &Player) -> Vec<String> {
    let drift = player.drift();
    let mut notes: Vec<String> =
        drift.iter().take(MAX_DRIFTS_SHOWN).map(|one| format!("drift: {one}")).collect();
    if player.version() < 2 {
        notes.push(
            "the cassette is of version 1: other models, limits or tools are not noticed; record it again".into(),
        );
    }
    if drift.len() > MAX_DRIFTS_SHOWN {
        let more = drift.len() - MAX_DRIFTS_SHOWN;
        notes.push(format!("drift: {more} more requests differ from the recorded ones"));
    }
    let left = player.leftover();
    let count: usize = left.values().sum();
    if count > 0 {
        let (calls, were) = (pluralize(count, "recorded call"), plural(count, "was", "were"));
        let conversations = pluralize(left.len(), "conversation");
        notes.push(format!("{calls} {were} not asked for, in {conversations}"));
    }
    notes
}
