//! Being cut short: time limits, the end of a run, a budget or a cassette that has nothing more to give.
//!
//! The party that was waited for is at fault for the time. Checks that are open are left without an answer; what is
//! already known of the others counts.

use proctor_events::{Fault, Status, TerminationReason};

use super::{Breakdown, Engine, Expired, RequestId, Waiting};

/// A party that is waited for: its name, its fault, and the status of an attempt that it keeps from its verdict.
struct WaitedFor {
    name: &'static str,
    fault: Option<Fault>,
    status: Status,
}

impl Engine {
    fn waited_for(&self) -> WaitedFor {
        let (name, fault, status) = match &self.waiting {
            Waiting::Simulator { .. } => {
                ("the simulator", Some(Fault::Simulator), Status::Inconclusive)
            }
            Waiting::Judge(_) => ("the judge", Some(Fault::Judge), Status::Inconclusive),
            Waiting::Tools { .. } => ("a tool", Some(Fault::Tool), Status::TimedOut),
            Waiting::Agent { .. } => ("the agent", Some(Fault::Agent), Status::TimedOut),
            Waiting::Command(_) => ("a check", Some(Fault::Harness), Status::TimedOut),
            Waiting::Begin | Waiting::Next | Waiting::Nothing => {
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
        let trouble = Breakdown { status, fault, message };
        let reason = TerminationReason::Timeout;
        self.expire(Expired { trouble, reason, simulation: true });
    }

    /// The time limit of the attempt.
    pub(super) fn timed_out(&mut self) {
        let WaitedFor { name, fault, status } = self.waited_for();
        let turn = self.turn_number();
        let message = format!("turn {turn}: it took too long, waiting for {name}");
        let trouble = Breakdown { status, fault, message };
        let reason = TerminationReason::Timeout;
        self.expire(Expired { trouble, reason, simulation: false });
    }

    pub(super) fn cancelled(&mut self) {
        let message = "cancelled".into();
        let trouble = Breakdown { status: Status::Cancelled, fault: None, message };
        self.expire(Expired { trouble, reason: TerminationReason::Error, simulation: false });
    }

    /// The driver cannot ask a party. Checks that only record do without; everything else ends here.
    pub(super) fn broken(&mut self, status: Status, fault: Option<Fault>, message: String) {
        if self.is_waiting_for_checks() {
            let trouble = Breakdown { status, fault, message };
            self.leave_waited_for_checks(&trouble);
            self.go_on();
        } else {
            self.break_down(status, fault, message, TerminationReason::Error);
        }
    }

    fn expire(&mut self, expired: Expired) {
        if !self.is_waiting_for_checks() {
            return self.give_up(expired);
        }
        self.expired = Some(expired.clone());
        self.leave_open_checks(&expired.trouble);
        if self.failures.is_empty() && self.trouble.is_none() {
            self.go_on();
        } else {
            self.give_up(expired);
        }
    }

    /// Ends the attempt if no party may be asked any more.
    pub(super) fn has_expired(&mut self) -> bool {
        let Some(expired) = self.expired.clone() else { return false };
        self.give_up(expired);
        true
    }

    fn give_up(&mut self, expired: Expired) {
        let Breakdown { status, fault, message } = expired.trouble;
        self.break_down(status, fault, message, expired.reason);
    }
}
