//! A run as `JUnit` XML, for the many programs that read it.
//!
//! A suite per file; a case per example, whatever the number of its attempts. With repetitions the case passes where all of them do;
//! every other attempt that did not pass is a rerun of it, and how many passed is a property. What
//! broke is an `error`, what did not hold is a `failure`. Errors outside examples are cases too: a
//! reader that knows only cases must not take a run that failed to load for a good one.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Duration;

use chrono::{DateTime, FixedOffset};
use proctor_events::{Exception, Millis, OutputStream, Status, Timestamp};
use proctor_record::{Attempt, Evaluation, Example, OutsideError, RunData};
use quick_junit::{
    NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestRerun, TestSuite, XmlString,
};

use crate::backtrace::filtered;
use crate::failure::{file_and_line, message_of, outside_message, presented, status_words};
use crate::rates::Rate;
use crate::style::shorten;

/// The longest text in an attribute.
const ATTRIBUTE_LIMIT: usize = 300;

/// The run as one `JUnit` document.
pub fn junit(run: &RunData, suite_name: &str) -> String {
    let mut report = Report::new(attribute(suite_name));
    report.timestamp = run.started_at.and_then(moment);
    report.time = run.duration_ms.map(time);
    if !run.errors.is_empty() {
        let mut suite = TestSuite::new("errors outside examples");
        suite.add_test_cases(run.errors.iter().map(outside_case));
        report.add_test_suite(suite);
    }
    report.add_test_suites(suites(run, suite_name));
    // Writing to memory fails only if the writer itself is broken; every string was made fit before.
    report.to_string().unwrap_or_default()
}

fn suites(run: &RunData, fallback: &str) -> Vec<TestSuite> {
    let mut suites: Vec<TestSuite> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for example in &run.examples {
        let file = file_and_line(example).0.unwrap_or(fallback);
        let place = *places.entry(file).or_insert_with(|| {
            suites.push(TestSuite::new(attribute(file)));
            suites.len() - 1
        });
        suites[place].add_test_cases(case(example));
    }
    suites.into_iter().map(timed).collect()
}

/// A suite starts with its first case and takes as long as all of them.
fn timed(mut suite: TestSuite) -> TestSuite {
    suite.timestamp = suite.test_cases.iter().filter_map(|case| case.timestamp).min();
    let times = suite.test_cases.iter().filter_map(|case| case.time);
    suite.time = Some(times.fold(Duration::ZERO, Duration::saturating_add));
    suite
}

/// The attempt that decides: the first repetition that did not pass, else the first that did.
fn deciding(example: &Example) -> Option<&Attempt> {
    let bad = |attempt: &&Attempt| matches!(verdict(attempt.status.as_ref()), Verdict::Bad(_));
    let passed = |attempt: &&Attempt| attempt.status == Some(Status::Passed);
    let mut attempts: Vec<&Attempt> = example.deciding_attempts().collect();
    attempts.sort_by_key(|attempt| attempt.repeat);
    let first = |wanted: &dyn Fn(&&Attempt) -> bool| attempts.iter().copied().find(|it| wanted(it));
    first(&bad).or_else(|| first(&passed)).or_else(|| attempts.first().copied())
}

fn case(example: &Example) -> Option<TestCase> {
    let attempt = deciding(example)?;
    let name = shorten(&example.title(), ATTRIBUTE_LIMIT);
    let mut case = TestCase::new(attribute(&name), status(example, attempt));
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
    case.add_properties(properties(example, attempt));
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

fn status(example: &Example, attempt: &Attempt) -> TestCaseStatus {
    let mut status = match verdict(attempt.status.as_ref()) {
        Verdict::Passed => TestCaseStatus::success(),
        Verdict::Skipped => {
            let mut status = TestCaseStatus::skipped();
            let reason = attempt.message.clone().unwrap_or_else(|| status_words(attempt));
            status.set_message(attribute(&reason));
            return status;
        }
        Verdict::Bad(kind) => {
            let mut status = TestCaseStatus::non_success(kind);
            status.set_message(attribute(&message_of(attempt)));
            status.set_type(attribute(kind_of(attempt)));
            status
                .set_description(text(&in_full(attempt.exception.as_deref(), message_of(attempt))));
            status
        }
    };
    let others = example
        .attempts
        .iter()
        .filter(|other| (other.repeat, other.attempt) != (attempt.repeat, attempt.attempt));
    status.add_reruns(others.filter_map(rerun));
    status
}

enum Verdict {
    Passed,
    Skipped,
    Bad(NonSuccessKind),
}

fn verdict(status: Option<&Status>) -> Verdict {
    match status {
        Some(Status::Passed) => Verdict::Passed,
        Some(Status::Pending | Status::NotRun | Status::Cancelled) => Verdict::Skipped,
        Some(Status::Failed) => Verdict::Bad(NonSuccessKind::Failure),
        _ => Verdict::Bad(NonSuccessKind::Error),
    }
}

fn rerun(attempt: &Attempt) -> Option<TestRerun> {
    let Verdict::Bad(kind) = verdict(attempt.status.as_ref()) else { return None };
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
    presented(exception).unwrap_or_else(|| {
        let backtrace = filtered(&exception.backtrace, false);
        let backtrace = backtrace.iter().map(|line| format!("# {line}"));
        std::iter::once(message).chain(backtrace).collect::<Vec<_>>().join("\n")
    })
}

fn properties(example: &Example, attempt: &Attempt) -> Vec<Property> {
    let mut all = Vec::new();
    all.extend(example.id.as_ref().map(|id| property("example_id", id.as_str())));
    all.extend(attempt.fault.as_ref().map(|fault| property("fault", fault.as_str())));
    if attempt.flaky {
        all.push(property("flaky", "true"));
    }
    if example.attempts.iter().any(|attempt| attempt.repeat > 1) {
        let rate = Rate::of(example);
        all.push(property("attempts", &rate.valid.to_string()));
        all.push(property("attempts.passed", &rate.passed.to_string()));
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
