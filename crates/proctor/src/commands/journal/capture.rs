//! run: a command decides what becomes of the active entry.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use proctor_journal::capture::{CommandResult, Expectation};
use proctor_journal::report_files::{ReportFiles, WrittenReports};
use proctor_journal::{CaptureResult, Current, JournalError, Refusal, UtcTime};
use proctor_text::shorten;
use serde::Serialize;

use super::context::{JournalContext, now, print_warnings};
use super::entry_text::Changed;
use super::recorded_runs::RunList;
use super::values::expectation;
use super::{git, observed_command};
use crate::cli::Format;
use crate::error::CommandError;
use crate::secrets;
use crate::terminal::Terminal;
use crate::values;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor journal run --expect pass -- rspec spec/login_spec.rb
  proctor journal run --expect fail --junit report.xml -- pytest --junitxml report.xml
  proctor journal run --expect exit:3 -- ./migrate --dry-run
  proctor journal run --expect 'match:0 warnings' --timeout 5m -- make lint

The command's output passes through as it comes. Its exit code becomes ours; 128 + N if signal N ended or interrupted \
it, 124 if it took too long, 126 or 127 if it could not be started. 2 can also mean that the journal refused: \
before the run (no entry is active), or after a success that could not be written down. Compile errors, no tests, signals and timeouts decide nothing: the entry stays active, with the \
evidence attached. Without --expect the expectation stated by `create` or `update` counts.

pass and fail are decided by tests that a runner counted, and by nothing else; passes behind a pipe need `set -o \
pipefail`. For a command that runs no tests expect exit:N or match:RE.")]
pub(crate) struct CaptureArguments {
    /// What the command will do: pass, fail, exit:N or match:RE [default: as the entry says]
    #[arg(short, long, value_name = "EXPECT", value_parser = expectation)]
    pub(crate) expect: Option<Expectation>,

    /// A JUnit or JSON report that the command writes, or a folder of them; believed before the output
    #[arg(long, value_name = "PATH")]
    pub(crate) junit: Vec<PathBuf>,

    /// Stop the command when it takes longer (`500ms`, `30s`, `2m`)
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) timeout: Option<u64>,

    /// What to print about the journal, on standard error: the output belongs to the command
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,

    /// The command and its arguments, after `--`
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<std::ffi::OsString>,
}

/// What a run is expected to do, and when that was said; `None` is what the entry says.
pub(super) type Stated = Option<(Expectation, UtcTime)>;

pub(super) fn run(
    arguments: &CaptureArguments,
    context: &JournalContext,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let stated = arguments.expect.clone().map(|expectation| (expectation, now().now));
    ready(context, stated.as_ref(), terminal)?;
    let checkout = git::checkout();
    let reports = ReportFiles::before(&arguments.junit);
    let started_at = now().now;
    let runs = RunList::new();
    let limit = arguments.timeout.map(Duration::from_millis);
    let ended = observed_command::run(&arguments.command, runs.variable(), limit)?;
    if let (Some(126 | 127), 0) = (ended.exit, ended.duration_ms) {
        terminal.note(ended.output.trim_end());
    }
    let code = ended.code();
    let WrittenReports { contents, problems } = reports.written();
    for problem in problems {
        terminal.warn(&problem.to_string());
    }
    let mut run = CommandResult {
        argv: arguments
            .command
            .iter()
            .map(|word| without_secrets(&word.to_string_lossy()))
            .collect(),
        exit: ended.exit,
        signal: ended.signal,
        timed_out: ended.timed_out,
        duration_ms: Some(ended.duration_ms),
        output: without_secrets(&ended.output),
        output_is_cut: ended.output_is_cut,
        reports: contents,
        recorded: None,
        dirty: checkout.as_ref().map(|checkout| checkout.dirty),
        commit: checkout.and_then(|checkout| checkout.commit),
    };
    run.recorded = runs.result(&run);
    match conclude(context, stated, &run, started_at, arguments.format, terminal) {
        // What the command said about itself comes first; but a success that was not written down is none.
        Err(error) if code != 0 => terminal.report(&error),
        concluded => concluded?,
    }
    Ok(ExitCode::from(code))
}

/// What the journal keeps of a text.
fn without_secrets(text: &str) -> String {
    secrets::without(text).into_owned()
}

/// Refuses before anything runs what would be refused afterwards.
pub(super) fn ready(
    context: &JournalContext,
    stated: Option<&(Expectation, UtcTime)>,
    terminal: &mut Terminal,
) -> Result<Current, CommandError> {
    let operation = "resolve";
    let current = JournalContext::value_of(context.journal.current(&now()), terminal)?;
    let Some(current) = current else {
        return Err(JournalError::from(Refusal::NoActive { operation }).into());
    };
    let id = current.entry.id.clone();
    if current.orphan {
        let session_id = current.entry.session_id.clone();
        return Err(JournalError::from(Refusal::OrphanPending { operation, id, session_id }).into());
    }
    if stated.is_none() && current.entry.expectation.is_none() {
        return Err(CommandError::from(JournalError::NoExpectation { id }));
    }
    Ok(current)
}

#[derive(Serialize)]
struct Concluded<'a> {
    verdict: &'static str,
    reason: &'a str,
    #[serde(flatten)]
    changed: Changed<'a>,
    evidence: &'a proctor_journal::Evidence,
}

/// Gives the run to the journal and says on standard error what became of the entry.
pub(super) fn conclude(
    context: &JournalContext,
    stated: Stated,
    run: &CommandResult,
    started_at: UtcTime,
    format: Format,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let captured = context.journal.capture(stated, run, started_at, &now())?;
    print_warnings(&captured.warnings, terminal);
    let CaptureResult { entry, judgement } = &captured.value;
    let changed = Changed::new(entry, context.journal.lane_name(), &captured.warnings);
    if format == Format::Json {
        let concluded = Concluded {
            verdict: judgement.verdict.as_str(),
            reason: &judgement.reason,
            changed,
            evidence: &judgement.evidence,
        };
        let text = serde_json::to_string(&concluded).map_err(std::io::Error::from)?;
        terminal.note(&text);
        return Ok(());
    }
    let state = match changed.tier {
        Some(tier) => format!(", {tier}"),
        None => "; the entry stays active".to_owned(),
    };
    terminal.note(&format!(
        "journal: {} is {} ({}){state}",
        changed.id,
        judgement.verdict.as_str(),
        shorten(&judgement.reason, 200)
    ));
    if changed.needs_annotation {
        terminal.note(&format!(
            "journal: say why: `proctor journal annotate {} --surprise TEXT --root-cause WORD --because TEXT`",
            changed.id
        ));
    }
    Ok(())
}
