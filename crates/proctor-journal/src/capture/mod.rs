//! Auto-capture: from an expectation and what a command really did to an outcome.
//!
//! Pure. What was expected is said by the author in so many words and never guessed from the
//! prediction's text. Whatever kept the tests from being a test (a signal, a time-out, a compile
//! error, no tests) leaves the question open: such a run is inconclusive, never a falsification.

mod command_line;
mod expectation;
mod json;
mod junit;
mod tally;
mod text;
mod tool;

pub use command_line::CommandReading;
pub use expectation::{BadExpectation, Expectation};
pub use tally::{Source, Tally, TallyReading, read_tally};
pub use tool::Tool;

use crate::entry::{Counts, Evidence};
use crate::model::OutcomeStatus;
use crate::record::Extra;
use crate::request::Resolution;
use crate::text::tail;
use crate::time::UtcTime;

/// How much of the end of the output is kept as evidence, in bytes.
pub const TAIL: usize = 4_000;

/// What a command did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// The command.
    pub argv: Vec<String>,
    /// Its exit code, where it is known.
    pub exit: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether it was stopped for taking too long.
    pub timed_out: bool,
    /// How long it ran.
    pub duration_ms: Option<u64>,
    /// Standard output and error, or the end of them.
    pub output: String,
    /// Whether `output` is only the end.
    pub output_is_cut: bool,
    /// Reports the command wrote, each a `JUnit` or JSON file's content.
    pub reports: Vec<String>,
    /// Numbers the caller knows for certain, as from a run's own events.
    pub counts: Option<Counts>,
    /// The commit that was checked out.
    pub commit: Option<String>,
    /// Whether there were uncommitted changes.
    pub dirty: Option<bool>,
}

/// What a run says about an expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It came as expected.
    Confirmed,
    /// It did not.
    Falsified,
    /// The run does not tell.
    Inconclusive,
}

impl Verdict {
    /// The word used in evidence.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Falsified => "falsified",
            Self::Inconclusive => "inconclusive",
        }
    }

    const fn when(as_expected: bool) -> Self {
        if as_expected { Self::Confirmed } else { Self::Falsified }
    }
}

/// A verdict with its reason and the evidence for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Why, in one sentence.
    pub reason: String,
    /// What to store.
    pub evidence: Evidence,
    /// Whether an outcome counts as captured automatically (the gold tier): only if the
    /// expectation was stated before the run.
    pub auto_captured: bool,
}

impl Judgement {
    /// The resolution this amounts to; `None` leaves the entry active.
    pub fn resolution(&self) -> Option<Resolution> {
        let status = match self.verdict {
            Verdict::Confirmed => OutcomeStatus::Confirmed,
            Verdict::Falsified => OutcomeStatus::Falsified,
            Verdict::Inconclusive => return None,
        };
        Some(Resolution {
            auto_captured: self.auto_captured,
            evidence: Some(self.evidence.clone()),
            ..Resolution::new(status, self.reason.clone())
        })
    }
}

/// Judges a run by an expectation.
pub fn judge(expectation: &Expectation, predates_run: bool, run: &Run, now: UtcTime) -> Judgement {
    let reading = read_tally(run);
    let (verdict, reason) = weigh(expectation, run, reading.as_ref());
    let evidence = Evidence {
        expectation: Some(expectation.to_string()),
        predates_run: Some(predates_run),
        verdict: Some(verdict.as_str().to_owned()),
        reason: Some(reason.clone()),
        ..evidence(run, reading.as_ref(), now)
    };
    Judgement { verdict, reason, evidence, auto_captured: predates_run }
}

/// What a run did, without a judgement.
pub fn observe(run: &Run, now: UtcTime) -> Evidence {
    evidence(run, read_tally(run).as_ref(), now)
}

fn evidence(run: &Run, reading: Option<&TallyReading>, now: UtcTime) -> Evidence {
    let kept = tail(&run.output, TAIL);
    Evidence {
        captured_at: now,
        // A command given to a shell can be a whole script.
        argv: run.argv.iter().map(|word| word.chars().take(crate::text::LIMIT).collect()).collect(),
        exit: run.exit.map(i64::from),
        signal: run.signal.map(i64::from),
        timed_out: run.timed_out.then_some(true),
        duration_ms: run.duration_ms,
        counts: reading.map(|reading| reading.tally.counts()),
        counts_from: reading.map(|reading| reading.source.to_string()),
        expectation: None,
        predates_run: None,
        verdict: None,
        reason: None,
        output_tail: (!kept.is_empty()).then(|| kept.to_owned()),
        commit: run.commit.clone(),
        dirty: run.dirty,
        extra: Extra::default(),
    }
}

fn weigh(
    expectation: &Expectation,
    run: &Run,
    reading: Option<&TallyReading>,
) -> (Verdict, String) {
    if run.timed_out {
        return (Verdict::Inconclusive, "the command was stopped for taking too long".to_owned());
    }
    if let Some(signal) = run.signal {
        return (Verdict::Inconclusive, format!("the command was ended by signal {signal}"));
    }
    let tests = tests_result(run, reading);
    match expectation {
        Expectation::Pass | Expectation::Fail => match tests {
            Ok((passed, what)) => {
                (Verdict::when(passed == (*expectation == Expectation::Pass)), what)
            }
            Err(obstacle) => (Verdict::Inconclusive, obstacle),
        },
        Expectation::Exit(code) => weigh_exit(*code, run, tests.err()),
        Expectation::Match(pattern) => weigh_match(pattern, run, tests.err()),
    }
}

/// A named exit code that is seen confirms whatever else happened; one that is not seen falsifies
/// only if the run was a real run.
fn weigh_exit(code: i32, run: &Run, obstacle: Option<String>) -> (Verdict, String) {
    match (run.exit, obstacle) {
        (None, _) => (Verdict::Inconclusive, "the exit code is not known".to_owned()),
        (Some(seen), _) if seen == code => (Verdict::Confirmed, format!("exit code {seen}")),
        (Some(seen), Some(obstacle)) => {
            (Verdict::Inconclusive, format!("exit code {seen}: {obstacle}"))
        }
        (Some(seen), None) => (Verdict::Falsified, format!("exit code {seen} instead of {code}")),
    }
}

fn weigh_match(pattern: &regex::Regex, run: &Run, obstacle: Option<String>) -> (Verdict, String) {
    let output = text::plain(&run.output);
    match (pattern.find(&output), obstacle) {
        (Some(found), _) => {
            let seen = crate::text::brief(found.as_str(), 80);
            (Verdict::Confirmed, format!("the output has `{seen}`"))
        }
        (None, Some(obstacle)) => {
            (Verdict::Inconclusive, format!("the output does not match, but {obstacle}"))
        }
        (None, None) if run.output_is_cut => (
            Verdict::Inconclusive,
            "the end of the output does not match, the rest is lost".to_owned(),
        ),
        (None, None) => (Verdict::Falsified, format!("nothing in the output matches `{pattern}`")),
    }
}

/// Whether the tests passed, in words; or what kept them from being a test.
fn tests_result(run: &Run, reading: Option<&TallyReading>) -> Result<(bool, String), String> {
    let Some(TallyReading { tally, .. }) = reading else { return bare_result(run) };
    let numbers = tally.to_string();
    if tally.bad() > 0 {
        return match run.exit {
            Some(0) => Err(format!("{numbers}, yet exit code 0: which is right is not known")),
            _ => Ok((false, numbers)),
        };
    }
    if tally.unloadable > 0 || (run.exit != Some(0) && text::has_compile_error(&run.output)) {
        return Err(format!("not everything could be compiled or loaded ({numbers})"));
    }
    if tally.passed == 0 {
        return Err(format!("no tests ran ({numbers})"));
    }
    match run.exit {
        Some(0) | None => Ok((true, numbers)),
        Some(code) => Err(format!("{numbers}, yet exit code {code}: which is right is not known")),
    }
}

/// The result of a command that printed no numbers of tests.
fn bare_result(run: &Run) -> Result<(bool, String), String> {
    let code = run.exit.ok_or_else(|| "the exit code is not known".to_owned())?;
    let reading = CommandReading::of_words(&run.argv);
    match (code, reading) {
        (126 | 127, _) => Err(format!("the command could not be run (exit code {code})")),
        (129.., _) => Err(format!("the command was ended by signal {}", code - 128)),
        _ if text::has_no_tests(&run.output) => Err("no tests ran".to_owned()),
        (1.., _) if text::has_compile_error(&run.output) => {
            Err(format!("it could not be compiled or loaded (exit code {code})"))
        }
        // Both ways alike: a runner that counts nothing has shown nothing.
        (_, CommandReading::Tests(runner)) => {
            Err(format!("{runner} ended with exit code {code} and counted no tests"))
        }
        (_, CommandReading::Unknown(what)) => Err(format!(
            "`{}` ended with exit code {code}; whether it ran tests is not known",
            crate::text::brief(&what, 80)
        )),
        (0, CommandReading::NoTests) => Ok((true, "exit code 0".to_owned())),
        (_, CommandReading::NoTests) => Ok((false, format!("exit code {code}"))),
    }
}
