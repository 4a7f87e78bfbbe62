//! Events as they come, a line or a few each, prefixed by the worker they came from.

use std::collections::HashMap;

use proctor_events::{Body, Event, ExampleFinished, ExampleStarted, SuiteFinished, SuiteStarted};
use proctor_text::pluralize;
use proctor_verdict::AttemptKey;

use crate::style::{Paint, Style, duration};
use crate::terminal_lines;

/// Renders a stream; remembers the names of running attempts.
#[derive(Debug)]
pub struct LiveLines {
    style: Style,
    running: HashMap<AttemptKey, String>,
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
                vec![terminal_lines::outside_error(error, self.style)]
            }
            Body::WorkerExited(exit) => {
                terminal_lines::worker_exit_line(exit, self.style).into_iter().collect()
            }
            body => indented(terminal_lines::within_example(body, self.style)),
        };
        let prefix = terminal_lines::worker_prefix(event.worker, self.style);
        lines.into_iter().map(|line| format!("{prefix}{line}")).collect()
    }

    fn suite_started(&self, suite: &SuiteStarted) -> String {
        let mut parts = vec!["▶ run started".to_owned()];
        parts.extend(suite.example_count.map(|count| pluralize(count, "example")));
        parts.extend(suite.seed.map(|seed| format!("seed {seed}")));
        self.style.paint(Paint::Bold, parts.join(", "))
    }

    fn suite_finished(&self, suite: &SuiteFinished) -> String {
        let taken = suite.duration_ms.map(|taken| format!(" in {}", duration(taken)));
        let paint = if suite.failure_count == 0 { Paint::Good } else { Paint::Bad };
        let all = pluralize(suite.example_count, "example");
        let failures = pluralize(suite.failure_count, "failure");
        self.style.paint(paint, format!("■ {all}, {failures}{}", taken.unwrap_or_default()))
    }

    fn started(&mut self, event: &Event, started: &ExampleStarted) -> Vec<String> {
        let title = terminal_lines::title(started);
        let line = format!("{} {title}", self.style.mark(None));
        if let Some(key) = AttemptKey::of(event) {
            self.running.insert(key, title);
        }
        vec![line]
    }

    fn finished(&mut self, event: &Event, finished: &ExampleFinished) -> Vec<String> {
        let known = AttemptKey::of(event).and_then(|key| self.running.remove(&key));
        let title = known.unwrap_or_else(|| terminal_lines::title_at_end(event, finished));
        let mut shown = vec![terminal_lines::finished_title(event, finished, &title, self.style)];
        shown.extend(indented(terminal_lines::finished_body(finished, &[], self.style)));
        shown
    }
}

fn indented(lines: Vec<String>) -> Vec<String> {
    lines.into_iter().map(|line| format!("    {line}")).collect()
}

#[cfg(test)]
mod tests {
    use proctor_events::ExampleId;

    use super::*;

    /// Repetitions that run at the same time all keep their name.
    #[test]
    fn repetitions_at_once_are_told_by_name() {
        let mut live = LiveLines::new(Style { color: false });
        let id = ExampleId::from("a3f2b1c9d4e5");
        let started = |repeat| {
            let body =
                ExampleStarted { path: vec!["T".into(), "greets".into()], ..Default::default() };
            Event::from(body).about(&id).in_attempt(repeat, 1)
        };
        let finished =
            |repeat| Event::from(ExampleFinished::default()).about(&id).in_attempt(repeat, 1);
        for repeat in 1..=3 {
            live.render(&started(repeat));
        }
        for repeat in 1..=3 {
            let line = live.render(&finished(repeat)).remove(0);
            assert!(line.contains("T > greets"), "{line}");
        }
    }

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
