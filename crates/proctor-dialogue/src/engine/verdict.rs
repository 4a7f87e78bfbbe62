//! Coming to an end: exactly one verdict, whatever happened before.

use proctor_events::{Fault, Status, TerminationReason};

use super::{Effect, Engine, RequestId, Verdict, Waiting};

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

    /// Who keeps us waiting is to blame.
    pub(super) fn deadline_reached(&mut self, id: RequestId) {
        let Some(simulation) = &self.simulation else { return };
        if simulation.deadline != Some(id) {
            return;
        }
        let limit = simulation.timeout_text.clone();
        let (status, fault, whom) = match &self.waiting {
            Waiting::Simulator { .. } => (Status::Inconclusive, Fault::Simulator, "the simulator"),
            Waiting::Judge(_) => (Status::Inconclusive, Fault::Judge, "the judge"),
            Waiting::Tools { .. } => (Status::Errored, Fault::Tool, "a tool"),
            Waiting::Agent { .. } => (Status::Errored, Fault::Agent, "the agent"),
            _ => (Status::Errored, Fault::Harness, "a check"),
        };
        let turn = self.turn_number();
        let message =
            format!("turn {turn}: the simulation took longer than {limit}, waiting for {whom}");
        self.break_down(status, Some(fault), message, TerminationReason::Timeout);
    }
}
