//! Being cut short: time limits, the end of a run, a budget or a cassette that has nothing more to give.
//!
//! The party that was waited for is at fault for the time. Checks that are open are left without an answer; what is
//! already known of the others counts.

use proctor_events::{Fault, Status, TerminationReason};

use super::{AttemptError, Engine, Expiry, RequestId, WaitState};

/// A party that is waited for: its name, its fault, and the status of an attempt that it keeps from its verdict.
struct WaitedFor {
    name: &'static str,
    fault: Option<Fault>,
    status: Status,
}

impl Engine {
    fn waited_for(&self) -> WaitedFor {
        let (name, fault, status) = match &self.waiting {
            WaitState::Simulator { .. } => {
                ("the simulator", Some(Fault::Simulator), Status::Inconclusive)
            }
            WaitState::Judge(_) => ("the judge", Some(Fault::Judge), Status::Inconclusive),
            WaitState::Tools { .. } => ("a tool", Some(Fault::Tool), Status::TimedOut),
            WaitState::Agent { .. } => ("the agent", Some(Fault::Agent), Status::TimedOut),
            WaitState::Command(_) => ("a check", Some(Fault::Harness), Status::TimedOut),
            WaitState::Begin | WaitState::Next | WaitState::Nothing => {
                ("its next step", None, Status::TimedOut)
            }
        };
        WaitedFor { name, fault, status }
    }

    /// The time limit of a simulation. What takes too long is an error of that party.
    pub(super) fn deadline_reached(&mut self, id: RequestId) {
        let Some(simulation) = &self.simulation else { return };
        if simulation.deadline != Some(id) || self.expired.is_some() {
            return;
        }
        let limit = simulation.timeout_text.clone();
        let WaitedFor { name, fault, status } = self.waited_for();
        let status = if status == Status::TimedOut { Status::Errored } else { status };
        let turn = self.turn_number();
        let message =
            format!("turn {turn}: the simulation took longer than {limit}, waiting for {name}");
        let attempt_error = AttemptError { status, fault, message };
        let reason = TerminationReason::Timeout;
        self.expire(Expiry { attempt_error, reason, simulation: true });
    }

    /// The time limit of the attempt.
    pub(super) fn timed_out(&mut self) {
        let WaitedFor { name, fault, status } = self.waited_for();
        let turn = self.turn_number();
        let message = format!("turn {turn}: time limit exceeded while waiting for {name}");
        let attempt_error = AttemptError { status, fault, message };
        let reason = TerminationReason::Timeout;
        self.expire(Expiry { attempt_error, reason, simulation: false });
    }

    pub(super) fn cancelled(&mut self) {
        let message = "cancelled".into();
        let attempt_error = AttemptError { status: Status::Cancelled, fault: None, message };
        self.expire(Expiry { attempt_error, reason: TerminationReason::Error, simulation: false });
    }

    /// The driver cannot ask a party. Checks that only record do without; everything else ends here.
    pub(super) fn party_unavailable(
        &mut self,
        status: Status,
        fault: Option<Fault>,
        message: String,
    ) {
        if self.is_waiting_for_checks() {
            let attempt_error = AttemptError { status, fault, message };
            self.mark_waiting_checks_unanswered(&attempt_error);
            self.run_queued_work();
        } else {
            self.abort_attempt(status, fault, message, TerminationReason::Error);
        }
    }

    fn expire(&mut self, expired: Expiry) {
        if !self.is_waiting_for_checks() {
            return self.end_expired_attempt(expired);
        }
        self.expired = Some(expired.clone());
        self.mark_open_checks_unanswered(&expired.attempt_error);
        if self.failures.is_empty() && self.attempt_error.is_none() {
            self.run_queued_work();
        } else {
            self.end_expired_attempt(expired);
        }
    }

    /// Ends the attempt if no party may be asked any more.
    pub(super) fn has_expired(&mut self) -> bool {
        let Some(expired) = self.expired.clone() else { return false };
        self.end_expired_attempt(expired);
        true
    }

    fn end_expired_attempt(&mut self, expired: Expiry) {
        let AttemptError { status, fault, message } = expired.attempt_error;
        self.abort_attempt(status, fault, message, expired.reason);
    }
}
