//! What every worker is doing: a tab each, with its last lines, and one for all examples without a worker.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use proctor_events::{Body, Event, Status};

use crate::focus::WorkerActivity;
use crate::run_view::LineOwner;
use crate::scroll::{LineBuffer, Scroll};
use crate::text::TextLine;

/// How many lines are kept for each worker.
const MAX_WORKER_LINES: usize = 500;
/// How many tabs are prepared before their workers send events.
const MAX_PREPARED_TABS: u32 = 64;

/// Whose tab it is. The run's own comes last, so that the numbers stand where their keys are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tab {
    /// A worker, from 0.
    Worker(u32),
    /// Examples that run without a worker: conversations, orchestrators.
    Conversations,
    /// What belongs to no example and no worker.
    Run,
}

/// One worker, or the run itself.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) tab: Tab,
    pub(crate) pid: Option<u32>,
    /// What it runs now; more than one where conversations share a worker.
    running: Vec<(LineOwner, Arc<str>)>,
    /// How its last example ended.
    pub(crate) last: Option<Status>,
    /// Whether its process has ended.
    pub(crate) exited: bool,
    pub(crate) line_buffer: LineBuffer,
    pub(crate) scroll: Scroll,
    active: Duration,
    event: u64,
}

impl Worker {
    fn new(tab: Tab) -> Self {
        Self {
            tab,
            pid: None,
            running: Vec::new(),
            last: None,
            exited: false,
            line_buffer: LineBuffer::new(MAX_WORKER_LINES),
            scroll: Scroll::End,
            active: Duration::ZERO,
            event: 0,
        }
    }

    /// Its name on the tab: from 1, as people count.
    pub(crate) fn label(&self) -> String {
        match self.tab {
            Tab::Worker(number) => number.to_string(),
            Tab::Conversations => "c".to_owned(),
            Tab::Run => "run".to_owned(),
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// How many examples it runs; an example may have several repetitions at once.
    pub(crate) fn running_examples(&self) -> usize {
        let ids: HashSet<_> = self.running.iter().map(|(owner, _)| &owner.id).collect();
        ids.len()
    }

    /// The title of what it does, if it does anything.
    pub(crate) fn title(&self) -> Option<&str> {
        self.running.last().map(|(_, title)| &**title)
    }

    fn observe(&mut self, event: &Event, title: &Arc<str>) {
        match &event.body {
            Body::WorkerStarted(payload) => {
                self.pid = payload.pid;
                self.exited = false;
            }
            Body::WorkerExited(_) => {
                self.exited = true;
                self.running.clear();
            }
            Body::ExampleStarted(_) => {
                self.running.push((LineOwner::of(event), Arc::clone(title)));
            }
            Body::ExampleFinished(payload) => {
                let key = LineOwner::of(event);
                self.running.retain(|(running, _)| *running != key);
                self.last = Some(payload.status.clone());
            }
            _ => {}
        }
    }
}

/// All workers, by number, and the one that is shown.
#[derive(Debug, Default)]
pub(crate) struct Workers {
    list: Vec<Worker>,
    shown: usize,
    events: u64,
}

impl Workers {
    pub(crate) fn all(&self) -> &[Worker] {
        &self.list
    }

    pub(crate) fn shown_index(&self) -> usize {
        self.shown
    }

    pub(crate) fn shown(&self) -> Option<&Worker> {
        self.list.get(self.shown)
    }

    pub(crate) fn shown_mut(&mut self) -> Option<&mut Worker> {
        self.list.get_mut(self.shown)
    }

    pub(crate) fn show(&mut self, place: usize) {
        if place < self.list.len() {
            self.shown = place;
        }
    }

    /// Shows the neighbour, around the ends.
    pub(crate) fn show_neighbour(&mut self, forward: bool) {
        let count = self.list.len().max(1);
        self.shown = (self.shown + if forward { 1 } else { count - 1 }) % count;
    }

    /// The place of a tab that there is.
    pub(crate) fn find(&self, tab: Tab) -> Option<usize> {
        self.list.iter().position(|worker| worker.tab == tab)
    }

    pub(crate) fn any_running(&self) -> bool {
        self.list.iter().any(Worker::is_running)
    }

    pub(crate) fn seen(&self) -> Vec<WorkerActivity> {
        let seen = |worker: &Worker| WorkerActivity {
            running: worker.is_running(),
            active: worker.active,
            event: worker.event,
        };
        self.list.iter().map(seen).collect()
    }

    /// Makes tabs for workers that have not spoken yet.
    pub(crate) fn prepare(&mut self, count: u32) {
        for number in 0..count.min(MAX_PREPARED_TABS) {
            self.place(Tab::Worker(number));
        }
    }

    /// Takes an event with the lines it became; returns the tab it went to.
    pub(crate) fn observe(
        &mut self,
        event: &Event,
        title: &Arc<str>,
        lines: &[Arc<TextLine>],
        now: Duration,
    ) -> Option<Tab> {
        let is_state = matches!(
            event.body,
            Body::WorkerStarted(_) | Body::WorkerExited(_) | Body::ExampleFinished(_)
        );
        if lines.is_empty() && !is_state {
            return None;
        }
        let tab = self.tab_of(event);
        let place = self.place(tab);
        self.events += 1;
        let worker = &mut self.list[place];
        worker.observe(event, title);
        for line in lines {
            worker.line_buffer.push(Arc::clone(line));
        }
        worker.active = now;
        worker.event = self.events;
        Some(tab)
    }

    /// The tab of an event; where it does not name the worker, that of the worker that runs its attempt.
    pub(crate) fn tab_of(&self, event: &Event) -> Tab {
        if let Some(number) = event.worker {
            return Tab::Worker(number);
        }
        if event.example_id.is_none() {
            return Tab::Run;
        }
        let key = LineOwner::of(event);
        let runs = |worker: &&Worker| {
            matches!(worker.tab, Tab::Worker(_))
                && worker.running.iter().any(|(running, _)| *running == key)
        };
        self.list.iter().find(runs).map_or(Tab::Conversations, |worker| worker.tab)
    }

    fn place(&mut self, tab: Tab) -> usize {
        let place = self.list.partition_point(|worker| worker.tab < tab);
        if self.list.get(place).is_none_or(|worker| worker.tab != tab) {
            self.list.insert(place, Worker::new(tab));
            if place <= self.shown && self.list.len() > 1 {
                self.shown += 1;
            }
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(workers: &mut Workers, json: &str) -> Option<Tab> {
        let event = Event::from_json(json).unwrap();
        let line = Arc::new(TextLine::new(None, json));
        workers.observe(&event, &"A > b".into(), &[line], Duration::from_secs(1))
    }

    #[test]
    fn tabs_are_in_order_and_the_shown_one_stays_shown() {
        let mut workers = Workers::default();
        take(&mut workers, r#"{"event_type":"WorkerLog","line":"x"}"#);
        take(&mut workers, r#"{"event_type":"WorkerStarted","worker":2,"pid":7}"#);
        take(&mut workers, r#"{"event_type":"WorkerStarted","worker":0}"#);
        let labels: Vec<String> = workers.all().iter().map(Worker::label).collect();
        assert_eq!(labels, ["0", "2", "run"]);
        assert_eq!(workers.shown().unwrap().label(), "run", "it was there first");
        workers.show_neighbour(true);
        assert_eq!(workers.shown_index(), 0);
        workers.show_neighbour(false);
        assert_eq!(workers.shown_index(), 2);
    }

    #[test]
    fn what_a_worker_runs_follows_its_events() {
        let mut workers = Workers::default();
        workers.prepare(2);
        take(&mut workers, r#"{"event_type":"ExampleStarted","worker":1,"example_id":"a"}"#);
        assert_eq!(workers.all()[1].title(), Some("A > b"));
        let to = take(
            &mut workers,
            r#"{"event_type":"UserMessage","example_id":"a","turn_number":1,"text":"x"}"#,
        );
        assert_eq!(to, Some(Tab::Worker(1)), "found by its example");
        take(
            &mut workers,
            r#"{"event_type":"ExampleFinished","example_id":"a","status":"failed"}"#,
        );
        assert!(!workers.any_running());
        assert_eq!(workers.all()[1].last, Some(Status::Failed));
        take(&mut workers, r#"{"event_type":"WorkerExited","worker":1}"#);
        assert!(workers.all()[1].exited);
    }
}
