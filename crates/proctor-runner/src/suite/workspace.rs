//! Workspace files as a suite: each is one example, performed in a workspace of its own in this process.
//!
//! The orchestrator itself is a guarded child of the tools; a slot here only follows the dispatcher's
//! orders, passes a wish to stop on, and tells what came out. A file with a mistake is an error outside
//! examples, with line and column.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proctor_events::{
    Body, EvaluationMode, EvaluationRecorded, Event, ExampleFinished, Exception, Fault, Json,
    Millis, StableIds, Status,
};
use proctor_record::WORKSPACE_COVERAGE;
use proctor_workspace::file::{self, Outcome, WorkspaceFile};
use proctor_workspace::{CallContext, Config, ErrorKind, Reached, ToolError, Tools};
use serde_json::json;
use tokio::sync::mpsc;

use super::dialogue::name_in_root;
use super::filter::ExampleFilter;
use super::{Finished, Opened, Surroundings};
use crate::example::{Discovery, Example, OutsideError};
use crate::worker::said::Said;
use crate::worker::{BoxFuture, Inbox, Item, Launched, Launcher, Order, Place, Report};

/// The suite's name.
pub(crate) const NAME: &str = "workspace";
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

pub(crate) fn open(suite: &WorkspaceSuite, surroundings: &Surroundings) -> Opened {
    let began = Instant::now();
    let mut ids = StableIds::default();
    let mut discovery = Discovery::default();
    let mut files = HashMap::new();
    for path in &suite.files {
        match read(&surroundings.root.join(path), &surroundings.root, &mut ids) {
            Ok((example, file)) if suite.filter.accepts(&example) => {
                files.insert(example.key.clone(), (example.clone(), file));
                discovery.examples.push(example);
            }
            Ok(_) => {}
            Err(errors) => discovery.errors.extend(errors),
        }
    }
    discovery.load_ms = began.elapsed().as_secs_f64() * 1000.0;
    let tools = Tools::new(suite.config.clone());
    Opened {
        discovery,
        launcher: Arc::new(Pool { tools, files }),
        slots: Some(surroundings.workers.max(1)),
        finish: Box::new(|_| Box::pin(std::future::ready(Finished::default()))),
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
    let text = std::fs::read_to_string(path).map_err(|problem| {
        vec![error(name.clone(), format!("the workspace file cannot be read: {problem}"))]
    })?;
    let mut file = file::read(&name, &text).map_err(|problems| {
        let told = |problem: &file::FileProblem| {
            let place = format!("{}:{}:{}", problem.file, problem.line, problem.column);
            error(place, problem.message.clone())
        };
        problems.iter().map(told).collect::<Vec<_>>()
    })?;
    let folder = path.parent().unwrap_or(root);
    file.load_cassette(folder).map_err(|problem| vec![error(name.clone(), problem)])?;
    let chain = vec![file.name.clone()];
    let id = ids
        .next(&name, &chain)
        .map_err(|collision| vec![error(name.clone(), collision.to_string())])?;
    let example = Example {
        key: id.id.to_string(),
        id: id.id,
        suite: NAME.to_owned(),
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
    };
    Ok((example, Arc::new(file)))
}

/// Everything the slots share.
struct Pool {
    tools: Tools,
    files: HashMap<String, (Example, Arc<WorkspaceFile>)>,
}

impl Launcher for Pool {
    fn launch(&self, _: u32, _: u32) -> BoxFuture<Result<Launched, String>> {
        Box::pin(std::future::ready(Err("workspace files have no worker process".to_owned())))
    }

    fn serve(
        self: Arc<Self>,
        place: Place,
        orders: mpsc::UnboundedReceiver<Order>,
    ) -> BoxFuture<()> {
        let slot =
            Slot { pool: self, inbox: place.inbox, orders, queue: VecDeque::new(), ending: false };
        Box::pin(slot.serve())
    }

    fn has_processes(&self) -> bool {
        false
    }
}

struct Slot {
    pool: Arc<Pool>,
    inbox: Inbox,
    orders: mpsc::UnboundedReceiver<Order>,
    queue: VecDeque<Item>,
    ending: bool,
}

impl Slot {
    async fn serve(mut self) {
        self.inbox.send(Report::Ready { pid: None }).await;
        while let Some(item) = self.next().await {
            if !self.perform(item).await {
                break;
            }
        }
        self.inbox.send(Report::ended()).await;
    }

    /// The next item; nothing when the slot is to end.
    async fn next(&mut self) -> Option<Item> {
        loop {
            if self.ending {
                return None;
            }
            if let Some(item) = self.queue.pop_front() {
                return Some(item);
            }
            let order = self.orders.recv().await?;
            self.follow(order).await;
        }
    }

    async fn follow(&mut self, order: Order) {
        match order {
            Order::Run { units, .. } => self.queue.extend(units.into_iter().flatten()),
            Order::GiveBack(keys) => {
                let (back, kept): (VecDeque<Item>, _) = std::mem::take(&mut self.queue)
                    .into_iter()
                    .partition(|item| keys.contains(&item.key));
                self.queue = kept;
                let back = back.into_iter().map(|item| (item.key, item.repeat)).collect();
                self.inbox.send(Report::Returned(back)).await;
            }
            // It runs one thing at a time and is given no more than may fail.
            Order::ChangeFailuresLeft(_) => {}
            Order::Shutdown | Order::Kill { .. } => self.ending = true,
        }
    }

    /// Performs one file; false if it was killed on the way.
    async fn perform(&mut self, item: Item) -> bool {
        let Item { key, repeat, .. } = item;
        let began = Instant::now();
        self.inbox.send(Report::Heard(vec![Said::Started { key: key.clone(), repeat }])).await;
        let pool = Arc::clone(&self.pool);
        let Some((example, file)) = pool.files.get(&key) else { return true };
        let context = CallContext::default();
        let performed = {
            let mut running = pin!(perform(&pool.tools, file, &example.description, &context));
            loop {
                tokio::select! {
                    biased;
                    performed = &mut running => break performed,
                    order = self.orders.recv() => match order {
                        None | Some(Order::Kill { .. }) => {
                            // The run is killed and its workspace removed before the slot ends.
                            context.cancel.cancel();
                            let _ = tokio::time::timeout(CLEAN_UP, running).await;
                            return false;
                        }
                        Some(order) => self.follow(order).await,
                    },
                }
            }
        };
        let said = told(&key, repeat, example, file, performed, began);
        self.inbox.send(Report::Heard(said)).await;
        true
    }
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
fn told(
    key: &str,
    repeat: u32,
    example: &Example,
    file: &WorkspaceFile,
    performed: Result<Option<Outcome>, ToolError>,
    began: Instant,
) -> Vec<Said> {
    let mut said = Vec::new();
    let checks = performed.as_ref().ok().map(|it| it.as_ref().map_or(0, |it| it.results.len()));
    if let Ok(Some(outcome)) = &performed {
        for (title, result) in outcome.titles.iter().zip(&outcome.results) {
            let mut event = Box::new(Event::new(Body::EvaluationRecorded(EvaluationRecorded {
                mode: EvaluationMode::Hard,
                evaluation_type: Some(result.assertion.clone()),
                description: Some(title.clone()),
                passed: Some(result.passed),
                failure_message: result.message.clone(),
                metadata: Json::new(&json!({"expected": result.expected, "actual": result.actual}))
                    .ok(),
                ..EvaluationRecorded::default()
            })));
            event.repeat = Some(repeat);
            said.push(Said::Event { key: Some(key.to_owned()), event });
        }
    }
    if let Ok(Some(outcome)) = &performed {
        said.push(Said::Event { key: Some(key.to_owned()), event: reached(outcome, repeat) });
    }
    let (status, fault, class, message) = verdict(file, performed);
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
    said.push(Said::Finished { key: key.to_owned(), repeat, outcome });
    said
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

type Verdict = (Status, Option<Fault>, Option<&'static str>, Option<String>);

fn verdict(file: &WorkspaceFile, performed: Result<Option<Outcome>, ToolError>) -> Verdict {
    match performed {
        Ok(None) => (Status::Pending, None, None, file.pending.clone()),
        Ok(Some(outcome)) if outcome.passed() => (Status::Passed, None, None, None),
        Ok(Some(outcome)) => {
            (Status::Failed, Some(Fault::Agent), Some("AssertionFailed"), Some(failure(&outcome)))
        }
        // Without the tool nobody can tell whether the test would hold.
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
    for entry in &outcome.timeline {
        let hat = entry.hat.as_deref().unwrap_or("no hat");
        text.push_str(&format!("\n  {}. {hat}: {}", entry.iteration, entry.events.join(", ")));
    }
    for warning in &run.warnings {
        text.push_str(&format!("\nwarning: {warning}"));
    }
    text
}
