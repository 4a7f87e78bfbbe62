//! Workspace files as a suite: each is one example, performed in a workspace of its own in this process.
//!
//! The orchestrator itself is a guarded child of the tools; here it is started and stopped, and its outcome is reported. The loop
//! of a slot is in `worker_link`. A file with a mistake is an error outside
//! examples, with line and column.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proctor_events::{
    Body, EvaluationMode, EvaluationRecorded, Event, ExampleFinished, Exception, Fault, Json,
    Millis, StableIds, Status,
};
use proctor_files::limits;
use proctor_record::{WORKSPACE_COVERAGE, WORKSPACE_WARNING};
use proctor_workspace::file::{self, Outcome, WorkspaceFile};
use proctor_workspace::{CallContext, Config, ErrorKind, Reached, ToolError, Tools};
use serde_json::json;
use tokio::sync::oneshot;

use super::dialogue::name_in_root;
use super::filter::ExampleFilter;
use super::{
    OpenedSuite, Opening, Reported, SuiteCapabilities, SuiteEnd, SuiteEnvironment, SuiteKind,
};
use crate::example::{Discovery, Example, OutsideError};
use crate::worker_link::local::{ExamplePerformer, LocalLink};
use crate::worker_link::local_slot::StopCause;
use crate::worker_link::orders::ExampleRun;
use crate::worker_link::reports::Report;
use crate::worker_link::{BoxFuture, ReportSender};

/// The suite's name.
const NAME: &str = "workspace";
/// How long a stopped run may take to be killed and cleaned up.
const CLEAN_UP: Duration = Duration::from_secs(15);

/// A suite of workspace files.
#[derive(Debug, Clone)]
pub struct WorkspaceSuite {
    /// The files, absolute or from the project's root.
    pub files: Vec<PathBuf>,
    /// Which of their examples take part.
    pub filter: ExampleFilter,
    /// Where workspaces are made, and with which programs.
    pub config: Config,
}

/// What its examples report.
pub(crate) const CAPABILITIES: SuiteCapabilities = SuiteCapabilities {
    name: "workspace",
    names: Reported::Always,
    durations: Reported::Always,
    output: Reported::Never,
    checks: Reported::Always,
};

impl SuiteKind for WorkspaceSuite {
    fn capabilities(&self) -> &'static SuiteCapabilities {
        &CAPABILITIES
    }

    fn name(&self) -> &str {
        NAME
    }

    fn open<'a>(&'a self, environment: &'a SuiteEnvironment) -> Opening<'a> {
        Box::pin(std::future::ready(Ok(open(self, environment))))
    }
}

fn open(suite: &WorkspaceSuite, environment: &SuiteEnvironment) -> OpenedSuite {
    let began = Instant::now();
    let mut ids = StableIds::default();
    let mut discovery = Discovery::default();
    let mut files = HashMap::new();
    for path in &suite.files {
        match read(&environment.root.join(path), &environment.root, &mut ids) {
            Ok((example, file)) if suite.filter.accepts(&example) => {
                files.insert(example.key.clone(), (example.clone(), file));
                discovery.examples.push(example);
            }
            Ok(_) => {}
            Err(errors) => discovery.errors.extend(errors),
        }
    }
    discovery.load_ms = began.elapsed().as_secs_f64() * 1000.0;
    let pool = Arc::new(WorkspacePool { tools: Tools::new(suite.config.clone()), files });
    OpenedSuite {
        checkpoint_links: None,
        discovery,
        links: Box::new(move |_| Arc::new(LocalLink(Arc::clone(&pool)))),
        slots: Some(environment.workers.max(1)),
        finish: Box::new(|_| Box::pin(std::future::ready(SuiteEnd::default()))),
        observers: None,
    }
}

fn read(
    path: &Path,
    root: &Path,
    ids: &mut StableIds,
) -> Result<(Example, Arc<WorkspaceFile>), Vec<OutsideError>> {
    let name = name_in_root(path, root);
    let error = |place: String, message: String| OutsideError {
        phase: "load".to_owned(),
        place: Some(place),
        message: Some(message),
        ..OutsideError::default()
    };
    let text = proctor_files::read_text(path, limits::SCENARIO).map_err(|problem| {
        vec![error(name.clone(), format!("the workspace file cannot be read: {problem}"))]
    })?;
    let mut file = file::read(&name, &text).map_err(|problems| {
        let told = |problem: &file::FileProblem| error(problem.place(), problem.details());
        problems.iter().map(told).collect::<Vec<_>>()
    })?;
    let folder = path.parent().unwrap_or(root);
    file.resolve_read(folder);
    file.load_cassette(folder).map_err(|problem| vec![error(name.clone(), problem.to_string())])?;
    let chain = vec![file.name.clone()];
    let id = ids
        .next(&name, &chain)
        .map_err(|collision| vec![error(name.clone(), collision.to_string())])?;
    let example = Example {
        key: id.id.to_string(),
        id: id.id,
        suite: NAME.to_owned(),
        suite_index: 0,
        location: Some(format!("{name}:1")),
        file: name,
        description: file.name.clone(),
        full_description: file.name.clone(),
        path: chain,
        tags: file.tags.clone(),
        unit: None,
        scenario: None,
        repeats: None,
        pass_rate: None,
        deterministic: None,
        scripted: false,
    };
    Ok((example, Arc::new(file)))
}

/// Everything the slots share.
struct WorkspacePool {
    tools: Tools,
    files: HashMap<String, (Example, Arc<WorkspaceFile>)>,
}

impl ExamplePerformer for WorkspacePool {
    fn perform(
        self: Arc<Self>,
        run: ExampleRun,
        reports: ReportSender,
        stop: oneshot::Receiver<StopCause>,
    ) -> BoxFuture<()> {
        Box::pin(async move { self.perform_file(run, reports, stop).await })
    }
}

impl WorkspacePool {
    async fn perform_file(
        &self,
        run: ExampleRun,
        reports: ReportSender,
        stop: oneshot::Receiver<StopCause>,
    ) {
        let ExampleRun { key, repeat, .. } = run;
        let began = Instant::now();
        reports.send(Report::Started { key: key.clone(), repeat }).await;
        let Some((example, file)) = self.files.get(&key) else {
            return reports.send(unknown_example(key, repeat)).await;
        };
        let context = CallContext::default();
        let mut running = pin!(perform(&self.tools, file, &example.description, &context));
        let performed = tokio::select! {
            biased;
            performed = &mut running => performed,
            _ = stop => {
                // The orchestrator is killed and its workspace removed before the slot ends.
                context.cancel.cancel();
                let _ = tokio::time::timeout(CLEAN_UP, running).await;
                return;
            }
        };
        reports.send_all(outcome_reports(&key, repeat, example, file, performed, began)).await;
    }
}

/// The result of an example that no file has.
fn unknown_example(key: String, repeat: u32) -> Report {
    let message = format!("there is no example {key}; this is a bug in proctor");
    let outcome = Box::new(ExampleFinished {
        status: Status::Errored,
        fault: Some(Fault::Harness),
        message: Some(message),
        ..ExampleFinished::default()
    });
    Report::Finished { key, repeat, outcome }
}

async fn perform(
    tools: &Tools,
    file: &WorkspaceFile,
    label: &str,
    context: &CallContext,
) -> Result<Option<Outcome>, ToolError> {
    if file.pending.is_some() {
        return Ok(None);
    }
    file::run(tools, file, label, context).await.map(Some)
}

/// What became of a file, as the run records it: one evaluation per assertion, then the verdict.
fn outcome_reports(
    key: &str,
    repeat: u32,
    example: &Example,
    file: &WorkspaceFile,
    performed: Result<Option<Outcome>, ToolError>,
    began: Instant,
) -> Vec<Report> {
    let mut reports = Vec::new();
    let checks = performed.as_ref().ok().map(|it| it.as_ref().map_or(0, |it| it.results.len()));
    if let Ok(Some(outcome)) = &performed {
        for (title, result) in outcome.titles.iter().zip(&outcome.results) {
            let mut event = Box::new(Event::new(Body::EvaluationRecorded(EvaluationRecorded {
                mode: EvaluationMode::Hard,
                evaluation_type: Some(result.assertion.clone()),
                description: Some(title.clone()),
                passed: (!result.undecided).then_some(result.passed),
                failure_message: result.message.clone(),
                metadata: Json::new(&json!({"expected": result.expected, "actual": result.actual}))
                    .ok(),
                ..EvaluationRecorded::default()
            })));
            event.repeat = Some(repeat);
            reports.push(Report::Event { key: Some(key.to_owned()), event });
        }
    }
    if let Ok(Some(outcome)) = &performed {
        let warned = outcome.warnings.iter().map(|warning| warning_event(warning, repeat));
        for event in warned.chain([reached(outcome, repeat)]) {
            reports.push(Report::Event { key: Some(key.to_owned()), event });
        }
    }
    let (status, fault, class, message) = attempt_result(file, performed);
    let exception = class.map(|class| Exception {
        class: Some(class.to_owned()),
        message: message.clone().unwrap_or_default(),
        backtrace: example.location.clone().into_iter().collect(),
        ..Exception::default()
    });
    let outcome = Box::new(ExampleFinished {
        status,
        fault,
        checks: checks.map(|checks| checks as u64),
        duration_ms: Some(Millis::from(began.elapsed())),
        message: message.filter(|_| exception.is_none()),
        exception,
        ..ExampleFinished::default()
    });
    reports.push(Report::Finished { key: key.to_owned(), repeat, outcome });
    reports
}

/// What an example reached of its topology, as a soft evaluation: it never decides the verdict, and reports add up over the suite.
fn reached(outcome: &Outcome, repeat: u32) -> Box<Event> {
    let coverage = &outcome.coverage;
    let of = |part: &Reached| {
        format!("{} of {}", part.covered.len(), part.covered.len() + part.missing.len())
    };
    let (topics, hats) = (of(&coverage.topics), of(&coverage.hats));
    // The orchestrator's word, which an agent may have put into its mouth: names only.
    let reason = &outcome.run.termination_reason;
    let is_name = reason.len() <= 40 && reason.chars().all(char::is_alphanumeric);
    let reason = if is_name { reason.as_str() } else { "a reason of its own" };
    let text = format!("topics reached {topics}, hats {hats}, ended with {reason}");
    let mut event = Box::new(Event::new(Body::EvaluationRecorded(EvaluationRecorded {
        mode: EvaluationMode::Soft,
        evaluation_type: Some(WORKSPACE_COVERAGE.to_owned()),
        description: Some(text),
        passed: Some(true),
        score: Some(coverage.topics.ratio),
        metadata: Json::new(coverage).ok(),
        ..EvaluationRecorded::default()
    })));
    event.repeat = Some(repeat);
    event
}

/// A warning, as a soft evaluation without a result: it never decides the verdict, and every view shows it.
fn warning_event(warning: &str, repeat: u32) -> Box<Event> {
    let mut event = Box::new(Event::new(Body::EvaluationRecorded(EvaluationRecorded {
        mode: EvaluationMode::Soft,
        evaluation_type: Some(WORKSPACE_WARNING.to_owned()),
        description: Some(warning.to_owned()),
        ..EvaluationRecorded::default()
    })));
    event.repeat = Some(repeat);
    event
}

type AttemptResult = (Status, Option<Fault>, Option<&'static str>, Option<String>);

fn attempt_result(
    file: &WorkspaceFile,
    performed: Result<Option<Outcome>, ToolError>,
) -> AttemptResult {
    match performed {
        Ok(None) => (Status::Pending, None, None, file.pending.clone()),
        Ok(Some(outcome)) if outcome.passed() => (Status::Passed, None, None, None),
        Ok(Some(outcome)) if outcome.undecided() => {
            (Status::Errored, Some(Fault::Harness), Some("Undecided"), Some(failure(&outcome)))
        }
        Ok(Some(outcome)) => {
            (Status::Failed, Some(Fault::Agent), Some("AssertionFailed"), Some(failure(&outcome)))
        }
        // Without the tool the result of the test is unknown.
        Err(error) if error.kind == ErrorKind::MissingProgram => {
            (Status::Pending, None, None, Some(error.to_string()))
        }
        Err(error) => {
            (Status::Errored, Some(Fault::Harness), Some("WorkspaceError"), Some(error.to_string()))
        }
    }
}

/// Failed assertions, the timeline, and the end of the output: what a person needs to see why.
fn failure(outcome: &Outcome) -> String {
    let mut text = outcome.failures().join("\n");
    let run = &outcome.run;
    text.push_str(&format!("\n\n{} after {} iterations:", run.termination_reason, run.iterations));
    if let Some(detail) = &run.termination_detail {
        text.push_str(&format!("\n{detail}"));
    }
    for entry in &outcome.timeline {
        let hat = entry.hat.as_deref().unwrap_or("no hat");
        text.push_str(&format!("\n  {}. {hat}: {}", entry.iteration, entry.events.join(", ")));
    }
    for warning in &outcome.warnings {
        text.push_str(&format!("\nwarning: {warning}"));
    }
    text
}
