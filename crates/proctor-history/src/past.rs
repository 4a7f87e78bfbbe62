//! What earlier runs have shown, for a comparison: the record of each example, and the newest runs themselves.
//!
//! An example is known by its stable id, and by its description where its file moved: ids with the same description that no run has
//! together are one example.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use proctor_compare::{EarlierResult, EarlierRun, EarlierRuns, ExampleHistory, Streak};
use rusqlite::{Connection, params};

use crate::History;
use crate::error::HistoryError;

/// How many runs say how much runs vary.
const RUNS: usize = 20;

/// How many rows of the index are looked at, at most; at least the newest 50 runs are.
const ROWS: u64 = 200_000;

/// Changes of outcome among the newest sightings that show an example to be flaky whatever else changed: a test that breaks and is
/// mended changes twice.
const CHANGES: usize = 3;
const CHANGES_AMONG: usize = 30;

/// A run that has seen examples.
#[derive(Debug, Default)]
pub(crate) struct SeenRun {
    pub(crate) name: String,
    /// The same for runs of the same clean commit with the same configuration; absent where that is not known.
    tree: Option<Rc<str>>,
    fingerprint: Option<String>,
}

/// What one run says of one example.
#[derive(Debug, Clone)]
pub(crate) struct Sighting {
    pub(crate) run: Rc<SeenRun>,
    pub(crate) passed: u64,
    pub(crate) attempts: u64,
    pub(crate) mixed: bool,
    duration_ms: Option<f64>,
    cost_usd: Option<f64>,
}

/// The sightings of one example, newest first, under every id it has had.
#[derive(Debug)]
pub(crate) struct Sighted {
    pub(crate) ids: Vec<String>,
    /// As the newest run with a result describes it.
    title: String,
    pub(crate) sightings: Vec<Sighting>,
}

/// What a range of runs says of the examples.
#[derive(Debug, Default)]
struct Seen {
    examples: Vec<Sighted>,
    /// The runs that have a result, newest first.
    runs: Vec<Rc<SeenRun>>,
}

impl History {
    /// What runs before `judged` have shown; before now where it is `None`. `fingerprint` is that of the configuration it ran with.
    pub fn past(
        &mut self,
        judged: Option<&str>,
        fingerprint: Option<&str>,
    ) -> Result<EarlierRuns, HistoryError> {
        let seen = self.seen(None, judged)?;
        let comparable = |run: &SeenRun| {
            let known = run.fingerprint.as_deref();
            fingerprint.is_none() || known.is_none() || known == fingerprint
        };
        let newest = seen.runs.iter().filter(|run| comparable(run)).take(RUNS);
        let mut runs: BTreeMap<&str, EarlierRun> =
            newest.map(|run| (run.name.as_str(), EarlierRun::default())).collect();
        let oldest = runs.keys().next().copied().unwrap_or_default();
        let mut past = EarlierRuns::default();
        for example in &seen.examples {
            let record = record(&example.sightings);
            for id in &example.ids {
                past.records.insert(id.clone(), record.clone());
            }
            let newest = example.sightings.iter().take_while(|it| it.run.name.as_str() >= oldest);
            for sighting in newest {
                let Some(run) = runs.get_mut(sighting.run.name.as_str()) else { continue };
                for id in &example.ids {
                    run.examples.insert(id.clone(), sample(sighting));
                }
            }
        }
        past.runs = runs.into_values().collect();
        Ok(past)
    }

    /// What runs before `judged` say of each example: the newest `window` of them, or as many as are quickly read.
    pub(crate) fn sightings(
        &mut self,
        window: Option<u64>,
        judged: Option<&str>,
    ) -> Result<Vec<Sighted>, HistoryError> {
        Ok(self.seen(window, judged)?.examples)
    }

    fn seen(&mut self, window: Option<u64>, judged: Option<&str>) -> Result<Seen, HistoryError> {
        let oldest = self.oldest_of(window, judged)?;
        let mut seen = self.attempt(|database| {
            read_seen(database.connection(), &oldest, judged).map_err(database.failed())
        })?;
        seen.examples = join_moved(seen.examples);
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
            let examples: u64 = self.attempt(|database| {
                let count = database.connection().query_row(newest, [], |row| row.get(0));
                count.map_err(database.failed())
            })?;
            (ROWS / examples.max(1)).max(50)
        };
        let text = "SELECT coalesce(min(name), '') FROM (SELECT name FROM runs
                    WHERE problem IS NULL AND (?1 IS NULL OR name < ?1) ORDER BY name DESC LIMIT ?2)";
        let limit = i64::try_from(window).unwrap_or(i64::MAX);
        self.attempt(|database| {
            let oldest =
                database.connection().query_row(text, params![judged, limit], |row| row.get(0));
            oldest.map_err(database.failed())
        })
    }
}

/// Reads what the runs from `oldest` on and before `judged` say of each example, by its id.
///
/// There may be hundreds of thousands of rows: what belongs to a run is read once, and no text of a row is copied that is known already.
fn read_seen(
    connection: &Connection,
    oldest: &str,
    judged: Option<&str>,
) -> rusqlite::Result<Seen> {
    let runs = read_runs(connection, oldest, judged)?;
    let mut query = connection.prepare(
        "SELECT run, example_id, passed, attempts, mixed, duration_ms, cost_usd, title FROM samples
         WHERE attempts > 0 AND run >= ?1 AND (?2 IS NULL OR run < ?2)
         ORDER BY run DESC, example_id DESC",
    )?;
    let mut rows = query.query(params![oldest, judged])?;
    let mut seen = Seen::default();
    let mut places: HashMap<String, usize> = HashMap::new();
    while let Some(row) = rows.next()? {
        let name = row.get_ref(0)?.as_str()?;
        if seen.runs.last().is_none_or(|run| run.name != name) {
            let Some(run) = runs.get(name) else { continue };
            seen.runs.push(Rc::clone(run));
        }
        let Some(run) = seen.runs.last() else { continue };
        let sighting = Sighting {
            run: Rc::clone(run),
            passed: row.get(2)?,
            attempts: row.get(3)?,
            mixed: row.get(4)?,
            duration_ms: row.get(5)?,
            cost_usd: row.get(6)?,
        };
        let id = row.get_ref(1)?.as_str()?;
        if let Some(place) = places.get(id) {
            seen.examples[*place].sightings.push(sighting);
        } else {
            places.insert(id.to_owned(), seen.examples.len());
            let (ids, title) = (vec![id.to_owned()], row.get(7)?);
            seen.examples.push(Sighted { ids, title, sightings: vec![sighting] });
        }
    }
    Ok(seen)
}

fn read_runs(
    connection: &Connection,
    oldest: &str,
    judged: Option<&str>,
) -> rusqlite::Result<HashMap<String, Rc<SeenRun>>> {
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
        Ok((name.clone(), Rc::new(SeenRun { name, tree, fingerprint: row.get(2)? })))
    })?;
    runs.collect()
}

fn sample(sighting: &Sighting) -> EarlierResult {
    #[expect(clippy::cast_precision_loss, reason = "counts of attempts are far below 2^53")]
    let attempts = sighting.attempts as f64;
    EarlierResult {
        passed: sighting.passed,
        attempts: sighting.attempts,
        duration_ms: sighting.duration_ms,
        cost_usd: sighting.cost_usd.map(|cost| cost / attempts),
    }
}

/// Makes one example of those with the same title that no run has together.
fn join_moved(examples: Vec<Sighted>) -> Vec<Sighted> {
    let mut by_title: HashMap<&str, Vec<&Sighted>> = HashMap::with_capacity(examples.len());
    for example in &examples {
        by_title.entry(&example.title).or_default().push(example);
    }
    by_title.retain(|_, namesakes| namesakes.len() > 1 && never_together(namesakes));
    let moved: HashSet<String> = by_title.into_keys().map(ToOwned::to_owned).collect();
    if moved.is_empty() {
        return examples;
    }
    let mut joined: Vec<Sighted> = Vec::with_capacity(examples.len());
    let mut places: HashMap<String, usize> = HashMap::new();
    for example in examples {
        if !moved.contains(&example.title) {
            joined.push(example);
        } else if let Some(place) = places.get(&example.title) {
            joined[*place].ids.extend(example.ids);
            joined[*place].sightings.extend(example.sightings);
        } else {
            places.insert(example.title.clone(), joined.len());
            joined.push(example);
        }
    }
    for place in places.into_values() {
        joined[place].sightings.sort_by(|one, other| other.run.name.cmp(&one.run.name));
    }
    joined
}

/// Whether no run has two of them.
fn never_together(examples: &[&Sighted]) -> bool {
    let mut runs = HashSet::new();
    let mut sightings = examples.iter().flat_map(|example| &example.sightings);
    sightings.all(|sighting| runs.insert(sighting.run.name.as_str()))
}

/// Whether all its attempts passed, or all failed; `None` where it gave both outcomes.
fn outcome(sighting: &Sighting) -> Option<bool> {
    match sighting.passed {
        _ if sighting.mixed => None,
        0 => Some(false),
        passed if passed == sighting.attempts => Some(true),
        _ => None,
    }
}

/// What the sightings of an example, newest first, amount to.
pub(crate) fn record(sightings: &[Sighting]) -> ExampleHistory {
    ExampleHistory {
        attempts: sightings.iter().map(|sighting| sighting.attempts).sum(),
        passed: sightings.iter().map(|sighting| sighting.passed).sum(),
        passed_in_a_row: streak(sightings, true),
        failed_in_a_row: streak(sightings, false),
        flaky: flaky(sightings),
    }
}

/// Sightings in a row with one outcome, before those in a row that had the other most recently.
fn streak(sightings: &[Sighting], wanted: bool) -> Streak {
    let rest = sightings.iter().skip_while(|sighting| outcome(sighting) == Some(!wanted));
    let row = rest.take_while(|sighting| outcome(sighting) == Some(wanted));
    row.fold(Streak::default(), |streak, sighting| Streak {
        attempts: streak.attempts + sighting.attempts,
        runs: streak.runs + 1,
    })
}

/// How it is known that an example gives both outcomes with nothing changed.
fn flaky(sightings: &[Sighting]) -> Option<String> {
    if let Some(mixed) = sightings.iter().find(|sighting| outcome(sighting).is_none()) {
        return Some(format!("both outcomes in run {}", mixed.run.name));
    }
    if let Some(tree) = torn_trees(sightings).keys().next() {
        let commit: String = tree.chars().take_while(|letter| *letter != ' ').take(10).collect();
        return Some(format!("both outcomes on commit {commit}"));
    }
    let changes = changes(sightings);
    (changes >= CHANGES).then(|| {
        let among = sightings.len().min(CHANGES_AMONG);
        format!("it changed its outcome {changes} times in its last {among} runs")
    })
}

/// How often the outcome changed from one of the newest sightings to the next.
pub(crate) fn changes(sightings: &[Sighting]) -> usize {
    let newest: Vec<bool> = sightings.iter().take(CHANGES_AMONG).filter_map(outcome).collect();
    newest.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

/// Whether so many changes show an example to be flaky.
pub(crate) fn changes_show(changes: usize) -> bool {
    changes >= CHANGES
}

/// Clean commits on which some runs passed and others did not, with the newest run of each.
pub(crate) fn torn_trees(sightings: &[Sighting]) -> BTreeMap<&str, &str> {
    // The outcome of the newest run of each tree, that run, and whether another one had the other outcome. Trees are shared by
    // their runs, so that the address tells them apart.
    let mut trees: HashMap<*const u8, (bool, &Sighting, bool)> = HashMap::new();
    for sighting in sightings {
        if let (Some(tree), Some(outcome)) = (&sighting.run.tree, outcome(sighting)) {
            let seen = trees.entry(tree.as_ptr()).or_insert((outcome, sighting, false));
            seen.2 |= seen.0 != outcome;
        }
    }
    let torn = trees.into_values().filter(|(_, _, torn)| *torn).map(|(_, newest, _)| &newest.run);
    torn.filter_map(|run| Some((run.tree.as_deref()?, run.name.as_str()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sightings from oldest to newest: `p` passed, `f` failed, `m` both.
    fn sightings(outcomes: &str) -> Vec<Sighting> {
        let sighting = |(place, outcome): (usize, char)| Sighting {
            run: Rc::new(SeenRun { name: format!("{place:04}"), ..SeenRun::default() }),
            passed: u64::from(outcome != 'f'),
            attempts: 1,
            mixed: outcome == 'm',
            duration_ms: None,
            cost_usd: None,
        };
        let mut all: Vec<Sighting> = outcomes.chars().enumerate().map(sighting).collect();
        all.reverse();
        all
    }

    /// T3: a failure stays a failure, however often it is seen, until the baseline says otherwise.
    #[test]
    fn t3_a_lasting_failure_does_not_shorten_the_record_before_it() {
        for tail in ["", "f", "ffffff"] {
            let record = record(&sightings(&format!("{}{tail}", "p".repeat(30))));
            assert_eq!(record.passed_in_a_row, Streak { attempts: 30, runs: 30 }, "{tail}");
            assert_eq!(record.flaky, None);
        }
        assert_eq!(record(&sightings("ppfpp")).passed_in_a_row.runs, 2);
        assert_eq!(record(&sightings("fffpp")).failed_in_a_row.runs, 3);
    }

    /// T13: alternation shows flakiness on any tree; a break that was mended does not.
    #[test]
    fn t13_alternation_is_learned_without_git() {
        let flaky = |outcomes: &str| record(&sightings(outcomes)).flaky;
        assert_eq!(flaky("ppppfffpppp"), None);
        assert_eq!(flaky("pf"), None);
        let known = flaky("pfpf").unwrap();
        assert_eq!(known, "it changed its outcome 3 times in its last 4 runs");
        assert!(flaky("ppmpp").unwrap().starts_with("both outcomes in run"));
        assert_eq!(flaky(&format!("pfpf{}", "p".repeat(40))), None, "long ago");
    }

    #[test]
    fn t13_an_example_that_moved_keeps_its_past() {
        let example = |id: &str, title: &str, places: &[usize]| Sighted {
            ids: vec![id.to_owned()],
            title: title.to_owned(),
            sightings: places.iter().map(|it| sightings(&"p".repeat(it + 1)).remove(0)).collect(),
        };
        let moved =
            join_moved(vec![example("new", "A > x", &[2]), example("old", "A > x", &[1, 0])]);
        assert_eq!(moved.len(), 1);
        assert_eq!(moved[0].ids, ["new", "old"]);
        let runs: Vec<&str> = moved[0].sightings.iter().map(|it| it.run.name.as_str()).collect();
        assert_eq!(runs, ["0002", "0001", "0000"], "newest first");
        let two = join_moved(vec![example("a", "same", &[1]), example("b", "same", &[1])]);
        assert_eq!(two.len(), 2, "two examples of one run are two examples");
    }
}
