//! A saved conversation, put together from the events of its attempt.
//!
//! What the agent called itself stands before its answer; what it asked the host to call begins after it. So each call
//! belongs to one answer, also where ids are used again.

use proctor_dialogue::{AgentAnswer, DoneCall, ToolCall, ToolOutcome};
use proctor_events::{
    AgentError, AgentResponse, Body, ExampleFinished, Fault, Json, MessageSource, Millis,
    ModelCall, Status, ToolCallCompleted, ToolCallStarted, UserMessage,
};

use crate::saved_conversation::{SavedCall, SavedConversation, SavedEnding};

/// Takes the events of one attempt in their order.
#[derive(Debug, Default)]
pub struct SavedConversationBuilder {
    conversation: SavedConversation,
    /// Calls that the agent made itself since its last answer.
    agent_calls: Vec<RecordedCall>,
    /// Prompts that the agent sent to its model endpoint since its last answer.
    prompts: Vec<String>,
    /// Calls that the host made, in order.
    host_calls: Vec<RecordedCall>,
    /// How many calls that the last answer asks for have not begun.
    expected_calls: usize,
    /// The call of the host that ended last, by its place in `host_calls`.
    last_host_call: Option<usize>,
    agent_error: Option<(String, String)>,
}

#[derive(Debug)]
struct RecordedCall {
    call: ToolCall,
    outcome: Option<RecordedOutcome>,
}

/// What came of a call, as its completion says.
#[derive(Debug, Default)]
struct RecordedOutcome {
    result: Option<serde_json::Value>,
    error: Option<String>,
    duration_ms: Option<f64>,
    metadata: Option<serde_json::Value>,
}

impl SavedConversationBuilder {
    /// Takes the next event; those that are not about what was said and done are passed over.
    pub fn add(&mut self, body: &Body) {
        match body {
            Body::UserMessage(message) => self.user(message),
            Body::ToolCallStarted(started) => self.started(started),
            Body::ToolCallCompleted(completed) => self.completed(completed),
            Body::AgentResponse(response) => self.response(response),
            Body::ModelCall(call) => self.model_call(call),
            Body::AgentError(AgentError { error_class, message, .. }) => {
                let class = error_class.clone().unwrap_or_else(|| "Recorded".into());
                self.agent_error = Some((class, message.clone()));
            }
            _ => {}
        }
    }

    fn model_call(&mut self, call: &ModelCall) {
        let is_agents = call.purpose.as_deref() == Some("agent");
        self.prompts.extend(call.prompt.clone().filter(|_| is_agents));
    }

    fn user(&mut self, message: &UserMessage) {
        self.record_missing_answer();
        if message.source == Some(MessageSource::Simulator) {
            self.conversation.simulated.push(message.text.clone());
        }
        self.conversation.users.push(message.text.clone());
    }

    /// The last answer asked for tools, and the turn went on without another answer.
    fn record_missing_answer(&mut self) {
        self.expected_calls = 0;
        if let Some(last) = self.conversation.answers.last_mut() {
            last.ends_turn |= !last.pending_tool_calls.is_empty();
        }
    }

    fn started(&mut self, started: &ToolCallStarted) {
        let call = ToolCall {
            id: started.tool_call_id.clone().unwrap_or_default(),
            name: started.tool_name.clone(),
            arguments: started.arguments.as_ref().map(Json::to_value).unwrap_or_default(),
        };
        let call = RecordedCall { call, outcome: None };
        if self.expected_calls > 0 {
            self.expected_calls -= 1;
            self.host_calls.push(call);
        } else {
            self.agent_calls.push(call);
        }
    }

    fn completed(&mut self, completed: &ToolCallCompleted) {
        let id = completed.tool_call_id.clone().unwrap_or_default();
        let open = |call: &RecordedCall| {
            call.outcome.is_none() && call.call.id == id && call.call.name == completed.tool_name
        };
        let result = completed.result.as_ref().map(Json::to_value);
        let duration = completed.duration_ms.map(Millis::get);
        let metadata = completed.metadata.as_ref().map(Json::to_value);
        let outcome = Some(RecordedOutcome {
            result,
            error: completed.error.clone(),
            duration_ms: duration,
            metadata,
        });
        if let Some(place) = self.host_calls.iter().position(open) {
            self.host_calls[place].outcome = outcome;
            self.last_host_call = Some(place);
            return;
        }
        if let Some(place) = self.agent_calls.iter().position(open) {
            self.agent_calls[place].outcome = outcome;
            return;
        }
        // A writer that does not tell of the beginning.
        let arguments = completed.arguments.as_ref().map(Json::to_value).unwrap_or_default();
        let call = ToolCall { id, name: completed.tool_name.clone(), arguments };
        self.agent_calls.push(RecordedCall { call, outcome });
    }

    fn response(&mut self, response: &AgentResponse) {
        let mut made: Vec<DoneCall> =
            std::mem::take(&mut self.agent_calls).into_iter().map(done_call).collect();
        if made.is_empty() {
            made = response.tool_calls.iter().filter_map(read_listed_call).collect();
        }
        let pending: Vec<ToolCall> = response
            .pending_tool_calls
            .iter()
            .filter_map(read_listed_call)
            .map(|done| done.call)
            .collect();
        self.expected_calls = pending.len();
        self.conversation.answers.push(AgentAnswer {
            text: response.text.clone(),
            tool_calls: made,
            pending_tool_calls: pending,
            metadata: response.metadata.as_ref().map(Json::to_value),
            duration_ms: response.duration_ms.map(Millis::get),
            first_token_ms: response.first_token_ms.map(Millis::get),
            cost_usd: response.cost_usd,
            prompts: Some(std::mem::take(&mut self.prompts)),
            ends_turn: response.ends_turn == Some(true),
            calls_listed: response.calls_listed != Some(false),
            calls_unknown_reason: None,
        });
    }

    /// The conversation, with how its attempt ended where that is known.
    pub fn finish(mut self, finished: Option<&ExampleFinished>) -> SavedConversation {
        let ending = finished.and_then(ending);
        if finished.is_some_and(was_judged) {
            self.record_missing_answer();
        }
        let tool_failed = ending.as_ref().is_some_and(|ending| {
            (&ending.status, &ending.fault) == (&Status::Errored, &Some(Fault::Tool))
        });
        let failed = self.last_host_call.filter(|_| tool_failed);
        for (place, RecordedCall { call, outcome }) in self.host_calls.into_iter().enumerate() {
            let saved = match outcome {
                None => SavedCall::Unanswered,
                Some(RecordedOutcome { error: Some(error), .. }) if failed == Some(place) => {
                    SavedCall::Failed(error)
                }
                Some(RecordedOutcome { result, error, duration_ms, metadata }) => {
                    let result = error.map_or(Ok(result.unwrap_or_default()), Err);
                    SavedCall::Answered(ToolOutcome { result, duration_ms, metadata })
                }
            };
            self.conversation.tools.entry(call.id).or_default().push(saved);
        }
        self.conversation.agent_error = self.agent_error;
        self.conversation.ending = ending;
        self.conversation
    }
}

fn done_call(call: RecordedCall) -> DoneCall {
    let RecordedOutcome { result, error, duration_ms, metadata } = call.outcome.unwrap_or_default();
    DoneCall { call: call.call, result, error, duration_ms, metadata }
}

/// A call as an answer lists it.
fn read_listed_call(json: &Json) -> Option<DoneCall> {
    let call = json.to_value();
    let text = |name: &str| call[name].as_str().map(str::to_owned);
    Some(DoneCall {
        call: ToolCall {
            id: text("id").unwrap_or_default(),
            name: text("name")?,
            arguments: call["arguments"].clone(),
        },
        result: call.get("result").filter(|result| !result.is_null()).cloned(),
        error: text("error"),
        duration_ms: None,
        metadata: None,
    })
}

/// Whether checks ended it, and so after a complete turn.
fn was_judged(finished: &ExampleFinished) -> bool {
    match (&finished.status, &finished.fault) {
        (Status::Passed | Status::Failed, _) => true,
        (Status::Inconclusive, fault) => *fault == Some(Fault::Judge),
        _ => false,
    }
}

/// How an attempt ended that no check ended: a party broke or took too long. Judging it again cannot change that.
fn ending(finished: &ExampleFinished) -> Option<SavedEnding> {
    let ended = match (&finished.status, &finished.fault) {
        (Status::Errored, Some(Fault::Agent | Fault::Tool)) | (Status::TimedOut, _) => true,
        (Status::Inconclusive, Some(fault)) => *fault == Fault::Simulator,
        _ => false,
    };
    let exception_message = finished.exception.as_ref().map(|exception| exception.message.clone());
    let message = exception_message.or_else(|| finished.message.clone()).unwrap_or_default();
    let (status, fault) = (finished.status.clone(), finished.fault.clone());
    ended.then_some(SavedEnding { status, fault, message })
}
