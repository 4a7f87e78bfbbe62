//! Following a run elsewhere: events from a WebSocket become a recording that grows.
//!
//! Every view of recordings can then show the stream too. A broken connection is opened again after the last received event, so that no event
//! is lost or repeated; after [`MAX_ATTEMPTS`] failures the stream is over.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use proctor_events::{Body, Event};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::{Error as WebSocketError, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::session::{STREAM_CLOSING, STREAM_LAG};

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a broken connection is made again, and how long to wait between.
const MAX_ATTEMPTS: u32 = 5;
const RETRY_DELAY: Duration = Duration::from_millis(300);

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Why a stream cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The address cannot be parsed.
    #[error(
        "`{0}` is not the address of an event stream: ws://HOST:PORT, or the address that `proctor serve` printed"
    )]
    BadAddress(String),
    /// No server answers, or it does not speak WebSocket.
    #[error("cannot follow {address}: {problem}")]
    Unreachable {
        /// The address, without its token.
        address: String,
        /// What happened.
        problem: String,
    },
    /// The copy cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A stream that is being copied to a file.
#[derive(Debug)]
pub struct RemoteStream {
    over: Arc<AtomicBool>,
    problem: Arc<Mutex<Option<String>>>,
}

impl RemoteStream {
    /// Whether a name is the address of a stream rather than of a file.
    pub fn is_address(name: &str) -> bool {
        ["ws://", "http://", "wss://", "https://"].iter().any(|scheme| name.starts_with(scheme))
    }

    /// Connects, and copies what comes into a file until the stream ends. Returns once the connection stands.
    pub fn copy(address: &str, into: &Path) -> Result<Self, RemoteError> {
        let address = Address::parse(address)?;
        let failed = |source| RemoteError::Io { path: into.to_owned(), source };
        let file = proctor_files::append_private(into).map_err(failed)?;
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let socket = runtime.block_on(connect(&address, None)).map_err(|problem| {
            RemoteError::Unreachable { address: address.shown.clone(), problem }
        })?;
        let (over, problem) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None)));
        let stream = Self { over: Arc::clone(&over), problem: Arc::clone(&problem) };
        let copy = move || {
            let mut copier = Copier { address, file, last_seq: None, finished: false };
            let outcome = runtime.block_on(copier.run(socket));
            *problem.lock().unwrap_or_else(PoisonError::into_inner) = outcome.err();
            over.store(true, Ordering::Release);
        };
        std::thread::Builder::new().spawn(copy).map_err(failed)?;
        Ok(stream)
    }

    /// Whether nothing more will come.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Why the stream ended before its run did, if it did.
    pub fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A parsed address.
#[derive(Debug)]
struct Address {
    /// Everything before the query.
    base: String,
    query: Vec<String>,
    /// The address without its token, for messages.
    shown: String,
}

impl Address {
    /// `http://host:port/…` is the page of a server, whose events are at `/ws`; `#/run/NAME` in it means that run.
    fn parse(text: &str) -> Result<Self, RemoteError> {
        let bad = || RemoteError::BadAddress(text.split('?').next().unwrap_or(text).to_owned());
        let (text, place) = text.split_once('#').unwrap_or((text, ""));
        let named = place.strip_prefix("/run/").and_then(|rest| rest.split(['/', '?']).next());
        let (before, query) = text.split_once('?').unwrap_or((text, ""));
        let base = if let Some(rest) = before.strip_prefix("http://") {
            let host = rest.split('/').next().unwrap_or(rest);
            format!("ws://{host}/ws")
        } else {
            before.to_owned()
        };
        let host = base.strip_prefix("ws://").ok_or_else(bad)?;
        if host.split('/').next().is_none_or(str::is_empty) {
            return Err(bad());
        }
        let base = if host.contains('/') { base } else { format!("{base}/") };
        let query = query.split('&').filter(|part| !part.is_empty()).map(ToOwned::to_owned);
        let mut query: Vec<String> = query.collect();
        if let Some(run) = named.filter(|run| !run.is_empty())
            && !query.iter().any(|part| part.starts_with("run="))
        {
            query.push(format!("run={run}"));
        }
        Ok(Self { shown: base.clone(), query, base })
    }

    fn since(&self, seq: Option<u64>) -> String {
        let mut query: Vec<String> = self
            .query
            .iter()
            .filter(|part| seq.is_none() || !part.starts_with("since="))
            .cloned()
            .collect();
        query.extend(seq.map(|seq| format!("since={seq}")));
        if query.is_empty() {
            self.base.clone()
        } else {
            format!("{}?{}", self.base, query.join("&"))
        }
    }
}

async fn connect(address: &Address, since: Option<u64>) -> Result<Socket, String> {
    match timeout(CONNECT_TIMEOUT, connect_async(address.since(since))).await {
        Err(_) => Err("no answer in time".to_owned()),
        Ok(Ok((socket, _))) => Ok(socket),
        Ok(Err(WebSocketError::Http(response))) => {
            let body =
                response.body().as_ref().map(|body| String::from_utf8_lossy(body).into_owned());
            let body = body.unwrap_or_default();
            Err(format!("the server answered {} {}", response.status(), body.trim())
                .trim_end()
                .to_owned())
        }
        Ok(Err(error)) => Err(error.to_string()),
    }
}

struct Copier {
    address: Address,
    file: File,
    last_seq: Option<u64>,
    finished: bool,
}

impl Copier {
    async fn run(&mut self, socket: Socket) -> Result<(), String> {
        let mut socket = Some(socket);
        let mut tries = 0;
        loop {
            if let Some(open) = socket.take() {
                let before = self.last_seq;
                self.drain(open).await?;
                if self.last_seq != before {
                    tries = 0;
                }
            }
            if self.finished {
                return Ok(());
            }
            tries += 1;
            if tries > MAX_ATTEMPTS {
                return Err("the stream ended before the run did".to_owned());
            }
            tokio::time::sleep(RETRY_DELAY).await;
            socket = connect(&self.address, self.last_seq).await.ok();
        }
    }

    /// Copies until the connection ends; only a file that cannot be written is an error.
    async fn drain(&mut self, mut socket: Socket) -> Result<(), String> {
        while let Some(Ok(message)) = socket.next().await {
            let Message::Text(text) = message else { continue };
            for line in text.lines().filter(|line| !line.trim().is_empty()) {
                if !self.is_event(line) {
                    continue;
                }
                let line = format!("{line}\n");
                self.file.write_all(line.as_bytes()).map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }

    /// Whether a message belongs into the recording; notes where the stream is. What the sender says about the stream itself does not.
    fn is_event(&mut self, line: &str) -> bool {
        if let Ok(event) = Event::from_json(line) {
            if matches!(event.type_name(), STREAM_LAG | STREAM_CLOSING) {
                return false;
            }
            self.last_seq = event.seq.or(self.last_seq);
            self.finished |= matches!(event.body, Body::SuiteFinished(_));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let asked = |text: &str, since| Address::parse(text).unwrap().since(since);
        assert_eq!(asked("ws://localhost:9", None), "ws://localhost:9/");
        assert_eq!(asked("ws://localhost:9?token=t", Some(3)), "ws://localhost:9/?token=t&since=3");
        assert_eq!(asked("ws://h:9/ws?since=1&token=t", Some(3)), "ws://h:9/ws?token=t&since=3");
        assert_eq!(asked("http://h:9/run/1?token=t#turn", None), "ws://h:9/ws?token=t");
        let live = "http://h:9/?token=t#/run/0190-a/example/e1?view=events";
        assert_eq!(asked(live, None), "ws://h:9/ws?token=t&run=0190-a");
        assert_eq!(asked("http://h:9/?run=x#/run/y", None), "ws://h:9/ws?run=x");
        for bad in ["ws://", "wss://h", "https://h?token=secret"] {
            let error = Address::parse(bad).unwrap_err().to_string();
            assert!(
                error.contains("is not the address of an event stream")
                    && !error.contains("secret")
            );
        }
    }
}
