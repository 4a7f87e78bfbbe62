//! `proctor run --resolve-journal`: the run's own result decides what becomes of the active entry.

use std::path::Path;
use std::time::Instant;

use proctor_journal::capture::{Expectation, Run};
use proctor_journal::{Counts, UtcTime};
use proctor_runner::RunResult;
use proctor_verdict::RunState;

use super::capture::{Stated, conclude, ready};
use super::desk::{Desk, folder, now};
use super::git::{self, Checkout};
use crate::cli::Format;
use crate::cli::journal::{ResolveJournal, RunExpectation};
use crate::config::Config;
use crate::error::CommandError;
use crate::terminal::Terminal;

/// What was expected before the run began.
pub(crate) struct Resolving {
    desk: Desk,
    stated: Stated,
    checkout: Checkout,
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
        let desk = Desk::at(folder(root, config)?, arguments.lane.as_deref())?;
        let current = ready(&desk, stated.as_ref(), terminal)?;
        let own = current.entry.expectation.map(|own| own.expect.parse::<Expectation>());
        if let (None, Some(Ok(Expectation::Match(pattern)))) = (&stated, own) {
            return Err(CommandError::unusable(format_args!(
                "entry {} expects match:{pattern}, but a run is judged by its examples, not its output",
                current.entry.id
            ))
            .hint("say what to expect, as in `--resolve-journal=pass`; or `proctor journal run -- proctor run`"));
        }
        let checkout = git::checkout();
        Ok(Some(Self { desk, stated, checkout, started_at: now().now, clock: Instant::now() }))
    }

    /// Gives the result to the journal.
    pub(crate) fn finish(
        self,
        result: &RunResult,
        signal: Option<u8>,
        terminal: &mut Terminal,
    ) -> Result<(), CommandError> {
        let duration = self.clock.elapsed().as_millis();
        let run = Run {
            argv: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
            exit: result.verdict.exit_code().filter(|_| signal.is_none()).map(i32::from),
            signal: signal.map(i32::from),
            duration_ms: u64::try_from(duration).ok(),
            output: result.problem.as_ref().map(said).unwrap_or_default(),
            counts: Some(counts(result)),
            commit: self.checkout.commit,
            dirty: self.checkout.dirty,
            ..Run::default()
        };
        conclude(&self.desk, self.stated, &run, self.started_at, Format::Text, terminal)
    }
}

fn said(problem: &proctor_runner::Problem) -> String {
    format!("{}\n{}", problem.message, problem.output.join("\n"))
}

/// Examples in the journal's four kinds.
///
/// What stayed inconclusive is neither passed nor failed, and an error outside examples is no test: both are left to
/// the exit code to object to, which then decides nothing.
fn counts(result: &RunResult) -> Counts {
    if result.problem.is_some() || result.verdict.state() != RunState::Finished {
        return Counts::new(0, 0, 0, 0);
    }
    let counts = &result.counts;
    Counts::new(
        counts.passed,
        counts.failed,
        counts.errored + counts.crashed + counts.timed_out,
        counts.pending + counts.inconclusive + counts.missing(),
    )
}
