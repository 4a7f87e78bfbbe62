//! Questions to commands and blocks outside: asked here, answered later, each for its own purpose.

use proctor_events::{Fault, Status, TerminationReason};

use super::{Effect, Engine, RequestId, Waiting, Work};

/// A question that is open.
#[derive(Debug)]
pub(super) struct Outside {
    id: RequestId,
    asked_for: OutsideFor,
}

/// What the answer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutsideFor {
    /// The check with this index.
    Check(usize),
    /// The trigger with this index of the candidate with that one.
    Trigger(usize, usize),
    /// The stop rule with this index.
    Stop(usize),
}

impl Outside {
    pub(super) fn is_about_a_check(&self) -> bool {
        self.check().is_some()
    }

    /// The check that the answer is for.
    pub(super) fn check(&self) -> Option<usize> {
        match self.asked_for {
            OutsideFor::Check(index) => Some(index),
            _ => None,
        }
    }
}

impl Engine {
    pub(super) fn ask_outside(
        &mut self,
        command: Vec<String>,
        conversation: serde_json::Value,
        asked_for: OutsideFor,
    ) {
        if let Some(expired) = &self.expired {
            let trouble = expired.trouble.clone();
            if let OutsideFor::Check(index) = asked_for {
                self.leave_checks(&[index], &trouble);
                self.do_first([Work::ContinueBatch]);
            } else {
                self.has_expired();
            }
            return;
        }
        let id = self.next_id();
        self.effects.push(Effect::RunCheck { id, command, conversation });
        self.waiting = Waiting::Outside(Outside { id, asked_for });
    }

    fn take_outside(&mut self, id: RequestId) -> Option<OutsideFor> {
        match &self.waiting {
            Waiting::Outside(outside) if outside.id == id => Some(outside.asked_for),
            _ => None,
        }
    }

    pub(super) fn check_result(&mut self, id: RequestId, passed: bool, message: Option<String>) {
        let Some(asked_for) = self.take_outside(id) else { return };
        match asked_for {
            OutsideFor::Check(index) => self.check_answered(index, passed, message),
            OutsideFor::Trigger(candidate, trigger) => {
                self.trigger_answered(candidate, trigger, passed);
            }
            OutsideFor::Stop(_) if passed => {
                self.leave_simulation(TerminationReason::StopCondition);
            }
            OutsideFor::Stop(index) => self.do_first([Work::StopRules(index + 1)]),
        }
        self.go_on();
    }

    pub(super) fn check_failed(&mut self, id: RequestId, message: &str) {
        let Some(asked_for) = self.take_outside(id) else { return };
        let what = match asked_for {
            OutsideFor::Check(index) => {
                self.check_not_run(index, message);
                self.go_on();
                return;
            }
            OutsideFor::Trigger(..) => "a trigger",
            OutsideFor::Stop(_) => "a stop condition",
        };
        let text = format!("{what} could not be run: {message}");
        self.break_down(Status::Errored, Some(Fault::Harness), text, TerminationReason::Error);
    }
}
