//! What failed and why, as facts that the summary, the terse view, `JUnit` and annotations share.

use proctor_events::{EvaluationMode, Exception, Status};
use proctor_record::{Attempt, Example, OutsideError, RunData};
use proctor_text::shorten;
use proctor_verdict::{ExampleVerdict, Outcome, RateState, is_made, is_success, worst_first};

use crate::backtrace::filtered;

/// Classes that say no more than "an expectation failed", as their message does.
const EXPECTATION_CLASSES: &[&str] = &[
    "RSpec::Expectations::ExpectationNotMetError",
    "RSpec::Expectations::MultipleExpectationsNotMetError",
    // Those of conversations say what the status says.
    "ExpectationFailed",
    "ConversationError",
    "NoVerdict",
];

/// An example that fails the run.
pub(crate) struct Failure<'a> {
    pub(crate) example: &'a Example,
    pub(crate) verdict: ExampleVerdict,
    /// Why it fails the run though it passed.
    pub(crate) refusal: Option<String>,
    /// The attempt that decided so, the one to show.
    pub(crate) first: &'a Attempt,
    /// Those of further repetitions that failed too.
    pub(crate) others: Vec<&'a Attempt>,
}

/// Every example that fails the run, by file and line, so that two runs show them in the same order.
pub(crate) fn failures(run: &RunData) -> Vec<Failure<'_>> {
    let found = run.examples.iter().filter_map(|example| failure_of(example, run));
    let mut found: Vec<Failure<'_>> = found.collect();
    found.sort_by_cached_key(|failure| place_of(failure.example));
    found
}

/// The failure of an example that fails the run.
pub(crate) fn failure_of<'a>(example: &'a Example, run: &RunData) -> Option<Failure<'a>> {
    let verdict = example.verdict(run.over);
    if !verdict.is_failure(run.policy) {
        return None;
    }
    let refusal = verdict.refusal(run.policy);
    let mut shown: Vec<&Attempt> = example
        .deciding_attempts()
        .into_iter()
        .filter(|attempt| has_failure_to_show(attempt))
        .collect();
    if shown.is_empty() {
        // It passed, and is refused for what came before.
        shown = example.attempts.iter().filter(|attempt| has_failure_to_show(attempt)).collect();
    }
    if verdict.is_unchecked() && (shown.is_empty() || verdict.outcome() != Outcome::Flaky) {
        // It is refused for what was left out; failures that its pass rate allows are none.
        let unchecked =
            |attempt: &&Attempt| attempt.checks == Some(0) && !has_failure_to_show(attempt);
        shown = example.deciding_attempts().into_iter().find(unchecked).into_iter().collect();
    }
    if shown.is_empty() {
        shown = example.deciding_attempts();
    }
    shown.sort_by_key(|attempt| worst_first(attempt.status.as_ref(), attempt.fault.as_ref()));
    let (first, others) = shown.split_first()?;
    Some(Failure { example, verdict, refusal, first, others: others.to_vec() })
}

/// Whether there is something to show of an attempt. One that started and never ended was lost.
pub(crate) fn has_failure_to_show(attempt: &Attempt) -> bool {
    attempt.status.as_ref().is_none_or(|status| !is_success(status) && is_made(status))
}

/// The examples that passed without checking anything.
pub(crate) fn unchecked_examples(run: &RunData) -> Vec<(&Example, ExampleVerdict)> {
    let all = run.examples.iter().map(|example| (example, example.verdict(run.over)));
    all.filter(|(_, verdict)| verdict.is_unchecked()).collect()
}

impl Failure<'_> {
    /// Why the example fails the run, where its attempts alone do not say it.
    pub(crate) fn reason(&self) -> Option<String> {
        let wanted = self.example.pass_rate.and_then(proctor_verdict::PassRate::new);
        match (self.verdict.rate_state(), wanted) {
            (Some(RateState::Missed), Some(wanted)) => {
                Some(format!("missed its pass rate of {}", wanted.percent()))
            }
            _ => self.refusal.clone(),
        }
    }

    /// What went wrong: why the example is refused though it passed, and what the attempt that is shown says.
    pub(crate) fn message(&self) -> String {
        match &self.refusal {
            Some(refusal) if has_failure_to_show(self.first) => {
                format!("{refusal}\n{}", message_of(self.first))
            }
            Some(refusal) => refusal.clone(),
            None => message_of(self.first),
        }
    }

    /// The word for the heading: what became of the example, or what it is refused for.
    pub(crate) fn word(&self) -> &'static str {
        match self.verdict.outcome() {
            Outcome::Passed | Outcome::WithinRate if self.refusal.is_some() => "unchecked",
            outcome => outcome.phrase(),
        }
    }
}

/// By what failures are sorted: file, line and title.
pub(crate) fn place_of(example: &Example) -> (String, u32, String) {
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

/// The same, with who is at fault where that is known.
pub(crate) fn status_words(attempt: &Attempt) -> String {
    let fault = attempt.fault.as_ref();
    let fault = fault.map(|fault| format!(" (fault: {})", shorten(fault.as_str(), 40)));
    format!("{}{}", status_word(attempt), fault.unwrap_or_default())
}

/// The error's class, unless it says nothing that the message does not.
pub(crate) fn informative_class(exception: &Exception) -> Option<&str> {
    exception.class.as_deref().filter(|class| !EXPECTATION_CLASSES.contains(class))
}

/// `RSpec`'s own full text of the failure, where the worker sent it.
pub(crate) fn rspec_text(exception: &Exception) -> Option<String> {
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
    let explanation = explain(attempt.exception.as_deref(), attempt.message.as_deref());
    let party_errors =
        || attempt.troubles.first().map(|t| format!("{} error: {}", t.whose, t.message));
    explanation
        .or_else(party_errors)
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
    Some(match informative_class(exception) {
        Some(class) if text.contains('\n') => format!("{class}:\n{text}"),
        Some(class) => format!("{class}: {text}"),
        None => text.to_owned(),
    })
}

fn failed_check(attempt: &Attempt) -> Option<String> {
    let hard = |check: &&proctor_record::Evaluation| check.mode != EvaluationMode::Soft;
    let mut checks = attempt.evaluations.iter().filter(hard);
    let check = checks.find(|check| check.passed == Some(false))?;
    check.message.clone().or_else(|| check.description.clone()).or_else(|| check.name.clone())
}
