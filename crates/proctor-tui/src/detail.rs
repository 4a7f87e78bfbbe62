//! One example in full: how it ended, how to run it again, and what happened.

use std::sync::Arc;

use proctor_events::Status;
use proctor_record::{Attempt, Example, OutsideError};
use proctor_report::{Paint, duration, rerun_command};
use proctor_text::shorten;

use crate::event_lines::failure;
use crate::list::{Item, ItemKey};
use crate::run_view::{AttemptLines, RunView};
use crate::scroll::LineBuffer;
use crate::text::TextLine;
use crate::theme::{paint_of, sign_of, word_of};

/// The page of an item.
pub(crate) fn page(item: &Item<'_>, run: &RunView, attempt_lines: &AttemptLines) -> LineBuffer {
    let mut page = DetailPage::default();
    match item {
        Item::Outside(_, error) => page.outside(item, error, run),
        Item::Attempt(example, attempt) => {
            page.verdict(item, example, attempt, run);
            page.reason(attempt);
            page.event_lines(item, attempt, attempt_lines);
        }
    }
    page.lines.into_iter().collect()
}

/// The command that runs an item again, where there is one.
pub(crate) fn rerun(item: &Item<'_>, run: &RunView) -> Option<String> {
    let Item::Attempt(example, _) = item else { return None };
    rerun_command(run.data(), example)
}

#[derive(Default)]
struct DetailPage {
    lines: Vec<Arc<TextLine>>,
}

impl DetailPage {
    fn add(&mut self, lines: impl IntoIterator<Item = TextLine>) {
        self.lines.extend(lines.into_iter().map(Arc::new));
    }

    fn line(&mut self, paint: Option<Paint>, text: &str) {
        self.add([TextLine::new(paint, text)]);
    }

    fn gap(&mut self) {
        self.line(None, "");
    }

    fn verdict(&mut self, item: &Item<'_>, example: &Example, attempt: &Attempt, run: &RunView) {
        self.line(Some(Paint::Bold), &item.title(run));
        let status = attempt.status.as_ref();
        let mut words = vec![status.map_or_else(|| "running".to_owned(), word_of)];
        words.extend(attempt.fault.as_ref().map(|fault| format!("fault: {fault}")));
        if attempt.flaky {
            words.push("flaky: it failed before".to_owned());
        }
        if attempt.status == Some(Status::Passed) && attempt.checks == Some(0) {
            words.push("it checked nothing".to_owned());
        }
        words.extend(attempt.duration_ms.map(duration));
        words.extend(attempt.worker.map(|worker| format!("worker {worker}")));
        if attempt.attempt > 1 {
            words.push(format!("attempt {}", attempt.attempt));
        }
        words.extend(attempt.exit_status.map(|code| format!("its worker exited with {code}")));
        words.extend(attempt.signal.map(|signal| format!("its worker died of signal {signal}")));
        let paint = Some(paint_of(status));
        self.add([TextLine::led(
            &format!("{} ", sign_of(status)),
            paint,
            paint,
            &words.join(" · "),
        )]);
        if let Some(place) = &example.location {
            self.add([TextLine::led("  at ", Some(Paint::Dim), None, place)]);
        }
        if let Some(command) = rerun(item, run) {
            self.add([TextLine::led("  run again: ", Some(Paint::Dim), None, &command)]);
        }
        self.gap();
    }

    fn reason(&mut self, attempt: &Attempt) {
        let before = self.lines.len();
        if let Some(message) = &attempt.message {
            self.add(TextLine::block("    ", None, None, message));
        }
        if let Some(exception) = &attempt.exception {
            self.add(failure(exception, usize::MAX));
        }
        for leaked in &attempt.leaked {
            let command = shorten(leaked.command.as_deref().unwrap_or("a process"), 120);
            let text = format!("left behind: {command} (pid {}), ended", leaked.pid);
            self.add([TextLine::led("  ! ", Some(Paint::Warn), None, &text)]);
        }
        if self.lines.len() > before {
            self.gap();
        }
    }

    fn event_lines(&mut self, item: &Item<'_>, attempt: &Attempt, attempt_lines: &AttemptLines) {
        let ItemKey::Attempt(key) = item.key() else { return };
        let before = self.lines.len();
        self.line(Some(Paint::Bold), "what happened");
        self.lines.extend(attempt_lines.of(&key).cloned());
        if self.lines.len() == before + 1 {
            let tail = attempt.output_tail.iter();
            self.add(tail.map(|line| TextLine::led("  │ ", Some(Paint::Dim), None, line)));
        }
        if self.lines.len() == before + 1 {
            let note = "  nothing was said or printed, or it is no longer kept: see `proctor show`";
            self.line(Some(Paint::Dim), note);
        }
    }

    fn outside(&mut self, item: &Item<'_>, error: &OutsideError, run: &RunView) {
        let bad = Some(Paint::Bad);
        self.add([TextLine::led("✗ ", bad, bad, &item.title(run))]);
        self.line(Some(Paint::Dim), "  outside any example; it fails the run");
        self.gap();
        if let Some(message) = &error.message {
            self.add(TextLine::block("    ", None, None, message));
        }
        if let Some(exception) = &error.exception {
            self.add(failure(exception, usize::MAX));
        }
    }
}

#[cfg(test)]
mod tests {
    use proctor_events::Event;

    use super::*;
    use crate::list::{ListFilter, items};

    fn shown(lines: &[&str]) -> String {
        let mut run = RunView::default();
        for line in lines {
            run.apply(&Event::from_json(line).unwrap());
        }
        let items = items(run.data(), ListFilter::All);
        let line_buffer = page(&items[0], &run, &AttemptLines::default());
        line_buffer.numbered().map(|(_, line)| line.shown() + "\n").collect()
    }

    #[test]
    fn a_crash_shows_the_tail_of_its_output() {
        insta::assert_snapshot!(shown(&[
            r#"{"event_type":"ExampleStarted","example_id":"a","path":["A","it's b"],"location":"./spec/a b_spec.rb:3","worker":1}"#,
            r#"{"event_type":"ExampleFinished","example_id":"a","status":"crashed","signal":9,"message":"killed","output_tail":["one","two"],"leaked":[{"pid":7,"command":"sleep 9"}]}"#,
        ]));
    }

    #[test]
    fn an_error_outside_examples_has_no_command() {
        insta::assert_snapshot!(shown(&[
            r#"{"event_type":"ErrorOutsideExample","phase":"load","place":"./spec/x_spec.rb","exception":{"class":"NameError","message":"uninitialized constant","backtrace":["./spec/x_spec.rb:1"]}}"#,
        ]));
    }
}
