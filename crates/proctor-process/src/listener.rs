//! The transport for workers that connect by path: a private socket, a token, a connect line.
//!
//! The listener owns a temporary folder (mode 0700) with the socket in it, and one task that accepts.
//! Each new connection has a bounded time to send a short connect line with the right token;
//! whoever does not is closed and reported. It starts no processes and does not know which
//! workers to expect: that is its user's business.

use crate::diagnostics::{Diagnostic, DiagnosticSink};
use crate::framer::{Frame, Framer};
use crate::output::OutputStream;
use crate::protocol::{ConnectLine, StreamName, kind, var};
use crate::rpc::{Channel, ChannelConfig};
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::{CancellationToken, DropGuard};

/// How the names of the folders begin. Earlier versions held no lock on theirs and called them `proctor-…`: those are left alone.
const PREFIX: &str = "proctor-rpc-";

/// Longest connect line.
const MAX_CONNECT_LINE: usize = 4096;

/// Bounds of a listener.
#[derive(Debug, Clone)]
pub struct ListenerConfig {
    /// How long a connection may take to send its connect line.
    pub connect_timeout: Duration,
    /// How many connections may be at that point; further ones wait to be accepted.
    pub max_connecting: usize,
    /// How many accepted connections may wait to be taken.
    pub backlog: usize,
    /// Where refused connections are reported.
    pub diagnostics: DiagnosticSink,
}

impl Default for ListenerConfig {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            max_connecting: 64,
            backlog: 64,
            diagnostics: DiagnosticSink::default(),
        }
    }
}

/// The socket path could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen for workers at {}: {error}", .path.display())]
pub struct ListenerError {
    /// The socket or the folder it was to be in.
    pub path: PathBuf,
    /// What the system said.
    pub error: io::Error,
}

/// Accepts workers at a private socket path until it is dropped.
#[derive(Debug)]
pub struct Listener {
    folder: tempfile::TempDir,
    token: String,
    accepted: mpsc::Receiver<Connection>,
    _stop: DropGuard,
    /// Locked for as long as the folder is in use. The kernel unlocks it however the process ends.
    _lock: File,
}

impl Listener {
    /// Makes the folder and the socket below `parent` and starts to accept. The parent's path has to be
    /// short: a socket path has at most 107 bytes.
    pub fn bind(parent: &Path, config: ListenerConfig) -> Result<Self, ListenerError> {
        let failed = |error| ListenerError { path: parent.to_owned(), error };
        remove_abandoned(parent);
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(parent)
            .map_err(failed)?;
        // Before the socket is there: a folder with a socket and without a lock is taken for abandoned.
        let lock = lock_folder(folder.path()).map_err(failed)?;
        let path = folder.path().join("rpc");
        let socket = UnixListener::bind(&path).map_err(|error| ListenerError { path, error })?;
        let token = uuid::Uuid::new_v4().simple().to_string();
        let (connections, accepted) = mpsc::channel(config.backlog.max(1));
        let stop = CancellationToken::new();
        let door = Arc::new(Admission { token: token.clone(), config, connections });
        tokio::spawn(stop.clone().run_until_cancelled_owned(accept_all(socket, door)));
        Ok(Self { folder, token, accepted, _stop: stop.drop_guard(), _lock: lock })
    }

    /// Where workers connect.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("rpc")
    }

    /// The secret of the connect line.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The variables that tell a worker where to connect.
    pub fn env(&self) -> [(&'static str, String); 2] {
        let path = self.path().to_string_lossy().into_owned();
        [(var::RPC_SOCKET_PATH, path), (var::RPC_TOKEN, self.token.clone())]
    }

    /// The next worker that has shown the token.
    pub async fn accept(&mut self) -> Option<Connection> {
        self.accepted.recv().await
    }
}

/// A connection that has sent a valid connect line.
#[derive(Debug)]
pub struct Connection {
    /// What it said about itself.
    pub line: ConnectLine,
    /// The process at the other end, as the kernel sees it.
    pub peer_pid: Option<u32>,
    stream: UnixStream,
    /// Bytes that came right after the connect line.
    rest: Vec<u8>,
}

impl Connection {
    /// What the connection carries.
    pub fn stream(&self) -> StreamName {
        self.line.stream
    }

    /// Uses it as a channel.
    pub fn into_channel(self, config: ChannelConfig) -> io::Result<Channel> {
        let label = format!("worker {} (generation {})", self.line.slot, self.line.generation);
        let (source, sink) = crate::rpc::io::socket(self.stream.into_std()?.into())?;
        Ok(Channel::open(source, sink, self.rest, &label, config))
    }

    /// Uses it as the source of an output stream.
    pub fn feed(self, output: &OutputStream) -> io::Result<()> {
        let source = crate::rpc::io::Source::new(self.stream.into_std()?.into())?;
        output.read_from(source, self.rest);
        Ok(())
    }
}

fn lock_folder(folder: &Path) -> io::Result<File> {
    let folder = File::open(folder)?;
    folder.try_lock()?;
    Ok(folder)
}

/// Removes the folders of listeners that were killed: the socket is there, and the folder is not locked.
fn remove_abandoned(parent: &Path) {
    let own = rustix::process::geteuid().as_raw();
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let named = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let mine = entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == own);
        if !named || !mine || !entry.path().join("rpc").exists() {
            continue;
        }
        // The lock is held while the folder is removed, so that two processes do not remove it together.
        if let Ok(_lock) = lock_folder(&entry.path()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// What every connection has to pass.
struct Admission {
    token: String,
    config: ListenerConfig,
    connections: mpsc::Sender<Connection>,
}

async fn accept_all(socket: UnixListener, door: Arc<Admission>) {
    let connecting = Arc::new(Semaphore::new(door.config.max_connecting.max(1)));
    loop {
        let Ok(turn) = Arc::clone(&connecting).acquire_owned().await else { return };
        match socket.accept().await {
            Ok((stream, _)) => {
                let door = Arc::clone(&door);
                tokio::spawn(async move {
                    door.admit(stream).await;
                    drop(turn);
                });
            }
            // Out of descriptors, most likely: others have to close some first.
            Err(error) => {
                door.refuse(format!("accepting failed: {error}"));
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

impl Admission {
    fn refuse(&self, reason: String) {
        self.config.diagnostics.report(Diagnostic::ConnectionRefused { reason });
    }

    async fn admit(&self, stream: UnixStream) {
        let timeout = self.config.connect_timeout;
        match tokio::time::timeout(timeout, self.check(stream)).await {
            // If the listener is gone, so is the interest in this connection.
            Ok(Ok(connection)) => drop(self.connections.send(connection).await),
            Ok(Err(reason)) => self.refuse(reason),
            Err(_) => self.refuse(format!("no connect line within {timeout:?}")),
        }
    }

    async fn check(&self, mut stream: UnixStream) -> Result<Connection, String> {
        let peer = stream.peer_cred().map_err(|error| format!("no credentials: {error}"))?;
        let own = rustix::process::geteuid().as_raw();
        if peer.uid() != own && peer.uid() != 0 {
            return Err(format!("it belongs to user {}, not to {own}", peer.uid()));
        }
        let (line, rest) = read_connect_line(&mut stream).await?;
        if line.kind != kind::CONNECT {
            return Err(format!("the first line has type {:?}, not \"connect\"", line.kind));
        }
        if !same_secret(&line.token, &self.token) {
            return Err("wrong token".to_owned());
        }
        let peer_pid = peer.pid().and_then(|pid| u32::try_from(pid).ok());
        Ok(Connection { line, peer_pid, stream, rest })
    }
}

/// Reads the first line; what came after it belongs to the stream.
async fn read_connect_line(stream: &mut UnixStream) -> Result<(ConnectLine, Vec<u8>), String> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let rest = bytes.split_off(end + 1);
            return Ok((parse_connect_line(&bytes)?, rest));
        }
        if bytes.len() > MAX_CONNECT_LINE {
            return Err(format!("the connect line is longer than {MAX_CONNECT_LINE} bytes"));
        }
        let mut chunk = [0; 1024];
        match stream.read(&mut chunk).await {
            Ok(0) => return Err("it closed before it had sent a connect line".to_owned()),
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
            Err(error) => return Err(format!("reading failed: {error}")),
        }
    }
}

fn parse_connect_line(bytes: &[u8]) -> Result<ConnectLine, String> {
    let mut framer = Framer::new(MAX_CONNECT_LINE);
    framer.feed(bytes);
    match framer.next_frame() {
        Some(Frame::Line(line)) => {
            serde_json::from_str(line).map_err(|error| format!("bad connect line: {error}"))
        }
        _ => Err("the connect line is too long or not utf-8".to_owned()),
    }
}

/// Compares without stopping at the first difference.
fn same_secret(given: &str, expected: &str) -> bool {
    let differences = given.bytes().zip(expected.bytes()).fold(0, |acc, (a, b)| acc | (a ^ b));
    given.len() == expected.len() && differences == 0
}
