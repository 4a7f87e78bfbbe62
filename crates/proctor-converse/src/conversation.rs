//! Conducting one conversation: effects of the engine out to the parties, their answers back in.
//!
//! The engine decides; this file only carries. Events go to the sink at once and are flushed whenever a party
//! has to be waited for, so a conversation whose parties answer at once is handed over in one piece. At most
//! one party is waited for at a time, but for tools, which run side by side. A run of this future may
//! be dropped at any point: open questions are given up with it, and [`Conversation::cancel`] says the last words.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use proctor_dialogue::{
    AgentAnswer, AgentReports, ConversationOutcome, Effect, Engine, Example, Input, JudgeRequest,
    Message, Next, RequestId, SimulatorRequest, ToolCall, Transcript,
};
use proctor_events::{Body, Fault, Status};
use proctor_redact::Redactor;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::BoxFuture;
use crate::agent::{Agent, AgentReporter, AgentTurn, LiveReport, Session};
use crate::attempt_id::AttemptId;
use crate::check::Checks;
use crate::failure::{Failure, FailureOrigin, PartyAnswer};
use crate::judge::Judge;
use crate::judge_marks::MarkSource;
use crate::open_cassette::{OpenCassette, PartySettings};
use crate::simulator::Simulator;
use crate::tools::Tools;

/// Where the events of a conversation go.
pub trait EventSink: Send {
    /// Takes an event.
    fn emit(&mut self, body: Body);

    /// Passes the collected events on. Called before every wait for a party.
    fn flush(&mut self) -> BoxFuture<'_, ()>;
}

/// The parties of a conversation. One value serves any number of conversations.
#[derive(Clone)]
pub struct Parties {
    /// The agent under test.
    pub agent: Arc<dyn Agent>,
    /// Who plays the user.
    pub simulator: Arc<dyn Simulator>,
    /// Who judges.
    pub judge: Arc<dyn Judge>,
    /// The tools of the host.
    pub tools: Arc<dyn Tools>,
    /// Commands that look at conversations.
    pub checks: Arc<dyn Checks>,
    /// The cassette that records or replays them all.
    pub cassette: OpenCassette,
    /// What beside the questions decides the answers, for the cassette.
    pub settings: Arc<PartySettings>,
    /// Filters secrets from everything that is recorded.
    pub redactor: Redactor,
    /// Marks the judge's questions.
    pub marks: MarkSource,
    /// What the agent can report.
    pub reports: Arc<AgentReports>,
}

impl Parties {
    /// The engine with what is known of the agent and of its answers.
    fn equip(&self, engine: Engine) -> Engine {
        let engine = engine.with_reports(Arc::clone(&self.reports));
        let is_stored =
            self.agent.is_recorded() || matches!(self.cassette, OpenCassette::Replay(_));
        if is_stored { engine.with_stored_answers() } else { engine }
    }
}

/// One attempt at one example.
pub struct Conversation {
    parties: Arc<Parties>,
    attempt_id: AttemptId,
    engine: Engine,
    session: Option<Box<dyn Session>>,
    deadline: Option<(RequestId, Instant)>,
}

/// A question of the engine to one party.
enum PartyQuestion {
    Simulator(RequestId, SimulatorRequest),
    Agent(RequestId, u32, Vec<Message>),
    Judge(RequestId, Box<JudgeRequest>),
    Check(RequestId, Vec<String>, Value),
}

impl PartyQuestion {
    fn id(&self) -> RequestId {
        match self {
            Self::Simulator(id, _)
            | Self::Agent(id, ..)
            | Self::Judge(id, _)
            | Self::Check(id, ..) => *id,
        }
    }
}

/// Publishes what the agent reports before it answers.
struct LiveReports<'a> {
    /// The question that is being answered.
    id: RequestId,
    reports: mpsc::UnboundedReceiver<LiveReport>,
    engine: &'a mut Engine,
    redactor: &'a Redactor,
}

impl LiveReports<'_> {
    async fn next(live: &mut Option<&mut Self>) -> Option<LiveReport> {
        match live {
            Some(live) => live.reports.recv().await,
            None => None,
        }
    }

    fn publish(&mut self, report: LiveReport, sink: &mut impl EventSink) {
        let report = match report {
            LiveReport::Tool(report) => report,
            LiveReport::Model(call) => {
                sink.emit(without_secrets(self.redactor, Body::ModelCall(*call)));
                return;
            }
        };
        for effect in self.engine.step(Input::AgentReportedCall { id: self.id, report }) {
            if let Effect::Emit(body) = effect {
                sink.emit(without_secrets(self.redactor, body));
            }
        }
    }

    /// What was reported before the answer comes before it.
    fn publish_waiting(live: &mut Option<&mut Self>, sink: &mut impl EventSink) {
        let Some(live) = live else { return };
        while let Ok(report) = live.reports.try_recv() {
            live.publish(report, sink);
        }
    }
}

/// What carrying out some effects came to.
#[derive(Default)]
struct EngineRequests {
    ask: Option<PartyQuestion>,
    tools: Vec<(RequestId, ToolCall)>,
    verdict: Option<ConversationOutcome>,
}

impl Conversation {
    /// A conversation that has not begun.
    pub fn new(example: Arc<Example>, parties: Arc<Parties>, attempt_id: AttemptId) -> Self {
        let engine = parties.equip(Engine::new(example));
        Self { parties, attempt_id, engine, session: None, deadline: None }
    }

    /// An open-ended conversation: it pauses, with a verdict on what came since the last pause, and
    /// waits for [`proceed`](Self::proceed).
    pub fn open_ended(example: Arc<Example>, parties: Arc<Parties>, attempt_id: AttemptId) -> Self {
        let engine = parties.equip(Engine::open_ended(example));
        Self { parties, attempt_id, engine, session: None, deadline: None }
    }

    /// Conducts it to its verdict, or to its first pause.
    pub async fn run(&mut self, sink: &mut impl EventSink) -> ConversationOutcome {
        let marks = self.parties.marks.next_key();
        self.run_engine(Input::Begin { marks }, sink).await
    }

    /// Goes on after a pause, to the next one or to the end. What an earlier call left undone, because it was
    /// dropped, is given up first.
    pub async fn proceed(&mut self, next: Next, sink: &mut impl EventSink) -> ConversationOutcome {
        self.deadline = None;
        if !self.engine.is_paused() {
            self.step(Input::Cancel, sink);
        }
        self.run_engine(Input::Next(next), sink).await
    }

    /// What has been said so far.
    pub fn transcript(&self) -> &Transcript {
        self.engine.transcript()
    }

    async fn run_engine(&mut self, first: Input, sink: &mut impl EventSink) -> ConversationOutcome {
        let parties = Arc::clone(&self.parties);
        let attempt_id = self.attempt_id.clone();
        let mut tools: FuturesUnordered<BoxFuture<'_, Input>> = FuturesUnordered::new();
        let mut input = first;
        loop {
            let requests = self.step(input, sink);
            if let Some(verdict) = requests.verdict {
                return verdict;
            }
            for (id, call) in requests.tools {
                tools.push(Box::pin(call_tool(&parties, &attempt_id, id, call)));
            }
            input = match requests.ask {
                Some(ask) => {
                    let (deadline, redactor) = (self.deadline, &parties.redactor);
                    let Self { engine, session, .. } = self;
                    let (forward, reports) = mpsc::unbounded_channel();
                    let reporter = AgentReporter::new(forward);
                    let mut live = LiveReports { id: ask.id(), reports, engine, redactor };
                    let answer = answer(&parties, &attempt_id, session, ask, &reporter);
                    let (input, events) =
                        answer_before_deadline(deadline, answer, Some(&mut live), sink).await;
                    for body in events {
                        sink.emit(self.without_secrets(body));
                    }
                    input
                }
                None if tools.is_empty() => Input::PartyUnavailable {
                    status: Status::Errored,
                    fault: Some(Fault::Harness),
                    message: "the conversation waits for no party; this is a bug in proctor".into(),
                },
                None => {
                    let next = async { (tools.next().await.unwrap_or(Input::Cancel), Vec::new()) };
                    answer_before_deadline(self.deadline, next, None, sink).await.0
                }
            };
        }
    }

    /// Gives it up, because it took too long or was cancelled. The verdict is there unless
    /// it had been given before.
    pub fn cancel(
        &mut self,
        sink: &mut impl EventSink,
        timed_out: bool,
    ) -> Option<ConversationOutcome> {
        self.step(if timed_out { Input::TimedOut } else { Input::Cancel }, sink).verdict
    }

    /// Tells the agent that it is over.
    pub async fn close(mut self) {
        if let Some(session) = self.session.take() {
            session.close().await;
        }
    }

    /// Whether closing it takes anything at all.
    pub fn has_session(&self) -> bool {
        self.session.is_some()
    }

    /// Whether it was cut off by the death of an agent's process that answers other conversations too.
    pub fn lost_shared_agent(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.lost_shared_process())
    }

    /// Whether it has come to its verdict.
    pub fn is_finished(&self) -> bool {
        self.engine.is_finished()
    }

    fn step(&mut self, input: Input, sink: &mut impl EventSink) -> EngineRequests {
        let mut requests = EngineRequests::default();
        for effect in self.engine.step(input) {
            match effect {
                Effect::Emit(body) => sink.emit(self.without_secrets(body)),
                Effect::AskSimulator { id, request } => {
                    requests.ask = Some(PartyQuestion::Simulator(id, request));
                }
                Effect::CallAgent { id, turn, messages } => {
                    requests.ask = Some(PartyQuestion::Agent(id, turn, messages));
                }
                Effect::ExecuteTool { id, call } => requests.tools.push((id, call)),
                Effect::AskJudge { id, request } => {
                    requests.ask = Some(PartyQuestion::Judge(id, request));
                }
                Effect::RunCheck { id, command, conversation } => {
                    requests.ask = Some(PartyQuestion::Check(id, command, conversation));
                }
                Effect::SetDeadline { id, after } => {
                    self.deadline = Instant::now().checked_add(after).map(|at| (id, at));
                }
                Effect::ClearDeadline { id } => {
                    self.deadline = self.deadline.take().filter(|(known, _)| *known != id);
                }
                Effect::Pause(verdict) | Effect::Finish(verdict) => {
                    requests.verdict = Some(self.verdict_without_secrets(verdict));
                }
            }
        }
        requests
    }

    fn without_secrets(&self, body: Body) -> Body {
        without_secrets(&self.parties.redactor, body)
    }

    fn verdict_without_secrets(&self, mut verdict: ConversationOutcome) -> ConversationOutcome {
        let failures = verdict.failures.iter_mut().map(|failure| &mut failure.message);
        for message in verdict.message.iter_mut().chain(failures) {
            if let Some(clean) = self.parties.redactor.without_known(message) {
                *message = clean;
            }
        }
        verdict
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.parties.simulator.forget(&self.attempt_id);
    }
}

/// Replaces secrets that an agent has repeated, before an event is recorded.
fn without_secrets(redactor: &Redactor, mut body: Body) -> Body {
    if redactor.has_secrets() {
        body.change_texts(&mut |text| redactor.without_known(text));
    }
    body
}

/// An input, and what is to be recorded about where it came from.
type AnsweredInput = (Input, Vec<Body>);

/// Waits for an answer, but not beyond the deadline. An answer that is there at once costs no wait.
async fn answer_before_deadline(
    deadline: Option<(RequestId, Instant)>,
    answer: impl Future<Output = AnsweredInput>,
    mut live: Option<&mut LiveReports<'_>>,
    sink: &mut impl EventSink,
) -> AnsweredInput {
    if let Some((id, at)) = deadline
        && Instant::now() >= at
    {
        return (Input::DeadlineReached { id }, Vec::new());
    }
    let mut answer = pin!(answer);
    let first = poll_fn(|context| Poll::Ready(answer.as_mut().poll(context))).await;
    if let Poll::Ready(answered) = first {
        LiveReports::publish_waiting(&mut live, sink);
        return answered;
    }
    sink.flush().await;
    let mut expiry = pin!(async move {
        match deadline {
            Some((id, at)) => {
                tokio::time::sleep_until(at).await;
                id
            }
            None => std::future::pending().await,
        }
    });
    loop {
        tokio::select! {
            biased;
            Some(report) = LiveReports::next(&mut live) => {
                if let Some(live) = &mut live {
                    live.publish(report, sink);
                }
                sink.flush().await;
            }
            answered = &mut answer => {
                LiveReports::publish_waiting(&mut live, sink);
                return answered;
            }
            id = &mut expiry => return (Input::DeadlineReached { id }, Vec::new()),
        }
    }
}

async fn answer(
    parties: &Parties,
    attempt_id: &AttemptId,
    session: &mut Option<Box<dyn Session>>,
    ask: PartyQuestion,
    reporter: &AgentReporter,
) -> AnsweredInput {
    match ask {
        PartyQuestion::Agent(id, turn, messages) => {
            let tools = &*parties.tools;
            let traceparent = None;
            let ask =
                AgentTurn { attempt_id, turn, messages: &messages, tools, reporter, traceparent };
            let (outcome, events) = chat(parties, session, ask).await.into_parts();
            let input = match outcome {
                Ok(answer) => Input::AgentAnswered { id, answer },
                Err(failure) => input_of_failure(failure, |failure| Input::AgentFailed {
                    id,
                    class: Some(failure.class.into_owned()),
                    message: failure.message,
                }),
            };
            (input, events)
        }
        PartyQuestion::Simulator(id, request) => {
            let asked = parties.cassette.simulator(parties, &request, attempt_id).await;
            let (outcome, events) = asked.into_parts();
            let input = match outcome {
                Ok(text) => Input::SimulatorAnswered { id, text },
                Err(failure) => input_of_failure(failure, |failure| Input::SimulatorFailed {
                    id,
                    message: failure.message,
                }),
            };
            (input, events)
        }
        PartyQuestion::Judge(id, request) => {
            let asked = parties.cassette.judge(parties, &request, attempt_id).await;
            let (outcome, events) = asked.into_parts();
            let input = match outcome {
                Ok(text) => Input::JudgeAnswered { id, text },
                Err(failure) => input_of_failure(failure, |failure| Input::JudgeFailed {
                    id,
                    message: failure.message,
                }),
            };
            (input, events)
        }
        PartyQuestion::Check(id, command, conversation) => {
            let input = match parties.checks.run(&command, &conversation).await {
                Ok((passed, message)) => Input::CheckResult { id, passed, message },
                Err(failure) => Input::CheckFailed { id, message: failure.message },
            };
            (input, Vec::new())
        }
    }
}

/// The input for a failure: an error of the party, or an end of the attempt where the harness is at fault.
fn input_of_failure(failure: Failure, party: impl FnOnce(Failure) -> Input) -> Input {
    let harness = |status| (status, Some(Fault::Harness));
    let (status, fault) = match (&failure.verdict, failure.origin) {
        (Some(verdict), _) => verdict.clone(),
        (None, FailureOrigin::Party) => return party(failure),
        (None, FailureOrigin::Harness) => harness(Status::Errored),
        // The rest of the saved conversation is unknown.
        (None, FailureOrigin::Budget) => harness(Status::Inconclusive),
    };
    Input::PartyUnavailable { status, fault, message: failure.message }
}

async fn chat(
    parties: &Parties,
    session: &mut Option<Box<dyn Session>>,
    ask: AgentTurn<'_>,
) -> PartyAnswer<AgentAnswer> {
    let asking = async {
        if session.is_none() {
            match parties.agent.open(ask.attempt_id).await {
                Ok(opened) => *session = Some(opened),
                Err(failure) => return PartyAnswer::plain(Err(failure)),
            }
        }
        let began = Instant::now();
        let Some(session) = session else {
            return PartyAnswer::plain(Err(Failure::harness("no session with the agent")));
        };
        ask.reporter.begin();
        let asked = session.chat(ask).await;
        let outcome = asked.outcome.and_then(|mut answer| {
            answer.duration_ms.get_or_insert_with(|| began.elapsed().as_secs_f64() * 1000.0);
            ask.reporter.complete(&mut answer)?;
            Ok(answer)
        });
        PartyAnswer { outcome, ..asked }
    };
    parties.cassette.agent(&parties.settings, asking, ask).await
}

async fn call_tool(
    parties: &Parties,
    attempt_id: &AttemptId,
    id: RequestId,
    call: ToolCall,
) -> Input {
    match parties.cassette.tool(&*parties.tools, &call, attempt_id).await {
        Ok(outcome) => Input::ToolResult { id, outcome },
        Err(failure) => {
            input_of_failure(failure, |failure| Input::ToolFailed { id, message: failure.message })
        }
    }
}
