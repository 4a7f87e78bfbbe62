//! Simulations: a model plays the user until a stop rule, the turn limit or the clock ends it.

use std::num::NonZeroU32;

use proctor_events::{
    EvaluationMode, EvaluationRecorded, Fault, MessageSource, SimulationStarted, Status,
    TerminationReason,
};

use super::batch::Origin;
use super::judging::JudgePurpose;
use super::pending_command::CommandPurpose;
use super::votes::{VoteResult, Votes, votes_as_json};
use super::{
    DEFAULT_MAX_TURNS, Effect, Engine, FailedAssertion, RequestId, SIMULATOR_RETRIES, WaitState,
    WorkItem,
};
use crate::check::{CheckError, calls_tool, text_matches};
use crate::expression::evaluate;
use crate::format::{EveryTurn, OnMaxTurns, Simulate, Simulator, StopWhen};
use crate::judge::{ItemAnswer, JudgeQuestion};
use crate::simulated_user::{clean_simulator_answer, simulator_request};
use crate::transcript::Scope;

/// A simulation that is under way.
#[derive(Debug)]
pub(super) struct Simulation {
    pub(super) user: Simulator,
    pub(super) goal: String,
    pub(super) turns_taken: u32,
    pub(super) deadline: Option<RequestId>,
    pub(super) timeout_text: String,
    max_turns: u32,
    min_turns: u32,
    on_max_turns: OnMaxTurns,
    every_turn: EveryTurn,
    stop_when: Vec<StopWhen>,
    /// What the judge said about the goal in this turn, if it was asked.
    goal_answer: Option<VoteResult>,
    goal_votes: Votes,
}

impl Engine {
    pub(super) fn start_simulation(&mut self, simulate: &Simulate) {
        let user = simulate.user_within(&self.example.simulator);
        let max_turns = user.max_turns.map_or(DEFAULT_MAX_TURNS, NonZeroU32::get);
        self.emit(SimulationStarted {
            goal: Some(simulate.goal.clone()),
            max_turns: Some(max_turns),
        });
        let deadline = simulate.timeout.map(|timeout| {
            let id = self.next_id();
            self.effects.push(Effect::SetDeadline { id, after: timeout.0 });
            id
        });
        self.transcript.goal = Some(simulate.goal.clone());
        self.simulation = Some(Simulation {
            goal: simulate.goal.clone(),
            turns_taken: 0,
            deadline,
            timeout_text: simulate.timeout.map(|span| format!("{:?}", span.0)).unwrap_or_default(),
            max_turns,
            min_turns: simulate.min_turns,
            on_max_turns: simulate.on_max_turns,
            every_turn: simulate.every_turn.clone(),
            stop_when: user.stop_when.clone().unwrap_or_else(|| vec![StopWhen::GoalReached]),
            goal_answer: None,
            goal_votes: Votes::default(),
            user,
        });
    }

    pub(super) fn next_simulated(&mut self) {
        let Some(simulation) = &mut self.simulation else { return };
        if simulation.turns_taken >= simulation.max_turns {
            return self.limit_reached();
        }
        simulation.goal_answer = None;
        self.ask_simulator(0);
    }

    fn ask_simulator(&mut self, tries: u32) {
        if self.has_expired() {
            return;
        }
        let Some(simulation) = &self.simulation else { return };
        let request = simulator_request(&simulation.user, &simulation.goal, &self.transcript);
        let id = self.next_id();
        self.effects.push(Effect::AskSimulator { id, request });
        self.waiting = WaitState::Simulator { id, tries };
    }

    pub(super) fn simulator_answered(&mut self, id: RequestId, text: &str) {
        let tries = match &self.waiting {
            WaitState::Simulator { id: wanted, tries } if *wanted == id => *tries,
            _ => return,
        };
        match clean_simulator_answer(text) {
            Some(text) => {
                let source = MessageSource::Simulator;
                self.queue_first([
                    WorkItem::User { text, source, metadata: None },
                    WorkItem::CheckEveryTurn,
                    WorkItem::StopRules(0),
                ]);
                self.run_queued_work();
            }
            None if tries < SIMULATOR_RETRIES => self.ask_simulator(tries + 1),
            None => self.end_with_simulator_error("it gave no message"),
        }
    }

    pub(super) fn simulator_failed(&mut self, id: RequestId, message: &str) {
        if matches!(&self.waiting, WaitState::Simulator { id: wanted, .. } if *wanted == id) {
            self.end_with_simulator_error(message);
        }
    }

    fn end_with_simulator_error(&mut self, message: &str) {
        let text = format!("turn {}: the simulator failed: {message}", self.turn_number() + 1);
        let fault = Some(Fault::Simulator);
        self.abort_attempt(Status::Inconclusive, fault, text, TerminationReason::Error);
    }

    pub(super) fn check_every_turn(&mut self) {
        let Some(simulation) = &self.simulation else { return };
        let every = simulation.every_turn.clone();
        let checks = self.planned_checks(&every.expect, &every.evaluate);
        let scope = Scope::Turn(self.turn_number());
        self.start_batch(checks, scope, Origin::Example);
    }

    /// The stop rules from this one on, in their written order.
    pub(super) fn stop_rules(&mut self, from: usize) {
        let Some(simulation) = &self.simulation else { return };
        if simulation.turns_taken >= simulation.min_turns {
            for (index, rule) in simulation.stop_when.iter().enumerate().skip(from) {
                if *rule == StopWhen::GoalReached {
                    return self.ask_for_goal(JudgePurpose::Stop(index));
                }
                if let StopWhen::Block(block) = rule {
                    let command = block.command();
                    let conversation = self.transcript.to_value(None);
                    return self.run_command(command, conversation, CommandPurpose::Stop(index));
                }
                match self.stop_rule_holds(rule) {
                    Ok(true) => return self.leave_simulation(TerminationReason::StopCondition),
                    Ok(false) => {}
                    Err(error) => return self.end_with_expression_error(&error),
                }
            }
        }
        self.queue_first([WorkItem::NextSimulated]);
    }

    fn stop_rule_holds(&self, rule: &StopWhen) -> Result<bool, CheckError> {
        let Some(turn) = self.transcript.turns.last() else { return Ok(false) };
        Ok(match rule {
            StopWhen::GoalReached | StopWhen::Block(_) => false,
            StopWhen::Response(pattern) => text_matches(pattern, &turn.agent, &self.transcript)?,
            StopWhen::User(pattern) => text_matches(pattern, &turn.user, &self.transcript)?,
            StopWhen::CallTool(tool) => calls_tool(tool, turn, &self.transcript)?,
            StopWhen::Topic(topic) => self.transcript.topic() == Some(topic.value.as_str()),
            StopWhen::Condition(expression) => {
                evaluate(expression, &self.transcript, &Scope::Conversation)?
            }
        })
    }

    fn ask_for_goal(&mut self, purpose: JudgePurpose) {
        let Some(simulation) = &self.simulation else { return };
        let question = JudgeQuestion::Goal(simulation.goal.clone());
        let focus = self.transcript.turns.iter().map(|turn| turn.number).collect();
        self.ask_judge(vec![question], focus, purpose);
    }

    /// The judge has given one vote on the goal.
    pub(super) fn goal_judged(&mut self, answer: ItemAnswer, purpose: &JudgePurpose) {
        let votes = self.votes();
        let Some(simulation) = &mut self.simulation else { return };
        simulation.goal_votes.add_vote(answer.satisfied, answer);
        if !simulation.goal_votes.settled(votes) {
            return self.ask_for_goal(purpose.clone());
        }
        let Some(voted) = std::mem::take(&mut simulation.goal_votes).outcome() else { return };
        match purpose {
            JudgePurpose::Stop(index) => self.goal_at_rule(voted, *index),
            _ => self.goal_at_limit(&voted),
        }
    }

    /// The judge was asked for the goal by the stop rule with this index.
    fn goal_at_rule(&mut self, voted: VoteResult, index: usize) {
        if voted.passed {
            self.record_goal(&voted);
            self.leave_simulation(TerminationReason::GoalReached);
            return;
        }
        if let Some(simulation) = &mut self.simulation {
            simulation.goal_answer = Some(voted);
        }
        self.queue_first([WorkItem::StopRules(index + 1)]);
    }

    /// The turn limit is reached. It is a failure only if the judge finds the goal not reached.
    fn limit_reached(&mut self) {
        let Some(simulation) = &mut self.simulation else { return };
        if simulation.on_max_turns == OnMaxTurns::Fine {
            return self.leave_simulation(TerminationReason::MaxTurns);
        }
        match simulation.goal_answer.take() {
            Some(voted) => self.goal_at_limit(&voted),
            None => self.ask_for_goal(JudgePurpose::Limit),
        }
    }

    fn goal_at_limit(&mut self, voted: &VoteResult) {
        self.record_goal(voted);
        if voted.passed {
            return self.leave_simulation(TerminationReason::GoalReached);
        }
        if let Some(simulation) = &self.simulation {
            let message = not_reached(&simulation.goal, simulation.max_turns, &voted.answer);
            let turn = Some(self.turn_number());
            self.failures.push(FailedAssertion { turn, message, line: None });
        }
        self.leave_simulation(TerminationReason::MaxTurns);
    }

    fn record_goal(&mut self, voted: &VoteResult) {
        let Some(simulation) = &self.simulation else { return };
        // Where the turns may run out without harm, the goal ends the simulation and cannot fail it.
        self.checks += u64::from(simulation.on_max_turns != OnMaxTurns::Fine);
        let answer = &voted.answer;
        let failure_message =
            (!voted.passed).then(|| not_reached(&simulation.goal, simulation.max_turns, answer));
        let description = Some(format!("reach the goal {:?}", simulation.goal));
        self.emit(EvaluationRecorded {
            turn_number: None,
            mode: EvaluationMode::Hard,
            evaluation_type: Some("goal_achievement".into()),
            description,
            passed: Some(voted.passed),
            score: answer.score,
            reasoning: Some(answer.reasoning.clone()),
            failure_message,
            metadata: votes_as_json(voted.counts),
            ..Default::default()
        });
    }
}

fn not_reached(goal: &str, max_turns: u32, answer: &ItemAnswer) -> String {
    format!(
        "the simulation: expected the goal {goal:?} to be reached within {max_turns} turns, but the judge says: {}",
        answer.reasoning
    )
}
