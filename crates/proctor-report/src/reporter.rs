//! Views of a running run: events in, text out. Nothing here prints, waits or looks at a clock.

mod agent_lines;
mod grouped;
mod held_lines;
mod interleaved;
mod quiet;
mod terse;

use proctor_events::{Event, SuiteStarted, Timestamp};
use proctor_record::RunData;
use proctor_text::pluralize;
use proctor_verdict::AttemptKey as Key;

pub use agent_lines::AgentLines;
pub use grouped::Grouped;
pub use interleaved::Interleaved;
pub use quiet::Quiet;
pub use terse::Terse;

use crate::style::{Paint, Style};

/// A view of a running run.
pub trait Reporter {
    /// The text to print for one event; often none. Whole lines, but for views that draw dots.
    fn event(&mut self, event: &Event) -> String;

    /// The text to print when time has passed without events; mostly none.
    ///
    /// Calling it is optional. It lets a view say that an example takes long while nothing happens.
    fn tick(&mut self, now: Timestamp) -> String {
        let _ = now;
        String::new()
    }

    /// The text to print when the run is over: what is still held back, then the summary.
    fn finish(&mut self, run: &RunData) -> String;
}

/// The first line of a run.
fn header(suite: &SuiteStarted, style: Style) -> String {
    let mut parts = Vec::new();
    let repeats = suite.repeats.filter(|repeats| *repeats > 1);
    // Streams of version 0.1 count every repetition as an example.
    let older = suite.repetition_count.is_none();
    let each = if older { u64::from(repeats.unwrap_or(1)) } else { 1 };
    parts.extend(suite.example_count.map(|count| pluralize(count / each, "example")));
    parts.extend(repeats.map(|repeats| format!("{repeats} times each")));
    parts.extend(suite.repeat_limit.map(|limit| format!("up to {limit} times each")));
    parts.extend(suite.workers.map(|workers| pluralize(workers, "worker")));
    parts.extend(suite.seed.map(|seed| format!("seed {seed}")));
    let text = if parts.is_empty() { "run started".to_owned() } else { parts.join(", ") };
    format!("{}\n", style.paint(Paint::Bold, format!("▶ {text}")))
}

#[cfg(test)]
mod tests;
