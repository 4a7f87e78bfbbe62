//! A real nats-server of a test's own.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The server that `./check` installs, pinned by hash.
pub(crate) fn program() -> PathBuf {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/nats/bin/nats-server");
    assert!(
        path.exists(),
        "{} is missing: these tests need the NATS server that ./check installs (tools/python/nats.txt)",
        path.display()
    );
    path
}

/// A server with a folder and a port of its own.
pub(crate) struct Server {
    child: Option<Child>,
    folder: tempfile::TempDir,
    pub(crate) port: u16,
    arguments: Vec<String>,
}

impl Server {
    /// Starts one with JetStream.
    pub(crate) fn start() -> Self {
        Self::with(&["--jetstream"], "")
    }

    /// Starts one with these arguments and this configuration.
    pub(crate) fn with(arguments: &[&str], configuration: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let file = folder.path().join("server.conf");
        std::fs::write(&file, configuration).unwrap();
        let mut all: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
        all.extend(["-c".to_owned(), file.to_string_lossy().into_owned()]);
        let mut server = Self { child: None, folder, port, arguments: all };
        server.begin();
        server
    }

    /// Starts it, or starts it again with what it has stored.
    pub(crate) fn begin(&mut self) {
        let log = self.folder.path().join("server.log");
        let child = Command::new(program())
            .args(["-a", "127.0.0.1", "-p", &self.port.to_string()])
            .args(["--store_dir", &self.folder.path().to_string_lossy()])
            .args(["-l", &log.to_string_lossy()])
            .args(&self.arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.child = Some(child);
        let until = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let log = || std::fs::read_to_string(&log).unwrap_or_default();
            assert!(Instant::now() < until, "the server does not listen:\n{}", log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Ends it as a power failure would.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    pub(crate) fn address(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}
