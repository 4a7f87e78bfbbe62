//! The server as a whole: its settings, its thread, its end.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use proctor_record::RunStore;
use proctor_redact::Redactor;
use tokio::sync::watch;

use crate::access::AccessRules;
use crate::launcher::Launcher;
use crate::mcp_service::McpService;
use crate::open_runs::OpenRuns;
use crate::{api, connections};

/// How a server is to be.
pub struct ServerConfig {
    /// Where it listens; port 0 takes any free one.
    pub bind: SocketAddr,
    /// The access token. Random, unless configured.
    pub token: String,
    /// Another secret, for the cookie that the token is exchanged for. Random.
    pub session: String,
    /// Names of this machine that a Host header may carry besides the loopback ones.
    pub hosts: Vec<String>,
    /// The runs to show.
    pub store: RunStore,
    /// Starts runs; without it none can be started from here.
    pub launcher: Option<Arc<dyn Launcher>>,
    /// Whether live runs can be stopped through the API, whichever process started them.
    pub stops_runs: bool,
    /// The journal's folder, if the project may have one.
    pub journal: Option<PathBuf>,
    /// How much clients may ask for.
    pub limits: Limits,
    /// Answers at `/mcp`; without it there is nothing there.
    pub mcp: Option<McpService>,
    /// Removes secrets from everything that is sent, whoever made the recording.
    pub redactor: Redactor,
}

/// How much clients may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many connections there may be at once; beyond that a new one is closed.
    pub connections: usize,
    /// How long a stream's client may take nothing before it is dropped.
    pub stall_after: Duration,
    /// How long the body of a request may take to arrive.
    pub body: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            stall_after: Duration::from_secs(10),
            body: Duration::from_secs(10),
        }
    }
}

/// What every request may need.
pub(crate) struct Shared {
    pub(crate) access_rules: AccessRules,
    pub(crate) runs: OpenRuns,
    /// Runs that were compared last.
    pub(crate) sides: proctor_history::ComparisonCache,
    pub(crate) launcher: Option<Arc<dyn Launcher>>,
    pub(crate) stops_runs: bool,
    pub(crate) journal: Option<PathBuf>,
    pub(crate) limits: Limits,
    pub(crate) redactor: Redactor,
    /// Whether the index of the history is being brought up to date.
    pub(crate) indexing: Arc<AtomicBool>,
    /// How many streams are open.
    pub(crate) watching: Arc<AtomicUsize>,
    /// Whether the server ends.
    pub(crate) stopped: watch::Receiver<bool>,
}

/// A running server. Dropping it closes every connection.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    token: String,
    watching: Arc<AtomicUsize>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Binds and starts serving on a thread of its own.
    pub fn start(config: ServerConfig) -> io::Result<Self> {
        let listener = TcpListener::bind(config.bind)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (stop, stopped) = watch::channel(false);
        let mut hosts = config.hosts;
        if !address.ip().is_unspecified() {
            hosts.push(address.ip().to_string());
        }
        let watching = Arc::new(AtomicUsize::new(0));
        let shared = Arc::new(Shared {
            access_rules: AccessRules {
                token: config.token.clone(),
                session: config.session,
                cookie: format!("proctor_{}", address.port()),
                hosts,
            },
            runs: OpenRuns::new(config.store),
            sides: proctor_history::ComparisonCache::default(),
            launcher: config.launcher,
            stops_runs: config.stops_runs,
            journal: config.journal,
            limits: config.limits,
            redactor: config.redactor,
            indexing: Arc::default(),
            watching: Arc::clone(&watching),
            stopped: stopped.clone(),
        });
        let mcp = config.mcp;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = {
            let _entered = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let thread =
            std::thread::Builder::new().name("proctor server".to_owned()).spawn(move || {
                let watching = Arc::clone(&shared.watching);
                let router = api::router(shared, mcp);
                let places = config.limits.connections;
                runtime.block_on(connections::serve(listener, router, places, stopped, &watching));
                runtime.shutdown_background();
            })?;
        Ok(Self { address, token: config.token, watching, stop, thread: Some(thread) })
    }

    /// How many streams are open.
    pub fn watching(&self) -> usize {
        self.watching.load(Ordering::SeqCst)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address to open in a browser, token included. `place` is a fragment such as `/run/last`.
    pub fn url(&self, place: &str) -> String {
        let ip = self.address.ip();
        let host = match ip {
            _ if ip.is_unspecified() => "127.0.0.1".to_owned(),
            IpAddr::V6(v6) => format!("[{v6}]"),
            IpAddr::V4(v4) => v4.to_string(),
        };
        let fragment = if place.is_empty() { String::new() } else { format!("#{place}") };
        format!("http://{host}:{}/?token={}{fragment}", self.address.port(), self.token)
    }

    /// Waits up to `at_most` for open streams to end, then stops. Returns at once without open streams.
    pub fn finish(mut self, at_most: Duration) {
        let deadline = Instant::now() + at_most;
        while self.watching.load(Ordering::SeqCst) > 0 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.end();
    }

    /// Closes every connection, with a close frame where the client accepts it within a second.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}
