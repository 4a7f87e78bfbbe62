//! Folding events into [`RunData`]: one pure step per event, the same for live streams and recordings, for everything that a run
//! holds and for its outline.

mod attempt_index;
mod conversation;
mod detail;

use std::collections::HashMap;

use proctor_events::{
    AgentError, Body, ErrorOutsideExample, EvaluationRecorded, Event, ExampleFinished, ExampleId,
    ExampleStarted, InvariantEvaluated, JudgeError, ModelCall, Status, SuiteFinished, SuiteStarted,
    WorkerExited, WorkerLog, WorkerStarted,
};

use proctor_verdict::{AttemptNumber, Policy, is_success};

use self::attempt_index::AttemptIndex;
use self::conversation::apply_conversation_event;
use self::detail::Detail;
use crate::model::{
    Attempt, Conversation, Evaluation, Example, LogLine, ModelUse, OutsideError, PartyError,
    RunData, Worker,
};

/// How many printed lines are kept per attempt and per worker.
pub const MAX_LOG_LINES: usize = 2000;

/// The largest number of examples for which memory is reserved because a stream announces them.
const MAX_RESERVED_EXAMPLES: u64 = 20_000;

/// Folds a stream of events.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Aggregator {
    run: RunData,
    index: HashMap<Option<ExampleId>, usize>,
    attempt_index: AttemptIndex,
    detail: Detail,
}

impl Aggregator {
    /// A fold that keeps results and numbers: who ran what, how it ended, and of each attempt that has ended its
    /// [`Tally`](crate::Tally). Messages, checks, output and model calls are dropped, so a run of any length takes about a kilobyte an example.
    pub fn outline() -> Self {
        Self { detail: Detail::Outline, ..Self::default() }
    }

    /// An outline that goes on from what an outline has folded before.
    pub(crate) fn outline_of(run: RunData) -> Self {
        let ids = run.examples.iter().map(|example| example.id.clone());
        let index = ids.zip(0..).collect();
        Self { run, index, attempt_index: AttemptIndex::default(), detail: Detail::Outline }
    }

    /// What has been folded so far.
    pub fn run(&self) -> &RunData {
        &self.run
    }

    /// The end result.
    pub fn into_run(self) -> RunData {
        self.run
    }

    /// Folds one event.
    pub fn apply(&mut self, event: &Event) {
        self.note_envelope(event);
        match &event.body {
            Body::SuiteStarted(payload) => self.suite_started(event, payload),
            Body::SuiteFinished(payload) => self.suite_finished(event, payload),
            Body::ExampleStarted(payload) => self.example_started(event, payload),
            Body::ExampleFinished(payload) => self.example_finished(event, payload),
            Body::ErrorOutsideExample(payload) => self.run.errors.push(outside_error(payload)),
            Body::WorkerStarted(payload) => self.worker_started(event, payload),
            Body::WorkerExited(payload) => self.worker_exited(event, payload),
            Body::WorkerLog(payload) => self.worker_log(event, payload),
            Body::ModelCall(payload) => self.model_call(event, payload),
            Body::InvariantEvaluated(payload) => {
                self.evaluated(event, invariant(payload, self.detail));
            }
            Body::EvaluationRecorded(payload) => {
                self.evaluated(event, evaluation(payload, self.detail));
            }
            Body::AgentError(payload) => self.party_error(event, agent_error(payload)),
            Body::JudgeError(payload) => self.party_error(event, judge_error(payload)),
            // Spans are for whoever reads the events; what they told about calls and models has events of its own.
            Body::GroupStarted(_)
            | Body::GroupFinished(_)
            | Body::Progress(_)
            | Body::AgentSpan(_) => {}
            Body::Unknown(unknown) => {
                *self.run.unknown_events.entry(unknown.event_type.to_string()).or_default() += 1;
            }
            Body::SimulationStarted(_)
            | Body::SimulationEnded(_)
            | Body::UserMessage(_)
            | Body::AgentResponse(_)
            | Body::TopicChanged(_)
            | Body::ToolCallStarted(_)
            | Body::ToolCallCompleted(_) => {
                let detail = self.detail;
                apply_conversation_event(self.conversation(event), event, detail);
            }
        }
    }

    /// Folds the event at this place of a run, where the events before it were left out.
    pub(crate) fn apply_at(&mut self, place: u64, event: &Event) {
        self.run.event_count = place;
        self.apply(event);
    }

    /// Folds all of an event that concerns the run and not one of its examples. Returns whether it concerns an example besides, whose `id`
    /// the worker that ran it remembers.
    pub(crate) fn apply_to_run(&mut self, event: &Event, id: Option<&ExampleId>) -> bool {
        if !concerns_example(event) {
            self.apply(event);
            return false;
        }
        self.note_envelope(event);
        if let (Body::ExampleStarted(_), Some(number), Some(id)) = (&event.body, event.worker, id) {
            self.worker(number).ran.push(id.clone());
        }
        true
    }

    fn evaluated(&mut self, event: &Event, evaluation: Evaluation) {
        push(&mut self.attempt(event).evaluations, evaluation);
    }

    fn party_error(&mut self, event: &Event, party_error: PartyError) {
        let detail = self.detail;
        let attempt = self.attempt(event);
        if detail.is_full() {
            attempt.troubles.push(party_error);
        }
    }

    fn note_envelope(&mut self, event: &Event) {
        let run = &mut self.run;
        run.event_count += 1;
        run.last_seq = run.last_seq.max(event.seq);
        run.format_version = run.format_version.max(event.v);
        if run.run_id.is_none() {
            run.run_id.clone_from(&event.run_id);
        }
        if run.started_at.is_none() {
            run.started_at = event.time;
        }
    }

    fn suite_started(&mut self, event: &Event, payload: &SuiteStarted) {
        self.run.started_at = event.time.or(self.run.started_at);
        self.run.seed = payload.seed;
        self.run.begun = true;
        self.run.policy = Policy::of_event(payload.policy.as_ref());
        self.run.planned = payload.example_count;
        self.run.planned_repetitions = payload.repetition_count;
        self.run.repeat_limit = payload.repeat_limit;
        // Reserved at once: growth by doubling would leave up to half of the memory unused.
        let expected = payload.example_count.unwrap_or_default().min(MAX_RESERVED_EXAMPLES);
        let expected = usize::try_from(expected).unwrap_or_default();
        self.run.examples.reserve_exact(expected.saturating_sub(self.run.examples.len()));
        self.index.reserve(expected.saturating_sub(self.index.len()));
    }

    fn suite_finished(&mut self, event: &Event, payload: &SuiteFinished) {
        self.run.finished_at = event.time;
        self.run.duration_ms = payload.duration_ms;
        self.run.exit_code = payload.exit_code;
        self.run.planned = Some(payload.example_count);
        self.run.planned_repetitions = payload.repetition_count;
        self.run.over = true;
        self.run.ending = Some(Box::new(payload.clone()));
    }

    fn example_started(&mut self, event: &Event, payload: &ExampleStarted) {
        let detail = self.detail;
        let place = self.example_place(event);
        apply_description(&mut self.run.examples[place], payload, detail);
        let attempt = self.attempt_at(place, event);
        attempt.started_at = event.time;
        attempt.worker = event.worker;
        if let (Some(number), Some(id), true) = (event.worker, &event.example_id, detail.is_full())
        {
            self.worker(number).ran.push(id.clone());
        }
    }

    fn example_finished(&mut self, event: &Event, payload: &ExampleFinished) {
        let detail = self.detail;
        let place = self.example_place(event);
        let example = &mut self.run.examples[place];
        // An example that never started is described here.
        if example.path.is_empty()
            && let Some(path) = &payload.path
        {
            example.path.clone_from(path);
            example.description = path.last().cloned();
        }
        if example.file.is_none() {
            example.file.clone_from(&payload.file);
        }
        if example.description.is_none() {
            example.description.clone_from(&payload.description);
        }
        example.pass_rate = example.pass_rate.or(payload.pass_rate);
        example.repeats = example.repeats.or(payload.repeats);
        apply_late_name(example, payload);
        if example.location.is_none() {
            example.location.clone_from(&payload.location);
        }
        let failed_before = self.failed_before(place, event);
        let end_event = self.event_place();
        let attempt = self.attempt_at(place, event);
        attempt.finished_at = event.time;
        attempt.end_event = Some(end_event);
        attempt.worker = event.worker.or(attempt.worker);
        attempt.is_final = payload.r#final.unwrap_or(true);
        attempt.flaky = payload.flaky.unwrap_or(payload.status == Status::Passed && failed_before);
        attempt.checks = payload.checks;
        attempt.status = Some(payload.status.clone());
        attempt.fault.clone_from(&payload.fault);
        attempt.duration_ms = payload.duration_ms;
        attempt.exception = payload.exception.as_ref().map(|it| detail.exception(it)).map(Box::new);
        attempt.message = detail.message(payload.message.as_ref());
        attempt.exit_status = payload.exit_status;
        attempt.signal = payload.signal;
        attempt.output_tail = detail.only_in_full(&payload.output_tail);
        attempt.leaked = detail.only_in_full(&payload.leaked);
        if !detail.is_full() {
            attempt.reduce_to_tally();
        }
    }

    fn worker_started(&mut self, event: &Event, payload: &WorkerStarted) {
        let worker = self.worker(event.worker.unwrap_or_default());
        worker.started += 1;
        worker.pid = payload.pid;
    }

    fn worker_exited(&mut self, event: &Event, payload: &WorkerExited) {
        if payload.expected == Some(false) {
            self.worker(event.worker.unwrap_or_default()).crashed += 1;
        }
    }

    fn worker_log(&mut self, event: &Event, payload: &WorkerLog) {
        if !self.detail.is_full() {
            if event.example_id.is_some() {
                self.attempt(event).output_dropped += 1;
            } else {
                self.worker(event.worker.unwrap_or_default()).output_dropped += 1;
            }
            return;
        }
        let line = LogLine {
            stream: payload.stream.clone().unwrap_or_default(),
            line: payload.line.clone(),
        };
        if event.example_id.is_some() {
            let attempt = self.attempt(event);
            push_log_line(&mut attempt.output, &mut attempt.output_dropped, line);
        } else {
            let worker = self.worker(event.worker.unwrap_or_default());
            push_log_line(&mut worker.output, &mut worker.output_dropped, line);
        }
    }

    fn model_call(&mut self, event: &Event, payload: &ModelCall) {
        let calls = if event.example_id.is_some() {
            &mut self.attempt(event).model_calls
        } else {
            &mut self.run.model_calls
        };
        calls.push(model_use(payload));
    }

    fn worker(&mut self, number: u32) -> &mut Worker {
        let workers = &mut self.run.workers;
        let place = workers.partition_point(|worker| worker.number < number);
        if workers.get(place).is_none_or(|worker| worker.number != number) {
            workers.insert(place, Worker { number, ..Worker::default() });
        }
        &mut workers[place]
    }

    /// The place of the event's example in [`RunData::examples`].
    fn example_place(&mut self, event: &Event) -> usize {
        if let Some(place) = self.index.get(&event.example_id) {
            return *place;
        }
        let place = self.run.examples.len();
        self.run.examples.push(Example { id: event.example_id.clone(), ..Example::default() });
        self.index.insert(event.example_id.clone(), place);
        place
    }

    /// The place of the event that is being folded among the events of the run, from 0.
    fn event_place(&self) -> u64 {
        self.run.event_count.saturating_sub(1)
    }

    fn attempt(&mut self, event: &Event) -> &mut Attempt {
        let place = self.example_place(event);
        self.attempt_at(place, event)
    }

    /// The event's attempt at the example in this place.
    fn attempt_at(&mut self, example: usize, event: &Event) -> &mut Attempt {
        let number = AttemptNumber::of(event);
        let AttemptNumber { repeat, attempt } = number;
        let first_event = self.event_place();
        let attempts = &mut self.run.examples[example].attempts;
        let found = self.attempt_index.find(example, attempts, number);
        let place = found.unwrap_or_else(|| {
            push(attempts, Attempt { repeat, attempt, first_event, ..Attempt::default() });
            attempts.len() - 1
        });
        &mut attempts[place]
    }

    /// Whether an earlier attempt at the repetition of this event did not end well.
    fn failed_before(&mut self, example: usize, event: &Event) -> bool {
        let attempts = &self.run.examples[example].attempts;
        let failed = |it: &Attempt| it.status.as_ref().is_some_and(|status| !is_success(status));
        self.attempt_index.any_replaced(example, attempts, AttemptNumber::of(event), failed)
    }

    fn conversation(&mut self, event: &Event) -> &mut Conversation {
        self.attempt(event).conversation.get_or_insert_default()
    }
}

/// Whether [`Aggregator::apply`] makes or changes an example for this event.
pub(crate) fn concerns_example(event: &Event) -> bool {
    match &event.body {
        Body::SuiteStarted(_)
        | Body::SuiteFinished(_)
        | Body::ErrorOutsideExample(_)
        | Body::WorkerStarted(_)
        | Body::WorkerExited(_)
        | Body::GroupStarted(_)
        | Body::GroupFinished(_)
        | Body::Progress(_)
        | Body::AgentSpan(_)
        | Body::Unknown(_) => false,
        Body::WorkerLog(_) | Body::ModelCall(_) => event.example_id.is_some(),
        _ => true,
    }
}

fn apply_description(example: &mut Example, payload: &ExampleStarted, detail: Detail) {
    example.suite.clone_from(&payload.suite);
    example.file.clone_from(&payload.file);
    example.location.clone_from(&payload.location);
    // A further attempt does not know the name that an earlier one has found.
    if !example.has_late_name {
        example.path.clone_from(&payload.path);
        example.description = payload.description.clone().or_else(|| payload.path.last().cloned());
    }
    example.tags.clone_from(&payload.tags);
    example.scenario = detail.only_in_full(&payload.scenario);
    example.pass_rate = payload.pass_rate.or(example.pass_rate);
    example.repeats = payload.repeats.or(example.repeats);
    example.deterministic = payload.deterministic.or(example.deterministic);
    example.scripted = payload.scripted.unwrap_or(example.scripted);
}

/// Appends the name that an example without one was given while it ran. An example of which only the end is recorded has no path to
/// append to.
fn apply_late_name(example: &mut Example, payload: &ExampleFinished) {
    let Some(name) = payload.own_name() else { return };
    if example.path.last().is_none_or(|last| last == name) {
        return;
    }
    if std::mem::replace(&mut example.has_late_name, true) {
        example.path.pop();
    }
    example.path.reserve_exact(1);
    example.path.push(name.to_owned());
    example.description = Some(name.to_owned());
}

/// Pushes to a list that is usually short. `Vec::push` reserves space for four of these large items with the first; for
/// thousands of examples that would be most of the memory of a run.
fn push<T>(list: &mut Vec<T>, item: T) {
    reserve_one(list);
    list.push(item);
}

fn reserve_one<T>(list: &mut Vec<T>) {
    if list.len() == list.capacity() {
        list.reserve_exact(list.len().max(1));
    }
}

/// Keeps the last [`MAX_LOG_LINES`] lines: the end of the output explains a failure.
fn push_log_line(lines: &mut Vec<LogLine>, dropped: &mut u64, line: LogLine) {
    // Dropping a quarter at a time makes the cost of a very long output linear.
    if lines.len() >= MAX_LOG_LINES {
        let gone = MAX_LOG_LINES / 4;
        lines.drain(..gone);
        *dropped += gone as u64;
    }
    lines.push(line);
}

fn invariant(payload: &InvariantEvaluated, detail: Detail) -> Evaluation {
    Evaluation {
        topic: payload.topic.clone(),
        mode: payload.mode.clone().unwrap_or_default(),
        kind: payload.invariant_type.as_ref().map(ToString::to_string),
        description: payload.description.clone(),
        passed: Some(payload.passed),
        message: detail.only_in_full(&payload.message),
        ..Evaluation::default()
    }
}

fn evaluation(payload: &EvaluationRecorded, detail: Detail) -> Evaluation {
    Evaluation {
        turn: payload.turn_number,
        topic: None,
        mode: payload.mode.clone(),
        kind: payload.evaluation_type.clone(),
        name: payload.name.clone(),
        description: payload.description.clone(),
        passed: payload.passed,
        score: payload.score,
        reasoning: detail.only_in_full(&payload.reasoning),
        message: detail.only_in_full(&payload.failure_message),
        metadata: detail.only_in_full(&payload.metadata),
    }
}

fn agent_error(payload: &AgentError) -> PartyError {
    PartyError {
        whose: "agent".to_owned(),
        turn: payload.turn_number,
        class: payload.error_class.clone(),
        message: payload.message.clone(),
        context: payload.context.clone(),
        operation: None,
    }
}

fn judge_error(payload: &JudgeError) -> PartyError {
    PartyError {
        whose: "judge".to_owned(),
        operation: payload.operation.clone(),
        class: payload.error_class.clone(),
        message: payload.message.clone(),
        ..PartyError::default()
    }
}

fn outside_error(payload: &ErrorOutsideExample) -> OutsideError {
    OutsideError {
        phase: payload.phase.clone(),
        place: payload.place.clone(),
        exception: payload.exception.clone(),
        message: payload.message.clone(),
    }
}

fn model_use(payload: &ModelCall) -> ModelUse {
    ModelUse {
        backend: payload.backend.clone(),
        model: payload.model.clone(),
        purpose: payload.purpose.clone(),
        input_tokens: payload.input_tokens,
        output_tokens: payload.output_tokens,
        cost_usd: payload.cost_usd,
        duration_ms: payload.duration_ms,
        cached: payload.cached.unwrap_or_default(),
        error: payload.error.clone(),
    }
}

#[cfg(test)]
mod tests;
