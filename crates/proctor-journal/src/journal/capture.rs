//! Resolving the active entry from what a command really did, and recalling similar ones.

use super::{Journal, JournalResult};
use crate::capture::{BadExpectation, CommandResult, Expectation, Judgement, judge};
use crate::disk::{Disk, Durability};
use crate::entry::Entry;
use crate::error::{JournalError, Refusal};
use crate::step::{Operation, Phase, step};
use crate::store::SHOWN;
use crate::time::{Moment, UtcTime};
use crate::warning::WithWarnings;

/// What a run did to the active entry.
#[derive(Clone, Debug, PartialEq)]
pub struct CaptureResult {
    /// The entry, resolved or still active.
    pub entry: Entry,
    /// What was found, and why.
    pub judgement: Judgement,
}

impl<D: Disk> Journal<D> {
    /// Judges a run by an expectation and resolves the active entry, or attaches the evidence if
    /// the run does not tell.
    ///
    /// `stated` is an expectation with the time it was said; without it the entry's own is taken.
    /// The outcome is gold only if both the expectation and the present iteration of the entry are
    /// older than the start of the run; otherwise it is an outcome like one entered by hand.
    pub fn capture(
        &self,
        stated: Option<(Expectation, UtcTime)>,
        run: &CommandResult,
        started_at: UtcTime,
        moment: &Moment,
    ) -> JournalResult<CaptureResult> {
        let mut locked = self.store.lock(moment)?;
        let state = locked.recover_state()?;
        let entry = match (&state.current, state.phase()) {
            (Some(entry), Phase::Active) => entry,
            (Some(orphan), _) => {
                return Err(Refusal::OrphanPending {
                    operation: "resolve",
                    id: orphan.id.clone(),
                    session_id: orphan.session_id.clone(),
                }
                .into());
            }
            (None, _) => return Err(Refusal::NoActive { operation: "resolve" }.into()),
        };
        let (expectation, stated_at) = match stated {
            Some(stated) => stated,
            None => entry_expectation(entry)?,
        };
        let predates = stated_at <= started_at && entry.iteration_start() <= started_at;
        let judgement = judge(&expectation, predates, run, moment.now);
        let operation = match judgement.resolution() {
            Some(resolution) => Operation::Resolve(resolution.checked(&mut locked.warnings)),
            None => Operation::Attach(judgement.evidence.clone()),
        };
        let step = step(&state, operation, moment)?;
        locked.apply_effects(&state, &step.effects)?;
        let entry = step.entry.unwrap_or_else(|| entry.clone());
        let warnings = std::mem::take(&mut locked.warnings);
        Ok(WithWarnings { value: CaptureResult { entry, judgement }, warnings })
    }

    /// At most `limit` past entries like this one that were not yet shown in this session,
    /// falsified ones first; remembers that they were shown now.
    pub fn take_unshown_similar(
        &self,
        entry: &Entry,
        limit: usize,
        moment: &Moment,
    ) -> JournalResult<Vec<Entry>> {
        let session = self.store.session()?.unwrap_or_default();
        // Looking through the past takes longer than anybody should wait for the lock.
        let WithWarnings { value: mut similar, warnings } =
            self.similar(entry, &self.shown_ids(&session)?, limit)?;
        let mut locked = self.store.lock(moment)?;
        let mut shown = self.shown_ids(&session)?;
        similar.retain(|entry| !shown.contains(&entry.id));
        if !similar.is_empty() {
            shown.extend(similar.iter().map(|entry| entry.id.clone()));
            let text = format!("{session}\n{}\n", shown.join("\n"));
            // A courtesy, not a fact: losing it in a power cut shows an entry twice.
            locked.replace(&self.store.path(SHOWN), text.as_bytes(), Durability::Cached)?;
        }
        Ok(WithWarnings { value: similar, warnings })
    }

    /// The ids shown in this session: the file's first line names the session they belong to.
    fn shown_ids(&self, session: &str) -> Result<Vec<String>, JournalError> {
        let bytes = self.store.read(&self.store.path(SHOWN))?.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let mut lines = text.lines();
        if lines.next() != Some(session) {
            return Ok(Vec::new());
        }
        Ok(lines.map(ToOwned::to_owned).collect())
    }
}

fn entry_expectation(entry: &Entry) -> Result<(Expectation, UtcTime), JournalError> {
    let Some(stated) = &entry.expectation else {
        return Err(JournalError::NoExpectation { id: entry.id.clone() });
    };
    let expectation = stated.expect.parse().map_err(|source: BadExpectation| {
        JournalError::StoredExpectation { id: entry.id.clone(), source }
    })?;
    Ok((expectation, stated.stated_at))
}
