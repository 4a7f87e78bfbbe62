//! Sessions: start, id, end, and the entries of the one that is open.

use super::{Journal, JournalResult};
use crate::decode;
use crate::disk::Disk;
use crate::entry::Entry;
use crate::error::JournalError;
use crate::step::{Effect, Operation, step};
use crate::store::ENTRIES;
use crate::time::Moment;
use crate::warning::{Warning, WithWarnings};

impl<D: Disk> Journal<D> {
    /// Starts a session and archives the lines of the one before.
    ///
    /// With the id of the session that is open this is a resumption and changes nothing. An
    /// active entry stays and becomes an orphan.
    pub fn start_session(&self, id: Option<&str>, moment: &Moment) -> JournalResult<String> {
        let done =
            self.run(Operation::StartSession(id.map(ToOwned::to_owned)), moment, Vec::new())?;
        Ok(done.map(|step| step.next.session.unwrap_or_default()))
    }

    /// The session that is open.
    pub fn session_id(&self) -> Result<Option<String>, JournalError> {
        self.store.session()
    }

    /// Ends the session: abandons its active entry, archives its lines, and returns its entries.
    ///
    /// Succeeds with nothing when there is nothing, as often as it is called. An orphan is
    /// abandoned into its own session's archive and is not among the returned entries.
    pub fn end_session(&self, moment: &Moment) -> JournalResult<Vec<Entry>> {
        let mut locked = self.store.lock(moment)?;
        let state = locked.recover_state()?;
        let step = step(&state, Operation::EndSession, moment)?;
        let mut entries = self.entries_of(state.session.as_deref(), &mut locked.warnings)?;
        entries.extend(step.entry);
        locked.apply_effects(&state, &step.effects)?;
        Ok(WithWarnings { value: entries, warnings: std::mem::take(&mut locked.warnings) })
    }

    /// Ends the session only if it has this id: the end of another session may arrive late.
    pub fn end_session_if_named(
        &self,
        id: &str,
        moment: &Moment,
    ) -> JournalResult<Option<Vec<Entry>>> {
        if self.session_id()?.as_deref() != Some(id) {
            return Ok(WithWarnings { value: None, warnings: Vec::new() });
        }
        Ok(self.end_session(moment)?.map(Some))
    }

    /// The resolved entries of the session that is open, oldest first.
    pub fn session_entries(&self) -> JournalResult<Vec<Entry>> {
        let mut warnings = Vec::new();
        let session = self.store.session()?;
        let entries = self.entries_of(session.as_deref(), &mut warnings)?;
        Ok(WithWarnings { value: entries, warnings })
    }

    /// The resolved entries of a session: archived ones (it may have been resumed), then those
    /// still in the session's file. The first line with an id counts.
    fn entries_of(
        &self,
        session: Option<&str>,
        warnings: &mut Vec<Warning>,
    ) -> Result<Vec<Entry>, JournalError> {
        let Some(session) = session else { return Ok(Vec::new()) };
        let archive = self.store.existing_archive(session)?;
        let mut entries: Vec<Entry> = Vec::new();
        for path in archive.into_iter().chain([self.store.path(ENTRIES)]) {
            let Some(bytes) = self.store.read(&path)? else { continue };
            let (found, skipped) = decode::entries(&bytes);
            if !skipped.is_empty() {
                warnings.push(Warning::SkippedLines { path, lines: skipped });
            }
            for entry in found {
                let known = entries.iter().any(|other| other.id == entry.id);
                if entry.session_id == session && !known {
                    entries.push(entry);
                }
            }
        }
        self.annotations()?.apply_to_entries(&mut entries);
        Ok(entries)
    }

    /// Archives lines that are left over while no session is open. Part of `doctor`'s repairs.
    pub(crate) fn archive_leftover_lines(&self, moment: &Moment) -> JournalResult<()> {
        let mut locked = self.store.lock(moment)?;
        let state = locked.recover_state()?;
        if state.session.is_none() {
            locked.apply_effects(&state, &[Effect::ArchiveLines])?;
        }
        Ok(WithWarnings { value: (), warnings: std::mem::take(&mut locked.warnings) })
    }
}
