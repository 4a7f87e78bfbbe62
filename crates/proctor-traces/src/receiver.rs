//! The receiver of a run: OTLP over HTTP on loopback, behind a secret path.
//!
//! Started when the first program is that sends spans. Metrics and logs are taken and dropped, so that a program that sends them by
//! default does not fill its output with errors.

use std::io::{self, Read};
use std::net::Ipv4Addr;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use flate2::read::GzDecoder;
use tokio::net::TcpListener;
use tokio::sync::OnceCell;
use tokio::task::JoinHandle;

use crate::otlp::{decode_json, decode_protobuf};
use crate::span::hex;
use crate::store::{OpenTurn, SpanCounts, SpanStore};

/// The largest body as it is sent, in bytes.
const MAX_BODY: usize = 16 << 20;
/// The largest body after it was unpacked.
const MAX_UNPACKED: u64 = 64 << 20;
const JSON: &str = "application/json";
const PROTOBUF: &str = "application/x-protobuf";

/// The spans of a run. The receiver ends with this value.
#[derive(Debug, Default)]
pub struct Traces {
    store: Arc<SpanStore>,
    receiver: OnceCell<Receiver>,
}

#[derive(Debug)]
struct Receiver {
    endpoint: String,
    task: JoinHandle<()>,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Shared {
    store: Arc<SpanStore>,
    secret: String,
}

impl Traces {
    /// Where programs send their spans, for `OTEL_EXPORTER_OTLP_ENDPOINT`. Starts the receiver when it is first asked.
    ///
    /// # Errors
    ///
    /// If no port of this machine can be opened, or there are no random numbers.
    pub async fn endpoint(&self) -> io::Result<&str> {
        let receiver = self.receiver.get_or_try_init(|| Receiver::start(&self.store)).await?;
        Ok(&receiver.endpoint)
    }

    /// Opens a turn.
    ///
    /// # Errors
    ///
    /// If there are no random numbers.
    pub fn begin(&self) -> io::Result<OpenTurn> {
        self.store.begin().map_err(io::Error::other)
    }

    /// What became of all spans so far.
    pub fn counts(&self) -> SpanCounts {
        self.store.counts()
    }

    /// Remarks for the end of a run.
    pub fn notes(&self) -> Vec<String> {
        let counts = self.counts();
        let mut notes = Vec::new();
        let mut note = |count: u64, text: &str| {
            if count > 0 {
                notes.push(format!("traces: {} {text}", number_of_spans(count)));
            }
        };
        note(
            counts.of_other_traces,
            "belonged to no turn and were left out; the agent must take over the `traceparent` of each turn",
        );
        note(counts.late, "came after their turn was judged and were left out");
        note(counts.too_many, "were more than are kept for a turn and were left out");
        if counts.refused_requests > 0 {
            let reason = self.store.last_refusal().unwrap_or_default();
            let requests = proctor_text::pluralize(counts.refused_requests, "request");
            notes.push(format!(
                "traces: {requests} with spans could not be read; the last one: {reason}"
            ));
        }
        notes
    }
}

fn number_of_spans(count: u64) -> String {
    proctor_text::pluralize(count, "span")
}

impl Receiver {
    async fn start(store: &Arc<SpanStore>) -> io::Result<Self> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let secret = hex(&random);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let endpoint = format!("http://{}/{secret}", listener.local_addr()?);
        let shared = Arc::new(Shared { store: Arc::clone(store), secret });
        let router = Router::new()
            .route("/{secret}/v1/{signal}", post(receive))
            .layer(DefaultBodyLimit::max(MAX_BODY))
            .with_state(shared);
        let task = tokio::spawn(async move {
            // Ends with an error only if the listener is broken; then spans are missing, and turns say so.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { endpoint, task })
    }
}

async fn receive(
    State(shared): State<Arc<Shared>>,
    Path((secret, signal)): Path<(String, String)>,
    headers: HeaderMap,
    body: Result<Bytes, axum::extract::rejection::BytesRejection>,
) -> Response {
    if secret != shared.secret {
        return StatusCode::NOT_FOUND.into_response();
    }
    let is_json = content_type(&headers) == JSON;
    match signal.as_str() {
        "traces" => {}
        "metrics" | "logs" => return accepted(is_json),
        _ => return StatusCode::NOT_FOUND.into_response(),
    }
    let body = match body {
        Ok(body) => body,
        Err(rejection) => {
            shared.store.refuse(rejection.body_text());
            return rejection.into_response();
        }
    };
    match take(&shared.store, &headers, &body) {
        Ok(()) => accepted(is_json),
        Err((status, reason)) => {
            shared.store.refuse(reason.clone());
            (status, reason).into_response()
        }
    }
}

fn take(store: &SpanStore, headers: &HeaderMap, body: &[u8]) -> Result<(), (StatusCode, String)> {
    let unpacked = match header_text(headers, header::CONTENT_ENCODING) {
        "" | "identity" => None,
        "gzip" => Some(unpack(body).map_err(|reason| (StatusCode::BAD_REQUEST, reason))?),
        other => {
            let reason = format!("spans come packed as `{other}`; gzip is read");
            return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, reason));
        }
    };
    let body = unpacked.as_deref().unwrap_or(body);
    let decoded = match content_type(headers) {
        JSON => decode_json(body),
        PROTOBUF => decode_protobuf(body),
        other => {
            let reason = format!("spans come as `{other}`; {PROTOBUF} and {JSON} are read");
            return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, reason));
        }
    };
    store.add(decoded.map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))?);
    Ok(())
}

fn unpack(body: &[u8]) -> Result<Vec<u8>, String> {
    let mut unpacked = Vec::new();
    GzDecoder::new(body)
        .take(MAX_UNPACKED + 1)
        .read_to_end(&mut unpacked)
        .map_err(|error| format!("the body is not gzip: {error}"))?;
    if u64::try_from(unpacked.len()).is_ok_and(|length| length > MAX_UNPACKED) {
        return Err(format!("the body has more than {MAX_UNPACKED} bytes unpacked"));
    }
    Ok(unpacked)
}

/// An empty response in the form of the request: all was taken.
fn accepted(is_json: bool) -> Response {
    if is_json {
        ([(header::CONTENT_TYPE, JSON)], "{}").into_response()
    } else {
        ([(header::CONTENT_TYPE, PROTOBUF)], Bytes::new()).into_response()
    }
}

fn content_type(headers: &HeaderMap) -> &str {
    let whole = header_text(headers, header::CONTENT_TYPE);
    whole.split(';').next().unwrap_or_default().trim()
}

fn header_text(headers: &HeaderMap, name: header::HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use serde_json::json;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// The status of an answer to a POST.
    async fn send(endpoint: &str, path: &str, headers: &str, body: &[u8]) -> u16 {
        let (address, secret) = endpoint.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let path = path.replace("SECRET", secret);
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        // A body that is refused by its length need not be read to its end.
        let _ = stream.write_all(body).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer)[9..12].parse().unwrap()
    }

    fn body(trace_id: &str) -> Vec<u8> {
        let span = json!({"traceId": trace_id, "spanId": "0000000000000001", "name": "a"});
        json!({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).to_string().into()
    }

    #[tokio::test]
    async fn spans_come_by_the_secret_path_only() {
        let traces = Traces::default();
        let endpoint = traces.endpoint().await.unwrap().to_owned();
        assert_eq!(endpoint, traces.endpoint().await.unwrap(), "there is one");
        let turn = traces.begin().unwrap();
        let trace_id = turn.traceparent()[3..35].to_owned();
        let json_header = "content-type: application/json; charset=utf-8\r\n";
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&body(&trace_id)).unwrap();
        let packed = packed.finish().unwrap();
        let gzip = format!("{json_header}content-encoding: gzip\r\n");
        let text = "content-type: text/plain\r\n";
        let protobuf = "content-type: application/x-protobuf\r\n";
        for (path, headers, body, status) in [
            ("/other/v1/traces", json_header, body(&trace_id), 404),
            ("/SECRET/v1/other", json_header, body(&trace_id), 404),
            ("/SECRET/v1/metrics", protobuf, b"x".to_vec(), 200),
            ("/SECRET/v1/traces", json_header, body(&trace_id), 200),
            ("/SECRET/v1/traces", &gzip, packed, 200),
            ("/SECRET/v1/traces", &gzip, b"no gzip".to_vec(), 400),
            ("/SECRET/v1/traces", protobuf, Vec::new(), 200),
            ("/SECRET/v1/traces", protobuf, b"{}".to_vec(), 400),
            ("/SECRET/v1/traces", text, Vec::new(), 415),
            ("/SECRET/v1/traces", json_header, vec![b' '; MAX_BODY + 1], 413),
        ] {
            assert_eq!(send(&endpoint, path, headers, &body).await, status, "{path} {headers}");
        }
        let counts = traces.counts();
        assert_eq!((counts.kept, counts.refused_requests), (1, 4), "the second one is the same");
        assert!(traces.notes()[0].contains("4 requests with spans could not be read"));
        assert_eq!(turn.close().spans.len(), 1);
    }

    #[test]
    fn a_small_body_may_not_become_a_large_one() {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        let zeros = vec![0; 1 << 20];
        for _ in 0..=64 {
            packed.write_all(&zeros).unwrap();
        }
        let packed = packed.finish().unwrap();
        assert!(packed.len() < 1 << 20);
        assert!(unpack(&packed).unwrap_err().contains("unpacked"));
    }
}
