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

impl Engine {
    pub(super) fn ask_outside(
        &mut self,
        command: Vec<String>,
        turn: Option<u32>,
        asked_for: OutsideFor,
    ) {
        let conversation = self.transcript.to_value(turn);
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
            OutsideFor::Check(_) => "a check",
            OutsideFor::Trigger(..) => "a trigger",
            OutsideFor::Stop(_) => "a stop condition",
        };
        let text = format!("{what} could not be run: {message}");
        self.break_down(Status::Errored, Some(Fault::Harness), text, TerminationReason::Error);
    }
}
