//! Delivers notifications from the reader to their receiver: a queue, a callback, or none.
//!
//! The queue is bounded by count and by bytes. When it is full the reader waits here, which is what
//! pauses reading; once the process is gone the rest, bounded by the kernel's buffers, is kept
//! aside instead, so that the reader reaches the end of the stream whatever the consumer does.

use super::{Inner, NotificationMode};
use crate::diagnostics::Diagnostic;
use crate::protocol::Notification;
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// A notification that waits, with its share of the byte bound.
type Queued = (Notification, Option<OwnedSemaphorePermit>);

/// The receiving end of the queue of notifications.
#[derive(Debug)]
pub struct Notifications {
    queue: mpsc::Receiver<Queued>,
    /// Taken and put back: they come before those of the queue.
    returned: VecDeque<Notification>,
}

impl Notifications {
    /// The next notification; `None` once the channel is closed and everything was taken.
    pub async fn next(&mut self) -> Option<Notification> {
        if let Some(notification) = self.returned.pop_front() {
            return Some(notification);
        }
        self.queue.recv().await.map(|(notification, _)| notification)
    }

    /// The next notification, if one waits.
    pub fn try_next(&mut self) -> Option<Notification> {
        let returned = self.returned.pop_front();
        returned.or_else(|| self.queue.try_recv().ok().map(|(notification, _)| notification))
    }

    /// Puts back what was taken and is for the next receiver, in its order.
    pub fn put_back(&mut self, notifications: Vec<Notification>) {
        for notification in notifications.into_iter().rev() {
            self.returned.push_front(notification);
        }
    }
}

/// The reader's way to hand on notifications.
pub(super) struct Intake {
    mode: NotificationMode,
    queue: Option<(mpsc::Sender<Queued>, Arc<Semaphore>, usize)>,
    /// What did not fit once the process was gone.
    overflow: VecDeque<Notification>,
}

pub(super) fn intake(mode: &NotificationMode) -> (Intake, Option<Notifications>) {
    let mut intake = Intake { mode: mode.clone(), queue: None, overflow: VecDeque::new() };
    let NotificationMode::Queue { count, bytes } = mode else { return (intake, None) };
    let (sender, queue) = mpsc::channel((*count).max(1));
    let bytes = (*bytes).clamp(1, u32::MAX as usize / 2);
    intake.queue = Some((sender, Arc::new(Semaphore::new(bytes)), bytes));
    (intake, Some(Notifications { queue, returned: VecDeque::new() }))
}

impl Intake {
    /// Hands on one notification, waiting for room while the process lives.
    pub(super) async fn take(&mut self, inner: &Inner, notification: Notification) {
        match &self.mode {
            NotificationMode::Discard => return,
            NotificationMode::Call(callback) => {
                if std::panic::catch_unwind(AssertUnwindSafe(|| callback(notification))).is_err() {
                    inner.report(Diagnostic::CallbackPanicked { place: "notification" });
                }
                return;
            }
            NotificationMode::Queue { .. } => {}
        }
        if !self.overflow.is_empty() {
            self.overflow.push_back(notification);
            return;
        }
        let Err(notification) = self.try_queue(notification) else { return };
        self.wait_for_room(inner, notification).await;
    }

    /// Queues without waiting; hands the notification back if there is no room.
    fn try_queue(&self, notification: Notification) -> Result<(), Notification> {
        let Some((sender, budget, bytes)) = &self.queue else { return Ok(()) };
        let Ok(slot) = sender.try_reserve() else {
            return if sender.is_closed() { Ok(()) } else { Err(notification) };
        };
        let Ok(permit) = Arc::clone(budget).try_acquire_many_owned(cost(&notification, *bytes))
        else {
            return Err(notification);
        };
        slot.send((notification, Some(permit)));
        Ok(())
    }

    async fn wait_for_room(&mut self, inner: &Inner, notification: Notification) {
        let Some((sender, budget, bytes)) = &self.queue else { return };
        let waiting = sender.max_capacity() - sender.capacity();
        if !inner.reading_paused.swap(true, Ordering::Relaxed) {
            inner.report(Diagnostic::ReadingPaused {
                channel: Arc::clone(&inner.label),
                queued: waiting,
            });
        }
        let room = async {
            let slot = sender.reserve().await.ok()?;
            let wanted = cost(&notification, *bytes);
            // Whoever gives up the queue also frees its permits, so waiting for both is safe.
            let permit = tokio::select! {
                permit = Arc::clone(budget).acquire_many_owned(wanted) => permit.ok(),
                () = sender.closed() => None,
            };
            Some((slot, permit))
        };
        let kept = tokio::select! {
            room = room => {
                if let Some((slot, permit)) = room {
                    slot.send((notification, permit));
                }
                None
            }
            () = inner.peer_gone.cancelled() => Some(notification),
            () = inner.stop.cancelled() => None,
        };
        inner.reading_paused.store(false, Ordering::Relaxed);
        self.overflow.extend(kept);
    }

    /// Delivers what did not fit while the channel was being drained.
    pub(super) async fn finish(mut self) {
        let Some((sender, _, _)) = self.queue.take() else { return };
        for notification in self.overflow {
            if sender.send((notification, None)).await.is_err() {
                return;
            }
        }
    }
}

fn cost(notification: &Notification, most: usize) -> u32 {
    u32::try_from(notification.body.as_str().len().clamp(1, most)).unwrap_or(u32::MAX)
}
