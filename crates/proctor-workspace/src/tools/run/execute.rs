//! The middle of a run: started under guard, waited for, and killed when it must be.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proctor_files::limits;
use proctor_process::{
    ChildEnvironment, ExitReport, ExitStatus, Guard, Lines, ManagedProcess, OutputConfig, Overflow,
    ProcessSpec,
};
use serde::{Deserialize, Serialize};

use super::LeftBehind;
use super::begin::Begun;
use crate::config::Config;
use crate::error::{ErrorKind, ToolError};
use crate::tools::{CallContext, Progress};

/// How often we look for a wish to cancel and for news.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long output may still come after the tree is gone.
const OUTPUT_GRACE: Duration = Duration::from_secs(5);

/// Who ended the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum EndedBy {
    Itself,
    Timeout,
    Cancel,
    /// Nobody knows: the server that ran it is gone.
    Lost,
}

/// How a run ended.
#[derive(Debug, Clone)]
pub(crate) struct Ended {
    pub(crate) by: EndedBy,
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) elapsed: Duration,
    pub(crate) left_behind: Vec<LeftBehind>,
    pub(crate) output_truncated: bool,
}

pub(crate) async fn execute(
    config: &Config,
    begun: &Begun,
    context: &CallContext,
) -> Result<Ended, ToolError> {
    let output = OutputConfig { overflow: Overflow::Wait, ..OutputConfig::default() };
    let environment = ChildEnvironment::empty().set_all(begun.env.iter().cloned());
    let guard = Guard::Program(config.guard.clone());
    let spec = ProcessSpec::new(begun.argv.iter().cloned(), environment, guard)
        .cwd(&begun.place.record.path)
        .output(output);
    let clock = Instant::now();
    let process = ManagedProcess::spawn(spec).await.map_err(|error| {
        ToolError::new(ErrorKind::Io, format!("the run cannot be started: {error}"))
    })?;
    let most = config.limits.output_bytes;
    let stdout = tokio::spawn(keep(process.stdout().lines(), begun.folder.join("stdout"), most));
    let stderr = tokio::spawn(keep(process.stderr().lines(), begun.folder.join("stderr"), most));
    let deadline = Duration::from_secs(begun.limits.max_runtime_secs.value) + config.limits.grace;
    let by = watch(&process, begun, context, deadline).await;
    let report = match by {
        EndedBy::Itself => process.wait().await,
        _ => process
            .kill()
            .await
            .map_err(|error| ToolError::new(ErrorKind::Io, error.to_string()))?,
    };
    let elapsed = clock.elapsed();
    process.stdout().writer_ended();
    process.stderr().writer_ended();
    let both = async { (stdout.await.unwrap_or(true), stderr.await.unwrap_or(true)) };
    let (out_cut, err_cut) = tokio::time::timeout(OUTPUT_GRACE, both).await.unwrap_or((true, true));
    launch_error(&begun.folder)?;
    Ok(ended(by, report, elapsed, out_cut || err_cut))
}

fn ended(by: EndedBy, report: ExitReport, elapsed: Duration, output_truncated: bool) -> Ended {
    let (exit_code, signal) = match report.status {
        ExitStatus::Code(code) => (Some(code), None),
        ExitStatus::Signal(number) => (None, Some(number)),
        ExitStatus::NotStarted | ExitStatus::Lost => (None, None),
    };
    let left_behind = report.leaked.into_iter().map(LeftBehind::from).collect();
    Ended { by, exit_code, signal, elapsed, left_behind, output_truncated }
}

/// The launcher could not become the orchestrator.
fn launch_error(folder: &Path) -> Result<(), ToolError> {
    match crate::disk::read_json::<String>(&folder.join("launch-error.json"))? {
        None => Ok(()),
        Some(why) => {
            let error = ToolError::new(
                ErrorKind::MissingProgram,
                format!("the program cannot be run: {why}"),
            );
            // Nothing has run, so there is no run.
            let _ = std::fs::remove_dir_all(folder);
            Err(error.hint("check the orchestrator's command"))
        }
    }
}

/// Waits for the end, the deadline, or a wish to cancel (of the caller, or by the file).
async fn watch(
    process: &ManagedProcess,
    begun: &Begun,
    context: &CallContext,
    deadline: Duration,
) -> EndedBy {
    let wish = begun.place.file("cancel");
    let mut news = IterationProgress::new(begun, context);
    let over = tokio::time::sleep(deadline);
    tokio::pin!(over);
    let mut beat = tokio::time::interval(POLL_INTERVAL);
    loop {
        tokio::select! {
            biased;
            _ = process.wait() => {
                // A short run may begin and end between two beats.
                news.report_iteration();
                return EndedBy::Itself;
            }
            () = context.cancel.cancelled() => return EndedBy::Cancel,
            () = &mut over => return EndedBy::Timeout,
            _ = beat.tick() => {
                if wish.exists() {
                    return EndedBy::Cancel;
                }
                news.report_iteration();
            }
        }
    }
}

/// Tells progress from what the hooks have written so far.
struct IterationProgress<'a> {
    context: &'a CallContext,
    hooks: PathBuf,
    total: u64,
    reported: u64,
}

impl<'a> IterationProgress<'a> {
    fn new(begun: &Begun, context: &'a CallContext) -> Self {
        let hooks = begun.folder.join("hooks.jsonl");
        Self { context, hooks, total: begun.limits.max_iterations.value, reported: 0 }
    }

    fn report_iteration(&mut self) {
        let Some(progress) = &self.context.progress else { return };
        let text =
            proctor_files::read_text(&self.hooks, limits::PROGRAM_OUTPUT).unwrap_or_default();
        let mut iterations = text.lines().filter_map(|line| {
            let hook: serde_json::Value = serde_json::from_str(line).ok()?;
            let begun = hook["phase_event"] == "post.iteration.start";
            let hat = hook["context"]["selected_hat"].as_str().unwrap_or("no hat").to_owned();
            begun.then_some((hook["iteration"]["current"].as_u64()?, hat))
        });
        if let Some((n, hat)) = iterations.next_back().filter(|(n, _)| *n > self.reported) {
            self.reported = n;
            progress(Progress {
                done: n,
                total: Some(self.total),
                message: format!("iteration {n}: {hat}"),
            });
        }
    }
}

/// Writes a stream to a file up to a limit; says whether something was left out.
async fn keep(mut lines: Lines, path: PathBuf, most: u64) -> bool {
    let Ok(mut file) = proctor_files::create_private(&path) else { return true };
    let mut room = usize::try_from(most).unwrap_or(usize::MAX);
    let mut truncated = false;
    while let Some(line) = lines.next().await {
        let mut bytes = line.text.as_bytes().to_vec();
        if line.ended {
            bytes.push(b'\n');
        }
        if bytes.len() > room {
            bytes.truncate(room);
            truncated = true;
        }
        room -= bytes.len();
        truncated |= !bytes.is_empty() && file.write_all(&bytes).is_err();
    }
    truncated
}
