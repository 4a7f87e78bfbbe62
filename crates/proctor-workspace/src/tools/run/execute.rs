//! The middle of a run: started under guard, waited for, and killed when it must be.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use proctor_process::{
    ChildEnvironment, ExitReport, ExitStatus, Guard, Lines, ManagedProcess, OutputConfig, Overflow,
    ProcessSpec,
};
use proctor_redact::{Redactor, StreamRedactor};
use proctor_sandbox::LaunchReport;
use serde::{Deserialize, Serialize};

use super::LeftBehind;
use super::begin::Begun;
use super::folder::RunFolder;
use crate::config::Config;
use crate::confined;
use crate::error::{ErrorKind, ToolError};
use crate::mock;
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
    let stdout = tokio::spawn(keep(
        process.stdout().lines(),
        begun.folder.join("stdout"),
        most,
        config.redactor.clone(),
    ));
    let stderr = tokio::spawn(keep(
        process.stderr().lines(),
        begun.folder.join("stderr"),
        most,
        config.redactor.clone(),
    ));
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
    launch_error(begun, by)?;
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
fn launch_error(begun: &Begun, by: EndedBy) -> Result<(), ToolError> {
    let folder = &begun.folder;
    let report = folder.join(confined::REPORT);
    let unstarted = begun.confined && by == EndedBy::Itself && !report.exists();
    let unstarted = unstarted.then(|| {
        let said = RunFolder { number: begun.number, path: folder.clone() }.output("stderr");
        format!("its sandbox was not made: {}", said.trim())
    });
    let refused = LaunchReport::read(&report).unwrap_or_default().error;
    let failed = crate::disk::read_json::<String>(&folder.join("launch-error.json"))?;
    let Some(why) = refused.or(failed).or(unstarted) else { return Ok(()) };
    let message = format!("the program cannot be run: {why}");
    // Nothing has run, so there is no run.
    let _ = std::fs::remove_dir_all(folder);
    Err(ToolError::new(ErrorKind::MissingProgram, message).hint("check the orchestrator's command"))
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
    folder: PathBuf,
    total: u64,
    reported: u64,
}

impl<'a> IterationProgress<'a> {
    fn new(begun: &Begun, context: &'a CallContext) -> Self {
        let folder = begun.folder.clone();
        Self { context, folder, total: begun.limits.max_iterations.value, reported: 0 }
    }

    fn report_iteration(&mut self) {
        let Some(progress) = &self.context.progress else { return };
        let text = mock::read_notes(&self.folder, "hooks.jsonl").unwrap_or_default();
        let mut iterations = text.split(|byte| *byte == b'\n').filter_map(|line| {
            let hook: serde_json::Value = serde_json::from_slice(line).ok()?;
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

/// Writes a stream to a file up to a limit, without secrets; says whether something was left out.
async fn keep(mut lines: Lines, path: PathBuf, most: u64, redactor: Redactor) -> bool {
    let Ok(mut file) = proctor_files::create_private(&path) else { return true };
    let mut room = usize::try_from(most).unwrap_or(usize::MAX);
    let mut truncated = false;
    // A line above the bound comes in pieces, and a secret may stand on both sides of a cut.
    let mut redactor = StreamRedactor::new(redactor);
    let mut write = |mut bytes: Vec<u8>| {
        if bytes.len() > room {
            bytes.truncate(room);
            truncated = true;
        }
        room -= bytes.len();
        truncated |= !bytes.is_empty() && file.write_all(&bytes).is_err();
    };
    while let Some(line) = lines.next().await {
        let end = if line.ended { "\n" } else { "" };
        write(redactor.push_bytes(format!("{}{end}", line.text).as_bytes()));
    }
    write(redactor.finish_bytes());
    truncated
}
