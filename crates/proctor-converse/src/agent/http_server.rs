//! An HTTP agent whose server we start ourselves, and wait for until it can be spoken to.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use proctor_process::{ManagedProcess, RpcMode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::agent_output::OutputListener;
use super::program::Launch;
use super::{Agent, AgentTurn, ModelAgent, Session};
use crate::BoxFuture;
use crate::attempt_id::AttemptId;
use crate::failure::{Failure, PartyAnswer};
use proctor_dialogue::AgentAnswer;

/// How often a server that is not ready yet is tried.
const TRY_EVERY: Duration = Duration::from_millis(10);
const END_WITHIN: Duration = Duration::from_secs(2);

/// Makes the program and its client for a port.
pub(crate) type MakeClient =
    Arc<dyn Fn(u16) -> Result<(Launch, ModelAgent, Ready), Failure> + Send + Sync>;

/// When a server is ready.
#[derive(Debug, Clone)]
pub(crate) struct Ready {
    /// The port that takes connections.
    pub(crate) port: u16,
    /// The path that answers below 400, if it must.
    pub(crate) path: Option<String>,
    pub(crate) within: Duration,
}

/// An HTTP agent with its server.
pub struct ServedAgent {
    make: MakeClient,
    each: bool,
    shared: Mutex<Option<ServedConversation>>,
}

#[derive(Clone)]
struct ServedConversation {
    process: ManagedProcess,
    listening: Arc<OutputListener>,
    client: ModelAgent,
    launch: Arc<Launch>,
}

impl ServedAgent {
    pub(crate) fn new(make: MakeClient, each: bool) -> Self {
        Self { make, each, shared: Mutex::new(None) }
    }

    async fn start(&self) -> Result<ServedConversation, Failure> {
        let port = free_port().map_err(|error| {
            Failure::harness(format!("no port is free on this machine: {error}"))
        })?;
        let (launch, client, ready) = (self.make)(port)?;
        let (process, listening) = launch.start(RpcMode::None, 0).await?;
        if let Err(why) = wait_until_ready(&process, &launch, &ready).await {
            let _ = process.kill().await;
            let message = format!("the agent `{}` {why}", launch.name);
            return Err(Failure::party("NotStarted", message));
        }
        Ok(ServedConversation { process, listening, client, launch: Arc::new(launch) })
    }

    async fn serving(&self) -> Result<ServedConversation, Failure> {
        if self.each {
            return self.start().await;
        }
        let mut shared = self.shared.lock().await;
        if let Some(serving) = shared.as_ref().filter(|serving| serving.process.is_alive()) {
            return Ok(serving.clone());
        }
        let serving = self.start().await?;
        *shared = Some(serving.clone());
        Ok(serving)
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
    launch: &Launch,
    ready: &Ready,
) -> Result<(), String> {
    let deadline = Instant::now() + ready.within;
    loop {
        if answers(ready).await {
            return Ok(());
        }
        if !process.is_alive() {
            let ended = launch.obituary(process).await.unwrap_or_default();
            return Err(format!("did not become ready: {ended}"));
        }
        if Instant::now() >= deadline {
            let what = ready.path.as_deref().map_or_else(
                || format!("nothing listens on port {}", ready.port),
                |path| format!("http://127.0.0.1:{}{path} does not answer", ready.port),
            );
            return Err(format!("was not ready within {:?}: {what}", ready.within));
        }
        tokio::time::sleep(TRY_EVERY).await;
    }
}

async fn answers(ready: &Ready) -> bool {
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
            let serving = self.serving().await?;
            let inner = serving.client.open(attempt_id).await?;
            let session: Box<dyn Session> =
                Box::new(ServedSession { inner, serving, each: self.each });
            Ok(session)
        })
    }

    fn end(&self, at_once: bool) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Some(serving) = self.shared.lock().await.take() {
                finish(&serving.process, at_once).await;
            }
        })
    }
}

async fn finish(process: &ManagedProcess, at_once: bool) {
    let _ = if at_once { process.kill().await } else { process.stop(END_WITHIN).await };
}

struct ServedSession {
    inner: Box<dyn Session>,
    serving: ServedConversation,
    each: bool,
}

impl Session for ServedSession {
    fn chat<'a>(&'a mut self, turn: AgentTurn<'a>) -> BoxFuture<'a, PartyAnswer<AgentAnswer>> {
        Box::pin(async move {
            let serving = self.serving.listening.serving(turn.attempt_id);
            let mut asked = self.inner.chat(turn).await;
            drop(serving);
            // A broken connection says little; a server that has ended says more.
            if let Err(failure) = &mut asked.outcome
                && failure.class == "Unreachable"
                && let Some(ended) = self.serving.launch.obituary(&self.serving.process).await
            {
                failure.message = format!("{}; its server is gone: {ended}", failure.message);
            }
            asked
        })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            self.inner.close().await;
            if self.each {
                finish(&self.serving.process, false).await;
            }
        })
    }
}
