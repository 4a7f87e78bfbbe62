//! One event as a few lines: the words that all live views share.

use proctor_events::{
    AgentResponse, Body, ErrorOutsideExample, Event, ExampleFinished, ExampleStarted, Json, Status,
    ToolCallCompleted, WorkerExited,
};
use proctor_record::WORKSPACE_WARNING;
use proctor_verdict::is_success;

use crate::backtrace::filtered;
use crate::style::{Paint, Style, duration, plain, shorten};

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

/// What to call an example whose start nobody saw.
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

/// Why it ended that way, where the title does not say it: an excerpt of a failure.
pub(crate) fn finished_body(finished: &ExampleFinished, style: Style) -> Vec<String> {
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
        .take(EXCERPT_LINES)
        .map(|line| style.paint(Paint::Bad, shorten(&line, 200)))
        .collect();
    let backtrace = filtered(exception.map_or(&[][..], |e| &e.backtrace), false);
    let backtrace = backtrace.iter().take(EXCERPT_LINES);
    lines.extend(backtrace.map(|line| style.paint(Paint::Dim, shorten(line, 200))));
    lines
}

/// The lines of a message that say something. An example and its hooks may fail with the same words, which stand in paragraphs of
/// their own: those are told once, with their number.
fn without_repeats(message: &str) -> Vec<String> {
    let mut told: Vec<(&str, usize)> = Vec::new();
    for paragraph in message.split("\n\n").map(str::trim).filter(|text| !text.is_empty()) {
        match told.iter_mut().find(|(known, _)| *known == paragraph) {
            Some((_, times)) => *times += 1,
            None => told.push((paragraph, 1)),
        }
    }
    let mut lines = Vec::new();
    for (paragraph, times) in told {
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
    let phase = plain(error.phase.as_deref().unwrap_or("outside examples"));
    style.paint(Paint::Bad, format!("✗ error ({phase}): {}", shorten(text, 200)))
}

/// What happens within an example.
pub(crate) fn inside(body: &Body, style: Style) -> Vec<String> {
    let dim = |text: &str| style.paint(Paint::Dim, text);
    let said = |who: &str, text: &str| format!("{} {}", dim(who), shorten(text, 100));
    match body {
        Body::UserMessage(message) => vec![said("User:", &message.text)],
        Body::AgentResponse(response) => {
            // An answer may be nothing but calls.
            let text = Some(response.text.as_str()).filter(|text| !text.trim().is_empty());
            let mut lines: Vec<String> =
                text.map(|text| said("Agent:", text)).into_iter().collect();
            lines.extend(reported_calls(response));
            lines
        }
        Body::ToolCallCompleted(call) => vec![completed_call(call)],
        // The first topic is where the conversation begins, not a change.
        Body::TopicChanged(change) => change.from_topic.as_ref().map_or_else(Vec::new, |from| {
            vec![dim(&shorten(&format!("topic {from} → {}", change.to_topic), 200))]
        }),
        Body::EvaluationRecorded(check)
            if check.evaluation_type.as_deref() == Some(WORKSPACE_WARNING) =>
        {
            let text = check.description.as_deref().unwrap_or("warning");
            vec![style.paint(Paint::Warn, format!("! {}", shorten(text, 200)))]
        }
        Body::EvaluationRecorded(check) if check.passed != Some(true) => {
            let text = check.failure_message.as_ref().or(check.description.as_ref());
            vec![format!("✗ {}", shorten(text.map_or("a check did not hold", |t| t), 200))]
        }
        Body::AgentError(error) => vec![format!("agent error: {}", shorten(&error.message, 200))],
        Body::JudgeError(error) => vec![format!("judge error: {}", shorten(&error.message, 200))],
        Body::WorkerLog(log) => {
            plain(&log.line).split('\n').map(|line| format!("{} {line}", dim("│"))).collect()
        }
        _ => Vec::new(),
    }
}

/// How a worker ended that should not have.
pub(crate) fn worker_died(exit: &WorkerExited, style: Style) -> Option<String> {
    if exit.expected != Some(false) {
        return None;
    }
    let how = match (exit.signal, exit.exit_status) {
        (Some(signal), _) => format!("was killed by signal {signal}"),
        (None, Some(status)) => format!("exited with {status}"),
        (None, None) => "ended".to_owned(),
    };
    Some(style.paint(Paint::Warn, format!("worker {how}")))
}

/// Calls that only the answer tells of; those with an id have events of their own.
fn reported_calls(response: &AgentResponse) -> Vec<String> {
    let name = |call: &Json| {
        let call = call.to_value();
        let name = call.get("name").and_then(|name| name.as_str().map(str::to_owned));
        name.filter(|_| call.get("id").is_none())
    };
    response
        .tool_calls
        .iter()
        .filter_map(name)
        .map(|name| format!("→ {}", shorten(&name, 100)))
        .collect()
}

fn completed_call(call: &ToolCallCompleted) -> String {
    let arguments =
        call.arguments.as_ref().map(|json| shorten(json.text(), 50)).unwrap_or_default();
    let outcome = match (&call.error, &call.result) {
        (Some(error), _) => format!(" failed: {}", shorten(error, 60)),
        (None, Some(result)) => format!(" = {}", shorten(result.text(), 60)),
        (None, None) => String::new(),
    };
    format!("→ {}({arguments}){outcome}", shorten(&call.tool_name, 100))
}
