//! A run with a bit of everything, and what tests do with runs.

use proctor_events::Event;
use proctor_record::{Aggregator, RunData};

use crate::reporter::Reporter;
use crate::style::Style;

pub(crate) const NO_COLOR: Style = Style { color: false };
pub(crate) const COLOR: Style = Style { color: true };

/// A run in which almost everything happens that can.
pub(crate) const EVERYTHING: &str = include_str!("testing/everything.jsonl");

pub(crate) fn events(text: &str) -> impl Iterator<Item = Event> {
    text.lines().filter(|line| !line.trim().is_empty()).map(|line| Event::from_json(line).unwrap())
}

pub(crate) fn folded(text: &str) -> RunData {
    let mut aggregator = Aggregator::default();
    events(text).for_each(|event| aggregator.apply(&event));
    aggregator.into_run()
}

/// Everything a reporter prints over a run.
pub(crate) fn printed(reporter: &mut dyn Reporter, text: &str) -> String {
    let shown: String = events(text).map(|event| reporter.event(&event)).collect();
    shown + &reporter.finish(&folded(text))
}

/// Colour codes made visible, for snapshots.
pub(crate) fn visible(text: &str) -> String {
    text.replace('\x1b', "␛")
}
