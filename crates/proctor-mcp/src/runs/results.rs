//! `run_results`: what became of the examples of a run.

use std::collections::HashMap;

use proctor_record::Example;
use proctor_verdict::{Outcome, worst_first};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::result_index::FinalResult;
use super::run_names;
use super::run_state::CurrentRun;
use super::view::{ResultView, RunView};
use super::workspace_coverage::WorkspaceCoverageView;
use crate::engine::Engine;
use crate::error::ToolError;
use crate::table::{Group, Hints, Tool, ToolDeclaration};
use proctor_tools::paging::page;

/// The statuses there are.
const STATUSES: [&str; 12] = [
    "passed",
    "failed",
    "pending",
    "inconclusive",
    "errored",
    "crashed",
    "timed_out",
    "cancelled",
    "not_run",
    "flaky",
    "within_rate",
    "unfinished",
];

pub(super) fn tools() -> Vec<Tool> {
    let declaration = ToolDeclaration {
        name: "run_results",
        title: "What became of the examples",
        group: Group::Runs,
        hints: Hints::READS,
        description: "The examples of a run, those that fail it unless `statuses` says otherwise, a page at a time. Each has its id, title, place, verdict, \
             and what went wrong in the repetition that tells most. Text that the agent under test may have written is left out; show_example gives it on request.",
    };
    vec![declaration.with_blocking_handler(results)]
}

/// Parameters of `run_results`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ResultsParams {
    /// The run: its id or the start of it, a tag, `last`, `last~2`. If not given, the newest that you started, else the newest.
    #[serde(default)]
    run_id: Option<String>,
    /// Only examples with one of these verdicts; `all` for every example. Everything that fails the run if not given.
    #[serde(default)]
    statuses: Vec<String>,
    /// Only examples whose title or place contains this.
    #[serde(default)]
    matching: Option<String>,
    /// How many at once; 10 if not given, at most 100.
    #[serde(default)]
    limit: Option<u32>,
    /// Where to go on: `next` of the answer before.
    #[serde(default)]
    cursor: Option<String>,
}

/// Answer of `run_results`.
#[derive(Debug, Serialize, JsonSchema)]
struct ResultsAnswer {
    /// The run in numbers.
    run: RunView,
    /// A result for each example, in the order in which they came.
    results: Vec<ResultView>,
    /// How many fit in all.
    total: u64,
    /// Give this as `cursor` for the next ones; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// What the workspace examples of this run reached together: topics, hats, endings, assertions that changed their mind.
    #[serde(skip_serializing_if = "Option::is_none")]
    workspaces: Option<WorkspaceCoverageView>,
}

fn results(engine: &Engine, given: ResultsParams) -> Result<ResultsAnswer, ToolError> {
    let known = |status: &&String| *status != "all" && !STATUSES.contains(&status.as_str());
    if let Some(unknown) = given.statuses.iter().find(known) {
        return Err(ToolError::invalid(format_args!("statuses: there is no status `{unknown}`"))
            .hint(format!("statuses: all, {}", STATUSES.join(", "))));
    }
    let folder =
        run_names::resolve_or_newest(engine, given.run_id.as_deref(), run_names::START_TIMEOUT)?;
    engine.run_cache().with_current_run(&folder, |current| answer(current, &given))
}

fn answer(current: &CurrentRun<'_>, given: &ResultsParams) -> Result<ResultsAnswer, ToolError> {
    let text = given.matching.as_deref().map(str::to_lowercase);
    let index = current.index;
    let mut all = deciding_results(current, |example| given.includes(current, example));
    all.retain(|result| text.as_ref().is_none_or(|text| contains_text(result.example, text)));
    let page = page(all.iter(), given.cursor.as_deref(), given.limit)?;
    Ok(ResultsAnswer {
        run: RunView::new(current),
        results: page.items.iter().map(|result| current.view(result)).collect::<Result<_, _>>()?,
        total: all.len() as u64,
        next: page.next,
        workspaces: index.workspaces().coverage().map(WorkspaceCoverageView::new),
    })
}

/// Of every example the result that tells most about its verdict, in the order in which they came.
fn deciding_results<'a>(
    current: &CurrentRun<'a>,
    wanted: impl Fn(&Example) -> bool,
) -> Vec<FinalResult<'a>> {
    let mut found: HashMap<&str, FinalResult<'a>> = HashMap::new();
    let rank = |result: &FinalResult<'_>| {
        let attempt = result.attempt;
        worst_first(attempt.status.as_ref(), attempt.fault.as_ref())
    };
    for result in current.index.results() {
        let Some(id) = result.example.id.as_ref().filter(|_| wanted(result.example)) else {
            continue;
        };
        // One that passed says nothing about why an example failed; one that failed within a rate says nothing about why it passed.
        let passed = current.verdict_of(result.example).is_passed();
        let better = |known: &FinalResult<'_>| {
            if passed { rank(&result) > rank(known) } else { rank(&result) < rank(known) }
        };
        if found.get(id.as_str()).is_none_or(better) {
            found.insert(id.as_str(), result);
        }
    }
    // What a run without an end left open tells more than the attempts and repetitions before it.
    for result in current.index.open_attempts() {
        let Some(id) = result.example.id.as_ref().filter(|_| wanted(result.example)) else {
            continue;
        };
        if current.verdict_of(result.example).outcome() == Outcome::Unfinished {
            found.insert(id.as_str(), result);
        }
    }
    let mut all: Vec<FinalResult<'a>> = found.into_values().collect();
    all.sort_by_key(|result| result.seq);
    all
}

impl ResultsParams {
    fn includes(&self, current: &CurrentRun<'_>, example: &Example) -> bool {
        let outcome = current.verdict_of(example).outcome();
        let fits = |word: &str| word == outcome.word() || word == outcome.counted_as();
        match self.statuses.as_slice() {
            [] => current.fails_run(example),
            statuses => statuses.iter().any(|word| word == "all" || fits(word)),
        }
    }
}

fn contains_text(example: &Example, text: &str) -> bool {
    let place = example.location.as_deref().or(example.file.as_deref());
    example.title().to_lowercase().contains(text)
        || place.is_some_and(|place| place.to_lowercase().contains(text))
}
