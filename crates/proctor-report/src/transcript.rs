//! A whole run, as a person would read it.

use std::io;

use proctor_events::Status;
use proctor_record::{Attempt, Example, ExampleSource, OutsideError, RunData};
use proctor_text::printable;
use proctor_verdict::Counts;

use crate::counts::counts_line;
use crate::failure::{has_failure_to_show, status_words};
use crate::page::{TextPage, left_behind};
use crate::pieces::PIECE;
use crate::style::{Paint, Style, duration};

/// How much to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// One line per example; more only where something went wrong.
    Brief,
    /// Every conversation in full.
    Full,
}

/// The run as text.
pub fn transcript(run: &RunData, detail: Detail, style: Style) -> String {
    let mut text = String::new();
    // A run in memory can be read, and a string takes everything.
    let _ = write_transcript(run, &run.summary(), detail, style, &mut |piece| {
        text.push_str(piece);
        Ok(())
    });
    text
}

/// Writes a run with these counts as text, in pieces of about one example.
pub fn write_transcript(
    source: &dyn ExampleSource,
    counts: &Counts,
    detail: Detail,
    style: Style,
    write: &mut dyn FnMut(&str) -> io::Result<()>,
) -> io::Result<()> {
    let run = source.run();
    let mut page = TextPage::new(style, detail);
    page.heading(run, counts);
    for error in &run.errors {
        page.outside_error(error);
    }
    for place in 0..source.example_count() {
        source.with_example(place, &mut |example| page.example(example))?;
        if page.text.len() >= PIECE {
            write(&page.text)?;
            page.text.clear();
        }
    }
    for (event_type, count) in &run.unknown_events {
        let note = format!("{count} × {} from a newer proctor, not shown", printable(event_type));
        page.line(0, &style.paint(Paint::Dim, note));
    }
    write(&page.text)
}

impl TextPage {
    fn heading(&mut self, run: &RunData, counts: &Counts) {
        let mut parts = Vec::new();
        parts.push(run.run_id.as_ref().map_or_else(|| "run".into(), |id| format!("run {id}")));
        parts.extend(run.started_at.map(|time| time.to_string()));
        parts.extend(run.seed.map(|seed| format!("seed {seed}")));
        let verdict = run.verdict();
        let cause = verdict.stopped_by().map(|cause| format!(" by {}", printable(cause.as_str())));
        parts.push(format!("{}{}", verdict.phrase(), cause.unwrap_or_default()));
        parts.extend(run.duration_ms.map(|taken| format!("took {}", duration(taken))));
        let title = self.style.paint(Paint::Bold, parts.join(" · "));
        self.line(0, &title);
        let counts = counts_line(counts, self.style);
        self.line(0, &counts);
        self.line(0, "");
    }

    fn outside_error(&mut self, error: &OutsideError) {
        let phase = error.phase.as_deref().unwrap_or("outside examples");
        let place = error.place.as_deref().map(|place| format!(" in {}", printable(place)));
        let title = format!("✗ error, {}{}", printable(phase), place.unwrap_or_default());
        let title = self.style.paint(Paint::Bad, title);
        self.line(0, &title);
        if let Some(exception) = &error.exception {
            self.exception(exception.class.as_deref(), &exception.message, &exception.backtrace);
        } else if let Some(message) = &error.message {
            self.line(4, &printable(message));
        }
    }

    fn example(&mut self, example: &Example) {
        for attempt in &example.attempts {
            self.attempt_title(example, attempt);
            if self.detail == Detail::Full || has_failure_to_show(attempt) || !attempt.was_made() {
                self.attempt_body(attempt);
            }
        }
    }

    fn attempt_title(&mut self, example: &Example, attempt: &Attempt) {
        let mut notes = Vec::new();
        if attempt.status.as_ref().is_none_or(|status| status.as_str() != "passed") {
            notes.push(status_words(attempt));
        }
        if example.attempts.len() > 1 {
            notes.push(match attempt.repeat {
                1 => format!("attempt {}", attempt.attempt),
                repeat => format!("repeat {repeat}, attempt {}", attempt.attempt),
            });
        }
        if attempt.flaky {
            notes.push("flaky".to_owned());
        }
        if attempt.status == Some(Status::Passed) && attempt.checks == Some(0) {
            notes.push("checked nothing".to_owned());
        }
        notes.extend(attempt.duration_ms.map(duration));
        notes.extend(example.location.as_deref().map(|place| printable(place).into_owned()));
        let mark = self.style.mark(attempt.status.as_ref());
        let title = example.title();
        let line = format!("{mark} {}  {}", printable(&title), self.dim(&notes.join(" · ")));
        self.line(0, &line);
    }

    fn attempt_body(&mut self, attempt: &Attempt) {
        if let Some(message) = &attempt.message {
            self.line(4, &printable(message));
        }
        if let Some(conversation) = &attempt.conversation {
            self.conversation(conversation);
        }
        for evaluation in &attempt.evaluations {
            self.evaluation(evaluation);
        }
        for party_error in &attempt.troubles {
            self.party_error(party_error);
        }
        if let Some(exception) = &attempt.exception {
            self.exception(exception.class.as_deref(), &exception.message, &exception.backtrace);
        }
        for leaked in &attempt.leaked {
            let text = self.style.paint(Paint::Warn, left_behind(leaked));
            self.line(4, &text);
        }
        self.output(attempt);
    }
}

#[cfg(test)]
mod tests;
