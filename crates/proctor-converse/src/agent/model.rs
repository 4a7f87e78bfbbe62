//! An agent behind HTTP: chat completions, or a mapping of its own. Both are models to `proctor-llm`.

use std::sync::Arc;

use proctor_dialogue::{AgentAnswer, Message, Role, ToolCall};
use proctor_llm::{self as llm, Model, Purpose, Request};
use serde_json::json;

use super::{Agent, AgentTurn, Session};
use crate::BoxFuture;
use crate::failure::{Asked, Failure};
use crate::judge::model_call;
use crate::lane::Lane;

/// Is told the name of a conversation that is over.
type Forget = Arc<dyn Fn(&str) + Send + Sync>;

/// An agent that is asked as a model is.
#[derive(Clone)]
pub struct ModelAgent {
    model: Arc<dyn Model>,
    template: Arc<Request>,
    forget: Option<Forget>,
}

impl ModelAgent {
    /// An agent behind this model. The template gives instructions and limits of every request.
    pub fn new(model: Arc<dyn Model>, template: Request) -> Self {
        Self { model, template: Arc::new(template), forget: None }
    }

    /// The same agent, which is told when a conversation is over.
    #[must_use]
    pub fn forgetting(mut self, forget: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.forget = Some(Arc::new(forget));
        self
    }
}

impl Agent for ModelAgent {
    fn open<'a>(&'a self, lane: &'a Lane) -> BoxFuture<'a, Result<Box<dyn Session>, Failure>> {
        let session: Box<dyn Session> = Box::new(Talk { agent: self.clone(), lane: lane.name() });
        Box::pin(std::future::ready(Ok(session)))
    }
}

struct Talk {
    agent: ModelAgent,
    lane: String,
}

impl Drop for Talk {
    fn drop(&mut self) {
        if let Some(forget) = &self.agent.forget {
            forget(&self.lane);
        }
    }
}

impl Session for Talk {
    fn chat<'a>(&'a mut self, turn: AgentTurn<'a>) -> BoxFuture<'a, Asked<AgentAnswer>> {
        Box::pin(async move {
            let tools = match turn.tools.specs().await {
                Ok(tools) => tools,
                Err(failure) => return Asked::plain(Err(failure)),
            };
            let request = Request {
                messages: messages(turn.messages),
                tools: tools.to_vec(),
                purpose: Purpose::Agent,
                lane: self.lane.clone(),
                repeat: turn.lane.repeat,
                ..(*self.agent.template).clone()
            };
            let model = &*self.agent.model;
            let began = tokio::time::Instant::now();
            let outcome = model.ask(&request).await;
            let call = model_call(model, Purpose::Agent, &outcome, began.elapsed());
            Asked { outcome: outcome.map(answer).map_err(Failure::from), call: Some(call) }
        })
    }
}

fn answer(answer: llm::Answer) -> AgentAnswer {
    let millis = |span: std::time::Duration| span.as_secs_f64() * 1000.0;
    let call =
        |call: llm::ToolCall| ToolCall { id: call.id, name: call.name, arguments: call.arguments };
    let mut metadata = json!({"model": answer.model});
    if let Some(usage) = answer.usage {
        metadata["input_tokens"] = usage.input_tokens.into();
        metadata["output_tokens"] = usage.output_tokens.into();
    }
    AgentAnswer {
        text: answer.text,
        tool_calls: Vec::new(),
        pending_tool_calls: answer.tool_calls.into_iter().map(call).collect(),
        metadata: Some(metadata),
        duration_ms: Some(millis(answer.timings.total)),
        first_token_ms: answer.timings.first_token.map(millis),
        cost_usd: answer.cost.map(llm::Cost::dollars),
        ends_turn: false,
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
