//! Plain exchanges of JSON with one address, for protocols that are not a model's: bounded, without redirects, and with
//! the same words when they fail.

use std::collections::VecDeque;
use std::time::Duration;

use proctor_redact::{Redactor, Secret};

use super::{HttpCall, Peer, ResponseBody, Transport, WallClock};
use crate::error::ModelError;
use crate::sse::SseDecoder;
use crate::wire::WireFault;

/// Largest answer, in bytes.
const MAX_BYTES: usize = 16 << 20;

/// An address that JSON is sent to.
#[derive(Debug)]
pub struct JsonEndpoint {
    url: String,
    headers: Vec<(String, Secret)>,
    transport: Transport,
    peer: Peer,
}

/// What came back: one JSON text, or several as they come.
pub struct JsonReplies<'a> {
    body: ResponseBody,
    peer: &'a Peer,
    decoder: Option<SseDecoder>,
    ready: VecDeque<String>,
    ended: bool,
}

impl JsonEndpoint {
    /// An address, with headers that go with every request.
    pub fn new(url: &str, headers: Vec<(String, Secret)>) -> Result<Self, ModelError> {
        let transport = Transport::new(url, None)?;
        let peer = Peer {
            name: transport.shown().to_owned(),
            redactor: Redactor::new(headers.iter().map(|(_, value)| value.clone())),
            has_key: !headers.is_empty(),
            key_hint: String::new(),
            clock: WallClock::default(),
        };
        Ok(Self { url: url.to_owned(), headers, transport, peer })
    }

    /// Sends one request; a status that is no success is an error.
    pub async fn send(
        &self,
        method: &str,
        more_headers: &[(&str, String)],
        body: Option<String>,
        within: Duration,
    ) -> Result<JsonReplies<'_>, ModelError> {
        let more =
            more_headers.iter().map(|(name, value)| ((*name).to_owned(), Secret::new(value)));
        let headers: Vec<_> = self.headers.iter().cloned().chain(more).collect();
        let call = HttpCall {
            method,
            url: &self.url,
            headers: &headers,
            body,
            idle_timeout: within,
            max_bytes: MAX_BYTES,
        };
        let body = self.transport.send(call, &self.peer).await?;
        let decoder = body.is_event_stream().then(|| SseDecoder::new(MAX_BYTES));
        Ok(JsonReplies { body, peer: &self.peer, decoder, ready: VecDeque::new(), ended: false })
    }
}

impl JsonReplies<'_> {
    /// A header of the answer.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.body.headers.get(name)?.to_str().ok()
    }

    /// The next JSON text; nothing when there is no more.
    pub async fn next(&mut self) -> Result<Option<String>, ModelError> {
        let Some(decoder) = &mut self.decoder else {
            if std::mem::replace(&mut self.ended, true) {
                return Ok(None);
            }
            let text = self.body.text(self.peer).await?;
            return Ok(Some(text).filter(|text| !text.trim().is_empty()));
        };
        loop {
            if let Some(text) = self.ready.pop_front() {
                return Ok(Some(text));
            }
            if self.ended {
                return Ok(None);
            }
            if let Some(piece) = self.body.piece(self.peer).await? {
                let pushed = decoder.push(&piece);
                pushed.map_err(|problem| {
                    self.peer.fault(WireFault::malformed(problem.to_string()))
                })?;
            } else {
                self.ended = true;
                self.ready.extend(decoder.finish().map(|event| event.data));
            }
            while let Some(event) = decoder.next_event() {
                self.ready.push_back(event.data);
            }
        }
    }
}
