//! `run_results`: what became of the examples of a run.

use proctor_events::Status;
use proctor_record::Example;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::find;
use super::index::Final;
use super::reach::Reach;
use super::reading::Reading;
use super::view::{ResultView, RunView, is_failure};
use crate::engine::Engine;
use crate::error::ToolError;
use crate::paging::page;
use crate::table::{Group, Hints, Row, Tool};

/// The statuses there are.
const STATUSES: [&str; 9] = [
    "passed",
    "failed",
    "pending",
    "inconclusive",
    "errored",
    "crashed",
    "timed_out",
    "cancelled",
    "not_run",
];

pub(super) fn tools() -> Vec<Tool> {
    let row = Row {
        name: "run_results",
        title: "What became of the examples",
        group: Group::Runs,
        hints: Hints::LOOKS,
        description: "The final results of a run, failures only unless `statuses` says otherwise, a page at a time. Each has the example's id, title, place, status, \
             and what went wrong. Text that the agent under test may have written is left out; show_example gives it on request.",
    };
    vec![row.quick(results)]
}

/// Parameters of `run_results`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Ask {
    /// The run: its id or the start of it, a tag, `last`, `last~2`. If not given, the newest that you started, else the newest.
    #[serde(default)]
    run_id: Option<String>,
    /// Only results with one of these statuses; `all` for every result. Everything that did not pass if not given.
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
struct Results {
    /// The run in numbers.
    run: RunView,
    /// The results, in the order in which they came.
    results: Vec<ResultView>,
    /// How many fit in all.
    total: u64,
    /// Give this as `cursor` for the next ones; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// What the workspace examples of this run reached together: topics, hats, endings, assertions that changed their mind.
    #[serde(skip_serializing_if = "Option::is_none")]
    workspaces: Option<Reach>,
}

fn results(engine: &Engine, given: Ask) -> Result<Results, ToolError> {
    let known = |status: &&String| *status != "all" && !STATUSES.contains(&status.as_str());
    if let Some(unknown) = given.statuses.iter().find(known) {
        return Err(ToolError::invalid(format_args!("statuses: there is no status `{unknown}`"))
            .hint(format!("statuses: all, {}", STATUSES.join(", "))));
    }
    let folder = find::meant(engine, given.run_id.as_deref(), find::MOMENT)?;
    engine.readings().look(&folder, |reading| answer(reading, &given))
}

fn answer(reading: &Reading<'_>, given: &Ask) -> Result<Results, ToolError> {
    let text = given.matching.as_deref().map(str::to_lowercase);
    let index = reading.index;
    let all: Vec<Final<'_>> = index
        .results()
        .filter(|result| result.attempt.status.as_ref().is_some_and(|status| given.wants(status)))
        .filter(|result| text.as_ref().is_none_or(|text| mentions(result.example, text)))
        .collect();
    let page = page(all.iter(), given.cursor.as_deref(), given.limit)?;
    Ok(Results {
        run: RunView::new(reading),
        results: page.items.iter().map(|result| ResultView::of(**result)).collect(),
        total: all.len() as u64,
        next: page.next,
        workspaces: index.workspaces().coverage().map(Reach::new),
    })
}

impl Ask {
    fn wants(&self, status: &Status) -> bool {
        match self.statuses.as_slice() {
            [] => is_failure(status),
            statuses => statuses.iter().any(|word| word == "all" || word == status.as_str()),
        }
    }
}

fn mentions(example: &Example, text: &str) -> bool {
    let place = example.location.as_deref().or(example.file.as_deref());
    example.title().to_lowercase().contains(text)
        || place.is_some_and(|place| place.to_lowercase().contains(text))
}
