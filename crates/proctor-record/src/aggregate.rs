//! Folding events into [`RunData`]: one pure step per event, the same for live streams and recordings.

use std::collections::HashMap;

use proctor_events::{
    AgentError, AgentResponse, Body, ErrorOutsideExample, EvaluationRecorded, Event,
    ExampleFinished, ExampleId, ExampleStarted, InvariantEvaluated, Json, JudgeError, ModelCall,
    SimulationEnded, SimulationStarted, Status, SuiteFinished, SuiteStarted, ToolCallCompleted,
    ToolCallStarted, TopicChanged, UserMessage, WorkerExited, WorkerLog, WorkerStarted,
};

use crate::model::{
    AgentMessage, Attempt, Conversation, Evaluation, Example, LogLine, ModelUse, OutsideError,
    RunData, Simulation, ToolCall, TopicVisit, Trouble, Turn, UserTurn, Worker,
};

/// How many printed lines are kept per attempt and per worker.
pub const MAX_LOG_LINES: usize = 2000;

/// Folds a stream of events.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Aggregator {
    run: RunData,
    index: HashMap<Option<ExampleId>, usize>,
}

impl Aggregator {
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
            Body::InvariantEvaluated(payload) => self.evaluated(event, invariant(payload)),
            Body::EvaluationRecorded(payload) => self.evaluated(event, evaluation(payload)),
            Body::AgentError(payload) => self.trouble(event, agent_error(payload)),
            Body::JudgeError(payload) => self.trouble(event, judge_error(payload)),
            Body::GroupStarted(_) | Body::GroupFinished(_) | Body::Progress(_) => {}
            Body::Unknown(unknown) => {
                *self.run.unknown_events.entry(unknown.event_type.to_string()).or_default() += 1;
            }
            Body::SimulationStarted(_)
            | Body::SimulationEnded(_)
            | Body::UserMessage(_)
            | Body::AgentResponse(_)
            | Body::TopicChanged(_)
            | Body::ToolCallStarted(_)
            | Body::ToolCallCompleted(_) => converse(self.conversation(event), event),
        }
    }

    fn evaluated(&mut self, event: &Event, evaluation: Evaluation) {
        push(&mut self.attempt(event).evaluations, evaluation);
    }

    fn trouble(&mut self, event: &Event, trouble: Trouble) {
        self.attempt(event).troubles.push(trouble);
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
        self.run.planned = payload.example_count;
    }

    fn suite_finished(&mut self, event: &Event, payload: &SuiteFinished) {
        self.run.finished_at = event.time;
        self.run.duration_ms = payload.duration_ms;
        self.run.exit_code = payload.exit_code;
        self.run.planned = Some(payload.example_count);
    }

    fn example_started(&mut self, event: &Event, payload: &ExampleStarted) {
        let example = self.example(event);
        describe(example, payload);
        let attempt = attempt_of(example, event);
        attempt.started_at = event.time;
        attempt.worker = event.worker;
        if let (Some(number), Some(id)) = (event.worker, &event.example_id) {
            self.worker(number).ran.push(id.clone());
        }
    }

    fn example_finished(&mut self, event: &Event, payload: &ExampleFinished) {
        let example = self.example(event);
        if example.description.is_none() {
            example.description.clone_from(&payload.description);
        }
        if example.location.is_none() {
            example.location.clone_from(&payload.location);
        }
        let failed_before = example.attempts.iter().any(|earlier| {
            earlier.repeat == event.repeat.unwrap_or(1)
                && earlier.attempt < event.attempt.unwrap_or(1)
                && earlier.status.as_ref().is_some_and(|status| !status.is_success())
        });
        let attempt = attempt_of(example, event);
        attempt.finished_at = event.time;
        attempt.worker = event.worker.or(attempt.worker);
        attempt.is_final = payload.r#final.unwrap_or(true);
        attempt.flaky = payload.flaky.unwrap_or(payload.status == Status::Passed && failed_before);
        attempt.status = Some(payload.status.clone());
        attempt.fault.clone_from(&payload.fault);
        attempt.duration_ms = payload.duration_ms;
        attempt.exception.clone_from(&payload.exception);
        attempt.message.clone_from(&payload.message);
        attempt.exit_status = payload.exit_status;
        attempt.signal = payload.signal;
        attempt.output_tail.clone_from(&payload.output_tail);
        attempt.leaked.clone_from(&payload.leaked);
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
        let line = LogLine {
            stream: payload.stream.clone().unwrap_or_default(),
            line: payload.line.clone(),
        };
        if event.example_id.is_some() {
            let attempt = self.attempt(event);
            keep(&mut attempt.output, &mut attempt.output_dropped, line);
        } else {
            let worker = self.worker(event.worker.unwrap_or_default());
            keep(&mut worker.output, &mut worker.output_dropped, line);
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

    fn example(&mut self, event: &Event) -> &mut Example {
        let examples = &mut self.run.examples;
        let place = *self.index.entry(event.example_id.clone()).or_insert_with(|| {
            examples.push(Example { id: event.example_id.clone(), ..Example::default() });
            examples.len() - 1
        });
        &mut examples[place]
    }

    fn attempt(&mut self, event: &Event) -> &mut Attempt {
        attempt_of(self.example(event), event)
    }

    fn conversation(&mut self, event: &Event) -> &mut Conversation {
        self.attempt(event).conversation.get_or_insert_default()
    }
}

fn describe(example: &mut Example, payload: &ExampleStarted) {
    example.suite.clone_from(&payload.suite);
    example.file.clone_from(&payload.file);
    example.path.clone_from(&payload.path);
    example.location.clone_from(&payload.location);
    example.description = payload.description.clone().or_else(|| payload.path.last().cloned());
    example.tags.clone_from(&payload.tags);
    example.scenario.clone_from(&payload.scenario);
    example.pass_rate = payload.pass_rate.or(example.pass_rate);
}

/// Adds to a list that is usually short. The library makes room for four of these large items with the first; for
/// thousands of examples that is most of the memory of a run.
fn push<T>(list: &mut Vec<T>, item: T) {
    make_room(list);
    list.push(item);
}

fn make_room<T>(list: &mut Vec<T>) {
    if list.len() == list.capacity() {
        list.reserve_exact(list.len().max(1));
    }
}

fn attempt_of<'a>(example: &'a mut Example, event: &Event) -> &'a mut Attempt {
    let (repeat, attempt) = (event.repeat.unwrap_or(1), event.attempt.unwrap_or(1));
    let attempts = &mut example.attempts;
    let found = attempts.iter().rposition(|a| a.repeat == repeat && a.attempt == attempt);
    let place = found.unwrap_or_else(|| {
        push(attempts, Attempt { repeat, attempt, ..Attempt::default() });
        attempts.len() - 1
    });
    &mut attempts[place]
}

/// Keeps the last lines: when something broke, the end is what matters.
fn keep(lines: &mut Vec<LogLine>, dropped: &mut u64, line: LogLine) {
    // Dropping a quarter at a time makes the cost of a very long output linear.
    if lines.len() >= MAX_LOG_LINES {
        let gone = MAX_LOG_LINES / 4;
        lines.drain(..gone);
        *dropped += gone as u64;
    }
    lines.push(line);
}

fn turn(conversation: &mut Conversation, number: u32) -> &mut Turn {
    let topic = conversation.current_topic().map(ToOwned::to_owned);
    let turns = &mut conversation.turns;
    let place = turns.partition_point(|turn| turn.number < number);
    if turns.get(place).is_none_or(|turn| turn.number != number) {
        make_room(turns);
        turns.insert(place, Turn { number, topic, ..Turn::default() });
    }
    &mut turns[place]
}

/// Folds the events that make up a conversation.
fn converse(conversation: &mut Conversation, event: &Event) {
    match &event.body {
        Body::SimulationStarted(payload) => simulation_started(conversation, payload),
        Body::SimulationEnded(payload) => simulation_ended(conversation, payload),
        Body::UserMessage(payload) => user_message(conversation, event, payload),
        Body::AgentResponse(payload) => agent_response(conversation, event, payload),
        Body::TopicChanged(payload) => topic_changed(conversation, payload),
        Body::ToolCallStarted(payload) => tool_started(conversation, event, payload),
        Body::ToolCallCompleted(payload) => tool_completed(conversation, event, payload),
        _ => {}
    }
}

fn simulation_started(conversation: &mut Conversation, payload: &SimulationStarted) {
    conversation.simulations.push(Simulation {
        goal: payload.goal.clone(),
        max_turns: payload.max_turns,
        ..Simulation::default()
    });
}

fn simulation_ended(conversation: &mut Conversation, payload: &SimulationEnded) {
    let simulations = &mut conversation.simulations;
    let open = simulations.iter().rposition(|simulation| simulation.turn_count.is_none());
    let place = open.unwrap_or_else(|| {
        simulations.push(Simulation::default());
        simulations.len() - 1
    });
    simulations[place].turn_count = Some(payload.turn_count);
    simulations[place].termination_reason = Some(payload.termination_reason.clone());
}

fn user_message(conversation: &mut Conversation, event: &Event, payload: &UserMessage) {
    turn(conversation, payload.turn_number).user = Some(UserTurn {
        text: payload.text.clone(),
        source: payload.source.clone(),
        time: event.time,
        metadata: payload.metadata.clone(),
    });
}

fn agent_response(conversation: &mut Conversation, event: &Event, payload: &AgentResponse) {
    let turn = turn(conversation, payload.turn_number);
    let response = AgentMessage {
        text: payload.text.clone(),
        time: event.time,
        duration_ms: payload.duration_ms,
        first_token_ms: payload.first_token_ms,
        pending_tool_calls: payload.pending_tool_calls.clone(),
        metadata: payload.metadata.clone(),
    };
    push(&mut turn.responses, response);
    for call in payload.tool_calls.iter().filter_map(reported_call) {
        let known = turn.tool_calls.iter().any(|seen| match (&seen.id, &call.id) {
            (Some(seen), Some(id)) => seen == id,
            _ => seen.name == call.name && seen.arguments == call.arguments,
        });
        if !known {
            turn.tool_calls.push(ToolCall { time: event.time, ..call });
        }
    }
}

/// A call as an agent reports it: a free-form object that has at least a name.
fn reported_call(json: &Json) -> Option<ToolCall> {
    let mut value = json.to_value();
    let object = value.as_object_mut()?;
    let text = |names: [&str; 2]| {
        names.iter().find_map(|name| object.get(*name)?.as_str().map(ToOwned::to_owned))
    };
    let name = text(["name", "tool_name"])?;
    let id = text(["id", "tool_call_id"]);
    let error = text(["error", "error_message"]);
    let mut part =
        |name: &str| object.remove(name).filter(|value| !value.is_null()).map(Json::from);
    Some(ToolCall {
        id,
        name,
        arguments: part("arguments"),
        result: part("result"),
        metadata: part("metadata"),
        error,
        completed: true,
        ..ToolCall::default()
    })
}

fn topic_changed(conversation: &mut Conversation, payload: &TopicChanged) {
    conversation.topics.push(TopicVisit {
        topic: payload.to_topic.clone(),
        turn: payload.turn_number,
        trigger: payload.trigger.as_ref().map(ToString::to_string),
    });
    for turn in &mut conversation.turns {
        if turn.number >= payload.turn_number {
            turn.topic = Some(payload.to_topic.clone());
        }
    }
}

fn tool_started(conversation: &mut Conversation, event: &Event, payload: &ToolCallStarted) {
    turn(conversation, payload.turn_number).tool_calls.push(ToolCall {
        id: payload.tool_call_id.clone(),
        name: payload.tool_name.clone(),
        arguments: payload.arguments.clone(),
        time: event.time,
        ..ToolCall::default()
    });
}

fn tool_completed(conversation: &mut Conversation, event: &Event, payload: &ToolCallCompleted) {
    let calls = &mut turn(conversation, payload.turn_number).tool_calls;
    let open = calls.iter().position(|call| {
        !call.completed && call.name == payload.tool_name && call.id == payload.tool_call_id
    });
    let place = open.unwrap_or_else(|| {
        calls.push(ToolCall { time: event.time, ..ToolCall::default() });
        calls.len() - 1
    });
    let call = &mut calls[place];
    call.id.clone_from(&payload.tool_call_id);
    call.name.clone_from(&payload.tool_name);
    if payload.arguments.is_some() {
        call.arguments.clone_from(&payload.arguments);
    }
    call.result.clone_from(&payload.result);
    call.error.clone_from(&payload.error);
    call.metadata.clone_from(&payload.metadata);
    call.duration_ms = payload.duration_ms;
    call.completed = true;
}

fn invariant(payload: &InvariantEvaluated) -> Evaluation {
    Evaluation {
        topic: payload.topic.clone(),
        mode: payload.mode.clone().unwrap_or_default(),
        kind: payload.invariant_type.as_ref().map(ToString::to_string),
        description: payload.description.clone(),
        passed: Some(payload.passed),
        message: payload.message.clone(),
        ..Evaluation::default()
    }
}

fn evaluation(payload: &EvaluationRecorded) -> Evaluation {
    Evaluation {
        turn: payload.turn_number,
        topic: None,
        mode: payload.mode.clone(),
        kind: payload.evaluation_type.clone(),
        name: payload.name.clone(),
        description: payload.description.clone(),
        passed: payload.passed,
        score: payload.score,
        reasoning: payload.reasoning.clone(),
        message: payload.failure_message.clone(),
        metadata: payload.metadata.clone(),
    }
}

fn agent_error(payload: &AgentError) -> Trouble {
    Trouble {
        whose: "agent".to_owned(),
        turn: payload.turn_number,
        class: payload.error_class.clone(),
        message: payload.message.clone(),
        context: payload.context.clone(),
        operation: None,
    }
}

fn judge_error(payload: &JudgeError) -> Trouble {
    Trouble {
        whose: "judge".to_owned(),
        operation: payload.operation.clone(),
        class: payload.error_class.clone(),
        message: payload.message.clone(),
        ..Trouble::default()
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
