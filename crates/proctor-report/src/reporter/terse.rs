//! Failures and one line, as short as can be: for coding agents, which pay for every word.

use proctor_events::Event;
use proctor_record::{OutsideError, RunData};
use proctor_text::{pluralize, printable, shorten, truncate};

use super::Reporter;
use crate::failure::{
    Failure, failures, has_failure_to_show, message_of, outside_message, project_line,
    unchecked_examples,
};
use crate::page::TextPage;
use crate::rerun::RerunCommands;
use crate::style::{Paint, Style};
use crate::summary::{SummaryOptions, counts_line};
use crate::transcript::Detail;

/// How many failures are shown, and how many lines of each message: with title, output, place and
/// command a failure has at most twelve.
const MAX_FAILURES: usize = 20;
const MESSAGE_LINES: usize = 6;
/// How many characters of a line are shown.
const LINE_CHARACTERS: usize = 200;
const OUTPUT_LINES: usize = 2;
/// How many examples that checked nothing are named.
const MAX_UNCHECKED: usize = 5;

/// Failures and one line.
#[derive(Debug)]
pub struct Terse {
    style: Style,
    options: SummaryOptions,
}

impl Terse {
    /// A view that has seen nothing.
    pub fn new(style: Style, options: SummaryOptions) -> Self {
        Self { style, options }
    }
}

impl Reporter for Terse {
    fn event(&mut self, event: &Event) -> String {
        self.options.read_event(event);
        String::new()
    }

    fn finish(&mut self, run: &RunData) -> String {
        let mut page = TextPage::new(self.style, Detail::Brief);
        let failed = failures(run);
        let rerun_commands = RerunCommands::new(run);
        for error in run.errors.iter().take(MAX_FAILURES) {
            page.terse_error(error);
        }
        let limit = MAX_FAILURES.saturating_sub(run.errors.len());
        for failure in failed.iter().take(limit) {
            page.terse_failure(failure, &rerun_commands);
        }
        let left_out = (run.errors.len() + failed.len()).saturating_sub(MAX_FAILURES);
        if left_out > 0 {
            let more = pluralize(left_out, "more failure");
            page.line(0, &format!("… {more} not shown; see `proctor show last`"));
        }
        page.terse_unchecked(run);
        page.accounting(run);
        let line = counts_line(run, &self.options, self.style);
        page.line(0, &line);
        page.text
    }
}

impl TextPage {
    fn terse_error(&mut self, error: &OutsideError) {
        let phase = error.phase.as_deref().unwrap_or("outside examples").replace('_', " ");
        let place = error.place.as_deref().map(|place| format!(" {place}"));
        let title = shorten(&format!("ERROR {phase}{}", place.unwrap_or_default()), 200);
        let title = self.style.paint(Paint::Bad, title);
        self.line(0, &title);
        self.few_lines(&outside_message(error));
        self.source_line(error.exception.as_ref().and_then(project_line));
    }

    fn terse_failure(&mut self, failure: &Failure<'_>, rerun_commands: &RerunCommands) {
        let Failure { example, first, others, .. } = failure;
        let word = failure.word().to_uppercase();
        let word = self.style.paint(Paint::Bad, word);
        let place = example.location.as_deref().map(|place| format!(" ({})", shorten(place, 200)));
        let title = shorten(&example.title(), 200);
        let fault = first.fault.as_ref().map(|f| format!(" fault: {}", shorten(f.as_str(), 40)));
        let after = format!("{}{}", place.unwrap_or_default(), fault.unwrap_or_default());
        self.line(0, &format!("{word} {title}{after}"));
        if let Some(reason) = failure.reason() {
            self.line(2, &reason);
        }
        if has_failure_to_show(first) {
            self.few_lines(&message_of(first));
        }
        if first.exception.is_none() {
            let skipped = first.output_tail.len().saturating_sub(OUTPUT_LINES);
            for line in first.output_tail.iter().skip(skipped) {
                self.line(2, &format!("output: {}", shorten(line, 200)));
            }
        }
        self.source_line(first.exception.as_deref().and_then(project_line));
        if !others.is_empty() {
            self.line(2, &format!("{} failed too", pluralize(others.len(), "more repeat")));
        }
        if let Some(command) = rerun_commands.command(example) {
            self.line(2, &command);
        }
    }

    /// The examples that checked nothing, where they do not fail the run: those that do stand above.
    fn terse_unchecked(&mut self, run: &RunData) {
        if run.policy.unchecked_fails {
            return;
        }
        let found = unchecked_examples(run);
        for (example, verdict) in found.iter().take(MAX_UNCHECKED) {
            let place =
                example.location.as_deref().map(|place| format!(" ({})", shorten(place, 200)));
            let title = shorten(&example.title(), 200);
            self.line(0, &format!("UNCHECKED {title}{}", place.unwrap_or_default()));
            self.line(2, &verdict.unchecked_phrase().unwrap_or_default());
        }
        let left_out = found.len().saturating_sub(MAX_UNCHECKED);
        if left_out > 0 {
            let more = pluralize(left_out, "more example");
            self.line(0, &format!("… {more} passed without checking anything"));
        }
    }

    /// The lines of a message that are not empty, a few of them.
    fn few_lines(&mut self, message: &str) {
        let lines: Vec<&str> = message.lines().filter(|line| !line.trim().is_empty()).collect();
        // One line more costs as much as saying that there is one.
        let shown = if lines.len() == MESSAGE_LINES + 1 { lines.len() } else { MESSAGE_LINES };
        for line in lines.iter().take(shown) {
            // As it stands: a mark below a line must stay below its letter.
            self.line(2, &truncate(&printable(line.trim_end()), LINE_CHARACTERS));
        }
        if lines.len() > shown {
            let more = pluralize(lines.len() - shown, "more line");
            self.line(2, &format!("… {more}"));
        }
    }

    fn source_line(&mut self, line: Option<String>) {
        if let Some(line) = line {
            self.line(2, &format!("at {}", shorten(&line, 200)));
        }
    }
}
