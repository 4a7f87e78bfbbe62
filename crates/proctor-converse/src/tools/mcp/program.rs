//! A tool server that is a program: one JSON message a line, on its standard input and output.
//!
//! One task reads and hands each reply to the request with its number. When the server ends, all pending requests fail with
//! the last lines of its standard error. Closing its input asks it to end; its process group is killed if it does not.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::oneshot;

use super::{Answer, END_WITHIN, ServerError, answer_to, reply, request};

/// How many lines of its standard error are kept.
const LAST_LINES: usize = 5;
/// Its last words may come a moment after its last answer.
const LAST_WORDS_WITHIN: Duration = Duration::from_millis(20);

/// A started server.
pub(super) struct McpProgram {
    stdin: Arc<tokio::sync::Mutex<Option<ChildStdin>>>,
    child: tokio::sync::Mutex<Child>,
    group: Group,
    last_id: AtomicU64,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: HashMap<u64, oneshot::Sender<Answer>>,
    closed: bool,
    last_lines: VecDeque<String>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Kills the server's process group when dropped.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0.take() {
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

impl McpProgram {
    /// Starts it; it has not been spoken to yet.
    pub(super) fn start(
        argv: &[String],
        env: &BTreeMap<String, String>,
        folder: &Path,
    ) -> Result<Self, ServerError> {
        let (program, arguments) = argv.split_first().ok_or(ServerError::NoCommand)?;
        let mut child = Command::new(program)
            .args(arguments)
            .envs(env)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|source| ServerError::NotStarted { program: program.clone(), source })?;
        let shared = Arc::new(Shared::default());
        let group = Group(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
        let stdin = Arc::new(tokio::sync::Mutex::new(child.stdin.take()));
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(keep_last_lines(stderr, Arc::clone(&shared)));
        }
        if let Some(stdout) = child.stdout.take() {
            tokio::spawn(read_replies(stdout, Arc::downgrade(&stdin), Arc::clone(&shared)));
        }
        let (child, last_id) = (tokio::sync::Mutex::new(child), AtomicU64::new(0));
        Ok(Self { stdin, child, group, last_id, shared })
    }

    pub(super) fn is_over(&self) -> bool {
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
        {
            let mut state = self.shared.state();
            if state.closed {
                return Err(ended(&state));
            }
            state.waiting.insert(id, sender);
        }
        self.send(&request(id, method, params)).await;
        match tokio::time::timeout(within, reply).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(ended(&self.shared.state())),
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
        let mut child = self.child.lock().await;
        if tokio::time::timeout(END_WITHIN, child.wait()).await.is_err() {
            if let Some(leader) = self.group.0 {
                let _ = kill_process_group(leader, Signal::KILL);
            }
            let _ = child.wait().await;
        }
    }
}

/// A failed write is ignored: the server has ended or will, and the reader fails all pending requests then.
async fn send(stdin: &tokio::sync::Mutex<Option<ChildStdin>>, message: &Value) {
    if let Some(stdin) = stdin.lock().await.as_mut() {
        let line = format!("{message}\n");
        let _ = stdin.write_all(line.as_bytes()).await;
        let _ = stdin.flush().await;
    }
}

fn ended(state: &State) -> ServerError {
    if state.last_lines.is_empty() {
        ServerError::EndedSilently
    } else {
        ServerError::Ended { last_lines: state.last_lines.iter().cloned().collect() }
    }
}

async fn keep_last_lines(stderr: impl AsyncRead + Unpin, shared: Arc<Shared>) {
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let mut state = shared.state();
        state.last_lines.push_back(line);
        if state.last_lines.len() > LAST_LINES {
            state.last_lines.pop_front();
        }
    }
}

async fn read_replies(
    stdout: impl AsyncRead + Unpin,
    stdin: std::sync::Weak<tokio::sync::Mutex<Option<ChildStdin>>>,
    shared: Arc<Shared>,
) {
    let mut lines = BufReader::new(stdout).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        if message.get("method").is_some() {
            if let (Some(answer), Some(stdin)) = (answer_to(&message), stdin.upgrade()) {
                send(&stdin, &answer).await;
            }
            continue;
        }
        let Some(id) = message["id"].as_u64() else { continue };
        let waiting = shared.state().waiting.remove(&id);
        if let Some(waiting) = waiting {
            let _ = waiting.send(reply(&message));
        }
    }
    tokio::time::sleep(LAST_WORDS_WITHIN).await;
    let mut state = shared.state();
    state.closed = true;
    state.waiting.clear();
}
