//! An agent behind HTTP: chat completions, or a mapping of its own. Both are models to `proctor-llm`.

use std::sync::Arc;

use proctor_dialogue::{
    AgentAnswer, DoneCall, MadeCalls, MalformedCall, Message, Role, ToolCall, read_call,
    read_made_calls_at,
};
use proctor_llm::sse::SseDecoder;
use proctor_llm::{self as llm, Model, Purpose, Request};
use serde_json::{Value, json};

use super::{Agent, AgentTurn, Session, refuse_unoffered_calls};
use crate::BoxFuture;
use crate::attempt_id::AttemptId;
use crate::failure::{Failure, PartyAnswer};
use crate::judge::model_call;

/// Called with the name of a conversation that has ended.
type ForgetConversation = Arc<dyn Fn(&str) + Send + Sync>;

/// An agent that is asked as a model is.
#[derive(Clone)]
pub struct ModelAgent {
    model: Arc<dyn Model>,
    template: Arc<Request>,
    forget: Option<ForgetConversation>,
    name: Arc<str>,
    made_calls: Option<MadeCalls>,
}

impl ModelAgent {
    /// An agent behind this model. The template gives instructions and limits of every request.
    pub fn new(model: Arc<dyn Model>, template: Request) -> Self {
        let name = model.identity().model.as_str().into();
        Self { model, template: Arc::new(template), forget: None, name, made_calls: None }
    }

    /// The same agent by this name, with the place where its answers list the calls it made itself.
    #[must_use]
    pub fn with_made_calls(mut self, name: &str, made_calls: Option<MadeCalls>) -> Self {
        (self.name, self.made_calls) = (name.into(), made_calls);
        self
    }

    /// The same agent, with a callback for the end of a conversation.
    #[must_use]
    pub fn on_conversation_end(mut self, forget: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.forget = Some(Arc::new(forget));
        self
    }
}

impl Agent for ModelAgent {
    fn open<'a>(
        &'a self,
        attempt_id: &'a AttemptId,
    ) -> BoxFuture<'a, Result<Box<dyn Session>, Failure>> {
        let session: Box<dyn Session> =
            Box::new(ModelSession { agent: self.clone(), conversation: attempt_id.name() });
        Box::pin(std::future::ready(Ok(session)))
    }
}

struct ModelSession {
    agent: ModelAgent,
    conversation: String,
}

impl Drop for ModelSession {
    fn drop(&mut self) {
        if let Some(forget) = &self.agent.forget {
            forget(&self.conversation);
        }
    }
}

impl Session for ModelSession {
    fn chat<'a>(&'a mut self, turn: AgentTurn<'a>) -> BoxFuture<'a, PartyAnswer<AgentAnswer>> {
        Box::pin(async move {
            let tools = match turn.offered_tools().await {
                Ok(tools) => tools,
                Err(failure) => return PartyAnswer::plain(Err(failure)),
            };
            let request = Request {
                messages: messages(turn.messages),
                tools: tools.to_vec(),
                purpose: Purpose::Agent,
                conversation: self.conversation.clone(),
                repeat: turn.attempt_id.repeat,
                traceparent: turn.traceparent.map(str::to_owned),
                ..(*self.agent.template).clone()
            };
            let model = &*self.agent.model;
            let began = tokio::time::Instant::now();
            let outcome = model.ask(&request).await;
            let call = model_call(model, Purpose::Agent, &outcome, began.elapsed());
            let outcome = outcome.map_err(Failure::from).and_then(|answer| {
                let answer = self.agent.answer(answer)?;
                refuse_unoffered_calls(&self.agent.name, &tools, &answer.pending_tool_calls)?;
                Ok(answer)
            });
            PartyAnswer::of_model(outcome, call)
        })
    }
}

impl ModelAgent {
    fn answer(&self, answer: llm::Answer) -> Result<AgentAnswer, Failure> {
        let malformed = |problem: &dyn std::fmt::Display| {
            Failure::party("Malformed", format!("the agent `{}`: {problem}", self.name))
        };
        let made = self.made_calls.as_ref().map(|made| made_calls_in(&answer.raw, made));
        let made = made.transpose().map_err(|problem| malformed(&problem))?;
        let asked = answer.tool_calls.iter();
        let asked =
            asked.map(|call| read_call(call.id.clone(), call.name.clone(), &call.arguments));
        let mut asked: Vec<ToolCall> =
            asked.collect::<Result<_, _>>().map_err(|problem| malformed(&problem))?;
        let listed = made.flatten();
        // What was made is not asked for, wherever else the answer lists it.
        for done in listed.iter().flatten() {
            asked.retain(|call| {
                let same_id = !call.id.is_empty() && call.id == done.call.id;
                !same_id && *call != done.call
            });
        }
        Ok(AgentAnswer {
            calls_listed: listed.is_some(),
            tool_calls: listed.unwrap_or_default(),
            pending_tool_calls: asked,
            ..plain_answer(answer)
        })
    }
}

/// The calls that a body lists as made; nothing where it does not say. A stream of events is taken as one body.
fn made_calls_in(raw: &str, made: &MadeCalls) -> Result<Option<Vec<DoneCall>>, MalformedCall> {
    let body = serde_json::from_str(raw).unwrap_or_else(|_| merged_events(raw));
    match body.pointer(&made.list) {
        None if made.absent_is_none => Ok(Some(Vec::new())),
        None => Ok(None),
        Some(list) => read_made_calls_at(list, &made.places).map(Some),
    }
}

/// The members of all events of a stream, later ones in place of earlier ones.
fn merged_events(raw: &str) -> Value {
    let mut whole = serde_json::Map::new();
    let mut decoder = SseDecoder::new(raw.len().max(1));
    if decoder.push(raw.as_bytes()).is_err() {
        return Value::Null;
    }
    let mut events: Vec<_> = std::iter::from_fn(|| decoder.next_event()).collect();
    events.extend(decoder.finish());
    for event in events {
        if let Ok(Value::Object(members)) = serde_json::from_str(&event.data) {
            whole.extend(members);
        }
    }
    Value::Object(whole)
}

fn plain_answer(answer: llm::Answer) -> AgentAnswer {
    let millis = |span: std::time::Duration| span.as_secs_f64() * 1000.0;
    let mut metadata = json!({"model": answer.model});
    if let Some(usage) = answer.usage {
        metadata["input_tokens"] = usage.input_tokens.into();
        metadata["output_tokens"] = usage.output_tokens.into();
    }
    if !answer.waited.is_zero() {
        metadata["tries"] = answer.tries.into();
        metadata["waited_ms"] = millis(answer.waited).into();
    }
    AgentAnswer {
        text: answer.text,
        metadata: Some(metadata),
        duration_ms: Some(millis(answer.timings.total)),
        first_token_ms: answer.timings.first_token.map(millis),
        cost_usd: answer.cost.map(llm::Cost::dollars),
        ..AgentAnswer::default()
    }
}

/// Results of tools that stand next to each other go in one message, as both wire formats want them.
fn messages(all: &[Message]) -> Vec<llm::Message> {
    let mut written: Vec<llm::Message> = Vec::with_capacity(all.len());
    for message in all {
        match message.role {
            Role::User => written.push(llm::Message::user(message.content.clone())),
            Role::Assistant => {
                let calls = message.tool_calls.iter().map(|call| llm::ToolCall {
                    id: call.id.clone(),
                    name: call.name.clone(),
                    arguments: call.arguments.clone(),
                });
                written.push(llm::Message::calls(message.content.clone(), calls.collect()));
            }
            Role::Tool => {
                let result = llm::ToolResult {
                    call_id: message.tool_call_id.clone().unwrap_or_default(),
                    content: message.content.clone(),
                    is_error: message.content.starts_with("error: "),
                };
                match written.last_mut().filter(|last| !last.tool_results.is_empty()) {
                    Some(last) => last.tool_results.push(result),
                    None => written.push(llm::Message::results(vec![result])),
                }
            }
        }
    }
    written
}
