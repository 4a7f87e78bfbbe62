//! The conversation engine: one state machine that turns inputs into effects.
//!
//! It owns the transcript and everything that decides the verdict. It knows no clock, no model and no
//! agent: the driver carries out the effects and hands back inputs. Every question carries an id, and
//! only the answer with the id that is being waited for counts, so late and doubled answers are harmless.
//!
//! | waiting for | input | what follows |
//! |---|---|---|
//! | begin | `Begin` | first topic, first step; a pending example is finished at once |
//! | simulator | `SimulatorAnswered` | the message becomes a turn; an empty one is asked for again |
//! | simulator | `SimulatorFailed` | inconclusive, fault simulator |
//! | agent | `AgentReportedCall` | its events; the answer is still waited for, and tells of the call no more |
//! | agent | `AgentAnswered` | tools the host must call, else the turn is complete |
//! | agent | `AgentFailed`, a ninth round of tools | errored, fault agent |
//! | tools | `ToolResult` (all of them) | the agent is called again |
//! | tools | `ToolFailed` | errored, fault tool |
//! | judge | `JudgeAnswered` | topic, stop rule, turn limit or checks go on; more votes where they failed |
//! | judge | unusable too often, `JudgeFailed` | `JudgeError`; inconclusive, fault judge, if it decides |
//! | check | `CheckResult` | the next check |
//! | check | `CheckFailed` | no answer to it; errored, fault harness, if it decides |
//! | any | `DeadlineReached` | the simulation is out of time; the fault is that of the party that was waited for |
//! | any | `PartyUnavailable` | the status and the fault that are given |
//! | any | `TimedOut` | out of time; the fault is that of the party that was waited for |
//! | any | `Cancel` | cancelled |
//! | next | `Next` | a message, a simulation, checks or the end of an open-ended conversation |
//! | nothing | any | nothing: the verdict has been given |
//!
//! Between two inputs a queue of work is worked off until an answer must be waited for. A complete turn is
//! classified (current topic, successors, judge), checked, and in a simulation put to the stop rules in
//! their written order. A hard check that fails ends the conversation once all checks beside it are known; soft checks of the
//! step, the topic and the conversation that it cuts short are still made, because they are there to be recorded.
//!
//! What is known stays known: an assertion that has failed outweighs everything that goes wrong later, also within
//! one batch of checks. Soft checks never decide: where only they are open when time is up or a party cannot be asked,
//! they are left without an answer and the rest of the work is done, as far as it needs no answer.
//!
//! An open-ended conversation has no steps of its own. Where others come to their verdict, it pauses with one and waits
//! to be told how it goes on; see [`open_ended`](self::open_ended).

mod batch;
mod expiry;
mod judging;
mod open_ended;
mod pending_command;
mod protocol;
mod simulate;
#[cfg(test)]
mod tests;
mod topics;
mod turns;
mod verdict;
mod votes;

use std::collections::VecDeque;
use std::sync::Arc;

use proctor_events::{Body, Fault, MessageSource, SimulationEnded, Status, TerminationReason};

use self::batch::{Batch, Origin};
use self::judging::{AnsweredQuestions, PendingJudgeRequest};
use self::open_ended::OpenEndedState;
use self::pending_command::PendingCommand;
pub use self::protocol::{
    AgentAnswer, ConversationOutcome, Effect, FailedAssertion, Input, Message, Next, RequestId,
    Role, ToolOutcome,
};
use self::simulate::Simulation;
use crate::capabilities::AgentReports;
use crate::check::{PlannedCheck, plan};
use crate::format::Assertion;
use crate::judge::MarkKey;
use crate::live_calls::LiveCalls;
use crate::scenario::Example;
use crate::transcript::{DoneCall, Scope, ToolCall, Transcript};
use proctor_yaml::At;

/// How many rounds of tools a turn may have.
pub const MAX_TOOL_ROUNDS: u32 = 8;
/// How many turns a simulation may have when nothing says otherwise.
pub const DEFAULT_MAX_TURNS: u32 = 15;
/// How often an unusable judge answer is asked for again when nothing says otherwise.
pub const DEFAULT_JUDGE_RETRIES: u32 = 2;
/// How often an empty message of the simulator is asked for again.
pub const SIMULATOR_RETRIES: u32 = 2;

/// The state machine of one attempt at one example.
#[derive(Debug)]
pub struct Engine {
    example: Arc<Example>,
    waiting: WaitState,
    work: VecDeque<WorkItem>,
    transcript: Transcript,
    messages: Vec<Message>,
    simulation: Option<Simulation>,
    batch: Option<Batch>,
    failures: Vec<FailedAssertion>,
    attempt_error: Option<AttemptError>,
    /// How many checks were answered that could have failed the attempt.
    checks: u64,
    effects: Vec<Effect>,
    last_id: u64,
    marks: MarkKey,
    /// What the judge has answered about the turns so far.
    answered: Vec<AnsweredQuestions>,
    /// Rounds of tools in the current turn.
    tool_rounds: u32,
    /// Answers of the agent in the current turn.
    answers: u32,
    /// The calls that the agent has reported since it was asked.
    live_calls: LiveCalls,
    /// Whether the turn ends when the tools have answered.
    turn_ends: bool,
    /// Whether the agent has failed already: nothing further is demanded, but what is to be recorded still is.
    soft_only: bool,
    open_ended_state: Option<OpenEndedState>,
    /// What the judge has said so far about the topic of the last turn.
    topic_votes: Vec<String>,
    /// Why no party may be asked any more, while what is already known is still put together.
    expired: Option<Expiry>,
}

/// Who must answer before anything goes on.
#[derive(Debug)]
enum WaitState {
    Begin,
    Simulator { id: RequestId, tries: u32 },
    Agent { id: RequestId },
    Tools { open: Vec<(RequestId, ToolCall)>, done: Vec<DoneCall>, order: Vec<String> },
    Judge(Box<PendingJudgeRequest>),
    Command(PendingCommand),
    Next,
    Nothing,
}

/// What is to be done next.
#[derive(Debug)]
enum WorkItem {
    Step(usize),
    NextSimulated,
    User {
        text: String,
        source: MessageSource,
        metadata: Option<serde_json::Value>,
    },
    CallAgent,
    Classify,
    /// Turn checks of step `usize`.
    CheckStep(usize),
    CheckEveryTurn,
    CheckTopic(String),
    CheckExample,
    /// Checks that were asked for one by one.
    CheckNow(Vec<PlannedCheck>, Scope),
    /// Triggers, from this candidate and this trigger on.
    Triggers(usize, usize),
    StopRules(usize),
    EndSimulation(TerminationReason),
    ContinueBatch,
    Conclude,
}

/// Why the attempt cannot come to a verdict about the agent.
#[derive(Debug, Clone)]
struct AttemptError {
    status: Status,
    fault: Option<Fault>,
    message: String,
}

/// Time is up, or the conversation is not wanted any more.
#[derive(Debug, Clone)]
struct Expiry {
    attempt_error: AttemptError,
    reason: TerminationReason,
    /// Whether it is only the simulation that has no time left.
    simulation: bool,
}

impl Engine {
    /// An engine for one attempt at an example.
    pub fn new(example: Arc<Example>) -> Self {
        let transcript = Transcript { row: example.row.clone(), ..Transcript::default() };
        Self {
            example,
            waiting: WaitState::Begin,
            work: VecDeque::new(),
            transcript,
            messages: Vec::new(),
            simulation: None,
            batch: None,
            failures: Vec::new(),
            attempt_error: None,
            checks: 0,
            effects: Vec::new(),
            last_id: 0,
            marks: MarkKey::default(),
            answered: Vec::new(),
            tool_rounds: 0,
            answers: 0,
            live_calls: LiveCalls::default(),
            turn_ends: false,
            soft_only: false,
            open_ended_state: None,
            topic_votes: Vec::new(),
            expired: None,
        }
    }

    /// The same with answers from a recording or a cassette, in which secrets are masked: what a mask may hide is not decided.
    #[must_use]
    pub fn with_stored_answers(mut self) -> Self {
        self.transcript.is_stored = true;
        self
    }

    /// The same with what its agent can report; without this, everything is taken as reported.
    #[must_use]
    pub fn with_reports(mut self, reports: Arc<AgentReports>) -> Self {
        self.transcript.reports = reports;
        self
    }

    /// The conversation so far.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// Whether the verdict has been given.
    pub fn is_finished(&self) -> bool {
        matches!(self.waiting, WaitState::Nothing)
    }

    /// Takes one input and returns the effects. An input that is not waited for does nothing.
    pub fn step(&mut self, input: Input) -> Vec<Effect> {
        if !self.is_finished() {
            self.handle_input(input);
        }
        std::mem::take(&mut self.effects)
    }

    fn handle_input(&mut self, input: Input) {
        match input {
            Input::Begin { marks } => self.begin_conversation(marks),
            Input::SimulatorAnswered { id, text } => self.simulator_answered(id, &text),
            Input::SimulatorFailed { id, message } => self.simulator_failed(id, &message),
            Input::AgentAnswered { id, answer } => self.agent_answered(id, answer),
            Input::AgentReportedCall { id, report } => self.agent_reported_call(id, report),
            Input::AgentFailed { id, class, message } => self.agent_failed(id, class, message),
            Input::ToolResult { id, outcome } => self.tool_result(id, outcome),
            Input::ToolFailed { id, message } => self.tool_failed(id, &message),
            Input::JudgeAnswered { id, text } => self.judge_answered(id, &text),
            Input::JudgeFailed { id, message } => self.judge_failed(id, &message),
            Input::CheckResult { id, passed, message } => self.check_result(id, passed, message),
            Input::CheckFailed { id, message } => self.check_failed(id, &message),
            Input::DeadlineReached { id } => self.deadline_reached(id),
            Input::PartyUnavailable { status, fault, message } => {
                self.party_unavailable(status, fault, message);
            }
            Input::TimedOut => self.timed_out(),
            Input::Next(next) => self.next(next),
            Input::Cancel => self.cancelled(),
        }
    }

    fn begin_conversation(&mut self, marks: MarkKey) {
        if !matches!(self.waiting, WaitState::Begin) {
            return;
        }
        self.marks = marks;
        if let Some(reason) = self.example.pending.clone() {
            self.finish(ConversationOutcome::pending(reason));
            return;
        }
        self.enter_first_topic();
        if self.open_ended_state.is_none() {
            self.work.push_back(WorkItem::Step(0));
        }
        self.run_queued_work();
    }

    /// Works until an answer must be waited for; the state says which.
    fn run_queued_work(&mut self) {
        self.waiting = WaitState::Begin;
        while matches!(self.waiting, WaitState::Begin) {
            match self.work.pop_front() {
                Some(work) => self.run_work_item(work),
                None => self.conclude(),
            }
        }
    }

    fn run_work_item(&mut self, work: WorkItem) {
        match work {
            WorkItem::Step(index) => self.start_step(index),
            WorkItem::NextSimulated => self.next_simulated(),
            WorkItem::User { text, source, metadata } => {
                self.add_user_message(text, source, metadata);
            }
            WorkItem::CallAgent => self.call_agent(),
            WorkItem::Classify => self.classify(),
            WorkItem::CheckStep(index) => self.check_step(index),
            WorkItem::CheckEveryTurn => self.check_every_turn(),
            WorkItem::CheckTopic(topic) => self.check_topic(topic),
            WorkItem::CheckExample => self.check_example(),
            WorkItem::CheckNow(checks, scope) => self.start_batch(checks, scope, Origin::Example),
            WorkItem::Triggers(candidate, trigger) => self.triggers_from(candidate, trigger),
            WorkItem::StopRules(index) => self.stop_rules(index),
            WorkItem::EndSimulation(reason) => self.end_simulation(reason),
            WorkItem::ContinueBatch => self.continue_batch(),
            WorkItem::Conclude => self.conclude(),
        }
    }

    /// Puts work before everything that is already planned, in the given order.
    fn queue_first<const N: usize>(&mut self, work: [WorkItem; N]) {
        for item in work.into_iter().rev() {
            self.work.push_front(item);
        }
    }

    fn start_step(&mut self, index: usize) {
        let example = Arc::clone(&self.example);
        let Some(step) = example.steps.get(index).filter(|_| self.failures.is_empty()) else {
            self.queue_final_checks();
            return;
        };
        match (&step.user, &step.simulate) {
            (Some(text), _) => {
                let (text, metadata) = (text.clone(), step.metadata.clone());
                let source = MessageSource::Script;
                self.queue_first([
                    WorkItem::User { text, source, metadata },
                    WorkItem::CheckStep(index),
                    WorkItem::Step(index + 1),
                ]);
            }
            (None, Some(simulate)) => {
                self.start_simulation(simulate);
                self.queue_first([
                    WorkItem::NextSimulated,
                    WorkItem::CheckStep(index),
                    WorkItem::Step(index + 1),
                ]);
            }
            (None, None) => self.queue_first([WorkItem::Step(index + 1)]),
        }
    }

    /// The last topic is left, then the whole conversation is looked at.
    fn queue_final_checks(&mut self) {
        self.work.clear();
        if let Some(topic) = self.transcript.topic().map(str::to_owned) {
            self.work.push_back(WorkItem::CheckTopic(topic));
        }
        self.work.push_back(WorkItem::CheckExample);
        self.work.push_back(WorkItem::Conclude);
    }

    fn planned_checks(
        &self,
        expect: &[At<Assertion>],
        evaluate: &[At<Assertion>],
    ) -> Vec<PlannedCheck> {
        let expect = if self.soft_only { &[] } else { expect };
        plan(expect, evaluate, &self.example.criteria, self.transcript.goal.as_deref())
    }

    fn check_step(&mut self, index: usize) {
        let example = Arc::clone(&self.example);
        let Some(step) = example.steps.get(index) else { return };
        let scope = match (&step.user, self.transcript.turns.last()) {
            (Some(_), Some(turn)) => Scope::Turn(turn.number),
            _ => Scope::Conversation,
        };
        let checks = self.planned_checks(&step.expect, &step.evaluate);
        self.start_batch(checks, scope, Origin::Example);
    }

    fn check_example(&mut self) {
        let example = Arc::clone(&self.example);
        let checks = self.planned_checks(&example.expect, &example.evaluate);
        self.start_batch(checks, Scope::Conversation, Origin::Example);
    }

    fn check_topic(&mut self, topic: String) {
        let example = Arc::clone(&self.example);
        let Some(declared) = example.topics.get(&topic) else { return };
        if self.transcript.turns_in(&topic).is_empty() {
            return;
        }
        let checks = self.planned_checks(&declared.expect, &declared.evaluate);
        self.topic_is_checked(&topic);
        self.start_batch(checks, Scope::Topic(topic.clone()), Origin::Topic(topic));
    }

    fn next_id(&mut self) -> RequestId {
        self.last_id += 1;
        RequestId(self.last_id)
    }

    fn emit(&mut self, body: impl Into<Body>) {
        self.effects.push(Effect::Emit(body.into()));
    }

    fn turn_number(&self) -> u32 {
        self.transcript.turns.last().map_or(0, |turn| turn.number)
    }

    fn end_simulation(&mut self, reason: TerminationReason) {
        if let Some(simulation) = self.simulation.take() {
            let turn_count = simulation.turns_taken;
            self.emit(SimulationEnded { turn_count, termination_reason: reason });
            // Its time limit ends with it.
            self.expired = self.expired.take().filter(|expired| !expired.simulation);
            if let Some(id) = simulation.deadline {
                self.effects.push(Effect::ClearDeadline { id });
            }
        }
    }

    /// Gives up on the attempt.
    fn abort_attempt(
        &mut self,
        status: Status,
        fault: Option<Fault>,
        message: String,
        reason: TerminationReason,
    ) {
        self.end_simulation(reason);
        self.attempt_error.get_or_insert(AttemptError { status, fault, message });
        self.conclude();
    }
}
