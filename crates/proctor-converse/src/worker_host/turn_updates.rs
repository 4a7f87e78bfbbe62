//! The turns of a conversation that a worker has not been sent yet.
//!
//! A turn can change until the next one begins (its topic comes last), so the last turn that was sent is sent
//! again. Earlier turns are final.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

/// The number of turns that have been sent.
#[derive(Debug, Default)]
pub(crate) struct SentTurns(AtomicUsize);

impl SentTurns {
    /// The unsent part of a conversation, which is given as `Transcript::to_value` writes it.
    pub(crate) fn unsent(&self, mut conversation: Value) -> Value {
        let turns = conversation["turns"].take();
        let mut turns = match turns {
            Value::Array(turns) => turns,
            _ => Vec::new(),
        };
        let sent = self.0.swap(turns.len(), Ordering::Relaxed);
        let fresh = turns.split_off(sent.saturating_sub(1).min(turns.len()));
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
    fn the_last_turn_is_sent_again_and_older_ones_are_not() {
        let sent_turns = SentTurns::default();
        let numbers = |count: u32| {
            let turns: Vec<Value> = (1..=count).map(|n| json!({"number": n})).collect();
            let update = sent_turns.unsent(json!({"turns": turns, "topics": ["a"], "goal": ""}));
            let fresh = update["turns"].as_array().cloned().unwrap_or_default();
            fresh.iter().filter_map(|turn| turn["number"].as_u64()).collect::<Vec<_>>()
        };
        assert_eq!(numbers(0), [0; 0]);
        assert_eq!(numbers(2), [1, 2]);
        assert_eq!(numbers(2), [2]);
        assert_eq!(numbers(4), [2, 3, 4]);
    }
}
