//! Results of earlier runs, for a comparison: the record of each example, and the newest runs themselves.
//!
//! An example is known by its stable id, and by its description where its file moved: ids with the same description that no run has
//! together are one example.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use proctor_compare::{EarlierResult, EarlierRun, EarlierRuns, ExampleHistory, Streak};
use rusqlite::{Connection, params};

use crate::History;
use crate::error::HistoryError;

/// The number of runs from which the variation between runs is estimated.
const MAX_RUNS: usize = 20;

/// The largest number of index rows that are read; at least the newest 50 runs are.
const MAX_ROWS: u64 = 200_000;

/// The number of changes of outcome among the newest [`CHANGES_WINDOW`] results from which an example counts as flaky: a test that breaks and
/// is fixed changes twice.
const MIN_CHANGES: usize = 3;
const CHANGES_WINDOW: usize = 30;

/// An earlier run with results.
#[derive(Debug, Default)]
pub(crate) struct IndexedRun {
    pub(crate) name: String,
    /// The same for runs of the same clean commit with the same configuration; absent where that is not known.
    tree: Option<Rc<str>>,
    fingerprint: Option<String>,
}

/// The result of one example in one run.
#[derive(Debug, Clone)]
pub(crate) struct RunResult {
    pub(crate) run: Rc<IndexedRun>,
    pub(crate) passed: u64,
    pub(crate) attempts: u64,
    pub(crate) mixed: bool,
    duration_ms: Option<f64>,
    cost_usd: Option<f64>,
}

/// The results of one example, newest first, under every id it has had.
#[derive(Debug)]
pub(crate) struct ExampleResults {
    pub(crate) ids: Vec<String>,
    /// As the newest run with a result describes it.
    title: String,
    pub(crate) results: Vec<RunResult>,
}

/// The results of a range of runs.
#[derive(Debug, Default)]
struct EarlierResults {
    examples: Vec<ExampleResults>,
    /// The runs that have a result, newest first.
    runs: Vec<Rc<IndexedRun>>,
}

impl History {
    /// The results of the runs before `judged`, or of all runs where it is `None`. `fingerprint` is that of the configuration of `judged`.
    pub fn past(
        &mut self,
        judged: Option<&str>,
        fingerprint: Option<&str>,
    ) -> Result<EarlierRuns, HistoryError> {
        let seen = self.indexed_before(None, judged)?;
        let comparable = |run: &IndexedRun| {
            let known = run.fingerprint.as_deref();
            fingerprint.is_none() || known.is_none() || known == fingerprint
        };
        let newest = seen.runs.iter().filter(|run| comparable(run)).take(MAX_RUNS);
        let mut runs: BTreeMap<&str, EarlierRun> =
            newest.map(|run| (run.name.as_str(), EarlierRun::default())).collect();
        let oldest = runs.keys().next().copied().unwrap_or_default();
        let mut past = EarlierRuns::default();
        for example in &seen.examples {
            let record = record(&example.results);
            for id in &example.ids {
                past.records.insert(id.clone(), record.clone());
            }
            let newest = example.results.iter().take_while(|it| it.run.name.as_str() >= oldest);
            for result in newest {
                let Some(run) = runs.get_mut(result.run.name.as_str()) else { continue };
                for id in &example.ids {
                    run.examples.insert(id.clone(), sample(result));
                }
            }
        }
        past.runs = runs.into_values().collect();
        Ok(past)
    }

    /// The results of each example in the runs before `judged`: the newest `window` of them, or as many as [`MAX_ROWS`] allows.
    pub(crate) fn results(
        &mut self,
        window: Option<u64>,
        judged: Option<&str>,
    ) -> Result<Vec<ExampleResults>, HistoryError> {
        Ok(self.indexed_before(window, judged)?.examples)
    }

    fn indexed_before(
        &mut self,
        window: Option<u64>,
        judged: Option<&str>,
    ) -> Result<EarlierResults, HistoryError> {
        let oldest = self.oldest_of(window, judged)?;
        let mut seen = self.query(|connection| read_results(connection, &oldest, judged))?;
        seen.examples = merge_moved_examples(seen.examples);
        Ok(seen)
    }

    /// The oldest run that is looked at.
    fn oldest_of(
        &mut self,
        window: Option<u64>,
        judged: Option<&str>,
    ) -> Result<String, HistoryError> {
        let window = if let Some(window) = window {
            window
        } else {
            let newest = "SELECT count(*) FROM samples WHERE run = (SELECT max(run) FROM samples)";
            let examples: u64 =
                self.query(|connection| connection.query_row(newest, [], |row| row.get(0)))?;
            (MAX_ROWS / examples.max(1)).max(50)
        };
        let text = "SELECT coalesce(min(name), '') FROM (SELECT name FROM runs
                    WHERE problem IS NULL AND (?1 IS NULL OR name < ?1) ORDER BY name DESC LIMIT ?2)";
        let limit = i64::try_from(window).unwrap_or(i64::MAX);
        self.query(|connection| {
            connection.query_row(text, params![judged, limit], |row| row.get(0))
        })
    }
}

/// Reads the results of each example, by id, in the runs from `oldest` on and before `judged`.
///
/// There may be hundreds of thousands of rows: what belongs to a run is read once, and no text of a row is copied that is known already.
fn read_results(
    connection: &Connection,
    oldest: &str,
    judged: Option<&str>,
) -> rusqlite::Result<EarlierResults> {
    let runs = read_runs(connection, oldest, judged)?;
    let mut query = connection.prepare(
        "SELECT run, example_id, passed, attempts, mixed, duration_ms, cost_usd, title FROM samples
         WHERE attempts > 0 AND run >= ?1 AND (?2 IS NULL OR run < ?2)
         ORDER BY run DESC, example_id DESC",
    )?;
    let mut rows = query.query(params![oldest, judged])?;
    let mut seen = EarlierResults::default();
    let mut places: HashMap<String, usize> = HashMap::new();
    while let Some(row) = rows.next()? {
        let name = row.get_ref(0)?.as_str()?;
        if seen.runs.last().is_none_or(|run| run.name != name) {
            let Some(run) = runs.get(name) else { continue };
            seen.runs.push(Rc::clone(run));
        }
        let Some(run) = seen.runs.last() else { continue };
        let result = RunResult {
            run: Rc::clone(run),
            passed: row.get(2)?,
            attempts: row.get(3)?,
            mixed: row.get(4)?,
            duration_ms: row.get(5)?,
            cost_usd: row.get(6)?,
        };
        let id = row.get_ref(1)?.as_str()?;
        if let Some(place) = places.get(id) {
            seen.examples[*place].results.push(result);
        } else {
            places.insert(id.to_owned(), seen.examples.len());
            let (ids, title) = (vec![id.to_owned()], row.get(7)?);
            seen.examples.push(ExampleResults { ids, title, results: vec![result] });
        }
    }
    Ok(seen)
}

fn read_runs(
    connection: &Connection,
    oldest: &str,
    judged: Option<&str>,
) -> rusqlite::Result<HashMap<String, Rc<IndexedRun>>> {
    let mut query = connection.prepare(
        "SELECT name, CASE WHEN dirty = 0 THEN git_commit || ' ' || coalesce(fingerprint, '') END, fingerprint
         FROM runs WHERE name >= ?1 AND (?2 IS NULL OR name < ?2)",
    )?;
    let mut trees: HashSet<Rc<str>> = HashSet::new();
    let mut shared = |tree: String| {
        if let Some(known) = trees.get(tree.as_str()) {
            return Rc::clone(known);
        }
        let tree: Rc<str> = tree.into();
        trees.insert(Rc::clone(&tree));
        tree
    };
    let runs = query.query_map(params![oldest, judged], |row| {
        let name: String = row.get(0)?;
        let tree = row.get::<_, Option<String>>(1)?.map(&mut shared);
        Ok((name.clone(), Rc::new(IndexedRun { name, tree, fingerprint: row.get(2)? })))
    })?;
    runs.collect()
}

fn sample(result: &RunResult) -> EarlierResult {
    #[expect(clippy::cast_precision_loss, reason = "counts of attempts are far below 2^53")]
    let attempts = result.attempts as f64;
    EarlierResult {
        passed: result.passed,
        attempts: result.attempts,
        duration_ms: result.duration_ms,
        cost_usd: result.cost_usd.map(|cost| cost / attempts),
    }
}

/// Makes one example of those with the same title that no run has together.
fn merge_moved_examples(examples: Vec<ExampleResults>) -> Vec<ExampleResults> {
    let mut by_title: HashMap<&str, Vec<&ExampleResults>> = HashMap::with_capacity(examples.len());
    for example in &examples {
        by_title.entry(&example.title).or_default().push(example);
    }
    by_title.retain(|_, namesakes| namesakes.len() > 1 && are_in_separate_runs(namesakes));
    let moved: HashSet<String> = by_title.into_keys().map(ToOwned::to_owned).collect();
    if moved.is_empty() {
        return examples;
    }
    let mut joined: Vec<ExampleResults> = Vec::with_capacity(examples.len());
    let mut places: HashMap<String, usize> = HashMap::new();
    for example in examples {
        if !moved.contains(&example.title) {
            joined.push(example);
        } else if let Some(place) = places.get(&example.title) {
            joined[*place].ids.extend(example.ids);
            joined[*place].results.extend(example.results);
        } else {
            places.insert(example.title.clone(), joined.len());
            joined.push(example);
        }
    }
    for place in places.into_values() {
        joined[place].results.sort_by(|one, other| other.run.name.cmp(&one.run.name));
    }
    joined
}

/// Whether no run has two of them.
fn are_in_separate_runs(examples: &[&ExampleResults]) -> bool {
    let mut runs = HashSet::new();
    let mut results = examples.iter().flat_map(|example| &example.results);
    results.all(|result| runs.insert(result.run.name.as_str()))
}

/// Whether all its attempts passed, or all failed; `None` where it gave both outcomes.
fn outcome(result: &RunResult) -> Option<bool> {
    match result.passed {
        _ if result.mixed => None,
        0 => Some(false),
        passed if passed == result.attempts => Some(true),
        _ => None,
    }
}

/// The record of an example from its results, newest first.
pub(crate) fn record(results: &[RunResult]) -> ExampleHistory {
    ExampleHistory {
        attempts: results.iter().map(|result| result.attempts).sum(),
        passed: results.iter().map(|result| result.passed).sum(),
        passed_in_a_row: streak(results, true),
        failed_in_a_row: streak(results, false),
        flaky: flaky(results),
    }
}

/// Consecutive results with the wanted outcome, before the most recent ones with the other.
fn streak(results: &[RunResult], wanted: bool) -> Streak {
    let rest = results.iter().skip_while(|result| outcome(result) == Some(!wanted));
    let row = rest.take_while(|result| outcome(result) == Some(wanted));
    row.fold(Streak::default(), |streak, result| Streak {
        attempts: streak.attempts + result.attempts,
        runs: streak.runs + 1,
    })
}

/// How it is known that an example gives both outcomes with nothing changed.
fn flaky(results: &[RunResult]) -> Option<String> {
    if let Some(mixed) = results.iter().find(|result| outcome(result).is_none()) {
        return Some(format!("both outcomes in run {}", mixed.run.name));
    }
    if let Some(tree) = commits_with_both_outcomes(results).keys().next() {
        let commit: String = tree.chars().take_while(|letter| *letter != ' ').take(10).collect();
        return Some(format!("both outcomes on commit {commit}"));
    }
    let changes = changes(results);
    (changes >= MIN_CHANGES).then(|| {
        let among = results.len().min(CHANGES_WINDOW);
        format!("it changed its outcome {changes} times in its last {among} runs")
    })
}

/// How often the outcome changed between consecutive results of the newest.
pub(crate) fn changes(results: &[RunResult]) -> usize {
    let newest: Vec<bool> = results.iter().take(CHANGES_WINDOW).filter_map(outcome).collect();
    newest.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

/// Whether an example with this number of changes counts as flaky.
pub(crate) fn is_flaky_by_changes(changes: usize) -> bool {
    changes >= MIN_CHANGES
}

/// Clean commits on which some runs passed and others did not, with the newest run of each.
pub(crate) fn commits_with_both_outcomes(results: &[RunResult]) -> BTreeMap<&str, &str> {
    // The outcome of the newest run of each tree, the name of that run, and whether another run had the other outcome.
    let mut trees: HashMap<&str, (bool, &str, bool)> = HashMap::new();
    for result in results {
        if let (Some(tree), Some(outcome)) = (&result.run.tree, outcome(result)) {
            let seen = trees.entry(tree).or_insert((outcome, result.run.name.as_str(), false));
            seen.2 |= seen.0 != outcome;
        }
    }
    let both = trees.into_iter().filter(|(_, (_, _, both))| *both);
    both.map(|(tree, (_, newest, _))| (tree, newest)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Results from oldest to newest: `p` passed, `f` failed, `m` both.
    fn results(outcomes: &str) -> Vec<RunResult> {
        let result = |(place, outcome): (usize, char)| RunResult {
            run: Rc::new(IndexedRun { name: format!("{place:04}"), ..IndexedRun::default() }),
            passed: u64::from(outcome != 'f'),
            attempts: 1,
            mixed: outcome == 'm',
            duration_ms: None,
            cost_usd: None,
        };
        let mut all: Vec<RunResult> = outcomes.chars().enumerate().map(result).collect();
        all.reverse();
        all
    }

    /// T3: a failure stays a failure, however often it is seen, until the baseline says otherwise.
    #[test]
    fn t3_a_lasting_failure_does_not_shorten_the_record_before_it() {
        for tail in ["", "f", "ffffff"] {
            let record = record(&results(&format!("{}{tail}", "p".repeat(30))));
            assert_eq!(record.passed_in_a_row, Streak { attempts: 30, runs: 30 }, "{tail}");
            assert_eq!(record.flaky, None);
        }
        assert_eq!(record(&results("ppfpp")).passed_in_a_row.runs, 2);
        assert_eq!(record(&results("fffpp")).failed_in_a_row.runs, 3);
    }

    /// T13: alternation shows flakiness on any tree; a break that was mended does not.
    #[test]
    fn t13_alternation_is_learned_without_git() {
        let flaky = |outcomes: &str| record(&results(outcomes)).flaky;
        assert_eq!(flaky("ppppfffpppp"), None);
        assert_eq!(flaky("pf"), None);
        let known = flaky("pfpf").unwrap();
        assert_eq!(known, "it changed its outcome 3 times in its last 4 runs");
        assert!(flaky("ppmpp").unwrap().starts_with("both outcomes in run"));
        assert_eq!(flaky(&format!("pfpf{}", "p".repeat(40))), None, "long ago");
    }

    #[test]
    fn t13_an_example_that_moved_keeps_its_past() {
        let example = |id: &str, title: &str, places: &[usize]| ExampleResults {
            ids: vec![id.to_owned()],
            title: title.to_owned(),
            results: places.iter().map(|it| results(&"p".repeat(it + 1)).remove(0)).collect(),
        };
        let moved = merge_moved_examples(vec![
            example("new", "A > x", &[2]),
            example("old", "A > x", &[1, 0]),
        ]);
        assert_eq!(moved.len(), 1);
        assert_eq!(moved[0].ids, ["new", "old"]);
        let runs: Vec<&str> = moved[0].results.iter().map(|it| it.run.name.as_str()).collect();
        assert_eq!(runs, ["0002", "0001", "0000"], "newest first");
        let two =
            merge_moved_examples(vec![example("a", "same", &[1]), example("b", "same", &[1])]);
        assert_eq!(two.len(), 2, "two examples of one run are two examples");
    }
}
