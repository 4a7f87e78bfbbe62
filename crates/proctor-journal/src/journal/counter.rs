//! The tool counter and the check-in it leads to.
//!
//! Counting is the one change that is not synced: it happens at every tool call, and a count lost
//! in a power cut costs nothing but a later check-in. It is exact all the same while the machine
//! runs, because it happens under the lock.

use super::{Journal, JournalResult};
use crate::disk::Disk;
use crate::entry::Entry;
use crate::error::{At, JournalError};
use crate::step::Phase;
use crate::store::{COUNT, Locked, Store};
use crate::time::Moment;
use crate::warning::{Warning, WithWarnings};

/// Default number of tool calls between two check-ins.
pub const CHECK_IN: u64 = 10;

/// What counting a tool call led to.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolUse {
    /// The count, this call included.
    pub count: u64,
    /// The entry to check in about, if it is time; the counter then starts again.
    pub check_in: Option<Entry>,
}

impl<D: Disk> Store<D> {
    fn count(&self, warnings: &mut Vec<Warning>) -> Result<u64, JournalError> {
        let Some(bytes) = self.read(&self.path(COUNT))? else { return Ok(0) };
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_start_matches('\u{feff}').trim();
        text.parse().or_else(|_| {
            warnings.push(Warning::CounterUnreadable { found: proctor_text::shorten(text, 40) });
            Ok(0)
        })
    }
}

impl<D: Disk> Locked<'_, D> {
    /// Writes the count in place: replacing a file makes some file systems start a disk write,
    /// which is too much for every tool call. The width never changes, so that one write changes
    /// all of it and a reader without the lock sees the old or the new number.
    pub(crate) fn write_count(&mut self, count: u64) -> Result<(), JournalError> {
        let path = self.store.path(COUNT);
        self.store.disk.overwrite(&path, format!("{count:<20}\n").as_bytes()).at("write", &path)
    }
}

impl<D: Disk> Journal<D> {
    /// Counts one tool call and returns the new count.
    pub fn increment_tool_count(&self, moment: &Moment) -> JournalResult<u64> {
        let mut locked = self.store.lock(moment)?;
        let mut warnings = Vec::new();
        let count = self.store.count(&mut warnings)?.saturating_add(1);
        locked.write_count(count)?;
        Ok(WithWarnings { value: count, warnings })
    }

    /// The count so far.
    pub fn tool_count(&self) -> JournalResult<u64> {
        let mut warnings = Vec::new();
        let value = self.store.count(&mut warnings)?;
        Ok(WithWarnings { value, warnings })
    }

    /// Whether it is time for a check-in: the count has reached the frequency and an entry of this
    /// session is active. Stays true until the counter is reset.
    pub fn should_check_in(&self, frequency: u64, moment: &Moment) -> JournalResult<bool> {
        if frequency == 0 {
            return Err(JournalError::Frequency);
        }
        let mut warnings = Vec::new();
        if self.store.count(&mut warnings)? < frequency {
            return Ok(WithWarnings { value: false, warnings });
        }
        let state = self.state(moment)?;
        warnings.extend(state.warnings);
        Ok(WithWarnings { value: state.value.phase() == Phase::Active, warnings })
    }

    /// Sets the counter to zero, to be called once the check-in was shown.
    pub fn reset_tool_count(&self, moment: &Moment) -> Result<(), JournalError> {
        self.store.lock(moment)?.write_count(0)
    }

    /// Counts, tests and resets under one lock, so that a check-in is shown once however many
    /// processes count at the same time.
    pub fn use_tool(&self, frequency: u64, moment: &Moment) -> JournalResult<ToolUse> {
        if frequency == 0 {
            return Err(JournalError::Frequency);
        }
        let mut locked = self.store.lock(moment)?;
        let mut warnings = Vec::new();
        let count = self.store.count(&mut warnings)?.saturating_add(1);
        let state = if count >= frequency { self.store.read_state_without_lock()? } else { None };
        let check_in =
            state.filter(|state| state.phase() == Phase::Active).and_then(|state| state.current);
        locked.write_count(if check_in.is_some() { 0 } else { count })?;
        Ok(WithWarnings { value: ToolUse { count, check_in }, warnings })
    }
}
