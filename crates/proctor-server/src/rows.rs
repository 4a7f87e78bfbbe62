//! A run in rows: what lists, time lines and tables show, without what was said.
//!
//! Rows are a view of the run's outline ([`proctor_record::Aggregator::outline`]), written as JSON without a copy; what was said in conversations
//! is read from the recording on demand. `web/src/model/rows.ts` folds events that arrive in the
//! browser into the same rows; a test feeds both the same recording.

use proctor_events::{Millis, Timestamp};
use proctor_record::{Attempt, CheckTally, Example, RunData};
use proctor_text::truncate;
use proctor_verdict::{ExampleVerdict, Policy};
use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

/// How many characters of a message are shown.
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
    /// How many examples were to run.
    pub planned: Option<u64>,
    /// How many results there were to be: every repetition of every example.
    pub planned_repetitions: Option<u64>,
    /// What the run tolerates: whether flaky, inconclusive and unchecked examples fail it.
    pub policy: PolicyRow,
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

/// What a run tolerates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct PolicyRow {
    /// Whether a flaky example fails the run.
    pub flaky_fails: bool,
    /// Whether an inconclusive example fails the run.
    pub inconclusive_fails: bool,
    /// Whether an example that checked nothing fails the run.
    pub unchecked_fails: bool,
}

impl PolicyRow {
    fn of(policy: Policy) -> Self {
        let Policy { flaky_fails, inconclusive_fails, unchecked_fails, .. } = policy;
        Self { flaky_fails, inconclusive_fails, unchecked_fails }
    }
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

impl Header {
    /// The header of a run.
    pub fn of(run: &RunData) -> Self {
        let errors = run.errors.iter().map(|error| {
            let exception = error.exception.as_ref();
            ErrorRow {
                phase: error.phase.clone(),
                place: error.place.clone(),
                message: exception.map(|e| e.message.clone()).or_else(|| error.message.clone()),
                class: exception.and_then(|e| e.class.clone()),
                backtrace: exception.map(|e| e.backtrace.clone()).unwrap_or_default(),
            }
        });
        let workers = run.workers.iter().map(|worker| WorkerRow {
            number: worker.number,
            pid: worker.pid,
            started: worker.started,
            crashed: worker.crashed,
        });
        Self {
            run_id: run.run_id.as_ref().map(ToString::to_string),
            started_at: run.started_at,
            finished_at: run.finished_at,
            duration_ms: run.duration_ms.map(Millis::get),
            seed: run.seed,
            planned: run.planned,
            planned_repetitions: run.planned_repetitions,
            policy: PolicyRow::of(run.policy),
            exit_code: run.exit_code,
            last_seq: run.last_seq.unwrap_or_default(),
            event_count: run.event_count,
            errors: errors.collect(),
            workers: workers.collect(),
        }
    }
}

/// The rows of a run, in order of appearance. Events that belong to no example have none.
pub fn rows(run: &RunData, over: bool) -> impl Iterator<Item = Row<'_>> {
    known_examples(run).map(move |example| Row::of(example, run, over))
}

/// The examples that have rows.
pub(crate) fn known_examples(run: &RunData) -> impl Iterator<Item = &Example> {
    run.examples.iter().filter(|example| example.id.is_some())
}

/// Whether the id, file, tags or description of an example contain this lower-case text.
pub(crate) fn mentions(example: &Example, text: &str) -> bool {
    let has = |part: &String| part.to_lowercase().contains(text);
    example.id.as_ref().is_some_and(|id| id.as_str().contains(text))
        || example.file.iter().any(has)
        || example.tags.iter().any(has)
        || example.path.join(" > ").to_lowercase().contains(text)
}

/// One example, its verdict, and whether it fails the run.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a>(&'a Example, ExampleVerdict, bool);

impl<'a> Row<'a> {
    pub(crate) fn of(example: &'a Example, run: &RunData, over: bool) -> Self {
        let verdict = example.verdict(over);
        Self(example, verdict, verdict.is_failure(run.policy))
    }

    pub(crate) fn has_status(self, wanted: &str) -> bool {
        self.1.word() == wanted || self.1.outcome().counted_as() == wanted
    }
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let example = self.0;
        let mut row = serializer.serialize_struct("Row", 12)?;
        row.serialize_field("id", &example.id)?;
        row.serialize_field("suite", &example.suite)?;
        row.serialize_field("file", &example.file)?;
        row.serialize_field("path", &example.path)?;
        row.serialize_field("location", &example.location)?;
        row.serialize_field("description", &example.description)?;
        row.serialize_field("tags", &example.tags)?;
        row.serialize_field("pass_rate", &example.pass_rate)?;
        row.serialize_field("verdict", &self.1)?;
        row.serialize_field("unchecked", &self.1.is_unchecked())?;
        row.serialize_field("failure", &self.2)?;
        row.serialize_field("attempts", &Attempts(&example.attempts))?;
        row.end()
    }
}

struct Attempts<'a>(&'a [Attempt]);

impl Serialize for Attempts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(AttemptRow))
    }
}

struct AttemptRow<'a>(&'a Attempt);

impl Serialize for AttemptRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let attempt = self.0;
        let tally = attempt.tally();
        let message = attempt.exception.as_ref().map(|e| &e.message).or(attempt.message.as_ref());
        let mut row = serializer.serialize_struct("AttemptRow", 19)?;
        row.serialize_field("repeat", &attempt.repeat)?;
        row.serialize_field("attempt", &attempt.attempt)?;
        row.serialize_field("worker", &attempt.worker)?;
        row.serialize_field("status", &attempt.status)?;
        row.serialize_field("fault", &attempt.fault)?;
        row.serialize_field("final", &attempt.is_final)?;
        row.serialize_field("flaky", &attempt.flaky)?;
        row.serialize_field("check_count", &attempt.checks)?;
        row.serialize_field("started_at", &attempt.started_at)?;
        row.serialize_field("finished_at", &attempt.finished_at)?;
        row.serialize_field("duration_ms", &attempt.duration_ms.map(Millis::get))?;
        row.serialize_field("message", &message.map(|text| truncate(text, SHORT)))?;
        row.serialize_field("turns", &tally.turns)?;
        row.serialize_field("tool_calls", &tally.tool_calls)?;
        row.serialize_field("model_calls", &tally.model_calls)?;
        row.serialize_field("tokens", &tally.tokens)?;
        row.serialize_field("cost_usd", &tally.cost_usd.unwrap_or_default())?;
        row.serialize_field("topics", &tally.topics)?;
        row.serialize_field("checks", &Checks(&tally.checks))?;
        row.end()
    }
}

struct Checks<'a>(&'a [CheckTally]);

impl Serialize for Checks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|check| CheckRow {
            name: check.name.as_deref().unwrap_or("check"),
            soft: check.soft,
            passed: check.passed,
            score: check.score,
            judged: check.judged,
            turn: check.turn,
        }))
    }
}

#[derive(Serialize)]
struct CheckRow<'a> {
    name: &'a str,
    soft: bool,
    passed: Option<bool>,
    score: Option<f64>,
    judged: bool,
    turn: Option<u32>,
}
