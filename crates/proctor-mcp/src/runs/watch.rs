//! `run_status` and `run_wait`: how far a run is, and what is new since the last look.

use std::time::{Duration, Instant};

use proctor_record::{FileChanges, RunFolder};
use proctor_verdict::is_success;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::result_index::FinalResult;
use super::run_names;
use super::run_state::CurrentRun;
use super::view::{ResultView, RunView};
use crate::engine::Engine;
use crate::error::ToolError;
use crate::table::{Context, Group, Hints, Progress, Tool, ToolDeclaration};
use proctor_tools::paging::limited;

/// The default wait of `run_wait`, in seconds.
const DEFAULT_WAIT: u64 = 4;
/// How long it may wait.
const MAX_WAIT: u64 = 5;
/// The least time between two looks at a run.
const MIN_PAUSE: Duration = Duration::from_millis(50);
/// How often to see whether the caller has given up.
const CANCEL_INTERVAL: Duration = Duration::from_millis(50);
/// The longest time between two looks: a run whose process dies writes nothing more.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

pub(super) fn tools() -> Vec<Tool> {
    let declare = |name, title, description| ToolDeclaration {
        name,
        title,
        group: Group::Runs,
        hints: Hints::READS,
        description,
    };
    vec![
        declare(
            "run_status",
            "How far is a run",
            "How far a run is: its state, counts per status, and the examples that failed since `cursor` (all results with include: all). \
             Answers at once. Give the `cursor` of the answer before to see only what is new; while `more` is true there is more right away.",
        )
        .with_blocking_handler(status),
        declare(
            "run_wait",
            "Wait for a run",
            "Like run_status, but waits up to wait_seconds (4 if not given, at most 5) until the run is over or something failed since `cursor`. \
             Call it again with the new cursor until `state` is finished, stopped, died, did_not_load or nothing_found.",
        )
        .with_async_handler(wait),
    ]
}

/// Which results come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum IncludedResults {
    /// Those that did not pass.
    #[default]
    Failures,
    /// All of them.
    All,
    /// None: counts only.
    None,
}

/// Parameters of `run_status`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StatusParams {
    /// The run: its id or the start of it, a tag, `last`, `last~2`. If not given, the newest that you started, else the newest.
    #[serde(default)]
    run_id: Option<String>,
    /// Only results since this place: `cursor` of the answer before.
    #[serde(default)]
    cursor: Option<String>,
    /// Which results come: `failures` if not given.
    #[serde(default)]
    include: IncludedResults,
    /// How many results at once; 10 if not given, at most 100.
    #[serde(default)]
    limit: Option<u32>,
}

/// Parameters of `run_wait`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WaitParams {
    /// The run: its id or the start of it, a tag, `last`. If not given, the newest that you started, else the newest.
    #[serde(default)]
    run_id: Option<String>,
    /// Only results since this place: `cursor` of the answer before.
    #[serde(default)]
    cursor: Option<String>,
    /// Which results come, and end the wait: `failures` if not given. With `none` only the end of the run does.
    #[serde(default)]
    include: IncludedResults,
    /// How many results at once; 10 if not given, at most 100.
    #[serde(default)]
    limit: Option<u32>,
    /// How long to wait, in seconds; 4 if not given, at most 5.
    #[serde(default)]
    wait_seconds: Option<u64>,
}

/// Answer of `run_status` and `run_wait`.
#[derive(Debug, Serialize, JsonSchema)]
struct RunProgress {
    /// The run in numbers.
    run: RunView,
    /// Results since the cursor, in the order in which they came.
    results: Vec<ResultView>,
    /// Give this as `cursor` to see only what comes after.
    cursor: String,
    /// There are more results right away: call again with the cursor.
    more: bool,
}

impl RunProgress {
    fn new(current: &CurrentRun<'_>, look: &StatusParams) -> Result<Self, ToolError> {
        let since = cursor_seq(look.cursor.as_deref())?;
        let limit = limited(look.limit);
        let index = current.index;
        let mut cursor = index.last_seq().max(since);
        let mut results = Vec::new();
        let mut more = false;
        let wanted = index.results_since(since).into_iter().filter(|result| match look.include {
            IncludedResults::All => true,
            IncludedResults::Failures => is_new_failure(current, result),
            IncludedResults::None => false,
        });
        let mut last = since;
        for result in wanted {
            if results.len() == limit {
                (more, cursor) = (true, last);
                break;
            }
            results.push(current.view(&result)?);
            last = result.seq;
        }
        Ok(Self { run: RunView::new(current), results, cursor: cursor.to_string(), more })
    }
}

/// Whether a result is a failure to report: it did not pass, and its example fails the run.
fn is_new_failure(current: &CurrentRun<'_>, result: &FinalResult<'_>) -> bool {
    let bad = |status| !is_success(status);
    result.attempt.status.as_ref().is_some_and(bad) && current.fails_run(result.example)
}

fn cursor_seq(cursor: Option<&str>) -> Result<u64, ToolError> {
    match cursor {
        None | Some("") => Ok(0),
        Some(text) => text.parse().map_err(|_| {
            ToolError::invalid(format_args!("cursor: `{text}` is not a cursor of a run"))
                .hint("use the `cursor` of the answer before, or leave it out to see everything")
        }),
    }
}

fn status(engine: &Engine, given: StatusParams) -> Result<RunProgress, ToolError> {
    let folder =
        run_names::resolve_or_newest(engine, given.run_id.as_deref(), run_names::START_TIMEOUT)?;
    engine.run_cache().with_current_run(&folder, |current| RunProgress::new(current, &given))
}

async fn wait(
    engine: Engine,
    given: WaitParams,
    context: Context,
) -> Result<RunProgress, ToolError> {
    let seconds = given.wait_seconds.unwrap_or(DEFAULT_WAIT).min(MAX_WAIT);
    let look = StatusParams {
        run_id: given.run_id,
        cursor: given.cursor,
        include: given.include,
        limit: given.limit,
    };
    let waiting = tokio::task::spawn_blocking(move || {
        wait_for_update(&engine, look, Duration::from_secs(seconds), &context)
    });
    waiting.await.unwrap_or_else(|error| Err(ToolError::io(error)))
}

/// Looks whenever the recording has grown.
fn wait_for_update(
    engine: &Engine,
    mut look: StatusParams,
    patience: Duration,
    context: &Context,
) -> Result<RunProgress, ToolError> {
    let deadline = Instant::now() + patience;
    let folder = run_names::resolve_or_newest(engine, look.run_id.as_deref(), patience)?;
    // It must not come to mean another run while we wait.
    look.run_id = Some(folder.name());
    // Watched before the first look, so that nothing written after it is missed.
    let changes = FileChanges::watch(&folder.events_path()).ok();
    let mut reported: Option<u64> = None;
    loop {
        let news = engine
            .run_cache()
            .with_current_run(&folder, |current| RunProgress::new(current, &look))?;
        let over = news.run.state.is_over() || !news.results.is_empty();
        let completed = news.run.completed;
        // The first look is always reported; after that, progress must grow from one notification to the next.
        if let (Some(report), true) = (&context.progress, reported.is_none_or(|it| completed > it))
        {
            reported = Some(completed);
            let message = match news.run.total {
                Some(total) => format!("{completed} of {total}"),
                None => completed.to_string(),
            };
            report(Progress { done: completed, total: news.run.total, message });
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if over || left.is_zero() || context.cancel.is_cancelled() {
            return Ok(news);
        }
        wait_for_growth(changes.as_ref(), &folder, left, context);
    }
}

/// Waits until the recording may have grown, for a second, or until the caller gives up; at least for [`MIN_PAUSE`], so that
/// a busy run is not looked at for each of its lines.
fn wait_for_growth(
    changes: Option<&FileChanges>,
    folder: &RunFolder,
    left: Duration,
    context: &Context,
) {
    let begun = Instant::now();
    let most = left.min(CHECK_INTERVAL);
    let size = || std::fs::metadata(folder.events_path()).map_or(0, |about| about.len());
    let before = size();
    std::thread::sleep(MIN_PAUSE.min(left));
    while begun.elapsed() < most && size() == before && !context.cancel.is_cancelled() {
        let pause = CANCEL_INTERVAL.min(most);
        // Where the kernel sends no notifications the size tells.
        if changes.is_none_or(|changes| changes.wait(pause).is_err()) {
            std::thread::sleep(pause);
        }
    }
}
