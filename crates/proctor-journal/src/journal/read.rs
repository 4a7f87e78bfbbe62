//! Looking: the active entry, the orphan, and all entries of a journal with its lanes.
//!
//! Looking takes no lock. Only when the current file cannot be understood is the lock taken, the
//! file read again, and if it is still damaged set aside.

use std::path::PathBuf;

use super::{Journal, JournalResult};
use crate::disk::Disk;
use crate::entry::Entry;
use crate::entry_header::EntryFacts;
use crate::error::JournalError;
use crate::model::{ConfidenceTier, Domain, OutcomeStatus, Strategy};
use crate::step::State;
use crate::store::lane_names;
use crate::time::{Moment, UtcTime};
use crate::warning::WithWarnings;

/// The active entry and whether it is the session's own.
#[derive(Clone, Debug, PartialEq)]
pub struct Current {
    /// The entry.
    pub entry: Entry,
    /// Set when another session left it.
    pub orphan: bool,
}

/// Where an entry was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryPlace {
    /// It is active.
    Active,
    /// Resolved in the session that is open.
    Session,
    /// In this archive.
    Archive(PathBuf),
}

/// An entry with the place it was found at.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundEntry {
    /// The entry, annotations included.
    pub entry: Entry,
    /// The lane; `None` is the journal itself.
    pub lane: Option<String>,
    /// The file.
    pub place: EntryPlace,
}

/// Which entries to list. Everything that is set must fit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// Only this lane; `None` lists the journal and all lanes.
    pub lane: Option<String>,
    /// Only this kind of work.
    pub domain: Option<Domain>,
    /// Only this approach.
    pub strategy: Option<Strategy>,
    /// Only entries that ended so.
    pub status: Option<OutcomeStatus>,
    /// Only entries of this confidence tier.
    pub tier: Option<ConfidenceTier>,
    /// Only entries that are still active (true) or ended (false).
    pub active: Option<bool>,
    /// Only this session.
    pub session: Option<String>,
    /// Only entries created at or after this time.
    pub since: Option<UtcTime>,
    /// Only entries created before this time.
    pub until: Option<UtcTime>,
    /// Only falsified entries without an explanation.
    pub needs_annotation: bool,
    /// At most so many, newest first.
    pub limit: Option<usize>,
}

impl Filter {
    /// Whether an entry of this lane, active or ended, is wanted.
    pub(super) fn admits(&self, entry: &EntryFacts<'_>, lane: Option<&str>, active: bool) -> bool {
        self.lane.as_ref().is_none_or(|wanted| lane == Some(wanted))
            && self.domain.is_none_or(|domain| entry.domain == domain)
            && self.strategy.is_none_or(|strategy| entry.strategy == strategy)
            && self.status.is_none_or(|status| entry.status == Some(status))
            && self.tier.is_none_or(|tier| entry.tier == Some(tier))
            && self.active.is_none_or(|wanted| active == wanted)
            && self.session.as_ref().is_none_or(|session| entry.session_id == *session)
            && self.since.is_none_or(|since| entry.created_at >= since)
            && self.until.is_none_or(|until| entry.created_at < until)
            && (!self.needs_annotation || entry.needs_annotation)
    }
}

impl<D: Disk> Journal<D> {
    /// The state, repaired under the lock only if it cannot be read otherwise.
    pub(crate) fn state(&self, moment: &Moment) -> JournalResult<State> {
        if let Some(value) = self.store.read_state_without_lock()? {
            return Ok(WithWarnings { value, warnings: Vec::new() });
        }
        let mut locked = self.store.lock(moment)?;
        let value = locked.recover_state()?;
        Ok(WithWarnings { value, warnings: std::mem::take(&mut locked.warnings) })
    }

    /// The active entry, also one that another session left.
    pub fn current(&self, moment: &Moment) -> JournalResult<Option<Current>> {
        Ok(self.state(moment)?.map(|state| {
            let orphan = state.orphan().is_some();
            state.current.map(|entry| Current { entry, orphan })
        }))
    }

    /// Whether another session left an active entry.
    pub fn has_orphan(&self, moment: &Moment) -> JournalResult<bool> {
        Ok(self.state(moment)?.map(|state| state.orphan().is_some()))
    }

    /// The entry another session left.
    pub fn orphan(&self, moment: &Moment) -> JournalResult<Option<Entry>> {
        Ok(self.state(moment)?.map(|state| state.orphan().cloned()))
    }

    /// The lanes of this journal.
    pub fn lanes(&self) -> Result<Vec<String>, JournalError> {
        lane_names(&self.store)
    }

    /// The entry with this id, or whose id ends or starts with it if only one does.
    pub fn show(&self, id: &str) -> JournalResult<FoundEntry> {
        let WithWarnings { value, warnings } = self.list(&Filter::default())?;
        let exact = value.iter().position(|found| found.entry.id == id);
        let candidates: Vec<usize> = match exact {
            Some(index) => vec![index],
            None => (0..value.len()).filter(|i| is_id_prefix(id, &value[*i].entry.id)).collect(),
        };
        let id_at = |index: usize| value[index].entry.id.clone();
        match candidates[..] {
            [] => {
                Err(JournalError::NoSuchEntry { id: id.to_owned(), dir: self.store.root.clone() })
            }
            [index] => Ok(WithWarnings { value: value[index].clone(), warnings }),
            [first, second, ..] => Err(JournalError::Ambiguous {
                id: id.to_owned(),
                count: candidates.len(),
                first: id_at(first),
                second: id_at(second),
            }),
        }
    }
}

fn is_id_prefix(given: &str, id: &str) -> bool {
    !given.is_empty() && (id.starts_with(given) || id.ends_with(given))
}
