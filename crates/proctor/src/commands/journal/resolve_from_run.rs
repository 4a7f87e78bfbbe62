//! `proctor run --resolve-journal`: the run's own result decides what becomes of the active entry.

use std::path::Path;
use std::time::Instant;

use clap::Args;
use proctor_journal::UtcTime;
use proctor_journal::capture::{CommandResult, Expectation, RecordedResult};
use proctor_process::git::Checkout;
use proctor_runner::RunResult;

use super::capture::{Stated, conclude, ready};
use super::context::{JournalContext, folder, now};
use super::git;
use super::values::expectation;
use crate::cli::Format;
use crate::config::Config;
use crate::error::CommandError;
use crate::terminal::Terminal;

/// What `proctor run` does for the journal.
#[derive(Debug, Clone, Args)]
pub(crate) struct ResolveJournal {
    /// Resolve the journal's active entry from this run: pass, fail or exit:N [default: as the entry says]
    #[arg(long, value_name = "EXPECT", num_args = 0..=1, require_equals = true)]
    #[arg(value_parser = run_expectation, default_missing_value = "")]
    pub(crate) resolve_journal: Option<RunExpectation>,

    /// The lane of the journal
    #[arg(long, value_name = "NAME", requires = "resolve_journal", hide_short_help = true)]
    pub(crate) lane: Option<String>,
}

/// What is expected of a run of our own; `None` is what the entry says.
#[derive(Debug, Clone)]
pub(crate) struct RunExpectation(pub(crate) Option<Expectation>);

fn run_expectation(text: &str) -> Result<RunExpectation, String> {
    if text.is_empty() {
        return Ok(RunExpectation(None));
    }
    match expectation(text)? {
        Expectation::Match(_) => {
            Err("a run is judged by its examples, not its output; use pass, fail or exit:N, \
             or `proctor journal run --expect match:RE -- proctor run`"
                .to_owned())
        }
        other => Ok(RunExpectation(Some(other))),
    }
}

/// What was expected before the run began.
pub(crate) struct Resolving {
    context: JournalContext,
    stated: Stated,
    checkout: Option<Checkout>,
    started_at: UtcTime,
    clock: Instant,
}

impl Resolving {
    /// Looks at the journal before the run, if the run is to resolve its entry.
    pub(crate) fn prepare(
        arguments: &ResolveJournal,
        root: &Path,
        config: &Config,
        terminal: &mut Terminal,
    ) -> Result<Option<Self>, CommandError> {
        let Some(RunExpectation(expectation)) = &arguments.resolve_journal else { return Ok(None) };
        let stated = expectation.clone().map(|expectation| (expectation, now().now));
        let context = JournalContext::at(folder(root, config)?, arguments.lane.as_deref())?;
        let current = ready(&context, stated.as_ref(), terminal)?;
        let own = current.entry.expectation.map(|own| own.expect.parse::<Expectation>());
        if let (None, Some(Ok(Expectation::Match(pattern)))) = (&stated, own) {
            return Err(CommandError::refused(format_args!(
                "entry {} expects match:{pattern}, but a run is judged by its examples, not its output",
                current.entry.id
            ))
            .hint("say what to expect, as in `--resolve-journal=pass`; or `proctor journal run -- proctor run`"));
        }
        let checkout = git::checkout();
        Ok(Some(Self { context, stated, checkout, started_at: now().now, clock: Instant::now() }))
    }

    /// Gives the result to the journal.
    pub(crate) fn finish(
        self,
        result: &RunResult,
        signal: Option<u8>,
        terminal: &mut Terminal,
    ) -> Result<(), CommandError> {
        let duration = self.clock.elapsed().as_millis();
        let run = CommandResult {
            argv: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
            exit: result.verdict.exit_code().filter(|_| signal.is_none()).map(i32::from),
            signal: signal.map(i32::from),
            duration_ms: u64::try_from(duration).ok(),
            output: result.problem.as_ref().map(problem_text).unwrap_or_default(),
            recorded: Some(recorded(result)),
            dirty: self.checkout.as_ref().map(|checkout| checkout.dirty),
            commit: self.checkout.and_then(|checkout| checkout.commit),
            ..CommandResult::default()
        };
        conclude(&self.context, self.stated, &run, self.started_at, Format::Text, terminal)
    }
}

fn problem_text(problem: &proctor_runner::Problem) -> String {
    format!("{}\n{}", problem.message, problem.output.join("\n"))
}

/// What the run says of itself; one that did not load has not finished.
fn recorded(result: &RunResult) -> RecordedResult {
    let told = super::recorded_runs::result(&result.verdict, &result.counts);
    RecordedResult { finished: told.finished && result.problem.is_none(), ..told }
}
