//! Bounds and callbacks of a channel, and its errors.

use super::handler::RequestHandler;
use super::writer::Writer;
use crate::diagnostics::DiagnosticSink;
use crate::protocol::{self, EncodeError, Notification, ReplyError};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What happens to notifications of the child.
#[derive(Clone)]
pub enum NotificationMode {
    /// They wait in a bounded queue, taken by `Channel::notifications`. When the queue is full,
    /// reading from the child pauses, replies included: take notifications in a task of their
    /// own and never wait for a reply in that task.
    Queue {
        /// How many may wait.
        count: usize,
        /// How many bytes they may have together (a single longer one is let in).
        bytes: usize,
    },
    /// Called by the reader itself, in order, with no queue at all: the fastest way. It must not
    /// block, because nothing is read meanwhile.
    Call(Arc<dyn Fn(Notification) + Send + Sync>),
    /// Thrown away.
    Discard,
}

impl Default for NotificationMode {
    fn default() -> Self {
        Self::Queue { count: 1024, bytes: protocol::MAX_LINE }
    }
}

impl fmt::Debug for NotificationMode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queue { count, bytes } => write!(out, "Queue({count}, {bytes} bytes)"),
            Self::Call(_) => out.write_str("Call"),
            Self::Discard => out.write_str("Discard"),
        }
    }
}

/// Bounds and callbacks of a channel.
#[derive(Clone)]
pub struct ChannelConfig {
    /// The longest line in either direction, line feed excluded.
    pub max_line: usize,
    /// How many bytes may wait to be written before senders have to wait.
    pub write_buffer: usize,
    /// How long to rest after a read that came soon after another, so that a chatty child costs a wake-up
    /// per rest instead of one per message. A message that comes after a pause is read at once.
    pub settle: Duration,
    /// How many requests of the child may be in work; further ones are answered `busy`. They are
    /// not made to wait, because replies that handlers wait for could be stuck behind them.
    pub max_handlers: usize,
    /// What happens to notifications.
    pub notifications: NotificationMode,
    /// Answers requests of the child; without it every action is unknown.
    pub handler: Option<Arc<dyn RequestHandler>>,
    /// Whether a line that cannot be read becomes a notification `unreadable_line` with a `message`, among the others and in
    /// their order, so that whoever follows the conversation knows where something is missing.
    pub report_unreadable: bool,
    /// Where skipped lines and the like are reported.
    pub diagnostics: DiagnosticSink,
}

impl Default for ChannelConfig {
    fn default() -> Self {
        Self {
            max_line: protocol::MAX_LINE,
            write_buffer: Writer::HIGH_WATER,
            settle: Duration::ZERO,
            max_handlers: 256,
            notifications: NotificationMode::default(),
            handler: None,
            report_unreadable: false,
            diagnostics: DiagnosticSink::default(),
        }
    }
}

impl ChannelConfig {
    /// Answers requests of the child with `handler`.
    #[must_use]
    pub fn handler(mut self, handler: impl RequestHandler) -> Self {
        self.handler = Some(Arc::new(handler));
        self
    }

    /// Reports skipped lines and the like to `callback`.
    #[must_use]
    pub fn diagnostics(
        mut self,
        callback: impl Fn(crate::Diagnostic) + Send + Sync + 'static,
    ) -> Self {
        self.diagnostics = DiagnosticSink::new(callback);
        self
    }

    /// Chooses what happens to notifications.
    #[must_use]
    pub fn notifications(mut self, mode: NotificationMode) -> Self {
        self.notifications = mode;
        self
    }
}

impl fmt::Debug for ChannelConfig {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ChannelConfig")
            .field("max_line", &self.max_line)
            .field("settle", &self.settle)
            .field("write_buffer", &self.write_buffer)
            .field("max_handlers", &self.max_handlers)
            .field("notifications", &self.notifications)
            .field("handler", &self.handler.is_some())
            .field("report_unreadable", &self.report_unreadable)
            .field("diagnostics", &self.diagnostics)
            .finish()
    }
}

/// Why a channel is closed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CloseReason {
    /// The other side closed its end, usually by exiting.
    #[error("the other side closed it; its exit status and standard error may say why")]
    EndOfFile,
    /// Reading failed.
    #[error("reading failed: {0}")]
    ReadFailed(String),
    /// The other side no longer reads what we write.
    #[error("the other side no longer reads: {0}")]
    WriteFailed(String),
    /// We closed it.
    #[error("it was closed on this side")]
    ClosedHere,
    /// The process is gone, but something it left behind keeps the channel open.
    #[error("the process has exited, something it left behind keeps the other end open")]
    ProcessGone,
}

/// The channel is closed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the channel to {channel} is closed: {reason}")]
pub struct ChannelClosed {
    /// Which channel.
    pub channel: Arc<str>,
    /// Why.
    pub reason: CloseReason,
}

/// A request that got no successful reply.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The channel was or became closed.
    #[error("request {action:?} failed: {closed}")]
    Closed {
        /// What was asked for.
        action: String,
        /// The channel and the reason.
        closed: ChannelClosed,
    },
    /// No reply within the time given.
    #[error("no reply from {channel} to {action:?} within {after:?}{}",
        if *.reading_paused { "; reading is paused until the waiting notifications are processed" } else { "" })]
    Timeout {
        /// Which channel.
        channel: Arc<str>,
        /// What was asked for.
        action: String,
        /// The time given.
        after: Duration,
        /// The queue of notifications was full: the reply may sit behind them.
        reading_paused: bool,
    },
    /// The other side replied with an error.
    #[error("{channel} answered {action:?} with an error: {error}")]
    Failed {
        /// Which channel.
        channel: Arc<str>,
        /// What was asked for.
        action: String,
        /// The error it sent.
        error: ReplyError,
    },
    /// The payload cannot be sent.
    #[error("request {action:?} was not sent: {error}")]
    Encode {
        /// What was asked for.
        action: String,
        /// What is wrong with the payload.
        error: EncodeError,
    },
}

/// A notification that was not sent.
#[derive(Debug, thiserror::Error)]
pub enum NotifyError {
    /// The channel is closed.
    #[error(transparent)]
    Closed(#[from] ChannelClosed),
    /// The payload cannot be sent.
    #[error("the notification was not sent: {0}")]
    Encode(#[from] EncodeError),
}
