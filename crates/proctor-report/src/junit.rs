//! A run as `JUnit` XML, for the many programs that read it.
//!
//! A suite per file; a case per example with the verdict of the example, whatever the number of its attempts. Other attempts that did not
//! pass are reruns of it, and how many repetitions passed is a property. What broke is an `error`, what did not hold is a `failure`.
//! An example that did not run is `skipped`; a run that fails without a failing case (stopped, died, not everything ran) has an error of
//! its own, so that no reader takes it for a good one. Errors outside examples are cases too: a
//! reader that knows only cases must not take a run that failed to load for a good one.

mod dialect;
mod document;

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::time::Duration;

use chrono::{DateTime, FixedOffset};
use proctor_events::{Exception, Millis, OutputStream, Status, Timestamp};
use proctor_record::{Attempt, Evaluation, Example, ExampleSource, OutsideError, RunData};
use proctor_text::{pluralize, shorten};
use proctor_verdict::{Counts, Outcome, RunState, worst_first};
use quick_junit::{
    NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestRerun, TestSuite, XmlString,
};

pub use dialect::JunitDialect;

use self::dialect::Translation;
use crate::backtrace::filtered;
use crate::failure::{file_and_line, message_of, outside_message, rspec_text, status_words};
use crate::pieces::TextPieces;

/// The longest text in an attribute.
const ATTRIBUTE_LIMIT: usize = 300;

/// The run as one `JUnit` document of a dialect.
pub fn junit_dialect(run: &RunData, suite_name: &str, dialect: JunitDialect) -> String {
    let mut text = String::new();
    // A run in memory can be read, and a string takes everything.
    let _ = write_junit(run, &run.summary(), suite_name, dialect, &mut |piece| {
        text.push_str(piece);
        Ok(())
    });
    text
}

/// The run as one `JUnit` document.
pub fn junit(run: &RunData, suite_name: &str) -> String {
    junit_dialect(run, suite_name, JunitDialect::Default)
}

/// Writes a run with these counts as one `JUnit` document, in pieces that are cut between cases.
///
/// Every example is visited twice: what is counted stands before what is told.
pub fn write_junit(
    source: &dyn ExampleSource,
    counts: &Counts,
    suite_name: &str,
    dialect: JunitDialect,
    write: &mut dyn FnMut(&str) -> io::Result<()>,
) -> io::Result<()> {
    let run = source.run();
    let suites = FileSuite::all(source, suite_name)?;
    let mut translation = Translation::new(dialect);
    let mut pieces = TextPieces::new(write);
    let mut add = |text: &str| pieces.add(&translation.translate(text));
    add(&document::before_suites(&report(run, counts, suite_name, &suites)))?;
    for FileSuite { suite, places } in &suites {
        add(&document::suite_start(suite))?;
        for place in places {
            let mut text = None;
            source.with_example(*place, &mut |it| text = case(it, run).map(document::case))?;
            text.as_deref().map_or(Ok(()), &mut add)?;
        }
        add(document::suite_end(suite))?;
    }
    add(document::END)?;
    pieces.finish()
}

/// The report with the errors outside examples; of all other suites it has only the counts.
fn report(run: &RunData, counts: &Counts, name: &str, suites: &[FileSuite]) -> Report {
    let mut report = Report::new(attribute(name));
    report.timestamp = run.started_at.and_then(moment);
    report.time = run.duration_ms.map(time);
    let run_case = run_case(run, counts);
    let outside: Vec<TestCase> = run.errors.iter().map(outside_case).chain(run_case).collect();
    if !outside.is_empty() {
        let mut suite = TestSuite::new("errors outside examples");
        suite.add_test_cases(outside);
        report.add_test_suite(suite);
    }
    let own = report.test_suites.len();
    report.add_test_suites(suites.iter().map(|it| it.suite.clone()));
    report.test_suites.truncate(own);
    report
}

/// The examples of one file. A suite starts with its first case and takes as long as all of them.
struct FileSuite {
    /// With counts and times, but without cases.
    suite: TestSuite,
    /// The places of its examples.
    places: Vec<usize>,
}

impl FileSuite {
    fn all(source: &dyn ExampleSource, fallback: &str) -> io::Result<Vec<Self>> {
        let (run, mut place) = (source.run(), 0);
        let mut suites: Vec<Self> = Vec::new();
        let mut numbers: HashMap<String, usize> = HashMap::new();
        source.for_each_example(&mut |example| {
            let file = file_and_line(example).0.unwrap_or(fallback);
            let number = numbers.get(file).copied().unwrap_or_else(|| {
                numbers.insert(file.to_owned(), suites.len());
                suites.push(Self::new(file));
                suites.len() - 1
            });
            suites[number].count(example, place, run);
            place += 1;
        })?;
        Ok(suites)
    }

    fn new(file: &str) -> Self {
        let mut suite = TestSuite::new(attribute(file));
        suite.time = Some(Duration::ZERO);
        Self { suite, places: Vec::new() }
    }

    fn count(&mut self, example: &Example, place: usize, run: &RunData) {
        let result = kind_of_example(example, run);
        let Some(attempt) = shown(example, result) else { return };
        self.suite.add_test_case(TestCase::new("", result.status()));
        self.suite.test_cases.clear();
        let started = attempt.started_at.and_then(moment);
        self.suite.timestamp = self.suite.timestamp.into_iter().chain(started).min();
        let taken = attempt.duration_ms.map(time).unwrap_or_default();
        self.suite.time = self.suite.time.map(|time| time.saturating_add(taken));
        self.places.push(place);
    }
}

/// The attempt to show for a verdict: for a bad one the one that tells most, else one that passed.
fn shown(example: &Example, verdict: CaseResult) -> Option<&Attempt> {
    let mut attempts = example.deciding_attempts();
    let rank = |attempt: &Attempt| worst_first(attempt.status.as_ref(), attempt.fault.as_ref());
    attempts.sort_by_key(|attempt| rank(attempt));
    let passed = |attempt: &&&Attempt| attempt.status == Some(Status::Passed);
    let skipped = |attempt: &&&Attempt| kind_of_attempt(attempt) == CaseResult::Skipped;
    let found = match verdict {
        CaseResult::Bad(_) => attempts.first(),
        CaseResult::Passed => attempts.iter().find(passed),
        CaseResult::Skipped => attempts.iter().find(skipped),
    };
    found.or(attempts.first()).copied()
}

fn case(example: &Example, run: &RunData) -> Option<TestCase> {
    let verdict = kind_of_example(example, run);
    let attempt = shown(example, verdict)?;
    let name = shorten(&example.title(), ATTRIBUTE_LIMIT);
    let mut case = TestCase::new(attribute(&name), status(example, attempt, verdict, run));
    let (file, line) = file_and_line(example);
    if let Some(file) = file {
        case.set_classname(attribute(&dotted(file)));
        case.extra.insert("file".into(), attribute(file));
    }
    if let Some(line) = line {
        case.extra.insert("line".into(), line.to_string().into());
    }
    case.timestamp = attempt.started_at.and_then(moment);
    case.time = attempt.duration_ms.map(time);
    case.system_out = output(attempt, &OutputStream::Stdout);
    case.system_err = output(attempt, &OutputStream::Stderr);
    case.add_properties(properties(example, attempt, run));
    Some(case)
}

fn outside_case(error: &OutsideError) -> TestCase {
    let phase = error.phase.as_deref().unwrap_or("outside examples").replace('_', " ");
    let place = error.place.as_deref().map(|place| format!(" {place}"));
    let message = outside_message(error);
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_message(attribute(&message));
    status.set_type("error outside examples");
    status.set_description(text(&in_full(error.exception.as_ref(), message)));
    TestCase::new(attribute(&format!("{phase}{}", place.unwrap_or_default())), status)
}

/// What is wrong with a run that no example and no error tells of.
fn run_case(run: &RunData, counts: &Counts) -> Option<TestCase> {
    let verdict = run.verdict();
    let has_failing_case =
        counts.failures + counts.errors > 0 && verdict.state() == RunState::Finished;
    if !verdict.is_over()
        || verdict.is_passed()
        || has_failing_case
        || (counts.errors > 0 && counts.examples == 0)
    {
        return None;
    }
    let message = match (verdict.state(), verdict.stopped_by()) {
        (RunState::Stopped, Some(cause)) => format!("the run was stopped by {cause}"),
        (RunState::Stopped, None) => "the run was stopped".to_owned(),
        (RunState::Finished, _) => {
            format!("{} did not run", pluralize(counts.missing(), "example"))
        }
        _ => format!("the run {}", verdict.phrase()),
    };
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_message(attribute(&message));
    status.set_type(verdict.state().word());
    Some(TestCase::new("the run", status))
}

fn status(
    example: &Example,
    attempt: &Attempt,
    verdict: CaseResult,
    run: &RunData,
) -> TestCaseStatus {
    let mut status = verdict.status();
    let status = match verdict {
        CaseResult::Passed => status,
        CaseResult::Skipped => {
            let reason = attempt.message.clone().unwrap_or_else(|| status_words(attempt));
            status.set_message(attribute(&reason));
            return status;
        }
        CaseResult::Bad(_) => {
            let own = example.verdict(run.over);
            if let Some(refusal) = own.refusal(run.policy) {
                status.set_type(if own.is_unchecked() { "unchecked" } else { own.word() });
                status.set_message(attribute(&refusal));
                status.set_description(text(&refusal));
                return with_reruns(status, example, attempt);
            }
            status.set_message(attribute(&message_of(attempt)));
            status.set_type(attribute(kind_of(attempt)));
            status
                .set_description(text(&in_full(attempt.exception.as_deref(), message_of(attempt))));
            status
        }
    };
    with_reruns(status, example, attempt)
}

/// The same with the other attempts that did not pass.
fn with_reruns(mut status: TestCaseStatus, example: &Example, attempt: &Attempt) -> TestCaseStatus {
    let others = example
        .attempts
        .iter()
        .filter(|other| (other.repeat, other.attempt) != (attempt.repeat, attempt.attempt));
    status.add_reruns(others.filter_map(rerun));
    status
}

/// The results that the format can express.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CaseResult {
    Passed,
    Skipped,
    Bad(NonSuccessKind),
}

impl CaseResult {
    /// The status without reasons.
    fn status(self) -> TestCaseStatus {
        match self {
            Self::Passed => TestCaseStatus::success(),
            Self::Skipped => TestCaseStatus::skipped(),
            Self::Bad(kind) => TestCaseStatus::non_success(kind),
        }
    }
}

fn kind_of_example(example: &Example, run: &RunData) -> CaseResult {
    let verdict = example.verdict(run.over);
    match verdict.outcome() {
        Outcome::Failed => CaseResult::Bad(NonSuccessKind::Failure),
        _ if verdict.is_failure(run.policy) && verdict.is_passed() => {
            CaseResult::Bad(NonSuccessKind::Failure)
        }
        _ if verdict.is_failure(run.policy) => CaseResult::Bad(NonSuccessKind::Error),
        _ if verdict.is_passed() => CaseResult::Passed,
        _ => CaseResult::Skipped,
    }
}

/// The same for a single attempt, which decides nothing here.
fn kind_of_attempt(attempt: &Attempt) -> CaseResult {
    match &attempt.status {
        Some(Status::Passed) => CaseResult::Passed,
        Some(Status::Pending | Status::NotRun | Status::Cancelled) => CaseResult::Skipped,
        Some(Status::Failed) => CaseResult::Bad(NonSuccessKind::Failure),
        _ => CaseResult::Bad(NonSuccessKind::Error),
    }
}

fn rerun(attempt: &Attempt) -> Option<TestRerun> {
    let CaseResult::Bad(kind) = kind_of_attempt(attempt) else { return None };
    let mut rerun = TestRerun::new(kind);
    rerun.timestamp = attempt.started_at.and_then(moment);
    rerun.time = attempt.duration_ms.map(time);
    rerun.set_message(attribute(&message_of(attempt)));
    rerun.set_type(attribute(kind_of(attempt)));
    rerun.set_description(text(&in_full(attempt.exception.as_deref(), message_of(attempt))));
    rerun.system_out = output(attempt, &OutputStream::Stdout);
    rerun.system_err = output(attempt, &OutputStream::Stderr);
    Some(rerun)
}

/// The error's class, or the word for how it ended.
fn kind_of(attempt: &Attempt) -> &str {
    let class = attempt.exception.as_ref().and_then(|exception| exception.class.as_deref());
    class.unwrap_or_else(|| attempt.status.as_ref().map_or("unfinished", Status::as_str))
}

/// The failure in full: `RSpec`'s own text where there is one.
fn in_full(exception: Option<&Exception>, message: String) -> String {
    let Some(exception) = exception else { return message };
    rspec_text(exception).unwrap_or_else(|| {
        let backtrace = filtered(&exception.backtrace, false);
        let backtrace = backtrace.iter().map(|line| format!("# {line}"));
        std::iter::once(message).chain(backtrace).collect::<Vec<_>>().join("\n")
    })
}

fn properties(example: &Example, attempt: &Attempt, run: &RunData) -> Vec<Property> {
    let verdict = example.verdict(run.over);
    let mut all = Vec::new();
    all.extend(example.id.as_ref().map(|id| property("example_id", id.as_str())));
    all.extend(attempt.fault.as_ref().map(|fault| property("fault", fault.as_str())));
    all.push(property("verdict", verdict.word()));
    all.extend(verdict.is_unchecked().then(|| property("unchecked", "true")));
    if example.attempts.iter().any(|attempt| attempt.repeat > 1) {
        let rate = verdict.rate();
        all.push(property("repetitions.valid", &rate.valid.to_string()));
        all.push(property("repetitions.passed", &rate.passed.to_string()));
    }
    all.extend(attempt.evaluations.iter().map(evaluation_property));
    all
}

/// `evaluation.NAME` with its score, or else its verdict.
fn evaluation_property(evaluation: &Evaluation) -> Property {
    let label = evaluation.name.as_ref().or(evaluation.description.as_ref());
    let label = label.or(evaluation.kind.as_ref()).map_or("check", String::as_str);
    let value = match (evaluation.score, evaluation.passed) {
        (Some(score), _) => score.to_string(),
        (None, Some(true)) => "passed".to_owned(),
        (None, Some(false)) => "failed".to_owned(),
        (None, None) => "no verdict".to_owned(),
    };
    property(&format!("evaluation.{label}"), &value)
}

fn property(name: &str, value: &str) -> Property {
    Property::new(attribute(name), attribute(value))
}

fn output(attempt: &Attempt, stream: &OutputStream) -> Option<XmlString> {
    let printed = attempt.output.iter().filter(|line| line.stream == *stream);
    let mut lines: Vec<&str> = printed.map(|line| line.line.as_str()).collect();
    if attempt.output.is_empty() && *stream == OutputStream::Stdout {
        lines = attempt.output_tail.iter().map(String::as_str).collect();
    }
    (!lines.is_empty()).then(|| text(&lines.join("\n")))
}

/// `./spec/models/cart_spec.rb` as `spec.models.cart_spec`, the way classes are named elsewhere.
fn dotted(file: &str) -> String {
    let file = file.strip_prefix("./").unwrap_or(file).trim_start_matches('/');
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    stem.replace('/', ".")
}

fn moment(time: Timestamp) -> Option<DateTime<FixedOffset>> {
    DateTime::from_timestamp_millis(time.as_millisecond()).map(|time| time.fixed_offset())
}

fn time(taken: Millis) -> Duration {
    Duration::try_from_secs_f64(taken.seconds()).unwrap_or(Duration::MAX)
}

/// One line, since readers turn line feeds in attributes into spaces anyway.
fn attribute(value: &str) -> XmlString {
    text(&shorten(value, ATTRIBUTE_LIMIT))
}

/// Text that XML 1.0 may hold. `XmlString` takes out control characters and colours; two code points
/// that are valid in Rust and not in XML are left to us.
fn text(value: &str) -> XmlString {
    let fit = if value.contains(['\u{fffe}', '\u{ffff}']) {
        Cow::Owned(value.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}"))
    } else {
        Cow::Borrowed(value)
    };
    XmlString::new(fit)
}

#[cfg(test)]
mod tests;
