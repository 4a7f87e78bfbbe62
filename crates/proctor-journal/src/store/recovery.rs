//! Finding out the state of the journal, and repairing on the way what an interruption left.

use std::path::PathBuf;

use super::{CURRENT, ENTRIES, Locked, SESSION, SET_ASIDE, Store, TEMP_SUFFIX};
use crate::decode;
use crate::disk::Disk;
use crate::entry::Entry;
use crate::error::{At, JournalError};
use crate::id;
use crate::step::State;
use crate::time::Moment;
use crate::warning::Warning;

impl<D: Disk> Store<D> {
    /// The session that is open.
    pub(crate) fn session(&self) -> Result<Option<String>, JournalError> {
        let bytes = self.read(&self.path(SESSION))?;
        let text = bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let line =
            text.as_deref().and_then(|text| text.trim_start_matches('\u{feff}').lines().next());
        Ok(line.map(str::trim).filter(|id| !id.is_empty()).map(ToOwned::to_owned))
    }

    /// The entry in the current file, or what is wrong with that file.
    pub(crate) fn current(&self) -> Result<Option<serde_json::Result<Entry>>, JournalError> {
        let bytes = self.read(&self.path(CURRENT))?;
        Ok(bytes.map(|bytes| decode::record(&bytes)))
    }

    /// The state without a lock; `None` if it can only be known after a repair.
    pub(crate) fn read_state_without_lock(&self) -> Result<Option<State>, JournalError> {
        let current = match self.current()? {
            Some(Err(_)) => return Ok(None),
            Some(Ok(entry)) => Some(entry),
            None => None,
        };
        let state = State { session: self.session()?, current };
        let done = self.already_resolved_in(&state)?.is_some();
        Ok(Some(State { current: state.current.filter(|_| !done), ..state }))
    }

    /// The file of resolved lines in which the active entry already stands: the trace of a crash
    /// between writing the line and clearing the entry.
    fn already_resolved_in(&self, state: &State) -> Result<Option<PathBuf>, JournalError> {
        let Some(entry) = &state.current else { return Ok(None) };
        let lines = self.path(ENTRIES);
        if contains_entry(&self.last_lines()?, &entry.id) {
            return Ok(Some(lines));
        }
        if state.session.as_ref() == Some(&entry.session_id) {
            return Ok(None);
        }
        match self.existing_archive(&entry.session_id)? {
            Some(archive) => {
                let bytes = self.read(&archive)?.unwrap_or_default();
                Ok(contains_entry(&bytes, &entry.id).then_some(archive))
            }
            None => Ok(None),
        }
    }

    /// The moment with other random bits if its entry id is taken: ids have few of them, and an
    /// active entry with the id of a resolved one would be taken for the trace of a crash.
    pub(crate) fn moment_for_new_id(&self, mut moment: Moment) -> Result<Moment, JournalError> {
        let bytes = self.last_lines()?;
        while contains(&bytes, id::entry_id(&moment).as_bytes()) {
            moment.nonce = moment.nonce.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        }
        Ok(moment)
    }

    /// The end of the session's lines, with at least the last one whole.
    ///
    /// The line of an entry that was not cleared is the last one, since every change clears such
    /// an entry before it does anything else; and ids of one second stand together. So the end of
    /// the file is enough, and the cost of a change does not grow with the session.
    fn last_lines(&self) -> Result<Vec<u8>, JournalError> {
        let path = self.path(ENTRIES);
        let end = self.disk.read_end(&path, LAST_LINES).at("read", &path)?.unwrap_or_default();
        let before_last = end.get(..end.len().saturating_sub(1)).unwrap_or_default();
        let is_whole = (end.len() as u64) < LAST_LINES || before_last.contains(&b'\n');
        if is_whole { Ok(end) } else { Ok(self.read(&path)?.unwrap_or_default()) }
    }
}

/// How much of the end of the session's lines is looked at.
const LAST_LINES: u64 = 32 * 1024;

/// Whether lines have an entry with this id.
fn contains_entry(bytes: &[u8], id: &str) -> bool {
    contains(bytes, id.as_bytes())
        && decode::lines(bytes).any(|line| line.entry().is_ok_and(|entry| entry.id == id))
}

/// Looks for bytes the quick way, so that lines are parsed only when there is something to find.
fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    memchr::memmem::find(haystack, needle).is_some()
}

impl<D: Disk> Locked<'_, D> {
    /// Cleans up after interrupted writes and returns the state that every operation starts from.
    pub(crate) fn recover_state(&mut self) -> Result<State, JournalError> {
        self.remove_temporary_files()?;
        let current = match self.store.current()? {
            Some(Ok(entry)) => Some(entry),
            Some(Err(error)) => {
                self.set_current_aside(error.to_string())?;
                None
            }
            None => None,
        };
        let state = State { session: self.store.session()?, current };
        let Some(lines) = self.store.already_resolved_in(&state)? else { return Ok(state) };
        // The process that wrote the line may have died before it was synced: sync it first.
        self.append(&lines, b"")?;
        self.sync_dir_of(&lines)?;
        self.remove(&self.store.path(CURRENT))?;
        if let Some(entry) = state.current {
            self.warnings.push(Warning::AlreadyResolved { id: entry.id });
        }
        Ok(State { current: None, ..state })
    }

    /// Safe while this process holds the lock: no other process writes.
    fn remove_temporary_files(&self) -> Result<(), JournalError> {
        for name in self.store.names(&self.store.dir)? {
            if name.ends_with(TEMP_SUFFIX) {
                self.remove(&self.store.path(&name))?;
            }
        }
        Ok(())
    }

    /// Renames an unreadable current file to an unused name.
    fn set_current_aside(&mut self, reason: String) -> Result<(), JournalError> {
        let path = self.store.path(CURRENT);
        let base = format!("{SET_ASIDE}{}", self.moment.now.unix_seconds());
        let taken = self.store.names(&self.store.dir)?;
        let mut name = base.clone();
        let mut number = 1;
        while taken.contains(&name) {
            number += 1;
            name = format!("{base}-{number}");
        }
        let kept_as = self.store.path(&name);
        let moved = self.store.disk.rename(&path, &kept_as);
        if let Err(source) = moved {
            return Err(JournalError::Corrupted { path, reason, source });
        }
        self.store.disk.sync_dir(&self.store.dir).at("sync", &self.store.dir)?;
        self.warnings.push(Warning::SetAside { path, kept_as, reason });
        Ok(())
    }
}
