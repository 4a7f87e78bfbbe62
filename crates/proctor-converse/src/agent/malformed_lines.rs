//! Malformed lines of an agent's channel, and answers that name no request. The channel skips them; a request that times out
//! names the last one.

use std::sync::{Mutex, MutexGuard, PoisonError};

use proctor_process::Diagnostic;
use proctor_process::protocol::Notification;

/// The last malformed line of one process, and how many there were.
#[derive(Debug, Default)]
pub(crate) struct MalformedLines(Mutex<LineLog>);

#[derive(Debug, Default)]
struct LineLog {
    count: u64,
    last: String,
}

/// How much of a line is shown.
const MAX_SHOWN_CHARACTERS: usize = 120;

fn describe_unaddressed(line: &str) -> String {
    format!(
        "it sent a line without `reply_to`, which an answer must have (the `id` of the request): `{line}`"
    )
}

impl MalformedLines {
    fn lines(&self) -> MutexGuard<'_, LineLog> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what a channel reports; what is not about an unreadable line is left to others.
    pub(crate) fn record_diagnostic(&self, diagnostic: &Diagnostic) {
        let description = match diagnostic {
            Diagnostic::MalformedLine { reason, excerpt, .. }
                if excerpt.trim_start().starts_with('{') =>
            {
                format!("it sent a line that is not a message ({reason}): `{excerpt}`")
            }
            Diagnostic::MalformedLine { excerpt, .. } => {
                format!("it sent a line that is not a JSON object: `{excerpt}`")
            }
            Diagnostic::NotUtf8 { excerpt, .. } => {
                format!("it sent a line that is not UTF-8: `{excerpt}`")
            }
            Diagnostic::UnclearLine { excerpt, .. } => describe_unaddressed(excerpt),
            Diagnostic::StrayReply { to, excerpt, .. } => {
                format!("it answered `{to}`, for which nobody waits: `{excerpt}`")
            }
            Diagnostic::LineTooLong { len, limit, .. } => {
                format!("it sent a line of {len} bytes, at most {limit} are allowed")
            }
            _ => return,
        };
        self.add(description);
    }

    /// Takes what is neither a request nor an answer. News have a `type`; without one it was most likely meant as an answer.
    pub(crate) fn record_notification(&self, notification: &Notification) {
        if notification.kind.is_empty() {
            let line = notification.body.as_str();
            self.add(describe_unaddressed(&proctor_text::truncate(line, MAX_SHOWN_CHARACTERS)));
        }
    }

    fn add(&self, description: String) {
        let mut lines = self.lines();
        lines.count += 1;
        lines.last = description;
    }

    /// How many there were.
    pub(crate) fn count(&self) -> u64 {
        self.lines().count
    }

    /// The last one, if there were more than this many; to be put to the end of a sentence.
    pub(crate) fn since(&self, count: u64) -> String {
        let lines = self.lines();
        if lines.count > count { format!("; {}", lines.last) } else { String::new() }
    }
}
