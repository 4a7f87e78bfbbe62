//! Commands and blocks that decide a check, a trigger or a stop rule: started here, answered later.

use proctor_events::{Fault, Status, TerminationReason};

use super::{Effect, Engine, RequestId, WaitState, WorkItem};

/// A command or block whose result is waited for.
#[derive(Debug)]
pub(super) struct PendingCommand {
    id: RequestId,
    purpose: CommandPurpose,
}

/// What the result is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandPurpose {
    /// The check with this index.
    Check(usize),
    /// The trigger with this index of the candidate with that one.
    Trigger(usize, usize),
    /// The stop rule with this index.
    Stop(usize),
}

impl PendingCommand {
    pub(super) fn is_about_a_check(&self) -> bool {
        self.check().is_some()
    }

    /// The check that the result is for.
    pub(super) fn check(&self) -> Option<usize> {
        match self.purpose {
            CommandPurpose::Check(index) => Some(index),
            _ => None,
        }
    }
}

impl Engine {
    pub(super) fn run_command(
        &mut self,
        command: Vec<String>,
        conversation: serde_json::Value,
        purpose: CommandPurpose,
    ) {
        if let Some(expired) = &self.expired {
            let attempt_error = expired.attempt_error.clone();
            if let CommandPurpose::Check(index) = purpose {
                self.mark_checks_unanswered(&[index], &attempt_error);
                self.queue_first([WorkItem::ContinueBatch]);
            } else {
                self.has_expired();
            }
            return;
        }
        let id = self.next_id();
        self.effects.push(Effect::RunCheck { id, command, conversation });
        self.waiting = WaitState::Command(PendingCommand { id, purpose });
    }

    fn take_command_purpose(&mut self, id: RequestId) -> Option<CommandPurpose> {
        match &self.waiting {
            WaitState::Command(outside) if outside.id == id => Some(outside.purpose),
            _ => None,
        }
    }

    pub(super) fn check_result(&mut self, id: RequestId, passed: bool, message: Option<String>) {
        let Some(purpose) = self.take_command_purpose(id) else { return };
        match purpose {
            CommandPurpose::Check(index) => self.check_answered(index, passed, message),
            CommandPurpose::Trigger(candidate, trigger) => {
                self.trigger_answered(candidate, trigger, passed);
            }
            CommandPurpose::Stop(_) if passed => {
                self.leave_simulation(TerminationReason::StopCondition);
            }
            CommandPurpose::Stop(index) => self.queue_first([WorkItem::StopRules(index + 1)]),
        }
        self.run_queued_work();
    }

    pub(super) fn check_failed(&mut self, id: RequestId, message: &str) {
        let Some(purpose) = self.take_command_purpose(id) else { return };
        let what = match purpose {
            CommandPurpose::Check(index) => {
                self.check_not_run(index, message);
                self.run_queued_work();
                return;
            }
            CommandPurpose::Trigger(..) => "a trigger",
            CommandPurpose::Stop(_) => "a stop condition",
        };
        let text = format!("{what} could not be run: {message}");
        self.abort_attempt(Status::Errored, Some(Fault::Harness), text, TerminationReason::Error);
    }
}
