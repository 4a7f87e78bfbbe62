//! Batches: all checks of one place, decided together and recorded in written order.
//!
//! Judged checks share one request. With `votes`, a check that the first vote fails gets further votes
//! until a majority is sure; one that holds at once costs one vote.

use std::collections::{BTreeMap, VecDeque};

use proctor_events::{
    EvaluationMode, EvaluationRecorded, Fault, InvariantEvaluated, Json, Status, TerminationReason,
};
use serde_json::json;

use super::judging::Purpose;
use super::outside::OutsideFor;
use super::{Engine, Trouble, VerdictFailure, Work};
use crate::check::{Demand, Planned, decide, describe, evaluation_type, invariant_type};
use crate::format::Assertion;
use crate::judge::ItemAnswer;
use crate::transcript::Scope;

/// Where checks come from, and so which event records them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    Example,
    Topic(String),
}

/// Checks that are being made.
#[derive(Debug)]
pub(super) struct Batch {
    checks: Vec<Planned>,
    scope: Scope,
    origin: Origin,
    outcomes: BTreeMap<usize, Outcome>,
    votes: BTreeMap<usize, Votes>,
}

/// What came of a check, its negation taken into account.
#[derive(Debug, Clone, Default)]
struct Outcome {
    passed: Option<bool>,
    actual: String,
    reasoning: Option<String>,
    score: Option<f64>,
    votes: Option<(u32, u32)>,
    fault: Option<Fault>,
}

#[derive(Debug, Default)]
struct Votes {
    passed: Vec<ItemAnswer>,
    failed: Vec<ItemAnswer>,
}

impl Votes {
    /// Whether further votes cannot change the outcome, or none are left.
    fn settled(&self, votes: u32) -> bool {
        let (passed, failed) = (self.passed.len(), self.failed.len());
        let all = votes as usize;
        failed == 0 || passed > all / 2 || failed > all / 2 || passed + failed >= all
    }

    fn outcome(&self) -> Outcome {
        let passed = self.passed.len() > self.failed.len();
        let side = if passed { &self.passed } else { &self.failed };
        let last = side.last();
        let reasoning = last.map(|answer| answer.reasoning.clone());
        let count = |answers: &[ItemAnswer]| u32::try_from(answers.len()).unwrap_or(u32::MAX);
        Outcome {
            passed: Some(passed),
            actual: format!("the judge says: {}", reasoning.as_deref().unwrap_or_default()),
            reasoning,
            score: last.and_then(|answer| answer.score),
            votes: Some((count(&self.passed), count(&self.failed))),
            fault: None,
        }
    }
}

impl Engine {
    pub(super) fn start_batch(&mut self, checks: Vec<Planned>, scope: Scope, origin: Origin) {
        if checks.is_empty() {
            return;
        }
        let mut outcomes = BTreeMap::new();
        for (index, check) in checks.iter().enumerate() {
            if check.demand == Demand::Here {
                outcomes.insert(index, self.decided(check, &scope));
            }
        }
        let votes = BTreeMap::new();
        self.batch = Some(Batch { checks, scope, origin, outcomes, votes });
        self.continue_batch();
    }

    fn decided(&self, check: &Planned, scope: &Scope) -> Outcome {
        match decide(&check.assertion, scope, &self.transcript) {
            Ok(decision) => Outcome {
                passed: Some(decision.holds != check.negated),
                actual: decision.actual,
                ..Outcome::default()
            },
            Err(reason) => {
                Outcome { actual: reason, fault: Some(Fault::Harness), ..Outcome::default() }
            }
        }
    }

    /// Judged checks first, all in one request; then commands, one by one; then the record.
    pub(super) fn continue_batch(&mut self) {
        let Some(batch) = &self.batch else { return };
        let votes = self.example.cast.judge.votes.as_ref().map_or(1, |votes| votes.value.max(1));
        let mut indices = Vec::new();
        let mut questions = Vec::new();
        let mut command = None;
        for (index, check) in batch.checks.iter().enumerate() {
            if batch.outcomes.contains_key(&index) {
                continue;
            }
            match &check.demand {
                Demand::Judge(question) => {
                    let cast = batch.votes.get(&index);
                    if !cast.is_some_and(|cast| cast.settled(votes)) {
                        indices.push(index);
                        questions.push(question.clone());
                    }
                }
                Demand::Command(words) if command.is_none() => {
                    command = Some((index, words.clone()));
                }
                _ => {}
            }
        }
        if !questions.is_empty() {
            let turns = batch.scope.turns(&self.transcript);
            let focus = turns.iter().map(|turn| turn.number).collect();
            self.ask_judge(questions, focus, Purpose::Checks(indices));
        } else if let Some((index, command)) = command {
            let turn = batch.scope.turn_number();
            self.ask_outside(command, turn, OutsideFor::Check(index));
        } else {
            self.record_batch();
        }
    }

    pub(super) fn count_votes(&mut self, indices: &[usize], answers: Vec<ItemAnswer>) {
        let Some(batch) = &mut self.batch else { return };
        for (index, answer) in indices.iter().zip(answers) {
            let negated = batch.checks.get(*index).is_some_and(|check| check.negated);
            let votes = batch.votes.entry(*index).or_default();
            if answer.satisfied == negated {
                votes.failed.push(answer);
            } else {
                votes.passed.push(answer);
            }
        }
        self.do_first([Work::ContinueBatch]);
    }

    pub(super) fn no_verdict_for(&mut self, indices: &[usize], reason: &str) {
        let Some(batch) = &mut self.batch else { return };
        for index in indices {
            let actual = format!("the judge could not say: {reason}");
            let fault = Some(Fault::Judge);
            batch.outcomes.insert(*index, Outcome { actual, fault, ..Outcome::default() });
        }
    }

    /// A command or a block has looked at the check with this index.
    pub(super) fn check_answered(&mut self, index: usize, passed: bool, message: Option<String>) {
        let Some(batch) = &mut self.batch else { return };
        let Some(check) = batch.checks.get(index) else { return };
        let actual = match (&check.assertion, message) {
            (Assertion::Block(_), Some(found)) => found,
            (Assertion::Block(_), None) => format!("it gave {passed}"),
            (_, said) => format!(
                "the command {}: {}",
                if passed { "agreed" } else { "disagreed" },
                said.unwrap_or_else(|| "it said nothing".into())
            ),
        };
        let outcome =
            Outcome { passed: Some(passed != check.negated), actual, ..Outcome::default() };
        batch.outcomes.insert(index, outcome);
        self.do_first([Work::ContinueBatch]);
    }

    fn record_batch(&mut self) {
        let Some(mut batch) = self.batch.take() else { return };
        let label = batch.scope.label(&self.transcript);
        for (index, votes) in &batch.votes {
            batch.outcomes.entry(*index).or_insert_with(|| votes.outcome());
        }
        for (index, check) in batch.checks.iter().enumerate() {
            let outcome = batch.outcomes.remove(&index).unwrap_or_default();
            let message =
                format!("{label}: expected to {}, but {}", describe(check), outcome.actual);
            self.record(check, &outcome, &batch, &message);
            if check.mode == EvaluationMode::Hard {
                self.weigh(&outcome, batch.scope.turn_number(), message);
            }
        }
        if !self.failures.is_empty() || self.trouble.is_some() {
            self.stop_after_checks();
        }
    }

    /// No further turn is taken. Checks of the whole conversation are made only if it was over anyway; of those that
    /// are cut short, the soft ones are still made when the agent was seen to fail.
    fn stop_after_checks(&mut self) {
        let only_checks_left = self.work.iter().all(|work| {
            matches!(
                work,
                Work::CheckExample | Work::CheckTopic(_) | Work::EndSimulation(_) | Work::Conclude
            )
        });
        if self.soft_only || only_checks_left {
            return;
        }
        let cut_short = std::mem::take(&mut self.work);
        if !self.failures.is_empty() && self.open_end.is_none() {
            self.record_what_is_left(cut_short);
        }
        self.work.push_back(Work::Conclude);
    }

    /// The soft checks of the turn, the step, the topic and the conversation that were still to come.
    fn record_what_is_left(&mut self, cut_short: VecDeque<Work>) {
        self.soft_only = true;
        let mut step = None;
        for work in cut_short {
            match work {
                Work::CheckEveryTurn => self.work.push_back(work),
                Work::CheckStep(_) if step.is_none() => step = Some(work),
                _ => {}
            }
        }
        self.work.push_back(Work::EndSimulation(TerminationReason::StopCondition));
        self.work.extend(step);
        if let Some(topic) = self.transcript.topic().map(str::to_owned) {
            self.work.push_back(Work::CheckTopic(topic));
        }
        self.work.push_back(Work::CheckExample);
    }

    fn weigh(&mut self, outcome: &Outcome, turn: Option<u32>, message: String) {
        match (outcome.passed, &outcome.fault) {
            (Some(true), _) => {}
            (Some(false), _) => self.failures.push(VerdictFailure { turn, message }),
            (None, Some(Fault::Judge)) => {
                let (status, fault) = (Status::Inconclusive, Some(Fault::Judge));
                self.trouble.get_or_insert(Trouble { status, fault, message });
            }
            (None, _) => {
                let (status, fault) = (Status::Errored, Some(Fault::Harness));
                self.trouble.get_or_insert(Trouble { status, fault, message });
            }
        }
    }

    fn record(&mut self, check: &Planned, outcome: &Outcome, batch: &Batch, message: &str) {
        let failure_message = (outcome.passed != Some(true)).then(|| message.to_owned());
        let description = Some(describe(check));
        // An invariant's event can only say yes or no; where nobody knows, the other event says so.
        if let Origin::Topic(topic) = &batch.origin
            && let Some(passed) = outcome.passed
        {
            self.emit(InvariantEvaluated {
                topic: Some(topic.clone()),
                invariant_type: Some(invariant_type(&check.assertion)),
                description,
                passed,
                message: failure_message.or_else(|| outcome.reasoning.clone()),
                mode: Some(check.mode.clone()),
            });
            return;
        }
        let metadata = outcome.votes.filter(|(passed, failed)| passed + failed > 1).map(|votes| {
            let (passed, failed) = votes;
            let agreement = f64::from(passed.max(failed)) / f64::from(passed + failed);
            Json::from(
                json!({"votes": {"passed": passed, "failed": failed}, "agreement": agreement}),
            )
        });
        self.emit(EvaluationRecorded {
            turn_number: batch.scope.turn_number(),
            mode: check.mode.clone(),
            evaluation_type: Some(evaluation_type(&check.assertion).into()),
            name: check.name.clone(),
            description,
            passed: outcome.passed,
            score: outcome.score,
            reasoning: outcome.reasoning.clone(),
            failure_message,
            metadata,
        });
    }
}
