//! Stores texts in the stream of a run, in order and once each.
//!
//! One message is in flight at a time. One that is not acknowledged is sent again with the same id, which the server stores once;
//! so a lost acknowledgement doubles nothing, and nothing overtakes. What waits meanwhile goes into the next message together.

use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::message::PublishMessage;
use tokio::sync::{mpsc, watch};

use crate::frame::{self, Frame, MAX_PART};

/// The header of a message whose line goes on in the next one.
pub(crate) const MORE: &str = "Proctor-More";
/// So many texts are taken together.
const BATCH: usize = 256;
/// Before a message is sent again that the server did not take.
const PAUSE: Duration = Duration::from_millis(50);

/// A text and the subject that it goes to.
pub(crate) struct Outgoing {
    pub(crate) subject: String,
    pub(crate) text: String,
}

/// Publishes what comes, until the sender is dropped or the stream is gone.
pub(crate) async fn publish_all(
    context: Context,
    stream: String,
    sender: String,
    mut outgoing: mpsc::Receiver<Outgoing>,
    mut connections: watch::Receiver<u64>,
) {
    let mut number = 0_u64;
    let mut waiting = Vec::new();
    while outgoing.recv_many(&mut waiting, BATCH).await > 0 {
        for (subject, texts) in by_subject(waiting.drain(..)) {
            for frame in frame::pack(texts, MAX_PART) {
                number += 1;
                let id = format!("{sender}/{number}");
                if !store(&context, &stream, &subject, &id, frame, &mut connections).await {
                    return;
                }
            }
        }
    }
}

/// Texts that go to the same subject together; the order within a subject stays.
fn by_subject(all: impl Iterator<Item = Outgoing>) -> Vec<(String, Vec<String>)> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for Outgoing { subject, text } in all {
        match groups.iter_mut().find(|(known, _)| *known == subject) {
            Some((_, texts)) => texts.push(text),
            None => groups.push((subject, vec![text])),
        }
    }
    groups
}

/// Stores one message; false if there is no stream any more.
async fn store(
    context: &Context,
    stream: &str,
    subject: &str,
    id: &str,
    frame: Frame,
    connections: &mut watch::Receiver<u64>,
) -> bool {
    let body = bytes::Bytes::from(frame.body);
    loop {
        connections.mark_unchanged();
        let mut message =
            PublishMessage::build().message_id(id).expected_stream(stream).payload(body.clone());
        if frame.more {
            message = message.header(MORE, "1");
        }
        let stored = async { context.send_publish(subject.to_owned(), message).await?.await };
        // What was in flight when the connection was lost is not answered any more.
        let answer = tokio::select! {
            answer = stored => Some(answer),
            changed = connections.changed() => {
                if changed.is_err() {
                    tokio::time::sleep(PAUSE).await;
                }
                None
            }
        };
        match answer {
            Some(Ok(_)) => return true,
            Some(Err(error)) if error.kind() == PublishErrorKind::StreamNotFound => {
                // No stream takes this subject: the run has ended, unless the server is just starting.
                if context.get_stream(stream).await.is_err_and(|error| is_gone(&error)) {
                    return false;
                }
            }
            Some(Err(_)) => {}
            None => continue,
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Whether the server says that there is no such stream.
fn is_gone(error: &async_nats::jetstream::context::GetStreamError) -> bool {
    use async_nats::jetstream::ErrorCode;
    use async_nats::jetstream::context::GetStreamErrorKind;
    matches!(error.kind(), GetStreamErrorKind::JetStream(cause) if cause.error_code() == ErrorCode::STREAM_NOT_FOUND)
}
