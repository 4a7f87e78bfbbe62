//! Updating the index from the recordings: new and changed ones are read, removed ones deleted, damaged ones listed.

use std::collections::{BTreeSet, HashMap};
use std::time::SystemTime;

use proctor_events::Millis;
use proctor_record::{FoundRun, LoadError, RunFolder, RunStore};
use rusqlite::{Transaction, params};
use serde::Serialize;

use crate::database::Database;
use crate::error::HistoryError;
use crate::queries::{RunRow, newest_rows};
use crate::recording::{Recording, RecordingStamp, RunDigest, TaggedSample};

/// The result of an update.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SyncSummary {
    /// Recordings that were read, new or changed.
    pub read: u64,
    /// Recordings that no longer exist and were deleted from the index.
    pub removed: u64,
    /// Recordings in the index.
    pub runs: u64,
    /// Recordings that are damaged, and left out.
    pub skipped: Vec<SkippedRun>,
}

/// A recording that is left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedRun {
    /// The run.
    pub run: String,
    /// What is wrong with it.
    pub problem: String,
}

/// The number of results that one transaction takes in. The file is sealed after each, which reads it once.
const MAX_ROWS_PER_WRITE: usize = 20_000;

/// What became of a recording that was read.
enum Entry<'a> {
    AtHand(&'a Recording),
    Read(Box<Recording>),
    Damaged {
        stamp: String,
        problem: String,
    },
    /// Nothing has been recorded yet.
    Empty,
}

/// Brings the index up to date; recordings that are at hand are not read again.
pub(crate) fn sync(
    database: &mut Database,
    store: &RunStore,
    at_hand: &[Recording],
) -> Result<SyncSummary, HistoryError> {
    // The moment is taken first: what is written meanwhile is read again next time.
    let now = SystemTime::now();
    let found = store.list_with_states()?;
    let mut known = known(database)?;
    let mut updates = Updates::default();
    for run in &found {
        let name = run.folder.name();
        let kept = known.remove(&name);
        updates.update(database, run, name, kept.as_deref(), now, at_hand)?;
    }
    updates.finish(database)?;
    // What is left has no recording any more.
    let gone: Vec<String> = known.into_keys().collect();
    delete_runs(database, &gone)?;
    summary(database, updates.read, gone.len() as u64)
}

/// The newest runs that can be listed, and how many there are in all.
#[derive(Debug)]
pub(crate) struct NewestRuns {
    pub(crate) synced: SyncSummary,
    pub(crate) rows: Vec<RunRow>,
}

/// Brings the index up to date as far as the newest runs need it: looks at these, at runs that are not known, and at which runs are gone. That
/// an older recording has changed is not seen.
pub(crate) fn sync_newest(
    database: &mut Database,
    store: &RunStore,
    limit: usize,
) -> Result<NewestRuns, HistoryError> {
    let now = SystemTime::now();
    let names = store.names()?;
    let mut names: Vec<String> =
        names.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    let (there, gone): (HashMap<_, _>, HashMap<_, _>) =
        known(database)?.into_iter().partition(|(name, _)| names.binary_search(name).is_ok());
    let gone: Vec<String> = gone.into_keys().collect();
    delete_runs(database, &gone)?;
    let mut looked_at: BTreeSet<String> =
        names.iter().filter(|name| !there.contains_key(*name)).cloned().collect();
    looked_at.extend(names.iter().rev().take(limit).cloned());
    let mut next: Vec<String> = looked_at.iter().cloned().collect();
    let mut updates = Updates::default();
    let mut removed = gone.len() as u64;
    loop {
        let mut without_recording = Vec::new();
        for name in next {
            match store.look_at(&name)? {
                Some(run) => {
                    let kept = there.get(&name).map(String::as_str);
                    updates.update(database, &run, name, kept, now, &[])?;
                }
                None if there.contains_key(&name) => without_recording.push(name),
                None => {}
            }
        }
        updates.finish(database)?;
        delete_runs(database, &without_recording)?;
        removed += without_recording.len() as u64;
        let rows = database.read(|connection| newest_rows(connection, limit))?;
        // Runs that turned out to be damaged or empty are not listed, and older ones are.
        next =
            rows.iter().map(|row| row.name.clone()).filter(|it| !looked_at.contains(it)).collect();
        if next.is_empty() {
            return Ok(NewestRuns { synced: summary(database, updates.read, removed)?, rows });
        }
        looked_at.extend(next.iter().cloned());
    }
}

/// Recordings that are read and written into the index, many in one transaction.
#[derive(Default)]
struct Updates<'a> {
    entries: Vec<(String, Entry<'a>)>,
    rows: usize,
    read: u64,
}

impl<'a> Updates<'a> {
    /// Takes a run into the index, if `kept` is not its state.
    fn update(
        &mut self,
        database: &mut Database,
        run: &FoundRun,
        name: String,
        kept: Option<&str>,
        now: SystemTime,
        at_hand: &'a [Recording],
    ) -> Result<(), HistoryError> {
        let stamp = RecordingStamp::of_found(run, now);
        if kept == Some(stamp.as_str()) {
            return Ok(());
        }
        let entry = match at_hand.iter().find(|recording| recording.is_of(&name, &stamp)) {
            Some(recording) => Entry::AtHand(recording),
            None => read(&run.folder, &stamp),
        };
        self.rows += 1 + entry.example_count();
        self.entries.push((name, entry));
        self.read += 1;
        if self.rows >= MAX_ROWS_PER_WRITE { self.finish(database) } else { Ok(()) }
    }

    fn finish(&mut self, database: &mut Database) -> Result<(), HistoryError> {
        self.rows = 0;
        replace_runs(database, &std::mem::take(&mut self.entries))
    }
}

fn summary(database: &Database, read: u64, removed: u64) -> Result<SyncSummary, HistoryError> {
    let count = "SELECT count(*) FROM runs WHERE problem IS NULL";
    let runs = database.read(|connection| connection.query_row(count, [], |row| row.get(0)))?;
    Ok(SyncSummary { read, removed, runs, skipped: skipped(database)? })
}

fn known(database: &Database) -> Result<HashMap<String, String>, HistoryError> {
    database.read(|connection| {
        let mut query = connection.prepare("SELECT name, stamp FROM runs")?;
        query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    })
}

fn skipped(database: &Database) -> Result<Vec<SkippedRun>, HistoryError> {
    database.read(|connection| {
        let damaged = "SELECT name, problem FROM runs WHERE problem IS NOT NULL ORDER BY name";
        let mut query = connection.prepare(damaged)?;
        query
            .query_map([], |row| Ok(SkippedRun { run: row.get(0)?, problem: row.get(1)? }))?
            .collect()
    })
}

fn delete_runs(database: &mut Database, names: &[String]) -> Result<(), HistoryError> {
    if names.is_empty() {
        return Ok(());
    }
    database.write(|transaction| {
        for name in names {
            transaction.execute("DELETE FROM runs WHERE name = ?1", [name])?;
        }
        Ok(())
    })
}

fn read<'a>(folder: &RunFolder, stamp: &RecordingStamp) -> Entry<'a> {
    match Recording::read(folder) {
        Ok(recording) => Entry::Read(Box::new(recording)),
        Err(LoadError::Empty { problems, .. }) if problems.is_empty() => Entry::Empty,
        Err(error @ LoadError::Io { .. }) => {
            Entry::Damaged { stamp: stamp.unread_text(), problem: error.to_string() }
        }
        Err(error) => Entry::Damaged { stamp: stamp.stored_text(), problem: error.to_string() },
    }
}

impl Entry<'_> {
    fn example_count(&self) -> usize {
        match self {
            Self::AtHand(recording) => recording.example_count(),
            Self::Read(recording) => recording.example_count(),
            Self::Damaged { .. } | Self::Empty => 0,
        }
    }
}

/// Replaces what was known of these runs, in one transaction.
fn replace_runs(
    database: &mut Database,
    entries: &[(String, Entry<'_>)],
) -> Result<(), HistoryError> {
    if entries.is_empty() {
        return Ok(());
    }
    database.write(|transaction| {
        for (name, entry) in entries {
            transaction.execute("DELETE FROM runs WHERE name = ?1", [name])?;
            match entry {
                Entry::AtHand(recording) => insert_recording(transaction, name, recording)?,
                Entry::Read(recording) => insert_recording(transaction, name, recording)?,
                Entry::Damaged { stamp, problem } => {
                    insert_damaged(transaction, name, stamp, problem)?;
                }
                Entry::Empty => {}
            }
        }
        Ok(())
    })
}

fn insert_recording(
    transaction: &Transaction<'_>,
    name: &str,
    recording: &Recording,
) -> rusqlite::Result<()> {
    let stamp = recording.stamp().stored_text();
    match recording.digest() {
        Err(problem) => insert_damaged(transaction, name, &stamp, &problem),
        Ok(digest) => insert(transaction, name, &stamp, &digest),
    }
}

fn insert_damaged(
    transaction: &Transaction<'_>,
    name: &str,
    stamp: &str,
    problem: &str,
) -> rusqlite::Result<()> {
    let text = "INSERT INTO runs (name, stamp, problem, argv, tags, counts)
                VALUES (?1, ?2, ?3, '[]', '[]', '{}')";
    transaction.execute(text, params![name, stamp, problem]).map(|_| ())
}

fn insert(
    transaction: &Transaction<'_>,
    name: &str,
    stamp: &str,
    digest: &RunDigest<'_>,
) -> rusqlite::Result<()> {
    let (run, info) = (digest.run, digest.info);
    let started = info.map(|info| info.started_at).or(run.started_at);
    let git = info.and_then(|info| info.git.as_ref());
    let verdict = run.verdict();
    transaction.execute(
        "INSERT INTO runs VALUES (?1, ?2, NULL, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
        params![
            name,
            stamp,
            run.run_id.as_ref().map(ToString::to_string),
            started.map(|time| time.to_string()),
            run.finished_at.map(|time| time.to_string()),
            run.duration_ms.map(Millis::get),
            verdict.exit_code(),
            git.map(|git| &git.commit),
            git.map(|git| git.dirty),
            info.and_then(|info| info.config_fingerprint.as_ref()),
            json(info.map(|info| &info.argv)),
            json(info.map(|info| &info.tags)),
            serde_json::to_string(&run.summary()).unwrap_or_default(),
            digest.cost_usd(),
            verdict.ending().map(|ending| ending.to_string()),
            verdict.final_word(),
        ],
    )?;
    let mut statement = transaction.prepare(
        "INSERT OR REPLACE INTO samples VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?;
    for TaggedSample { sample, tags, cost_usd } in &digest.samples {
        let (passed, attempts) = sample.tally();
        let durations = sample.trials.iter().filter_map(|trial| trial.duration_ms);
        let duration = proctor_stats::mean(durations);
        statement.execute(params![
            name,
            sample.id,
            sample.title,
            sample.file,
            sample.status,
            passed,
            attempts,
            sample.mixed,
            duration,
            cost_usd,
            json(Some(tags)),
        ])?;
    }
    Ok(())
}

fn json(words: Option<&Vec<String>>) -> String {
    words.map_or_else(|| "[]".to_owned(), |words| serde_json::to_string(words).unwrap_or_default())
}
