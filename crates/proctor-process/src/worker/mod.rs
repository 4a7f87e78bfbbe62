//! The other side: writing a worker in Rust in a few lines.
//!
//! ```no_run
//! use proctor_process::worker::{Worker, WorkerEnv};
//! use serde_json::{Value, json};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let env = WorkerEnv::from_vars(std::env::vars())?;
//! Worker::new("adder", "1.0")
//!     .on("add", |request, _host| {
//!         let numbers: Value = request.body.value();
//!         Ok(json!({ "sum": numbers["a"].as_i64().unwrap_or(0) + numbers["b"].as_i64().unwrap_or(0) }))
//!     })
//!     .connect(&env)?
//!     .serve();
//! # Ok(())
//! # }
//! ```
//!
//! Synchronous, on plain threads: a worker needs no runtime. It answers `hello`, `__shutdown__` and
//! unknown actions by itself. [`Host`] sends notifications and requests from any thread. It does not
//! read the environment, print, or exit the process: returning from `main` is the caller's.

mod env;
mod link;

pub use env::{Transport, WorkerEnv};

use crate::protocol::{
    self, EncodeError, EventPayload, Hello, IncomingRequest, Notification, Reply, ReplyError,
    WorkerHello, action, code, kind,
};
use crate::rpc::Payload;
use link::{Link, OnNotification};
use serde::Serialize;
use std::collections::HashMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

type Handler = Box<dyn Fn(&IncomingRequest, &Host) -> Result<Payload, ReplyError> + Send + Sync>;

/// Why a worker cannot talk to its host.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The socket path cannot be reached.
    #[error("cannot connect to the host at {}: {error}", .path.display())]
    Connect {
        /// `RPC_SOCKET_PATH`.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// `RPC_SOCKET_FD` is not an open descriptor.
    #[error("RPC_SOCKET_FD is {text:?}, which is no open descriptor: {error}")]
    Descriptor {
        /// The value.
        text: String,
        /// What the system said.
        error: io::Error,
    },
    /// Reading or writing failed.
    #[error("talking to the host failed: {0}")]
    Io(io::Error),
}

/// Why a request to the host got no successful reply.
#[derive(Debug, thiserror::Error)]
pub enum RequestFailure {
    /// The payload cannot be sent.
    #[error("the request was not sent: {0}")]
    Encode(EncodeError),
    /// Writing failed.
    #[error("the request was not sent: {0}")]
    Io(io::Error),
    /// The host replied with an error.
    #[error("the host refused: {0}")]
    Refused(ReplyError),
    /// No reply in time.
    #[error("the host did not reply within {0:?}")]
    Timeout(Duration),
    /// The host closed the stream.
    #[error("the host is gone")]
    HostGone,
}

/// Why serving ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The host asked for it; exit with 0.
    Shutdown,
    /// The host closed the stream; exit now.
    HostGone,
    /// The host speaks no version that we speak.
    UnsupportedProtocol,
}

/// A worker that is being put together.
pub struct Worker {
    name: String,
    version: String,
    capabilities: Vec<String>,
    handlers: HashMap<String, Handler>,
    on_notification: Option<OnNotification>,
    threads: usize,
}

impl Worker {
    /// A worker that knows the two actions every worker has.
    pub fn new(name: &str, version: &str) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            capabilities: Vec::new(),
            handlers: HashMap::new(),
            on_notification: None,
            threads: 1,
        }
    }

    /// Answers an action. The reply's keys are those of the returned value, an object.
    #[must_use]
    pub fn on<R: Serialize>(
        mut self,
        action: &str,
        handler: impl Fn(&IncomingRequest, &Host) -> Result<R, ReplyError> + Send + Sync + 'static,
    ) -> Self {
        let handler: Handler = Box::new(move |request, host| {
            handler(request, host).and_then(|reply| Payload::new(&reply))
        });
        self.handlers.insert(action.to_owned(), handler);
        self
    }

    /// Calls `callback` for every notification of the host.
    #[must_use]
    pub fn on_notification(
        mut self,
        callback: impl Fn(Notification) + Send + Sync + 'static,
    ) -> Self {
        self.on_notification = Some(Box::new(callback));
        self
    }

    /// Names something this worker can do, for `hello`.
    #[must_use]
    pub fn capability(mut self, name: &str) -> Self {
        self.capabilities.push(name.to_owned());
        self
    }

    /// Serves this many requests at a time; one, on the calling thread, unless told otherwise.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// Opens the connection to the host.
    pub fn connect(mut self, env: &WorkerEnv) -> Result<ConnectedWorker, WorkerError> {
        let (read, write) = env.open()?;
        let link = Arc::new(Link::new(read, write, self.on_notification.take()));
        Ok(ConnectedWorker { worker: Arc::new(self), host: Host { link } })
    }
}

/// A worker with a connection.
#[derive(Clone)]
pub struct ConnectedWorker {
    worker: Arc<Worker>,
    host: Host,
}

impl ConnectedWorker {
    /// For sending things from other threads.
    pub fn host(&self) -> Host {
        self.host.clone()
    }

    /// Answers requests until the host wants an end or is gone.
    pub fn serve(self) -> Ended {
        if self.worker.threads == 1 {
            return self.serve_here();
        }
        // Not joined: one of them may sit in a read that ends only with the process.
        for _ in 0..self.worker.threads {
            let this = self.clone();
            std::thread::spawn(move || this.serve_here());
        }
        self.host.link.wait_for_end()
    }

    fn serve_here(&self) -> Ended {
        loop {
            match self.host.link.next_request() {
                Err(ended) => return ended,
                Ok(request) => {
                    let ended = self.answer(&request);
                    self.host.link.finish_request(ended);
                }
            }
        }
    }

    /// Answers one request; says whether it was the last.
    fn answer(&self, request: &IncomingRequest) -> Option<Ended> {
        let id = request.id.clone();
        let (outcome, ended) = match &*request.action {
            action::HELLO => self.hello(request),
            action::SHUTDOWN => {
                (Payload::new(&ShuttingDown { status: "shutting_down" }), Some(Ended::Shutdown))
            }
            _ => (self.handle(request), None),
        };
        let line = outcome.and_then(|Payload(payload)| {
            protocol::reply_line(&id, &payload, protocol::MAX_LINE).map_err(|error| {
                let too_long = matches!(error, EncodeError::TooLong { .. });
                let code = if too_long { code::TOO_LARGE } else { code::FAILED };
                ReplyError::new(code, error.to_string())
            })
        });
        let line =
            line.unwrap_or_else(|error| protocol::error_line(&id, &error, protocol::MAX_LINE));
        // If the host is gone, the next read says so.
        drop(self.host.link.write(&line));
        ended
    }

    fn handle(&self, request: &IncomingRequest) -> Result<Payload, ReplyError> {
        let Some(handler) = self.worker.handlers.get(&*request.action) else {
            return Err(ReplyError::unknown_action(&request.action));
        };
        let action = request.action.clone();
        let work = AssertUnwindSafe(|| handler(request, &self.host));
        catch_unwind(work).unwrap_or_else(|_| {
            Err(ReplyError::failed(format!("the handler of {action:?} panicked")))
        })
    }

    fn hello(&self, request: &IncomingRequest) -> (Result<Payload, ReplyError>, Option<Ended>) {
        match request.body.parse::<Hello>() {
            Err(error) => {
                (Err(ReplyError::new(code::BAD_REQUEST, format!("bad hello: {error}"))), None)
            }
            Ok(hello) if hello.protocol != protocol::VERSION => {
                let text = format!(
                    "protocol {} is not spoken here, only {}",
                    hello.protocol,
                    protocol::VERSION
                );
                let error = ReplyError::new(code::UNSUPPORTED_PROTOCOL, text);
                (Err(error), Some(Ended::UnsupportedProtocol))
            }
            Ok(_) => (Payload::new(&self.hello_message()), None),
        }
    }

    fn hello_message(&self) -> WorkerHello {
        WorkerHello {
            protocol: protocol::VERSION,
            name: self.worker.name.clone(),
            version: self.worker.version.clone(),
            pid: Some(std::process::id()),
            capabilities: self.worker.capabilities.clone(),
        }
    }
}

#[derive(Serialize)]
struct ShuttingDown {
    status: &'static str,
}

/// The host, as seen by a worker: notifications and requests, from any thread.
#[derive(Clone)]
pub struct Host {
    link: Arc<Link>,
}

impl Host {
    /// Sends a notification.
    pub fn notify<T: Serialize + ?Sized>(
        &self,
        kind: &str,
        payload: &T,
    ) -> Result<(), RequestFailure> {
        let line = protocol::notification_line(kind, payload, protocol::MAX_LINE)
            .map_err(RequestFailure::Encode)?;
        self.link.write(&line).map_err(RequestFailure::Io)
    }

    /// Sends an event of the run.
    pub fn event<T: Serialize + ?Sized>(
        &self,
        event_type: &str,
        payload: &T,
    ) -> Result<(), RequestFailure> {
        self.notify(kind::EVENT, &EventPayload { event_type, payload })
    }

    /// Sends a diagnostic about the worker itself; dropped if the host is gone.
    pub fn log(&self, level: &str, message: &str) {
        self.link.log(level, message);
    }

    /// Collects notifications, to be written at once.
    pub fn batch(&self) -> Batch<'_> {
        Batch { host: self, lines: Vec::new() }
    }

    /// Asks the host and waits for the reply, at most `timeout` if one is given.
    pub fn request<T: Serialize + ?Sized>(
        &self,
        action: &str,
        payload: &T,
        timeout: Option<Duration>,
    ) -> Result<Reply, RequestFailure> {
        self.link.request(action, payload, timeout)
    }
}

/// Notifications that go out together.
pub struct Batch<'a> {
    host: &'a Host,
    lines: Vec<u8>,
}

impl Batch<'_> {
    /// Adds a notification.
    pub fn push<T: Serialize + ?Sized>(
        &mut self,
        kind: &str,
        payload: &T,
    ) -> Result<(), EncodeError> {
        self.lines.extend(protocol::notification_line(kind, payload, protocol::MAX_LINE)?);
        Ok(())
    }

    /// How many bytes are collected.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether nothing is collected.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Writes what is collected; the batch can be filled again.
    pub fn send(&mut self) -> Result<(), RequestFailure> {
        let sent = self.host.link.write(&self.lines).map_err(RequestFailure::Io);
        self.lines.clear();
        sent
    }
}
