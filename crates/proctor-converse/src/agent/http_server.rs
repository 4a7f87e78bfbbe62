//! An HTTP agent whose server we start ourselves, and wait for until it can be spoken to.
//!
//! One server answers all conversations, or each conversation has one of its own. A shared server that dies costs the conversations that
//! it was answering or had begun, since it may have kept what was said; the next attempt of each gets a server of its own, as with
//! [`CommandAgent`](super::CommandAgent). New conversations get a new shared server.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use proctor_process::{ManagedProcess, RpcMode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::agent_output::OutputListener;
use super::attempts_alone::AttemptsAlone;
use super::program::LaunchSpec;
use super::{Agent, AgentTurn, ModelAgent, Session};
use crate::BoxFuture;
use crate::attempt_id::AttemptId;
use crate::failure::{Failure, PartyAnswer};
use proctor_dialogue::AgentAnswer;

/// How often a server that is not ready yet is tried.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// Makes the program and its client for a port.
pub(crate) type MakeClient =
    Arc<dyn Fn(u16) -> Result<(LaunchSpec, ModelAgent, ReadinessCheck), Failure> + Send + Sync>;

/// When a server is ready.
#[derive(Debug, Clone)]
pub(crate) struct ReadinessCheck {
    /// The port that takes connections.
    pub(crate) port: u16,
    /// The path that answers below 400, if it must.
    pub(crate) path: Option<String>,
    pub(crate) within: Duration,
}

/// An HTTP agent with its server.
pub struct ServedAgent {
    make: MakeClient,
    own_server: bool,
    shared: Mutex<Option<AgentServer>>,
    alone: Arc<AttemptsAlone>,
}

#[derive(Clone)]
struct AgentServer {
    process: ManagedProcess,
    listener: Arc<OutputListener>,
    client: ModelAgent,
    launch: Arc<LaunchSpec>,
}

impl ServedAgent {
    pub(crate) fn new(make: MakeClient, own_server: bool) -> Self {
        Self { make, own_server, shared: Mutex::new(None), alone: Arc::default() }
    }

    async fn start(&self) -> Result<AgentServer, Failure> {
        let port = free_port().map_err(|error| {
            Failure::harness(format!("no port is free on this machine: {error}"))
        })?;
        let (launch, client, ready) = (self.make)(port)?;
        let (process, listener) = launch.start(RpcMode::None, 0).await?;
        if let Err(why) = wait_until_ready(&process, &launch, &ready).await {
            if !process.is_alive()
                && let Some(failure) = launch.sandbox_failure(&process).await
            {
                return Err(failure);
            }
            let _ = process.kill().await;
            let message = launch.with_env_hint(format!("the agent `{}` {why}", launch.name));
            return Err(Failure::party("NotStarted", message));
        }
        Ok(AgentServer { process, listener, client, launch: Arc::new(launch) })
    }

    async fn shared_server(&self) -> Result<AgentServer, Failure> {
        let mut shared = self.shared.lock().await;
        if let Some(server) = shared.as_ref().filter(|server| server.process.is_alive()) {
            return Ok(server.clone());
        }
        let server = self.start().await?;
        *shared = Some(server.clone());
        Ok(server)
    }
}

/// A port that was free a moment ago. Another program may take it; the server then says so and is reported.
fn free_port() -> std::io::Result<u16> {
    std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
        .local_addr()
        .map(|address| address.port())
}

async fn wait_until_ready(
    process: &ManagedProcess,
    launch: &LaunchSpec,
    ready: &ReadinessCheck,
) -> Result<(), String> {
    let deadline = Instant::now() + ready.within;
    loop {
        if is_ready(ready).await {
            return Ok(());
        }
        if !process.is_alive() {
            let ended = launch.exit_description(process).await.unwrap_or_default();
            return Err(format!("did not become ready: {ended}"));
        }
        if Instant::now() >= deadline {
            let what = ready.path.as_deref().map_or_else(
                || format!("nothing listens on port {}", ready.port),
                |path| format!("http://127.0.0.1:{}{path} does not answer", ready.port),
            );
            return Err(format!("was not ready within {:?}: {what}", ready.within));
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

async fn is_ready(ready: &ReadinessCheck) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, ready.port));
    let Ok(mut stream) = TcpStream::connect(address).await else { return false };
    let Some(path) = &ready.path else { return true };
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nconnection: close\r\n\r\n",
        ready.port
    );
    let exchange = async {
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.ok()?;
        let head = String::from_utf8_lossy(&head).into_owned();
        head.strip_prefix("HTTP/1.1 ")
            .or(head.strip_prefix("HTTP/1.0 "))?
            .get(..1)?
            .parse::<u8>()
            .ok()
    };
    let class = tokio::time::timeout(Duration::from_secs(1), exchange).await;
    matches!(class, Ok(Some(1..=3)))
}

impl Agent for ServedAgent {
    fn open<'a>(
        &'a self,
        attempt_id: &'a AttemptId,
    ) -> BoxFuture<'a, Result<Box<dyn Session>, Failure>> {
        Box::pin(async move {
            let own_server = self.alone.take(attempt_id) || self.own_server;
            let server =
                if own_server { self.start().await? } else { self.shared_server().await? };
            let inner = server.client.open(attempt_id).await?;
            let alone = Arc::clone(&self.alone);
            let session: Box<dyn Session> =
                Box::new(ServedSession { inner, server, own_server, lost: false, alone });
            Ok(session)
        })
    }

    fn end(&self, at_once: bool) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Some(server) = self.shared.lock().await.take() {
                finish(&server.process, at_once).await;
            }
        })
    }
}

async fn finish(process: &ManagedProcess, at_once: bool) {
    let _ = if at_once { process.kill().await } else { process.stop(END_TIMEOUT).await };
}

struct ServedSession {
    inner: Box<dyn Session>,
    server: AgentServer,
    /// Whether the server belongs to this conversation alone.
    own_server: bool,
    /// Whether a shared server died while it was asked.
    lost: bool,
    alone: Arc<AttemptsAlone>,
}

impl Session for ServedSession {
    fn chat<'a>(&'a mut self, turn: AgentTurn<'a>) -> BoxFuture<'a, PartyAnswer<AgentAnswer>> {
        Box::pin(async move {
            let serving = self.server.listener.serving(turn.attempt_id);
            let mut asked = self.inner.chat(turn).await;
            drop(serving);
            // A broken connection or half an answer says little; a server that has ended says more.
            if let Err(failure) = &mut asked.outcome
                && ["Unreachable", "Truncated"].contains(&&*failure.class)
                && let Some(ended) = self.server.launch.exit_description(&self.server.process).await
            {
                failure.message = format!("{}; its server has ended: {ended}", failure.message);
                if !self.own_server {
                    self.lost = true;
                    self.alone.add_attempt_after(turn.attempt_id);
                }
            }
            asked
        })
    }

    fn lost_shared_process(&self) -> bool {
        self.lost
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            self.inner.close().await;
            if self.own_server {
                finish(&self.server.process, false).await;
            }
        })
    }
}
