//! The identity of an attempt: which example, which repetition of it, which attempt at that repetition.

use std::fmt;

use proctor_events::{Event, ExampleId};

/// Which repetition of an example, and which attempt at it; both count from 1.
///
/// Repetitions are asked for (`--repeat`) and each counts; further attempts are made only after a failure (`--retries`) and replace
/// what they repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AttemptNumber {
    /// The repetition.
    pub repeat: u32,
    /// The attempt at that repetition.
    pub attempt: u32,
}

impl AttemptNumber {
    /// The first attempt at the first repetition.
    pub const FIRST: Self = Self { repeat: 1, attempt: 1 };

    /// The attempt that an event belongs to. A stream that does not number attempts makes one of each example.
    pub fn of(event: &Event) -> Self {
        Self { repeat: event.repeat.unwrap_or(1), attempt: event.attempt.unwrap_or(1) }
    }

    /// Whether this attempt replaces the other: a later one at the same repetition.
    pub fn replaces(self, other: Self) -> bool {
        self.repeat == other.repeat && self.attempt > other.attempt
    }
}

/// One attempt of a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AttemptKey {
    /// The example.
    pub example: ExampleId,
    /// Which attempt at it.
    pub number: AttemptNumber,
}

impl AttemptKey {
    /// The attempt that an event belongs to; `None` for events outside examples.
    pub fn of(event: &Event) -> Option<Self> {
        let example = event.example_id.clone()?;
        Some(Self { example, number: AttemptNumber::of(event) })
    }
}

impl fmt::Display for AttemptKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AttemptNumber { repeat, attempt } = self.number;
        write!(f, "{} (repetition {repeat}, attempt {attempt})", self.example)
    }
}

#[cfg(test)]
mod tests {
    use proctor_events::ExampleStarted;

    use super::*;

    #[test]
    fn an_event_names_its_attempt() {
        let event = Event::from(ExampleStarted::default());
        assert_eq!(AttemptNumber::of(&event), AttemptNumber::FIRST);
        assert_eq!(AttemptKey::of(&event), None);
        let event = event.about(&ExampleId::from("a3f2b1c9d4e5")).in_attempt(2, 3);
        let key = AttemptKey::of(&event).unwrap();
        assert_eq!(key.number, AttemptNumber { repeat: 2, attempt: 3 });
        assert_eq!(key.to_string(), "a3f2b1c9d4e5 (repetition 2, attempt 3)");
    }

    #[test]
    fn only_a_later_attempt_at_the_same_repetition_replaces() {
        let number = |repeat, attempt| AttemptNumber { repeat, attempt };
        assert!(number(1, 2).replaces(number(1, 1)));
        assert!(!number(1, 1).replaces(number(1, 1)));
        assert!(!number(2, 2).replaces(number(1, 1)));
        assert!(!number(1, 1).replaces(number(1, 2)));
    }
}
