//! The host's end of a worker channel: requests, replies and notifications as NDJSON lines.
//!
//! A [`Channel`] owns both directions of one connection and the table of open requests. One task
//! reads, one task finishes writes that did not fit at once; handlers of the child's requests run
//! in tasks of their own. The pure parts are `framer`, `protocol` and [`mux`]. The channel does not
//! start or end processes.
//!
//! **Order and loss.** Lines are handled in the order they came, and everything that was read is
//! handled before the end of the stream is: a reply right before the end reaches its request.
//!
//! **Back-pressure.** Senders wait when the writer's buffer is full. Reading pauses while the queue
//! of notifications is full (see [`NotificationMode`]); replies and requests never wait in a
//! queue of ours. Once the process is gone the little that is left in the kernel is read out
//! regardless of the queue's bound, so pending requests always end.

mod config;
mod handler;
mod intake;
pub(crate) mod io;
mod mux;
mod reader;
mod request;
mod writer;

pub use config::{
    ChannelClosed, ChannelConfig, CloseReason, NotificationMode, NotifyError, RequestError,
};
pub use handler::{HandlerFuture, HandlerResult, Payload, RequestHandler};
pub use intake::Notifications;
pub use request::NotificationBatch;

use crate::diagnostics::Diagnostic;
use crate::protocol::{self, Hello, HostInfo, Reply, WorkerHello, action};
use io::{Sink, Source};
use mux::Mux;
use serde::Serialize;
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use writer::Writer;

/// After writing failed, replies that are already on their way get this long to arrive.
const REPLY_GRACE: Duration = Duration::from_millis(500);

type Answer = Result<Reply, crate::protocol::ReplyError>;
type Waiter = oneshot::Sender<Answer>;

/// A handle on one channel; clones share it. The channel closes when the last handle is dropped.
#[derive(Debug, Clone)]
pub struct Channel {
    inner: Arc<Inner>,
    _lease: Arc<CloseOnDrop>,
}

/// What the tasks and the handles share.
#[derive(Debug)]
struct Inner {
    label: Arc<str>,
    config: ChannelConfig,
    writer: Writer,
    mux: Mutex<Mux<Waiter>>,
    /// Handlers at work, by the child's request id. The task that removes an entry sends the reply.
    running: Mutex<HashMap<Box<str>, AbortHandle>>,
    reading_paused: AtomicBool,
    reason: OnceLock<CloseReason>,
    /// Stops the reader.
    stop: CancellationToken,
    /// The process has exited; what is left in the kernel is all there will be.
    peer_gone: CancellationToken,
    /// Pending requests have been ended.
    closed: CancellationToken,
    notifications: Mutex<Option<Notifications>>,
}

/// Closes the channel when the last handle goes.
#[derive(Debug)]
struct CloseOnDrop(Arc<Inner>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.shut(CloseReason::ClosedHere);
    }
}

impl Channel {
    /// A channel over a connected unix socket. `label` names it in errors.
    pub fn over_socket(
        socket: OwnedFd,
        label: &str,
        config: ChannelConfig,
    ) -> std::io::Result<Self> {
        let (source, sink) = io::socket(socket)?;
        Ok(Self::open(source, sink, Vec::new(), label, config))
    }

    /// Starts the tasks; `first` are bytes already read from the source.
    pub(crate) fn open(
        source: Source,
        sink: Sink,
        first: Vec<u8>,
        label: &str,
        config: ChannelConfig,
    ) -> Self {
        let (intake, notifications) = intake::intake(&config.notifications);
        let inner = Arc::new(Inner {
            label: label.into(),
            writer: Writer::new(sink, config.write_buffer),
            config,
            mux: Mutex::new(Mux::new()),
            running: Mutex::new(HashMap::new()),
            reading_paused: AtomicBool::new(false),
            reason: OnceLock::new(),
            stop: CancellationToken::new(),
            peer_gone: CancellationToken::new(),
            closed: CancellationToken::new(),
            notifications: Mutex::new(notifications),
        });
        tokio::spawn(reader::run(Arc::clone(&inner), source, first, intake));
        tokio::spawn(watch_writer(Arc::clone(&inner)));
        let lease = Arc::new(CloseOnDrop(Arc::clone(&inner)));
        Self { inner, _lease: lease }
    }

    /// The name used in errors.
    pub fn label(&self) -> &str {
        &self.inner.label
    }

    /// The queue of notifications; `None` if it was taken before or there is none.
    pub fn notifications(&self) -> Option<Notifications> {
        lock(&self.inner.notifications).take()
    }

    /// Says hello and returns what the worker says about itself.
    pub async fn hello(
        &self,
        host: HostInfo,
        timeout: Duration,
    ) -> Result<WorkerHello, RequestError> {
        let hello = Hello { protocol: protocol::VERSION, host };
        let reply = self.request(action::HELLO, &hello, Some(timeout)).await?;
        reply.body.parse().map_err(|error| RequestError::Failed {
            channel: Arc::clone(&self.inner.label),
            action: action::HELLO.to_owned(),
            error: protocol::ReplyError::new(
                protocol::code::BAD_REQUEST,
                format!("the reply lacks what hello needs: {error}"),
            ),
        })
    }

    /// Asks the worker to exit; returns when it has agreed.
    pub async fn shutdown(&self, timeout: Duration) -> Result<Reply, RequestError> {
        self.request(action::SHUTDOWN, &(), Some(timeout)).await
    }

    /// Closes both directions; pending requests end with an error.
    pub fn close(&self) {
        self.inner.shut(CloseReason::ClosedHere);
    }

    /// Whether the channel is closed and every pending request has ended.
    pub fn is_closed(&self) -> bool {
        self.inner.closed.is_cancelled()
    }

    /// Waits until the channel is closed.
    pub async fn closed(&self) -> CloseReason {
        self.inner.closed.cancelled().await;
        self.inner.reason()
    }

    /// How many requests of ours wait for a reply.
    pub fn pending(&self) -> usize {
        lock(&self.inner.mux).len()
    }

    /// The process at the other end has exited: read what is left and close.
    pub fn peer_is_gone(&self) {
        self.inner.peer_gone.cancel();
    }

    /// Begins a batch of notifications that will be written at once.
    pub fn batch(&self) -> NotificationBatch<'_> {
        NotificationBatch::new(self)
    }

    /// Sends a notification; waits only while the writer's buffer is full.
    pub async fn notify<T: Serialize + ?Sized>(
        &self,
        kind: &str,
        payload: &T,
    ) -> Result<(), NotifyError> {
        let line = protocol::notification_line(kind, payload, self.inner.config.max_line)?;
        self.inner.writer.send(&line).await.map_err(|_| self.inner.closed_error().into())
    }
}

impl Inner {
    /// Begins to close. The reader ends pending requests, so that what it has read comes first.
    fn shut(&self, reason: CloseReason) {
        drop(self.reason.set(reason));
        self.writer.close();
        self.stop.cancel();
    }

    /// The last step of closing: ends all pending requests.
    fn end_pending(&self, reason: CloseReason) {
        drop(self.reason.set(reason));
        self.writer.close();
        // Dropping a waiter's sender is what tells it.
        drop(lock(&self.mux).close());
        lock(&self.running).drain().for_each(|(_, handler)| handler.abort());
        self.closed.cancel();
    }

    fn reason(&self) -> CloseReason {
        self.reason.get().cloned().unwrap_or(CloseReason::EndOfFile)
    }

    fn closed_error(&self) -> ChannelClosed {
        ChannelClosed { channel: Arc::clone(&self.label), reason: self.reason() }
    }

    fn report(&self, diagnostic: Diagnostic) {
        self.config.diagnostics.report(diagnostic);
    }

    /// Whether a request is open, in either direction.
    fn is_awaited(&self) -> bool {
        !lock(&self.running).is_empty() || lock(&self.mux).len() > 0
    }

    fn is_reading_paused(&self) -> bool {
        self.reading_paused.load(Ordering::Relaxed)
    }
}

/// Runs the writer; when the other side stops reading, ends the channel after a short while.
async fn watch_writer(inner: Arc<Inner>) {
    let Some(error) = inner.writer.clone().run().await else { return };
    if inner.closed.is_cancelled() {
        return;
    }
    let reason = error.to_string();
    inner.report(Diagnostic::WriteFailed {
        channel: Arc::clone(&inner.label),
        reason: reason.clone(),
    });
    let last_replies = tokio::time::sleep(REPLY_GRACE);
    tokio::select! {
        () = inner.closed.cancelled() => {}
        () = last_replies => inner.shut(CloseReason::WriteFailed(reason)),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
