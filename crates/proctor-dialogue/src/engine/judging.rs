//! Asking the judge: once, again when the answer is unusable, and never taking silence for a pass.

use proctor_events::{Fault, JudgeError, Status, TerminationReason};

use super::{DEFAULT_JUDGE_RETRIES, Effect, Engine, RequestId, WaitState, WorkItem};
use crate::judge::{
    ItemAnswer, JudgeAnswer, JudgeItem, JudgeQuestion, JudgeRequest, parse_judge_answer,
};

/// A question to the judge that is open.
#[derive(Debug)]
pub(super) struct PendingJudgeRequest {
    id: RequestId,
    request: JudgeRequest,
    purpose: JudgePurpose,
    tries: u32,
}

/// Questions that have been answered; asked again, they get a further vote.
#[derive(Debug, PartialEq)]
pub(super) struct AnsweredQuestions {
    /// How many turns there were.
    turns: usize,
    items: Vec<JudgeItem>,
    focus: Vec<u32>,
}

impl AnsweredQuestions {
    fn of(request: &JudgeRequest) -> Self {
        let JudgeRequest { items, turns, focus, .. } = request;
        Self { turns: turns.len(), items: items.clone(), focus: focus.clone() }
    }
}

/// What the answer is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum JudgePurpose {
    /// The topic of the last turn.
    Topic,
    /// The goal, by the stop rule with this index.
    Stop(usize),
    /// The goal, at the turn limit.
    Limit,
    /// The checks with these indices.
    Checks(Vec<usize>),
}

impl JudgePurpose {
    fn operation(&self) -> &'static str {
        match self {
            Self::Topic => "topic classification",
            Self::Stop(_) | Self::Limit => "goal check",
            Self::Checks(_) => "evaluation",
        }
    }
}

impl PendingJudgeRequest {
    pub(super) fn is_about_checks(&self) -> bool {
        matches!(self.purpose, JudgePurpose::Checks(_))
    }

    /// The checks that the answer is for.
    pub(super) fn checks(&self) -> &[usize] {
        match &self.purpose {
            JudgePurpose::Checks(indices) => indices,
            _ => &[],
        }
    }
}

impl Engine {
    pub(super) fn ask_judge(
        &mut self,
        questions: Vec<JudgeQuestion>,
        focus: Vec<u32>,
        purpose: JudgePurpose,
    ) {
        if let Some(expired) = &self.expired {
            let attempt_error = expired.attempt_error.clone();
            if let JudgePurpose::Checks(indices) = &purpose {
                self.mark_checks_unanswered(indices, &attempt_error);
                self.queue_first([WorkItem::ContinueBatch]);
            } else {
                self.has_expired();
            }
            return;
        }
        let items = questions
            .into_iter()
            .enumerate()
            .map(|(index, question)| JudgeItem { id: format!("q{}", index + 1), question })
            .collect();
        // Who is asked about a topic that was left does not see what came after it.
        let last = focus.iter().max().copied().filter(|_| self.is_about_a_topic());
        let mut turns = self.transcript.turns.clone();
        turns.retain(|turn| last.is_none_or(|last| turn.number <= last));
        let mut request = JudgeRequest { mark: String::new(), items, turns, focus, vote: 0 };
        request.vote = self.earlier_votes(&request);
        self.send_judge_request(request, purpose, 0);
    }

    /// How often the same has been answered before.
    fn earlier_votes(&self, request: &JudgeRequest) -> u32 {
        let asked = AnsweredQuestions::of(request);
        let votes = self.answered.iter().filter(|earlier| **earlier == asked).count();
        u32::try_from(votes).unwrap_or(u32::MAX)
    }

    /// Each try has a mark of its own: an answer to an earlier one is no answer to this one.
    fn send_judge_request(&mut self, mut request: JudgeRequest, purpose: JudgePurpose, tries: u32) {
        let id = self.next_id();
        request.mark = self.marks.mark(id.0, &request.turns);
        self.effects.push(Effect::AskJudge { id, request: Box::new(request.clone()) });
        self.waiting =
            WaitState::Judge(Box::new(PendingJudgeRequest { id, request, purpose, tries }));
    }

    fn take_judge_request(&mut self, id: RequestId) -> Option<PendingJudgeRequest> {
        match std::mem::replace(&mut self.waiting, WaitState::Begin) {
            WaitState::Judge(pending_request) if pending_request.id == id => Some(*pending_request),
            other => {
                self.waiting = other;
                None
            }
        }
    }

    pub(super) fn judge_answered(&mut self, id: RequestId, text: &str) {
        let Some(pending_request) = self.take_judge_request(id) else { return };
        match parse_judge_answer(text, &pending_request.request) {
            Ok(answer) => {
                self.answered.push(AnsweredQuestions::of(&pending_request.request));
                self.apply_judge_answer(&pending_request, answer);
                // Breaking down on the way has already given the verdict.
                if !self.is_finished() && matches!(self.waiting, WaitState::Begin) {
                    self.run_queued_work();
                }
            }
            Err(_) if pending_request.tries < self.judge_retries() => {
                self.send_judge_request(
                    pending_request.request,
                    pending_request.purpose,
                    pending_request.tries + 1,
                );
            }
            Err(unusable) => {
                let message = format!("{unusable} (asked {} times)", pending_request.tries + 1);
                self.handle_judge_error(&pending_request.purpose, "UnusableAnswer", &message);
            }
        }
    }

    fn judge_retries(&self) -> u32 {
        self.example.parties.judge.retries.unwrap_or(DEFAULT_JUDGE_RETRIES)
    }

    pub(super) fn judge_failed(&mut self, id: RequestId, message: &str) {
        if let Some(pending_request) = self.take_judge_request(id) {
            self.handle_judge_error(&pending_request.purpose, "JudgeUnavailable", message);
        }
    }

    fn apply_judge_answer(
        &mut self,
        pending_request: &PendingJudgeRequest,
        mut answer: JudgeAnswer,
    ) {
        if let JudgePurpose::Checks(indices) = &pending_request.purpose {
            let answers = pending_request
                .request
                .items
                .iter()
                .filter_map(|item| answer.answers.remove(&item.id));
            let answers: Vec<ItemAnswer> = answers.collect();
            self.count_votes(indices, answers);
            return;
        }
        let Some((_, item)) = answer.answers.pop_first() else { return };
        match &pending_request.purpose {
            JudgePurpose::Topic => self.topic_chosen(item.topic.unwrap_or_default()),
            JudgePurpose::Stop(_) | JudgePurpose::Limit => {
                self.goal_judged(item, &pending_request.purpose);
            }
            JudgePurpose::Checks(_) => {}
        }
    }

    /// Soft checks stay without a verdict; everything else makes the attempt inconclusive.
    fn handle_judge_error(&mut self, purpose: &JudgePurpose, class: &str, message: &str) {
        self.emit(JudgeError {
            operation: Some(purpose.operation().into()),
            error_class: Some(class.into()),
            message: message.to_owned(),
        });
        if let JudgePurpose::Checks(indices) = purpose {
            self.mark_judge_failed(indices, message);
            self.queue_first([WorkItem::ContinueBatch]);
            self.run_queued_work();
            return;
        }
        let text = format!(
            "turn {}: the judge failed ({}): {message}",
            self.turn_number(),
            purpose.operation()
        );
        let fault = Some(Fault::Judge);
        self.abort_attempt(Status::Inconclusive, fault, text, TerminationReason::Error);
    }
}
