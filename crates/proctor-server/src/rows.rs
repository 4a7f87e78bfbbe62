//! A run in rows: what lists, time lines and tables show, without what was said.
//!
//! One pure fold, event by event. It keeps per example a few hundred bytes, however long its conversations are; those are read
//! from the recording when somebody looks at them. `web/src/model/rows.ts` is the same fold for events that
//! arrive in the browser; a test feeds both the same recording.

use std::collections::HashMap;

use proctor_events::{
    Body, EvaluationMode, Event, ExampleFinished, ExampleId, ExampleStarted, Fault, Json,
    ModelCall, Status, SuiteFinished, SuiteStarted, Timestamp,
};
use serde::Serialize;

/// How many characters of a message are kept.
const SHORT: usize = 300;

/// What is known of a run besides its examples.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Header {
    /// Its id, as its events say.
    pub run_id: Option<String>,
    /// When its first event happened.
    pub started_at: Option<Timestamp>,
    /// When it finished.
    pub finished_at: Option<Timestamp>,
    /// How long it took.
    pub duration_ms: Option<f64>,
    /// The seed that ordered the examples.
    pub seed: Option<u64>,
    /// How many examples were to run, once per repetition.
    pub planned: Option<u64>,
    /// The exit code that followed.
    pub exit_code: Option<i32>,
    /// The number of the last event.
    pub last_seq: u64,
    /// How many events there are.
    pub event_count: u64,
    /// Errors outside examples.
    pub errors: Vec<ErrorRow>,
    /// The workers, by number.
    pub workers: Vec<WorkerRow>,
}

/// An error outside examples.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ErrorRow {
    /// Where in the run.
    pub phase: Option<String>,
    /// The file or group.
    pub place: Option<String>,
    /// What it said.
    pub message: Option<String>,
    /// The class of the exception.
    pub class: Option<String>,
    /// Where it came from.
    pub backtrace: Vec<String>,
}

/// A worker.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct WorkerRow {
    /// Its number.
    pub number: u32,
    /// Its process, or the last one.
    pub pid: Option<u32>,
    /// How many processes it has had.
    pub started: u32,
    /// How many of them ended though they should not have.
    pub crashed: u32,
}

/// One example.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Row {
    /// Its stable id.
    pub id: String,
    /// The kind of suite.
    pub suite: Option<String>,
    /// The file it stands in.
    pub file: Option<String>,
    /// Its description chain.
    pub path: Vec<String>,
    /// `file:line`.
    pub location: Option<String>,
    /// Its own description.
    pub description: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Every attempt, in order of start.
    pub attempts: Vec<AttemptRow>,
}

/// One attempt.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct AttemptRow {
    /// Which repetition, from 1.
    pub repeat: u32,
    /// Which attempt within it, from 1.
    pub attempt: u32,
    /// The worker that ran it.
    pub worker: Option<u32>,
    /// How it ended; absent while it runs.
    pub status: Option<Status>,
    /// Whose failure it was.
    pub fault: Option<Fault>,
    /// Whether it passed only after failing.
    pub flaky: bool,
    /// When it started.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// How long it took.
    pub duration_ms: Option<f64>,
    /// The first words of what went wrong.
    pub message: Option<String>,
    /// How many turns its conversation has.
    pub turns: u32,
    /// How many tools were called.
    pub tool_calls: u32,
    /// How many model calls were made.
    pub model_calls: u32,
    /// Tokens sent and received.
    pub tokens: u64,
    /// What model calls cost, in US dollars.
    pub cost_usd: f64,
    /// The topics it went through.
    pub topics: Vec<String>,
    /// What was checked.
    pub checks: Vec<CheckRow>,
}

/// One check.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CheckRow {
    /// The criterion.
    pub name: String,
    /// Whether it only counts softly.
    pub soft: bool,
    /// Whether it holds; absent where nobody could tell.
    pub passed: Option<bool>,
    /// Its score.
    pub score: Option<f64>,
}

/// The fold.
#[derive(Debug, Default)]
pub struct Rows {
    /// The run.
    pub header: Header,
    /// The examples, in order of appearance.
    pub rows: Vec<Row>,
    places: HashMap<ExampleId, usize>,
}

impl Rows {
    /// The place of an example among the rows.
    pub fn place(&self, id: &str) -> Option<usize> {
        self.places.get(&ExampleId::new(id)).copied()
    }

    /// Takes one event.
    pub fn apply(&mut self, event: &Event) {
        let header = &mut self.header;
        header.event_count += 1;
        header.last_seq = event.seq.unwrap_or(header.last_seq);
        if header.run_id.is_none() {
            header.run_id = event.run_id.as_ref().map(ToString::to_string);
        }
        if header.started_at.is_none() {
            header.started_at = event.time;
        }
        match &event.body {
            Body::SuiteStarted(it) => self.suite_started(it),
            Body::SuiteFinished(it) => self.suite_finished(event, it),
            Body::WorkerStarted(it) => {
                let worker = self.worker(event);
                worker.started += 1;
                worker.pid = it.pid;
            }
            Body::WorkerExited(it) => {
                self.worker(event).crashed += u32::from(it.expected == Some(false));
            }
            Body::ErrorOutsideExample(it) => {
                let exception = it.exception.as_ref();
                self.header.errors.push(ErrorRow {
                    phase: it.phase.clone(),
                    place: it.place.clone(),
                    message: exception.map(|e| e.message.clone()).or_else(|| it.message.clone()),
                    class: exception.and_then(|e| e.class.clone()),
                    backtrace: exception.map(|e| e.backtrace.clone()).unwrap_or_default(),
                });
            }
            _ => self.in_example(event),
        }
    }

    fn suite_started(&mut self, it: &SuiteStarted) {
        self.header.seed = it.seed;
        self.header.planned = it.example_count;
    }

    fn suite_finished(&mut self, event: &Event, it: &SuiteFinished) {
        self.header.finished_at = event.time;
        self.header.duration_ms = it.duration_ms.map(proctor_events::Millis::get);
        self.header.exit_code = it.exit_code;
        self.header.planned = Some(it.example_count);
    }

    fn worker(&mut self, event: &Event) -> &mut WorkerRow {
        let number = event.worker.unwrap_or_default();
        let workers = &mut self.header.workers;
        let place = workers.partition_point(|worker| worker.number < number);
        if workers.get(place).is_none_or(|worker| worker.number != number) {
            workers.insert(place, WorkerRow { number, ..WorkerRow::default() });
        }
        &mut workers[place]
    }

    fn in_example(&mut self, event: &Event) {
        let Some(id) = &event.example_id else { return };
        let place = *self.places.entry(id.clone()).or_insert_with(|| {
            self.rows.push(Row { id: id.to_string(), ..Row::default() });
            self.rows.len() - 1
        });
        let row = &mut self.rows[place];
        if let Body::ExampleStarted(it) = &event.body {
            row.describe(it);
        }
        row.attempt(event).apply(event);
    }
}

impl Row {
    fn describe(&mut self, it: &ExampleStarted) {
        self.suite.clone_from(&it.suite);
        self.file.clone_from(&it.file);
        self.path.clone_from(&it.path);
        self.location.clone_from(&it.location);
        self.description.clone_from(&it.description);
        self.tags.clone_from(&it.tags);
    }

    fn attempt(&mut self, event: &Event) -> &mut AttemptRow {
        let (repeat, attempt) = (event.repeat.unwrap_or(1), event.attempt.unwrap_or(1));
        let found = self.attempts.iter().rposition(|a| a.repeat == repeat && a.attempt == attempt);
        let place = found.unwrap_or_else(|| {
            self.attempts.push(AttemptRow { repeat, attempt, ..AttemptRow::default() });
            self.attempts.len() - 1
        });
        &mut self.attempts[place]
    }
}

impl AttemptRow {
    fn apply(&mut self, event: &Event) {
        self.worker = event.worker.or(self.worker);
        match &event.body {
            Body::ExampleStarted(_) => self.started_at = event.time,
            Body::ExampleFinished(it) => self.finished(event, it),
            Body::UserMessage(it) => self.turns = self.turns.max(it.turn_number),
            Body::AgentResponse(it) => {
                self.turns = self.turns.max(it.turn_number);
                // Calls with an id are counted by events of their own.
                let untold = it.tool_calls.iter().map(Json::to_value).filter(|call| {
                    ["id", "tool_call_id"].iter().all(|name| call.get(*name).is_none())
                });
                self.tool_calls += u32::try_from(untold.count()).unwrap_or(u32::MAX);
            }
            Body::TopicChanged(it) => self.topics.push(it.to_topic.clone()),
            Body::ToolCallCompleted(_) => self.tool_calls += 1,
            Body::ModelCall(it) => self.model_call(it),
            Body::EvaluationRecorded(it) => self.checks.push(CheckRow {
                name: name_of([&it.name, &it.description, &it.evaluation_type]),
                soft: it.mode == EvaluationMode::Soft,
                passed: it.passed,
                score: it.score,
            }),
            Body::InvariantEvaluated(it) => self.checks.push(CheckRow {
                name: name_of([&it.description, &it.topic, &None]),
                soft: it.mode == Some(EvaluationMode::Soft),
                passed: Some(it.passed),
                score: None,
            }),
            _ => {}
        }
    }

    fn finished(&mut self, event: &Event, it: &ExampleFinished) {
        self.status = Some(it.status.clone());
        self.fault.clone_from(&it.fault);
        self.flaky = it.flaky == Some(true);
        self.finished_at = event.time;
        self.duration_ms = it.duration_ms.map(proctor_events::Millis::get);
        let message = it.exception.as_ref().map(|e| &e.message).or(it.message.as_ref());
        self.message = message.map(|text| text.chars().take(SHORT).collect());
    }

    fn model_call(&mut self, it: &ModelCall) {
        self.model_calls += 1;
        self.tokens += it.input_tokens.unwrap_or_default() + it.output_tokens.unwrap_or_default();
        self.cost_usd += it.cost_usd.unwrap_or_default();
    }
}

fn name_of(candidates: [&Option<String>; 3]) -> String {
    candidates.into_iter().flatten().next().cloned().unwrap_or_else(|| "check".to_owned())
}

impl Row {
    /// The attempt that decides each repetition: the last one made.
    pub fn deciding(&self) -> impl Iterator<Item = &AttemptRow> {
        self.attempts.iter().filter(|candidate| {
            !self
                .attempts
                .iter()
                .any(|other| other.repeat == candidate.repeat && other.attempt > candidate.attempt)
        })
    }

    pub(crate) fn has_status(&self, wanted: &str) -> bool {
        self.deciding().any(|attempt| {
            attempt.status.as_ref().map_or("running", |status| status.as_str()) == wanted
        })
    }

    /// Whether its id, file, tags or description contain this lower-case text.
    pub(crate) fn mentions(&self, text: &str) -> bool {
        let has = |part: &String| part.to_lowercase().contains(text);
        self.id.contains(text)
            || self.file.iter().any(has)
            || self.tags.iter().any(has)
            || self.path.join(" > ").to_lowercase().contains(text)
    }
}
