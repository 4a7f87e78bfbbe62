//! What a worker has not heard yet about a conversation.
//!
//! A turn can change until the next one begins (its topic comes last), so the last turn that was told is told
//! again. Everything before it stands.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

/// How many turns have been told.
#[derive(Debug, Default)]
pub(crate) struct Told(AtomicUsize);

impl Told {
    /// The news of a conversation, given as `Transcript::to_value` writes it.
    pub(crate) fn news(&self, mut conversation: Value) -> Value {
        let turns = conversation["turns"].take();
        let mut turns = match turns {
            Value::Array(turns) => turns,
            _ => Vec::new(),
        };
        let told = self.0.swap(turns.len(), Ordering::Relaxed);
        let fresh = turns.split_off(told.saturating_sub(1).min(turns.len()));
        json!({
            "turns": fresh,
            "topics": conversation["topics"].take(),
            "goal": conversation["goal"].take(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_turn_is_told_again_and_older_ones_are_not() {
        let told = Told::default();
        let numbers = |count: u32| {
            let turns: Vec<Value> = (1..=count).map(|n| json!({"number": n})).collect();
            let news = told.news(json!({"turns": turns, "topics": ["a"], "goal": ""}));
            let fresh = news["turns"].as_array().cloned().unwrap_or_default();
            fresh.iter().filter_map(|turn| turn["number"].as_u64()).collect::<Vec<_>>()
        };
        assert_eq!(numbers(0), [0; 0]);
        assert_eq!(numbers(2), [1, 2]);
        assert_eq!(numbers(2), [2]);
        assert_eq!(numbers(4), [2, 3, 4]);
    }
}
