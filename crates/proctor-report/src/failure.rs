//! What failed and why, as facts that the summary, the terse view, `JUnit` and annotations share.

use proctor_events::{Exception, Status};
use proctor_record::{Attempt, Example, OutsideError, RunData};

use crate::backtrace::filtered;
use crate::rates::gate;
use crate::style::shorten;

/// Classes that say no more than "an expectation failed", as their message does.
const EXPECTATION_CLASSES: &[&str] = &[
    "RSpec::Expectations::ExpectationNotMetError",
    "RSpec::Expectations::MultipleExpectationsNotMetError",
    // Those of conversations say what the status says.
    "ExpectationFailed",
    "ConversationError",
    "NoVerdict",
];

/// An example that counts against the run.
pub(crate) struct Failure<'a> {
    pub(crate) example: &'a Example,
    /// The attempt that decided so, the one to show.
    pub(crate) first: &'a Attempt,
    /// Those of further repetitions that failed too.
    pub(crate) others: Vec<&'a Attempt>,
}

/// Every failed example, by file and line, so that two runs show them in the same order.
pub(crate) fn failures(run: &RunData) -> Vec<Failure<'_>> {
    let mut found: Vec<Failure<'_>> = run.examples.iter().filter_map(failure_of).collect();
    found.sort_by_cached_key(|failure| place_of(failure.example));
    found
}

fn failure_of(example: &Example) -> Option<Failure<'_>> {
    // Enough of its repetitions passed: what the others did is in the pass rates.
    if gate(example) == Some(true) {
        return None;
    }
    let failed = example.deciding_attempts().filter(|attempt| counts_against(attempt));
    let mut failed: Vec<&Attempt> = failed.collect();
    // A failure tells more than an attempt without verdict.
    failed.sort_by_key(|attempt| attempt.status == Some(Status::Inconclusive));
    let (first, others) = failed.split_first()?;
    Some(Failure { example, first, others: others.to_vec() })
}

/// An attempt that started and never ended is a failure too: something was lost.
fn counts_against(attempt: &Attempt) -> bool {
    attempt.status.as_ref().is_none_or(Status::is_failure)
}

fn place_of(example: &Example) -> (String, u32, String) {
    let (file, line) = file_and_line(example);
    (file.unwrap_or_default().to_owned(), line.unwrap_or_default(), example.title())
}

/// Where an example stands.
pub(crate) fn file_and_line(example: &Example) -> (Option<&str>, Option<u32>) {
    let split = example.location.as_deref().and_then(|place| place.rsplit_once(':'));
    match split.and_then(|(file, line)| Some((file, line.parse().ok()?))) {
        Some((file, line)) => (Some(file), Some(line)),
        None => (example.file.as_deref().or(example.location.as_deref()), None),
    }
}

/// How an attempt ended, in a word or two.
pub(crate) fn status_word(attempt: &Attempt) -> String {
    let status = attempt.status.as_ref().map_or("never finished", Status::as_str);
    shorten(&status.replace('_', " "), 40)
}

/// The same, with whose fault it was where that is known.
pub(crate) fn status_words(attempt: &Attempt) -> String {
    let fault = attempt.fault.as_ref();
    let fault = fault.map(|fault| format!(" (fault: {})", shorten(fault.as_str(), 40)));
    format!("{}{}", status_word(attempt), fault.unwrap_or_default())
}

/// The error's class, unless it says nothing that the message does not.
pub(crate) fn telling_class(exception: &Exception) -> Option<&str> {
    exception.class.as_deref().filter(|class| !EXPECTATION_CLASSES.contains(class))
}

/// `RSpec`'s own full text of the failure, where the worker sent it.
pub(crate) fn presented(exception: &Exception) -> Option<String> {
    extra_text(exception, "presented")
}

/// The first line of the backtrace that belongs to the project.
pub(crate) fn project_line(exception: &Exception) -> Option<String> {
    extra_text(exception, "project_line")
        .or_else(|| filtered(&exception.backtrace, false).first().map(ToString::to_string))
}

fn extra_text(exception: &Exception, name: &str) -> Option<String> {
    let (_, value) = exception.extra.iter().find(|(key, _)| &**key == name)?;
    value.to_value().as_str().filter(|text| !text.trim().is_empty()).map(ToOwned::to_owned)
}

/// What went wrong, class included; may have many lines.
pub(crate) fn message_of(attempt: &Attempt) -> String {
    let said = explain(attempt.exception.as_deref(), attempt.message.as_deref());
    let troubles = || attempt.troubles.first().map(|t| format!("{} error: {}", t.whose, t.message));
    said.or_else(troubles)
        .or_else(|| failed_check(attempt))
        .unwrap_or_else(|| status_words(attempt))
}

/// What went wrong outside examples.
pub(crate) fn outside_message(error: &OutsideError) -> String {
    explain(error.exception.as_ref(), error.message.as_deref())
        .unwrap_or_else(|| "unknown error".to_owned())
}

fn explain(exception: Option<&Exception>, message: Option<&str>) -> Option<String> {
    let Some(exception) = exception else {
        return message.map(ToOwned::to_owned);
    };
    let text = exception.message.trim_matches('\n');
    Some(match telling_class(exception) {
        Some(class) if text.contains('\n') => format!("{class}:\n{text}"),
        Some(class) => format!("{class}: {text}"),
        None => text.to_owned(),
    })
}

fn failed_check(attempt: &Attempt) -> Option<String> {
    let check = attempt.evaluations.iter().find(|check| check.passed == Some(false))?;
    check.message.clone().or_else(|| check.description.clone()).or_else(|| check.name.clone())
}
