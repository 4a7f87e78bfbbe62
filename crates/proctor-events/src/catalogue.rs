//! The catalogue: every event of a run, defined once.
//!
//! To add an event, add it here. Its JSON, its schema (`schema/events.schema.json`), its observer
//! hook and its place in `docs/events.md` follow; the tests say which generated file to refresh.
//!
//! Field types say how a field is treated: `Option` may be absent, `Vec` is empty when absent, all
//! others must be there. Fields common to all events (`seq`, `time`, `example_id`, `worker`, …) are in
//! [`Event`](crate::Event), not here.

use serde::ser::SerializeMap;

use crate::define::{events, objects};
use crate::field::{
    Field, FieldError, FieldSink, MapSink, RawFields, ScannedFields, json_name, required_fields,
    write_extra,
};
use crate::json::{Json, Millis};
use crate::texts::Texts;
use crate::words::{
    EvaluationMode, Fault, InvariantType, MessageSource, OutputStream, RunEnding, Status,
    StopReason, TerminationReason, TopicTrigger,
};

objects! {
    /// An error as its language reported it.
    Exception {
        /// The error's class, where the writer knew it.
        class: Option<String>,
        /// Its message.
        message: String,
        /// Where it came from, innermost first: the lines that the suite's own command shows.
        backtrace: Vec<String>,
        /// All lines, where `backtrace` leaves some out or writes them in another way.
        full_backtrace: Option<Vec<String>>,
    }

    /// A process that an example left behind.
    LeakedProcess {
        /// Its process id.
        pid: u32,
        /// Its command line.
        command: Option<String>,
    }

    /// How many examples ended in which way.
    StatusCounts {
        /// Number of passed examples.
        passed: Option<u64>,
        /// Number of failed examples.
        failed: Option<u64>,
        /// Number of pending examples.
        pending: Option<u64>,
        /// Number of inconclusive examples.
        inconclusive: Option<u64>,
        /// Number of errored examples.
        errored: Option<u64>,
        /// Number of crashed examples.
        crashed: Option<u64>,
        /// Number of timed-out examples.
        timed_out: Option<u64>,
        /// Number of cancelled examples.
        cancelled: Option<u64>,
        /// Number of examples that never ran.
        not_run: Option<u64>,
        /// Of the passed ones, how many needed more than one attempt.
        flaky: Option<u64>,
        /// Of the passed ones, how many have failures that their pass rate allows.
        within_rate: Option<u64>,
        /// Of the passed ones, how many checked nothing.
        unchecked: Option<u64>,
    }

    /// What a run tolerates.
    RunPolicy {
        /// Whether an example that passes only after failing fails the run.
        flaky_fails: Option<bool>,
        /// Whether an inconclusive example fails the run.
        inconclusive_fails: Option<bool>,
        /// Whether an example that checked nothing fails the run.
        unchecked_fails: Option<bool>,
        /// Whether finding nothing to run is all right.
        allow_empty: Option<bool>,
    }
}

events! {
    /// The run begins. Sent once, by the controller.
    on_suite_started => SuiteStarted {
        /// The seed that orders the examples.
        seed: Option<u64>,
        /// How many examples will run.
        example_count: Option<u64>,
        /// How many workers may run at once.
        workers: Option<u32>,
        /// How often each example is repeated.
        repeats: Option<u32>,
        /// How long loading took.
        load_time_ms: Option<Millis>,
        /// How many results there will be: every repetition of every example. Streams without it count repetitions as examples.
        repetition_count: Option<u64>,
        /// What the run tolerates.
        policy: Option<RunPolicy>,
        /// Up to how many repetitions an example may get where the runner decides on each further one by the results so far
        /// (`--repeat auto`); absent where their number is fixed. `repetition_count` then says how many there will be at least.
        repeat_limit: Option<u32>,
        /// What such a run is sampled against: the run id, else the name, of the baseline.
        repeat_against: Option<String>,
    }

    /// The run is over. Sent once, by the controller.
    on_suite_finished => SuiteFinished {
        /// How many examples were to run.
        example_count: u64,
        /// How many of them fail the run. Failures that a pass rate allows are none.
        failure_count: u64,
        /// How many were pending.
        pending_count: Option<u64>,
        /// The verdicts of the examples, counted.
        counts: Option<StatusCounts>,
        /// Errors outside examples.
        error_count: Option<u64>,
        /// How long the run took.
        duration_ms: Option<Millis>,
        /// The exit code that follows from this run.
        exit_code: Option<i32>,
        /// How the run came to its end.
        state: Option<RunEnding>,
        /// What stopped it before its end.
        stopped_by: Option<StopReason>,
        /// `passed` or `failed`; absent where the run did not finish.
        verdict: Option<String>,
        /// How many results there are: every repetition of every example.
        repetition_count: Option<u64>,
        /// How many of them are of examples that were defined while the run went on, and were not announced at its start.
        late_count: Option<u64>,
    }

    /// An example group is entered.
    on_group_started => GroupStarted {
        /// The group's own description.
        description: Option<String>,
        /// Descriptions from the outermost group to this one.
        path: Vec<String>,
        /// The file it stands in.
        file: Option<String>,
        /// `file:line`.
        location: Option<String>,
    }

    /// An example group is left.
    on_group_finished => GroupFinished {
        /// The group's own description.
        description: Option<String>,
        /// Descriptions from the outermost group to this one.
        path: Vec<String>,
        /// The file it stands in.
        file: Option<String>,
    }

    /// An attempt at an example begins. Written before any code of the example runs.
    on_example_started => ExampleStarted {
        /// The file it stands in, relative to the project root.
        file: Option<String>,
        /// The description chain, outermost first.
        path: Vec<String>,
        /// `file:line`, for navigation.
        location: Option<String>,
        /// The example's own description.
        description: Option<String>,
        /// The whole chain as one sentence.
        full_description: Option<String>,
        /// Tags the test carries.
        tags: Vec<String>,
        /// What kind of suite it belongs to: `rspec`, `scenario`, `workspace`, ….
        suite: Option<String>,
        /// The row of a scenario set.
        scenario: Option<Json>,
        /// The share of repetitions that must pass, where the test says so.
        pass_rate: Option<f64>,
        /// What the project declares of its agent or suite: whether the same code gives the same result every time.
        deterministic: Option<bool>,
        /// Whether the answers of its agent are a script; absent where they are not.
        scripted: Option<bool>,
        /// How many repetitions of the example are planned, where it is more than one. A pass rate may be settled before the last of
        /// them, which are then not run. In a run with a `repeat_limit` there are at most so many.
        repeats: Option<u32>,
    }

    /// An attempt at an example is over.
    on_example_finished => ExampleFinished {
        /// How it ended.
        status: Status,
        /// Whose failure it was, where that is known.
        fault: Option<Fault>,
        /// How long it took.
        duration_ms: Option<Millis>,
        /// What went wrong.
        exception: Option<Exception>,
        /// Of a pending example that was run: the failure that was expected.
        pending_exception: Option<Exception>,
        /// Why it is pending, or what happened to its worker.
        message: Option<String>,
        /// Whether no further attempt follows.
        r#final: Option<bool>,
        /// Whether it passed only after failing.
        flaky: Option<bool>,
        /// How many checks that could have failed it were made; soft ones are none. Absent where the writer does not know.
        checks: Option<u64>,
        /// The exit status of the worker that died with it.
        exit_status: Option<i32>,
        /// The signal that killed its worker.
        signal: Option<i32>,
        /// The last lines of output of a crashed or timed-out attempt.
        output_tail: Vec<String>,
        /// Processes the example left behind; they have been ended.
        leaked: Vec<LeakedProcess>,
        /// The example's own description.
        description: Option<String>,
        /// The whole chain as one sentence.
        full_description: Option<String>,
        /// `file:line`.
        location: Option<String>,
        /// The file it stands in, where no `ExampleStarted` says so: the example never started.
        file: Option<String>,
        /// The description chain, outermost first, in the same case.
        path: Option<Vec<String>>,
        /// The share of repetitions that must pass, in the same case.
        pass_rate: Option<f64>,
        /// How many repetitions are planned, in the same case.
        repeats: Option<u32>,
    }

    /// A simulated conversation begins.
    on_simulation_started => SimulationStarted {
        /// What the simulated user wants.
        goal: Option<String>,
        /// The most turns it may take.
        max_turns: Option<u32>,
    }

    /// A simulated conversation is over.
    on_simulation_ended => SimulationEnded {
        /// How many turns were taken.
        turn_count: u32,
        /// Why it ended.
        termination_reason: TerminationReason,
    }

    /// The user speaks.
    on_user_message => UserMessage {
        /// The turn, from 1.
        turn_number: u32,
        /// What was said.
        text: String,
        /// Who wrote it.
        source: Option<MessageSource>,
        /// Whatever else the test attached.
        metadata: Option<Json>,
    }

    /// The agent answers.
    on_agent_response => AgentResponse {
        /// The turn, from 1.
        turn_number: u32,
        /// What was said.
        text: String,
        /// Tools that the agent itself called.
        tool_calls: Vec<Json>,
        /// Tools that the agent asks the host to call.
        pending_tool_calls: Vec<Json>,
        /// Tracing data, model name, custom fields.
        metadata: Option<Json>,
        /// How long the agent took.
        duration_ms: Option<Millis>,
        /// How long until its first token, for agents that stream.
        first_token_ms: Option<Millis>,
        /// What the answer cost in US dollars, where the agent says it.
        cost_usd: Option<f64>,
        /// Whether the turn ends without an answer to the tools that it asks for.
        ends_turn: Option<bool>,
        /// `false` where the agent did not list the calls that it made itself, so that there may have been others.
        calls_listed: Option<bool>,
    }

    /// The conversation moves to another topic.
    on_topic_changed => TopicChanged {
        /// The turn, from 1; 0 before the first.
        turn_number: u32,
        /// The topic that was left.
        from_topic: Option<String>,
        /// The topic that was entered.
        to_topic: String,
        /// What caused it.
        trigger: Option<TopicTrigger>,
    }

    /// A tool call begins.
    on_tool_call_started => ToolCallStarted {
        /// The turn, from 1.
        turn_number: u32,
        /// Pairs this event with its completion.
        tool_call_id: Option<String>,
        /// The tool.
        tool_name: String,
        /// Its arguments.
        arguments: Option<Json>,
    }

    /// A tool call is over.
    on_tool_call_completed => ToolCallCompleted {
        /// The turn, from 1.
        turn_number: u32,
        /// Pairs this event with its start.
        tool_call_id: Option<String>,
        /// The tool.
        tool_name: String,
        /// Its arguments.
        arguments: Option<Json>,
        /// What it returned, where it succeeded.
        result: Option<Json>,
        /// What went wrong, where it failed.
        error: Option<String>,
        /// Timing, records, custom data.
        metadata: Option<Json>,
        /// How long it took.
        duration_ms: Option<Millis>,
    }

    /// An invariant of a topic was checked.
    on_invariant_evaluated => InvariantEvaluated {
        /// The topic it belongs to.
        topic: Option<String>,
        /// What kind of check it is.
        invariant_type: Option<InvariantType>,
        /// What it demands.
        description: Option<String>,
        /// Whether it holds.
        passed: bool,
        /// Why not.
        message: Option<String>,
        /// Whether it decides the verdict.
        mode: Option<EvaluationMode>,
    }

    /// An expectation or evaluation was checked.
    on_evaluation_recorded => EvaluationRecorded {
        /// The turn it looks at; absent when it looks at the whole conversation.
        turn_number: Option<u32>,
        /// Whether it decides the verdict.
        mode: EvaluationMode,
        /// What kind of check it is: `quality`, `tool_call`, `grounding`, `intent`, ….
        evaluation_type: Option<String>,
        /// The criterion's name, where it has one.
        name: Option<String>,
        /// What it demands.
        description: Option<String>,
        /// Whether it holds; absent when no verdict could be reached.
        passed: Option<bool>,
        /// A score between 0 and 1, where the check gives one.
        score: Option<f64>,
        /// The judge's reasoning.
        reasoning: Option<String>,
        /// Expected and actual, for people.
        failure_message: Option<String>,
        /// Votes, confidence, custom data.
        metadata: Option<Json>,
    }

    /// The agent under test broke.
    on_agent_error => AgentError {
        /// The turn, where there was one.
        turn_number: Option<u32>,
        /// The error's class.
        error_class: Option<String>,
        /// What it said.
        message: String,
        /// What was going on.
        context: Option<Json>,
    }

    /// The judge could not do its work.
    on_judge_error => JudgeError {
        /// What was asked of it.
        operation: Option<String>,
        /// The error's class.
        error_class: Option<String>,
        /// What it said.
        message: String,
    }

    /// Something broke outside any example: a load error, a suite or context hook. It fails the run.
    on_error_outside_example => ErrorOutsideExample {
        /// Where: `load`, `before_suite`, `after_suite`, `before_context`, `after_context`, ….
        phase: Option<String>,
        /// The file or group concerned.
        place: Option<String>,
        /// What went wrong.
        exception: Option<Exception>,
        /// What it said, where there is no exception.
        message: Option<String>,
    }

    /// A worker process is ready.
    on_worker_started => WorkerStarted {
        /// Its process id.
        pid: Option<u32>,
        /// How many processes have had this worker number, from 1.
        generation: Option<u32>,
    }

    /// A worker process has ended.
    on_worker_exited => WorkerExited {
        /// Its process id.
        pid: Option<u32>,
        /// How many processes have had this worker number, from 1.
        generation: Option<u32>,
        /// Its exit status.
        exit_status: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
        /// Whether it was meant to end.
        expected: Option<bool>,
    }

    /// A worker printed a line.
    on_worker_log => WorkerLog {
        /// The line, without its line feed.
        line: String,
        /// The stream it was printed on.
        stream: Option<OutputStream>,
    }

    /// A model was asked.
    on_model_call => ModelCall {
        /// The kind of backend.
        backend: Option<String>,
        /// The model's name.
        model: Option<String>,
        /// What for: `agent`, `simulator`, `judge`, ….
        purpose: Option<String>,
        /// Tokens sent.
        input_tokens: Option<u64>,
        /// Tokens received.
        output_tokens: Option<u64>,
        /// What it cost, in US dollars.
        cost_usd: Option<f64>,
        /// How long it took, retries included.
        duration_ms: Option<Millis>,
        /// Whether the answer came from a cache or cassette.
        cached: Option<bool>,
        /// How many tries it took.
        tries: Option<u32>,
        /// What went wrong, where it failed.
        error: Option<String>,
        /// The interface that was used, where an agent used its model endpoint: `chat_completions`, `responses`, `messages`.
        interface: Option<String>,
        /// Everything that the model was given to read, where it was seen.
        prompt: Option<String>,
        /// What the model said, where it was seen.
        text: Option<String>,
        /// The calls that the model asked for, where they were seen: `id`, `name` and `arguments` of each.
        tool_calls: Option<Vec<Json>>,
    }

    /// Work of the agent, as its OpenTelemetry instrumentation told it.
    on_agent_span => AgentSpan {
        /// The turn, from 1.
        turn_number: u32,
        /// What was done.
        name: String,
        /// The id of the span.
        span_id: String,
        /// The span it is a part of.
        parent_span_id: Option<String>,
        /// When it began, as RFC 3339.
        started_at: Option<String>,
        /// How long it took.
        duration_ms: Option<Millis>,
        /// The instrumentation that told it.
        scope: Option<String>,
        /// What went wrong, where it failed.
        error: Option<String>,
        /// Its attributes; long ones are cut.
        attributes: Option<Json>,
        /// How many further spans of the answer were not recorded.
        spans_left_out: Option<u64>,
    }

    /// How far the run is.
    on_progress => Progress {
        /// Examples that have ended.
        completed: u64,
        /// Examples in all.
        total: u64,
        /// Examples that failed.
        failures: u64,
    }
}
