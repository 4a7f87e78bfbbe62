//! Lines as things happen, each with the worker it came from: for CI and pipes.
//!
//! Two kinds of run must read well: thousands of examples that take a millisecond, and a few
//! conversations that take minutes. So an example gets one line, when it has finished. Its name is
//! shown before that only if there is something to show under it (what was said, what it printed), or if
//! it has been silent for a while. Groups get no line: every name carries its chain.
//!
//! A worker runs one example at a time, so its number says whose a line is. Conversations have no worker: while several of
//! them run, each line carries the name of its own. In CI nobody watches, so the lines of a conversation are held back until it has ended,
//! and stand together below its result.

use std::collections::{BTreeMap, VecDeque};

use proctor_events::{Body, Event, ExampleFinished, ExampleStarted, Status, Timestamp};
use proctor_record::RunData;
use proctor_text::shorten;

use super::held_lines::HeldLines;
use super::{Key, Reporter, header};
use crate::style::{Paint, Style, duration};
use crate::summary::{SummaryOptions, summary};
use crate::terminal_lines;

/// An example that shows nothing for this long is mentioned; then after twice that time, and so on.
const SILENCE_MS: i64 = 10_000;

/// How much of a conversation's name stands in front of its lines.
const OWNER_CHARACTERS: usize = 28;

/// Lines as things happen.
#[derive(Debug)]
pub struct Interleaved {
    style: Style,
    options: SummaryOptions,
    verbose: bool,
    running: BTreeMap<Key, Running>,
    /// Whose line was shown last; none after a line of a worker or the result of an example.
    last_shown: Option<Key>,
    /// Whether the lines of a conversation wait for its end.
    holds_conversations: bool,
    /// What conversations that ended a moment ago were called: something that they printed may come after their result.
    ended: VecDeque<(Key, String)>,
}

/// How many conversations that have ended are remembered.
const ENDED: usize = 64;

#[derive(Debug)]
struct Running {
    title: String,
    /// What it is called in front of its lines.
    owner: String,
    worker: Option<u32>,
    since: Option<Timestamp>,
    /// Whether its name has been shown.
    named: bool,
    /// When something of it was shown last, and how much silence from there is too much.
    shown_at: Option<Timestamp>,
    silence_limit_ms: i64,
    held: HeldLines,
}

impl Interleaved {
    /// A view that has seen nothing. With `verbose`, every start is shown too.
    pub fn new(style: Style, options: SummaryOptions, verbose: bool) -> Self {
        Self {
            style,
            options,
            verbose,
            running: BTreeMap::new(),
            last_shown: None,
            holds_conversations: false,
            ended: VecDeque::new(),
        }
    }

    /// The same, but for conversations, whose lines are shown together when they have ended.
    pub fn by_conversation(style: Style, options: SummaryOptions, verbose: bool) -> Self {
        Self { holds_conversations: true, ..Self::new(style, options, verbose) }
    }

    fn show(&mut self, event: &Event) -> String {
        match &event.body {
            Body::SuiteStarted(suite) => header(suite, self.style),
            Body::ExampleStarted(started) => self.started(event, started),
            Body::ExampleFinished(finished) => self.finished(event, finished),
            Body::ErrorOutsideExample(error) => self.prefixed(
                event.worker,
                0,
                vec![terminal_lines::outside_error(error, self.style)],
            ),
            Body::WorkerExited(exit) => {
                let line = terminal_lines::worker_exit_line(exit, self.style);
                self.prefixed(event.worker, 0, line.into_iter().collect())
            }
            body => self.example_lines(event, terminal_lines::within_example(body, self.style)),
        }
    }

    fn started(&mut self, event: &Event, started: &ExampleStarted) -> String {
        let Some(key) = Key::of(event) else { return String::new() };
        let mut running = Running {
            title: terminal_lines::title(started),
            // A worker's number says whose its lines are.
            owner: if event.worker.is_none() {
                self.free_owner(event, started)
            } else {
                String::new()
            },
            worker: event.worker,
            since: event.time,
            named: false,
            shown_at: event.time,
            silence_limit_ms: SILENCE_MS,
            held: HeldLines::default(),
        };
        let mut text = String::new();
        if self.verbose {
            text = self.name(&mut running);
            self.last_shown = Some(key.clone());
        }
        self.running.insert(key, running);
        text
    }

    /// The shortest name that no other running conversation has: groups may have examples of the same name.
    fn free_owner(&self, event: &Event, started: &ExampleStarted) -> String {
        let is_free = |name: &String| self.running.values().all(|other| other.owner != *name);
        let names = owners(event, started);
        let longest = names[2].clone();
        let numbered = (2_u64..).map(|number| format!("{longest} #{number}"));
        names.into_iter().chain(numbered).find(is_free).unwrap_or_default()
    }

    fn finished(&mut self, event: &Event, finished: &ExampleFinished) -> String {
        let known = Key::of(event).and_then(|key| self.running.remove(&key));
        // After a fail-fast there may be thousands of these; the summary counts them.
        if finished.status == Status::NotRun && known.is_none() {
            return String::new();
        }
        self.last_shown = None;
        let worker = event.worker.or(known.as_ref().and_then(|running| running.worker));
        let held = known.as_ref().map(|running| running.held.shown(self.style)).unwrap_or_default();
        if let (Some(key), Some(running), None) = (Key::of(event), &known, worker) {
            self.ended.truncate(ENDED - 1);
            self.ended.push_front((key, running.owner.clone()));
        }
        let title = known.map_or_else(
            || terminal_lines::title_at_end(event, finished),
            |running| finished.late_title(&running.title).unwrap_or(running.title),
        );
        let line = terminal_lines::finished_title(event, finished, &title, self.style);
        let mut body = terminal_lines::finished_body(finished, &held, self.style);
        body.splice(0..0, held);
        self.prefixed(worker, 0, vec![line]) + &self.prefixed(worker, 4, body)
    }

    /// Something within an example, or output of a worker between examples.
    fn example_lines(&mut self, event: &Event, shown: Vec<String>) -> String {
        if shown.is_empty() {
            return String::new();
        }
        let known = Key::of(event).and_then(|key| self.running.remove_entry(&key));
        let Some((key, mut running)) = known else {
            self.last_shown = None;
            return match self.ended_owner(event) {
                Some(owner) => self.with_owner(&owner, shown),
                None => self.prefixed(event.worker, 4, shown),
            };
        };
        if self.holds_conversations && event.worker.or(running.worker).is_none() {
            running.held.extend(&shown);
            self.running.insert(key, running);
            return String::new();
        }
        running.shown_at = event.time.or(running.shown_at);
        running.silence_limit_ms = SILENCE_MS;
        let name = self.name(&mut running);
        let worker = event.worker.or(running.worker);
        let lines = match worker {
            None if self.needs_owner(&key, &name) => self.with_owner(&running.owner, shown),
            _ => self.prefixed(worker, 4, shown),
        };
        self.last_shown = Some(key.clone());
        self.running.insert(key, running);
        name + &lines
    }

    /// What the conversation of this event was called, if it has ended.
    fn ended_owner(&self, event: &Event) -> Option<String> {
        let key = Key::of(event).filter(|_| event.worker.is_none())?;
        self.ended.iter().find(|(ended, _)| *ended == key).map(|(_, owner)| owner.clone())
    }

    /// What is held of conversations that have not ended.
    fn unfinished(&mut self) -> String {
        let mut text = String::new();
        for running in std::mem::take(&mut self.running).into_values() {
            let lines = running.held.shown(self.style);
            if !lines.is_empty() {
                let note = self.style.paint(Paint::Bad, "never finished");
                let title = format!("{} {}  {note}", self.style.mark(None), running.title);
                text += &self.prefixed(None, 0, vec![title]);
                text += &self.prefixed(None, 4, lines);
            }
        }
        text
    }

    /// Whether a line could be taken for that of another conversation. `name` is what was just shown of this one, which is
    /// not among the running ones at the moment.
    fn needs_owner(&self, key: &Key, name: &str) -> bool {
        let follows = !name.is_empty() || self.last_shown.as_ref() == Some(key);
        !follows || self.running.values().any(|other| other.worker.is_none())
    }

    fn with_owner(&self, owner: &str, lines: Vec<String>) -> String {
        let front = self.style.paint(Paint::Dim, format!("{owner} │"));
        lines.into_iter().map(|line| format!("    {front} {line}\n")).collect()
    }

    /// The name of a running example, once.
    fn name(&self, running: &mut Running) -> String {
        if std::mem::replace(&mut running.named, true) {
            return String::new();
        }
        let line = format!("{} {}", self.style.mark(None), running.title);
        self.prefixed(running.worker, 0, vec![line])
    }

    fn prefixed(&self, worker: Option<u32>, indent: usize, lines: Vec<String>) -> String {
        let prefix = terminal_lines::worker_prefix(worker, self.style);
        lines.into_iter().map(|line| format!("{prefix}{:indent$}{line}\n", "")).collect()
    }
}

/// What an example may be called in front of its lines, the shortest first: `books a table`, `books a table (2)` for its second
/// repetition; then with its group, and with all of them.
fn owners(event: &Event, started: &ExampleStarted) -> [String; 3] {
    let title = terminal_lines::title(started);
    let from = started.path.len().saturating_sub(2);
    let with_group = started.path[from..].join(" > ");
    let name = started.path.last().unwrap_or(&title);
    let repetition = match event.repeat {
        Some(repeat @ 2..) => format!(" ({repeat})"),
        _ => String::new(),
    };
    [(name, 1), (&with_group, 2), (&title, 4)]
        .map(|(name, share)| format!("{}{repetition}", shorten(name, OWNER_CHARACTERS * share)))
}

impl Reporter for Interleaved {
    fn event(&mut self, event: &Event) -> String {
        self.options.read_event(event);
        let silent = event.time.map(|now| self.tick(now)).unwrap_or_default();
        silent + &self.show(event)
    }

    fn tick(&mut self, now: Timestamp) -> String {
        let mut text = String::new();
        for running in self.running.values_mut() {
            let (Some(since), Some(shown_at)) = (running.since, running.shown_at) else { continue };
            let elapsed = |from: Timestamp| now.as_millisecond() - from.as_millisecond();
            if elapsed(shown_at) < running.silence_limit_ms {
                continue;
            }
            running.shown_at = Some(now);
            running.silence_limit_ms *= 2;
            running.named = true;
            let taken = now.duration_since(since).unsigned_abs().into();
            let note = self.style.paint(Paint::Dim, format!("running for {}", duration(taken)));
            let prefix = terminal_lines::worker_prefix(running.worker, self.style);
            let mark = self.style.mark(None);
            text += &format!("{prefix}{mark} {}  {note}\n", running.title);
        }
        text
    }

    fn finish(&mut self, run: &RunData) -> String {
        format!("{}\n{}", self.unfinished(), summary(run, &self.options, self.style))
    }
}
