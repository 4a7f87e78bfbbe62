//! The endpoint of one conversation: its source of answers, its faults, and what went over the wire.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use proctor_llm::wire::Protocol;
use proctor_llm::{ErrorKind, ModelError, ToolCall, Usage};
use serde_json::Value;
use tokio::sync::watch;

use crate::answer::{Rendering, Reply, ScriptedAnswer, error_reply};
use crate::fault::Fault;
use crate::forward::{Forward, ForwardRequest, Recording};
use crate::prompt::{Memory, prompt_text};
use crate::replay::Replay;
use crate::script::Script;
use crate::server::Registered;

/// The most calls that wait for an observer; older ones are dropped.
const MAX_WAITING: usize = 1000;
/// The answer that a cut stream begins.
const CUT_ANSWER: &str = "This answer breaks off before it";

/// Who answers the calls of a conversation.
#[derive(Debug)]
pub enum Source {
    /// A script.
    Script(Script),
    /// A tape.
    Replay(Replay),
    /// A real model.
    Forward(Arc<Forward>),
    /// A real model, whose answers are recorded.
    Record(Arc<Forward>, Recording),
}

/// A call that an agent made, told before the agent has its answer.
#[derive(Clone, Debug)]
pub struct ObservedCall {
    /// The interface that it used.
    pub protocol: Protocol,
    /// Who answered: `scripted`, `replay`, `forward`.
    pub backend: &'static str,
    /// The model, as the answer names it, else as the agent asked for it.
    pub model: String,
    /// Everything that the model was given to read.
    pub prompt: String,
    /// What it said.
    pub text: String,
    /// The calls that it asked for.
    pub tool_calls: Vec<ToolCall>,
    /// Tokens, where they are known and not estimated.
    pub usage: Option<Usage>,
    /// What the answer cost when it was made, where that is known.
    pub cost_usd: Option<f64>,
    /// Whether it came from a tape or a cache, and so cost nothing now.
    pub cached: bool,
    /// How often a real model was asked.
    pub tries: Option<u32>,
    /// From the request to the answer.
    pub duration: Duration,
    /// Why there was no answer.
    pub error: Option<String>,
}

/// Takes calls as they are answered.
pub type Observer = Arc<dyn Fn(ObservedCall) + Send + Sync>;

/// What is known of a conversation's endpoint when it is closed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many calls were made.
    pub calls: u64,
    /// Requests that are no calls of a model, by method and path.
    pub refused: Vec<String>,
    /// Calls that differ from the recorded ones and were answered all the same.
    pub drift: Vec<String>,
    /// How many recorded calls were not made.
    pub left: usize,
    /// Why the tape could not be written.
    pub not_recorded: Option<String>,
}

/// An answer, and what it holds.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) reply: Reply,
    /// The body that a client who does not stream would get, or the stream as a text.
    pub(crate) whole: Option<Value>,
    pub(crate) text: String,
    pub(crate) tool_calls: Vec<ToolCall>,
    pub(crate) usage: Option<Usage>,
    pub(crate) model: String,
    pub(crate) cost_usd: Option<f64>,
    pub(crate) cached: bool,
    pub(crate) tries: Option<u32>,
}

/// How an answer goes back.
pub(crate) enum Delivery {
    Whole(Reply),
    /// Half of it, then the connection breaks.
    Cut(Reply),
    Slow(Reply, Duration),
    Never,
}

pub(crate) struct EndpointState {
    name: String,
    repeat: u32,
    state: Mutex<State>,
    /// Whether the test had no answer to a call.
    troubled: watch::Sender<bool>,
    closed: watch::Sender<bool>,
}

struct State {
    source: Source,
    faults: VecDeque<Fault>,
    memory: Memory,
    calls: u64,
    refused: BTreeSet<String>,
    observer: Option<Observer>,
    waiting: VecDeque<ObservedCall>,
    problem: Option<ModelError>,
}

impl EndpointState {
    pub(crate) fn new(name: String, repeat: u32, source: Source, faults: Vec<Fault>) -> Self {
        let state = State {
            source,
            faults: faults.into(),
            memory: Memory::default(),
            calls: 0,
            refused: BTreeSet::new(),
            observer: None,
            waiting: VecDeque::new(),
            problem: None,
        };
        let (troubled, closed) = (watch::Sender::new(false), watch::Sender::new(false));
        Self { name, repeat, state: Mutex::new(state), troubled, closed }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the conversation is over.
    pub(crate) async fn closed(&self) {
        // An error means that the sender is gone, which is the end as well.
        let _ = self.closed.subscribe().wait_for(|closed| *closed).await;
    }

    /// Remembers a request that is no call of a model.
    pub(crate) fn refuse(&self, what: String) {
        let refused = &mut self.state().refused;
        if refused.len() < 10 {
            refused.insert(what);
        }
    }

    /// Answers a call.
    pub(crate) async fn call(
        &self,
        protocol: Protocol,
        body: &Value,
        headers: Vec<(String, String)>,
    ) -> Delivery {
        let began = Instant::now();
        let (number, prompt, fault) = {
            let mut state = self.state();
            state.calls += 1;
            let prompt = prompt_text(protocol, body, &state.memory);
            (state.calls, prompt, state.faults.pop_front().unwrap_or(Fault::None))
        };
        let rendering = Rendering { protocol, body, number, prompt: &prompt };
        let mut observed = ObservedCall {
            protocol,
            backend: self.backend(),
            model: body["model"].as_str().unwrap_or_default().to_owned(),
            prompt: prompt.clone(),
            text: String::new(),
            tool_calls: Vec::new(),
            usage: None,
            cost_usd: None,
            cached: false,
            tries: None,
            duration: Duration::ZERO,
            error: fault.description(),
        };
        if observed.error.is_some() {
            observed.duration = began.elapsed();
            self.observe(observed);
            return faulty(fault, &rendering);
        }
        let answered = self.answer(&rendering, headers).await;
        observed.duration = began.elapsed();
        match answered {
            Ok(answered) => {
                if !answered.model.is_empty() {
                    observed.model = answered.model;
                }
                observed.text = answered.text;
                observed.tool_calls = answered.tool_calls;
                observed.usage = answered.usage;
                observed.cost_usd = answered.cost_usd;
                observed.cached = answered.cached;
                observed.tries = answered.tries;
                if let Some(whole) = answered.whole.filter(|_| protocol == Protocol::Responses) {
                    let whole =
                        if whole.is_string() { completed_response(&whole) } else { Some(whole) };
                    if let Some(whole) = whole {
                        self.state().memory.keep(body, &whole);
                    }
                }
                self.observe(observed);
                match fault {
                    Fault::Slow(by) => Delivery::Slow(answered.reply, by),
                    _ => Delivery::Whole(answered.reply),
                }
            }
            Err(error) => {
                observed.error = Some(error.message.clone());
                observed.tries = Some(error.tries);
                let reply = self.failed(protocol, error);
                self.observe(observed);
                Delivery::Whole(reply)
            }
        }
    }

    fn backend(&self) -> &'static str {
        match &self.state().source {
            Source::Script(_) => "scripted",
            Source::Replay(_) => "replay",
            Source::Forward(_) | Source::Record(..) => "forward",
        }
    }

    async fn answer(
        &self,
        rendering: &Rendering<'_>,
        headers: Vec<(String, String)>,
    ) -> Result<Answered, ModelError> {
        let (protocol, body) = (rendering.protocol, rendering.body);
        let (forward, place) = {
            let mut state = self.state();
            let State { source, memory, .. } = &mut *state;
            match source {
                Source::Script(script) => {
                    return Ok(scripted(&script.take(rendering.prompt)?, rendering));
                }
                Source::Replay(replay) => return replay.take(protocol, body, memory),
                Source::Forward(forward) => (Arc::clone(forward), None),
                Source::Record(forward, recording) => {
                    (Arc::clone(forward), Some(recording.begin()))
                }
            }
        };
        let call = ForwardRequest {
            protocol,
            body,
            headers,
            prompt: rendering.prompt,
            conversation: &self.name,
            repeat: self.repeat,
        };
        let outcome = forward.ask(call).await;
        if let (Source::Record(_, recording), Some(place)) = (&mut self.state().source, place) {
            recording.complete(place, protocol, body, &outcome);
        }
        outcome.map(|(answered, _)| answered)
    }

    /// The reply for a call without an answer. What is not the model's failure is the test's, and ends the conversation.
    fn failed(&self, protocol: Protocol, error: ModelError) -> Reply {
        let status = match error.kind {
            ErrorKind::RateLimited | ErrorKind::QuotaExhausted => 429,
            ErrorKind::Timeout => 504,
            ErrorKind::Unreachable | ErrorKind::Malformed | ErrorKind::Truncated => 502,
            ErrorKind::Overloaded => 503,
            ErrorKind::Refused => 401,
            ErrorKind::NotFound => 404,
            _ => 400,
        };
        let status = error.status.filter(|status| *status >= 400).unwrap_or(status);
        let mut reply = error_reply(protocol, status, &error.message);
        if !error.kind.is_from_peer() {
            // Asking again would not help, whatever the client takes the status for.
            reply.headers.push(("x-should-retry", "false".into()));
            self.state().problem.get_or_insert(error);
            self.troubled.send_replace(true);
        }
        reply
    }

    fn observe(&self, call: ObservedCall) {
        let mut state = self.state();
        if let Some(observer) = state.observer.clone() {
            drop(state);
            observer(call);
            return;
        }
        if state.waiting.len() >= MAX_WAITING {
            state.waiting.pop_front();
        }
        state.waiting.push_back(call);
    }
}

fn scripted(answer: &ScriptedAnswer, rendering: &Rendering<'_>) -> Answered {
    let (reply, whole) = rendering.render(answer);
    let parts = rendering.protocol.decode(&whole).unwrap_or_default();
    Answered {
        reply,
        whole: Some(whole),
        text: parts.text,
        tool_calls: parts.tool_calls,
        // Estimates are for the client alone.
        usage: answer.usage,
        model: String::new(),
        cost_usd: None,
        cached: false,
        tries: None,
    }
}

fn faulty(fault: Fault, rendering: &Rendering<'_>) -> Delivery {
    let protocol = rendering.protocol;
    match fault {
        Fault::Status(status, after) => {
            let message = format!("refused with status {status}, a fault that the test asks for");
            let mut reply = error_reply(protocol, status, &message);
            let after = after.unwrap_or(Duration::from_millis(20));
            reply.headers.push(("retry-after", after.as_secs_f64().ceil().to_string()));
            reply.headers.push(("retry-after-ms", after.as_millis().to_string()));
            Delivery::Whole(reply)
        }
        Fault::CutStream => {
            let (reply, _) = rendering.render(&ScriptedAnswer::text(CUT_ANSWER));
            Delivery::Cut(reply)
        }
        Fault::Malformed => {
            let piece = if rendering.is_streamed() {
                "data: {\"id\": \"malformed\", \"choices\": [{\n\n"
            } else {
                "{\"id\": \"malformed\", \"choices\": [{"
            };
            let (is_stream, pieces) = (rendering.is_streamed(), vec![piece.to_owned()]);
            Delivery::Whole(Reply { status: 200, headers: Vec::new(), is_stream, pieces })
        }
        Fault::Timeout | Fault::None | Fault::Slow(_) => Delivery::Never,
    }
}

/// The whole answer in a stream of Responses.
fn completed_response(stream: &Value) -> Option<Value> {
    let data = stream.as_str()?.lines().filter_map(|line| line.strip_prefix("data:"));
    let mut events = data.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    let mut completed = events.find(|event| event["type"] == "response.completed")?;
    Some(completed["response"].take())
}

/// The endpoint of one conversation. It ends when this is dropped: later requests are refused.
pub struct OpenEndpoint {
    state: Arc<EndpointState>,
    registered: Registered,
}

impl std::fmt::Debug for OpenEndpoint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "OpenEndpoint({})", self.state.name)
    }
}

impl OpenEndpoint {
    pub(crate) fn new(state: Arc<EndpointState>, registered: Registered) -> Self {
        Self { state, registered }
    }

    /// The address without the version: what clients of Anthropic are given.
    pub fn url(&self) -> &str {
        self.registered.url()
    }

    /// The key of the conversation.
    pub fn key(&self) -> &str {
        self.registered.key()
    }

    /// Hands on the calls that wait and those to come; `None`: they wait.
    pub fn observe(&self, observer: Option<Observer>) {
        let waiting = {
            let mut state = self.state.state();
            state.observer.clone_from(&observer);
            if observer.is_some() { std::mem::take(&mut state.waiting) } else { VecDeque::new() }
        };
        if let Some(observer) = observer {
            for call in waiting {
                observer(call);
            }
        }
    }

    /// Why the test could not answer a call: no answer left in the script, drift, a budget that is spent.
    pub fn problem(&self) -> Option<ModelError> {
        self.state.state().problem.clone()
    }

    /// Waits until there is a [`problem`](Self::problem).
    pub async fn has_problem(&self) {
        let _ = self.state.troubled.subscribe().wait_for(|troubled| *troubled).await;
    }

    /// How many calls were made so far.
    pub fn calls(&self) -> u64 {
        self.state.state().calls
    }

    /// Ends it; writes the tape if it was recorded.
    pub fn close(self) -> Summary {
        self.state.closed.send_replace(true);
        let mut state = self.state.state();
        let mut summary = Summary {
            calls: state.calls,
            refused: std::mem::take(&mut state.refused).into_iter().collect(),
            ..Summary::default()
        };
        match &mut state.source {
            Source::Replay(replay) => {
                summary.drift = replay.take_drift();
                summary.left = replay.left();
            }
            Source::Record(_, recording) => {
                summary.not_recorded = recording.write().err().map(|error| error.message);
            }
            Source::Script(_) | Source::Forward(_) => {}
        }
        drop(state);
        summary
    }
}

impl Drop for OpenEndpoint {
    fn drop(&mut self) {
        self.state.closed.send_replace(true);
    }
}
