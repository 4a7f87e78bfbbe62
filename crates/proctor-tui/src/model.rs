//! The state of the screen that comes from events.

use std::sync::Arc;
use std::time::Duration;

use proctor_events::{Body, Event};

use crate::conversations::Conversations;
use crate::event_lines::{EventLines, is_failure};
use crate::run_view::{AttemptLines, LineOwner, RunView};
use crate::text::TextLine;
use crate::workers::{Tab, Workers};

/// The run, its workers and conversations, and the lines of its attempts.
#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) run: RunView,
    pub(crate) workers: Workers,
    pub(crate) conversations: Conversations,
    pub(crate) attempt_lines: AttemptLines,
    event_lines: EventLines,
}

impl Model {
    /// Takes one event; returns the tab on which something failed with it, if so.
    pub(crate) fn apply(&mut self, event: &Event, now: Duration) -> Option<Tab> {
        self.run.apply(event);
        if let Body::SuiteStarted(payload) = &event.body {
            self.workers.prepare(payload.workers.unwrap_or_default());
        }
        let title = self.run.title(event);
        let lines = self.event_lines.lines_for(event, &title);
        let lines: Vec<Arc<TextLine>> = lines.into_iter().map(Arc::new).collect();
        self.keep_attempt_lines(event, &lines);
        if self.workers.tab_of(event) == Tab::Conversations {
            self.conversations.observe(event, lines.iter().map(|line| &**line));
        }
        let tab = self.workers.observe(event, &title, &lines, now)?;
        is_failure(event).then_some(tab)
    }

    /// The end of an attempt is shown on its page already, so it is not among its lines.
    fn keep_attempt_lines(&mut self, event: &Event, lines: &[Arc<TextLine>]) {
        if event.example_id.is_none() {
            return;
        }
        match &event.body {
            Body::ExampleStarted(_) => {}
            Body::ExampleFinished(_) => {
                self.attempt_lines.close(LineOwner::of(event), is_failure(event));
            }
            _ => {
                let key = LineOwner::of(event);
                for line in lines {
                    self.attempt_lines.push(&key, line);
                }
            }
        }
    }
}
