//! A worker's connection: one writer lock, and reading by the thread that waits for a message.
//!
//! There is no reader thread. A thread that waits (the serving loop for a request, a handler for the
//! host's reply) reads the stream itself if nobody else does, and puts what it finds for others
//! into the shared inbox; otherwise it sleeps until the reading thread has put something there.
//! So a worker with one thread never changes threads, and a handler may ask the host while the
//! loop is busy with that very handler. State: the inbox, the unread bytes, both behind locks; the
//! input is only taken while holding no other lock, and given up under the inbox's, so that no
//! wake-up is lost.

use super::{Ended, RequestFailure};
use crate::framer::{Frame, Framer};
use crate::protocol::{
    self, Body, CancelRequest, IncomingRequest, Message, Notification, Reply, ReplyError, code,
    kind,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Requests that may wait to be served; further ones are answered `busy`.
const QUEUE: usize = 1024;

pub(super) type OnNotification = Box<dyn Fn(Notification) + Send + Sync>;

pub(super) struct Link {
    output: Mutex<File>,
    input: Mutex<Input>,
    inbox: Mutex<Inbox>,
    changed: Condvar,
    on_notification: Option<OnNotification>,
}

struct Input {
    file: File,
    framer: Framer,
    chunk: Vec<u8>,
}

#[derive(Default)]
pub(super) struct Inbox {
    last_id: u64,
    /// Our requests: `None` until the reply is there.
    replies: HashMap<String, Option<Result<Reply, ReplyError>>>,
    requests: VecDeque<IncomingRequest>,
    /// Handlers at work.
    pub(super) running: usize,
    /// The worker is done; no thread serves requests.
    pub(super) ended: Option<Ended>,
    /// The host closed the stream.
    closed: bool,
    /// Number of sleeping threads: a wake-up without a sleeper is still a system call, and there are two per request.
    sleeping: usize,
}

impl Link {
    pub(super) fn new(read: File, write: File, on_notification: Option<OnNotification>) -> Self {
        let framer = Framer::new(protocol::MAX_LINE);
        let input = Input { file: read, framer, chunk: vec![0; 64 * 1024] };
        Self {
            output: Mutex::new(write),
            input: Mutex::new(input),
            inbox: Mutex::default(),
            changed: Condvar::new(),
            on_notification,
        }
    }

    /// Writes complete lines, one writer at a time.
    pub(super) fn write(&self, lines: &[u8]) -> io::Result<()> {
        lock(&self.output).write_all(lines)
    }

    /// The next request to serve, or how serving ended.
    pub(super) fn next_request(&self) -> Result<IncomingRequest, Ended> {
        let taken = self.wait_until(None, |inbox| {
            if let Some(ended) = inbox.ended {
                return Some(Err(ended));
            }
            if let Some(request) = inbox.requests.pop_front() {
                inbox.running += 1;
                return Some(Ok(request));
            }
            inbox.closed.then_some(Err(Ended::HostGone))
        });
        taken.unwrap_or(Err(Ended::HostGone))
    }

    /// Notes that a handler is done, and whether that was the end.
    pub(super) fn finish_request(&self, ended: Option<Ended>) {
        let mut inbox = lock(&self.inbox);
        inbox.running -= 1;
        inbox.ended = inbox.ended.or(ended);
        self.wake(&inbox);
    }

    /// Sleeps, without reading, until serving has ended and no handler is at work.
    pub(super) fn wait_for_end(&self) -> Ended {
        let mut inbox = lock(&self.inbox);
        loop {
            match inbox.ended {
                Some(ended) if inbox.running == 0 => return ended,
                _ if inbox.closed && inbox.running == 0 && inbox.requests.is_empty() => {
                    return Ended::HostGone;
                }
                _ => {}
            }
            inbox = self.sleep(inbox, None);
        }
    }

    /// Sends a request to the host and waits for the reply.
    pub(super) fn request<T: Serialize + ?Sized>(
        &self,
        action: &str,
        payload: &T,
        timeout: Option<Duration>,
    ) -> Result<Reply, RequestFailure> {
        let id = self.open_request();
        let sent = protocol::request_line(&id, action, payload, protocol::MAX_LINE)
            .map_err(RequestFailure::Encode)
            .and_then(|line| self.write(&line).map_err(RequestFailure::Io));
        if let Err(failure) = sent {
            lock(&self.inbox).replies.remove(&id);
            return Err(failure);
        }
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        let answer = self.wait_until(deadline, |inbox| match inbox.replies.get_mut(&id) {
            Some(slot) => match slot.take() {
                Some(answer) => Some(answer.map_err(RequestFailure::Refused)),
                None => inbox.closed.then_some(Err(RequestFailure::HostGone)),
            },
            None => Some(Err(RequestFailure::HostGone)),
        });
        lock(&self.inbox).replies.remove(&id);
        answer.unwrap_or_else(|| {
            self.cancel(&id);
            Err(RequestFailure::Timeout(timeout.unwrap_or_default()))
        })
    }

    fn open_request(&self) -> String {
        let mut inbox = lock(&self.inbox);
        inbox.last_id += 1;
        let id = format!("w{}", inbox.last_id);
        inbox.replies.insert(id.clone(), None);
        id
    }

    fn cancel(&self, id: &str) {
        let cancel = CancelRequest { id: id.into() };
        let line = protocol::notification_line(kind::CANCEL_REQUEST, &cancel, protocol::MAX_LINE);
        if let Ok(line) = line {
            // If this cannot be written, the host is gone.
            drop(self.write(&line));
        }
    }

    /// Waits until `found` finds something in the inbox; `None` when the deadline has passed.
    fn wait_until<R>(
        &self,
        deadline: Option<Instant>,
        mut found: impl FnMut(&mut Inbox) -> Option<R>,
    ) -> Option<R> {
        let mut inbox = lock(&self.inbox);
        loop {
            if let Some(result) = found(&mut inbox) {
                return Some(result);
            }
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return None;
            }
            inbox = match self.input.try_lock() {
                Ok(mut input) => {
                    drop(inbox);
                    let open = self.read_some(&mut input, left);
                    let mut inbox = lock(&self.inbox);
                    inbox.closed |= !open;
                    drop(input);
                    self.wake(&inbox);
                    inbox
                }
                Err(_) => self.sleep(inbox, left),
            };
        }
    }

    fn wake(&self, inbox: &Inbox) {
        if inbox.sleeping > 0 {
            self.changed.notify_all();
        }
    }

    fn sleep<'a>(
        &self,
        mut inbox: MutexGuard<'a, Inbox>,
        left: Option<Duration>,
    ) -> MutexGuard<'a, Inbox> {
        inbox.sleeping += 1;
        let mut inbox = match left {
            None => self.changed.wait(inbox).unwrap_or_else(PoisonError::into_inner),
            Some(left) => {
                let woken = self.changed.wait_timeout(inbox, left);
                woken.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        inbox.sleeping -= 1;
        inbox
    }

    /// Reads once and puts what came into the inbox; false at the end of the stream.
    fn read_some(&self, input: &mut Input, left: Option<Duration>) -> bool {
        if let Some(left) = left
            && !readable_within(&input.file, left)
        {
            return true;
        }
        let Input { file, framer, chunk } = input;
        let open = match file.read(chunk) {
            Ok(count @ 1..) => {
                framer.feed(&chunk[..count]);
                true
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => true,
            Ok(0) | Err(_) => {
                framer.finish();
                false
            }
        };
        while let Some(frame) = framer.next_frame() {
            match frame {
                Frame::Line(line) => self.sort(line),
                Frame::NotUtf8(_) => self.log("warn", "skipped a line that is not utf-8"),
                Frame::TooLong { len } => {
                    self.log("warn", &format!("skipped a line of {len} bytes"));
                }
            }
        }
        open
    }

    /// Puts one message where it belongs.
    fn sort(&self, line: &str) {
        if line.trim_ascii().is_empty() {
            return;
        }
        match protocol::classify(line) {
            Ok(Message::Reply { to, error }) => {
                let answer = match error {
                    Some(raw) => Err(ReplyError::from_raw(raw)),
                    None => Ok(Reply { body: Body::new(line) }),
                };
                if let Some(slot) = lock(&self.inbox).replies.get_mut(&*to) {
                    *slot = Some(answer);
                }
            }
            Ok(Message::Request { id, action }) => self.queue(IncomingRequest {
                id: id.into(),
                action: action.into(),
                body: Body::new(line),
            }),
            Ok(Message::Unclear { id }) => {
                let error = ReplyError::new(code::BAD_REQUEST, "a request needs an \"action\"");
                self.refuse(&id, &error);
            }
            Ok(Message::Notification { kind, .. }) if kind == kind::CANCEL_REQUEST => {
                self.cancelled(line);
            }
            Ok(Message::Notification { kind, event }) => {
                if let Some(callback) = &self.on_notification {
                    callback(Notification { kind: kind.into(), body: Body::new(line), event });
                }
            }
            Err(error) => self.log("warn", &format!("skipped a malformed line: {error}")),
        }
    }

    fn queue(&self, request: IncomingRequest) {
        let mut inbox = lock(&self.inbox);
        if inbox.requests.len() < QUEUE {
            inbox.requests.push_back(request);
            return;
        }
        drop(inbox);
        let error = ReplyError::new(code::BUSY, format!("{QUEUE} requests wait, ask again later"));
        self.refuse(&request.id, &error);
    }

    /// A request that has not begun is answered; one in work goes on, which is harmless.
    fn cancelled(&self, line: &str) {
        let Ok(cancel) = serde_json::from_str::<CancelRequest<'_>>(line) else { return };
        let mut inbox = lock(&self.inbox);
        let before = inbox.requests.len();
        inbox.requests.retain(|request| *request.id != *cancel.id);
        let removed = inbox.requests.len() < before;
        drop(inbox);
        if removed {
            let error = ReplyError::new(code::CANCELLED, "cancelled before it had begun");
            self.refuse(&cancel.id, &error);
        }
    }

    fn refuse(&self, id: &str, error: &ReplyError) {
        // If the host is gone, the next read says so.
        drop(self.write(&protocol::error_line(id, error, protocol::MAX_LINE)));
    }

    pub(super) fn log(&self, level: &str, message: &str) {
        #[derive(Serialize)]
        struct Log<'a> {
            level: &'a str,
            message: &'a str,
        }
        let log = Log { level, message };
        if let Ok(line) = protocol::notification_line(kind::LOG, &log, protocol::MAX_LINE) {
            drop(self.write(&line));
        }
    }
}

fn readable_within(file: &File, left: Duration) -> bool {
    let mut fds = [PollFd::new(file, PollFlags::IN)];
    let limit = Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: left.subsec_nanos().into(),
    };
    // An error leads to the read, which reports it.
    poll(&mut fds, Some(&limit)) != Ok(0)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
