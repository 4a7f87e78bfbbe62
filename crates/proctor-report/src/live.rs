//! Events as they come, a line or a few each, prefixed by the worker they came from.

use std::collections::HashMap;

use proctor_events::{
    AgentResponse, Body, Event, ExampleFinished, ExampleId, ExampleStarted, Json, Status,
    SuiteFinished, SuiteStarted, ToolCallCompleted,
};

use crate::style::{Paint, Style, counted, duration, plain, shorten};

/// Renders a stream; remembers the names of running examples.
#[derive(Debug)]
pub struct LiveLines {
    style: Style,
    running: HashMap<ExampleId, String>,
}

impl LiveLines {
    /// A renderer that has seen nothing.
    pub fn new(style: Style) -> Self {
        Self { style, running: HashMap::new() }
    }

    /// The lines for one event; often none.
    pub fn render(&mut self, event: &Event) -> Vec<String> {
        let lines = match &event.body {
            Body::SuiteStarted(suite) => return vec![self.suite_started(suite)],
            Body::SuiteFinished(suite) => return vec![self.suite_finished(suite)],
            Body::ExampleStarted(started) => self.started(event, started),
            Body::ExampleFinished(finished) => self.finished(event, finished),
            Body::ErrorOutsideExample(error) => {
                let text = error.exception.as_ref().map(|e| e.message.as_str());
                let text = text.or(error.message.as_deref()).unwrap_or("unknown error");
                let phase = error.phase.as_deref().unwrap_or("outside examples");
                vec![
                    self.style
                        .paint(Paint::Bad, format!("✗ error ({phase}): {}", shorten(text, 200))),
                ]
            }
            body => self.inside(body),
        };
        let prefix = self.prefix(event);
        lines.into_iter().map(|line| format!("{prefix}{line}")).collect()
    }

    fn suite_started(&self, suite: &SuiteStarted) -> String {
        let mut parts = vec!["▶ run started".to_owned()];
        parts.extend(suite.example_count.map(|count| counted(count, "example")));
        parts.extend(suite.seed.map(|seed| format!("seed {seed}")));
        self.style.paint(Paint::Bold, parts.join(", "))
    }

    fn suite_finished(&self, suite: &SuiteFinished) -> String {
        let taken = suite.duration_ms.map(|taken| format!(" in {}", duration(taken)));
        let paint = if suite.failure_count == 0 { Paint::Good } else { Paint::Bad };
        let all = counted(suite.example_count, "example");
        let failures = counted(suite.failure_count, "failure");
        self.style.paint(paint, format!("■ {all}, {failures}{}", taken.unwrap_or_default()))
    }

    fn prefix(&self, event: &Event) -> String {
        event.worker.map_or_else(String::new, |worker| {
            self.style.paint(Paint::Worker(worker), format!("[{}] ", worker + 1))
        })
    }

    fn started(&mut self, event: &Event, started: &ExampleStarted) -> Vec<String> {
        let title = match &*started.path {
            [] => started.full_description.clone().unwrap_or_default(),
            path => path.join(" > "),
        };
        let title = plain(&title).into_owned();
        let line = format!("{} {title}", self.style.mark(None));
        if let Some(id) = &event.example_id {
            self.running.insert(id.clone(), title);
        }
        vec![line]
    }

    fn finished(&mut self, event: &Event, finished: &ExampleFinished) -> Vec<String> {
        let known = event.example_id.as_ref().and_then(|id| self.running.remove(id));
        let title = known
            .or_else(|| finished.full_description.clone())
            .or_else(|| event.example_id.as_ref().map(ToString::to_string))
            .unwrap_or_default();
        let mut notes = Vec::new();
        if finished.status != Status::Passed {
            notes.push(finished.status.as_str().replace('_', " "));
        }
        notes.extend(finished.duration_ms.map(duration));
        let mark = self.style.mark(Some(&finished.status));
        let notes = self.style.paint(Paint::Dim, notes.join(" · "));
        let mut lines = vec![format!("{mark} {}  {notes}", plain(&title))];
        if finished.status.is_success() {
            lines.extend(finished.message.iter().map(|text| format!("    {}", shorten(text, 200))));
            return lines;
        }
        let exception = finished.exception.as_ref();
        let message = exception.map(|e| e.message.as_str()).or(finished.message.as_deref());
        for line in
            message.unwrap_or_default().lines().filter(|line| !line.trim().is_empty()).take(3)
        {
            lines.push(format!("    {}", self.style.paint(Paint::Bad, shorten(line, 200))));
        }
        let backtrace = exception.map_or(&[][..], |e| &e.backtrace);
        for line in backtrace.iter().take(3) {
            lines.push(format!("    {}", self.style.paint(Paint::Dim, plain(line))));
        }
        lines
    }

    /// What happens within an example.
    fn inside(&self, body: &Body) -> Vec<String> {
        let dim = |text: &str| self.style.paint(Paint::Dim, text);
        let said = |who: &str, text: &str| format!("    {} {}", dim(who), shorten(text, 100));
        match body {
            Body::UserMessage(message) => vec![said("User:", &message.text)],
            Body::AgentResponse(response) => {
                let mut lines = vec![said("Agent:", &response.text)];
                lines.extend(reported_calls(response));
                lines
            }
            Body::ToolCallCompleted(call) => vec![completed_call(call)],
            Body::TopicChanged(change) => {
                change.from_topic.as_ref().map_or_else(Vec::new, |from| {
                    vec![format!(
                        "    {}",
                        dim(&plain(&format!("topic {from} → {}", change.to_topic)))
                    )]
                })
            }
            Body::EvaluationRecorded(check) if check.passed != Some(true) => {
                let text = check.failure_message.as_ref().or(check.description.as_ref());
                vec![format!("    ✗ {}", shorten(text.map_or("a check did not hold", |t| t), 200))]
            }
            Body::AgentError(error) => {
                vec![format!("    agent error: {}", shorten(&error.message, 200))]
            }
            Body::JudgeError(error) => {
                vec![format!("    judge error: {}", shorten(&error.message, 200))]
            }
            Body::WorkerLog(log) => vec![format!("    {} {}", dim("│"), plain(&log.line))],
            Body::WorkerExited(exit) if exit.expected == Some(false) => {
                let how = match (exit.signal, exit.exit_status) {
                    (Some(signal), _) => format!("was killed by signal {signal}"),
                    (None, Some(status)) => format!("exited with {status}"),
                    (None, None) => "ended".to_owned(),
                };
                vec![self.style.paint(Paint::Warn, format!("worker {how}"))]
            }
            _ => Vec::new(),
        }
    }
}

fn reported_calls(response: &AgentResponse) -> Vec<String> {
    let name =
        |call: &Json| call.to_value().get("name").and_then(|n| n.as_str().map(str::to_owned));
    response
        .tool_calls
        .iter()
        .filter_map(name)
        .map(|name| format!("    → {}", plain(&name)))
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
    format!("    → {}({arguments}){outcome}", plain(&call.tool_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flow_of_the_seed_line_by_line() {
        let mut live = LiveLines::new(Style { color: false });
        let text = include_str!("../../proctor-record/tests/seed_flow.jsonl");
        let lines: Vec<String> = text
            .lines()
            .flat_map(|line| live.render(&Event::from_json(line).unwrap().from_worker(1)))
            .collect();
        insta::assert_snapshot!(lines.join("\n"));
    }
}
