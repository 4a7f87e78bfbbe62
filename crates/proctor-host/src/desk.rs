//! The desk of one connection: takes its requests and keeps its open conversations.
//!
//! Requests about one conversation are taken one after the other; different conversations go on side by side. A
//! request that its sender gives up is dropped where it stands, and the conversation pauses.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proctor_converse::{Conversation, Lane, Room};
use proctor_dialogue::{Assertion, Next, Reports, Scope, Simulate, Whereabouts, read_value};
use proctor_events::{Body, EvaluationMode, ExampleId, StableId};
use proctor_process::protocol::{IncomingRequest, ReplyError, code};
use proctor_process::{Channel, HandlerFuture, HandlerResult, Payload, RequestHandler};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::watch;

use crate::host::Host;
use crate::news::Told;
use crate::talk::{Talk, Telling};
use crate::worker::{Line, WorkerAgent, WorkerChecks, WorkerRules, WorkerTools};

/// Which attempt at which example of the worker something belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The example, as the worker names it.
    pub key: String,
    /// Which repetition, from 1.
    pub repeat: u32,
    /// Which attempt, from 1.
    pub attempt: u32,
}

/// Where the events of conversations go.
pub trait Events: Send + Sync {
    /// Takes an event. It must not block.
    fn take(&self, whose: &Attempt, event: Body);
}

type Talks = HashMap<String, Arc<tokio::sync::Mutex<Option<Talk>>>>;

/// Answers the requests of one connection.
pub struct Desk {
    host: Arc<Host>,
    events: Arc<dyn Events>,
    channel: watch::Sender<Option<Channel>>,
    talks: Mutex<Talks>,
    begun: Mutex<HashMap<(String, u32, u32), u32>>,
}

#[derive(Deserialize)]
struct Start<'a> {
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
    /// The how many-th example it is that is described like this.
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
struct Named {
    conversation: String,
}

#[derive(Deserialize)]
struct Say {
    conversation: String,
    text: String,
    #[serde(default)]
    metadata: Option<Value>,
}

#[derive(Deserialize)]
struct Simulation {
    conversation: String,
    simulate: Value,
    #[serde(default)]
    dynamic_rules: bool,
}

#[derive(Deserialize)]
struct Check {
    conversation: String,
    assertions: Vec<Value>,
    #[serde(default)]
    soft: bool,
    /// One turn; the whole conversation when absent.
    #[serde(default)]
    turn: Option<u32>,
}

impl Desk {
    /// A desk whose connection is yet to be made.
    pub fn new(host: Arc<Host>, events: Arc<dyn Events>) -> Arc<Self> {
        let channel = watch::Sender::new(None);
        let (talks, begun) = Default::default();
        Arc::new(Self { host, events, channel, talks, begun })
    }

    /// What answers requests of the channel.
    pub fn handler(self: &Arc<Self>) -> impl RequestHandler + use<> {
        let desk = Arc::clone(self);
        move |request: IncomingRequest| Arc::clone(&desk).answer(request)
    }

    /// The connection is there. It is held until [`close`](Self::close).
    pub fn connect(&self, channel: Channel) {
        self.channel.send_replace(Some(channel));
    }

    /// The connection is gone, and with it every conversation.
    pub fn close(&self) {
        self.channel.send_replace(None);
        self.talks().clear();
    }

    fn talks(&self) -> MutexGuard<'_, Talks> {
        self.talks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(self: Arc<Self>, request: IncomingRequest) -> HandlerFuture {
        Box::pin(async move {
            match &*request.action {
                "conversation.start" => self.start(&request).await,
                "conversation.say" => {
                    let Say { conversation, text, metadata } = read(&request)?;
                    self.proceed(&conversation, Next::Say { text, metadata }).await
                }
                "conversation.simulate" => self.simulate(&request).await,
                "conversation.check" => self.check(&request).await,
                "conversation.end" => self.end(&request).await,
                other => Err(ReplyError::unknown_action(other)),
            }
        })
    }

    async fn start(&self, request: &IncomingRequest) -> HandlerResult {
        let start: Start<'_> = read(request)?;
        if self.talks().contains_key(&start.conversation) {
            return Err(bad(format!("there is a conversation `{}` already", start.conversation)));
        }
        let described = self.host.describe(start.definition.get())?;
        let told = Arc::new(Told::default());
        let dynamic_rules = Arc::new(AtomicBool::new(false));
        let line = Line {
            channel: self.channel.subscribe(),
            conversation: start.conversation.as_str().into(),
            told: Arc::clone(&told),
        };
        let room = Room {
            reports: Arc::new(Reports::rspec(described.holds.cast())),
            agent: Arc::new(WorkerAgent(line.clone())),
            tools: Arc::new(WorkerTools(line.clone())),
            checks: Arc::new(WorkerChecks(line.clone())),
            simulator: Arc::new(WorkerRules {
                line,
                simulator: Arc::clone(&described.room.simulator),
                dynamic: Arc::clone(&dynamic_rules),
            }),
            ..(*described.room).clone()
        };
        let lane = self.lane(&start);
        let Start { conversation: name, key, repeat, attempt, file, line, path, row, .. } = start;
        let example = described.holds.example(Whereabouts { file, line, path, row });
        let conversation = Conversation::open_ended(Arc::new(example), Arc::new(room), lane);
        let telling = Telling {
            events: Arc::clone(&self.events),
            attempt: Attempt { key, repeat, attempt },
            observe: start.observe,
            evaluations: Vec::new(),
            simulation: None,
            observed: Vec::new(),
        };
        let mut talk = Talk { conversation, told, dynamic_rules, telling };
        let outcome = talk.begin().await;
        self.talks().insert(name, Arc::new(tokio::sync::Mutex::new(Some(talk))));
        Payload::new(&outcome)
    }

    /// The first conversation of an attempt has the example's lane, further ones a lane of their own.
    fn lane(&self, start: &Start<'_>) -> Lane {
        let attempt = (start.key.clone(), start.repeat, start.attempt);
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let number = begun.entry(attempt).or_insert(0);
        *number += 1;
        let id = StableId::new(&start.file, &start.path, start.ordinal).id;
        let example = if *number == 1 { id } else { ExampleId::new(format!("{id}/{number}")) };
        Lane { example, repeat: start.repeat, attempt: start.attempt }
    }

    async fn simulate(&self, request: &IncomingRequest) -> HandlerResult {
        let Simulation { conversation, simulate, dynamic_rules } = read(request)?;
        let simulate: Simulate = read_value(&simulate).map_err(bad)?;
        let talk =
            self.talks().get(&conversation).cloned().ok_or_else(|| unknown(&conversation))?;
        if let Some(talk) = &*talk.lock().await {
            talk.dynamic_rules.store(dynamic_rules, Ordering::Relaxed);
        }
        self.proceed(&conversation, Next::Simulate(Box::new(simulate))).await
    }

    async fn check(&self, request: &IncomingRequest) -> HandlerResult {
        let Check { conversation, assertions, soft, turn } = read(request)?;
        let assertions = assertions.iter().map(read_value).collect::<Result<Vec<Assertion>, _>>();
        let assertions = assertions.map_err(bad)?;
        if let Some(problem) = assertions.iter().find_map(Assertion::problem) {
            return Err(bad(problem.to_string()));
        }
        let mode = if soft { EvaluationMode::Soft } else { EvaluationMode::Hard };
        let scope = turn.map_or(Scope::Conversation, Scope::Turn);
        let next = Next::Check { assertions, mode, scope };
        self.proceed(&conversation, next).await
    }

    async fn proceed(&self, name: &str, next: Next) -> HandlerResult {
        let talk = self.talks().get(name).cloned().ok_or_else(|| unknown(name))?;
        let mut held = talk.lock().await;
        let talk = held.as_mut().ok_or_else(|| unknown(name))?;
        let outcome = talk.proceed(next).await;
        Payload::new(&outcome)
    }

    async fn end(&self, request: &IncomingRequest) -> HandlerResult {
        let Named { conversation: name } = read(request)?;
        let talk = self.talks().remove(&name).ok_or_else(|| unknown(&name))?;
        let mut talk = talk.lock().await.take().ok_or_else(|| unknown(&name))?;
        let outcome = talk.proceed(Next::End).await;
        talk.conversation.close().await;
        Payload::new(&outcome)
    }
}

fn read<'a, T: Deserialize<'a>>(request: &'a IncomingRequest) -> Result<T, ReplyError> {
    request.body.parse().map_err(|problem| bad(format!("{}: {problem}", request.action)))
}

fn bad(problem: impl Into<String>) -> ReplyError {
    ReplyError::new(code::BAD_REQUEST, problem)
}

fn unknown(name: &str) -> ReplyError {
    bad(format!("there is no conversation `{name}`; it was never started, or it has ended"))
}
