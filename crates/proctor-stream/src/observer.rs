//! The WebSocket observer: broadcasts a run to any number of local clients.
//!
//! Every client gets every event from the `seq` it asks for (`?since=SEQ`; without it, from the first one),
//! each exactly once and in order, by a [`Session`](crate::Session). Recent events come from memory, older ones from the recording.
//!
//! Query parameters: `since`, `token`, `format=envelope` (the older `{event, data}` form), `progress=each` (after every result).

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use proctor_record::destinations::{BadDestination, WebSocketAddress};
use tokio::sync::{Semaphore, watch};

use crate::feed::Feed;
use crate::observer_client;
use crate::session::{EndPace, SessionLimits};

/// How long a client may receive nothing before it is dropped.
const STALL_TIMEOUT: Duration = Duration::from_secs(10);
/// How fast clients must receive the rest after the end of the run: at a pace that has them through within five minutes.
const END_PACE: EndPace = EndPace { window: Duration::from_secs(5), windows: 60 };
/// How long the closing message and the close frame of a client that is behind may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// How many clients are served at once.
const MAX_CLIENTS: usize = 4096;

/// A running observer. Dropping it closes every connection.
#[derive(Debug)]
pub struct WebSocketObserver {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) feed: Arc<Feed>,
    pub(crate) token: Option<Arc<str>>,
    pub(crate) limits: SessionLimits,
    pub(crate) stop: watch::Receiver<bool>,
}

impl WebSocketObserver {
    /// Binds the address and starts serving on a thread of its own.
    pub fn start(address: &WebSocketAddress, feed: Arc<Feed>) -> Result<Self, BadDestination> {
        Self::start_with(address, feed, STALL_TIMEOUT, END_PACE)
    }

    fn start_with(
        address: &WebSocketAddress,
        feed: Arc<Feed>,
        stall_after: Duration,
        end_pace: EndPace,
    ) -> Result<Self, BadDestination> {
        let refused = |error: io::Error| BadDestination {
            destination: address.to_string(),
            reason: format!("cannot listen on this address: {error}"),
        };
        let host = address.host.trim_matches(['[', ']']);
        let listener = TcpListener::bind((host, address.port)).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let local = listener.local_addr().map_err(refused)?;
        let (stop, stopped) = watch::channel(false);
        let token = address.token.as_deref().map(Arc::from);
        let limits = SessionLimits {
            stall_after,
            after_stop: Duration::ZERO,
            close_timeout: CLOSE_TIMEOUT,
            end_pace: Some(end_pace),
        };
        let service = Service { feed, token, limits, stop: stopped };
        let thread = std::thread::Builder::new()
            .name("websocket observer".to_owned())
            .spawn(move || serve(listener, service))
            .map_err(refused)?;
        Ok(Self { address: local, stop, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until every client has received the rest, or falls behind the pace that is demanded of it; such a client gets `StreamClosing`
    /// with the position to resume from, within `CLOSE_TIMEOUT`. Call after the bus is closed.
    pub fn finish(mut self) {
        if let Some(thread) = self.thread.take() {
            // A panic was printed by the panic hook.
            let _ = thread.join();
        }
    }

    fn end(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // The thread ends after the closing messages. A panic was printed by the panic hook.
            let _ = thread.join();
        }
    }
}

impl Drop for WebSocketObserver {
    fn drop(&mut self) {
        self.end();
    }
}

fn serve(listener: TcpListener, service: Service) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    if let Ok(runtime) = runtime {
        runtime.block_on(accept_until_ended(listener, service));
        runtime.shutdown_background();
    }
}

/// Accepts clients until told to stop, or until the feed has ended and every client has left. After the end of the feed they are accepted
/// for one more window, so that those that keep coming cannot hold the process.
async fn accept_until_ended(listener: TcpListener, service: Service) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    let permits = Arc::new(Semaphore::new(MAX_CLIENTS));
    let mut stop = service.stop.clone();
    let mut changes = service.feed.changes();
    let window = service.limits.end_pace.map_or(Duration::ZERO, |pace| pace.window);
    let mut accept_until = None;
    loop {
        if *stop.borrow() {
            let all_closed = permits.acquire_many(u32::try_from(MAX_CLIENTS).unwrap_or(u32::MAX));
            // One message and one close frame for each client, each with this timeout.
            let _ = tokio::time::timeout(CLOSE_TIMEOUT * 2, all_closed).await;
            return;
        }
        if service.feed.has_ended() && permits.available_permits() == MAX_CLIENTS {
            return;
        }
        if service.feed.has_ended() {
            accept_until.get_or_insert_with(|| tokio::time::Instant::now() + window);
        }
        let accepting = accept_until.is_none_or(|until| tokio::time::Instant::now() < until);
        tokio::select! {
            accepted = listener.accept(), if accepting => {
                let Ok((stream, _)) = accepted else {
                    // Most likely out of descriptors: a pause avoids a busy loop.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                };
                let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else { continue };
                let service = service.clone();
                tokio::spawn(async move {
                    observer_client::serve(stream, service).await;
                    drop(permit);
                });
            }
            _ = stop.changed() => {}
            _ = changes.changed(), if !service.feed.has_ended() => {}
            () = tokio::time::sleep(Duration::from_millis(5)), if service.feed.has_ended() => {}
        }
    }
}

#[cfg(test)]
mod tests;
