//! A tool server that is a program: one JSON message a line, on its standard input and output, under the guard.
//!
//! One task reads and hands each reply to the request with its number. When the server ends, all pending requests fail with
//! the last lines of its standard error. Closing its input asks it to end; its tree is killed if it does not.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use proctor_process::{
    ChildEnvironment, ChildInput, Guard, Lines, ManagedProcess, OutputConfig, ProcessSpec, RpcMode,
};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::sandbox::launcher_error;
use proctor_llm::LauncherWords;

use super::{Answer, END_TIMEOUT, ServerError, read_reply, reply_to_server_request, request};

/// How many lines of its standard error are quoted.
const LAST_LINES: usize = 5;
/// Its last words may come a moment after its last answer.
const STDERR_GRACE: Duration = Duration::from_millis(20);
/// The longest message of a server, in bytes.
const MAX_LINE: usize = 64 << 20;

/// How a server is started.
#[derive(Debug, Clone)]
pub(crate) struct McpProgramSpec {
    pub(crate) argv: Vec<String>,
    /// What starts the program confined.
    pub(crate) launcher: Option<LauncherWords>,
    /// Variables added to its environment.
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) folder: PathBuf,
    pub(crate) guard: Guard,
}

type Input = tokio::sync::Mutex<Option<ChildInput>>;

/// A started server. Its tree is killed when this is dropped.
pub(super) struct McpProgram {
    process: ManagedProcess,
    stdin: Arc<Input>,
    last_id: AtomicU64,
    shared: Arc<Shared>,
    is_confined: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: HashMap<u64, oneshot::Sender<Answer>>,
    closed: bool,
    /// A line was longer than can be read.
    line_too_long: bool,
}

impl Shared {
    /// Registers a request; `false` if the server has ended.
    fn expect_reply(&self, id: u64, sender: oneshot::Sender<Answer>) -> bool {
        let mut state = self.state();
        if !state.closed {
            state.waiting.insert(id, sender);
        }
        !state.closed
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl McpProgram {
    /// Starts it; it has not been spoken to yet.
    pub(super) async fn start(program: &McpProgramSpec) -> Result<Self, ServerError> {
        let environment = ChildEnvironment::allowed().set_all(&program.env);
        let launched = program.launcher.as_ref().map(|launcher| launcher.before(&program.argv));
        let argv = launched.as_ref().unwrap_or(&program.argv);
        let spec = ProcessSpec::new(argv, environment, program.guard.clone())
            .cwd(&program.folder)
            .rpc(RpcMode::RawStdin)
            .output(OutputConfig { max_line: MAX_LINE, ..OutputConfig::default() });
        let process = ManagedProcess::new(spec);
        // Subscribed before the start, so that no line can make room for another.
        let replies = process.stdout().lines();
        process.start().await?;
        let shared = Arc::new(Shared::default());
        let stdin = Arc::new(tokio::sync::Mutex::new(process.take_stdin()));
        tokio::spawn(read_replies(replies, Arc::downgrade(&stdin), Arc::clone(&shared)));
        let is_confined = program.launcher.is_some();
        Ok(Self { process, stdin, last_id: AtomicU64::new(0), shared, is_confined })
    }

    pub(super) fn has_ended(&self) -> bool {
        self.shared.state().closed
    }

    /// Sends a request and waits for its answer.
    pub(super) async fn ask(
        &self,
        method: &str,
        params: &Value,
        within: Duration,
    ) -> Result<Answer, ServerError> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, reply) = oneshot::channel();
        if !self.shared.expect_reply(id, sender) {
            return Err(self.ended().await);
        }
        self.send(&request(id, method, params)).await;
        match tokio::time::timeout(within, reply).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(self.ended().await),
            Err(_) => {
                self.shared.state().waiting.remove(&id);
                Err(ServerError::TooSlow { method: method.to_owned(), within })
            }
        }
    }

    pub(super) async fn send(&self, message: &Value) {
        send(&self.stdin, message).await;
    }

    pub(super) async fn end(&self) {
        drop(self.stdin.lock().await.take());
        if self.process.wait_timeout(END_TIMEOUT).await.is_err() {
            // A process that survives SIGKILL is left to its guard.
            let _ = self.process.kill().await;
        }
    }

    async fn ended(&self) -> ServerError {
        if self.is_confined
            && let Ok(report) = self.process.wait_timeout(END_TIMEOUT).await
            && let Some(reason) = launcher_error(&self.process, report.status.code())
        {
            return ServerError::NotConfined { reason };
        }
        if self.shared.state().line_too_long {
            return ServerError::LineTooLong { limit: MAX_LINE };
        }
        let lines = self.process.stderr().tail(LAST_LINES);
        if lines.is_empty() {
            return ServerError::EndedSilently;
        }
        ServerError::EndReport {
            last_lines: lines.iter().map(|line| line.text.to_string()).collect(),
        }
    }
}

/// A failed write is ignored: the server has ended or will, and the reader fails all pending requests then.
async fn send(stdin: &Input, message: &Value) {
    if let Some(stdin) = stdin.lock().await.as_mut() {
        let _ = stdin.write_all(format!("{message}\n").as_bytes()).await;
    }
}

async fn read_replies(mut lines: Lines, stdin: Weak<Input>, shared: Arc<Shared>) {
    while let Some(line) = lines.next().await {
        if line.continues {
            shared.state().line_too_long = true;
            break;
        }
        let Ok(message) = serde_json::from_str::<Value>(&line.text) else { continue };
        if message.get("method").is_some() {
            if let (Some(answer), Some(stdin)) =
                (reply_to_server_request(&message), stdin.upgrade())
            {
                send(&stdin, &answer).await;
            }
            continue;
        }
        let Some(id) = message["id"].as_u64() else { continue };
        let waiting = shared.state().waiting.remove(&id);
        if let Some(waiting) = waiting {
            let _ = waiting.send(read_reply(&message));
        }
    }
    tokio::time::sleep(STDERR_GRACE).await;
    let mut state = shared.state();
    state.closed = true;
    state.waiting.clear();
}
