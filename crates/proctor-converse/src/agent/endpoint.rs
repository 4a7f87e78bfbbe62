//! An agent whose model is behind our endpoint.
//!
//! Variables of the environment belong to a process, and clients of models read the address from there. So each conversation has a process
//! of its own, which is given the address and the key of an endpoint of its own: no call can be taken for one of another conversation.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use proctor_dialogue::AgentAnswer;
use proctor_endpoint::{EndpointServer, Fault, ObservedCall, OpenEndpoint, Source, Summary};
use proctor_events::{Json, Millis, ModelCall};
use proctor_llm::{ModelError, Purpose};
use proctor_text::{plural, pluralize};
use tokio::sync::{OnceCell, Semaphore};

use super::{Agent, AgentReporter, AgentTurn, Session};
use crate::BoxFuture;
use crate::attempt_id::AttemptId;
use crate::failure::{Failure, FailureOrigin, PartyAnswer};

/// How long an agent may still answer when its endpoint had no answer for it.
const GRACE: Duration = Duration::from_secs(2);
/// How many programs are started at once, for each core.
const STARTS_PER_CORE: usize = 2;
/// The most remarks about drift.
const MAX_DRIFTS: usize = 10;

/// Where a conversation's model is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelAddress {
    /// Without the version, as clients of Anthropic want it.
    pub(crate) url: String,
    pub(crate) key: String,
}

impl ModelAddress {
    /// The variables from which clients of models read address and key.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        let versioned = format!("{}/v1", self.url);
        let mut variables = vec![("OPENAI_AGENTS_DISABLE_TRACING", "1".to_owned())];
        for name in ["OPENAI_BASE_URL", "OPENAI_API_BASE"] {
            variables.push((name, versioned.clone()));
        }
        for name in ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL", "ANTHROPIC_API_BASE"] {
            variables.push((name, self.url.clone()));
        }
        for name in ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"] {
            variables.push((name, self.key.clone()));
        }
        variables
    }
}

/// Makes the agent of one conversation, for this address.
pub(crate) type MakeAgent =
    Arc<dyn Fn(ModelAddress) -> Result<Arc<dyn Agent>, Failure> + Send + Sync>;
/// Makes what answers in one conversation.
pub(crate) type MakeSource = Arc<dyn Fn(&AttemptId) -> Source + Send + Sync>;

/// The server of all endpoints of a run, started with the first one.
#[derive(Debug)]
pub(crate) struct EndpointHost {
    server: OnceCell<EndpointServer>,
    /// Programs that are being started. Each conversation has a process of its own; all of them at once would make each other late.
    starts: Semaphore,
}

impl Default for EndpointHost {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZeroUsize::get);
        Self { server: OnceCell::new(), starts: Semaphore::new(cores * STARTS_PER_CORE) }
    }
}

impl EndpointHost {
    async fn open(
        &self,
        attempt_id: &AttemptId,
        source: Source,
        faults: Vec<Fault>,
    ) -> Result<OpenEndpoint, Failure> {
        let failed = |error: std::io::Error| {
            Failure::harness(format!("the model endpoint of the agent cannot be started: {error}"))
        };
        let server = self.server.get_or_try_init(EndpointServer::start).await.map_err(failed)?;
        server.open(&attempt_id.name(), attempt_id.repeat, source, faults).map_err(failed)
    }
}

/// What is to be said at the end of a run about the endpoints of its conversations.
#[derive(Debug, Default)]
pub(crate) struct EndpointNotes(Mutex<Remarks>);

#[derive(Debug, Default)]
struct Remarks {
    /// Conversations in which the endpoint got no call, by agent.
    silent: BTreeMap<String, u64>,
    /// Requests that are no calls of a model, by agent and request.
    refused: BTreeMap<(String, String), u64>,
    drift: Vec<String>,
    /// Recorded calls that were not made, and in how many conversations.
    left: (usize, u64),
    not_recorded: Vec<String>,
}

impl EndpointNotes {
    fn remarks(&self) -> MutexGuard<'_, Remarks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, agent: &str, summary: Summary) {
        let mut remarks = self.remarks();
        if summary.calls == 0 {
            *remarks.silent.entry(agent.to_owned()).or_default() += 1;
        }
        for what in summary.refused {
            *remarks.refused.entry((agent.to_owned(), what)).or_default() += 1;
        }
        remarks.drift.extend(summary.drift);
        if summary.left > 0 {
            remarks.left.0 += summary.left;
            remarks.left.1 += 1;
        }
        remarks.not_recorded.extend(summary.not_recorded);
    }

    /// The remarks as lines; empty from the second call on.
    pub(crate) fn take(&self) -> Vec<String> {
        let Remarks { silent, refused, drift, left, not_recorded } =
            std::mem::take(&mut *self.remarks());
        let mut notes: Vec<String> = silent
            .into_iter()
            .map(|(agent, count)| {
                let conversations = if count == 1 { "conversation" } else { "conversations" };
                format!(
                    "the agent `{agent}` made no call to its model endpoint in {count} {conversations}: does it read OPENAI_BASE_URL or ANTHROPIC_BASE_URL?"
                )
            })
            .collect();
        for ((agent, what), count) in refused {
            let mut note = format!(
                "the agent `{agent}` asked its model endpoint for {what}, which it does not know"
            );
            if count > 1 {
                let _ = write!(note, " ({count} conversations)");
            }
            notes.push(note);
        }
        let more = drift.len().saturating_sub(MAX_DRIFTS);
        notes.extend(drift.into_iter().take(MAX_DRIFTS));
        if more > 0 {
            notes.push(format!("drift: {more} more calls differ from the recorded ones"));
        }
        if left.0 > 0 {
            let (calls, were) = (pluralize(left.0, "recorded call"), plural(left.0, "was", "were"));
            let conversations = pluralize(left.1, "conversation");
            notes.push(format!("{calls} of models {were} not made, in {conversations}"));
        }
        notes.extend(not_recorded);
        notes
    }
}

/// An agent whose model is behind our endpoint.
pub(crate) struct EndpointAgent {
    pub(crate) name: String,
    pub(crate) make_agent: MakeAgent,
    pub(crate) make_source: MakeSource,
    pub(crate) faults: Vec<Fault>,
    pub(crate) host: Arc<EndpointHost>,
    pub(crate) notes: Arc<EndpointNotes>,
}

impl Agent for EndpointAgent {
    fn open<'a>(
        &'a self,
        attempt_id: &'a AttemptId,
    ) -> BoxFuture<'a, Result<Box<dyn Session>, Failure>> {
        Box::pin(async move {
            let source = (self.make_source)(attempt_id);
            let endpoint = self.host.open(attempt_id, source, self.faults.clone()).await?;
            let address =
                ModelAddress { url: endpoint.url().to_owned(), key: endpoint.key().to_owned() };
            let agent = (self.make_agent)(address)?;
            // The semaphore is never closed: an error cannot happen, and would only mean that nothing is waited for.
            let starting = self.host.starts.acquire().await;
            let inner = agent.open(attempt_id).await?;
            drop(starting);
            let session: Box<dyn Session> = Box::new(EndpointSession {
                inner,
                _agent: agent,
                endpoint,
                agent_name: self.name.clone(),
                notes: Arc::clone(&self.notes),
            });
            Ok(session)
        })
    }
}

struct EndpointSession {
    inner: Box<dyn Session>,
    /// What belongs to the agent of this conversation lives as long as the conversation.
    _agent: Arc<dyn Agent>,
    endpoint: OpenEndpoint,
    agent_name: String,
    notes: Arc<EndpointNotes>,
}

/// What the endpoint saw in one turn.
#[derive(Default)]
struct TurnCalls {
    prompts: Vec<String>,
    /// What the calls cost, where each of them says it.
    cost_usd: Option<f64>,
}

impl TurnCalls {
    fn add(&mut self, call: &ObservedCall) {
        // A call that was not answered cost nothing.
        let cost = if call.error.is_some() { Some(0.0) } else { call.cost_usd };
        let before = if self.prompts.is_empty() { Some(0.0) } else { self.cost_usd };
        self.cost_usd = before.zip(cost).map(|(before, cost)| before + cost);
        self.prompts.push(call.prompt.clone());
    }

    fn complete(self, answer: &mut AgentAnswer) {
        if !self.prompts.is_empty() {
            answer.cost_usd = answer.cost_usd.or(self.cost_usd);
        }
        answer.prompts = Some(self.prompts);
    }
}

impl EndpointSession {
    /// Reports the calls of a turn, and collects what the checks of the turn look at.
    fn observe(&self, reporter: &AgentReporter) -> Arc<Mutex<TurnCalls>> {
        let calls = Arc::<Mutex<TurnCalls>>::default();
        let (seen, reporter) = (Arc::clone(&calls), reporter.clone());
        self.endpoint.observe(Some(Arc::new(move |call: ObservedCall| {
            lock(&seen).add(&call);
            reporter.model_call(model_call(call));
        })));
        calls
    }

    fn failure(&self, problem: ModelError) -> Failure {
        let failure = Failure::from(problem);
        let origin = match failure.origin {
            FailureOrigin::Budget => FailureOrigin::Budget,
            // The script, the tape and the real model are the test's, not the agent's.
            FailureOrigin::Party | FailureOrigin::Harness => FailureOrigin::Harness,
        };
        let message =
            format!("the model endpoint of the agent `{}`: {}", self.agent_name, failure.message);
        Failure { origin, message, ..failure }
    }
}

impl Session for EndpointSession {
    fn chat<'a>(&'a mut self, turn: AgentTurn<'a>) -> BoxFuture<'a, PartyAnswer<AgentAnswer>> {
        Box::pin(async move {
            let calls = self.observe(turn.reporter);
            let asked = {
                let mut asking = self.inner.chat(turn);
                tokio::select! {
                    biased;
                    asked = &mut asking => Some(asked),
                    // An agent may go on asking; what it says now is of no use.
                    () = self.endpoint.has_problem() => {
                        tokio::time::timeout(GRACE, asking).await.ok()
                    }
                }
            };
            self.endpoint.observe(None);
            if let Some(problem) = self.endpoint.problem() {
                let outcome = Err(self.failure(problem));
                return match asked {
                    Some(asked) => PartyAnswer { outcome, ..asked },
                    None => PartyAnswer::plain(outcome),
                };
            }
            let unanswered = || PartyAnswer::plain(Err(Failure::harness("the agent was given up")));
            let mut asked = asked.unwrap_or_else(unanswered);
            if let Ok(answer) = &mut asked.outcome {
                std::mem::take(&mut *lock(&calls)).complete(answer);
            }
            asked
        })
    }

    fn lost_shared_process(&self) -> bool {
        self.inner.lost_shared_process()
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            self.inner.close().await;
            self.notes.add(&self.agent_name, self.endpoint.close());
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The event that records a call.
fn model_call(call: ObservedCall) -> ModelCall {
    let usage = call.usage;
    let tool_calls = call.tool_calls.iter().map(|call| {
        Json::from(
            serde_json::json!({"id": call.id, "name": call.name, "arguments": call.arguments}),
        )
    });
    ModelCall {
        backend: Some(call.backend.into()),
        model: Some(call.model).filter(|model| !model.is_empty()),
        purpose: Some(Purpose::Agent.as_str().into()),
        input_tokens: usage
            .map(|usage| usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens),
        output_tokens: usage.map(|usage| usage.output_tokens),
        cost_usd: call.cost_usd.map(|cost| if call.cached { 0.0 } else { cost }),
        duration_ms: Some(Millis::from(call.duration)),
        cached: call.cached.then_some(true),
        tries: call.tries,
        error: call.error,
        interface: Some(call.protocol.as_str().into()),
        prompt: Some(call.prompt),
        text: Some(call.text).filter(|text| !text.is_empty()),
        tool_calls: (!call.tool_calls.is_empty()).then(|| tool_calls.collect()),
    }
}
