//! The queries of the history.

use std::collections::BTreeMap;

use proctor_record::RunFolder;
use proctor_verdict::RunState;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row};
use serde::{Deserialize, Serialize};

use crate::History;
use crate::earlier_runs::{
    RunResult, changes, commits_with_both_outcomes, is_flaky_by_changes, record,
};
use crate::error::HistoryError;
use crate::recording::RecordingStamp;
use crate::sync;

/// The number of newest runs that a query reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window(pub u64);

impl Default for Window {
    fn default() -> Self {
        Self(50)
    }
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunRow {
    /// Its id, which is also the name of its folder.
    pub name: String,
    /// When it started.
    pub started_at: Option<String>,
    /// When it finished; absent while it runs, or if it was cut off.
    pub finished_at: Option<String>,
    /// How long it took.
    pub duration_ms: Option<f64>,
    /// The exit code that followed.
    pub exit_code: Option<i32>,
    /// The commit it ran on.
    pub commit: Option<String>,
    /// Whether there were uncommitted changes.
    pub dirty: Option<bool>,
    /// The command that started it.
    pub argv: Vec<String>,
    /// Names given to it.
    pub tags: Vec<String>,
    /// Examples by final status.
    pub counts: BTreeMap<String, u64>,
    /// What its model calls cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// How it came to its end: finished, stopped, `did_not_load`, `nothing_found`; absent while it runs, or if it died.
    pub state: Option<String>,
    /// `passed` or `sqlite_error`; absent where it did not finish.
    pub verdict: Option<String>,
}

impl RunRow {
    /// The outcome in words; `live` states whether the process of the run exists.
    pub fn phrase(&self, live: bool) -> &'static str {
        match (self.verdict.as_deref(), self.run_state(live)) {
            (Some("passed"), _) => "passed",
            (Some(_), _) => "failed",
            (None, state) => state.phrase(),
        }
    }

    /// The state of the run; `live` states whether its process exists.
    pub fn run_state(&self, live: bool) -> RunState {
        let known = RunState::ALL.into_iter().find(|it| Some(it.word()) == self.state.as_deref());
        match (known, live) {
            (Some(state), _) => state,
            (None, true) if self.counts.get("examples").is_none_or(|count| *count == 0) => {
                RunState::Loading
            }
            (None, true) => RunState::Running,
            (None, false) => RunState::Died,
        }
    }
}

/// One run's part in a history: of an example, of all examples with a tag, or of all.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HistoryPoint {
    /// The run.
    pub run: String,
    /// When it started.
    pub started_at: Option<String>,
    /// The commit it ran on.
    pub commit: Option<String>,
    /// Whether there were uncommitted changes.
    pub dirty: Option<bool>,
    /// How many examples this is about.
    pub examples: u64,
    /// Attempts that passed.
    pub passed: u64,
    /// Attempts that count.
    pub attempts: u64,
    /// How the example ended; absent where this is about several.
    pub status: Option<String>,
    /// The mean duration of an attempt, summed over the examples.
    pub duration_ms: Option<f64>,
    /// What model calls cost, in US dollars.
    pub cost_usd: Option<f64>,
}

/// An example that the index knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KnownExample {
    /// Its stable id.
    pub id: String,
    /// Its description in the newest run that has it.
    pub title: String,
    /// The file it stood in then.
    pub file: Option<String>,
}

/// An example that gave both outcomes with nothing changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlakyExample {
    /// The example.
    #[serde(flatten)]
    pub example: KnownExample,
    /// Runs that have it.
    pub runs: u64,
    /// Attempts that passed.
    pub passed: u64,
    /// Attempts that count.
    pub attempts: u64,
    /// The lower end of the 95 % interval of the pass rate (Wilson).
    pub rate_low: f64,
    /// The upper end.
    pub rate_high: f64,
    /// Runs that gave both outcomes themselves.
    pub mixed_runs: u64,
    /// Clean commits on which some runs passed and others failed.
    pub torn_commits: u64,
    /// How often its outcome changed from one of the newest runs to the next.
    pub changes: u64,
    /// The newest run that shows the flakiness.
    pub last_seen: String,
}

impl History {
    /// The runs, newest first.
    pub fn runs(&mut self) -> Result<Vec<RunRow>, HistoryError> {
        self.query(|connection| {
            let text = "SELECT * FROM runs WHERE problem IS NULL ORDER BY name DESC";
            select(connection, text, run_row)
        })
    }

    /// The newest runs, newest first, and how many runs there are ([`SyncSummary::runs`](crate::SyncSummary)). Reads what was recorded since, but of runs
    /// that are not listed only those that the index does not know.
    pub fn newest_runs(&mut self, limit: usize) -> Result<Vec<RunRow>, HistoryError> {
        let store = self.store.clone();
        let newest = self.attempt(|database| sync::sync_newest(database, &store, limit))?;
        self.synced = newest.synced;
        Ok(newest.rows)
    }

    /// What the index knows of these runs, where their recordings have not changed since; `None` for those that are damaged. Runs that
    /// are not in the answer are new or have changed. Reads no recording.
    pub fn unchanged_rows(
        &mut self,
        folders: &[RunFolder],
    ) -> Result<BTreeMap<String, Option<RunRow>>, HistoryError> {
        let wanted: Vec<(String, RecordingStamp)> =
            folders.iter().map(|folder| (folder.name(), RecordingStamp::of(folder))).collect();
        self.query(|connection| {
            let text = "SELECT * FROM runs WHERE name = ?1 AND stamp = ?2";
            let mut query = connection.prepare(text)?;
            let mut fresh = BTreeMap::new();
            for (name, stamp) in &wanted {
                let row = |row: &Row<'_>| {
                    let damaged = row.get::<_, Option<String>>("problem")?.is_some();
                    if damaged { Ok(None) } else { run_row(row).map(Some) }
                };
                let row = query.query_row([name.as_str(), stamp.as_str()], row).optional()?;
                fresh.extend(row.map(|row| (name.clone(), row)));
            }
            Ok(fresh)
        })
    }

    /// Examples that gave both outcomes with nothing changed, the most often failing first.
    pub fn flaky(&mut self, window: Window) -> Result<Vec<FlakyExample>, HistoryError> {
        let examples = self.results(Some(window.0), None)?;
        let mut flaky = Vec::new();
        for example in &examples {
            if let Some(signs) = FlakySigns::of(&example.results) {
                let newest = self.newest(&example.ids)?;
                flaky.extend(newest.map(|newest| signs.of_example(newest, &example.results)));
            }
        }
        flaky.sort_by(|a, b| {
            let failures = |row: &FlakyExample| row.attempts - row.passed;
            failures(b).cmp(&failures(a)).then_with(|| a.example.title.cmp(&b.example.title))
        });
        Ok(flaky)
    }

    /// Examples whose id begins with this text, or whose description contains it.
    pub fn find(&mut self, text: &str) -> Result<Vec<KnownExample>, HistoryError> {
        let known = self.known()?;
        let lower = text.to_lowercase();
        let by_id: Vec<KnownExample> =
            known.values().filter(|example| example.id.starts_with(text)).cloned().collect();
        if !by_id.is_empty() {
            return Ok(by_id);
        }
        let exact = known.values().filter(|example| example.title == text);
        let exact: Vec<KnownExample> = exact.cloned().collect();
        if !exact.is_empty() {
            return Ok(exact);
        }
        let in_title = |example: &&KnownExample| example.title.to_lowercase().contains(&lower);
        Ok(known.values().filter(in_title).cloned().collect())
    }

    /// One example over the runs, newest first.
    pub fn example(&mut self, id: &str) -> Result<Vec<HistoryPoint>, HistoryError> {
        self.points(OF_EXAMPLE, "max(s.status)", id)
    }

    /// All examples with a tag over the runs, newest first.
    pub fn tag(&mut self, tag: &str) -> Result<Vec<HistoryPoint>, HistoryError> {
        self.points("EXISTS (SELECT 1 FROM json_each(s.tags) WHERE value = ?1)", "NULL", tag)
    }

    /// All examples over the runs, newest first.
    pub fn suite(&mut self) -> Result<Vec<HistoryPoint>, HistoryError> {
        self.points("?1 = ''", "NULL", "")
    }

    fn points(
        &mut self,
        condition: &str,
        status: &str,
        parameter: &str,
    ) -> Result<Vec<HistoryPoint>, HistoryError> {
        let text = results_by_run(condition, status);
        // Both lists are in the order of an index. Walking along them is faster than a join, which looks up every run.
        self.query(|connection| {
            let mut query = connection.prepare(&text)?;
            let mut runs = connection.prepare(ALL_RUNS)?;
            let (mut rows, mut runs) = (query.query([parameter])?, runs.query([])?);
            let (mut points, mut run) = (Vec::new(), runs.next()?);
            while let Some(row) = rows.next()? {
                let name = row.get_ref(0)?.as_str()?;
                while let Some(newer) = run
                    && newer.get_ref(0)?.as_str()? > name
                {
                    run = runs.next()?;
                }
                if let Some(same) = run
                    && same.get_ref(0)?.as_str()? == name
                {
                    points.push(point(row, same)?);
                }
            }
            Ok(points)
        })
    }

    /// Every example, as the newest run that has it describes it.
    fn known(&mut self) -> Result<BTreeMap<String, KnownExample>, HistoryError> {
        // Steps from one id to the next in the index by id: the cost is that of the examples there are, not of their results.
        let text = "
            WITH RECURSIVE ids(id) AS (
                SELECT min(example_id) FROM samples
                UNION ALL
                SELECT (SELECT min(example_id) FROM samples WHERE example_id > id) FROM ids WHERE id IS NOT NULL
            )
            SELECT s.example_id, s.title, s.file FROM ids CROSS JOIN samples s
            ON s.example_id = ids.id AND s.run = (SELECT max(run) FROM samples WHERE example_id = ids.id)";
        let known = self.query(|connection| {
            select(connection, text, |row| {
                Ok(KnownExample { id: row.get(0)?, title: row.get(1)?, file: row.get(2)? })
            })
        })?;
        Ok(known.into_iter().map(|example| (example.id.clone(), example)).collect())
    }

    /// The example of these ids, as the newest run that has it describes it. `None` where its runs were removed since.
    fn newest(&mut self, ids: &[String]) -> Result<Option<KnownExample>, HistoryError> {
        let text = "SELECT example_id, title, file, run FROM samples
                    WHERE example_id = ?1 ORDER BY run DESC LIMIT 1";
        self.query(|connection| {
            let mut query = connection.prepare(text)?;
            let mut newest: Option<(String, KnownExample)> = None;
            for id in ids {
                let row = query.query_row([id], |row| {
                    let known =
                        KnownExample { id: row.get(0)?, title: row.get(1)?, file: row.get(2)? };
                    Ok((row.get::<_, String>(3)?, known))
                });
                newest = newest.into_iter().chain(row.optional()?).max_by(|a, b| a.0.cmp(&b.0));
            }
            Ok(newest.map(|(_, known)| known))
        })
    }
}

const OF_EXAMPLE: &str = "s.example_id = ?1";
const ALL_RUNS: &str = "SELECT name, started_at, git_commit, dirty FROM runs ORDER BY name DESC";

/// The query for the results under a condition, added up for each run, newest first.
fn results_by_run(condition: &str, status: &str) -> String {
    format!(
        "SELECT s.run, count(*), sum(s.passed), sum(s.attempts), {status}, sum(s.duration_ms), sum(s.cost_usd)
         FROM samples s WHERE {condition} GROUP BY s.run ORDER BY s.run DESC"
    )
}

/// The newest runs whose recordings are not damaged.
pub(crate) fn newest_rows(connection: &Connection, limit: usize) -> rusqlite::Result<Vec<RunRow>> {
    let text = "SELECT * FROM runs WHERE problem IS NULL ORDER BY name DESC LIMIT ?1";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    connection.prepare(text)?.query_map([limit], run_row)?.collect()
}

fn select<T>(
    connection: &Connection,
    text: &str,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    let mut query = connection.prepare(text)?;
    query.query_map([], &read)?.collect()
}

fn run_row(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    Ok(RunRow {
        name: row.get("name")?,
        started_at: row.get("started_at")?,
        finished_at: row.get("finished_at")?,
        duration_ms: row.get("duration_ms")?,
        exit_code: row.get("exit_code")?,
        commit: row.get("git_commit")?,
        dirty: row.get("dirty")?,
        argv: parsed(row, "argv")?,
        tags: parsed(row, "tags")?,
        counts: parsed(row, "counts")?,
        cost_usd: row.get("cost_usd")?,
        state: row.get("state")?,
        verdict: row.get("verdict")?,
    })
}

fn parsed<T: for<'de> Deserialize<'de>>(row: &Row<'_>, column: &str) -> rusqlite::Result<T> {
    serde_json::from_str(&row.get::<_, String>(column)?).map_err(|error| {
        let place = row.as_ref().column_index(column).unwrap_or_default();
        rusqlite::Error::FromSqlConversionFailure(place, Type::Text, Box::new(error))
    })
}

/// The results of a run, and what is known of the run itself.
fn point(results: &Row<'_>, run: &Row<'_>) -> rusqlite::Result<HistoryPoint> {
    Ok(HistoryPoint {
        run: run.get(0)?,
        started_at: run.get(1)?,
        commit: run.get(2)?,
        dirty: run.get(3)?,
        examples: results.get(1)?,
        passed: results.get(2)?,
        attempts: results.get(3)?,
        status: results.get(4)?,
        duration_ms: results.get(5)?,
        cost_usd: results.get(6)?,
    })
}

/// What shows an example to be flaky.
struct FlakySigns {
    mixed_runs: u64,
    torn_commits: u64,
    changes: u64,
    last_seen: String,
}

impl FlakySigns {
    /// `None` where there are none.
    fn of(results: &[RunResult]) -> Option<Self> {
        let torn = commits_with_both_outcomes(results);
        let mixed = || results.iter().filter(|result| result.mixed);
        let changes = changes(results);
        // The newest result that differs from the one before it.
        let changed = is_flaky_by_changes(changes)
            .then(|| results.windows(2).find(|pair| pair[0].passed != pair[1].passed))
            .flatten()
            .map(|pair| pair[0].run.name.as_str());
        let seen = mixed().map(|result| result.run.name.as_str()).chain(torn.values().copied());
        Some(Self {
            last_seen: seen.chain(changed).max()?.to_owned(),
            mixed_runs: mixed().count() as u64,
            torn_commits: torn.len() as u64,
            changes: changes as u64,
        })
    }

    fn of_example(self, example: KnownExample, results: &[RunResult]) -> FlakyExample {
        let record = record(results);
        let rate = proctor_stats::wilson(record.passed, record.attempts, proctor_stats::Z95);
        FlakyExample {
            example,
            runs: results.len() as u64,
            passed: record.passed,
            attempts: record.attempts,
            rate_low: rate.low,
            rate_high: rate.high,
            mixed_runs: self.mixed_runs,
            torn_commits: self.torn_commits,
            changes: self.changes,
            last_seen: self.last_seen,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::Database;

    /// With ten thousand runs, a look into a table for each of them would be most of the time.
    #[test]
    fn the_results_of_one_example_are_read_from_indexes_alone() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(&folder.path().join("history.db")).unwrap();
        let of_example = results_by_run(OF_EXAMPLE, "max(s.status)");
        for text in [of_example.as_str(), ALL_RUNS, "SELECT name, stamp FROM runs"] {
            let plan = database.read(|connection| {
                let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {text}"))?;
                let mut rows = plan.raw_query();
                let mut steps = Vec::new();
                while let Some(row) = rows.next()? {
                    steps.push(row.get::<_, String>(3)?);
                }
                Ok(steps)
            });
            let plan = plan.unwrap();
            assert_eq!(plan.len(), 1, "{text}: {plan:?}");
            assert!(plan[0].contains("USING COVERING INDEX"), "{text}: {plan:?}");
        }
    }
}
