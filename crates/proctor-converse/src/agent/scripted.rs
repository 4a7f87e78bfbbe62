//! An agent that follows a script. Each conversation sees it from its beginning.

use std::sync::Arc;

use proctor_dialogue::{
    AgentAnswer, DoneCall, Message, Role, Say, ScriptRule, ScriptedCall, ToolCall,
};
use serde_json::Value;

use super::{Agent, AgentTurn, Session};
use crate::BoxFuture;
use crate::attempt_id::AttemptId;
use crate::failure::{Failure, PartyAnswer};

/// An agent that follows a script.
#[derive(Debug, Clone)]
pub struct ScriptedAgent {
    rules: Arc<[ScriptRule]>,
}

impl ScriptedAgent {
    /// An agent of these rules.
    pub fn new(rules: Vec<ScriptRule>) -> Self {
        Self { rules: rules.into() }
    }
}

impl Agent for ScriptedAgent {
    fn open<'a>(&'a self, _: &'a AttemptId) -> BoxFuture<'a, Result<Box<dyn Session>, Failure>> {
        let used = vec![0; self.rules.len()];
        let session: Box<dyn Session> =
            Box::new(ScriptSession { rules: Arc::clone(&self.rules), used });
        Box::pin(std::future::ready(Ok(session)))
    }
}

struct ScriptSession {
    rules: Arc<[ScriptRule]>,
    /// How often each rule has spoken.
    used: Vec<usize>,
}

impl ScriptSession {
    fn next(&mut self, messages: &[Message]) -> Option<&Say> {
        let last = last_message_text(messages);
        for (rule, used) in self.rules.iter().zip(&mut self.used) {
            let applies = rule.when.as_ref().is_none_or(|pattern| pattern.occurs_in(last));
            if applies && let Some(say) = rule.reply(*used) {
                *used += 1;
                return Some(say);
            }
        }
        None
    }
}

/// What a rule's `when` looks at: the last message, be it of the user or of a tool.
fn last_message_text(messages: &[Message]) -> &str {
    let last = messages.iter().rev().find(|message| message.role != Role::Assistant);
    last.map_or("", |message| message.content.as_str())
}

impl Session for ScriptSession {
    fn chat<'a>(&'a mut self, turn: AgentTurn<'a>) -> BoxFuture<'a, PartyAnswer<AgentAnswer>> {
        let Some(say) = self.next(turn.messages) else {
            let last = proctor_text::truncate(last_message_text(turn.messages), 80);
            let message = format!(
                "the agent's script has no reply to {last:?}; add a reply or a rule that repeats"
            );
            let outcome = Err(Failure::party("ScriptExhausted", message));
            return Box::pin(std::future::ready(PartyAnswer::plain(outcome)));
        };
        let outcome = match &say.fail {
            Some(message) => Err(Failure::party("Scripted", message.clone())),
            None => Ok(answer(say)),
        };
        match say.delay {
            None => Box::pin(std::future::ready(PartyAnswer::plain(outcome))),
            Some(delay) => Box::pin(async move {
                tokio::time::sleep(delay.0).await;
                PartyAnswer::plain(outcome)
            }),
        }
    }
}

fn answer(say: &Say) -> AgentAnswer {
    AgentAnswer {
        text: say.text.clone(),
        tool_calls: say.called.iter().map(done).collect(),
        pending_tool_calls: say.call.iter().map(call).collect(),
        metadata: say.metadata.clone(),
        cost_usd: say.cost_usd,
        calls_listed: true,
        ..AgentAnswer::default()
    }
}

fn call(scripted: &ScriptedCall) -> ToolCall {
    let arguments = scripted.arguments.iter().map(|(name, value)| (name.clone(), value.clone()));
    ToolCall {
        id: String::new(),
        name: scripted.tool.clone(),
        arguments: Value::Object(arguments.collect()),
    }
}

fn done(scripted: &ScriptedCall) -> DoneCall {
    DoneCall {
        call: call(scripted),
        result: scripted.result.clone(),
        error: scripted.error.clone(),
        duration_ms: None,
        metadata: None,
    }
}
