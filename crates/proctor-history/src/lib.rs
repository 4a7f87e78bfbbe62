//! What runs have shown over time.
//!
//! [`History`] is an index of the recordings in `.proctor/runs`, kept in `.proctor/history.db` (SQLite). It owns nothing: every
//! answer follows from the recordings, and [`History::rebuild`] gives the same ones. Any number of processes may
//! use it at once. A database that is damaged is set aside and made anew, and one that cannot be used is replaced by one in memory:
//! `database.rs` has the table of states. A recording that is damaged is named and left out.
//!
//! [`search_recording`] and [`search_runs`] look for words in transcripts; they read the recordings themselves.
//!
//! [`ComparisonCache`] brings two runs, or a run and a [`baseline`], together for a comparison, and keeps what it read of them.
//!
//! It does not decide what a change means (that is `proctor-compare`) and does not print.

mod baselines;
mod comparisons;
mod database;
mod earlier_runs;
mod error;
#[cfg(test)]
mod late_damage_tests;
mod queries;
mod recording;
mod seal;
mod search;
mod sync;

use std::path::PathBuf;

use proctor_record::RunStore;
use rusqlite::Connection;

pub use baselines::{
    BaselineError, baseline, baseline_in_file, baseline_name, baseline_path, baselines,
    blessed_runs, read_baseline, write_baseline,
};
pub use comparisons::{Compared, ComparisonCache, SideError, unreadable};
pub use error::HistoryError;
pub use queries::{FlakyExample, HistoryPoint, KnownExample, RunRow, Window};
pub use recording::Recording;
pub use search::{
    QueryError, SearchHit, SearchQuery, SearchResult, TextKind, search_recording, search_runs,
};
pub use sync::{SkippedRun, SyncSummary};

use database::Database;

/// How often the file is opened or made anew for one question.
const MAX_REBUILDS: u32 = 2;

/// The index of a project's recordings.
#[derive(Debug)]
pub struct History {
    store: RunStore,
    database: Database,
    synced: SyncSummary,
}

impl History {
    /// Opens the index and brings it up to date.
    pub fn open(store: &RunStore) -> Result<Self, HistoryError> {
        Self::open_with(store, &[])
    }

    /// As [`open`](Self::open), without reading the recordings that the caller has read already.
    pub fn open_with(store: &RunStore, at_hand: &[Recording]) -> Result<Self, HistoryError> {
        let mut history = Self::open_without_sync(store)?;
        history.sync_with(at_hand)?;
        Ok(history)
    }

    /// Opens the index as it is, however far it is behind the recordings.
    pub fn open_without_sync(store: &RunStore) -> Result<Self, HistoryError> {
        let database = Database::open(&Self::path(store))?;
        Ok(Self { store: store.clone(), database, synced: SyncSummary::default() })
    }

    /// Throws the index away and makes it anew from the recordings.
    pub fn rebuild(store: &RunStore) -> Result<Self, HistoryError> {
        let path = Self::path(store);
        let database = Database::recreate(&path)?;
        let mut history = Self { store: store.clone(), database, synced: SyncSummary::default() };
        history.sync()?;
        Ok(history)
    }

    /// Where the index of this project is kept.
    pub fn path(store: &RunStore) -> PathBuf {
        store.folder().join("history.db")
    }

    /// Takes in what was recorded since.
    pub fn sync(&mut self) -> Result<&SyncSummary, HistoryError> {
        self.sync_with(&[])
    }

    fn sync_with(&mut self, at_hand: &[Recording]) -> Result<&SyncSummary, HistoryError> {
        let store = self.store.clone();
        self.synced = self.attempt(|database| sync::sync(database, &store, at_hand))?;
        Ok(&self.synced)
    }

    /// What the last [`sync`](Self::sync) did, and what it could not use.
    pub fn sync_summary(&self) -> &SyncSummary {
        &self.synced
    }

    /// What went wrong with the file itself, where something did: it was set aside, or cannot be written.
    pub fn notes(&self) -> &[String] {
        self.database.notes()
    }

    /// Asks the database.
    fn query<T>(
        &mut self,
        ask: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, HistoryError> {
        self.attempt(|database| database.read(&ask))
    }

    /// Does something with the database. If that shows the file to be damaged or unusable, it is done again with one that is brought up
    /// to date: with a new file at most [`MAX_REBUILDS`] times, then in memory.
    fn attempt<T>(
        &mut self,
        work: impl Fn(&mut Database) -> Result<T, HistoryError>,
    ) -> Result<T, HistoryError> {
        let mut outcome = work(&mut self.database);
        for round in 0..=MAX_REBUILDS {
            let Err(error) = &outcome else { break };
            if !self.database.recover(error, round < MAX_REBUILDS)? {
                break;
            }
            outcome = match sync::sync(&mut self.database, &self.store, &[]) {
                Ok(synced) => {
                    self.synced = synced;
                    work(&mut self.database)
                }
                Err(error) => Err(error),
            };
        }
        outcome
    }
}
