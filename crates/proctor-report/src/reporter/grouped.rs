//! One block per example, shown when it has finished: what ran at the same time stands apart.

use std::collections::{BTreeMap, VecDeque};

use jiff::SignedDuration;
use proctor_events::{Body, Event, ExampleFinished, ExampleStarted, Status, Timestamp};
use proctor_record::RunData;
use proctor_text::shorten;

use super::held_lines::HeldLines;
use super::{Key, Reporter, header};
use crate::style::{Paint, Style};
use crate::summary::{SummaryOptions, summary};
use crate::terminal_lines;

/// One block per example.
#[derive(Debug)]
pub struct Grouped {
    style: Style,
    options: SummaryOptions,
    running: BTreeMap<Key, Block>,
    /// Finished blocks, for a moment: what an example printed may come after its result.
    held: VecDeque<HeldBlock>,
    /// The context under whose heading the last block stands.
    context: Option<String>,
}

/// A finished example that waits for the rest of its output.
#[derive(Debug)]
struct HeldBlock {
    key: Option<Key>,
    worker: Option<u32>,
    block: Block,
    title: String,
    body: Vec<String>,
    since: Option<Timestamp>,
}

/// How long a finished block is held.
const HOLD_TIME: SignedDuration = SignedDuration::from_millis(50);

/// The lines of a running example.
#[derive(Debug, Default)]
struct Block {
    context: String,
    name: String,
    lines: HeldLines,
}

impl Block {
    fn new(started: &ExampleStarted) -> Self {
        let (context, name) = match &*started.path {
            [] => (String::new(), terminal_lines::title(started)),
            [context @ .., name] => (shorten(&context.join(" > "), 300), shorten(name, 300)),
        };
        Self { context, name, ..Self::default() }
    }

    /// What was taken for its name was that of its group.
    fn correct_name(&mut self, finished: &ExampleFinished) {
        let Some(name) = finished.own_name().filter(|_| finished.late_title(&self.name).is_some())
        else {
            return;
        };
        if !self.context.is_empty() {
            self.context += " > ";
        }
        self.context += &self.name;
        self.name = shorten(name, 300);
    }
}

impl Grouped {
    /// A view that has seen nothing.
    pub fn new(style: Style, options: SummaryOptions) -> Self {
        Self { style, options, running: BTreeMap::new(), held: VecDeque::new(), context: None }
    }

    fn finished(&mut self, event: &Event, finished: &ExampleFinished) {
        let key = Key::of(event);
        let known = key.as_ref().and_then(|key| self.running.remove(key));
        if finished.status == Status::NotRun && known.is_none() {
            return;
        }
        let mut block = known.unwrap_or_else(|| Block {
            name: terminal_lines::title_at_end(event, finished),
            ..Block::default()
        });
        block.correct_name(finished);
        let title = terminal_lines::finished_title(event, finished, &block.name, self.style);
        let body =
            terminal_lines::finished_body(finished, &block.lines.shown(self.style), self.style);
        let (worker, since) = (event.worker, event.time);
        self.held.push_back(HeldBlock { key, worker, block, title, body, since });
    }

    /// The blocks that have been held long enough; all of them if the time is not given.
    fn release(&mut self, now: Option<Timestamp>) -> String {
        let mut text = String::new();
        while let Some(first) = self.held.front() {
            let young = first
                .since
                .zip(now)
                .is_some_and(|(since, now)| now.duration_since(since) < HOLD_TIME);
            if young {
                break;
            }
            if let Some(held) = self.held.pop_front() {
                text += &self.block(&held.block, &held.title, &held.body);
            }
        }
        text
    }

    /// The blocks of a worker that has ended or failed: what it says of itself stands below them, however quickly it came.
    fn release_worker(&mut self, worker: Option<u32>) -> String {
        let (released, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut self.held)
            .into_iter()
            .partition(|held| worker.is_some() && held.worker == worker);
        self.held = VecDeque::from(kept);
        released.iter().map(|held| self.block(&held.block, &held.title, &held.body)).collect()
    }

    fn block(&mut self, block: &Block, title: &str, body: &[String]) -> String {
        let heading = self.heading(&block.context);
        let indent = if block.context.is_empty() { 0 } else { 2 };
        let mut text = format!("{heading}{:indent$}{title}\n", "");
        for line in block.lines.shown(self.style).iter().chain(body) {
            text += &format!("{:width$}{line}\n", "", width = indent + 4);
        }
        text
    }

    /// The context, unless the block before stands under the same one.
    fn heading(&mut self, context: &str) -> String {
        if self.context.as_deref() == Some(context) {
            return String::new();
        }
        self.context = Some(context.to_owned());
        if context.is_empty() {
            return String::new();
        }
        format!("{}\n", self.style.paint(Paint::Bold, format!("▼ {context}")))
    }

    /// Something within an example is held back; the rest is shown at once, with its worker.
    fn other(&mut self, event: &Event) -> String {
        let shown = terminal_lines::within_example(&event.body, self.style);
        let key = Key::of(event);
        let held = self.held.iter_mut().find(|held| key.is_some() && held.key == key);
        let block = match held {
            Some(held) => Some(&mut held.block),
            None => key.and_then(|key| self.running.get_mut(&key)),
        };
        if let Some(block) = block {
            block.lines.extend(&shown);
            return String::new();
        }
        self.shown_at_once(event, shown)
    }

    fn shown_at_once(&mut self, event: &Event, shown: Vec<String>) -> String {
        let prefix = terminal_lines::worker_prefix(event.worker, self.style);
        if !shown.is_empty() {
            // The next block needs its heading again.
            self.context = None;
        }
        shown.into_iter().map(|line| format!("{prefix}{line}\n")).collect()
    }
}

impl Reporter for Grouped {
    fn event(&mut self, event: &Event) -> String {
        self.options.read_event(event);
        let now = match &event.body {
            Body::SuiteFinished(_) => None,
            _ => event.time,
        };
        let shown = match &event.body {
            Body::SuiteStarted(suite) => header(suite, self.style),
            Body::ExampleStarted(started) => {
                if let Some(key) = Key::of(event) {
                    self.running.insert(key, Block::new(started));
                }
                String::new()
            }
            Body::ExampleFinished(finished) => {
                self.finished(event, finished);
                String::new()
            }
            Body::ErrorOutsideExample(error) => {
                let line = terminal_lines::outside_error(error, self.style);
                self.release_worker(event.worker) + &self.shown_at_once(event, vec![line])
            }
            Body::WorkerExited(exit) => {
                let line = terminal_lines::worker_exit_line(exit, self.style);
                let line = line.into_iter().collect();
                self.release_worker(event.worker) + &self.shown_at_once(event, line)
            }
            _ => self.other(event),
        };
        let released = self.release(now);
        released + &shown
    }

    fn tick(&mut self, now: Timestamp) -> String {
        self.release(Some(now))
    }

    fn finish(&mut self, run: &RunData) -> String {
        let mut text = self.release(None);
        for block in std::mem::take(&mut self.running).into_values() {
            let note = self.style.paint(Paint::Bad, "never finished");
            let title = format!("{} {}  {note}", self.style.mark(None), block.name);
            text += &self.block(&block, &title, &[]);
        }
        format!("{text}\n{}", summary(run, &self.options, self.style))
    }
}
