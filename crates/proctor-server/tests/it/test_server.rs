//! A server over a project of its own, and the plainest of clients.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use proctor_events::RunId;
use proctor_record::{JsonlRecorder, RunInfo, RunStore};
use proctor_server::{
    LaunchError, LaunchProgress, Launcher, Limits, RunRequest, Server, ServerConfig,
};
use serde_json::Value;

pub(crate) const TOKEN: &str = "t0ken";

pub(crate) struct TestServer {
    pub(crate) server: Server,
    pub(crate) store: RunStore,
    pub(crate) folder: tempfile::TempDir,
    /// Those who record, and so keep a run without an end alive.
    writers: Mutex<Vec<JsonlRecorder>>,
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// A launcher that keeps what it was asked.
#[derive(Default)]
pub(crate) struct RecordingLauncher(pub(crate) Mutex<Vec<RunRequest>>);

impl Launcher for RecordingLauncher {
    fn start(&self, request: &RunRequest) -> Result<String, LaunchError> {
        let mut asked = self.0.lock().unwrap();
        if !asked.is_empty() {
            return Err(LaunchError::Busy("r1".into()));
        }
        asked.push(request.clone());
        Ok("r1".into())
    }

    fn progress(&self) -> Option<LaunchProgress> {
        (!self.0.lock().unwrap().is_empty()).then(|| LaunchProgress {
            status: "running".into(),
            state: proctor_verdict::RunState::Running,
            completed: 5,
            total: 20,
            failures: 1,
            run_id: "r1".into(),
            problem: None,
        })
    }

    fn cancel(&self) -> bool {
        let mut asked = self.0.lock().unwrap();
        let running = !asked.is_empty();
        asked.clear();
        running
    }

    fn agents(&self) -> Vec<String> {
        vec!["next".into(), "old".into()]
    }
}

impl TestServer {
    pub(crate) fn new() -> Self {
        Self::with(Some(Arc::new(RecordingLauncher::default())))
    }

    pub(crate) fn with(launcher: Option<Arc<dyn Launcher>>) -> Self {
        Self::within(launcher, Limits::default())
    }

    pub(crate) fn within(launcher: Option<Arc<dyn Launcher>>, limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = RunStore::new(folder.path());
        let server = Server::start(ServerConfig {
            bind: "127.0.0.1:0".parse().unwrap(),
            token: TOKEN.into(),
            session: "c00kie".into(),
            hosts: Vec::new(),
            store: store.clone(),
            stops_runs: launcher.is_some(),
            launcher,
            journal: Some(folder.path().join(".claude/journal")),
            limits,
            mcp: None,
            redactor: proctor_redact::Redactor::default(),
        })
        .unwrap();
        Self { server, store, folder, writers: Mutex::default() }
    }

    /// Ends the server; its recordings stay as long as what is returned.
    pub(crate) fn end(self) -> tempfile::TempDir {
        self.server.stop();
        self.folder
    }

    pub(crate) fn port(&self) -> u16 {
        self.server.address().port()
    }

    /// Whoever records dies.
    pub(crate) fn kill_writers(&self) {
        self.writers.lock().unwrap().clear();
    }

    /// Writes a run with these lines.
    pub(crate) fn record(&self, id: &str, lines: &[String]) {
        let time = "2026-01-22T10:30:00Z".parse().unwrap();
        let info =
            RunInfo::new(RunId::new(id.to_owned()), time, vec!["proctor".into(), "run".into()]);
        let (folder, writer) = self.store.create(&info).unwrap();
        self.writers.lock().unwrap().push(writer);
        std::fs::write(folder.events_path(), lines.join("\n") + "\n").unwrap();
    }

    pub(crate) fn append(&self, id: &str, lines: &[String]) {
        let path = self.store.runs_folder().join(id).join("events.jsonl");
        let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
        file.write_all((lines.join("\n") + "\n").as_bytes()).unwrap();
    }

    /// Sends a request as it stands.
    pub(crate) fn raw(&self, head: &str, body: &str) -> Answer {
        let mut stream = TcpStream::connect(self.server.address()).unwrap();
        write!(
            stream,
            "{head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut text = Vec::new();
        // A server that refuses a large body may close before it has read it.
        let _ = stream.read_to_end(&mut text);
        let text = String::from_utf8_lossy(&text).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default();
        let body = if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
            unchunked(body)
        } else {
            body.to_owned()
        };
        Answer { status, head: head.to_owned(), body }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.raw(
            &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}"),
            "",
        )
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        self.raw(
            &format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}"),
            body,
        )
    }
}

fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap_or_default();
        whole += &rest[..size.min(rest.len())];
        body = rest.get(size + 2..).unwrap_or_default();
    }
    whole
}

/// One line of a recording.
pub(crate) fn line(seq: u64, kind: &str, example: Option<&str>, fields: &str) -> String {
    let example = example.map(|id| format!(r#","example_id":"{id}""#)).unwrap_or_default();
    let fields = if fields.is_empty() { String::new() } else { format!(",{fields}") };
    format!(
        r#"{{"v":1,"seq":{seq},"time":"2026-01-22T10:30:00Z","event_type":"{kind}"{example}{fields}}}"#
    )
}

/// A finished run of two examples, one of which fails.
pub(crate) fn small_run() -> Vec<String> {
    vec![
        line(1, "SuiteStarted", None, r#""seed":7,"example_count":2"#),
        line(
            2,
            "ExampleStarted",
            Some("aaa"),
            r#""file":"./spec/a_spec.rb","path":["A","works"],"tags":["fast"]"#,
        ),
        line(
            3,
            "UserMessage",
            Some("aaa"),
            r#""turn_number":1,"text":"Hello there","source":"script""#,
        ),
        line(4, "AgentResponse", Some("aaa"), r#""turn_number":1,"text":"General greeting""#),
        line(
            5,
            "ExampleFinished",
            Some("aaa"),
            r#""status":"passed","duration_ms":12.5,"final":true"#,
        ),
        line(
            6,
            "ExampleStarted",
            Some("bbb"),
            r#""file":"./spec/b_spec.rb","path":["B","breaks"]"#,
        ),
        line(
            7,
            "ExampleFinished",
            Some("bbb"),
            r#""status":"failed","duration_ms":3,"final":true,"exception":{"class":"E","message":"broken","backtrace":["b_spec.rb:1"]}"#,
        ),
        line(
            8,
            "SuiteFinished",
            None,
            r#""example_count":2,"failure_count":1,"exit_code":1,"duration_ms":20"#,
        ),
    ]
}
