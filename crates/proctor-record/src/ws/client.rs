//! Serving one client: shake hands, then send whatever it has not seen.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use proctor_events::{Published, Translator};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::StatusCode;
use tokio_tungstenite::tungstenite::http::header::{AUTHORIZATION, HOST, ORIGIN};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use super::Service;
use super::feed::Next;
use super::handshake::{self, Refused, Wishes};
use super::patience::{Counting, Taken};
use crate::reader::{Entry, Reader};

/// How many events are sent before looking at the socket's other side again.
const BATCH: usize = 256;
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(5);

pub(super) async fn serve(stream: TcpStream, service: Service) {
    // Small messages must not wait for each other.
    let _ = stream.set_nodelay(true);
    let stream = Counting::new(stream);
    let taken = stream.taken();
    let token = service.token.clone();
    let shaken = timeout(HANDSHAKE_WITHIN, shake_hands(stream, token.as_deref())).await;
    if let Ok(Some((socket, wishes))) = shaken {
        let mut stop = service.stop.clone();
        let session = Session {
            sender: Sender { next: wishes.from_seq, backlog: None, form: Form::new(wishes) },
            socket,
            taken,
            service,
        };
        tokio::select! {
            () = session.run() => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
    }
}

type Socket = WebSocketStream<Counting<TcpStream>>;

async fn shake_hands(stream: Counting<TcpStream>, token: Option<&str>) -> Option<(Socket, Wishes)> {
    let mut wishes = None;
    let config =
        WebSocketConfig::default().max_message_size(Some(1 << 16)).max_frame_size(Some(1 << 16));
    #[expect(clippy::result_large_err, reason = "the shape of the callback is tungstenite's")]
    let callback = |request: &Request, response: Response| match examine(request, token) {
        Ok(asked) => {
            wishes = Some(asked);
            Ok(response)
        }
        Err(refused) => Err(refusal(refused)),
    };
    let socket = tokio_tungstenite::accept_hdr_async_with_config(stream, callback, Some(config))
        .await
        .ok()?;
    wishes.map(|wishes| (socket, wishes))
}

fn examine(request: &Request, token: Option<&str>) -> Result<Wishes, Refused> {
    let header = |name| request.headers().get(name).map(|value| value.to_str().unwrap_or("?"));
    let request = handshake::Request {
        query: request.uri().query(),
        host: header(HOST),
        origin: header(ORIGIN),
        authorization: header(AUTHORIZATION),
    };
    handshake::check(&request, token)
}

fn refusal(refused: Refused) -> ErrorResponse {
    let mut response = ErrorResponse::new(Some(refused.reason.into_owned()));
    *response.status_mut() = StatusCode::from_u16(refused.status).unwrap_or(StatusCode::FORBIDDEN);
    response
}

/// A place in the recording from which older events are read.
type Backlog = Reader<BufReader<File>>;

struct Session {
    socket: Socket,
    taken: Taken,
    service: Service,
    sender: Sender,
}

/// Where a client is in the stream, and in which form it wants it.
struct Sender {
    next: u64,
    backlog: Option<Backlog>,
    form: Form,
}

enum Form {
    Flat,
    Envelope(Box<Translator>),
}

impl Form {
    fn new(wishes: Wishes) -> Self {
        if wishes.envelope { Self::Envelope(Box::default()) } else { Self::Flat }
    }

    fn message(&mut self, event: &Published) -> Message {
        match self {
            Self::Flat => Message::Text(Utf8Bytes::from(&**event.json())),
            Self::Envelope(translator) => {
                Message::Text(translator.translate(event).to_string().into())
            }
        }
    }
}

impl Session {
    async fn run(mut self) {
        let mut changes = self.service.feed.changes();
        loop {
            changes.mark_unchanged();
            let goes_on = match self.service.feed.next(self.sender.next, BATCH) {
                Next::Events(events) => self.send(&events).await,
                Next::InRecording => self.send_from_recording().await,
                Next::Ended => {
                    let closing = self.socket.close(None);
                    let _ = self.taken.patiently(self.service.stuck_after, closing).await;
                    false
                }
                Next::Wait => tokio::select! {
                    changed = changes.changed() => changed.is_ok(),
                    open = listen(&mut self.socket) => open,
                },
            };
            if !goes_on {
                return;
            }
        }
    }

    /// Sends a batch; false if the client is gone or stuck.
    async fn send(&mut self, events: &[Arc<Published>]) -> bool {
        let Self { socket, taken, sender, service } = self;
        let sending = async {
            for event in events {
                sender.next = event.seq.unwrap_or(sender.next) + 1;
                socket.feed(sender.form.message(event)).await?;
            }
            socket.flush().await
        };
        matches!(taken.patiently(service.stuck_after, sending).await, Some(Ok(())))
    }

    async fn send_from_recording(&mut self) -> bool {
        let reader = self.sender.backlog.take();
        let path = self.service.feed.recording().to_owned();
        let from = self.sender.next;
        let read = tokio::task::spawn_blocking(move || older(reader, &path, from)).await;
        let Ok(Some((reader, events))) = read else {
            return false;
        };
        self.sender.backlog = Some(reader);
        self.send(&events).await
    }
}

/// Reads the next few events from number `from` on out of the recording.
///
/// A reader that has come to the end of the file stays there. A client may catch up, fall behind again and come back, so the file is
/// then opened anew: it has grown.
fn older(
    reader: Option<Backlog>,
    path: &Path,
    from: u64,
) -> Option<(Backlog, Vec<Arc<Published>>)> {
    if let Some(mut reader) = reader {
        let events = few(&mut reader, from);
        if !events.is_empty() {
            return Some((reader, events));
        }
    }
    let mut reader = Reader::open(path).ok()?;
    let events = few(&mut reader, from);
    // Nothing there although memory begins later: the recording is damaged.
    (!events.is_empty()).then_some((reader, events))
}

fn few(reader: &mut Backlog, from: u64) -> Vec<Arc<Published>> {
    reader
        .filter_map(|entry| match entry {
            Entry::Event { event, .. } => Some(*event),
            Entry::Problem(_) => None,
        })
        .filter(|event| event.seq.is_some_and(|seq| seq >= from))
        .take(BATCH)
        .map(|event| Arc::new(Published::new(event)))
        .collect()
}

/// Listens to a client that has nothing to say; answers pings; false once it has left.
async fn listen(socket: &mut Socket) -> bool {
    match socket.next().await {
        Some(Ok(Message::Close(_)) | Err(_)) | None => false,
        Some(Ok(_)) => socket.flush().await.is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn seqs(events: &[Arc<Published>]) -> Vec<u64> {
        events.iter().filter_map(|event| event.seq).collect()
    }

    /// Whoever was at the end of the file, in the middle of a line even, and comes back gets what was written since.
    #[test]
    fn a_recording_that_has_grown_is_read_on() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        write!(file, "{{\"seq\":1,\"event_type\":\"A\"}}\n{{\"seq\":2,\"event").unwrap();
        let (reader, first) = older(None, file.path(), 1).unwrap();
        assert_eq!(seqs(&first), [1]);
        write!(file, "_type\":\"A\"}}\n{{\"seq\":3,\"event_type\":\"A\"}}\n").unwrap();
        let (reader, rest) = older(Some(reader), file.path(), 2).unwrap();
        assert_eq!(seqs(&rest), [2, 3]);
        assert!(older(Some(reader), file.path(), 4).is_none());
    }
}
