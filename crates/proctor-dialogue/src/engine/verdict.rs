//! Coming to an end: exactly one verdict, whatever happened before.

use proctor_events::{Fault, Status, TerminationReason};

use super::{Effect, Engine, Verdict, Waiting};

impl Engine {
    /// A failed assertion outweighs trouble: the agent has been seen to fail.
    pub(super) fn conclude(&mut self) {
        if self.is_finished() {
            return;
        }
        self.end_simulation(TerminationReason::StopCondition);
        let failures = std::mem::take(&mut self.failures);
        let verdict = if failures.is_empty() {
            match self.trouble.take() {
                Some(trouble) => Verdict {
                    status: trouble.status,
                    fault: trouble.fault,
                    message: Some(trouble.message),
                    failures,
                },
                None => Verdict { status: Status::Passed, fault: None, message: None, failures },
            }
        } else {
            let messages: Vec<&str> =
                failures.iter().map(|failure| failure.message.as_str()).collect();
            let message = Some(messages.join("\n"));
            Verdict { status: Status::Failed, fault: Some(Fault::Agent), message, failures }
        };
        if self.open_end.is_some() {
            self.pause(verdict);
        } else {
            self.finish(verdict);
        }
    }

    pub(super) fn finish(&mut self, verdict: Verdict) {
        self.work.clear();
        self.batch = None;
        self.waiting = Waiting::Nothing;
        self.effects.push(Effect::Finish(verdict));
    }
}
