//! Updating the index from the recordings: new and changed ones are read, removed ones deleted, damaged ones listed.

use std::collections::{BTreeMap, BTreeSet};

use proctor_events::Millis;
use proctor_record::{LoadError, RunFolder, RunStore};
use rusqlite::{Transaction, params};
use serde::Serialize;

use crate::database::Database;
use crate::error::HistoryError;
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
    let folders = store.list()?;
    let known = known(database)?;
    let mut synced = SyncSummary::default();
    let mut present = BTreeSet::new();
    let (mut entries, mut rows) = (Vec::new(), 0);
    for folder in &folders {
        let name = folder.name();
        // The stamp is taken first: what is written meanwhile is read again next time.
        let stamp = RecordingStamp::of(folder);
        if known.get(&name).map(String::as_str) != Some(stamp.as_str()) {
            let entry = match at_hand.iter().find(|recording| recording.is_of(&name, &stamp)) {
                Some(recording) => Entry::AtHand(recording),
                None => read(folder, &stamp),
            };
            rows += 1 + entry.example_count();
            entries.push((name.clone(), entry));
            synced.read += 1;
        }
        present.insert(name);
        if rows >= MAX_ROWS_PER_WRITE {
            replace_runs(database, &std::mem::take(&mut entries))?;
            rows = 0;
        }
    }
    replace_runs(database, &entries)?;
    let gone: Vec<&String> = known.keys().filter(|name| !present.contains(*name)).collect();
    synced.removed = gone.len() as u64;
    delete_runs(database, &gone)?;
    synced.skipped = skipped(database)?;
    let count = "SELECT count(*) FROM runs WHERE problem IS NULL";
    synced.runs = database.read(|connection| connection.query_row(count, [], |row| row.get(0)))?;
    Ok(synced)
}

fn known(database: &Database) -> Result<BTreeMap<String, String>, HistoryError> {
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

fn delete_runs(database: &mut Database, names: &[&String]) -> Result<(), HistoryError> {
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
