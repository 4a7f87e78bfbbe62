//! Turns: what the user says, what the agent answers, what tools do.

use proctor_events::{
    AgentError, AgentResponse, Fault, Json, MessageSource, Millis, Status, TerminationReason,
    ToolCallCompleted, ToolCallStarted, UserMessage,
};
use serde_json::{Value, json};

use super::{
    AgentAnswer, Effect, Engine, MAX_TOOL_ROUNDS, Message, RequestId, Role, ToolOutcome, WaitState,
    WorkItem,
};
use crate::live_calls::{CallReport, LiveCalls};
use crate::transcript::{DoneCall, ToolCall, Turn};

impl Engine {
    pub(super) fn add_user_message(
        &mut self,
        text: String,
        source: MessageSource,
        metadata: Option<Value>,
    ) {
        let number = self.turn_number() + 1;
        self.emit(UserMessage {
            turn_number: number,
            text: text.clone(),
            source: Some(source),
            metadata: metadata.map(Json::from),
        });
        self.messages.push(Message::new(Role::User, text.clone()));
        self.transcript.turns.push(Turn { number, user: text, ..Turn::default() });
        if let Some(simulation) = &mut self.simulation {
            simulation.turns_taken += 1;
        }
        self.tool_rounds = 0;
        self.answers = 0;
        self.queue_first([WorkItem::CallAgent, WorkItem::Classify]);
    }

    pub(super) fn call_agent(&mut self) {
        if self.has_expired() {
            return;
        }
        let id = self.next_id();
        let turn = self.turn_number();
        self.live_calls = LiveCalls::default();
        self.effects.push(Effect::CallAgent { id, turn, messages: self.messages.clone() });
        self.waiting = WaitState::Agent { id };
    }

    pub(super) fn agent_reported_call(&mut self, id: RequestId, report: CallReport) {
        if !matches!(&self.waiting, WaitState::Agent { id: wanted } if *wanted == id) {
            return;
        }
        let mut live = std::mem::take(&mut self.live_calls);
        let new = live.report(report, || self.next_call_id());
        self.live_calls = live;
        self.emit_reports(&new);
    }

    fn emit_reports(&mut self, reports: &[CallReport]) {
        let turn_number = self.turn_number();
        for report in reports {
            match report {
                CallReport::Started(call) => self.emit_started(turn_number, call),
                CallReport::Completed(done) => self.emit_completed(turn_number, done),
            }
        }
    }

    pub(super) fn agent_answered(&mut self, id: RequestId, answer: AgentAnswer) {
        if !matches!(&self.waiting, WaitState::Agent { id: wanted } if *wanted == id) {
            return;
        }
        let turn_number = self.turn_number();
        let made = answer.tool_calls.first().map(|done| done.call.name.as_str());
        let asked = answer.pending_tool_calls.first().map(|call| call.name.as_str());
        if let Some(message) = self.transcript.reports.contradiction(made, asked) {
            self.end_with_agent_error(Some("UnexpectedToolCall".into()), message);
            return;
        }
        let calls_known = self.transcript.reports.knows_calls(answer.calls_listed);
        let unlisted = !calls_known && self.transcript.reports.depends_on_answer();
        let live = std::mem::take(&mut self.live_calls);
        let (done, untold) = live.settle(answer.tool_calls, || self.next_call_id());
        let pending: Vec<ToolCall> =
            answer.pending_tool_calls.into_iter().map(|call| self.with_call_id(call)).collect();
        self.emit_reports(&untold);
        self.emit(AgentResponse {
            turn_number,
            text: answer.text.clone(),
            // What came of each has been told by its own event.
            tool_calls: done.iter().filter_map(|done| Json::new(&done.call).ok()).collect(),
            pending_tool_calls: pending.iter().filter_map(|call| Json::new(call).ok()).collect(),
            metadata: answer.metadata.map(Json::from),
            duration_ms: answer.duration_ms.map(Millis::new),
            first_token_ms: answer.first_token_ms.map(Millis::new),
            cost_usd: answer.cost_usd,
            ends_turn: answer.ends_turn.then_some(true),
            calls_listed: unlisted.then_some(false),
        });
        self.messages.push(Message {
            tool_calls: pending.clone(),
            ..Message::new(Role::Assistant, answer.text.clone())
        });
        if let Some(turn) = self.transcript.turns.last_mut() {
            add_text(&mut turn.agent, &answer.text);
            turn.tool_calls.extend(done);
            turn.calls_unknown |= !calls_known;
            if !calls_known && turn.calls_unknown_reason.is_none() {
                turn.calls_unknown_reason = answer.calls_unknown_reason;
            }
            let before = if self.answers == 0 { Some(Vec::new()) } else { turn.prompts.take() };
            turn.prompts = before.zip(answer.prompts).map(|(before, new)| [before, new].concat());
            // As it is recorded: `rejudge` compares the same number.
            let taken = answer.duration_ms.map(|taken| Millis::new(taken).get());
            turn.latency_ms = sum(self.answers, turn.latency_ms, taken);
            turn.cost_usd = sum(self.answers, turn.cost_usd, answer.cost_usd);
            self.answers += 1;
        }
        self.turn_ends = answer.ends_turn;
        if pending.is_empty() {
            self.run_queued_work();
        } else {
            self.call_tools(pending);
        }
    }

    /// A call without an id gets one, so that its events can be paired.
    fn with_call_id(&mut self, mut call: ToolCall) -> ToolCall {
        if call.id.is_empty() {
            call.id = self.next_call_id();
        }
        call
    }

    fn next_call_id(&mut self) -> String {
        format!("call_{}", self.next_id().0)
    }

    fn call_tools(&mut self, pending: Vec<ToolCall>) {
        self.tool_rounds += 1;
        if self.tool_rounds > MAX_TOOL_ROUNDS {
            let message = format!(
                "the agent asked for tools {} times in one turn; at most {MAX_TOOL_ROUNDS} rounds are allowed",
                self.tool_rounds
            );
            self.end_with_agent_error(Some("TooManyToolRounds".into()), message);
            return;
        }
        let order = pending.iter().map(|call| call.id.clone()).collect();
        let mut open = Vec::new();
        for call in pending {
            let id = self.next_id();
            self.emit_started(self.turn_number(), &call);
            self.effects.push(Effect::ExecuteTool { id, call: call.clone() });
            open.push((id, call));
        }
        self.waiting = WaitState::Tools { open, done: Vec::new(), order };
    }

    pub(super) fn tool_result(&mut self, id: RequestId, outcome: ToolOutcome) {
        let Some(call) = self.take_open_call(id) else { return };
        let (result, error) = match outcome.result {
            Ok(result) => (Some(result), None),
            Err(error) => (None, Some(error)),
        };
        let duration_ms = outcome.duration_ms;
        let finished = DoneCall { call, result, error, duration_ms, metadata: outcome.metadata };
        self.emit_completed(self.turn_number(), &finished);
        let WaitState::Tools { open, done, .. } = &mut self.waiting else { return };
        done.push(finished);
        if open.is_empty() {
            self.continue_after_tools();
        }
    }

    fn take_open_call(&mut self, id: RequestId) -> Option<ToolCall> {
        let WaitState::Tools { open, .. } = &mut self.waiting else { return None };
        let index = open.iter().position(|(wanted, _)| *wanted == id)?;
        Some(open.remove(index).1)
    }

    /// Results go back in the order of the calls, not of the answers.
    fn continue_after_tools(&mut self) {
        let WaitState::Tools { mut done, order, .. } =
            std::mem::replace(&mut self.waiting, WaitState::Begin)
        else {
            return;
        };
        done.sort_by_key(|call| order.iter().position(|id| *id == call.call.id));
        for call in &done {
            let content = match (&call.result, &call.error) {
                (_, Some(error)) => format!("error: {error}"),
                (Some(Value::String(text)), None) => text.clone(),
                (Some(result), None) => result.to_string(),
                (None, None) => String::new(),
            };
            let tool_call_id = Some(call.call.id.clone());
            self.messages.push(Message { tool_call_id, ..Message::new(Role::Tool, content) });
        }
        if let Some(turn) = self.transcript.turns.last_mut() {
            turn.tool_calls.extend(done);
        }
        if !self.turn_ends {
            self.queue_first([WorkItem::CallAgent]);
        }
        self.run_queued_work();
    }

    pub(super) fn tool_failed(&mut self, id: RequestId, message: &str) {
        let Some(call) = self.take_open_call(id) else { return };
        let turn = self.turn_number();
        let error = Some(message.to_owned());
        let text = format!("turn {turn}: tool `{}` could not be called: {message}", call.name);
        self.emit_completed(turn, &DoneCall { call, error, ..DoneCall::default() });
        self.abort_attempt(Status::Errored, Some(Fault::Tool), text, TerminationReason::Error);
    }

    pub(super) fn agent_failed(&mut self, id: RequestId, class: Option<String>, message: String) {
        if matches!(&self.waiting, WaitState::Agent { id: wanted } if *wanted == id) {
            self.end_with_agent_error(class, message);
        }
    }

    fn end_with_agent_error(&mut self, error_class: Option<String>, message: String) {
        let turn = self.turn_number();
        let text = format!("turn {turn}: {message}");
        // What it did before it failed has happened all the same.
        let live = std::mem::take(&mut self.live_calls);
        let (done, _) = live.settle(Vec::new(), String::new);
        let asked = self.messages.iter().rev().find(|message| message.role == Role::User);
        let context = json!({
            "messages_count": self.messages.len(),
            "turn": turn,
            "asked": asked.map(|message| message.content.as_str()),
            "tool_rounds": self.tool_rounds,
            "reported_calls": done.len(),
        });
        self.emit(AgentError {
            turn_number: Some(turn),
            error_class,
            message,
            context: Some(Json::from(context)),
        });
        if let Some(turn) = self.transcript.turns.last_mut() {
            turn.tool_calls.extend(done);
        }
        self.abort_attempt(Status::Errored, Some(Fault::Agent), text, TerminationReason::Error);
    }

    fn emit_started(&mut self, turn_number: u32, call: &ToolCall) {
        self.emit(ToolCallStarted {
            turn_number,
            tool_call_id: Some(call.id.clone()),
            tool_name: call.name.clone(),
            arguments: known_arguments(call),
        });
    }

    fn emit_completed(&mut self, turn_number: u32, done: &DoneCall) {
        self.emit(ToolCallCompleted {
            turn_number,
            tool_call_id: Some(done.call.id.clone()),
            tool_name: done.call.name.clone(),
            arguments: known_arguments(&done.call),
            result: done.result.as_ref().and_then(|result| Json::new(result).ok()),
            error: done.error.clone(),
            metadata: done.metadata.as_ref().and_then(|metadata| Json::new(metadata).ok()),
            duration_ms: done.duration_ms.map(Millis::new),
        });
    }
}

fn known_arguments(call: &ToolCall) -> Option<Json> {
    let known = Some(&call.arguments).filter(|arguments| !arguments.is_null());
    known.and_then(|arguments| Json::new(arguments).ok())
}

fn add_text(all: &mut String, more: &str) {
    if !all.is_empty() && !more.is_empty() {
        all.push('\n');
    }
    all.push_str(more);
}

/// The sum over the answers of a turn; unknown as soon as one of them does not say its part.
fn sum(answers_before: u32, before: Option<f64>, more: Option<f64>) -> Option<f64> {
    if answers_before == 0 { more } else { before.zip(more).map(|(before, more)| before + more) }
}
