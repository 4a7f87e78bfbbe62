//! Sending requests and batches of notifications.
//!
//! An open request owns its entry in the table: however its future ends, by reply, timeout or
//! drop, the entry is gone afterwards, and the other side is told if it still worked on it.

use super::config::{NotifyError, RequestError};
use super::mux::RequestId;
use super::{Channel, Inner, lock};
use crate::protocol::{self, CancelRequest, EncodeError, Reply, kind};
use serde::Serialize;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

impl Channel {
    /// Sends a request and waits for its reply, at most `timeout` if one is given.
    ///
    /// The payload's keys stand next to `id` and `action`. Dropping the future forgets the request
    /// and tells the other side with `cancel_request`.
    pub async fn request<T: Serialize + ?Sized>(
        &self,
        action: &str,
        payload: &T,
        timeout: Option<Duration>,
    ) -> Result<Reply, RequestError> {
        let exchange = self.exchange(action, payload);
        let Some(after) = timeout else { return exchange.await };
        self.within(after, action, exchange).await
    }

    async fn within(
        &self,
        after: Duration,
        action: &str,
        exchange: impl Future<Output = Result<Reply, RequestError>>,
    ) -> Result<Reply, RequestError> {
        match tokio::time::timeout(after, exchange).await {
            Ok(outcome) => outcome,
            Err(_) => Err(RequestError::Timeout {
                channel: Arc::clone(&self.inner.label),
                action: action.to_owned(),
                after,
                reading_paused: self.inner.is_reading_paused(),
            }),
        }
    }

    async fn exchange<T: Serialize + ?Sized>(
        &self,
        action: &str,
        payload: &T,
    ) -> Result<Reply, RequestError> {
        let (waiter, answer) = oneshot::channel();
        let entered = lock(&self.inner.mux).open(waiter);
        let id = entered.map_err(|_| self.inner.request_closed(action))?;
        let mut open = OpenRequest { inner: &self.inner, id, sent: false };
        let line =
            protocol::request_line(&id.to_string(), action, payload, self.inner.config.max_line)
                .map_err(|error| RequestError::Encode { action: action.to_owned(), error })?;
        let sent = self.inner.writer.send(&line).await;
        sent.map_err(|_| self.inner.request_closed(action))?;
        open.sent = true;
        match answer.await {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(error)) => Err(RequestError::Failed {
                channel: Arc::clone(&self.inner.label),
                action: action.to_owned(),
                error,
            }),
            Err(_) => Err(self.inner.request_closed(action)),
        }
    }
}

impl Inner {
    fn request_closed(&self, action: &str) -> RequestError {
        RequestError::Closed { action: action.to_owned(), closed: self.closed_error() }
    }
}

/// An entry in the table of requests.
struct OpenRequest<'a> {
    inner: &'a Inner,
    id: RequestId,
    sent: bool,
}

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        let still_open = lock(&self.inner.mux).forget(self.id);
        if !(still_open && self.sent) {
            return;
        }
        let cancel = CancelRequest { id: self.id.to_string().into() };
        let line = protocol::notification_line(kind::CANCEL_REQUEST, &cancel, protocol::MAX_LINE);
        if let Ok(line) = line {
            // Closed meanwhile: the peer has stopped working on it.
            let _ = self.inner.writer.send_now(&line);
        }
    }
}

/// Notifications that go out together: one write instead of many.
#[derive(Debug)]
pub struct NotificationBatch<'a> {
    channel: &'a Channel,
    lines: Vec<u8>,
}

impl<'a> NotificationBatch<'a> {
    pub(super) fn new(channel: &'a Channel) -> Self {
        Self { channel, lines: Vec::new() }
    }

    /// Adds a notification.
    pub fn push<T: Serialize + ?Sized>(
        &mut self,
        kind: &str,
        payload: &T,
    ) -> Result<(), EncodeError> {
        let limit = self.channel.inner.config.max_line;
        self.lines.extend(protocol::notification_line(kind, payload, limit)?);
        Ok(())
    }

    /// How many bytes are collected; a good batch has some ten thousand.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether nothing is collected.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Writes what is collected; the batch can be filled again.
    pub async fn send(&mut self) -> Result<(), NotifyError> {
        if self.lines.is_empty() {
            return Ok(());
        }
        let sent = self.channel.inner.writer.send(&self.lines).await;
        self.lines.clear();
        sent.map_err(|_| self.channel.inner.closed_error().into())
    }
}
