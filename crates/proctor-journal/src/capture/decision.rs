//! What a run says about an expectation.
//!
//! `pass` and `fail` need counted tests of a runner that the command really started. That tests failed is believed
//! wherever it is counted; that they passed, only if the exit code of the runner itself says so too: behind a pipe a
//! summary may be the last of many, or that of a run that was stopped.

use proctor_text::{VisibleMatch, shorten};

use super::tally::{Source, TallyReading};
use super::{CapturedOutcome, CommandReading, CommandResult, Expectation, Tool, text};

/// Why a run does not show whether the tests passed.
struct Undecided {
    reason: String,
    /// Whether nothing was really run, so that another exit code or output says nothing either.
    is_not_run: bool,
}

impl Undecided {
    /// Something ran, but its tests are not known.
    fn uncounted(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_not_run: false }
    }

    /// What was to be observed never ran.
    fn not_run(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_not_run: true }
    }
}

pub(super) fn decide_outcome(
    expectation: &Expectation,
    run: &CommandResult,
    command: &CommandReading,
    reading: Option<&TallyReading>,
) -> (CapturedOutcome, String) {
    if run.timed_out {
        return (
            CapturedOutcome::Inconclusive,
            "the command was stopped for taking too long".to_owned(),
        );
    }
    if let Some(signal) = run.signal {
        return (
            CapturedOutcome::Inconclusive,
            format!("the command was ended by signal {signal}"),
        );
    }
    let tests = tests_passed(run, command, reading);
    match expectation {
        Expectation::Pass | Expectation::Fail => match tests {
            Ok((passed, what)) => {
                (CapturedOutcome::when(passed == (*expectation == Expectation::Pass)), what)
            }
            Err(obstacle) => (CapturedOutcome::Inconclusive, obstacle.reason),
        },
        Expectation::Exit(code) => decide_exit_code(*code, run, command, tests.err()),
        Expectation::Match(pattern) => decide_match(pattern, run, tests.err()),
    }
}

/// The signal behind an exit code of 128 + N, as shells report it.
fn signal_in(exit: i32) -> Option<i32> {
    (129..=192).contains(&exit).then(|| exit - 128)
}

/// A named exit code that is seen confirms, unless a file, target or script was missing; one that is not seen
/// falsifies only if the run was a real run.
fn decide_exit_code(
    code: i32,
    run: &CommandResult,
    command: &CommandReading,
    obstacle: Option<Undecided>,
) -> (CapturedOutcome, String) {
    let obstacle = obstacle.filter(|obstacle| obstacle.is_not_run);
    match (run.exit, obstacle) {
        (None, _) => (CapturedOutcome::Inconclusive, "the exit code is not known".to_owned()),
        (Some(seen), _) if seen == code => match missing_file(run, command) {
            Some(line) => (CapturedOutcome::Inconclusive, format!("exit code {seen}, but {line}")),
            None => (CapturedOutcome::Confirmed, format!("exit code {seen}")),
        },
        (Some(seen), Some(obstacle)) => {
            (CapturedOutcome::Inconclusive, format!("exit code {seen}: {}", obstacle.reason))
        }
        (Some(seen), None) => {
            (CapturedOutcome::Falsified, format!("exit code {seen} instead of {code}"))
        }
    }
}

fn decide_match(
    pattern: &regex::Regex,
    run: &CommandResult,
    obstacle: Option<Undecided>,
) -> (CapturedOutcome, String) {
    let output = text::plain(&run.output);
    // A hook reports outputs in which secrets are masked.
    let found = VisibleMatch::of(&output, pattern.find_iter(&output).map(|found| found.range()));
    match (found, obstacle.filter(|obstacle| obstacle.is_not_run)) {
        (VisibleMatch::Found(found), _) => {
            let seen = shorten(&output[found], 80);
            (CapturedOutcome::Confirmed, format!("the output has `{seen}`"))
        }
        (VisibleMatch::Unknown, _) => (
            CapturedOutcome::Inconclusive,
            "the output matches nowhere outside of [redacted], which stands for secrets".to_owned(),
        ),
        (VisibleMatch::Absent, Some(obstacle)) => (
            CapturedOutcome::Inconclusive,
            format!("the output does not match, but {}", obstacle.reason),
        ),
        (VisibleMatch::Absent, None) if run.output_is_cut => (
            CapturedOutcome::Inconclusive,
            "the end of the output does not match, and the rest was not kept".to_owned(),
        ),
        (VisibleMatch::Absent, None) => {
            (CapturedOutcome::Falsified, format!("nothing in the output matches `{pattern}`"))
        }
    }
}

/// What the output says is missing. A plain command may well speak of missing files; that is its result.
fn missing_file(run: &CommandResult, command: &CommandReading) -> Option<String> {
    let is_known = command.runs_no_tests() || run.exit == Some(0) || run.recorded.is_some();
    let line = text::missing(&run.output).filter(|_| !is_known)?;
    Some(format!("it was not run: {}", shorten(&line, 120)))
}

/// Whether the tests passed, in words; or what kept them from being a test.
fn tests_passed(
    run: &CommandResult,
    command: &CommandReading,
    reading: Option<&TallyReading>,
) -> Result<(bool, String), Undecided> {
    // The exit code of the tests themselves, where it is known.
    let exit = match &run.recorded {
        Some(recorded) => recorded.exit,
        None => run.exit,
    };
    if let Some(signal) = exit.and_then(signal_in) {
        return Err(Undecided::not_run(format!("the command was ended by signal {signal}")));
    }
    if let (Some(code @ (126 | 127)), None) = (exit, reading) {
        return Err(Undecided::not_run(format!("the command could not be run (exit code {code})")));
    }
    if command.runs_no_tests() && run.recorded.is_none() {
        return Err(Undecided::uncounted("the command ran no tests; expect `exit:N`"));
    }
    let Some(reading) = reading else { return Err(uncounted(run, command)) };
    counted(run, command, reading, exit)
}

fn counted(
    run: &CommandResult,
    command: &CommandReading,
    reading: &TallyReading,
    exit: Option<i32>,
) -> Result<(bool, String), Undecided> {
    let tally = &reading.tally;
    let numbers = tally.to_string();
    let exit_speaks = run.recorded.is_some() || command.exit_code_covers_all();
    if tally.bad() > 0 {
        return match exit {
            Some(0) if exit_speaks => Err(Undecided::uncounted(format!(
                "{numbers}, but the exit code is 0: the two contradict each other"
            ))),
            _ => Ok((false, numbers)),
        };
    }
    let broken = exit != Some(0) && text::has_compile_error(&run.output);
    if tally.unloadable > 0 || broken {
        let reason = format!("not everything could be compiled or loaded ({numbers})");
        return Err(Undecided::not_run(reason));
    }
    if run.recorded.as_ref().is_some_and(|recorded| !recorded.finished) {
        return Err(Undecided::not_run(format!("the run did not finish ({numbers})")));
    }
    if tally.passed == 0 {
        let reason =
            missing_file(run, command).unwrap_or_else(|| format!("no tests ran ({numbers})"));
        return Err(Undecided::not_run(reason));
    }
    if let Some(runner) = runner_without_counts(run, command, reading) {
        return Err(Undecided::uncounted(format!("{numbers}, but {runner} counted no tests")));
    }
    match exit {
        Some(0) if exit_speaks => Ok((true, numbers)),
        Some(0) => Err(Undecided::uncounted(format!(
            "{numbers}, but the exit code is not that of the tests: run them last and without a pipe, or with `set -o pipefail`"
        ))),
        None => Err(Undecided::uncounted(format!("{numbers}, but the exit code is not known"))),
        Some(code) => Err(Undecided::uncounted(format!(
            "{numbers}, but the exit code is {code}: the two contradict each other"
        ))),
    }
}

/// A runner that the command starts and whose numbers are not there. A report speaks for one of them.
fn runner_without_counts(
    run: &CommandResult,
    command: &CommandReading,
    reading: &TallyReading,
) -> Option<&'static str> {
    let is_counted = |name: &&'static str| {
        let printed = text::read(&run.output, Tool::of_runner(name));
        printed.is_some_and(|printed| printed.tally.passed > 0)
    };
    let mut uncounted: Vec<&'static str> =
        command.runners().filter(|name| !is_counted(name)).collect();
    uncounted.dedup();
    match reading.source {
        Source::Recording => None,
        Source::Text(_) => uncounted.first().copied(),
        Source::Junit | Source::Json(_) => uncounted.get(1).copied(),
    }
}

/// The same for `pass` and `fail`: a runner without counts is no evidence.
fn uncounted(run: &CommandResult, command: &CommandReading) -> Undecided {
    if let Some(line) = missing_file(run, command) {
        return Undecided::not_run(line);
    }
    if text::has_no_tests(&run.output) {
        return Undecided::not_run("no tests ran");
    }
    let Some(code) = run.exit else { return Undecided::uncounted("the exit code is not known") };
    if code != 0 && text::has_compile_error(&run.output) {
        let reason = format!("the tests could not be compiled or loaded (exit code {code})");
        return Undecided::not_run(reason);
    }
    Undecided::uncounted(match (command.runners().next(), command.unknown()) {
        (Some(runner), _) => format!("{runner} ended with exit code {code} and counted no tests"),
        (None, unknown) => format!(
            "`{}` ended with exit code {code}; whether it ran tests is not known",
            shorten(&unknown.unwrap_or_default(), 80)
        ),
    })
}
