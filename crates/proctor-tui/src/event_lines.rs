//! Events as lines of a pane: one short function for each kind that says something.

use std::collections::HashMap;

use proctor_events::{
    AgentResponse, Body, ErrorOutsideExample, EvaluationMode, EvaluationRecorded, Event,
    ExampleFinished, Exception, InvariantEvaluated, Json, ModelCall, OutputStream,
    SimulationStarted, Status, ToolCallCompleted, ToolCallStarted, TopicChanged, WorkerExited,
    WorkerLog,
};
use proctor_report::event_text::{
    error_with_class, listed_calls, tool_call, tool_outcome, topic_change, unexpected_exit,
};
use proctor_report::{Paint, duration};
use proctor_text::{pluralize, shorten};
use proctor_verdict::{is_made, is_success};

use crate::run_view::LineOwner;
use crate::text::TextLine;
use crate::theme::{paint_of, sign_of, word_of};

/// How much of a tool's arguments or result is shown.
const MAX_CALL_CHARACTERS: usize = 300;

/// Renders the events of a run. Remembers the tool calls of running attempts, because some agents report in
/// their answer what was already told call by call.
#[derive(Debug, Default)]
pub(crate) struct EventLines {
    shown_calls: HashMap<LineOwner, Vec<String>>,
}

impl EventLines {
    /// The lines for one event; often none.
    pub(crate) fn lines_for(&mut self, event: &Event, title: &str) -> Vec<TextLine> {
        match &event.body {
            Body::ExampleStarted(_) => vec![started(event, title)],
            Body::ExampleFinished(payload) => {
                self.shown_calls.remove(&LineOwner::of(event));
                finished(payload)
            }
            Body::SimulationStarted(payload) => vec![simulation(payload)],
            Body::SimulationEnded(payload) => {
                let turns = pluralize(payload.turn_count, "turn");
                let reason = payload.termination_reason.as_str().replace('_', " ");
                vec![dim(&format!("simulation ended after {turns}: {reason}"))]
            }
            Body::UserMessage(payload) => message_lines("User", Paint::Bold, &payload.text),
            Body::AgentResponse(payload) => self.answered_lines(event, payload),
            Body::TopicChanged(payload) => vec![topic(payload)],
            Body::ToolCallStarted(payload) => vec![self.called_lines(event, payload)],
            Body::ToolCallCompleted(payload) => vec![self.returned_lines(event, payload)],
            Body::InvariantEvaluated(payload) => invariant(payload),
            Body::EvaluationRecorded(payload) => evaluation(payload),
            Body::AgentError(payload) => {
                party_error("agent error", payload.error_class.as_deref(), &payload.message)
            }
            Body::JudgeError(payload) => {
                party_error("judge error", payload.error_class.as_deref(), &payload.message)
            }
            Body::ErrorOutsideExample(payload) => outside(payload),
            Body::WorkerExited(payload) => exited(payload).into_iter().collect(),
            Body::WorkerLog(payload) => vec![printed(payload)],
            Body::ModelCall(payload) => model(payload).into_iter().collect(),
            Body::Unknown(_)
            | Body::SuiteStarted(_)
            | Body::SuiteFinished(_)
            | Body::GroupStarted(_)
            | Body::GroupFinished(_)
            | Body::WorkerStarted(_)
            | Body::AgentSpan(_)
            | Body::Progress(_) => Vec::new(),
        }
    }

    fn answered_lines(&mut self, event: &Event, payload: &AgentResponse) -> Vec<TextLine> {
        let shown_calls = self.shown_calls.entry(LineOwner::of(event)).or_default();
        let mut lines = message_lines("Agent", Paint::Good, &payload.text);
        let calls = listed_calls(payload)
            .filter(|call| !shown_calls.contains(call.id.as_ref().unwrap_or(&call.name)));
        lines.extend(calls.map(|call| call_line(&call.name, call.arguments.as_deref())));
        lines
    }

    fn called_lines(&mut self, event: &Event, payload: &ToolCallStarted) -> TextLine {
        self.remember(event, payload.tool_call_id.as_ref(), &payload.tool_name);
        call_line(&payload.tool_name, payload.arguments.as_ref().map(Json::text))
    }

    fn returned_lines(&mut self, event: &Event, payload: &ToolCallCompleted) -> TextLine {
        self.remember(event, payload.tool_call_id.as_ref(), &payload.tool_name);
        let taken = payload.duration_ms.map(|taken| format!("  {}", duration(taken)));
        let taken = taken.unwrap_or_default();
        let name = &payload.tool_name;
        let outcome = match tool_outcome(payload, MAX_CALL_CHARACTERS) {
            nothing if nothing.is_empty() => " done".to_owned(),
            outcome => outcome,
        };
        let text = format!("{name}{outcome}{taken}");
        if payload.error.is_some() {
            TextLine::led("    ✗ ", Some(Paint::Bad), Some(Paint::Bad), &text)
        } else {
            TextLine::led("    ← ", None, Some(Paint::Dim), &text)
        }
    }

    fn remember(&mut self, event: &Event, id: Option<&String>, name: &str) {
        let shown_calls = self.shown_calls.entry(LineOwner::of(event)).or_default();
        let known = id.map_or(name, |id| id.as_str());
        if !shown_calls.iter().any(|seen| seen == known) {
            shown_calls.push(known.to_owned());
        }
    }
}

fn dim(text: &str) -> TextLine {
    TextLine::led("  ", None, Some(Paint::Dim), text)
}

fn started(event: &Event, title: &str) -> TextLine {
    let again = match (event.repeat.unwrap_or(1), event.attempt.unwrap_or(1)) {
        (1, 1) => String::new(),
        (1, attempt) => format!(" (attempt {attempt})"),
        (repeat, 1) => format!(" (repeat {repeat})"),
        (repeat, attempt) => format!(" (repeat {repeat}, attempt {attempt})"),
    };
    TextLine::led("▶ ", Some(Paint::Bold), Some(Paint::Bold), &format!("{title}{again}"))
}

fn finished(payload: &ExampleFinished) -> Vec<TextLine> {
    let status = Some(&payload.status);
    let paint = Some(paint_of(status));
    let mut text = word_of(&payload.status);
    // The line at its start could not know this name.
    if let Some(name) = payload.own_name() {
        text = format!("{name}: {text}");
    }
    if let Some(fault) = &payload.fault {
        text += &format!(" (fault: {fault})");
    }
    if payload.flaky == Some(true) {
        text += ", flaky";
    }
    if payload.status == Status::Passed && payload.checks == Some(0) {
        text += ", checked nothing";
    }
    if let Some(taken) = payload.duration_ms {
        text += &format!(" in {}", duration(taken));
    }
    if payload.r#final == Some(false) {
        text += ", will be tried again";
    }
    let mut lines = vec![TextLine::led(&format!("{} ", sign_of(status)), paint, paint, &text)];
    if let Some(message) = &payload.message {
        lines.extend(TextLine::block("    ", None, None, message));
    }
    lines.extend(payload.exception.iter().flat_map(|exception| failure(exception, 3)));
    lines
}

/// An exception with some of its backtrace.
pub(crate) fn failure(exception: &Exception, frames: usize) -> Vec<TextLine> {
    let mut lines = Vec::new();
    if let Some(class) = &exception.class {
        lines.push(TextLine::led("    ", None, Some(Paint::Bad), &format!("{class}:")));
    }
    lines.extend(TextLine::block("    ", None, None, exception.message.trim_matches('\n')));
    for frame in exception.backtrace.iter().take(frames) {
        lines.push(TextLine::led("    at ", Some(Paint::Dim), Some(Paint::Dim), frame));
    }
    let more = exception.backtrace.len().saturating_sub(frames);
    if more > 0 {
        lines.push(TextLine::led("    ", None, Some(Paint::Dim), &format!("… {more} more")));
    }
    lines
}

fn simulation(payload: &SimulationStarted) -> TextLine {
    let most = payload.max_turns.map(|most| format!(" (at most {})", pluralize(most, "turn")));
    let goal = payload.goal.as_deref().unwrap_or("no goal given");
    dim(&format!("simulated user wants: {goal}{}", most.unwrap_or_default()))
}

fn message_lines(who: &str, paint: Paint, text: &str) -> Vec<TextLine> {
    TextLine::block(&format!("  {who:<6} "), Some(paint), None, text)
}

fn topic(payload: &TopicChanged) -> TextLine {
    let way = topic_change(payload);
    let why = payload.trigger.as_ref().map(|why| format!(" ({})", why.as_str().replace('_', " ")));
    dim(&format!("topic {way}{}", why.unwrap_or_default()))
}

fn call_line(name: &str, arguments: Option<&str>) -> TextLine {
    TextLine::led(
        "    → ",
        Some(Paint::Warn),
        None,
        &tool_call(name, arguments, MAX_CALL_CHARACTERS),
    )
}

fn invariant(payload: &InvariantEvaluated) -> Vec<TextLine> {
    let label = payload.description.as_deref().unwrap_or("invariant");
    let mut notes = Vec::new();
    notes.extend(payload.topic.as_ref().map(|topic| format!("topic {topic}")));
    notes.extend(payload.mode.as_ref().filter(|mode| **mode == EvaluationMode::Soft).map(soft));
    let is_soft = payload.mode == Some(EvaluationMode::Soft);
    let mut lines = vec![check(Some(payload.passed), is_soft, label, &notes)];
    if !payload.passed {
        lines.extend(payload.message.iter().flat_map(|text| explained("", text)));
    }
    lines
}

fn evaluation(payload: &EvaluationRecorded) -> Vec<TextLine> {
    let label = payload.name.as_ref().or(payload.description.as_ref());
    let label = label.or(payload.evaluation_type.as_ref()).map_or("check", String::as_str);
    let mut notes = Vec::new();
    notes.extend(payload.evaluation_type.clone());
    notes.extend(Some(&payload.mode).filter(|mode| **mode == EvaluationMode::Soft).map(soft));
    notes.extend(payload.score.map(|score| format!("score {score:.2}")));
    let is_soft = payload.mode == EvaluationMode::Soft;
    let mut lines = vec![check(payload.passed, is_soft, label, &notes)];
    if payload.passed != Some(true) {
        lines.extend(payload.failure_message.iter().flat_map(|text| explained("", text)));
    }
    lines.extend(payload.reasoning.iter().flat_map(|text| explained("judge: ", text)));
    lines
}

fn soft(_: &EvaluationMode) -> String {
    "soft".to_owned()
}

/// A soft check that does not hold decides nothing, so it does not look like a failure.
fn check(passed: Option<bool>, is_soft: bool, label: &str, notes: &[String]) -> TextLine {
    let (sign, paint, word) = match passed {
        Some(true) => ("✓", Paint::Good, ""),
        Some(false) if is_soft => ("~", Paint::Warn, "does not hold: "),
        Some(false) => ("✗", Paint::Bad, "does not hold: "),
        None => ("?", Paint::Warn, "no verdict: "),
    };
    let notes = if notes.is_empty() { String::new() } else { format!("  ({})", notes.join(", ")) };
    TextLine::led(&format!("  {sign} "), Some(paint), None, &format!("{word}{label}{notes}"))
}

fn explained(lead: &str, text: &str) -> Vec<TextLine> {
    TextLine::block(&format!("      {lead}"), Some(Paint::Dim), Some(Paint::Dim), text)
}

fn party_error(what: &str, class: Option<&str>, message: &str) -> Vec<TextLine> {
    let text = format!("{what}: {}", error_with_class(class, message));
    TextLine::block("  ✗ ", Some(Paint::Bad), Some(Paint::Bad), &text)
}

/// An error outside any example, with a good part of its backtrace.
pub(crate) fn outside(payload: &ErrorOutsideExample) -> Vec<TextLine> {
    let phase = payload.phase.as_deref().unwrap_or("outside examples").replace('_', " ");
    let place = payload.place.as_deref().map(|place| format!(" in {place}")).unwrap_or_default();
    let bad = Some(Paint::Bad);
    let mut lines = vec![TextLine::led("✗ ", bad, bad, &format!("error, {phase}{place}"))];
    lines.extend(payload.message.iter().flat_map(|text| TextLine::block("    ", None, None, text)));
    lines.extend(payload.exception.iter().flat_map(|exception| failure(exception, 10)));
    lines
}

fn exited(payload: &WorkerExited) -> Option<TextLine> {
    let text = format!("the worker process {}", unexpected_exit(payload)?);
    Some(TextLine::led("! ", Some(Paint::Warn), Some(Paint::Warn), &text))
}

fn printed(payload: &WorkerLog) -> TextLine {
    let line = without_colours(&payload.line);
    match payload.stream {
        Some(OutputStream::Stderr) => TextLine::led("  ! ", Some(Paint::Warn), None, &line),
        _ => TextLine::led("  │ ", Some(Paint::Dim), None, &line),
    }
}

/// Programs colour what they print; the codes would only be noise here. Everything else stays for
/// [`printable`](proctor_text::printable) to make harmless.
fn without_colours(line: &str) -> String {
    let mut pieces = line.split("\x1b[");
    let mut kept = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let codes = piece.find(|c: char| !(c.is_ascii_digit() || matches!(c, ';' | ':')));
        match codes {
            Some(end) if piece[end..].starts_with('m') => kept.push_str(&piece[end + 1..]),
            _ => kept.extend(["\x1b[", piece]),
        }
    }
    kept
}

fn model(payload: &ModelCall) -> Option<TextLine> {
    let error = payload.error.as_ref()?;
    let who = payload.purpose.as_deref().unwrap_or("model");
    let text = format!("{who} model call failed: {}", shorten(error, MAX_CALL_CHARACTERS));
    Some(TextLine::led("  ! ", Some(Paint::Warn), Some(Paint::Warn), &text))
}

/// Whether an event is a failure that a follower should see.
pub(crate) fn is_failure(event: &Event) -> bool {
    match &event.body {
        Body::ExampleFinished(payload) => !is_success(&payload.status) && is_made(&payload.status),
        Body::ErrorOutsideExample(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown_calls(lines: &[&str]) -> String {
        let mut event_lines = EventLines::default();
        let events = lines.iter().map(|line| Event::from_json(line).unwrap());
        let lines =
            events.flat_map(|event| event_lines.lines_for(&event, "Booking > books a venue"));
        lines.map(|line| line.shown() + "\n").collect()
    }

    #[test]
    fn the_flow_of_the_seed() {
        let text = include_str!("../../proctor-record/tests/seed_flow.jsonl");
        insta::assert_snapshot!(shown_calls(&text.lines().collect::<Vec<_>>()));
    }

    #[test]
    fn everything_that_can_go_wrong() {
        insta::assert_snapshot!(shown_calls(&[
            r#"{"event_type":"ExampleStarted","example_id":"a","attempt":2}"#,
            r#"{"event_type":"ToolCallStarted","example_id":"a","turn_number":1,"tool_call_id":"1","tool_name":"book","arguments":{"n":50}}"#,
            r#"{"event_type":"ToolCallCompleted","example_id":"a","turn_number":1,"tool_call_id":"1","tool_name":"book","error":"no\nroom","duration_ms":12}"#,
            r#"{"event_type":"AgentResponse","example_id":"a","turn_number":1,"text":"two\nlines","tool_calls":[{"id":"1","name":"book"},{"name":"mail","arguments":{"to":"x"}}]}"#,
            r#"{"event_type":"EvaluationRecorded","example_id":"a","mode":"hard","evaluation_type":"quality","name":"polite","passed":false,"score":0.25,"failure_message":"expected politeness","reasoning":"It was rude."}"#,
            r#"{"event_type":"EvaluationRecorded","example_id":"a","mode":"soft","description":"brief"}"#,
            r#"{"event_type":"InvariantEvaluated","example_id":"a","topic":"greeting","description":"greets","passed":false,"message":"no greeting"}"#,
            r#"{"event_type":"AgentError","example_id":"a","error_class":"Timeout","message":"no answer"}"#,
            r#"{"event_type":"JudgeError","example_id":"a","message":"not JSON"}"#,
            r#"{"event_type":"ModelCall","example_id":"a","purpose":"judge","error":"429"}"#,
            r#"{"event_type":"ModelCall","example_id":"a","purpose":"judge"}"#,
            r#"{"event_type":"WorkerLog","example_id":"a","line":"\u001b[31mred\u001b[0m \u001b[2Jrest","stream":"stderr"}"#,
            r#"{"event_type":"WorkerExited","worker":0,"signal":9,"expected":false}"#,
            r#"{"event_type":"ExampleFinished","example_id":"a","status":"crashed","duration_ms":1200,"message":"its worker was killed","final":false}"#,
            r#"{"event_type":"ExampleFinished","example_id":"a","status":"failed","exception":{"class":"Oops","message":"\nexpected 1\n     got 2\n","backtrace":["a:1","b:2","c:3","d:4"]}}"#,
            r#"{"event_type":"ErrorOutsideExample","phase":"before_suite","place":"./spec/x.rb","message":"no database"}"#,
        ]));
    }
}
