//! Where the marks of the judge's questions come from: one random key per run, one key below it per conversation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proctor_dialogue::MarkKey;

/// Gives each conversation of a run a key of its own. Clones count together.
#[derive(Debug, Clone)]
pub struct MarkSource {
    key: MarkKey,
    conversations: Arc<AtomicU64>,
}

impl MarkSource {
    /// A source whose key the operating system gives: not `--seed`, not the time, nothing that others can know.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Self { key: MarkKey::new(bytes), conversations: Arc::default() })
    }

    /// The key of the next conversation.
    pub(crate) fn next_key(&self) -> MarkKey {
        self.key.child(self.conversations.fetch_add(1, Ordering::Relaxed))
    }
}
