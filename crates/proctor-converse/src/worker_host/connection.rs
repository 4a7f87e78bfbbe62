//! One connection of a worker: answers its requests and keeps its open conversations.
//!
//! Requests about one conversation are answered in order; different conversations go on concurrently. A request that
//! its sender cancels is dropped where it is, and the conversation pauses.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::agent::ReportRoutes;
use crate::{AttemptId, Conversation, Parties};
use proctor_dialogue::{AgentReports, Assertion, ExampleOrigin, Next, Scope, Simulate, read_value};
use proctor_events::{Body, EvaluationMode, ExampleId, StableId};
use proctor_process::protocol::{IncomingRequest, ReplyError, code};
use proctor_process::{Channel, HandlerFuture, HandlerResult, Payload, RequestHandler};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::watch;

use super::host::ConversationHost;
use super::open_conversation::{ConversationReporter, OpenConversation};
use super::turn_updates::SentTurns;
use super::worker_parties::{
    WorkerAgent, WorkerChecks, WorkerRequests, WorkerSimulator, WorkerTools,
};

/// Which attempt at which example of the worker something belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerAttempt {
    /// The example, as the worker names it.
    pub key: String,
    /// Which repetition, from 1.
    pub repeat: u32,
    /// Which attempt, from 1.
    pub attempt: u32,
}

/// Receives the events of a worker's conversations.
pub trait WorkerEvents: Send + Sync {
    /// Takes one event. Called on the runtime's threads, so it must not block.
    fn publish(&self, attempt: &WorkerAttempt, event: Body);
}

type Conversations = HashMap<String, Arc<tokio::sync::Mutex<Option<OpenConversation>>>>;

/// Answers the requests of one connection.
pub struct WorkerConnection {
    host: Arc<ConversationHost>,
    events: Arc<dyn WorkerEvents>,
    channel: watch::Sender<Option<Channel>>,
    conversations: Mutex<Conversations>,
    conversation_counts: Mutex<HashMap<(String, u32, u32), u32>>,
    reports: Arc<ReportRoutes>,
}

#[derive(Deserialize)]
struct StartRequest<'a> {
    conversation: String,
    key: String,
    #[serde(default = "one")]
    repeat: u32,
    #[serde(default = "one")]
    attempt: u32,
    #[serde(default)]
    file: String,
    #[serde(default)]
    line: u32,
    #[serde(default)]
    path: Vec<String>,
    /// Position among the examples of this description, from 1.
    #[serde(default = "one")]
    ordinal: u32,
    #[serde(default)]
    row: Option<Value>,
    #[serde(default)]
    observe: bool,
    #[serde(borrow)]
    definition: &'a RawValue,
}

fn one() -> u32 {
    1
}

#[derive(Deserialize)]
struct NamedConversation {
    conversation: String,
}

#[derive(Deserialize)]
struct SayRequest {
    conversation: String,
    text: String,
    #[serde(default)]
    metadata: Option<Value>,
}

#[derive(Deserialize)]
struct SimulateRequest {
    conversation: String,
    simulate: Value,
    #[serde(default)]
    dynamic_rules: bool,
}

#[derive(Deserialize)]
struct CheckRequest {
    conversation: String,
    assertions: Vec<Value>,
    #[serde(default)]
    soft: bool,
    /// One turn; the whole conversation when absent.
    #[serde(default)]
    turn: Option<u32>,
}

#[derive(Deserialize)]
struct ReportRequest {
    conversation: String,
    /// As notifications of agents are called.
    report: String,
    #[serde(default)]
    call: Value,
}

impl WorkerConnection {
    /// A connection whose channel is not open yet; see [`connect`](Self::connect).
    pub fn new(host: Arc<ConversationHost>, events: Arc<dyn WorkerEvents>) -> Arc<Self> {
        let channel = watch::Sender::new(None);
        let (conversations, conversation_counts, reports) = Default::default();
        Arc::new(Self { host, events, channel, conversations, conversation_counts, reports })
    }

    /// The handler for requests that arrive on the channel.
    pub fn handler(self: &Arc<Self>) -> impl RequestHandler + use<> {
        let connection = Arc::clone(self);
        move |request: IncomingRequest| Arc::clone(&connection).answer_request(request)
    }

    /// Stores the open channel until [`close`](Self::close).
    pub fn connect(&self, channel: Channel) {
        self.channel.send_replace(Some(channel));
    }

    /// Drops the channel and every open conversation.
    pub fn close(&self) {
        self.channel.send_replace(None);
        self.conversations().clear();
    }

    fn conversations(&self) -> MutexGuard<'_, Conversations> {
        self.conversations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer_request(self: Arc<Self>, request: IncomingRequest) -> HandlerFuture {
        Box::pin(async move {
            match &*request.action {
                "conversation.start" => self.start(&request).await,
                "conversation.say" => {
                    let SayRequest { conversation, text, metadata } = read(&request)?;
                    self.proceed(&conversation, Next::Say { text, metadata }).await
                }
                "conversation.simulate" => self.simulate(&request).await,
                "conversation.check" => self.check(&request).await,
                "conversation.end" => self.end(&request).await,
                "conversation.report" => self.report(&request),
                other => Err(ReplyError::unknown_action(other)),
            }
        })
    }

    async fn start(&self, request: &IncomingRequest) -> HandlerResult {
        let start: StartRequest<'_> = read(request)?;
        if self.conversations().contains_key(&start.conversation) {
            return Err(bad_request(format!(
                "there is a conversation `{}` already",
                start.conversation
            )));
        }
        let described = self.host.describe(start.definition.get())?;
        let sent_turns = Arc::new(SentTurns::default());
        let dynamic_rules = Arc::new(AtomicBool::new(false));
        let requests = WorkerRequests {
            channel: self.channel.subscribe(),
            conversation: start.conversation.as_str().into(),
            sent_turns: Arc::clone(&sent_turns),
            reports: Arc::clone(&self.reports),
        };
        let parties = Parties {
            reports: Arc::new(AgentReports::rspec(described.description.parties())),
            agent: Arc::new(WorkerAgent(requests.clone())),
            tools: Arc::new(WorkerTools(requests.clone())),
            checks: Arc::new(WorkerChecks(requests.clone())),
            simulator: Arc::new(WorkerSimulator {
                requests,
                simulator: Arc::clone(&described.parties.simulator),
                dynamic: Arc::clone(&dynamic_rules),
            }),
            ..(*described.parties).clone()
        };
        let attempt_id = self.attempt_id(&start);
        let StartRequest {
            conversation: name, key, repeat, attempt, file, line, path, row, ..
        } = start;
        let example = described.description.example(ExampleOrigin { file, line, path, row });
        let conversation =
            Conversation::open_ended(Arc::new(example), Arc::new(parties), attempt_id);
        let reporter = ConversationReporter {
            events: Arc::clone(&self.events),
            attempt: WorkerAttempt { key, repeat, attempt },
            observe: start.observe,
            evaluations: Vec::new(),
            simulation: None,
            observed: Vec::new(),
        };
        let mut open = OpenConversation { conversation, sent_turns, dynamic_rules, reporter };
        let outcome = open.begin().await;
        self.conversations().insert(name, Arc::new(tokio::sync::Mutex::new(Some(open))));
        Payload::new(&outcome)
    }

    /// The first conversation of an attempt has the id of the attempt, further ones an id of their own.
    fn attempt_id(&self, start: &StartRequest<'_>) -> AttemptId {
        let attempt = (start.key.clone(), start.repeat, start.attempt);
        let mut conversation_counts =
            self.conversation_counts.lock().unwrap_or_else(PoisonError::into_inner);
        let number = conversation_counts.entry(attempt).or_insert(0);
        *number += 1;
        let id = StableId::new(&start.file, &start.path, start.ordinal).id;
        let example = if *number == 1 { id } else { ExampleId::new(format!("{id}/{number}")) };
        AttemptId { example, repeat: start.repeat, attempt: start.attempt }
    }

    /// What the agent reports while it works on `agent.chat`. The reply is sent when the events have been published or are about to
    /// be: before those of the answer.
    fn report(&self, request: &IncomingRequest) -> HandlerResult {
        let ReportRequest { conversation, report, mut call } = read(request)?;
        if !call.is_object() {
            call = serde_json::json!({});
        }
        call["conversation_id"] = conversation.as_str().into();
        if !self.reports.take_report(&report, &call) {
            return Err(bad_request(format!(
                "`{report}` is no report about an open `agent.chat` of the conversation `{conversation}`"
            )));
        }
        Payload::new(&serde_json::json!({}))
    }

    async fn simulate(&self, request: &IncomingRequest) -> HandlerResult {
        let SimulateRequest { conversation, simulate, dynamic_rules } = read(request)?;
        let simulate: Simulate =
            read_value(&simulate).map_err(|error| bad_request(error.to_string()))?;
        let open = self
            .conversations()
            .get(&conversation)
            .cloned()
            .ok_or_else(|| unknown_conversation(&conversation))?;
        if let Some(open) = &*open.lock().await {
            open.dynamic_rules.store(dynamic_rules, Ordering::Relaxed);
        }
        self.proceed(&conversation, Next::Simulate(Box::new(simulate))).await
    }

    async fn check(&self, request: &IncomingRequest) -> HandlerResult {
        let CheckRequest { conversation, assertions, soft, turn } = read(request)?;
        let assertions = assertions.iter().map(read_value).collect::<Result<Vec<Assertion>, _>>();
        let assertions = assertions.map_err(|error| bad_request(error.to_string()))?;
        if let Some(problem) = assertions.iter().find_map(Assertion::problem) {
            return Err(bad_request(problem.to_string()));
        }
        let mode = if soft { EvaluationMode::Soft } else { EvaluationMode::Hard };
        let scope = turn.map_or(Scope::Conversation, Scope::Turn);
        let next = Next::Check { assertions, mode, scope };
        self.proceed(&conversation, next).await
    }

    async fn proceed(&self, name: &str, next: Next) -> HandlerResult {
        let open =
            self.conversations().get(name).cloned().ok_or_else(|| unknown_conversation(name))?;
        let mut held = open.lock().await;
        let open = held.as_mut().ok_or_else(|| unknown_conversation(name))?;
        let outcome = open.proceed(next).await;
        Payload::new(&outcome)
    }

    async fn end(&self, request: &IncomingRequest) -> HandlerResult {
        let NamedConversation { conversation: name } = read(request)?;
        let open = self.conversations().remove(&name).ok_or_else(|| unknown_conversation(&name))?;
        let mut open = open.lock().await.take().ok_or_else(|| unknown_conversation(&name))?;
        let outcome = open.proceed(Next::End).await;
        open.conversation.close().await;
        Payload::new(&outcome)
    }
}

fn read<'a, T: Deserialize<'a>>(request: &'a IncomingRequest) -> Result<T, ReplyError> {
    request.body.parse().map_err(|problem| bad_request(format!("{}: {problem}", request.action)))
}

fn bad_request(problem: impl Into<String>) -> ReplyError {
    ReplyError::new(code::BAD_REQUEST, problem)
}

fn unknown_conversation(name: &str) -> ReplyError {
    bad_request(format!("there is no conversation `{name}`; it was never started, or it has ended"))
}
