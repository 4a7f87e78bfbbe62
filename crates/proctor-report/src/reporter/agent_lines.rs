//! One JSON line per failure and one for the run: for programs that read what a run prints, coding agents above all.
//!
//! The lines are written when the run is over, because only then it is known which attempt decides. Texts are cut, and a cut is said.

use proctor_events::{EvaluationMode, Event, Exception, Millis};
use proctor_record::{Attempt, Evaluation, OutsideError, RunData};
use proctor_text::truncate;
use proctor_verdict::{Counts, RunState};
use serde::Serialize;

use super::Reporter;
use crate::failure::{
    Failure, failures, has_failure_to_show, message_of, outside_message, project_line,
    unchecked_examples,
};
use crate::rerun::RerunCommands;
use crate::summary::discrepancy;

/// So many lines of each kind are written; the summary says how many were left out.
const MAX_LINES: usize = 100;
/// How many characters of a text are written.
const MESSAGE_CHARACTERS: usize = 2000;
const VALUE_CHARACTERS: usize = 1000;
const SHORT_CHARACTERS: usize = 300;

/// Failures and a summary as JSON lines.
#[derive(Debug, Default)]
pub struct AgentLines {}

impl AgentLines {
    /// A view that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Reporter for AgentLines {
    fn event(&mut self, _: &Event) -> String {
        String::new()
    }

    fn finish(&mut self, run: &RunData) -> String {
        let failed = failures(run);
        let unchecked =
            if run.policy.unchecked_fails { Vec::new() } else { unchecked_examples(run) };
        let commands = RerunCommands::new(run);
        let errors = run.errors.iter().take(MAX_LINES).map(ErrorLine::of).map(Line::Error);
        let failures = failed.iter().take(MAX_LINES);
        let failures = failures.map(|one| Line::Failure(Box::new(FailureLine::of(one, &commands))));
        let passed = unchecked.iter().take(MAX_LINES).map(|(example, verdict)| Line::Unchecked {
            example: truncate(&example.title(), SHORT_CHARACTERS),
            location: example.location.as_deref(),
            message: verdict.unchecked_phrase(),
        });
        let over = |count: usize| count.saturating_sub(MAX_LINES);
        let not_shown = over(run.errors.len()) + over(failed.len()) + over(unchecked.len());
        let summary = Line::Summary(Box::new(SummaryLine::of(run, not_shown)));
        errors.chain(failures).chain(passed).chain([summary]).map(|line| line.text()).collect()
    }
}

/// A line; `type` says which.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line<'a> {
    Error(ErrorLine<'a>),
    Failure(Box<FailureLine<'a>>),
    /// It passed, and nothing was checked.
    Unchecked {
        example: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        location: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    Summary(Box<SummaryLine>),
}

impl Line<'_> {
    fn text(&self) -> String {
        // Texts, numbers and names of fields can always be written.
        let mut text = escape(&serde_json::to_string(self).unwrap_or_default());
        text.push('\n');
        text
    }
}

/// What a terminal would obey, in JSON's own notation: the value stays the same.
fn escape(json: &str) -> String {
    let escaped = |c: char| {
        let mut shown = [0; 4];
        let text = c.encode_utf8(&mut shown);
        if proctor_text::printable(text) == *text {
            return text.to_owned();
        }
        let mut units = [0; 2];
        c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
    };
    json.chars().map(escaped).collect()
}

/// What went wrong outside of examples.
#[derive(Debug, Serialize)]
struct ErrorLine<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<&'a str>,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
}

impl<'a> ErrorLine<'a> {
    fn of(error: &'a OutsideError) -> Self {
        Self {
            phase: error.phase.as_deref(),
            place: error.place.as_deref(),
            message: truncate(&outside_message(error), MESSAGE_CHARACTERS),
            at: error.exception.as_ref().and_then(short_project_line),
        }
    }
}

/// An example that fails the run.
#[derive(Debug, Serialize)]
struct FailureLine<'a> {
    example: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<&'a str>,
    /// The line of the project that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<&'a str>,
    /// Why it fails the run, where its attempts alone do not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actual: Option<String>,
    /// The last lines that it printed, where there is no exception.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    output: Vec<String>,
    /// How many further repetitions failed.
    #[serde(skip_serializing_if = "is_zero")]
    more_failed_repetitions: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    rerun: Option<String>,
}

impl<'a> FailureLine<'a> {
    fn of(failure: &Failure<'a>, commands: &RerunCommands) -> Self {
        let Failure { example, first, others, .. } = failure;
        let message = has_failure_to_show(first).then(|| message_of(first));
        let check = failed_check(first);
        let (expected, actual) = match check {
            Some(check) => (check.description.clone(), actual_of(check)),
            None => compared_values(message.as_deref().unwrap_or_default()),
        };
        let cut = |text: String| truncate(&text, VALUE_CHARACTERS);
        Self {
            example: truncate(&example.title(), SHORT_CHARACTERS),
            id: example.id.as_ref().map(proctor_events::ExampleId::as_str),
            location: example.location.as_deref(),
            at: first.exception.as_deref().and_then(short_project_line),
            verdict: failure.word(),
            fault: first.fault.as_ref().map(proctor_events::Fault::as_str),
            reason: failure.reason(),
            message: message.map(|text| truncate(&text, MESSAGE_CHARACTERS)),
            turn: check.and_then(|check| check.turn),
            expected: expected.map(cut),
            actual: actual.map(cut),
            output: match &first.exception {
                Some(_) => Vec::new(),
                None => last_lines(&first.output_tail),
            },
            more_failed_repetitions: others.len(),
            rerun: commands.command(example),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The last few lines of an output.
fn last_lines(output: &[String]) -> Vec<String> {
    let lines = &output[output.len().saturating_sub(5)..];
    lines.iter().map(|line| truncate(line, VALUE_CHARACTERS)).collect()
}

fn short_project_line(exception: &Exception) -> Option<String> {
    project_line(exception).map(|line| truncate(&line, SHORT_CHARACTERS))
}

/// The check that decided against an attempt, where it was a check.
fn failed_check(attempt: &Attempt) -> Option<&Evaluation> {
    let mut hard = attempt.evaluations.iter().filter(|check| check.mode != EvaluationMode::Soft);
    hard.find(|check| check.passed == Some(false))
}

/// What the agent did instead of what the check demands: the rest of its message behind the demand.
fn actual_of(check: &Evaluation) -> Option<String> {
    let (message, demand) = (check.message.as_deref()?, check.description.as_deref()?);
    let (_, rest) = message.split_once(demand)?;
    let rest = rest.trim_start_matches([',', ':', ' ']);
    Some(rest.strip_prefix("but ").unwrap_or(rest).to_owned()).filter(|rest| !rest.is_empty())
}

/// The two values of a message in the form of RSpec's and Minitest's comparisons; nothing of any other message.
fn compared_values(message: &str) -> (Option<String>, Option<String>) {
    let nothing = (None, None);
    let Some(start) = message.find("xpected: ").filter(|at| begins_line(message, *at)) else {
        return nothing;
    };
    let rest = &message[start + "xpected: ".len()..];
    let marks = ["got: ", "Actual: "];
    let found = marks.into_iter().find_map(|mark| {
        let at = rest.match_indices(mark).find(|(at, _)| is_blank_before(rest, *at))?.0;
        Some((at, at + mark.len()))
    });
    let Some((end, actual)) = found else { return nothing };
    let actual = rest[actual..].split("\n\n").next().unwrap_or_default();
    (Some(rest[..end].trim_end().to_owned()), Some(actual.trim_end().to_owned()))
}

/// Whether only the `e` or `E` of "expected" stands between this place and the beginning of its line.
fn begins_line(text: &str, at: usize) -> bool {
    let before = text[..at].strip_suffix(['e', 'E']);
    before.is_some_and(|before| is_blank_before(before, before.len()))
}

/// Whether nothing but spaces stands between this place and the beginning of its line.
fn is_blank_before(text: &str, at: usize) -> bool {
    let line = text[..at].rsplit('\n').next().unwrap_or_default();
    line.trim().is_empty()
}

/// The run as a whole.
#[derive(Debug, Serialize)]
struct SummaryLine {
    state: RunState,
    /// `passed` or `failed`; absent where the run did not finish.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped_by: Option<String>,
    counts: Counts,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<Millis>,
    /// Why the counts cannot be trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// How many lines were left out.
    #[serde(skip_serializing_if = "is_zero")]
    not_shown: usize,
    /// The command that shows everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    show: Option<String>,
    /// The command that runs again what did not pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    rerun: Option<&'static str>,
}

impl SummaryLine {
    fn of(run: &RunData, not_shown: usize) -> Self {
        let verdict = run.verdict();
        let counts = run.summary();
        Self {
            state: verdict.state(),
            verdict: verdict.final_word(),
            exit_code: verdict.exit_code(),
            stopped_by: verdict.stopped_by().map(ToString::to_string),
            duration_ms: run.duration_ms,
            problem: discrepancy(run),
            not_shown,
            show: run.run_id.as_ref().map(|id| format!("proctor show {id}")),
            rerun: (counts.failures > 0).then_some("proctor run --only-failures"),
            counts,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::testing::{EVERYTHING, printed};

    fn lines(text: &str) -> Vec<Value> {
        let shown = printed(&mut AgentLines::new(), text);
        shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn every_failure_is_a_line_and_the_run_is_the_last() {
        insta::assert_snapshot!(printed(&mut AgentLines::new(), EVERYTHING));
    }

    #[test]
    fn a_run_without_an_end_has_no_verdict() {
        let all = lines(r#"{"event_type":"ExampleStarted","example_id":"a","path":["A"]}"#);
        let summary = all.last().unwrap();
        assert_eq!(summary["type"], "summary");
        assert_eq!((summary.get("verdict"), summary.get("exit_code")), (None, None), "{summary}");
        assert!(summary["problem"].as_str().unwrap().contains("do not trust"), "{summary}");
    }

    #[test]
    fn compared_values_are_read_and_others_are_not_guessed() {
        let pair =
            |expected: &str, actual: &str| (Some(expected.to_owned()), Some(actual.to_owned()));
        let nothing = (None, None);
        let table = [
            ("\nexpected: 2\n     got: 1\n\n(compared using ==)\n", pair("2", "1")),
            ("expected: \"a\\nb\"\n     got: nil", pair("\"a\\nb\"", "nil")),
            ("Expected: 2\n  Actual: 1", pair("2", "1")),
            ("no total\nExpected: [1,\n 2]\n  Actual: []", pair("[1,\n 2]", "[]")),
            ("expected 1 to be > 2", nothing.clone()),
            ("expected: 1 got: 2", nothing.clone()),
            ("it was unexpected: 1\n got: 2", nothing.clone()),
            ("expected: 1", nothing.clone()),
            ("", nothing.clone()),
        ];
        for (message, values) in table {
            assert_eq!(compared_values(message), values, "{message:?}");
        }
    }

    #[test]
    fn a_check_of_a_conversation_is_told_apart_into_demand_and_deed() {
        let all = lines(
            r#"{"event_type":"ExampleStarted","example_id":"a","path":["A"],"location":"./a.scenario.yaml:3"}
{"event_type":"EvaluationRecorded","example_id":"a","turn_number":1,"mode":"soft","description":"be short","passed":false,"failure_message":"turn 1: expected to be short, but it was long"}
{"event_type":"EvaluationRecorded","example_id":"a","turn_number":2,"mode":"hard","description":"call tool pay","passed":false,"failure_message":"turn 2: expected to call tool pay, but no tool was called"}
{"event_type":"ExampleFinished","example_id":"a","status":"failed","fault":"agent","final":true}"#,
        );
        assert_eq!(all[0]["expected"], "call tool pay");
        assert_eq!(all[0]["actual"], "no tool was called");
        assert_eq!(all[0]["turn"], 2);
        assert_eq!(all[0]["rerun"], "proctor run ./a.scenario.yaml:3");
    }

    #[test]
    fn long_texts_cost_little_and_many_failures_are_counted() {
        let long = "x".repeat(2_000_000);
        let text: String = (0..MAX_LINES + 7)
            .map(|n| {
                format!(
                    r#"{{"event_type":"ExampleStarted","example_id":"{n}","path":["A","{n}"]}}
{{"event_type":"ExampleFinished","example_id":"{n}","status":"failed","final":true,"message":"{}"}}
"#,
                    if n == 0 { &long } else { "no" }
                )
            })
            .collect();
        let shown = printed(&mut AgentLines::new(), &text);
        assert!(shown.len() < 50_000, "{}", shown.len());
        let summary: Value = serde_json::from_str(shown.lines().last().unwrap()).unwrap();
        assert_eq!(summary["not_shown"], 7);
        assert_eq!(summary["counts"]["failures"], MAX_LINES + 7);
    }
}
