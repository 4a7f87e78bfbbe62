//! `cover_plan` and `cover_submit`: what `proctor cover` left open, and the gate through which an agent fills it.
//!
//! The pipeline's own crate knows what is open and judges answers; this file only tells it to a model.

use proctor_cover::{Answer, OpenItem, Refusal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::engine::Engine;
use crate::error::{ToolError, kind};
use crate::paging::page;
use crate::table::{Context, Group, Hints, Progress, Row, Tool};

/// How many situations come at once when nobody says: each brings the source of a method.
const FEW: u32 = 3;

/// The rows.
pub(crate) fn tools() -> Vec<Tool> {
    let plan = Row {
        name: "cover_plan",
        title: "See what cover left open",
        group: Group::Cover,
        hints: Hints::LOOKS,
        description: "List the situations for which `proctor cover` found no input: each with the method's source, the decisions on its path, the example's description \
             and its place in the spec. Nothing is run. Write an example for one and give it to cover_submit. Run `proctor cover` in a shell first: it covers what it can by itself.",
    };
    let submit = Row {
        name: "cover_submit",
        title: "Fill one open situation",
        group: Group::Cover,
        hints: Hints::RUNS,
        description: "Propose the body of one example of cover_plan. It is run in a scratch copy and kept only if it parses, stays within its example, passes under several clocks \
             and orders, takes exactly its path, and fails when a small fault is put into the code. Otherwise it is refused with the reason: change the body and submit again.",
    };
    vec![plan.quick(show), submit.slow(fill)]
}

/// Parameters of `cover_plan`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PlanParameters {
    /// Only these sources, as seen from the project's root. Leave out for all that were covered.
    #[serde(default)]
    files: Vec<String>,
    /// How many at once; 3 if not given, at most 100.
    #[serde(default)]
    limit: Option<u32>,
    /// Where to go on: `next` of the answer before.
    #[serde(default)]
    cursor: Option<String>,
}

/// Answer of `cover_plan`.
#[derive(Debug, Serialize, JsonSchema)]
struct Planned {
    /// Situations that wait for an example.
    items: Vec<OpenItem>,
    /// How many there are in all.
    total: u64,
    /// How many covered sources were looked at.
    files: u64,
    /// Sources that cannot be looked at, with the reason and the way out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// Give this as `cursor` for the next ones; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

fn show(engine: &Engine, given: PlanParameters) -> Result<Planned, ToolError> {
    let plan = proctor_cover::plan(engine.root(), &given.files)
        .map_err(|stop| ToolError::new(kind::REFUSED, &stop).hint(stop.suggestion.clone()))?;
    let total = plan.items.len() as u64;
    let part = page(plan.items, given.cursor.as_deref(), Some(given.limit.unwrap_or(FEW)))?;
    Ok(Planned {
        items: part.items,
        total,
        files: plan.files as u64,
        notes: plan.notes,
        next: part.next,
    })
}

/// Parameters of `cover_submit`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Submitted {
    /// The `id` of an item of `cover_plan`.
    id: String,
    /// The lines between `do` and `end` of the example: plain setup, one call, one exact expectation.
    body: String,
    /// The example's description, present tense and third person; the planned one if left out.
    #[serde(default)]
    description: Option<String>,
}

/// Answer of `cover_submit`.
#[derive(Debug, Serialize, JsonSchema)]
struct Filled {
    /// Always true: an answer that is not kept is an error.
    kept: bool,
    /// Where the example stands now, `spec:line`.
    place: String,
    /// How many small faults in the code it notices.
    faults_noticed: u64,
    /// Situations that still wait in the same source.
    left: u64,
}

async fn fill(engine: Engine, given: Submitted, context: Context) -> Result<Filled, ToolError> {
    if let Some(tell) = &context.progress {
        let message = "running the example in a scratch copy".to_owned();
        tell(Progress { done: 0, total: None, message });
    }
    let work = tokio::task::spawn_blocking(move || {
        let answer = Answer { description: given.description, body: given.body };
        proctor_cover::submit(engine.root(), engine.ruby(), &given.id, &answer)
    });
    let outcome = work
        .await
        .map_err(|error| ToolError::io(format_args!("the background task failed: {error}")))?;
    let kept = outcome.map_err(refused)?;
    Ok(Filled {
        kept: true,
        place: kept.place,
        faults_noticed: kept.faults_noticed as u64,
        left: kept.left as u64,
    })
}

/// A refusal as a model can act on it.
fn refused(refusal: Refusal) -> ToolError {
    let sort = match refusal.reason {
        "machine" => kind::IO,
        "unknown" | "parse" => kind::INVALID_ARGUMENT,
        _ => kind::REFUSED,
    };
    ToolError::new(sort, &refusal.message)
        .hint(refusal.hint)
        .details(json!({ "reason": refusal.reason }))
}
