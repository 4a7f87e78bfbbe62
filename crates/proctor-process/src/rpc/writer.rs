//! Writes whole lines to a channel, one at a time, with back-pressure.
//!
//! Owns the bytes that are waiting to be written. The sender of a line writes it directly when
//! nothing waits and the kernel takes it (no task switch in the common case); what is left over is
//! finished by the channel's one writer task. A sender whose future is dropped has either not
//! begun or leaves a complete line behind, so half lines never happen.
//!
//! Bound: once [`Writer::HIGH_WATER`] (or the configured number of) bytes wait, senders wait.

use super::io::Sink;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The writing half of a channel; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    high_water: usize,
    state: Mutex<State>,
    /// Wakes the writer task: bytes wait, or it is over.
    work: Notify,
    /// Wakes senders: there is room again, or it is over.
    room: Notify,
}

#[derive(Debug)]
struct State {
    sink: Option<Arc<Sink>>,
    waiting: Vec<u8>,
    written: usize,
    /// A direct write failed; the task reports it and closes.
    broken: Option<io::Error>,
}

/// Nothing can be written any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WriterClosed;

impl State {
    fn left(&self) -> usize {
        self.waiting.len() - self.written
    }

    /// Writes directly if nothing waits, keeps the rest. Returns whether the task has to help.
    fn accept(&mut self, line: &[u8]) -> Result<bool, WriterClosed> {
        let sink = self.sink.as_ref().ok_or(WriterClosed)?;
        if self.left() > 0 {
            self.waiting.extend_from_slice(line);
            return Ok(false);
        }
        let written = match sink.try_write(line) {
            Ok(count) => count,
            Err(error) if is_temporary(&error) => 0,
            Err(error) => {
                self.broken = Some(error);
                self.sink = None;
                return Err(WriterClosed);
            }
        };
        self.waiting.clear();
        self.written = 0;
        self.waiting.extend_from_slice(&line[written..]);
        Ok(!self.waiting.is_empty())
    }

    fn close(&mut self) {
        self.sink = None;
        self.waiting = Vec::new();
        self.written = 0;
    }
}

impl Writer {
    /// Bytes that may wait before senders have to.
    pub(crate) const HIGH_WATER: usize = 256 * 1024;

    pub(crate) fn new(sink: Sink, high_water: usize) -> Self {
        let state =
            State { sink: Some(Arc::new(sink)), waiting: Vec::new(), written: 0, broken: None };
        let shared = Shared {
            high_water,
            state: Mutex::new(state),
            work: Notify::new(),
            room: Notify::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Sends one or more complete lines, waiting for room if need be.
    pub(crate) async fn send(&self, line: &[u8]) -> Result<(), WriterClosed> {
        loop {
            let room = self.shared.room.notified();
            {
                let mut state = self.lock();
                if state.left() < self.shared.high_water {
                    return self.hand_over(&mut state, line);
                }
            }
            room.await;
        }
    }

    /// Sends a short line without waiting, above the bound if need be. Only for messages whose
    /// number is bounded by something else (a cancel per open request).
    pub(crate) fn send_now(&self, line: &[u8]) -> Result<(), WriterClosed> {
        self.hand_over(&mut self.lock(), line)
    }

    fn hand_over(&self, state: &mut State, line: &[u8]) -> Result<(), WriterClosed> {
        match state.accept(line) {
            Ok(false) => Ok(()),
            Ok(true) => {
                self.shared.work.notify_one();
                Ok(())
            }
            Err(closed) => {
                // The task reports the error and closes; this sender learns it here.
                self.shared.work.notify_one();
                Err(closed)
            }
        }
    }

    /// Gives up the descriptor; everything that waits is dropped.
    pub(crate) fn close(&self) {
        self.lock().close();
        self.shared.work.notify_one();
        self.shared.room.notify_waiters();
    }

    /// The writer task: finishes what senders left over. Ends with the error that broke the
    /// channel, or with `None` when the writer was closed.
    pub(crate) async fn run(self) -> Option<io::Error> {
        loop {
            self.shared.work.notified().await;
            match self.flush().await {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.close();
                    return Some(error);
                }
            }
        }
    }

    /// Writes until nothing waits (true) or the writer is closed (false).
    async fn flush(&self) -> io::Result<bool> {
        loop {
            let sink = {
                let mut state = self.lock();
                if let Some(error) = state.broken.take() {
                    return Err(error);
                }
                let Some(sink) = state.sink.clone() else { return Ok(false) };
                match sink.try_write(&state.waiting[state.written..]) {
                    Ok(count) => state.written += count,
                    Err(error) if is_temporary(&error) => {}
                    Err(error) => return Err(error),
                }
                if state.left() < self.shared.high_water {
                    self.shared.room.notify_waiters();
                }
                if state.left() == 0 {
                    return Ok(true);
                }
                sink
            };
            // Not while holding the lock, and not for ever: `close` must get through.
            tokio::select! {
                ready = sink.writable() => ready?,
                () = self.shared.work.notified() => {}
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
