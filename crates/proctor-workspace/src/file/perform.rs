//! One file, performed: set up, run, judge, clean up.

use serde::Serialize;
use serde_json::Value;

use super::WorkspaceFile;
use crate::assertion::{Assertion, AssertionResult};
use crate::coverage::Coverage;
use crate::error::{ErrorKind, ToolError};
use crate::session::TimelineEntry;
use crate::tools::assert::AssertParams;
use crate::tools::cleanup::CleanupParams;
use crate::tools::inspect::{Format, InspectParams};
use crate::tools::run::{RunParams, RunResult};
use crate::tools::setup::SetupParams;
use crate::tools::{CallContext, Tools};

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// The result of the run (of the last, if it was repeated).
    pub run: RunResult,
    /// One result per assertion; of a repeated run the last failure, if there was one.
    pub results: Vec<AssertionResult>,
    /// What each assertion says, in order.
    pub titles: Vec<String>,
    /// Iteration by iteration.
    pub timeline: Vec<TimelineEntry>,
    /// Which configured topics, hats and endings it reached.
    pub coverage: Coverage,
    /// What the orchestrator printed, at most the last 8 KiB.
    pub output_tail: String,
    /// What the author should know although it passed: of set-up, run and assertions.
    pub warnings: Vec<String>,
}

impl Outcome {
    /// Every assertion holds.
    pub fn passed(&self) -> bool {
        self.results.iter().all(|result| result.passed)
    }

    /// No assertion fails, and some could not be decided: nobody knows if the file passes.
    pub fn undecided(&self) -> bool {
        let mut open = self.results.iter().filter(|result| !result.passed).peekable();
        open.peek().is_some() && open.all(|result| result.undecided)
    }

    /// The failures in words, one line each; what could not be decided is among them.
    pub fn failures(&self) -> Vec<String> {
        let failed = self.titles.iter().zip(&self.results).filter(|(_, result)| !result.passed);
        failed
            .map(|(title, result)| {
                let shown = |value: &Value| match value {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                let why = result.message.clone().unwrap_or_default();
                format!(
                    "{title}: {why} (expected {}, actual {})",
                    shown(&result.expected),
                    shown(&result.actual)
                )
            })
            .collect()
    }
}

/// Performs a file in a workspace of its own. `label` becomes part of the workspace's id.
pub async fn run(
    tools: &Tools,
    file: &WorkspaceFile,
    label: &str,
    context: &CallContext,
) -> Result<Outcome, ToolError> {
    let id = workspace_id(label);
    let section = &file.setup;
    let prepared = tools
        .setup(SetupParams {
            workspace_id: id.clone(),
            fixtures: section.fixtures.clone(),
            config: section.config.clone(),
            scratchpad: section.scratchpad.clone(),
            orchestrator: section.orchestrator.clone(),
            read: section.read.clone(),
            git: section.git,
            replace: false,
        })
        .await?;
    let done = perform(tools, file, &id, context).await;
    let cleaned =
        tools.cleanup(CleanupParams { workspace_id: id, ..CleanupParams::default() }).await;
    let mut outcome = done?;
    cleaned?;
    outcome.warnings = distinct(prepared.warnings.into_iter().chain(outcome.warnings));
    Ok(outcome)
}

async fn perform(
    tools: &Tools,
    file: &WorkspaceFile,
    id: &str,
    context: &CallContext,
) -> Result<Outcome, ToolError> {
    let section = &file.run;
    if section.cassette.is_some() && file.recorded.is_none() {
        return Err(ToolError::invalid("run.cassette was not read: call load_cassette first"));
    }
    let repeated = section.repeat.unwrap_or(1) > 1;
    let result = tools
        .run(
            RunParams {
                workspace_id: id.to_owned(),
                task: section.task.clone(),
                backend: section.backend,
                max_iterations: section.max_iterations,
                max_runtime_secs: section.max_runtime_secs,
                env: section.env.clone(),
                mock_responses: Some(file.mock.clone()).filter(|responses| !responses.is_empty()),
                cassette: file.recorded.clone(),
                repeat: section.repeat,
                assertions: if repeated { file.assertions.clone() } else { Vec::new() },
                require_confinement: section.require_confinement,
                allow_exhausted: section.allow_exhausted,
                ..RunParams::default()
            },
            context,
        )
        .await?;
    if result.termination_reason == "HarnessCancelled" {
        return Err(ToolError::new(ErrorKind::Cancelled, "the run was cancelled"));
    }
    let judgement = tools
        .assert(AssertParams {
            workspace_id: id.to_owned(),
            assertions: file.assertions.clone(),
            run: None,
        })
        .await?;
    let mut judged = judgement.results;
    for (last, rate) in
        judged.iter_mut().zip(result.flakiness.iter().flat_map(|all| &all.assertions))
    {
        if let Some(failure) = &rate.last_failure {
            *last = failure.clone();
            let why = last.message.take().unwrap_or_default();
            let count = rate.passed + rate.failed + rate.undecided;
            last.message = Some(format!("held in {} of {count} repeats: {why}", rate.passed));
        }
    }
    let look = |format| {
        tools.inspect(InspectParams {
            workspace_id: id.to_owned(),
            format,
            ..InspectParams::default()
        })
    };
    let timeline = look(Format::Timeline).await?.timeline.unwrap_or_default();
    let coverage = look(Format::Coverage).await?.coverage.unwrap_or_default();
    let output = look(Format::Output).await?;
    let said = output.stdout.unwrap_or_default() + &output.stderr.unwrap_or_default();
    Ok(Outcome {
        warnings: result.warnings.iter().cloned().chain(judgement.warnings).collect(),
        run: result,
        results: judged,
        titles: file.assertions.iter().map(Assertion::title).collect(),
        timeline,
        coverage,
        output_tail: tail(&said, 8 * 1024),
    })
}

/// Every text once, in order.
fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = std::collections::BTreeSet::new();
    texts.filter(|text| seen.insert(text.clone())).collect()
}

fn tail(text: &str, most: usize) -> String {
    let tail = &text[text.ceil_char_boundary(text.len().saturating_sub(most))..];
    if tail.len() < text.len() { format!("…{tail}") } else { tail.to_owned() }
}

/// A unique id that contains the label.
fn workspace_id(label: &str) -> String {
    let plain: String = label
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
        .take(24)
        .collect();
    let random = uuid::Uuid::new_v4().simple().to_string();
    format!("x-{}-{}", plain.trim_matches('-'), &random[..12]).replace("--", "-")
}
