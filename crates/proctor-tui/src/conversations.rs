//! What runs without a worker of its own, conversations above all: a row for each that runs or has failed, and for all once the run is over.
//!
//! Statuses, times and verdicts come from the shared picture of the run; only what that does not keep is kept here:
//! the turn, the last line and the cost.

use std::collections::HashMap;

use proctor_events::{Body, Event, ExampleId, Timestamp};
use proctor_record::{Attempt, Example, RunData};
use proctor_verdict::is_success;

use crate::list::Item;
use crate::text::TextLine;

/// What the events of one example say besides its attempts.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    pub(crate) turn: u32,
    /// What was last said, called or judged.
    pub(crate) last_line: String,
    /// The cost of all its model calls in US dollars, as far as it is known.
    pub(crate) cost_usd: Option<f64>,
}

/// The examples that run without a worker.
#[derive(Debug, Default)]
pub(crate) struct Conversations {
    activities: HashMap<ExampleId, Activity>,
}

/// How many of them run, have failed, and are done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ConversationCounts {
    pub(crate) running: u64,
    pub(crate) failed: u64,
    pub(crate) done: u64,
}

/// One row: an example with the attempts that decide its repetitions.
#[derive(Debug)]
pub(crate) struct ConversationRow<'a> {
    pub(crate) example: &'a Example,
    pub(crate) attempts: Vec<&'a Attempt>,
    pub(crate) activity: &'a Activity,
    pub(crate) is_failed: bool,
}

impl Conversations {
    #[cfg(test)]
    pub(crate) fn longest_line(&self) -> usize {
        self.activities.values().map(|activity| activity.last_line.len()).max().unwrap_or_default()
    }

    /// Takes an event of an example without a worker, with the lines it became.
    pub(crate) fn observe<'l>(
        &mut self,
        event: &Event,
        lines: impl IntoIterator<Item = &'l TextLine>,
    ) {
        let Some(id) = &event.example_id else { return };
        let activity = self.activities.entry(id.clone()).or_default();
        match &event.body {
            Body::ExampleStarted(_) => {
                activity.turn = 0;
                return;
            }
            // How it ended is told by its sign; the row keeps what was said before.
            Body::ExampleFinished(_) => return,
            Body::UserMessage(payload) => activity.turn = payload.turn_number,
            Body::ModelCall(payload) => {
                if let Some(cost) = payload.cost_usd {
                    *activity.cost_usd.get_or_insert_default() += cost;
                }
            }
            _ => {}
        }
        if let Some(line) = lines.into_iter().next() {
            activity.last_line = line.brief();
        }
    }

    /// The rows: what failed first, then what runs, each in the order of its start. Once the run is over, the rest follows.
    pub(crate) fn rows<'a>(&'a self, run: &'a RunData) -> Vec<ConversationRow<'a>> {
        let mut rows: Vec<_> =
            run.examples.iter().filter_map(|example| self.row(example, run)).collect();
        rows.sort_by_key(|row| !row.is_failed);
        rows
    }

    fn row<'a>(&'a self, example: &'a Example, run: &'a RunData) -> Option<ConversationRow<'a>> {
        let activity = self.activities.get(example.id.as_ref()?)?;
        if !run.over && example.attempts.iter().all(has_ended_well) {
            return None;
        }
        let attempts = example.deciding_attempts();
        let is_failed =
            attempts.iter().any(|attempt| Item::Attempt(example, attempt).belongs_to_failures(run));
        let row = ConversationRow { example, attempts, activity, is_failed };
        (is_failed || run.over || row.is_running()).then_some(row)
    }

    pub(crate) fn counts(&self, run: &RunData) -> ConversationCounts {
        let mut counts = ConversationCounts::default();
        for example in &run.examples {
            if !example.id.as_ref().is_some_and(|id| self.activities.contains_key(id)) {
                continue;
            }
            match self.row(example, run) {
                Some(row) if row.is_failed => counts.failed += 1,
                Some(row) if row.is_running() && !run.over => counts.running += 1,
                _ => counts.done += 1,
            }
        }
        counts
    }
}

/// Whether nothing more is to be said about it: it passed, and checked something.
fn has_ended_well(attempt: &Attempt) -> bool {
    attempt.status.as_ref().is_some_and(is_success) && !attempt.flaky && attempt.checks != Some(0)
}

impl<'a> ConversationRow<'a> {
    pub(crate) fn is_running(&self) -> bool {
        self.attempts.iter().any(|attempt| attempt.status.is_none())
    }

    /// The attempt to look at: one that failed, else one that runs.
    pub(crate) fn attempt(&self) -> Option<&'a Attempt> {
        let failed = |attempt: &&&'a Attempt| {
            attempt.status.as_ref().is_some_and(|status| !is_success(status))
        };
        let found = self.attempts.iter().find(failed);
        let running = || self.attempts.iter().find(|attempt| attempt.status.is_none());
        found.or_else(running).or(self.attempts.first()).copied()
    }

    /// What opens when the row is opened.
    pub(crate) fn item(&self) -> Option<Item<'a>> {
        Some(Item::Attempt(self.example, self.attempt()?))
    }

    /// When the oldest attempt that still runs began.
    pub(crate) fn running_since(&self) -> Option<Timestamp> {
        let running = self.attempts.iter().filter(|attempt| attempt.status.is_none());
        running.filter_map(|attempt| attempt.started_at).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_view::RunView;

    fn rows(lines: &[&str]) -> Vec<String> {
        let (mut run, mut conversations) = (RunView::default(), Conversations::default());
        for line in lines {
            let event = Event::from_json(line).unwrap();
            run.apply(&event);
            conversations.observe(&event, [&TextLine::new(None, event.type_name())]);
        }
        let shown = |row: &ConversationRow<'_>| {
            let activity = row.activity;
            let id = row.example.id.as_ref().unwrap();
            let sign = if row.is_failed { "!" } else { "" };
            format!("{sign}{id} {} {} {:?}", activity.turn, activity.last_line, activity.cost_usd)
        };
        conversations.rows(run.data()).iter().map(shown).collect()
    }

    const START: &str = r#"{"event_type":"ExampleStarted","example_id":"a","path":["A"]}"#;
    const SECOND: &str = r#"{"event_type":"ExampleStarted","example_id":"b","path":["B"]}"#;
    const FAILED: &str = r#"{"event_type":"ExampleFinished","example_id":"b","status":"failed","final":true,"duration_ms":1}"#;

    #[test]
    fn failures_stand_on_top_and_what_passed_leaves() {
        assert_eq!(rows(&[START, SECOND, FAILED]), ["!b 0  None", "a 0  None"]);
        let passed = r#"{"event_type":"ExampleFinished","example_id":"a","status":"passed","final":true,"checks":1}"#;
        assert_eq!(rows(&[START, SECOND, FAILED, passed]), ["!b 0  None"]);
    }

    #[test]
    fn a_pass_that_checked_nothing_is_not_hidden_while_its_run_refuses_it() {
        let passed = r#"{"event_type":"ExampleFinished","example_id":"a","status":"passed","final":true,"checks":0}"#;
        let refusing = r#"{"event_type":"SuiteStarted","policy":{"unchecked_fails":true}}"#;
        assert_eq!(rows(&[START, passed]), [""; 0]);
        assert_eq!(rows(&[refusing, START, passed]).len(), 1);
    }

    #[test]
    fn a_repetition_that_failed_keeps_the_row_while_others_run() {
        let again = r#"{"event_type":"ExampleStarted","example_id":"b","path":["B"],"repeat":2}"#;
        assert_eq!(rows(&[SECOND, FAILED, again]).len(), 1);
    }

    #[test]
    fn turn_cost_and_last_line_follow_the_events() {
        let say = r#"{"event_type":"UserMessage","example_id":"a","turn_number":2,"text":"x"}"#;
        let call = r#"{"event_type":"ModelCall","example_id":"a","cost_usd":0.5}"#;
        assert_eq!(rows(&[START, say, call, call, say]), ["a 2 UserMessage Some(1.0)"]);
    }

    #[test]
    fn after_the_run_everything_has_a_row() {
        let end =
            r#"{"event_type":"SuiteFinished","example_count":1,"failure_count":0,"duration_ms":3}"#;
        let passed = r#"{"event_type":"ExampleFinished","example_id":"a","status":"passed","final":true,"checks":1}"#;
        assert_eq!(rows(&[START, passed, SECOND, FAILED]), ["!b 0  None"]);
        assert_eq!(rows(&[START, passed, SECOND, FAILED, end]), ["!b 0  None", "a 0  None"]);
    }
}
