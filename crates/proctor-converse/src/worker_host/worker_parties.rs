//! Parties that live in the worker: the agent under test, its tools, and blocks of code. Each is called by request.
//!
//! No time limit is set here: how long an example may take is the runner's business, and the test's own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::agent::ReportRoutes;
use crate::{
    Agent, AgentTurn, AttemptId, BoxFuture, Checks, Failure, PartyAnswer, Session, Simulator,
    Tools, read_answer,
};
use proctor_dialogue::{
    AgentAnswer, Block, Message, Prompt, SimulatorRequest, ToolCall, ToolOutcome,
};
use proctor_process::protocol::Body;
use proctor_process::{Channel, RequestError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use super::turn_updates::SentTurns;

/// Sends requests about one conversation to the worker. A request waits until the channel is open.
#[derive(Clone)]
pub(crate) struct WorkerRequests {
    pub(crate) channel: watch::Receiver<Option<Channel>>,
    pub(crate) conversation: Arc<str>,
    pub(crate) sent_turns: Arc<SentTurns>,
    /// Where the connection hands what the agent reports while it works.
    pub(crate) reports: Arc<ReportRoutes>,
}

#[derive(Serialize)]
struct ChatRequest<'a> {
    conversation_id: &'a str,
    turn: u32,
    messages: &'a [Message],
}

impl WorkerRequests {
    async fn ask<T: Serialize>(&self, action: &str, request: &T) -> Result<Body, RequestError> {
        let mut channel = self.channel.clone();
        let open = channel.wait_for(Option::is_some).await.ok().and_then(|found| found.clone());
        // The connection was closed; the caller is about to be dropped as well.
        let Some(open) = open else { return std::future::pending().await };
        open.request(action, request, None).await.map(|reply| reply.body)
    }
}

/// An error that the worker reports, with the class it names.
fn failure(error: RequestError, what: &str) -> Failure {
    match error {
        RequestError::Failed { error, .. } => {
            let class = error.data.as_ref().and_then(|data| data["class"].as_str());
            Failure::party(class.unwrap_or("Error").to_owned(), error.message)
        }
        error => Failure::harness(format!("{what}: {error}")),
    }
}

/// The agent under test, in the worker.
pub(crate) struct WorkerAgent(pub(crate) WorkerRequests);

impl Agent for WorkerAgent {
    fn open<'a>(&'a self, _: &'a AttemptId) -> BoxFuture<'a, Result<Box<dyn Session>, Failure>> {
        let session: Box<dyn Session> = Box::new(WorkerSession(self.0.clone()));
        Box::pin(std::future::ready(Ok(session)))
    }
}

struct WorkerSession(WorkerRequests);

impl WorkerSession {
    async fn ask(&self, turn: AgentTurn<'_>) -> Result<AgentAnswer, Failure> {
        let request = ChatRequest {
            conversation_id: &self.0.conversation,
            turn: turn.turn,
            messages: turn.messages,
        };
        let _route = self.0.reports.route(&self.0.conversation, turn.reporter);
        let reply = self.0.ask("agent.chat", &request).await;
        let body = reply.map_err(|error| failure(error, "the agent could not be asked"))?;
        read_answer(body.as_str())
            .map_err(|problem| Failure::party("Malformed", format!("malformed answer: {problem}")))
    }
}

impl Session for WorkerSession {
    fn chat<'a>(&'a mut self, turn: AgentTurn<'a>) -> BoxFuture<'a, PartyAnswer<AgentAnswer>> {
        Box::pin(async move { PartyAnswer::plain(self.ask(turn).await) })
    }
}

/// The tools that the agent asks for; the worker has them.
pub(crate) struct WorkerTools(pub(crate) WorkerRequests);

impl Tools for WorkerTools {
    fn specs(&self) -> BoxFuture<'_, Result<Arc<[crate::ToolSpec]>, Failure>> {
        Box::pin(std::future::ready(Ok(Arc::default())))
    }

    fn call<'a>(
        &'a self,
        call: &'a ToolCall,
        _: &'a AttemptId,
    ) -> BoxFuture<'a, Result<ToolOutcome, Failure>> {
        Box::pin(async move {
            let began = Instant::now();
            let request = json!({"conversation_id": &*self.0.conversation, "call": call});
            let reply = self.0.ask("agent.tool", &request).await;
            let body = reply.map_err(|error| failure(error, "a tool could not be asked"))?;
            let mut answer = body.value();
            let result = match answer["failure"].as_str() {
                Some(message) => Err(message.to_owned()),
                None => Ok(answer["result"].take()),
            };
            let duration_ms = Some(began.elapsed().as_secs_f64() * 1000.0);
            let metadata = Some(answer["metadata"].take()).filter(|metadata| !metadata.is_null());
            Ok(ToolOutcome { result, duration_ms, metadata })
        })
    }
}

/// Blocks of code that look at the conversation.
pub(crate) struct WorkerChecks(pub(crate) WorkerRequests);

impl Checks for WorkerChecks {
    fn run<'a>(
        &'a self,
        command: &'a [String],
        conversation: &'a Value,
    ) -> BoxFuture<'a, Result<(bool, Option<String>), Failure>> {
        Box::pin(async move {
            let Some(block) = Block::named_by(command) else {
                return Err(Failure::harness("only blocks can be run here"));
            };
            let request = json!({
                "conversation_id": &*self.0.conversation,
                "block": block,
                "turn": conversation["turn"]["number"],
                "conversation": self.0.sent_turns.unsent(conversation.clone()),
            });
            let reply = self.0.ask("evaluate_block", &request).await;
            let answer = reply.map_err(|error| failure(error, "a block could not be run"))?.value();
            let message = answer["message"].as_str().map(str::to_owned);
            Ok((answer["value"].as_bool() == Some(true), message))
        })
    }
}

/// The simulated user, with rules that the worker makes up turn by turn.
pub(crate) struct WorkerSimulator {
    pub(crate) requests: WorkerRequests,
    pub(crate) simulator: Arc<dyn Simulator>,
    pub(crate) dynamic: Arc<AtomicBool>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct DynamicRules {
    should: Vec<String>,
    should_not: Vec<String>,
}

impl WorkerSimulator {
    async fn prompt(&self, prompt: &Prompt) -> Result<Prompt, Failure> {
        let request = json!({"conversation_id": &*self.requests.conversation});
        let reply = self.requests.ask("simulator.rules", &request).await;
        let body = reply.map_err(|error| failure(error, "the rules of the user"))?;
        let rules: DynamicRules = body.parse().map_err(|problem| {
            Failure::harness(format!("malformed reply to `simulator.rules`: {problem}"))
        })?;
        let mut system = prompt.system.clone();
        for (label, rules) in [("should", rules.should), ("should not", rules.should_not)] {
            if !rules.is_empty() {
                system.push_str(&format!("\nIn this message you {label}:"));
                for rule in &rules {
                    system.push_str(&format!("\n- {rule}"));
                }
            }
        }
        Ok(Prompt { system, user: prompt.user.clone() })
    }
}

impl Simulator for WorkerSimulator {
    fn say<'a>(
        &'a self,
        request: &'a SimulatorRequest,
        attempt_id: &'a AttemptId,
    ) -> BoxFuture<'a, PartyAnswer<String>> {
        if !self.dynamic.load(Ordering::Relaxed) {
            return self.simulator.say(request, attempt_id);
        }
        Box::pin(async move {
            match self.prompt(&request.prompt).await {
                Ok(prompt) => {
                    let request = SimulatorRequest { prompt, ..request.clone() };
                    self.simulator.say(&request, attempt_id).await
                }
                Err(failure) => PartyAnswer::plain(Err(failure)),
            }
        })
    }

    fn forget(&self, attempt_id: &AttemptId) {
        self.simulator.forget(attempt_id);
    }
}
