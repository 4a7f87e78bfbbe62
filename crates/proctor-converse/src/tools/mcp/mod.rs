//! A client of the Model Context Protocol: lists tools and calls them.
//!
//! A server is a program of ours, spoken to over its standard input and output ([`program`]), or an address ([`http`]). It is
//! started or greeted with the first question and shared by all conversations. One that has ended costs the calls it had;
//! the next call starts it anew. Messages are JSON-RPC 2.0.
//!
//! By hand rather than with `rmcp`'s client: it is three requests, answers stay JSON values with all digits of their numbers, a
//! program runs under the guard and is quoted with its last lines, and HTTP goes through the endpoint of `proctor-llm`
//! with its limits and its handling of secrets. `rmcp` would need a transport of ours for each of these.

mod http;
mod program;

use std::sync::Arc;
use std::time::Duration;

use proctor_llm::{ModelError, ToolSpec};
use proctor_process::StartError;
use proctor_redact::Secret;
use serde_json::{Value, json};
use tokio::sync::{Mutex, OnceCell};

use self::http::HttpSession;
use self::program::McpProgram;
pub(crate) use self::program::McpProgramSpec;
use crate::failure::Failure;

/// The newest version of the protocol that this client knows; the server may answer with an older one.
const PROTOCOL: &str = "2025-06-18";
/// How long a server may take to start and to list its tools.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// How long it may take to end.
const END_TIMEOUT: Duration = Duration::from_secs(1);
/// How many pages of tools are asked for.
const MAX_PAGES: usize = 100;

/// A server of tools.
pub struct McpServer {
    name: String,
    transport: McpTransport,
    timeout: Duration,
    only: Option<Vec<String>>,
    link: Mutex<Option<McpSession>>,
    tools: OnceCell<Arc<[ToolSpec]>>,
}

/// How a server is reached.
#[derive(Debug, Clone)]
pub(crate) enum McpTransport {
    /// It is started here.
    Program(McpProgramSpec),
    /// It is somewhere.
    Address { url: String, headers: Vec<(String, Secret)> },
}

/// An initialized session with a server.
#[derive(Clone)]
enum McpSession {
    Program(Arc<McpProgram>),
    Address(Arc<HttpSession>),
}

/// Why a server cannot be reached or does not answer. The messages follow the server's name.
#[derive(Debug, thiserror::Error)]
enum ServerError {
    #[error("does not run: {0}")]
    NotStarted(#[from] StartError),
    /// Its sandbox could not be made, or does not show the program.
    #[error("was not run in its sandbox: {reason}")]
    NotConfined { reason: String },
    /// The rest of its output cannot be read, so it counts as ended.
    #[error("wrote a line of more than {limit} bytes")]
    LineTooLong { limit: usize },
    #[error("ended without output")]
    EndedSilently,
    /// `last_lines` are the last lines of its standard error.
    #[error("ended; last output: {}", last_lines.join(" | "))]
    EndReport { last_lines: Vec<String> },
    #[error("did not answer `{method}` within {within:?}")]
    TooSlow { method: String, within: Duration },
    #[error("— {}", .0.message)]
    Http(#[source] ModelError),
    /// The server no longer knows the session; the request was not carried out.
    #[error("is not at this address (HTTP 404)")]
    SessionUnknown,
    #[error("no longer knows a session that it has just opened")]
    SessionsUnstable,
    #[error("cannot list its tools: {0}")]
    NoToolList(String),
    #[error("refused `initialize`: {0}")]
    Refused(String),
}

/// The answer to a request: its result, or the message of the server's JSON-RPC error. That message is data: agents
/// are shown it as the tool's error.
type Answer = Result<Value, String>;

impl McpServer {
    pub(crate) fn new(
        name: String,
        transport: McpTransport,
        timeout: Duration,
        only: Option<Vec<String>>,
    ) -> Self {
        Self { name, transport, timeout, only, link: Mutex::new(None), tools: OnceCell::new() }
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
        let asked = self.request("tools/call", &params, self.timeout).await?;
        Ok(asked.and_then(|result| content(&result)))
    }

    /// Ends the program, or closes the HTTP session.
    pub async fn end(&self) {
        match self.link.lock().await.take() {
            Some(McpSession::Program(running)) => running.end().await,
            Some(McpSession::Address(session)) => session.end().await,
            None => {}
        }
    }

    fn failed(&self, error: &ServerError) -> Failure {
        let message = format!("the tool server `{}` {error}", self.name);
        match error {
            ServerError::NotConfined { .. } => Failure::harness(message),
            _ => Failure::party("ToolServer", message),
        }
    }

    async fn list(&self) -> Result<Arc<[ToolSpec]>, Failure> {
        let mut specs = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let params =
                cursor.take().map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
            let page = self.request("tools/list", &params, START_TIMEOUT).await?;
            let page = page.map_err(|error| self.failed(&ServerError::NoToolList(error)))?;
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
        params: &Value,
        within: Duration,
    ) -> Result<Answer, Failure> {
        for last_try in [false, true] {
            let link = self.link().await?;
            match link.ask(method, params, within).await {
                Ok(answer) => return Ok(answer),
                Err(ServerError::SessionUnknown) if last_try => break,
                Err(ServerError::SessionUnknown) => {}
                Err(error) => return Err(self.failed(&error)),
            }
        }
        Err(self.failed(&ServerError::SessionsUnstable))
    }

    /// The session with the server: initialized on first use and again after it has ended. Concurrent callers wait.
    async fn link(&self) -> Result<McpSession, Failure> {
        let mut link = self.link.lock().await;
        if let Some(alive) = link.as_ref().filter(|link| !link.has_ended()) {
            return Ok(alive.clone());
        }
        let fresh = match &self.transport {
            McpTransport::Program(program) => McpProgram::start(program)
                .await
                .map(|running| McpSession::Program(Arc::new(running))),
            McpTransport::Address { url, headers } => HttpSession::new(url, headers.clone())
                .map(|session| McpSession::Address(Arc::new(session))),
        };
        let fresh = fresh.map_err(|error| self.failed(&error))?;
        self.initialize(&fresh).await?;
        *link = Some(fresh.clone());
        Ok(fresh)
    }

    async fn initialize(&self, link: &McpSession) -> Result<(), Failure> {
        let hello = json!({
            "protocolVersion": PROTOCOL,
            "capabilities": {},
            "clientInfo": {"name": "proctor", "version": env!("CARGO_PKG_VERSION")},
        });
        let answer = link.ask("initialize", &hello, START_TIMEOUT).await;
        let answer = answer.map_err(|error| self.failed(&error))?;
        let answer = answer.map_err(|error| self.failed(&ServerError::Refused(error)))?;
        let version = answer["protocolVersion"].as_str().unwrap_or(PROTOCOL);
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        match link {
            McpSession::Program(running) => running.send(&ready).await,
            McpSession::Address(session) => {
                session.set_version(version);
                session.notify(&ready).await;
            }
        }
        Ok(())
    }
}

impl McpSession {
    fn has_ended(&self) -> bool {
        match self {
            Self::Program(running) => running.has_ended(),
            Self::Address(session) => session.has_ended(),
        }
    }

    async fn ask(
        &self,
        method: &str,
        params: &Value,
        within: Duration,
    ) -> Result<Answer, ServerError> {
        match self {
            Self::Program(running) => running.ask(method, params, within).await,
            Self::Address(session) => session.ask(method, params, within).await,
        }
    }
}

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// The reply to a request of the server: `ping` is answered, other methods are refused.
fn reply_to_server_request(request: &Value) -> Option<Value> {
    let id = request.get("id")?;
    Some(if request["method"] == "ping" {
        json!({"jsonrpc": "2.0", "id": id, "result": {}})
    } else {
        let error = json!({"code": -32601, "message": "proctor is a client and offers no methods"});
        json!({"jsonrpc": "2.0", "id": id, "error": error})
    })
}

fn read_reply(message: &Value) -> Answer {
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
