//! Which attempt at which example a conversation is.

use proctor_events::ExampleId;

/// One conversation, named by example, repetition and attempt.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AttemptId {
    /// The example.
    pub example: ExampleId,
    /// Which repetition it is, from 1.
    pub repeat: u32,
    /// Which attempt, from 1.
    pub attempt: u32,
}

impl AttemptId {
    /// The name under which cassettes, scripts and agents know it.
    pub fn name(&self) -> String {
        format!("{}.{}.{}", self.example, self.repeat, self.attempt)
    }
}
