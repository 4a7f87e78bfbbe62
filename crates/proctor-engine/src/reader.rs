//! Reads the messages of a subject from the stream of a run, in order and once each, across restarts of the server.
//!
//! The reader, not the server, knows how far it is: whenever something is out of the ordinary, it asks for a new consumer that
//! begins behind the last message it has seen.

use std::time::Duration;

use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::pull::Config;
use async_nats::jetstream::consumer::{AckPolicy, Consumer, DeliverPolicy};
use async_nats::jetstream::stream::Stream;
use futures_util::StreamExt;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::publisher::MORE;

/// How long the server holds a request for messages when there are none.
const EXPIRES: Duration = Duration::from_secs(1);
/// How much longer its word that there are none may take.
const ANSWER: Duration = Duration::from_millis(500);
/// So many messages are asked for at once.
const BATCH: usize = 256;
/// Before something is tried again.
const PAUSE: Duration = Duration::from_millis(50);

/// A message as it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) sequence: u64,
    pub(crate) subject: String,
    pub(crate) body: String,
    pub(crate) more: bool,
}

/// Reads until the receiver is dropped.
pub(crate) async fn read_all(
    stream: Stream,
    subject: String,
    messages: mpsc::Sender<Stored>,
    mut connections: watch::Receiver<u64>,
) {
    let mut last = 0;
    while !messages.is_closed() {
        connections.mark_unchanged();
        if let Ok(consumer) = consumer(&stream, &subject, last).await {
            tokio::select! {
                () = read_from(&consumer, &mut last, &messages) => {}
                // Whatever was asked for on the old connection is not answered any more.
                Ok(()) = connections.changed() => continue,
            }
            // Best effort; it ends by itself when nobody asks it any more.
            let name = &consumer.cached_info().name;
            let _ = timeout(PAUSE, stream.delete_consumer(name)).await;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn consumer(
    stream: &Stream,
    subject: &str,
    last: u64,
) -> Result<Consumer<Config>, async_nats::jetstream::stream::ConsumerError> {
    let config = Config {
        filter_subject: subject.to_owned(),
        deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: last + 1 },
        ack_policy: AckPolicy::None,
        inactive_threshold: Duration::from_secs(30),
        memory_storage: true,
        ..Config::default()
    };
    stream.create_consumer(config).await
}

/// Reads from one consumer until anything is out of the ordinary.
async fn read_from(consumer: &Consumer<Config>, last: &mut u64, messages: &mpsc::Sender<Stored>) {
    let mut delivered = 0;
    loop {
        let batch = consumer.batch().max_messages(BATCH).expires(EXPIRES).messages().await;
        let Ok(mut batch) = batch else { return };
        loop {
            match timeout(EXPIRES + ANSWER, batch.next()).await {
                Ok(Some(Ok(message))) => {
                    let Some((number, stored)) = stored(message) else { return };
                    delivered += 1;
                    // One that is missing was sent to a request that had been given up.
                    if number != delivered {
                        return;
                    }
                    let sequence = stored.sequence;
                    if sequence > *last && messages.send(stored).await.is_err() {
                        return;
                    }
                    *last = sequence.max(*last);
                }
                Ok(None) => break,
                Ok(Some(Err(_))) | Err(_) => return,
            }
        }
    }
}

/// A message with its number at the consumer.
fn stored(message: Message) -> Option<(u64, Stored)> {
    let info = message.info().ok()?;
    let (number, sequence) = (info.consumer_sequence, info.stream_sequence);
    let more = message.headers.as_ref().is_some_and(|headers| headers.get(MORE).is_some());
    let body = String::from_utf8(message.payload.to_vec()).ok()?;
    Some((number, Stored { sequence, subject: message.subject.to_string(), body, more }))
}
