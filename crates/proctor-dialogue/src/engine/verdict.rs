//! The end of an attempt: exactly one verdict, for any sequence of inputs.

use proctor_events::{Fault, Status, TerminationReason};

use super::{ConversationOutcome, Effect, Engine, WaitState};

impl Engine {
    /// A failed assertion takes precedence over an attempt error: the agent has failed.
    pub(super) fn conclude(&mut self) {
        if self.is_finished() {
            return;
        }
        self.end_simulation(TerminationReason::StopCondition);
        let failures = std::mem::take(&mut self.failures);
        let (status, fault, message) = if failures.is_empty() {
            match self.attempt_error.take() {
                Some(attempt_error) => {
                    (attempt_error.status, attempt_error.fault, Some(attempt_error.message))
                }
                None => (Status::Passed, None, None),
            }
        } else {
            let messages: Vec<&str> =
                failures.iter().map(|failure| failure.message.as_str()).collect();
            (Status::Failed, Some(Fault::Agent), Some(messages.join("\n")))
        };
        let verdict = ConversationOutcome { status, fault, message, failures, checks: self.checks };
        if self.open_ended_state.is_some() {
            self.pause(verdict);
        } else {
            self.finish(verdict);
        }
    }

    pub(super) fn finish(&mut self, verdict: ConversationOutcome) {
        self.work.clear();
        self.batch = None;
        self.waiting = WaitState::Nothing;
        self.effects.push(Effect::Finish(verdict));
    }
}
