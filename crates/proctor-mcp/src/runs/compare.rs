//! `run_compare`: a tested verdict on a change.

use std::collections::BTreeMap;

use proctor_compare::{
    Assessment, Comparison, CriterionChange, ExampleChange, Gap, Rules, Tally, UsageChange,
};
use proctor_history::{BaselineError, Compared as Judged, SideError};
use proctor_text::truncate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::run_names;
use crate::engine::Engine;
use crate::error::{ToolError, kind};
use crate::table::{Group, Hints, Tool, ToolDeclaration};
use proctor_tools::paging::page;

pub(super) fn tools() -> Vec<Tool> {
    let declaration = ToolDeclaration {
        name: "run_compare",
        title: "Judge a run against another",
        group: Group::Runs,
        hints: Hints::READS,
        description: "Judge a run (`after`) against an earlier one or a blessed baseline (`before`): which examples regressed or improved beyond chance, and which may have. \
             A deterministic example that goes from pass to fail is a regression at once; others are tested. Regressions come first; examples without a change are only counted. \
             `gate` is what `proctor compare --gate` decides, and why.",
    };
    vec![declaration.with_blocking_handler(compare)]
}

/// Parameters of `run_compare`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CompareParams {
    /// What to compare with: a run (its id or the start of it, a tag, `last~1`), `baseline` or `baseline:NAME`. The run before the newest
    /// if not given.
    #[serde(default)]
    before: Option<String>,
    /// The run that is judged. The newest run if not given.
    #[serde(default)]
    after: Option<String>,
    /// Also list examples without a change.
    #[serde(default)]
    all: bool,
    /// Show that the suite is not worse by more than so many percentage points; without it «unchanged» is never said.
    #[serde(default)]
    margin: Option<f64>,
    /// How many examples at once; 10 if not given, at most 100.
    #[serde(default)]
    limit: Option<u32>,
    /// Where to go on: `next` of the answer before.
    #[serde(default)]
    cursor: Option<String>,
}

/// Answer of `run_compare`.
#[derive(Debug, Serialize, JsonSchema)]
struct CompareAnswer {
    /// The run compared with.
    before: String,
    /// The run that is judged.
    after: String,
    /// regression, `cannot_tell`, improvement, `no_change_seen`, unchanged or `not_comparable`.
    verdict: String,
    /// What a gate decides: pass, stop, `cannot_tell` or `not_comparable`.
    gate: String,
    /// Why, a sentence each; where it passes, what that could still hide.
    gate_reasons: Vec<String>,
    /// Examples by verdict, as numbers.
    counts: BTreeMap<String, u64>,
    /// The suite as a whole: its verdict.
    suite: String,
    /// The suite in numbers.
    suite_test: SuiteChangeView,
    /// The examples that changed or may have, regressions first.
    examples: Vec<ExampleChangeView>,
    /// Examples that only one of the runs can say something about; they stop a gate.
    gaps: u64,
    /// With `all`: the first of those gaps, at most 10.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    gap_examples: Vec<GapView>,
    /// Criteria, worst first, at most 10.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    criteria: Vec<CriterionView>,
    /// How much longer examples take.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration: Option<UsageView>,
    /// How much more examples cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<UsageView>,
    /// Give this as `cursor` for the next ones; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// What to keep in mind, such as a run that is not over.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// One example on both sides.
#[derive(Debug, Serialize, JsonSchema)]
struct ExampleChangeView {
    /// Its stable id.
    id: String,
    /// What it describes.
    title: String,
    /// regression, `cannot_tell`, improvement or `no_change_seen`.
    verdict: String,
    /// The reason as a sentence.
    why: String,
    /// How it ended before.
    before: String,
    /// How it ended after.
    after: String,
    /// Passes of attempts before, as `9/10`.
    passed_before: String,
    /// Passes of attempts after, as `4/10`.
    passed_after: String,
    /// The file it stood in, where that changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_from: Option<String>,
    /// How many repeats of a run would tell rates like these apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    repeats_to_tell: Option<u64>,
}

impl ExampleChangeView {
    fn new(change: &ExampleChange) -> Self {
        Self {
            id: change.id.clone(),
            title: truncate(&change.title, 300),
            verdict: serialized_name(change.verdict),
            why: change.why.clone(),
            before: change.status_before.clone(),
            after: change.status_after.clone(),
            passed_before: rate_text(&change.before),
            passed_after: rate_text(&change.after),
            moved_from: change.moved_from.as_ref().map(|file| truncate(file, 300)),
            repeats_to_tell: change.repeats_to_tell,
        }
    }
}

/// The suite as a whole, in numbers.
#[derive(Debug, Serialize, JsonSchema)]
struct SuiteChangeView {
    /// Examples that pass less often than before.
    worse: u64,
    /// Examples that pass more often than before.
    better: u64,
    /// The p-value of «worse» by the exact stratified test.
    p_worse: f64,
    /// The p-value of «better».
    p_better: f64,
    /// By how many percentage points the suite's pass rate changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    points: Option<f64>,
    /// By how many percentage points it may have fallen; absent where every example is deterministic.
    #[serde(skip_serializing_if = "Option::is_none")]
    possible_drop: Option<f64>,
}

impl SuiteChangeView {
    fn new(comparison: &Comparison) -> Self {
        let suite = &comparison.suite;
        Self {
            worse: suite.worse,
            better: suite.better,
            p_worse: rounded(suite.p_worse),
            p_better: rounded(suite.p_better),
            points: suite.change.map(|change| rounded(change.estimate * 100.0)),
            possible_drop: comparison.possible_drop().map(|drop| rounded(drop * 100.0)),
        }
    }
}

/// An example that only one side can say something about.
#[derive(Debug, Serialize, JsonSchema)]
struct GapView {
    /// Its stable id.
    id: String,
    /// What it describes.
    title: String,
    /// The side that has no result: `before` or `after`.
    missing: String,
    /// Why: `not there`, `pending`, `inconclusive`, ….
    reason: String,
}

impl GapView {
    fn new(gap: &Gap) -> Self {
        Self {
            id: gap.id.clone(),
            title: truncate(&gap.title, 300),
            missing: if gap.missing_after { "after" } else { "before" }.to_owned(),
            reason: gap.reason.clone(),
        }
    }
}

/// One criterion over the examples that check it on both sides.
#[derive(Debug, Serialize, JsonSchema)]
struct CriterionView {
    /// Its name.
    name: String,
    /// regression, `cannot_tell`, improvement or `no_change_seen`.
    verdict: String,
    /// Checks that held before, as `9/10`.
    passed_before: String,
    /// Checks that held after, as `4/10`.
    passed_after: String,
    /// The mean score before, where there are scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    score_before: Option<f64>,
    /// The mean score after, where there are scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    score_after: Option<f64>,
}

impl CriterionView {
    fn new(change: &CriterionChange) -> Self {
        Self {
            name: truncate(&change.name, 200),
            verdict: serialized_name(change.verdict),
            passed_before: rate_text(&change.before),
            passed_after: rate_text(&change.after),
            score_before: change.score_before.map(rounded),
            score_after: change.score_after.map(rounded),
        }
    }
}

/// How much more something takes.
#[derive(Debug, Serialize, JsonSchema)]
struct UsageView {
    /// The typical factor, after over before; absent where there was nothing before.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    /// Whether that is more than runs vary by; absent with fewer than three earlier runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    clear: Option<bool>,
}

impl UsageView {
    fn new(change: &UsageChange) -> Self {
        Self { ratio: change.ratio.map(rounded), clear: change.clear }
    }
}

/// A rate with the counts it is computed from.
fn rate_text(tally: &Tally) -> String {
    format!("{}/{}", tally.passed, tally.attempts)
}

fn rounded(number: f64) -> f64 {
    (number * 10_000.0).round() / 10_000.0
}

/// How many gaps and criteria come.
const MAX_LISTED: usize = 10;

fn serialized_name(verdict: impl Serialize) -> String {
    let value = serde_json::to_value(verdict).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

fn compare(engine: &Engine, given: CompareParams) -> Result<CompareAnswer, ToolError> {
    let before = given.before.as_deref().unwrap_or("last~1");
    let after = given.after.as_deref().unwrap_or("last");
    let rules = match given.margin {
        Some(points) => Rules::default().with_margin(points).ok_or_else(|| {
            ToolError::invalid("`margin` is a number of points above 0 and below 100")
        })?,
        None => Rules::default(),
    };
    let judged = engine
        .comparisons()
        .compare(&engine.store(), before, after, &rules)
        .map_err(comparison_error)?;
    answer(&judged, &given)
}

fn comparison_error(error: SideError) -> ToolError {
    match error {
        SideError::Name(error) => run_names::to_tool_error(error),
        SideError::Baseline(error @ BaselineError::Unknown { .. }) => {
            ToolError::new(kind::UNKNOWN_RUN, error).hint("`proctor baseline bless RUN` makes one")
        }
        SideError::Baseline(error) => ToolError::io(error),
        SideError::Recording(error) => ToolError::io(error),
    }
}

/// What to keep in mind.
fn warnings(judged: &Judged) -> Vec<String> {
    let Judged { comparison, before, after, without_history } = judged;
    let mut warnings = Vec::new();
    for (folder, info) in [(before, &comparison.before), (after, &comparison.after)] {
        if let Some(folder) = folder
            && !info.complete
            && folder.is_live()
        {
            warnings.push(format!("run {} is not over yet", folder.name()));
        }
    }
    if comparison.config_changed == Some(true) {
        warnings.push(
            "the two ran with different configurations: differences may come from there".to_owned(),
        );
    }
    warnings.extend(
        without_history.iter().map(|why| format!("earlier runs were not considered: {why}")),
    );
    warnings
}

fn answer(judged: &Judged, given: &CompareParams) -> Result<CompareAnswer, ToolError> {
    let comparison: &Comparison = &judged.comparison;
    let told = |change: &&ExampleChange| given.all || change.verdict != Assessment::NoChangeSeen;
    let mut counts = BTreeMap::new();
    for change in &comparison.examples {
        *counts.entry(serialized_name(change.verdict)).or_default() += 1;
    }
    let changed = comparison.examples.iter().filter(told);
    let page = page(changed, given.cursor.as_deref(), given.limit)?;
    let name = |folder: &Option<proctor_record::RunFolder>, label: &str| {
        folder.as_ref().map_or_else(|| label.to_owned(), proctor_record::RunFolder::name)
    };
    let gaps = comparison.gaps.iter().take(if given.all { MAX_LISTED } else { 0 });
    Ok(CompareAnswer {
        before: name(&judged.before, &comparison.before.label),
        after: name(&judged.after, &comparison.after.label),
        verdict: serialized_name(comparison.verdict),
        gate: serialized_name(comparison.gate.decision),
        gate_reasons: comparison.gate.reasons.clone(),
        counts,
        suite: serialized_name(comparison.suite.verdict),
        suite_test: SuiteChangeView::new(comparison),
        examples: page.items.into_iter().map(ExampleChangeView::new).collect(),
        gaps: comparison.gaps.len() as u64,
        gap_examples: gaps.map(GapView::new).collect(),
        criteria: comparison.criteria.iter().take(MAX_LISTED).map(CriterionView::new).collect(),
        duration: comparison.duration.as_ref().map(UsageView::new),
        cost: comparison.cost.as_ref().map(UsageView::new),
        next: page.next,
        warnings: warnings(judged),
    })
}
