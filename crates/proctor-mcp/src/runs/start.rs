//! `run_start`: a detached runner, and proof that it really goes.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use proctor_history::baseline_name;
use proctor_process::{ChildEnvironment, DetachedCommand, DetachedProcess};
use proctor_record::control::State as Live;
use proctor_record::{RunFolder, RunStore};
use proctor_text::truncate;
use schemars::JsonSchema;
use serde::Deserialize;

use super::list::Selection;
use super::run_names;
use super::run_state::RunCache;
use super::view::RunView;
use crate::engine::Engine;
use crate::error::{ToolError, kind};
use crate::table::{Context, Group, Hints, Progress, Tool, ToolDeclaration};

/// The default time limit of a run.
const TIME_LIMIT: &str = "30m";
/// How long the runner's process may take to answer at all.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// How long the call waits for the examples to be found once the runner answers.
const LOADING_WAIT: Duration = Duration::from_secs(3);
/// How often the socket is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How much of a runner's last words comes with an error.
const MAX_LOG_CHARS: usize = 2000;

pub(super) fn tools() -> Vec<Tool> {
    let declaration = ToolDeclaration {
        name: "run_start",
        title: "Start a run",
        group: Group::Runs,
        hints: Hints::RUNS_PROGRAMS,
        description: "Start a run of the project's examples (RSpec, scenarios, workspaces, suites of proctor.toml) and get its run_id as soon as it is really going. \
             The run is a process of its own: it goes on when this call or this server ends, until it is finished, cancelled with run_cancel, or over its time limit. \
             Then call run_wait with the run_id until `state` is finished. Without parameters everything runs.",
    };
    vec![declaration.with_async_handler(start)]
}

/// Parameters of `run_start`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StartParams {
    /// Files, folders, `FILE:LINE` or `FILE[1:2]`, as seen from the project's root. Leave out for everything.
    #[serde(default)]
    paths: Vec<String>,
    /// Only examples whose stable id begins with one of these.
    #[serde(default)]
    examples: Vec<String>,
    /// Only examples whose full description contains this text, or matches it when written as /REGEX/.
    #[serde(default)]
    matching: Vec<String>,
    /// Only examples with one of these tags (`slow`, `type:model`; `~slow` leaves them out).
    #[serde(default)]
    tags: Vec<String>,
    /// Only these suites: `rspec`, `scenario`, or a name of proctor.toml.
    #[serde(default)]
    suites: Vec<String>,
    /// Only examples that did not pass in the last run.
    #[serde(default)]
    only_failures: bool,
    /// How many workers run at once.
    #[serde(default)]
    workers: Option<u32>,
    /// Stop after so many failures.
    #[serde(default)]
    fail_fast: Option<u32>,
    /// End an example that takes longer: `500ms`, `30s`, `2m`.
    #[serde(default)]
    timeout: Option<String>,
    /// Try a failed example again, up to so many times; a pass is then flaky.
    #[serde(default)]
    retries: Option<u32>,
    /// Run every example so many times.
    #[serde(default)]
    repeat: Option<u32>,
    /// Instead: run every example as often as its verdict needs (its pass rate, or whether it got worse than in `baseline_or_run`), at most so
    /// many times; 20 is usual.
    #[serde(default)]
    repeat_up_to: Option<u32>,
    /// With `repeat_up_to`: the run or baseline to compare with, as in `run_compare`; `baseline` if not given and there is one.
    #[serde(default)]
    against: Option<String>,
    /// The seed that orders the examples.
    #[serde(default)]
    seed: Option<u64>,
    /// End the whole run after this time: `10m`, `2h`; 30m if not given.
    #[serde(default)]
    time_limit: Option<String>,
    /// Resolve the journal's active entry from this run, by the expectation that the entry states.
    #[serde(default)]
    resolve_journal: bool,
    /// The lane of that entry.
    #[serde(default)]
    lane: Option<String>,
}

impl StartParams {
    fn selection(&self) -> Selection<'_> {
        Selection {
            paths: &self.paths,
            examples: &self.examples,
            matching: &self.matching,
            tags: &self.tags,
            suites: &self.suites,
        }
    }

    fn arguments(&self, id: &str, root: &Path) -> Result<Vec<String>, ToolError> {
        let limit = self.time_limit.as_deref().unwrap_or(TIME_LIMIT);
        let mut all = vec![
            "run".to_owned(),
            "--detached".to_owned(),
            format!("--run-id={id}"),
            format!("--time-limit={limit}"),
            "--ui=terse".to_owned(),
        ];
        let number =
            |name: &str, value: Option<u64>| value.map(|value| format!("--{name}={value}"));
        all.extend(number("workers", self.workers.map(u64::from)));
        all.extend(number("fail-fast", self.fail_fast.map(u64::from)));
        all.extend(number("retries", self.retries.map(u64::from)));
        all.extend(number("repeat", self.repeat.map(u64::from)));
        all.extend(self.repeat_up_to.map(|limit| format!("--repeat=auto:{limit}")));
        all.extend(self.baseline_or_run(root)?.map(|side| format!("--against={side}")));
        all.extend(number("seed", self.seed));
        all.extend(self.timeout.as_ref().map(|timeout| format!("--timeout={timeout}")));
        all.extend(self.only_failures.then(|| "--only-failures".to_owned()));
        if self.resolve_journal {
            all.push("--resolve-journal".to_owned());
            all.extend(self.lane.as_ref().map(|lane| format!("--lane={lane}")));
        }
        all.extend(self.selection().arguments(root)?);
        Ok(all)
    }
}

impl StartParams {
    /// What a run with `repeat_up_to` is compared with: a baseline, or a run of this project by its id. Paths are refused.
    fn baseline_or_run(&self, root: &Path) -> Result<Option<String>, ToolError> {
        if self.repeat.is_some() && self.repeat_up_to.is_some() {
            return Err(ToolError::invalid("give repeat or repeat_up_to, not both"));
        }
        match &self.against {
            None => Ok(None),
            Some(_) if self.repeat_up_to.is_none() => {
                Err(ToolError::invalid("`against` needs `repeat_up_to`"))
            }
            Some(name) if baseline_name(name).is_some() => Ok(Some(name.clone())),
            Some(name) => Ok(Some(run_names::resolve(&RunStore::new(root), name)?.name())),
        }
    }
}

async fn start(engine: Engine, given: StartParams, context: Context) -> Result<RunView, ToolError> {
    // Before the first await: later calls without a run id mean this run.
    let starting = engine.started().begin();
    let id = engine.new_run_id();
    let arguments = given.arguments(&id, engine.root())?;
    let folder = engine.store().runs_folder().join(&id);
    let runner = StartedRunner::spawn(&engine, arguments, folder)?;
    let outcome = runner.wait_until_running(&context).await;
    if outcome.is_err() {
        runner.abort().await;
    }
    outcome?;
    starting.set_running(&id);
    let view = tokio::task::spawn_blocking(move || {
        let run = run_names::resolve(&engine.store(), &id)?;
        engine.run_cache().with_current_run(&run, |current| Ok(RunView::new(current)))
    });
    view.await.unwrap_or_else(|error| Err(ToolError::io(error)))
}

/// A runner that was started and may not be going yet.
struct StartedRunner {
    process: Arc<DetachedProcess>,
    folder: PathBuf,
    log: PathBuf,
}

impl StartedRunner {
    fn spawn(engine: &Engine, arguments: Vec<String>, folder: PathBuf) -> Result<Self, ToolError> {
        let log = folder.join("runner.log");
        let made = proctor_files::create_private_folder(&folder);
        made.map_err(|error| {
            ToolError::io(format_args!("cannot create {}: {error}", folder.display()))
        })?;
        let output = open(&log)?;
        // It makes a session of its own as soon as it is up (`--detached`), so nothing that ends us reaches it.
        let process = DetachedCommand::new(engine.program(), ChildEnvironment::inherited())
            .args(["--root".as_ref(), engine.root().as_os_str()])
            .args(arguments)
            .folder(engine.root())
            .output(output)
            .start()
            .map_err(|error| {
                ToolError::io(format_args!("cannot start {}: {error}", engine.program().display()))
            })?;
        Ok(Self { process: Arc::new(process), folder, log })
    }

    /// Waits until the run answers, and a little for its examples. Ends early with the run.
    async fn wait_until_running(&self, context: &Context) -> Result<(), ToolError> {
        let begun = Instant::now();
        let mut answered: Option<Instant> = None;
        loop {
            if self.process.has_ended().map_err(ToolError::io)? {
                return if self.has_results() { Ok(()) } else { Err(self.failure_from_log()) };
            }
            let folder = self.folder.clone();
            let asked =
                tokio::task::spawn_blocking(move || proctor_record::control::query_status(&folder))
                    .await;
            if let Ok(Ok(status)) = asked {
                let since = *answered.get_or_insert_with(Instant::now);
                if status.state != Live::Loading || since.elapsed() >= LOADING_WAIT {
                    return Ok(());
                }
                if let Some(tell) = &context.progress {
                    tell(Progress {
                        done: 0,
                        total: None,
                        message: "looking for examples".to_owned(),
                    });
                }
            } else if begun.elapsed() > START_TIMEOUT {
                return Err(ToolError::new(
                    kind::NOT_STARTED,
                    format_args!(
                        "the runner did not answer within {} s and was ended",
                        START_TIMEOUT.as_secs()
                    ),
                )
                .hint("the machine may be overloaded: try again, or with fewer workers"));
            }
            tokio::select! {
                () = tokio::time::sleep(POLL_INTERVAL) => {}
                () = context.cancel.cancelled() => {
                    return Err(ToolError::new(kind::CANCELLED, "the call was cancelled before the run had started; the run was ended"));
                }
            }
        }
    }

    /// Whether a run that is over already has something to show.
    fn has_results(&self) -> bool {
        let name = self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let store = self.folder.ancestors().nth(3).map(RunStore::new);
        let current = store.and_then(|store| run_names::resolve(&store, &name).ok());
        current.is_some_and(|run: RunFolder| {
            let told = RunCache::default().with_current_run(&run, |current| {
                let index = current.index;
                let something = index.examples().next().is_some() || !index.run().errors.is_empty();
                // A run that was stopped while it looked for its examples had started.
                Ok(index.is_finished() && (something || current.verdict.stopped_by().is_some()))
            });
            told.unwrap_or(false)
        })
    }

    /// The error of a runner that ended before its run started, from its log.
    fn failure_from_log(&self) -> ToolError {
        let mut text = String::new();
        if let Ok(file) = proctor_files::open(&self.log) {
            // The log may be unreadable; an empty text is then shown.
            let _ = file.take(1 << 20).read_to_string(&mut text);
        }
        let words = truncate(text.trim().trim_start_matches("error: "), MAX_LOG_CHARS);
        let message =
            if words.is_empty() { "the runner ended without output".to_owned() } else { words };
        ToolError::new(kind::NOT_STARTED, message)
            .hint("list_examples shows what there is to run; `proctor doctor` says what is missing")
    }

    /// Ends a runner that did not start its run; the guards of its children end them.
    async fn abort(&self) {
        let process = Arc::clone(&self.process);
        // What cannot be killed has ended.
        let _ = tokio::task::spawn_blocking(move || process.kill()).await;
        if !RunFolder::new(&self.folder).events_path().exists() {
            // Nothing was recorded, so nothing is lost.
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

fn open(log: &Path) -> Result<File, ToolError> {
    proctor_files::append_private(log)
        .map_err(|error| ToolError::io(format_args!("cannot write {}: {error}", log.display())))
}
