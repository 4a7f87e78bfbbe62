//! One event as a few lines of a terminal: what all live views share. The words are in [`crate::event_text`].

use proctor_events::{
    Body, ErrorOutsideExample, EvaluationMode, Event, ExampleFinished, ExampleStarted, Json,
    Status, WorkerExited,
};
use proctor_record::WORKSPACE_WARNING;
use proctor_text::{printable, shorten};
use proctor_verdict::is_success;

use crate::backtrace::filtered;
use crate::event_text::{
    error_with_class, listed_calls, tool_call, tool_outcome, topic_change, unexpected_exit,
};
use crate::page::cut_line;
use crate::style::{Paint, Style, duration};

/// Descriptions longer than this are cut: a line should stay a line.
const TITLE_LIMIT: usize = 300;

/// How many lines of a message and of a backtrace a live view shows; the summary has the rest.
const EXCERPT_LINES: usize = 3;

/// The description chain of an example, as one line.
pub(crate) fn title(started: &ExampleStarted) -> String {
    match &*started.path {
        [] => shorten(started.full_description.as_deref().unwrap_or_default(), TITLE_LIMIT),
        path => shorten(&path.join(" > "), TITLE_LIMIT),
    }
}

/// The title of an example whose start is not in the stream.
pub(crate) fn title_at_end(event: &Event, finished: &ExampleFinished) -> String {
    if let Some(path) = finished.path.as_ref().filter(|path| !path.is_empty()) {
        return shorten(&path.join(" > "), TITLE_LIMIT);
    }
    let id = event.example_id.as_ref().map(ToString::to_string);
    let name = finished.full_description.clone().or_else(|| finished.description.clone()).or(id);
    shorten(&name.unwrap_or_default(), TITLE_LIMIT)
}

/// Which worker, for the front of a line.
pub(crate) fn worker_prefix(worker: Option<u32>, style: Style) -> String {
    worker.map_or_else(String::new, |worker| {
        style.paint(Paint::Worker(worker), format!("[{worker}] "))
    })
}

/// The line that says how an attempt ended.
pub(crate) fn finished_title(
    event: &Event,
    finished: &ExampleFinished,
    title: &str,
    style: Style,
) -> String {
    let mut notes = Vec::new();
    match (&finished.status, &finished.message) {
        (Status::Passed, _) => {}
        (Status::Pending, Some(reason)) => notes.push(format!("pending: {}", shorten(reason, 200))),
        (status, _) => notes.push(shorten(&status.as_str().replace('_', " "), 40)),
    }
    notes.extend(event.repeat.filter(|repeat| *repeat > 1).map(|k| format!("repeat {k}")));
    notes.extend(event.attempt.filter(|attempt| *attempt > 1).map(|k| format!("attempt {k}")));
    if finished.flaky == Some(true) {
        notes.push("flaky".to_owned());
    }
    if finished.status == Status::Passed && finished.checks == Some(0) {
        notes.push("checked nothing".to_owned());
    }
    if finished.r#final == Some(false) {
        notes.push("to be retried".to_owned());
    }
    notes.extend(finished.duration_ms.map(duration));
    let mark = style.mark(Some(&finished.status));
    format!("{mark} {title}  {}", style.paint(Paint::Dim, notes.join(" · ")))
}

/// Why it ended that way, where the title does not say it: an excerpt of a failure. What stands among the lines shown before is left out.
pub(crate) fn finished_body(
    finished: &ExampleFinished,
    shown: &[String],
    style: Style,
) -> Vec<String> {
    if finished.status == Status::Pending {
        return Vec::new();
    }
    if is_success(&finished.status) {
        return finished.message.iter().map(|text| shorten(text, 200)).collect();
    }
    let exception = finished.exception.as_ref();
    let message = exception.map(|e| e.message.as_str()).or(finished.message.as_deref());
    let mut lines: Vec<String> = without_repeats(message.unwrap_or_default())
        .into_iter()
        .filter(|line| !shown.contains(&failed_check(line)))
        .take(EXCERPT_LINES)
        .map(|line| style.paint(Paint::Bad, shorten(&line, 200)))
        .collect();
    let backtrace = filtered(exception.map_or(&[][..], |e| &e.backtrace), false);
    let backtrace = backtrace.iter().take(EXCERPT_LINES);
    lines.extend(backtrace.map(|line| style.paint(Paint::Dim, shorten(line, 200))));
    lines
}

/// The line of a check that decided against an example.
fn failed_check(text: &str) -> String {
    format!("✗ {}", shorten(text, 200))
}

/// The lines of a message that say something. An example and its hooks may fail with the same words, which stand in paragraphs of
/// their own: those are shown once, with their count.
fn without_repeats(message: &str) -> Vec<String> {
    let mut paragraphs: Vec<(&str, usize)> = Vec::new();
    for paragraph in message.split("\n\n").map(str::trim).filter(|text| !text.is_empty()) {
        match paragraphs.iter_mut().find(|(known, _)| *known == paragraph) {
            Some((_, times)) => *times += 1,
            None => paragraphs.push((paragraph, 1)),
        }
    }
    let mut lines = Vec::new();
    for (paragraph, times) in paragraphs {
        let own = paragraph.lines().filter(|line| !line.trim().is_empty());
        lines.extend(own.map(ToOwned::to_owned));
        if let (2.., Some(last)) = (times, lines.last_mut()) {
            *last += &format!(" ({times} times)");
        }
    }
    lines
}

/// An error outside examples.
pub(crate) fn outside_error(error: &ErrorOutsideExample, style: Style) -> String {
    let text = error.exception.as_ref().map(|e| e.message.as_str());
    let text = text.or(error.message.as_deref()).unwrap_or("unknown error");
    // The summary has it in full.
    let text = text.lines().find(|line| !line.trim().is_empty()).unwrap_or(text);
    let phase = printable(error.phase.as_deref().unwrap_or("outside examples"));
    style.paint(Paint::Bad, format!("✗ error ({phase}): {}", shorten(text, 200)))
}

/// What happens within an example.
pub(crate) fn within_example(body: &Body, style: Style) -> Vec<String> {
    let dim = |text: &str| style.paint(Paint::Dim, text);
    let message_line = |who: &str, text: &str| format!("{} {}", dim(who), shorten(text, 100));
    match body {
        Body::UserMessage(message) => vec![message_line("User:", &message.text)],
        Body::AgentResponse(response) => {
            // An answer may be nothing but calls.
            let text = Some(response.text.as_str()).filter(|text| !text.trim().is_empty());
            let mut lines: Vec<String> =
                text.map(|text| message_line("Agent:", text)).into_iter().collect();
            // Calls with an id have events of their own.
            let calls = listed_calls(response).filter(|call| call.id.is_none());
            lines.extend(calls.map(|call| format!("→ {}", shorten(&call.name, 100))));
            lines
        }
        Body::ToolCallCompleted(call) => {
            let arguments = call.arguments.as_ref().map(Json::text);
            let called = tool_call(&shorten(&call.tool_name, 100), arguments, 50);
            vec![format!("→ {called}{}", tool_outcome(call, 60))]
        }
        // The first topic is where the conversation begins, not a change.
        Body::TopicChanged(change) if change.from_topic.is_some() => {
            vec![dim(&shorten(&format!("topic {}", topic_change(change)), 200))]
        }
        Body::EvaluationRecorded(check)
            if check.evaluation_type.as_deref() == Some(WORKSPACE_WARNING) =>
        {
            let text = check.description.as_deref().unwrap_or("warning");
            vec![style.paint(Paint::Warn, format!("! {}", shorten(text, 200)))]
        }
        Body::EvaluationRecorded(check) if check.passed != Some(true) => {
            let text = check.failure_message.as_ref().or(check.description.as_ref());
            let text = text.map_or("a check did not hold", String::as_str);
            let line = match (&check.mode, check.passed) {
                (EvaluationMode::Soft, Some(_)) => {
                    style.paint(Paint::Warn, format!("~ soft: {}", shorten(text, 200)))
                }
                (_, Some(_)) => failed_check(text),
                (_, None) => style.paint(Paint::Warn, format!("? {}", shorten(text, 200))),
            };
            vec![line]
        }
        Body::AgentError(error) => {
            let text = error_with_class(error.error_class.as_deref(), &error.message);
            vec![format!("agent error: {}", shorten(&text, 200))]
        }
        Body::JudgeError(error) => {
            let text = error_with_class(error.error_class.as_deref(), &error.message);
            vec![format!("judge error: {}", shorten(&text, 200))]
        }
        Body::WorkerLog(log) => {
            let lines = printable(&log.line);
            lines.split('\n').map(|line| format!("{} {}", dim("│"), cut_line(line))).collect()
        }
        // Not about what happens within an example, or told with its end.
        Body::TopicChanged(_)
        | Body::EvaluationRecorded(_)
        | Body::InvariantEvaluated(_)
        | Body::ToolCallStarted(_)
        | Body::SimulationStarted(_)
        | Body::SimulationEnded(_)
        | Body::ModelCall(_)
        | Body::AgentSpan(_)
        | Body::ExampleStarted(_)
        | Body::ExampleFinished(_)
        | Body::ErrorOutsideExample(_)
        | Body::GroupStarted(_)
        | Body::GroupFinished(_)
        | Body::SuiteStarted(_)
        | Body::SuiteFinished(_)
        | Body::WorkerStarted(_)
        | Body::WorkerExited(_)
        | Body::Progress(_)
        | Body::Unknown(_) => Vec::new(),
    }
}

/// How a worker ended that should not have.
pub(crate) fn worker_exit_line(exit: &WorkerExited, style: Style) -> Option<String> {
    unexpected_exit(exit).map(|how| style.paint(Paint::Warn, format!("worker {how}")))
}
