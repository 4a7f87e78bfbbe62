//! The tools for agents: `cover_plan` lists what `proctor cover` left open, `cover_submit` is the gate through which an agent
//! fills it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use proctor_sandbox::Launcher;
use proctor_tools::paging::page;
use proctor_tools::{CallContext, Group, Hints, Progress, Tool, ToolDeclaration, ToolError, kind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{Answer, OpenItem, Refusal};

/// Situations of a page if the call has no limit; with details, each brings the source of a method.
const DEFAULT_LIMIT: u32 = 20;
const DEFAULT_LIMIT_WITH_DETAILS: u32 = 3;

/// What the tools work with.
#[derive(Debug, Clone)]
pub struct CoveredProject {
    /// The project's root folder.
    pub root: PathBuf,
    /// The Ruby that runs proposed examples.
    pub ruby: PathBuf,
    /// The program that confines Ruby; without it nothing is confined.
    pub launcher: Option<Launcher>,
}

/// The tools.
#[must_use]
pub fn agent_tools() -> Vec<Tool<CoveredProject>> {
    let plan = ToolDeclaration {
        name: "cover_plan",
        title: "See what cover left open",
        group: Group::Cover,
        hints: Hints::READS,
        description: "List the situations for which `proctor cover` found no input, each with what is missing in a few words and the names that values can be given for; \
             `details` adds source and decisions. Nothing is run. Give cover_submit the missing values, or a whole example. Run `proctor cover` in a shell first: it covers what it can by itself.",
    };
    let submit = ToolDeclaration {
        name: "cover_submit",
        title: "Fill one open situation",
        group: Group::Cover,
        hints: Hints::RUNS_PROGRAMS,
        description: "Propose values for one situation of cover_plan (the expectation is what the call does with them), or the body of its example. It is run in a scratch copy and kept only if it parses, stays within its example, passes under several clocks \
             and orders, takes exactly its path, and fails when a small fault is put into the code. Otherwise it is refused with the reason: change it and submit again.",
    };
    vec![plan.with_blocking_handler(show), submit.with_async_handler(fill)]
}

/// Parameters of `cover_plan`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PlanParameters {
    /// Only these sources, as seen from the project's root. Leave out for all that were covered.
    #[serde(default)]
    files: Vec<String>,
    /// Whether to add the method's source, the decisions on the path, and what else is known.
    #[serde(default)]
    details: bool,
    /// How many at once; if not given 20, with details 3; at most 100.
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
    items: Vec<PlannedItem>,
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

/// One situation, in few words.
#[derive(Debug, Serialize, JsonSchema)]
struct PlannedItem {
    /// Give this to `cover_submit`.
    id: String,
    /// The skipped example, `spec:line`.
    place: String,
    /// `Class#name`
    method_id: String,
    /// The contexts and the example's description.
    situation: String,
    /// What is missing.
    missing: String,
    /// Names under which `cover_submit` must be given values; none if it wants an example.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    required: Vec<String>,
    /// Names under which it can be given values; `self` is the object that the method is called on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    optional: Vec<String>,
    /// All that is known, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<OpenItem>,
}

impl PlannedItem {
    fn new(item: OpenItem, details: bool) -> Self {
        let (required, optional) = item.call.names();
        let words = item.contexts.iter().chain([&item.description]);
        Self {
            id: item.id.clone(),
            place: format!("{}:{}", item.spec, item.line),
            method_id: item.method_id.clone(),
            situation: words.map(String::as_str).collect::<Vec<_>>().join(", "),
            missing: item.missing.clone(),
            required,
            optional,
            details: details.then_some(item),
        }
    }
}

fn show(project: &CoveredProject, given: PlanParameters) -> Result<Planned, ToolError> {
    let PlanParameters { files, details, limit, cursor } = given;
    let plan = crate::plan(&project.root, &files)
        .map_err(|stop| ToolError::new(kind::REFUSED, &stop).hint(stop.suggestion.clone()))?;
    let total = plan.items.len() as u64;
    let usual = if details { DEFAULT_LIMIT_WITH_DETAILS } else { DEFAULT_LIMIT };
    let part = page(plan.items, cursor.as_deref(), Some(limit.unwrap_or(usual)))?;
    Ok(Planned {
        items: part.items.into_iter().map(|item| PlannedItem::new(item, details)).collect(),
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
    /// The lines between `do` and `end` of the example: plain setup, one call, one exact expectation. Leave out if there are values.
    #[serde(default)]
    body: String,
    /// By name (of a parameter of the method or of its constructor, or `self` for the object): one Ruby expression each, verified doubles included.
    #[serde(default)]
    values: BTreeMap<String, String>,
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

async fn fill(
    project: CoveredProject,
    given: Submitted,
    context: CallContext,
) -> Result<Filled, ToolError> {
    if let Some(report) = &context.progress {
        let message = "running the example in a scratch copy".to_owned();
        report(Progress { done: 0, total: None, message });
    }
    let work = tokio::task::spawn_blocking(move || {
        let Submitted { id, body, values, description } = given;
        let answer = Answer { description, body, values };
        crate::submit(&project, &id, &answer)
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
        "unknown" | "parse" | "values" => kind::INVALID_ARGUMENT,
        _ => kind::REFUSED,
    };
    ToolError::new(sort, &refusal.message)
        .hint(refusal.hint)
        .details(json!({ "reason": refusal.reason }))
}
