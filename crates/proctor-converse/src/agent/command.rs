//! An agent that is a program speaking the worker protocol: `agent.chat`, kept alive.
//!
//! A number of processes share the conversations, or each conversation has one of its own. A shared process that dies costs the
//! conversations it was answering. Which of them brought it down is not known, so the next attempt of each gets a process of its
//! own: the one that did so then brings down nothing else. Other conversations get a new shared process.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use proctor_dialogue::{AgentAnswer, Message};
use proctor_llm::ToolSpec;
use proctor_process::protocol::{HostInfo, code};
use proctor_process::{Channel, ManagedProcess, RequestError, RpcMode};
use serde::Serialize;
use tokio::sync::Mutex;

use super::agent_output::OutputListener;
use super::attempts_alone::AttemptsAlone;
use super::program::{LaunchSpec, output_so_far};
use super::{Agent, AgentTurn, Session, refuse_unoffered_calls};
use crate::BoxFuture;
use crate::attempt_id::AttemptId;
use crate::failure::{Failure, PartyAnswer};
use crate::wire::{AnswerError, read_answer};

/// How long a program may take to say hello.
const HELLO_TIMEOUT: Duration = Duration::from_secs(20);
/// Time without `hello` after which a note is added to the output.
const HELLO_NOTICE_AFTER: Duration = Duration::from_secs(2);
/// How long it may take to end.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// How long it may take to forget a conversation.
const RESET_TIMEOUT: Duration = Duration::from_secs(2);

/// How long it may take to load what it serves, where it announces [`LOAD`].
const LOAD_TIMEOUT: Duration = Duration::from_mins(2);
/// How long a process that announces [`ALIVE`] may take to say that it is not blocked.
const ALIVE_TIMEOUT: Duration = Duration::from_secs(2);
/// The action, and capability, of programs that load what they serve before the first conversation.
const LOAD: &str = "agent.load";
/// The action, and capability, of programs that answer at once unless they are blocked.
const ALIVE: &str = "agent.alive";

/// How conversations are assigned to processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Processes {
    /// This many processes share all conversations.
    Shared(usize),
    /// One process per conversation.
    Each,
}

/// An agent that is a program.
pub struct CommandAgent {
    launch: Arc<LaunchSpec>,
    timeout: Duration,
    /// The shared ones; none where each conversation has its own.
    shared_processes: Vec<Mutex<Option<RunningAgent>>>,
    next: AtomicUsize,
    alone: Arc<AttemptsAlone>,
    /// Why the program cannot load what it serves: then it cannot in another process either.
    not_loadable: OnceLock<Failure>,
}

#[derive(Clone)]
struct RunningAgent {
    process: ManagedProcess,
    channel: Channel,
    listener: Arc<OutputListener>,
    /// Whether it answers [`ALIVE`].
    says_alive: bool,
}

impl RunningAgent {
    async fn exit_description(&self, launch: &LaunchSpec) -> Option<String> {
        let reported = || self.listener.reported().recent();
        launch.exit_description_or(&self.process, reported).await
    }

    /// Ends the process if it is blocked, so that later conversations get another one; says whether it was.
    async fn end_if_blocked(&self) -> bool {
        if !self.says_alive {
            return false;
        }
        let answer = self.channel.request(ALIVE, &(), Some(ALIVE_TIMEOUT)).await;
        let is_blocked = matches!(answer, Err(RequestError::Timeout { .. }));
        if is_blocked {
            finish(&self.process, true).await;
        }
        is_blocked
    }
}

#[derive(Serialize)]
struct ChatRequest<'a> {
    conversation_id: &'a str,
    turn: u32,
    messages: &'a [Message],
    #[serde(skip_serializing_if = "<[ToolSpec]>::is_empty")]
    tools: &'a [ToolSpec],
    #[serde(skip_serializing_if = "Option::is_none")]
    traceparent: Option<&'a str>,
}

#[derive(Serialize)]
struct ResetRequest<'a> {
    conversation_id: &'a str,
}

impl CommandAgent {
    pub(crate) fn new(launch: LaunchSpec, processes: Processes, timeout: Duration) -> Self {
        let count = match processes {
            Processes::Shared(count) => count.max(1),
            Processes::Each => 0,
        };
        let shared_processes = (0..count).map(|_| Mutex::new(None)).collect();
        Self {
            launch: Arc::new(launch),
            timeout,
            shared_processes,
            next: AtomicUsize::new(0),
            alone: Arc::default(),
            not_loadable: OnceLock::new(),
        }
    }

    async fn process(&self, number: usize) -> Result<RunningAgent, Failure> {
        let Some(place) = self.shared_processes.get(number % self.shared_processes.len().max(1))
        else {
            return self.start(number).await;
        };
        // The first caller starts the process; the others wait for the lock.
        let mut place = place.lock().await;
        if let Some(running) = place
            .as_ref()
            .filter(|running| running.process.is_alive() && !running.channel.is_closed())
        {
            return Ok(running.clone());
        }
        let running = self.start(number % self.shared_processes.len()).await?;
        *place = Some(running.clone());
        Ok(running)
    }

    async fn start(&self, number: usize) -> Result<RunningAgent, Failure> {
        if let Some(failure) = self.not_loadable.get() {
            return Err(failure.clone());
        }
        let name = &self.launch.name;
        let (process, listener) = self.launch.start(RpcMode::Socket, number).await?;
        let Some(channel) = process.rpc() else {
            return Err(Failure::harness(format!("the agent `{name}` has no channel")));
        };
        let host = HostInfo { name: "proctor".into(), version: env!("CARGO_PKG_VERSION").into() };
        let greeting = channel.clone();
        let mut hello = pin!(greeting.hello(host, HELLO_TIMEOUT));
        let early = tokio::time::timeout(HELLO_NOTICE_AFTER, hello.as_mut()).await;
        let greeted = if let Ok(greeted) = early {
            greeted
        } else {
            listener.add_note(&format!(
                "the agent `{name}` has not said hello for {} s and is waited for up to {} s; {}",
                HELLO_NOTICE_AFTER.as_secs(),
                HELLO_TIMEOUT.as_secs(),
                output_so_far(&process)
            ));
            hello.await
        };
        let hello = match greeted {
            Ok(hello) => hello,
            Err(error) => return Err(self.explain_hello_error(error, &process, &listener).await),
        };
        let announces = |action: &str| hello.capabilities.iter().any(|known| known == action);
        let running = RunningAgent { process, channel, listener, says_alive: announces(ALIVE) };
        if announces(LOAD) {
            self.load(&running).await?;
        }
        Ok(running)
    }

    async fn explain_hello_error(
        &self,
        error: RequestError,
        process: &ManagedProcess,
        listener: &OutputListener,
    ) -> Failure {
        if let Some(failure) = self.launch.sandbox_failure(process).await {
            return failure;
        }
        let name = &self.launch.name;
        let ended = self.launch.exit_description(process).await;
        let why = ended.unwrap_or_else(|| format!("{error}; {}", output_so_far(process)));
        let malformed_note = listener.malformed_since(0);
        let message =
            format!("the agent `{name}` does not speak the worker protocol: {why}{malformed_note}");
        Failure::party("NotStarted", self.launch.with_env_hint(message))
    }

    /// Has the program load what it serves. Conversations are timed from here on.
    async fn load(&self, running: &RunningAgent) -> Result<(), Failure> {
        let loaded = running.channel.request(LOAD, &(), Some(LOAD_TIMEOUT)).await;
        let Err(error) = loaded else { return Ok(()) };
        let why = match error {
            RequestError::Failed { error, .. } => error.message,
            RequestError::Timeout { after, .. } => {
                format!("it was still loading after {after:?}; {}", output_so_far(&running.process))
            }
            error => {
                let ended = running.exit_description(&self.launch).await;
                ended.unwrap_or_else(|| error.to_string())
            }
        };
        finish(&running.process, true).await;
        let message = format!("the agent `{}` cannot be loaded: {why}", self.launch.name);
        let failure = Failure::party("NotLoaded", self.launch.with_env_hint(message));
        Err(self.not_loadable.get_or_init(|| failure).clone())
    }
}

impl Agent for CommandAgent {
    fn open<'a>(
        &'a self,
        attempt_id: &'a AttemptId,
    ) -> BoxFuture<'a, Result<Box<dyn Session>, Failure>> {
        Box::pin(async move {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let own = self.alone.take(attempt_id) || self.shared_processes.is_empty();
            let running =
                if own { self.start(number).await? } else { self.process(number).await? };
            let name = conversation_id(attempt_id);
            running.listener.reported().register(&name, attempt_id);
            let session: Box<dyn Session> = Box::new(CommandSession {
                running,
                launch: Arc::clone(&self.launch),
                timeout: self.timeout,
                name,
                own,
                lost: false,
                alone: Arc::clone(&self.alone),
            });
            Ok(session)
        })
    }

    fn end(&self, at_once: bool) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            for place in &self.shared_processes {
                if let Some(running) = place.lock().await.take() {
                    finish(&running.process, at_once).await;
                }
            }
        })
    }
}

/// A name that no other conversation has: not in another run, and not on the other side of a comparison, where example,
/// repetition and attempt are the same. The program may keep what it knows of a conversation under it.
fn conversation_id(attempt_id: &AttemptId) -> String {
    static RUN: LazyLock<u64> = LazyLock::new(|| RandomState::new().build_hasher().finish());
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("{}.{:016x}.{}", attempt_id.name(), *RUN, NEXT.fetch_add(1, Ordering::Relaxed))
}

async fn finish(process: &ManagedProcess, at_once: bool) {
    // Errors are ignored here; the guard ends what is left of the process tree.
    let _ = if at_once { process.kill().await } else { process.stop(END_TIMEOUT).await };
}

struct CommandSession {
    running: RunningAgent,
    launch: Arc<LaunchSpec>,
    timeout: Duration,
    name: String,
    /// Whether the process belongs to this conversation alone.
    own: bool,
    /// Whether a shared process died while it was asked.
    lost: bool,
    alone: Arc<AttemptsAlone>,
}

impl CommandSession {
    async fn ask(&mut self, turn: AgentTurn<'_>) -> Result<AgentAnswer, Failure> {
        let name = &self.launch.name;
        let tools = turn.offered_tools().await?;
        let _serving = self.running.listener.serving(turn.attempt_id);
        let request = ChatRequest {
            conversation_id: &self.name,
            turn: turn.turn,
            messages: turn.messages,
            tools: &tools,
            traceparent: turn.traceparent,
        };
        let malformed = self.running.listener.malformed();
        let _route = self.running.listener.reports().route(&self.name, turn.reporter);
        let reply = self.running.channel.request("agent.chat", &request, Some(self.timeout)).await;
        let reply = match reply {
            Ok(reply) => reply,
            Err(error) => {
                if matches!(error, RequestError::Closed { .. }) && !self.own {
                    self.lost = true;
                    self.alone.add_attempt_after(turn.attempt_id);
                }
                let mut failure = self.explain_request_error(error, malformed).await;
                if turn.turn <= 1 && ["Crashed", "Refused"].contains(&&*failure.class) {
                    failure.message = self.launch.with_env_hint(failure.message);
                }
                return Err(failure);
            }
        };
        let answer = read_answer(reply.body.as_str()).map_err(|problem| {
            let message = match problem {
                AnswerError::Empty => format!(
                    "the agent `{name}` answered `agent.chat` without `text`; only an answer with `tool_calls` or `pending_tool_calls` may leave it out"
                ),
                problem => format!(
                    "the agent `{name}` sent a malformed answer to `agent.chat`: {problem}"
                ),
            };
            Failure::party("Malformed", message)
        })?;
        refuse_unoffered_calls(name, &tools, &answer.pending_tool_calls)?;
        Ok(answer)
    }

    /// What became of a request; `malformed` is how many unreadable lines there were before it.
    async fn explain_request_error(&self, error: RequestError, malformed: u64) -> Failure {
        let name = &self.launch.name;
        let malformed_note = self.running.listener.malformed_since(malformed);
        match error {
            RequestError::Timeout { after, .. } => {
                let blocked = if self.running.end_if_blocked().await {
                    "; it was blocked, and its process was ended"
                } else {
                    ""
                };
                let message = format!(
                    "the agent `{name}` did not answer within {after:?}{blocked}{malformed_note}"
                );
                Failure::party("Timeout", message)
            }
            RequestError::Failed { error, .. } if error.code == code::UNKNOWN_ACTION => {
                let message = format!("the agent `{name}` does not know the action `agent.chat`");
                Failure::party("Refused", message)
            }
            RequestError::Failed { error, .. } => Failure::party(
                "Refused",
                format!("the agent `{name}` answered with an error: {}", error.message),
            ),
            RequestError::Closed { closed, .. } => {
                let ended = self.running.exit_description(&self.launch).await;
                let why = ended.unwrap_or_else(|| closed.to_string());
                Failure::party(
                    "Crashed",
                    format!("the agent `{name}` failed: {why}{malformed_note}"),
                )
            }
            error @ RequestError::Encode { .. } => Failure::harness(error.to_string()),
        }
    }
}

impl Session for CommandSession {
    fn chat<'a>(&'a mut self, turn: AgentTurn<'a>) -> BoxFuture<'a, PartyAnswer<AgentAnswer>> {
        Box::pin(async move { PartyAnswer::plain(self.ask(turn).await) })
    }

    fn lost_shared_process(&self) -> bool {
        self.lost
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            self.running.listener.reported().forget(&self.name);
            if self.own {
                return finish(&self.running.process, false).await;
            }
            // The reply is not awaited: agents without state need not implement `agent.reset`.
            tokio::spawn(async move {
                let request = ResetRequest { conversation_id: &self.name };
                let _ = self
                    .running
                    .channel
                    .request("agent.reset", &request, Some(RESET_TIMEOUT))
                    .await;
            });
        })
    }
}
