//! A client of the Model Context Protocol over standard input and output: lists tools and calls them.
//!
//! The server is started with the first question and shared by all conversations. Messages are JSON-RPC 2.0, one
//! a line. One task reads; whoever asks waits for the reply with its number. When the server ends, everybody
//! who waits is told how, with its last words. Closing its input asks it to end; its process group is
//! killed if it does not.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use proctor_llm::ToolSpec;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::{OnceCell, oneshot};

use crate::failure::Failure;

/// The newest version of the protocol that this client knows; the server may answer with an older one.
const PROTOCOL: &str = "2025-06-18";
/// How long a server may take to start and to list its tools.
const START_WITHIN: Duration = Duration::from_secs(20);
/// How long it may take to end after its input was closed.
const END_WITHIN: Duration = Duration::from_secs(1);
/// How many lines of its standard error are kept.
const LAST_LINES: usize = 5;
/// How many pages of tools are asked for.
const MAX_PAGES: usize = 100;

/// A server of tools.
pub struct McpServer {
    name: String,
    argv: Vec<String>,
    env: BTreeMap<String, String>,
    folder: PathBuf,
    timeout: Duration,
    only: Option<Vec<String>>,
    running: OnceCell<Arc<Running>>,
    tools: OnceCell<Arc<[ToolSpec]>>,
}

/// A started server.
struct Running {
    stdin: tokio::sync::Mutex<Option<ChildStdin>>,
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
    waiting: HashMap<u64, oneshot::Sender<Result<Value, String>>>,
    closed: bool,
    last_lines: VecDeque<String>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the server's process group when nobody needs it any more.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0.take() {
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

impl McpServer {
    pub(crate) fn new(
        name: String,
        argv: Vec<String>,
        env: BTreeMap<String, String>,
        folder: PathBuf,
        timeout: Duration,
        only: Option<Vec<String>>,
    ) -> Self {
        let (running, tools) = (OnceCell::new(), OnceCell::new());
        Self { name, argv, env, folder, timeout, only, running, tools }
    }

    /// The tools it offers.
    pub async fn tools(&self) -> Result<&Arc<[ToolSpec]>, Failure> {
        self.tools.get_or_try_init(|| self.list()).await
    }

    /// Calls a tool. The inner error is the tool's own, which the agent gets to see.
    pub async fn call(
        &self,
        tool: &str,
        arguments: &Value,
    ) -> Result<Result<Value, String>, Failure> {
        let params = json!({"name": tool, "arguments": arguments});
        let asked = self.request("tools/call", params, self.timeout).await?;
        Ok(asked.and_then(|result| content(&result)))
    }

    /// Ends the server.
    pub async fn end(&self) {
        let Some(running) = self.running.get() else { return };
        drop(running.stdin.lock().await.take());
        let mut child = running.child.lock().await;
        if tokio::time::timeout(END_WITHIN, child.wait()).await.is_err() {
            if let Some(leader) = running.group.0 {
                let _ = kill_process_group(leader, Signal::KILL);
            }
            let _ = child.wait().await;
        }
    }

    fn failed(&self, what: &str) -> Failure {
        Failure::party("ToolServer", format!("the tool server `{}` {what}", self.name))
    }

    async fn list(&self) -> Result<Arc<[ToolSpec]>, Failure> {
        let mut specs = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let params =
                cursor.take().map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
            let page = self.request("tools/list", params, START_WITHIN).await?;
            let page =
                page.map_err(|error| self.failed(&format!("cannot list its tools: {error}")))?;
            for tool in page["tools"].as_array().into_iter().flatten() {
                specs.extend(self.spec(tool));
            }
            cursor = page["nextCursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        Ok(specs.into())
    }

    fn spec(&self, tool: &Value) -> Option<ToolSpec> {
        let name = tool["name"].as_str()?;
        if self.only.as_ref().is_some_and(|only| !only.iter().any(|wanted| wanted == name)) {
            return None;
        }
        let schema = tool.get("inputSchema").cloned();
        Some(ToolSpec {
            name: name.to_owned(),
            description: tool["description"].as_str().unwrap_or_default().to_owned(),
            input_schema: schema.unwrap_or_else(|| json!({"type": "object"})),
        })
    }

    async fn request(
        &self,
        method: &str,
        params: Value,
        within: Duration,
    ) -> Result<Result<Value, String>, Failure> {
        let running = self.running.get_or_try_init(|| self.start()).await?;
        self.exchange(running, method, params, within).await
    }

    async fn exchange(
        &self,
        running: &Running,
        method: &str,
        params: Value,
        within: Duration,
    ) -> Result<Result<Value, String>, Failure> {
        let id = running.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, reply) = oneshot::channel();
        {
            let mut state = running.shared.state();
            if state.closed {
                return Err(self.failed(&ended(&state)));
            }
            state.waiting.insert(id, sender);
        }
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        running.send(&message).await;
        match tokio::time::timeout(within, reply).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(self.failed(&ended(&running.shared.state()))),
            Err(_) => {
                running.shared.state().waiting.remove(&id);
                Err(self.failed(&format!("did not answer `{method}` within {within:?}")))
            }
        }
    }

    async fn start(&self) -> Result<Arc<Running>, Failure> {
        let Some((program, arguments)) = self.argv.split_first() else {
            return Err(self.failed("has no command"));
        };
        let spawned = Command::new(program)
            .args(arguments)
            .envs(&self.env)
            .current_dir(&self.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn();
        let mut child = spawned
            .map_err(|error| self.failed(&format!("cannot be started ({program}): {error}")))?;
        let shared = Arc::new(Shared::default());
        let group = Group(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let running = Arc::new(Running {
            stdin: tokio::sync::Mutex::new(stdin),
            child: tokio::sync::Mutex::new(child),
            group,
            last_id: AtomicU64::new(0),
            shared: Arc::clone(&shared),
        });
        if let Some(stderr) = stderr {
            tokio::spawn(keep_last_lines(stderr, Arc::clone(&shared)));
        }
        if let Some(stdout) = stdout {
            tokio::spawn(read_replies(stdout, Arc::downgrade(&running), shared));
        }
        let hello = json!({
            "protocolVersion": PROTOCOL,
            "capabilities": {},
            "clientInfo": {"name": "proctor", "version": env!("CARGO_PKG_VERSION")},
        });
        let answer = self.exchange(&running, "initialize", hello, START_WITHIN).await?;
        answer.map_err(|error| self.failed(&format!("refuses to begin: {error}")))?;
        running.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        Ok(running)
    }
}

impl Running {
    /// A server that no longer reads has ended, or will; whoever waits is told by the reader.
    async fn send(&self, message: &Value) {
        let mut stdin = self.stdin.lock().await;
        if let Some(stdin) = stdin.as_mut() {
            let line = format!("{message}\n");
            let _ = stdin.write_all(line.as_bytes()).await;
            let _ = stdin.flush().await;
        }
    }
}

fn ended(state: &State) -> String {
    let words: Vec<&str> = state.last_lines.iter().map(String::as_str).collect();
    if words.is_empty() {
        "has ended without a word".into()
    } else {
        format!("has ended; its last words: {}", words.join(" | "))
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
    running: std::sync::Weak<Running>,
    shared: Arc<Shared>,
) {
    let mut lines = BufReader::new(stdout).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        if message.get("method").is_some() {
            if let (Some(answer), Some(running)) = (answer_to(&message), running.upgrade()) {
                running.send(&answer).await;
            }
            continue;
        }
        let Some(id) = message["id"].as_u64() else { continue };
        let waiting = shared.state().waiting.remove(&id);
        if let Some(waiting) = waiting {
            let _ = waiting.send(reply(&message));
        }
    }
    // Its last words may come a moment after its last answer.
    tokio::time::sleep(Duration::from_millis(20)).await;
    let mut state = shared.state();
    state.closed = true;
    state.waiting.clear();
}

/// What a server asks of us: a sign of life is given, everything else is not known here.
fn answer_to(request: &Value) -> Option<Value> {
    let id = request.get("id")?;
    Some(if request["method"] == "ping" {
        json!({"jsonrpc": "2.0", "id": id, "result": {}})
    } else {
        let error = json!({"code": -32601, "message": "proctor offers tools nothing but calls"});
        json!({"jsonrpc": "2.0", "id": id, "error": error})
    })
}

fn reply(message: &Value) -> Result<Value, String> {
    match message.get("error") {
        Some(error) => {
            Err(error["message"].as_str().map_or_else(|| error.to_string(), str::to_owned))
        }
        None => Ok(message.get("result").cloned().unwrap_or_default()),
    }
}

/// The result of a call: structured if it is, else its texts.
fn content(result: &Value) -> Result<Value, String> {
    let blocks = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    let text = texts.join("\n");
    if result["isError"] == true {
        return Err(text);
    }
    if let Some(structured) = result.get("structuredContent").filter(|value| !value.is_null()) {
        return Ok(structured.clone());
    }
    Ok(serde_json::from_str(&text).unwrap_or_else(|_| text.into()))
}
