//! A plain client: one request over one connection, and what came back byte for byte.

use std::sync::{Arc, Mutex};

use proctor_endpoint::{
    EndpointServer, Fault, ObservedCall, OpenEndpoint, Script, ScriptItem, ScriptedAnswer, Source,
};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) struct Received {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
    /// Whether the body ended as its head announced it.
    pub(crate) is_complete: bool,
}

impl Received {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

pub(crate) async fn send(method: &str, url: &str, headers: &str, body: &str) -> Received {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let mut stream = TcpStream::connect(host).await.unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut received = Vec::new();
    let _ = stream.read_to_end(&mut received).await;
    let text = String::from_utf8(received).unwrap();
    let (head, rest) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or_default();
    let head = head.to_lowercase();
    let (body, is_complete) = if head.contains("transfer-encoding: chunked") {
        unchunked(rest)
    } else {
        (rest.to_owned(), true)
    };
    Received { status, head, body, is_complete }
}

fn unchunked(mut rest: &str) -> (String, bool) {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let Ok(size) = usize::from_str_radix(size, 16) else { return (body, false) };
        if size == 0 {
            return (body, true);
        }
        let Some(chunk) = after.get(..size) else { return (body + after, false) };
        body.push_str(chunk);
        rest = after.get(size + 2..).unwrap_or_default();
    }
    (body, false)
}

pub(crate) async fn post(url: &str, body: &Value) -> Received {
    send("POST", url, "content-type: application/json\r\n", &body.to_string()).await
}

pub(crate) fn item(answer: ScriptedAnswer) -> ScriptItem {
    ScriptItem { answer, applies: None, times: 1 }
}

pub(crate) fn texts(texts: &[&str]) -> Source {
    let items = texts.iter().map(|text| item(ScriptedAnswer::text(*text)));
    Source::Script(Script::new(items.collect()))
}

/// A scripted endpoint at a server of its own.
pub(crate) async fn scripted(says: &[&str], faults: Vec<Fault>) -> OpenEndpoint {
    let server = EndpointServer::start().await.unwrap();
    server.open("c.1", 1, texts(says), faults).unwrap()
}

/// Collects the calls of an endpoint.
pub(crate) fn observed(endpoint: &OpenEndpoint) -> Arc<Mutex<Vec<ObservedCall>>> {
    let calls = Arc::<Mutex<Vec<ObservedCall>>>::default();
    let seen = Arc::clone(&calls);
    endpoint.observe(Some(Arc::new(move |call| seen.lock().unwrap().push(call))));
    calls
}
