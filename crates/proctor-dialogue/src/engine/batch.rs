//! Batches: all checks of one place, decided together and recorded in written order.
//!
//! Judged checks share one request. With `votes`, a check that the first vote fails gets further ones; see
//! [`votes`](super::votes).

use std::collections::{BTreeMap, VecDeque};

use proctor_events::{
    EvaluationMode, EvaluationRecorded, Fault, InvariantEvaluated, Status, TerminationReason,
};

use super::judging::JudgePurpose;
use super::pending_command::CommandPurpose;
use super::votes::{VoteResult, Votes, votes_as_json};
use super::{AttemptError, Engine, FailedAssertion, WaitState, WorkItem};
use crate::check::{
    DecidedBy, PlannedCheck, decide, describe, evaluation_type, invariant_type, unreported,
};
use crate::format::Assertion;
use crate::judge::ItemAnswer;
use crate::transcript::Scope;

/// Where checks come from, and so which event records them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    Example,
    Topic(String),
}

/// The checks in progress.
#[derive(Debug)]
pub(super) struct Batch {
    checks: Vec<PlannedCheck>,
    scope: Scope,
    origin: Origin,
    outcomes: BTreeMap<usize, CheckOutcome>,
    votes: BTreeMap<usize, Votes>,
}

/// What came of a check, its negation taken into account.
#[derive(Debug, Clone, Default)]
struct CheckOutcome {
    passed: Option<bool>,
    actual: String,
    reasoning: Option<String>,
    score: Option<f64>,
    votes: Option<(u32, u32)>,
    /// What becomes of the attempt if this was to decide and has no answer; an error of the harness when absent.
    unanswered: Option<(Status, Option<Fault>)>,
}

impl CheckOutcome {
    /// No answer, for this reason.
    fn unanswered(actual: String, status: Status, fault: Option<Fault>) -> Self {
        Self { actual, unanswered: Some((status, fault)), ..Self::default() }
    }

    /// A check that cannot be decided, for this reason.
    fn undecided(reason: String) -> Self {
        Self::unanswered(reason, Status::Errored, Some(Fault::Harness))
    }
}

impl From<VoteResult> for CheckOutcome {
    fn from(voted: VoteResult) -> Self {
        let reasoning = Some(voted.answer.reasoning);
        Self {
            passed: Some(voted.passed),
            actual: format!("the judge says: {}", reasoning.as_deref().unwrap_or_default()),
            reasoning,
            score: voted.answer.score,
            votes: Some(voted.counts),
            unanswered: None,
        }
    }
}

impl Engine {
    pub(super) fn start_batch(&mut self, checks: Vec<PlannedCheck>, scope: Scope, origin: Origin) {
        if checks.is_empty() {
            return;
        }
        let mut outcomes = BTreeMap::new();
        for (index, check) in checks.iter().enumerate() {
            if check.decided_by == DecidedBy::Here {
                outcomes.insert(index, self.decide_check(check, &scope));
            } else if let Some(reason) = unreported(&check.assertion, &scope, &self.transcript) {
                outcomes.insert(index, CheckOutcome::undecided(reason));
            }
        }
        let votes = BTreeMap::new();
        self.batch = Some(Batch { checks, scope, origin, outcomes, votes });
        self.continue_batch();
    }

    fn decide_check(&self, check: &PlannedCheck, scope: &Scope) -> CheckOutcome {
        match decide(&check.assertion, scope, &self.transcript) {
            Ok(decision) => CheckOutcome {
                passed: Some(decision.holds != check.negated),
                actual: decision.actual,
                ..CheckOutcome::default()
            },
            Err(error) => CheckOutcome::undecided(error.to_string()),
        }
    }

    /// Judged checks first, all in one request; then commands, one by one; then the record.
    pub(super) fn continue_batch(&mut self) {
        let Some(batch) = &self.batch else { return };
        let votes = self.votes();
        let mut indices = Vec::new();
        let mut questions = Vec::new();
        let mut command = None;
        for (index, check) in batch.checks.iter().enumerate() {
            if batch.outcomes.contains_key(&index) {
                continue;
            }
            match &check.decided_by {
                DecidedBy::Judge(question) => {
                    let counted = batch.votes.get(&index);
                    if !counted.is_some_and(|counted| counted.settled(votes)) {
                        indices.push(index);
                        questions.push(question.clone());
                    }
                }
                DecidedBy::Command(words) if command.is_none() => {
                    command = Some((index, words.clone()));
                }
                _ => {}
            }
        }
        if !questions.is_empty() {
            let turns = batch.scope.turns(&self.transcript);
            let focus = turns.iter().map(|turn| turn.number).collect();
            self.ask_judge(questions, focus, JudgePurpose::Checks(indices));
        } else if let Some((index, command)) = command {
            let conversation = self.transcript.visible_in(&batch.scope);
            self.run_command(command, conversation, CommandPurpose::Check(index));
        } else {
            self.record_batch();
        }
    }

    pub(super) fn count_votes(&mut self, indices: &[usize], answers: Vec<ItemAnswer>) {
        let Some(batch) = &mut self.batch else { return };
        for (index, answer) in indices.iter().zip(answers) {
            let negated = batch.checks.get(*index).is_some_and(|check| check.negated);
            let passed = answer.satisfied != negated;
            batch.votes.entry(*index).or_default().add_vote(passed, answer);
        }
        self.queue_first([WorkItem::ContinueBatch]);
    }

    pub(super) fn mark_judge_failed(&mut self, indices: &[usize], reason: &str) {
        let Some(batch) = &mut self.batch else { return };
        for index in indices {
            let actual = format!("the judge gave no verdict: {reason}");
            let fault = Some(Fault::Judge);
            let outcome = CheckOutcome::unanswered(actual, Status::Inconclusive, fault);
            batch.outcomes.insert(*index, outcome);
        }
    }

    /// The command or block of a check could not be run.
    pub(super) fn check_not_run(&mut self, index: usize, reason: &str) {
        let Some(batch) = &mut self.batch else { return };
        let actual = format!("the check could not be run: {reason}");
        let outcome = CheckOutcome::unanswered(actual, Status::Errored, Some(Fault::Harness));
        batch.outcomes.insert(index, outcome);
        self.queue_first([WorkItem::ContinueBatch]);
    }

    /// Whether the checks that are being made are those of a topic.
    pub(super) fn is_about_a_topic(&self) -> bool {
        self.batch.as_ref().is_some_and(|batch| matches!(batch.scope, Scope::Topic(_)))
    }

    /// Whether checks wait for a judge or a command.
    pub(super) fn is_waiting_for_checks(&self) -> bool {
        let waiting = match &self.waiting {
            WaitState::Judge(pending_request) => pending_request.is_about_checks(),
            WaitState::Command(pending) => pending.is_about_a_check(),
            _ => false,
        };
        waiting && self.batch.is_some()
    }

    /// The checks that wait for a judge or a command get no answer; the others of the batch go on.
    pub(super) fn mark_waiting_checks_unanswered(&mut self, attempt_error: &AttemptError) {
        let asked: Vec<usize> = match &self.waiting {
            WaitState::Judge(pending_request) => pending_request.checks().to_vec(),
            WaitState::Command(pending) => pending.check().into_iter().collect(),
            _ => Vec::new(),
        };
        self.mark_checks_unanswered(&asked, attempt_error);
        self.queue_first([WorkItem::ContinueBatch]);
    }

    /// All checks of the batch that have no answer yet stay without one, and the batch is recorded.
    pub(super) fn mark_open_checks_unanswered(&mut self, attempt_error: &AttemptError) {
        let Some(batch) = &self.batch else { return };
        let votes = self.votes();
        let settled = |index: &usize| {
            batch.outcomes.contains_key(index)
                || batch.votes.get(index).is_some_and(|counted| counted.settled(votes))
        };
        let open: Vec<usize> = (0..batch.checks.len()).filter(|index| !settled(index)).collect();
        self.mark_checks_unanswered(&open, attempt_error);
        self.record_batch();
    }

    pub(super) fn mark_checks_unanswered(
        &mut self,
        indices: &[usize],
        attempt_error: &AttemptError,
    ) {
        let Some(batch) = &mut self.batch else { return };
        for index in indices {
            let actual = format!("the check was not made: {}", attempt_error.message);
            let (status, fault) = (attempt_error.status.clone(), attempt_error.fault.clone());
            batch.outcomes.insert(*index, CheckOutcome::unanswered(actual, status, fault));
        }
    }

    /// How many votes a judgement may take.
    pub(super) fn votes(&self) -> u32 {
        self.example.parties.judge.votes.as_ref().map_or(1, |votes| votes.value.get())
    }

    /// A command or a block has looked at the check with this index.
    pub(super) fn check_answered(&mut self, index: usize, passed: bool, message: Option<String>) {
        let Some(batch) = &mut self.batch else { return };
        let Some(check) = batch.checks.get(index) else { return };
        let actual = match (&check.assertion, message) {
            (Assertion::Block(_), Some(found)) => found,
            (Assertion::Block(_), None) => format!("it gave {passed}"),
            (_, output) => format!(
                "the command {}: {}",
                if passed { "agreed" } else { "disagreed" },
                output.unwrap_or_else(|| "no output".into())
            ),
        };
        let outcome = CheckOutcome {
            passed: Some(passed != check.negated),
            actual,
            ..CheckOutcome::default()
        };
        batch.outcomes.insert(index, outcome);
        self.queue_first([WorkItem::ContinueBatch]);
    }

    fn record_batch(&mut self) {
        let Some(mut batch) = self.batch.take() else { return };
        let label = batch.scope.label(&self.transcript);
        for (index, votes) in &batch.votes {
            if let Some(voted) = votes.outcome() {
                batch.outcomes.entry(*index).or_insert_with(|| voted.into());
            }
        }
        for (index, check) in batch.checks.iter().enumerate() {
            let outcome = batch.outcomes.remove(&index).unwrap_or_default();
            let message =
                format!("{label}: expected to {}, but {}", describe(check), outcome.actual);
            self.record(check, &outcome, &batch, &message);
            if check.mode == EvaluationMode::Hard {
                let turn = batch.scope.turn_number();
                self.count_hard_outcome(
                    &outcome,
                    FailedAssertion { turn, message, line: Some(check.line) },
                );
            }
        }
        if !self.failures.is_empty() || self.attempt_error.is_some() {
            self.stop_after_checks();
        }
    }

    /// No further turn is taken. Checks of the whole conversation are made only if it was over anyway; of those that
    /// are cut short, the soft ones are still made when the agent was seen to fail.
    fn stop_after_checks(&mut self) {
        let only_checks_left = self.work.iter().all(|work| {
            matches!(
                work,
                WorkItem::CheckExample
                    | WorkItem::CheckTopic(_)
                    | WorkItem::EndSimulation(_)
                    | WorkItem::Conclude
            )
        });
        if self.soft_only || only_checks_left {
            return;
        }
        let cut_short = std::mem::take(&mut self.work);
        if !self.failures.is_empty() && self.open_ended_state.is_none() {
            self.queue_remaining_soft_checks(cut_short);
        }
        self.work.push_back(WorkItem::Conclude);
    }

    /// The soft checks of the turn, the step, the topic and the conversation that were still to come.
    fn queue_remaining_soft_checks(&mut self, cut_short: VecDeque<WorkItem>) {
        self.soft_only = true;
        let mut step = None;
        for work in cut_short {
            match work {
                WorkItem::CheckEveryTurn => self.work.push_back(work),
                WorkItem::CheckStep(_) if step.is_none() => step = Some(work),
                _ => {}
            }
        }
        self.work.push_back(WorkItem::EndSimulation(TerminationReason::StopCondition));
        self.work.extend(step);
        if let Some(topic) = self.transcript.topic().map(str::to_owned) {
            self.work.push_back(WorkItem::CheckTopic(topic));
        }
        self.work.push_back(WorkItem::CheckExample);
    }

    /// `failure` is what is recorded where the assertion does not hold.
    fn count_hard_outcome(&mut self, outcome: &CheckOutcome, failure: FailedAssertion) {
        self.checks += u64::from(outcome.passed.is_some());
        match outcome.passed {
            Some(true) => {}
            Some(false) => self.failures.push(failure),
            None => {
                let known = outcome.unanswered.clone();
                let (status, fault) = known.unwrap_or((Status::Errored, Some(Fault::Harness)));
                let message = failure.message;
                self.attempt_error.get_or_insert(AttemptError { status, fault, message });
            }
        }
    }

    fn record(
        &mut self,
        check: &PlannedCheck,
        outcome: &CheckOutcome,
        batch: &Batch,
        message: &str,
    ) {
        let failure_message = (outcome.passed != Some(true)).then(|| message.to_owned());
        let description = Some(describe(check));
        // An invariant's event can only say yes or no; an undecided invariant is recorded by `EvaluationRecorded` instead.
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
        let metadata = outcome.votes.and_then(votes_as_json);
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
