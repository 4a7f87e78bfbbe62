//! What goes wrong without failing anything: reported to a callback, never printed.
//!
//! Owns nothing. Without a callback a diagnostic becomes a `tracing` warning.

use std::fmt;
use std::sync::Arc;

/// Something that was skipped, dropped or survived.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Diagnostic {
    /// A line on the channel was not a message.
    #[error("{channel}: skipped a malformed line ({reason}): {excerpt}")]
    MalformedLine {
        /// Which channel.
        channel: Arc<str>,
        /// Why it is not a message.
        reason: String,
        /// Its beginning.
        excerpt: String,
    },
    /// A line on the channel has an `id` but is no request; it may be an answer without `reply_to`.
    #[error(
        "{channel}: refused a line with an id but without action, type and reply_to: {excerpt}"
    )]
    UnclearLine {
        /// Which channel.
        channel: Arc<str>,
        /// Its beginning.
        excerpt: String,
    },
    /// A line on the channel answers a request that is not pending: it was never sent, or given up.
    #[error("{channel}: no open request has the id {to:?}: {excerpt}")]
    StrayReply {
        /// Which channel.
        channel: Arc<str>,
        /// Its `reply_to`.
        to: String,
        /// Its beginning.
        excerpt: String,
    },
    /// A line on the channel was longer than allowed.
    #[error("{channel}: dropped a line of {len} bytes, at most {limit} are allowed")]
    LineTooLong {
        /// Which channel.
        channel: Arc<str>,
        /// Its length.
        len: u64,
        /// The limit.
        limit: usize,
    },
    /// A line on the channel was not UTF-8.
    #[error("{channel}: skipped a line that is not utf-8: {excerpt}")]
    NotUtf8 {
        /// Which channel.
        channel: Arc<str>,
        /// Its beginning, with replacement characters.
        excerpt: String,
    },
    /// The queue of notifications is full, so nothing is read from the child for now.
    #[error("{channel}: reading pauses, {queued} notifications wait to be taken")]
    ReadingPaused {
        /// Which channel.
        channel: Arc<str>,
        /// How many wait.
        queued: usize,
    },
    /// Writing to the channel failed: the other side is gone or no longer reads.
    #[error("{channel}: cannot write any more: {reason}")]
    WriteFailed {
        /// Which channel.
        channel: Arc<str>,
        /// The error.
        reason: String,
    },
    /// A handler of the host panicked; the child got the error `failed`.
    #[error("{channel}: the handler of action {action:?} panicked")]
    HandlerPanicked {
        /// Which channel.
        channel: Arc<str>,
        /// The action.
        action: String,
    },
    /// A callback panicked; the others were still called.
    #[error("a callback ({place}) panicked")]
    CallbackPanicked {
        /// Which kind of callback.
        place: &'static str,
    },
    /// A connection to the socket path was refused.
    #[error("refused a connection: {reason}")]
    ConnectionRefused {
        /// Why.
        reason: String,
    },
}

/// Where diagnostics go.
#[derive(Clone, Default)]
pub struct DiagnosticSink(Option<Arc<dyn Fn(Diagnostic) + Send + Sync>>);

impl DiagnosticSink {
    /// Diagnostics go to `callback`, which should be quick: it runs where the problem was found.
    pub fn new(callback: impl Fn(Diagnostic) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(callback)))
    }

    pub(crate) fn report(&self, diagnostic: Diagnostic) {
        if let Some(callback) = &self.0 {
            callback(diagnostic);
        } else {
            tracing::warn!("{diagnostic}");
        }
    }
}

impl fmt::Debug for DiagnosticSink {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.0.is_some() {
            "DiagnosticSink(callback)"
        } else {
            "DiagnosticSink(tracing)"
        })
    }
}
