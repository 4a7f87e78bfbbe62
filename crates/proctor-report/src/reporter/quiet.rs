//! A character per example, failures at the end.

use proctor_events::{Body, Event, Status};
use proctor_record::RunData;

use super::Reporter;
use crate::style::{Paint, Style};
use crate::summary::{SummaryOptions, summary};

/// A character per example: `.` passed, `F` failed, `*` pending, `E` errored or inconclusive, `C` crashed,
/// `T` timed out, `-` not run or cancelled.
#[derive(Debug)]
pub struct Quiet {
    style: Style,
    options: SummaryOptions,
    width: usize,
    column: usize,
}

impl Quiet {
    /// How many characters a line has, unless said otherwise.
    pub const DEFAULT_WIDTH: usize = 50;

    /// A view that has seen nothing.
    pub fn new(style: Style, options: SummaryOptions, width: usize) -> Self {
        Self { style, options, width: width.max(1), column: 0 }
    }

    fn character(&mut self, status: &Status) -> String {
        let (paint, sign) = match status {
            Status::Passed => (Paint::Good, "."),
            Status::Failed => (Paint::Bad, "F"),
            Status::Pending => (Paint::Warn, "*"),
            Status::Crashed => (Paint::Bad, "C"),
            Status::TimedOut => (Paint::Bad, "T"),
            Status::Cancelled | Status::NotRun => (Paint::Dim, "-"),
            _ => (Paint::Bad, "E"),
        };
        self.column += 1;
        let mut text = self.style.paint(paint, sign);
        if self.column == self.width {
            self.column = 0;
            text.push('\n');
        }
        text
    }
}

impl Reporter for Quiet {
    fn event(&mut self, event: &Event) -> String {
        self.options.read_event(event);
        match &event.body {
            // An attempt that is followed by another decides nothing.
            Body::ExampleFinished(finished) if finished.r#final != Some(false) => {
                self.character(&finished.status)
            }
            _ => String::new(),
        }
    }

    fn finish(&mut self, run: &RunData) -> String {
        let end = if self.column > 0 { "\n" } else { "" };
        self.column = 0;
        format!("{end}\n{}", summary(run, &self.options, self.style))
    }
}
