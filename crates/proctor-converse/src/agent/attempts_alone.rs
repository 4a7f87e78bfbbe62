//! Which attempts get a process of the agent for themselves.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use crate::attempt_id::AttemptId;

/// Attempts that get a process of their own, because the process of the attempt before died.
#[derive(Default)]
pub(super) struct AttemptsAlone(Mutex<HashSet<AttemptId>>);

impl AttemptsAlone {
    pub(super) fn add_attempt_after(&self, died: &AttemptId) {
        let next = AttemptId { attempt: died.attempt + 1, ..died.clone() };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(next);
    }

    pub(super) fn take(&self, attempt_id: &AttemptId) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(attempt_id)
    }
}
