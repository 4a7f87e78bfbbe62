//! A run as every view shows it: plain data, made by [`Aggregator`](crate::Aggregator).

use proctor_events::{
    EvaluationMode, ExampleId, Exception, Fault, Json, LeakedProcess, MessageSource, Millis,
    OutputStream, RunId, Status, SuiteFinished, TerminationReason, Timestamp,
};
use proctor_verdict::{
    AttemptNumber, Counts, ExampleVerdict, Liveness, Observation, Policy, RunVerdict, deciding,
};
use serde::Serialize;

use crate::tally::Tally;

/// One run. What of it is serialized stands in [`SerializedRun`](crate::SerializedRun).
#[derive(Debug, Clone, Default, PartialEq)]
#[expect(missing_docs, reason = "fields without a comment are named after those of their event")]
pub struct RunData {
    pub run_id: Option<RunId>,
    /// The newest format version seen.
    pub format_version: Option<u32>,
    /// When its first event happened.
    pub started_at: Option<Timestamp>,
    /// When it finished; absent while it runs, or if it was cut off.
    pub finished_at: Option<Timestamp>,
    /// The duration that `SuiteFinished` states.
    pub duration_ms: Option<Millis>,
    pub seed: Option<u64>,
    /// How many examples were to run; absent while that is not known. Streams of version 0.1 count repetitions here.
    pub planned: Option<u64>,
    /// How many results there were to be: every repetition of every example. Absent in streams of version 0.1.
    pub planned_repetitions: Option<u64>,
    /// Up to how many repetitions an example could get in a run that decided on each further one by the results so far.
    pub repeat_limit: Option<u32>,
    /// The exit code that `SuiteFinished` states.
    pub exit_code: Option<i32>,
    /// Whether there was a `SuiteStarted`.
    pub begun: bool,
    /// `SuiteFinished`, if there was one.
    pub ending: Option<Box<SuiteFinished>>,
    /// Whether no further event is expected: there was a `SuiteFinished`, or the process is gone.
    pub over: bool,
    /// Whether `run.json` marks the run as interrupted.
    pub interrupted: bool,
    /// Which kinds of results fail the run.
    pub policy: Policy,
    /// The verdict of the whole run, where only some of its examples are kept ([`select`](Self::select)).
    pub verdict_of_all: Option<Box<RunVerdict>>,
    /// The number of the last event folded.
    pub last_seq: Option<u64>,
    /// How many events were folded.
    pub event_count: u64,
    /// The examples, in order of appearance.
    pub examples: Vec<Example>,
    pub errors: Vec<OutsideError>,
    /// The workers, by number.
    pub workers: Vec<Worker>,
    /// Model calls outside examples.
    pub model_calls: Vec<ModelUse>,
    /// Types of events that this version does not know, with their counts.
    pub unknown_events: std::collections::BTreeMap<String, u64>,
}

/// One example.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "fields without a comment are named after those of their event")]
pub struct Example {
    pub id: Option<ExampleId>,
    pub suite: Option<String>,
    pub file: Option<String>,
    /// Its description chain, outermost first; with a name that became known only while it ran.
    pub path: Vec<String>,
    /// Whether the last of `path` is such a name.
    #[serde(skip)]
    pub has_late_name: bool,
    pub location: Option<String>,
    pub description: Option<String>,
    pub tags: Vec<String>,
    /// The row of a scenario set.
    pub scenario: Option<Json>,
    /// The share of repetitions that must pass.
    pub pass_rate: Option<f64>,
    /// What the project declares: whether the same code gives the same result every time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deterministic: Option<bool>,
    /// Whether the answers of its agent are a script.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub scripted: bool,
    /// The planned number of repetitions; the largest possible number in a run with a `repeat_limit`. Absent where it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u32>,
    /// Every attempt, in order of start.
    pub attempts: Vec<Attempt>,
}

/// One attempt at an example.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "fields without a comment are named after those of their event")]
pub struct Attempt {
    /// Which repetition, from 1.
    pub repeat: u32,
    /// Which attempt within it, from 1.
    pub attempt: u32,
    /// The worker that ran it.
    pub worker: Option<u32>,
    /// How it ended; absent while it runs.
    pub status: Option<Status>,
    /// The party at fault.
    pub fault: Option<Fault>,
    /// Whether no further attempt follows.
    pub is_final: bool,
    /// Whether it passed only after failing.
    pub flaky: bool,
    /// How many checks that could have failed it were made; `None` where that is not recorded.
    pub checks: Option<u64>,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    /// The place of its first event among the events of the run, from 0.
    #[serde(skip)]
    pub first_event: u64,
    /// The place of its last `ExampleFinished`.
    #[serde(skip)]
    pub end_event: Option<u64>,
    pub duration_ms: Option<Millis>,
    pub exception: Option<Box<Exception>>,
    /// Why it is pending, or what happened to its worker.
    pub message: Option<String>,
    /// The exit status of the worker, if the worker died during the attempt.
    pub exit_status: Option<i32>,
    /// The signal that killed the worker.
    pub signal: Option<i32>,
    /// The last lines of output of a crashed or timed-out attempt.
    pub output_tail: Vec<String>,
    pub leaked: Vec<LeakedProcess>,
    /// Dropped from an outline once the attempt has ended.
    pub conversation: Option<Box<Conversation>>,
    /// Expectations, evaluations and invariants. Dropped from an outline once the attempt has ended.
    pub evaluations: Vec<Evaluation>,
    /// Errors of the agent and the judge. Not kept in an outline.
    pub troubles: Vec<PartyError>,
    /// Dropped from an outline once the attempt has ended.
    pub model_calls: Vec<ModelUse>,
    /// The last [`MAX_LOG_LINES`](crate::MAX_LOG_LINES) printed lines. Empty in an outline.
    pub output: Vec<LogLine>,
    /// How many printed lines are not kept in `output`.
    pub output_dropped: u64,
    /// In an outline, once the attempt has ended: its tally, instead of conversation, evaluations and model calls ([`tally`](Self::tally)).
    #[serde(skip)]
    pub final_tally: Option<Box<Tally>>,
}

/// A conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Conversation {
    /// Its turns, by number.
    pub turns: Vec<Turn>,
    /// Simulations, in order.
    pub simulations: Vec<Simulation>,
    /// The topics it went through, every visit on its own.
    pub topics: Vec<TopicVisit>,
}

impl Conversation {
    /// The topic it is in now.
    pub fn current_topic(&self) -> Option<&str> {
        self.topics.last().map(|visit| visit.topic.as_str())
    }
}

/// One turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "fields without a comment are named after those of their event")]
pub struct Turn {
    /// Its number, from 1.
    pub number: u32,
    /// Absent in a turn without `UserMessage`.
    pub user: Option<UserTurn>,
    /// The messages of the agent; more than one where tools were called in between.
    pub responses: Vec<AgentMessage>,
    pub tool_calls: Vec<ToolCall>,
    /// The topic at its end.
    pub topic: Option<String>,
}

/// The message of the user in a turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "fields without a comment are named after those of their event")]
pub struct UserTurn {
    pub text: String,
    /// Who wrote the text: the test or the simulated user.
    pub source: Option<MessageSource>,
    pub time: Option<Timestamp>,
    pub metadata: Option<Json>,
}

/// One message of the agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "fields without a comment are named after those of their event")]
pub struct AgentMessage {
    pub text: String,
    pub time: Option<Timestamp>,
    pub duration_ms: Option<Millis>,
    pub first_token_ms: Option<Millis>,
    /// Tools it asked the host to call.
    pub pending_tool_calls: Vec<Json>,
    pub metadata: Option<Json>,
    /// `false` where the agent did not list the calls that it made itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_listed: Option<bool>,
}

/// A tool call.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "fields without a comment are named after those of their event")]
pub struct ToolCall {
    /// Pairs start and completion.
    pub id: Option<String>,
    pub name: String,
    pub arguments: Option<Json>,
    pub result: Option<Json>,
    pub error: Option<String>,
    /// Whether it has ended.
    pub completed: bool,
    /// When it started, or when it was reported.
    pub time: Option<Timestamp>,
    pub duration_ms: Option<Millis>,
    pub metadata: Option<Json>,
}

/// A simulated conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "fields without a comment are named after those of their event")]
pub struct Simulation {
    pub goal: Option<String>,
    /// The most turns it might take.
    pub max_turns: Option<u32>,
    /// How many it took; absent while it runs.
    pub turn_count: Option<u32>,
    /// Why it ended.
    pub termination_reason: Option<TerminationReason>,
}

/// A stay in a topic.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TopicVisit {
    /// The topic.
    pub topic: String,
    /// The turn that led to it.
    pub turn: u32,
    /// What caused it.
    pub trigger: Option<String>,
}

/// An expectation, evaluation or invariant.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "fields without a comment are named after those of their event")]
pub struct Evaluation {
    /// The turn it looks at.
    pub turn: Option<u32>,
    /// The topic whose invariant it is.
    pub topic: Option<String>,
    /// Whether it decides the verdict.
    pub mode: EvaluationMode,
    /// What kind of check it is.
    pub kind: Option<String>,
    /// The criterion's name.
    pub name: Option<String>,
    /// What it demands.
    pub description: Option<String>,
    /// Whether it holds; absent when no verdict could be reached.
    pub passed: Option<bool>,
    /// A score between 0 and 1.
    pub score: Option<f64>,
    /// The judge's reasoning.
    pub reasoning: Option<String>,
    /// Expected and actual.
    pub message: Option<String>,
    pub metadata: Option<Json>,
}

/// An error of the agent or the judge.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "fields without a comment are named after those of their event")]
pub struct PartyError {
    /// The party: `agent` or `judge`.
    pub whose: String,
    /// The turn.
    pub turn: Option<u32>,
    pub operation: Option<String>,
    pub class: Option<String>,
    pub message: String,
    pub context: Option<Json>,
}

/// An error outside any example.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "fields without a comment are named after those of their event")]
pub struct OutsideError {
    /// Where in the run.
    pub phase: Option<String>,
    /// The file or group.
    pub place: Option<String>,
    pub exception: Option<Exception>,
    /// What it said, where there is no exception.
    pub message: Option<String>,
}

/// A model that was asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "fields without a comment are named after those of their event")]
pub struct ModelUse {
    pub backend: Option<String>,
    pub model: Option<String>,
    pub purpose: Option<String>,
    /// Tokens sent.
    pub input_tokens: Option<u64>,
    /// Tokens received.
    pub output_tokens: Option<u64>,
    /// What it cost, in US dollars.
    pub cost_usd: Option<f64>,
    pub duration_ms: Option<Millis>,
    /// Whether the answer came from a cache or cassette.
    pub cached: bool,
    pub error: Option<String>,
}

/// A printed line.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "fields without a comment are named after those of their event")]
pub struct LogLine {
    /// The stream it was printed on.
    pub stream: OutputStream,
    pub line: String,
}

/// A worker.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Worker {
    /// Its number, from 0.
    pub number: u32,
    /// How many processes it has had.
    pub started: u32,
    /// How many of them ended though they should not have.
    pub crashed: u32,
    /// The process it has, or had last.
    pub pid: Option<u32>,
    /// The examples it ran, in order.
    pub ran: Vec<ExampleId>,
    /// What it printed outside examples.
    pub output: Vec<LogLine>,
    /// How many printed lines are not kept in `output`.
    pub output_dropped: u64,
}

impl RunData {
    /// The counts of examples, repetitions and attempts.
    pub fn summary(&self) -> Counts {
        self.summary_if(self.over)
    }

    /// The counts; `over` states whether the run is over, where the caller knows that better than the events.
    pub fn summary_if(&self, over: bool) -> Counts {
        let mut counts = Counts { errors: self.errors.len() as u64, ..Counts::default() };
        for example in &self.examples {
            self.count_example(&mut counts, example, over);
        }
        counts
    }

    /// Adds an example to the counts.
    pub(crate) fn count_example(&self, counts: &mut Counts, example: &Example, over: bool) {
        counts.attempts += example.attempts.iter().filter(|it| it.was_made()).count() as u64;
        counts.repetitions += example.deciding_attempts().len() as u64;
        counts.count(example.verdict(over), self.policy);
    }

    /// The state and verdict of the run.
    pub fn verdict(&self) -> RunVerdict {
        if let Some(verdict) = &self.verdict_of_all {
            return verdict.as_ref().clone();
        }
        self.verdict_by(&self.summary())
    }

    /// The state and verdict of a run with these counts.
    pub(crate) fn verdict_by(&self, counts: &Counts) -> RunVerdict {
        let liveness = if self.over { Liveness::Gone } else { Liveness::Alive };
        RunVerdict::recorded(self.begun, self.ending.as_deref(), liveness, self.interrupted)
            .checked_against_counts(counts, self.policy)
            .checked_against_plan(counts.repetitions, self.planned_repetitions)
    }

    /// Keeps only these examples. The verdict stays that of the whole run.
    pub fn select(&mut self, wanted: impl Fn(&Example) -> bool) {
        let verdict = self.verdict();
        self.examples.retain(wanted);
        self.verdict_of_all = Some(Box::new(verdict));
    }

    /// Marks the run as over because its process is gone: an attempt without an end never ends.
    #[must_use]
    pub fn closed(mut self) -> Self {
        self.over = true;
        self
    }
}

impl Example {
    /// The attempt that decides each repetition: the last one made.
    pub fn deciding_attempts(&self) -> Vec<&Attempt> {
        deciding(&self.attempts, Attempt::number)
    }

    /// The verdict; `over` states whether the run is over, so that an attempt without an end never ends.
    pub fn verdict(&self, over: bool) -> ExampleVerdict {
        let attempts: Vec<Observation<'_>> =
            self.attempts.iter().map(Attempt::observation).collect();
        ExampleVerdict::of(&attempts, self.pass_rate, over)
    }

    /// Its whole description as one line.
    pub fn title(&self) -> String {
        match (&*self.path, &self.description, &self.id) {
            ([_, ..], _, _) => self.path.join(" > "),
            ([], Some(description), _) => description.clone(),
            ([], None, Some(id)) => id.to_string(),
            ([], None, None) => "(no example)".to_owned(),
        }
    }
}

impl Attempt {
    /// Which attempt it is.
    pub fn number(&self) -> AttemptNumber {
        AttemptNumber { repeat: self.repeat, attempt: self.attempt }
    }

    /// Whether the attempt was started; one with status `not_run` was not.
    pub fn was_made(&self) -> bool {
        self.status.as_ref().is_none_or(|status| *status != Status::NotRun)
    }

    /// The fields from which a verdict is made.
    pub fn observation(&self) -> Observation<'_> {
        Observation {
            number: self.number(),
            status: self.status.as_ref(),
            fault: self.fault.as_ref(),
            is_final: self.is_final,
            flaky: self.flaky,
            checks: self.checks,
        }
    }
}
