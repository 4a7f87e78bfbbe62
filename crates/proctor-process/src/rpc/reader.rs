//! The reading task of a channel: bytes → frames → replies, notifications, requests.
//!
//! Owns the source, the framer and the intake of notifications. It is the only one
//! that ends pending requests, and it does so after everything it has read was handled.

use super::handler::{HandlerResult, Payload};
use super::intake::Intake;
use super::io::Source;
use super::{CloseReason, Inner, lock};
use crate::diagnostics::Diagnostic;
use crate::framer::{Frame, Framer};
use crate::protocol::{
    self, Body, CancelRequest, IncomingRequest, Message, Notification, Reply, ReplyError, code,
    kind,
};
use futures_util::FutureExt;
use proctor_text::truncate;
use serde_json::value::RawValue;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;
use tokio::io::AsyncReadExt;
use tokio::sync::oneshot;

/// The most characters of a text that a message quotes.
const EXCERPT: usize = 120;

/// No socket holds more than this. What comes beyond it after the process's end comes from what it left behind.
const MAX_REST_BYTES: usize = 64 * 1024 * 1024;
const CHUNK: usize = 64 * 1024;

/// The reading task.
pub(super) async fn run(inner: Arc<Inner>, mut source: Source, first: Vec<u8>, mut intake: Intake) {
    let mut framer = Framer::new(inner.config.max_line);
    framer.feed(&first);
    drop(first);
    handle_frames(&inner, &mut framer, &mut intake).await;
    let reason = read_all(&inner, &mut source, &mut framer, &mut intake).await;
    if reason == CloseReason::EndOfFile {
        framer.finish();
        handle_frames(&inner, &mut framer, &mut intake).await;
    }
    inner.end_pending(reason);
    drop((source, inner));
    intake.finish().await;
}

/// Reads until the channel ends and says why it did.
async fn read_all(
    inner: &Arc<Inner>,
    source: &mut Source,
    framer: &mut Framer,
    intake: &mut Intake,
) -> CloseReason {
    let mut chunk = vec![0; CHUNK];
    let stopped = inner.stop.cancelled();
    let peer_gone = inner.peer_gone.cancelled();
    tokio::pin!(stopped, peer_gone);
    let settle = inner.config.settle;
    let mut last = Instant::now();
    loop {
        let count = tokio::select! {
            biased;
            () = &mut stopped => return inner.reason(),
            read = source.read(&mut chunk) => match read {
                Ok(0) => return CloseReason::EndOfFile,
                Ok(count) => count,
                // The peer of a socket that died with unread bytes resets it: an end like any other.
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {
                    return CloseReason::EndOfFile;
                }
                Err(error) => return CloseReason::ReadFailed(error.to_string()),
            },
            () = &mut peer_gone => return read_rest(inner, source, framer, intake, &mut chunk).await,
        };
        framer.feed(&chunk[..count]);
        let talked = handle_frames(inner, framer, intake).await;
        // A rest after a message that comes alone would cost a wake-up and save none.
        let chatty = last.elapsed() <= settle * 2;
        // Where one side waits for the other, a rest would only make it wait longer; and whoever has just asked or
        // answered is likely to ask again.
        if !settle.is_zero() && chatty && !talked && !inner.is_awaited() {
            source.stop_watching();
            tokio::time::sleep(settle).await;
        }
        last = Instant::now();
    }
}

/// The process has exited: what it has written is in the kernel, and is read without waiting for an end that somebody else
/// may hold up.
async fn read_rest(
    inner: &Arc<Inner>,
    source: &Source,
    framer: &mut Framer,
    intake: &mut Intake,
    chunk: &mut [u8],
) -> CloseReason {
    let mut read = 0;
    while read < MAX_REST_BYTES {
        match source.read_now(chunk) {
            Ok(Some(0)) => return CloseReason::EndOfFile,
            Ok(Some(count)) => {
                read += count;
                framer.feed(&chunk[..count]);
                handle_frames(inner, framer, intake).await;
            }
            Ok(None) => break,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {
                return CloseReason::EndOfFile;
            }
            Err(error) => return CloseReason::ReadFailed(error.to_string()),
        }
    }
    CloseReason::ProcessGone
}

/// Says whether there was anything but notifications.
async fn handle_frames(inner: &Arc<Inner>, framer: &mut Framer, intake: &mut Intake) -> bool {
    let mut talked = false;
    while let Some(frame) = framer.next_frame() {
        match frame {
            Frame::Line(line) => talked |= handle_line(inner, line, intake).await,
            Frame::NotUtf8(bytes) => {
                let diagnostic = Diagnostic::NotUtf8 {
                    channel: Arc::clone(&inner.label),
                    excerpt: truncate(
                        &String::from_utf8_lossy(&bytes[..bytes.len().min(500)]),
                        EXCERPT,
                    ),
                };
                report_unreadable(inner, diagnostic, intake).await;
            }
            Frame::TooLong { len } => {
                let diagnostic = Diagnostic::LineTooLong {
                    channel: Arc::clone(&inner.label),
                    len,
                    limit: inner.config.max_line,
                };
                report_unreadable(inner, diagnostic, intake).await;
            }
        }
    }
    talked
}

/// A line is lost: where the receiver wants to know, it stands among the notifications.
async fn report_unreadable(inner: &Arc<Inner>, diagnostic: Diagnostic, intake: &mut Intake) {
    if !inner.config.report_unreadable {
        return inner.report(diagnostic);
    }
    let message = diagnostic.to_string();
    let line = serde_json::json!({"type": kind::UNREADABLE, "message": message}).to_string();
    let (kind, body) = (kind::UNREADABLE.into(), Body::new(&line));
    let notification = Notification { kind, body, event: None };
    intake.take(inner, notification).await;
}

/// Routes one line by its kind; says whether it was a request or a reply. Blank lines are nothing.
async fn handle_line(inner: &Arc<Inner>, line: &str, intake: &mut Intake) -> bool {
    if line.trim_ascii().is_empty() {
        return false;
    }
    match protocol::classify(line) {
        Ok(Message::Reply { to, error }) => handle_reply(inner, &to, error, line),
        Ok(Message::Notification { kind, .. }) if kind == kind::CANCEL_REQUEST => {
            handle_cancel(inner, line).await;
            return false;
        }
        Ok(Message::Notification { kind, event }) => {
            let notification = Notification { kind: kind.into(), body: Body::new(line), event };
            intake.take(inner, notification).await;
            return false;
        }
        Ok(Message::Request { id, action }) => {
            let request =
                IncomingRequest { id: id.into(), action: action.into(), body: Body::new(line) };
            handle_request(inner, request).await;
        }
        Ok(Message::Unclear { id }) => {
            let diagnostic = Diagnostic::UnclearLine {
                channel: Arc::clone(&inner.label),
                excerpt: truncate(line, EXCERPT),
            };
            report_unreadable(inner, diagnostic, intake).await;
            let error = ReplyError::new(code::BAD_REQUEST, "a request needs an \"action\"");
            send_reply(inner, &id, Err(error)).await;
        }
        Err(error) => {
            let diagnostic = Diagnostic::MalformedLine {
                channel: Arc::clone(&inner.label),
                reason: error.to_string(),
                excerpt: truncate(line, EXCERPT),
            };
            report_unreadable(inner, diagnostic, intake).await;
        }
    }
    true
}

fn handle_reply(inner: &Inner, to: &str, error: Option<&RawValue>, line: &str) {
    let Some(waiter) = lock(&inner.mux).settle(to) else {
        return inner.report(Diagnostic::StrayReply {
            channel: Arc::clone(&inner.label),
            to: to.to_owned(),
            excerpt: truncate(line, EXCERPT),
        });
    };
    let answer = match error {
        Some(raw) => Err(ReplyError::from_raw(raw)),
        None => Ok(Reply { body: Body::new(line) }),
    };
    // The receiver may already be dropped; ignore.
    drop(waiter.send(answer));
}

async fn handle_cancel(inner: &Arc<Inner>, line: &str) {
    let Ok(cancel) = serde_json::from_str::<CancelRequest<'_>>(line) else { return };
    let handler = lock(&inner.running).remove(&*cancel.id);
    if let Some(handler) = handler {
        handler.abort();
        let error = ReplyError::new(code::CANCELLED, "cancelled as you asked");
        send_reply(inner, &cancel.id, Err(error)).await;
    }
}

async fn handle_request(inner: &Arc<Inner>, request: IncomingRequest) {
    let Some(handler) = inner.config.handler.clone() else {
        let error = ReplyError::unknown_action(&request.action);
        return send_reply(inner, &request.id, Err(error)).await;
    };
    if let Err(error) = admit(inner, &request) {
        return send_reply(inner, &request.id, Err(error)).await;
    }
    let id = request.id.clone();
    let task_inner = Arc::clone(inner);
    // The task begins once its entry is in the table, so that it always finds it there.
    let (entered, begin) = oneshot::channel::<()>();
    let task = tokio::spawn(async move {
        drop(begin.await);
        let (id, action) = (request.id.clone(), request.action.clone());
        let work = AssertUnwindSafe(async move { handler.handle(request).await });
        let outcome = work.catch_unwind().await.unwrap_or_else(|_| {
            task_inner.report(Diagnostic::HandlerPanicked {
                channel: Arc::clone(&task_inner.label),
                action: action.to_string(),
            });
            Err(ReplyError::failed(format!("the host's handler of {action:?} panicked")))
        });
        if lock(&task_inner.running).remove(&*id).is_some() {
            send_reply(&task_inner, &id, outcome).await;
        }
    });
    lock(&inner.running).insert(id, task.abort_handle());
    drop(entered);
}

/// Refuses a request that cannot be taken now.
fn admit(inner: &Inner, request: &IncomingRequest) -> Result<(), ReplyError> {
    let running = lock(&inner.running);
    if running.contains_key(&request.id) {
        let text = format!("request {:?} is already in work", request.id);
        return Err(ReplyError::new(code::BAD_REQUEST, text));
    }
    if running.len() >= inner.config.max_handlers {
        let text = format!("{} requests are in work, ask again later", running.len());
        return Err(ReplyError::new(code::BUSY, text));
    }
    Ok(())
}

async fn send_reply(inner: &Inner, to: &str, outcome: HandlerResult) {
    let limit = inner.config.max_line;
    let line = match outcome {
        Ok(Payload(payload)) => protocol::reply_line(to, &payload, limit).unwrap_or_else(|error| {
            let code = match error {
                protocol::EncodeError::TooLong { .. } => code::TOO_LARGE,
                _ => code::FAILED,
            };
            protocol::error_line(to, &ReplyError::new(code, error.to_string()), limit)
        }),
        Err(error) => protocol::error_line(to, &error, limit),
    };
    // Closed: no peer waits for this reply.
    let _ = inner.writer.send(&line).await;
}
