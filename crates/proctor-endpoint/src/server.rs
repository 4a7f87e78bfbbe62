//! The server: accepting connections, finding the conversation of a request, reading it within limits, and sending the answer.
//!
//! A client that stalls or dies costs its own connection and nothing else. A conversation is found by the first part of the path, which is
//! random, or by the key, for clients that know no other path than their own.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use proctor_llm::wire::Protocol;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::answer::{Reply, error_reply};
use crate::conversation::{Delivery, EndpointState, OpenEndpoint, Source};
use crate::fault::Fault;

/// The header-read timeout; between two requests of a connection it does not run.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// The largest size of a request's headers.
const MAX_HEADER_BYTES: usize = 64 << 10;
/// How long the body of a request may take.
const BODY_TIMEOUT: Duration = Duration::from_mins(1);
/// The largest body of a request.
const MAX_BODY_BYTES: usize = 32 << 20;
/// How many connections there may be at once.
const MAX_CONNECTIONS: usize = 1024;
/// Before the connection of a cut stream breaks, so that its beginning is sent.
const CUT_PAUSE: Duration = Duration::from_millis(20);
/// What keys begin with.
const KEY_PREFIX: &str = "sk-proctor-";
/// Headers of an agent that go on to a real model: they say which version of the interface it speaks.
const FORWARDED_HEADERS: [&str; 3] = ["anthropic-version", "anthropic-beta", "openai-beta"];

type Body = UnsyncBoxBody<Bytes, io::Error>;

/// The conversations that have an endpoint, by their random names.
type Conversations = Mutex<HashMap<String, Arc<EndpointState>>>;

fn lock(conversations: &Conversations) -> MutexGuard<'_, HashMap<String, Arc<EndpointState>>> {
    conversations.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A server on the loopback. It ends when the last clone is dropped.
#[derive(Clone)]
pub struct EndpointServer(Arc<Inner>);

struct Inner {
    address: SocketAddr,
    conversations: Arc<Conversations>,
    accepting: JoinHandle<()>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl std::fmt::Debug for EndpointServer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "EndpointServer({})", self.0.address)
    }
}

/// The place of a conversation at the server; given up when dropped.
pub(crate) struct Registered {
    url: String,
    key: String,
    token: String,
    conversations: Arc<Conversations>,
    /// Keeps the server alive.
    _server: EndpointServer,
}

impl Registered {
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn key(&self) -> &str {
        &self.key
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        lock(&self.conversations).remove(&self.token);
    }
}

impl EndpointServer {
    /// Starts a server on a free port.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let conversations = Arc::<Conversations>::default();
        let accepting = tokio::spawn(accept(listener, Arc::clone(&conversations)));
        Ok(Self(Arc::new(Inner { address, conversations, accepting })))
    }

    /// The endpoint of a conversation; `name` and `repeat` keep its answers apart from others in a cache.
    pub fn open(
        &self,
        name: &str,
        repeat: u32,
        source: Source,
        faults: Vec<Fault>,
    ) -> io::Result<OpenEndpoint> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let token: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let state = Arc::new(EndpointState::new(name.to_owned(), repeat, source, faults));
        lock(&self.0.conversations).insert(token.clone(), Arc::clone(&state));
        let registered = Registered {
            url: format!("http://{}/{token}", self.0.address),
            key: format!("{KEY_PREFIX}{token}"),
            token,
            conversations: Arc::clone(&self.0.conversations),
            _server: self.clone(),
        };
        Ok(OpenEndpoint::new(state, registered))
    }
}

async fn accept(listener: TcpListener, conversations: Arc<Conversations>) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Most likely out of descriptors: a pause avoids a busy loop.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        // Beyond the limit a connection is closed at once.
        let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else { continue };
        let conversations = Arc::clone(&conversations);
        tokio::spawn(async move {
            serve(stream, conversations).await;
            drop(permit);
        });
    }
}

async fn serve(stream: TcpStream, conversations: Arc<Conversations>) {
    let _ = stream.set_nodelay(true);
    let service = hyper::service::service_fn(move |request| {
        let conversations = Arc::clone(&conversations);
        async move { Ok::<_, Infallible>(handle(&conversations, request).await) }
    });
    // How a connection ended concerns its client alone.
    let _ = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MAX_HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// The interface that a path belongs to.
fn protocol_of(path: &str) -> Option<Protocol> {
    Protocol::ALL.into_iter().find(|protocol| path.ends_with(protocol.path()))
}

async fn handle(conversations: &Conversations, request: Request<Incoming>) -> Response<Body> {
    let path = request.uri().path().trim_end_matches('/').to_owned();
    let protocol = protocol_of(&path);
    // Errors of an unknown path are written as most clients read them.
    let words = protocol.unwrap_or(Protocol::ChatCompletions);
    let Some(state) = conversation_of(conversations, &path, request.headers()) else {
        let message = "this address and key belong to no conversation that is running; the model endpoint of a conversation ends with it";
        return whole(error_reply(words, 401, message));
    };
    tokio::select! {
        response = answer(&state, &path, protocol, request) => response,
        () = state.closed() => whole(error_reply(words, 503, "the conversation is over")),
    }
}

/// By the first part of the path, else by the key.
fn conversation_of(
    conversations: &Conversations,
    path: &str,
    headers: &HeaderMap,
) -> Option<Arc<EndpointState>> {
    let known = lock(conversations);
    let token = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = text(AUTHORIZATION.as_str()).and_then(|value| value.strip_prefix("Bearer "));
    let of_key = |key: Option<&str>| known.get(key?.strip_prefix(KEY_PREFIX)?);
    let found = known.get(token).or_else(|| of_key(bearer)).or_else(|| of_key(text("x-api-key")));
    found.cloned()
}

async fn answer(
    state: &Arc<EndpointState>,
    path: &str,
    protocol: Option<Protocol>,
    request: Request<Incoming>,
) -> Response<Body> {
    let method = request.method().clone();
    if path.ends_with("/messages/count_tokens") && method == Method::POST {
        let body = read_body(Protocol::Messages, request).await;
        let tokens = |body: Value| (body.to_string().len() as u64).div_ceil(4);
        return whole(body.map_or_else(
            |refused| refused,
            |body| Reply::json(200, &json!({"input_tokens": tokens(body)})),
        ));
    }
    match (protocol, &method) {
        (Some(protocol), &Method::POST) => {
            let headers = forwarded_headers(request.headers());
            match read_body(protocol, request).await {
                Ok(body) => deliver(state.call(protocol, &body, headers).await, state).await,
                Err(refused) => whole(refused),
            }
        }
        _ if method != Method::POST && path.ends_with("/models") => {
            let model = json!({"id": "scripted", "object": "model", "type": "model", "display_name": "scripted", "created": 0, "created_at": "1970-01-01T00:00:00Z", "owned_by": "proctor"});
            whole(Reply::json(
                200,
                &json!({"object": "list", "data": [model], "has_more": false, "first_id": "scripted", "last_id": "scripted"}),
            ))
        }
        // Some clients look whether anything is there.
        _ if method != Method::POST && path.matches('/').count() <= 2 && protocol.is_none() => {
            whole(Reply::json(200, &json!({})))
        }
        _ => {
            let place = path.trim_start_matches('/').split_once('/').map_or("", |(_, rest)| rest);
            state.refuse(format!("{method} /{place}"));
            let message = format!(
                "the model endpoint answers POST to …/chat/completions, …/responses and …/messages; it does not know {method} /{place}"
            );
            whole(error_reply(protocol.unwrap_or(Protocol::ChatCompletions), 404, &message))
        }
    }
}

fn forwarded_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let text =
        |name: &&str| Some(((*name).to_owned(), headers.get(*name)?.to_str().ok()?.to_owned()));
    FORWARDED_HEADERS.iter().filter_map(text).collect()
}

async fn read_body(protocol: Protocol, request: Request<Incoming>) -> Result<Value, Reply> {
    let refuse = |status, message: &str| Err(error_reply(protocol, status, message));
    if request.headers().get(CONTENT_ENCODING).is_some_and(|coding| coding != "identity") {
        return refuse(415, "the model endpoint takes bodies without compression");
    }
    let reading = Limited::new(request.into_body(), MAX_BODY_BYTES).collect();
    let Ok(read) = tokio::time::timeout(BODY_TIMEOUT, reading).await else {
        return refuse(408, "the body of the request did not arrive in time");
    };
    let Ok(read) = read else {
        return refuse(413, "the body of the request broke off or is larger than 32 MiB");
    };
    match serde_json::from_slice(&read.to_bytes()) {
        Ok(body @ Value::Object(_)) => Ok(body),
        _ => refuse(400, "the body of the request is not a JSON object"),
    }
}

async fn deliver(delivery: Delivery, state: &EndpointState) -> Response<Body> {
    match delivery {
        Delivery::Whole(reply) => whole(reply),
        Delivery::Cut(reply) => cut(reply),
        Delivery::Slow(reply, by) if reply.is_stream => paused(reply, by),
        Delivery::Slow(reply, by) => {
            tokio::time::sleep(by).await;
            whole(reply)
        }
        Delivery::Never => {
            state.closed().await;
            whole(error_reply(Protocol::ChatCompletions, 503, "the conversation is over"))
        }
    }
}

fn response(reply: &Reply, body: Body) -> Response<Body> {
    let kind =
        if reply.is_stream { "text/event-stream; charset=utf-8" } else { "application/json" };
    let mut builder = Response::builder().status(reply.status).header(CONTENT_TYPE, kind);
    for (name, value) in &reply.headers {
        builder = builder.header(*name, value);
    }
    builder.body(body).unwrap_or_else(|_| {
        let mut failed = Response::new(empty());
        *failed.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        failed
    })
}

fn empty() -> Body {
    Full::new(Bytes::new()).map_err(|never: Infallible| match never {}).boxed_unsync()
}

fn frames(pieces: Vec<String>) -> impl futures_util::Stream<Item = io::Result<Frame<Bytes>>> {
    futures_util::stream::iter(pieces.into_iter().map(|piece| Ok(Frame::data(Bytes::from(piece)))))
}

fn whole(mut reply: Reply) -> Response<Body> {
    let pieces = std::mem::take(&mut reply.pieces);
    let body = if reply.is_stream {
        BodyExt::boxed_unsync(StreamBody::new(frames(pieces)))
    } else {
        Full::new(Bytes::from(pieces.concat())).map_err(|never| match never {}).boxed_unsync()
    };
    response(&reply, body)
}

/// The first piece, then a pause, then the rest.
fn paused(mut reply: Reply, by: Duration) -> Response<Body> {
    let mut pieces = std::mem::take(&mut reply.pieces);
    let rest = if pieces.is_empty() { Vec::new() } else { pieces.split_off(1) };
    let pause = futures_util::stream::once(tokio::time::sleep(by));
    let pause = pause.map(|()| Ok(Frame::data(Bytes::new())));
    response(
        &reply,
        BodyExt::boxed_unsync(StreamBody::new(frames(pieces).chain(pause).chain(frames(rest)))),
    )
}

/// About half of the answer, and a connection that breaks.
fn cut(mut reply: Reply) -> Response<Body> {
    let mut pieces = std::mem::take(&mut reply.pieces);
    if let [only] = pieces.as_mut_slice() {
        // The name of the model in it is the agent's and may have any letters.
        only.truncate(only.floor_char_boundary(only.len() / 2));
    } else {
        pieces.truncate(pieces.len().div_ceil(2));
    }
    let broken = futures_util::stream::once(async {
        tokio::time::sleep(CUT_PAUSE).await;
        Err(io::Error::other("cut by a fault that the test asks for"))
    });
    response(&reply, BodyExt::boxed_unsync(StreamBody::new(frames(pieces).chain(broken))))
}
