//! `proctor mcp` on its own standard streams, spoken to line by line; and over HTTP, request by request.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::env::{TestEnv, repository, wait_until};

/// Versions with a handshake.
pub(crate) const HANDSHAKE: [&str; 2] = ["2025-06-18", "2025-11-25"];
/// The version without.
pub(crate) const STATELESS: &str = "2026-07-28";

/// The `ralph` that `./check` installed, or the configured one.
pub(crate) fn ralph() -> PathBuf {
    let configured = std::env::var_os("PROCTOR_RALPH").map(PathBuf::from);
    let path =
        configured.unwrap_or_else(|| repository().join("target/tools/ralph-2.10.1/bin/ralph"));
    assert!(path.is_file(), "no ralph: run ./check once, it installs it, or set PROCTOR_RALPH");
    path
}

/// The binary, with the orchestrator and a temporary folder of its own.
pub(crate) fn with_ralph(env: &TestEnv) -> Command {
    let temp = env.home().join("temp");
    std::fs::create_dir_all(&temp).unwrap();
    let mut command = env.command();
    command.env("PROCTOR_RALPH", ralph()).env("TMPDIR", temp);
    command
}

/// Processes that have this home anywhere in their environment or command line, workspaces included.
pub(crate) fn processes_of(env: &TestEnv) -> Vec<(u32, String)> {
    let home = env.home().to_string_lossy().into_owned();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let text = |name: &str| {
            let bytes = std::fs::read(entry.path().join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).replace('\0', " ")
        };
        let command = text("cmdline");
        if pid != std::process::id() && (command.contains(&home) || text("environ").contains(&home))
        {
            found.push((pid, command));
        }
    }
    found
}

/// The message that a request is, in the words of a version.
pub(crate) fn message(version: &str, id: u64, method: &str, mut params: Value) -> Value {
    if version == STATELESS {
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(STATELESS);
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        params["_meta"]["io.modelcontextprotocol/clientInfo"] =
            json!({ "name": "test", "version": "1" });
    }
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

pub(crate) fn hello(version: &str) -> Value {
    json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } })
}

/// A client on the standard streams of a server.
pub(crate) struct Wire {
    pub(crate) child: Child,
    lines: Receiver<Value>,
    version: &'static str,
    id: u64,
    pub(crate) notified: Vec<Value>,
}

impl Wire {
    pub(crate) fn open(env: &TestEnv, version: &'static str) -> Self {
        let mut command = with_ralph(env);
        command.arg("mcp");
        Self::start(command, version)
    }

    /// Starts a server and shakes hands where the version has it.
    pub(crate) fn start(mut command: Command, version: &'static str) -> Self {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(serde_json::from_str(&line).unwrap()).is_err() {
                    return;
                }
            }
        });
        let mut wire = Self { child, lines, version, id: 0, notified: Vec::new() };
        if version != STATELESS {
            let answer = wire.request("initialize", hello(version));
            assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
            wire.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        }
        wire
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.line(&message.to_string());
    }

    /// Writes a line as it is.
    pub(crate) fn line(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub(crate) fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.id += 1;
        self.send(&message(self.version, self.id, method, params));
        self.id
    }

    pub(crate) fn next(&mut self) -> Value {
        self.lines.recv_timeout(Duration::from_mins(1)).expect("the server says nothing")
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.answer_to(id)
    }

    /// The answer to a request that was begun, whether it has come already or not.
    pub(crate) fn answer_to(&mut self, id: u64) -> Value {
        if let Some(place) = self.notified.iter().position(|message| message["id"] == id) {
            return self.notified.remove(place);
        }
        loop {
            let message = self.next();
            if message["id"] == id {
                return message;
            }
            self.notified.push(message);
        }
    }

    /// The result of a tool that must not fail.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "calls read better with a value written in place"
    )]
    pub(crate) fn call(&mut self, name: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({ "name": name, "arguments": arguments }));
        result_of(&answer)
    }

    /// Closes the streams; the server must end by itself.
    pub(crate) fn close(mut self) {
        drop(self.child.stdin.take());
        wait_until("the server ends with its client", || self.child.try_wait().unwrap().is_some());
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `proctor serve` with a token.
pub(crate) struct Served {
    child: Child,
    pub(crate) port: u16,
    pub(crate) token: String,
}

impl Served {
    pub(crate) fn start(env: &TestEnv, more: &[&str]) -> Self {
        let mut command = with_ralph(env);
        command.args(["serve", "--format", "json"]).args(more);
        Self::launch(command)
    }

    /// Starts the server of a whole command line.
    pub(crate) fn launch(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap();
        let port = told["address"].as_str().unwrap().rsplit_once(':').unwrap().1.parse().unwrap();
        Self { child, port, token: told["token"].as_str().unwrap().to_owned() }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// Opens a request and leaves the answer to be read.
    pub(crate) fn open(&self, method: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        let mut head = format!("{method} /mcp HTTP/1.1\r\nConnection: close\r\n");
        let own_host = format!("127.0.0.1:{}", self.port);
        let mut all: Vec<(&str, &str)> = headers.to_vec();
        for (name, value) in [
            ("Host", own_host.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ] {
            if !headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)) {
                all.push((name, value));
            }
        }
        for (name, value) in all {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        stream
    }

    /// A request with its whole answer: status, head and body.
    pub(crate) fn ask(
        &self,
        method: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (u16, String, String) {
        let mut text = Vec::new();
        let _ = self.open(method, headers, body).read_to_end(&mut text);
        let text = String::from_utf8_lossy(&text).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default();
        (status, head.to_owned(), body.to_owned())
    }

    /// Whatever stands at a path: status and body.
    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        let (port, token) = (self.port, &self.token);
        write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        let text = String::from_utf8_lossy(&text).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default();
        (status, body.to_owned())
    }

    /// Ends the server in order.
    pub(crate) fn stop(mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        while self.child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "the server does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The JSON messages of an answer: one as a whole, or those of a stream of events, chunked or not.
pub(crate) fn messages(body: &str) -> Vec<Value> {
    if let Ok(whole) = serde_json::from_str(body) {
        return vec![whole];
    }
    let data = body.lines().filter_map(|line| line.strip_prefix("data:"));
    data.filter_map(|text| serde_json::from_str(text.trim()).ok()).collect()
}

/// The result that a model reads: JSON as text, and nothing beside it.
pub(crate) fn result_of(answer: &Value) -> Value {
    let result = &answer["result"];
    assert_eq!(result["isError"], false, "{answer}");
    assert_eq!(result["structuredContent"], Value::Null, "the result comes twice: {answer}");
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
    serde_json::from_str(text).unwrap()
}
