//! `run_compare`: a tested verdict on a change.

use std::collections::BTreeMap;

use proctor_compare::{Comparison, ExampleChange, Rules, Side, Verdict};
use proctor_history::History;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::find;
use super::reading::{state_of, verdicts};
use crate::engine::Engine;
use crate::error::ToolError;
use crate::paging::{brief, page};
use crate::table::{Group, Hints, Row, Tool};

pub(super) fn tools() -> Vec<Tool> {
    let row = Row {
        name: "run_compare",
        title: "Judge a run against another",
        group: Group::Runs,
        hints: Hints::LOOKS,
        description: "Judge a run (`after`) against an earlier one (`before`): which examples regressed or improved beyond chance, and where there is too little data to tell. \
             A deterministic example that goes from pass to fail is a regression at once; others are tested. Regressions come first; unchanged examples are only counted.",
    };
    vec![row.quick(compare)]
}

/// Parameters of `run_compare`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Ask {
    /// The run to compare with: its id or the start of it, a tag, `last~1`. The run before the newest if not given.
    #[serde(default)]
    before: Option<String>,
    /// The run that is judged. The newest run if not given.
    #[serde(default)]
    after: Option<String>,
    /// Also list examples with too little data to tell, and unchanged ones.
    #[serde(default)]
    all: bool,
    /// How many examples at once; 10 if not given, at most 100.
    #[serde(default)]
    limit: Option<u32>,
    /// Where to go on: `next` of the answer before.
    #[serde(default)]
    cursor: Option<String>,
}

/// Answer of `run_compare`.
#[derive(Debug, Serialize, JsonSchema)]
struct Compared {
    /// The run compared with.
    before: String,
    /// The run that is judged.
    after: String,
    /// regression, improvement, unchanged or `too_little_data`.
    verdict: String,
    /// Examples by verdict, as numbers.
    counts: BTreeMap<String, u64>,
    /// The suite as a whole: its verdict.
    suite: String,
    /// The examples that changed, regressions first.
    examples: Vec<Change>,
    /// Examples that only one of the runs can say something about.
    gaps: u64,
    /// Give this as `cursor` for the next ones; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// What to keep in mind, such as a run that is not over.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// One example on both sides.
#[derive(Debug, Serialize, JsonSchema)]
struct Change {
    /// Its stable id.
    id: String,
    /// What it describes.
    title: String,
    /// regression, improvement, unchanged or `too_little_data`.
    verdict: String,
    /// The reason as a sentence.
    why: String,
    /// How it ended before.
    before: String,
    /// How it ended after.
    after: String,
    /// How many repeats of a run would tell rates like these apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    repeats_to_tell: Option<u64>,
}

impl Change {
    fn new(change: &ExampleChange) -> Self {
        Self {
            id: change.id.clone(),
            title: brief(&change.title, 300),
            verdict: word(change.verdict),
            why: change.why.clone(),
            before: change.status_before.clone(),
            after: change.status_after.clone(),
            repeats_to_tell: change.repeats_to_tell,
        }
    }
}

fn word(verdict: Verdict) -> String {
    let value = serde_json::to_value(verdict).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

fn compare(engine: &Engine, given: Ask) -> Result<Compared, ToolError> {
    let store = engine.store();
    let find = |name: Option<&String>, other: &str| {
        find::run(&store, Some(name.map_or(other, String::as_str)))
    };
    let before = find(given.before.as_ref(), "last~1")?;
    let after = find(given.after.as_ref(), "last")?;
    let runs = (verdicts(&before)?, verdicts(&after)?);
    let mut warnings: Vec<String> = [(&before, &runs.0), (&after, &runs.1)]
        .into_iter()
        .filter(|(folder, run)| !state_of(folder, run.finished_at.is_some()).is_over())
        .map(|(folder, _)| format!("run {} is not over yet", folder.name()))
        .collect();
    let (before, after) = (before.name(), after.name());
    let records = History::open(&store).and_then(|mut history| history.records(Some(&after)));
    let records = records.unwrap_or_else(|error| {
        warnings.push(format!("earlier runs were not considered: {error}"));
        BTreeMap::new()
    });
    let sides = (Side::of(&runs.0, &before), Side::of(&runs.1, &after));
    let comparison = proctor_compare::compare(&sides.0, &sides.1, &records, &Rules::default());
    answer(&comparison, &given, warnings)
}

fn answer(
    comparison: &Comparison,
    given: &Ask,
    warnings: Vec<String>,
) -> Result<Compared, ToolError> {
    let told = |change: &&ExampleChange| {
        given.all || matches!(change.verdict, Verdict::Regression | Verdict::Improvement)
    };
    let mut counts = BTreeMap::new();
    for change in &comparison.examples {
        *counts.entry(word(change.verdict)).or_default() += 1;
    }
    let changed = comparison.examples.iter().filter(told);
    let page = page(changed, given.cursor.as_deref(), given.limit)?;
    Ok(Compared {
        before: comparison.before.label.clone(),
        after: comparison.after.label.clone(),
        verdict: word(comparison.verdict),
        counts,
        suite: word(comparison.suite.verdict),
        examples: page.items.into_iter().map(Change::new).collect(),
        gaps: comparison.gaps.len() as u64,
        next: page.next,
        warnings,
    })
}
