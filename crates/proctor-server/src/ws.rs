//! `/ws`: the events of a run as they happen.
//!
//! A client has a place in the stream and nothing else: no queue of its own. New events come from the shared index, older ones from the
//! recording, so a slow client costs no memory and a late one misses nothing. One that takes nothing at all for a
//! while is dropped.
//!
//! With `run` the stream ends with that run. Without it, it is about whatever happens here: the run that is going on, then each that
//! follows.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::response::Response;
use futures_util::{SinkExt as _, StreamExt as _};
use proctor_events::{Event, Translator};
use proctor_record::Taken;
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::api::{Query, listed};
use crate::error::ApiError;
use crate::hub::{Run, Watching};
use crate::index::{Sent, Wanted};
use crate::server::Shared;

/// How many events are sent before looking at the socket's other side again.
const BATCH: usize = 256;
/// How often to look for a new run.
const NEW_RUNS: Duration = Duration::from_millis(100);
/// What clients may say to us; there is nothing to say.
const INCOMING: usize = 4 << 10;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wishes {
    run: Option<String>,
    since: Option<u64>,
    format: Option<Format>,
    example: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default, rename = "token")]
    _token: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    Flat,
    Envelope,
}

pub(crate) async fn upgrade(
    State(shared): State<Arc<Shared>>,
    Query(wishes): Query<Wishes>,
    Extension(taken): Extension<Taken>,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let first = match wishes.run.clone() {
        Some(name) => {
            let shared = Arc::clone(&shared);
            let found = tokio::task::spawn_blocking(move || shared.hub.find(&name)).await;
            Some(found.map_err(ApiError::internal)??)
        }
        None => None,
    };
    let upgrade = upgrade.map_err(|problem| ApiError::bad_request(problem.body_text()))?;
    let upgrade = upgrade.max_message_size(INCOMING).max_frame_size(INCOMING);
    let counted = Counted::new(&shared.watching);
    Ok(upgrade.on_upgrade(move |socket| async move {
        serve(Client::new(socket, taken, &shared, &wishes), shared, wishes, first).await;
        drop(counted);
    }))
}

/// One open stream.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Why a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The run it was about is over.
    Over,
    /// The client is gone or stuck.
    Gone,
    /// The server ends; everything that was recorded until then has been sent.
    Closing,
}

async fn serve(mut client: Client, shared: Arc<Shared>, wishes: Wishes, first: Option<Arc<Run>>) {
    let end = match first {
        Some(run) => client.stream(&run, wishes.since.unwrap_or_default()).await,
        None => follow(&mut client, &shared, &wishes).await,
    };
    match end {
        End::Over => client.bye(close_code::NORMAL, "the run is over").await,
        End::Gone => client.let_go().await,
        End::Closing => client.bye(close_code::AWAY, "the server has ended").await,
    }
}

/// Sends one run after the other.
async fn follow(client: &mut Client, shared: &Arc<Shared>, wishes: &Wishes) -> End {
    let mut since = wishes.since;
    let mut seen: Option<String> = None;
    loop {
        let looked = next_run(shared, seen.clone(), since.is_some()).await;
        if let Some(run) = looked {
            seen = Some(run.name.clone());
            client.form = Form::new(wishes);
            match client.stream(&run, since.take().unwrap_or_default()).await {
                End::Over => {}
                end => return end,
            }
        } else {
            since = None;
            seen.get_or_insert_default();
            if let Some(end) = client.wait(NEW_RUNS).await {
                return end;
            }
        }
    }
}

/// The run to stream next: the oldest after the one seen last; at first the newest that goes on, or
/// with `resuming` the newest at all.
async fn next_run(shared: &Arc<Shared>, seen: Option<String>, resuming: bool) -> Option<Arc<Run>> {
    let shared = Arc::clone(shared);
    let looking = tokio::task::spawn_blocking(move || {
        let folders = shared.hub.folders().ok()?;
        let folder = match &seen {
            None => folders.last().filter(|folder| {
                resuming || {
                    let run = shared.hub.open(folder);
                    run.catch_up().is_ok() && !run.state().is_over()
                }
            })?,
            // Nothing was going on when this client came: whatever is running now is new to it.
            Some(seen) if seen.is_empty() => folders.last().filter(|folder| {
                let run = shared.hub.open(folder);
                run.catch_up().is_ok() && !run.state().is_over()
            })?,
            Some(seen) => folders.iter().find(|folder| folder.name() > *seen)?,
        };
        Some(shared.hub.open(folder))
    });
    looking.await.ok().flatten()
}

struct Client {
    socket: WebSocket,
    /// What its side of the connection has made room for.
    taken: Taken,
    wanted: Wanted,
    form: Form,
    /// How long it may take nothing.
    patience: Duration,
    /// Whether the server ends.
    stopped: watch::Receiver<bool>,
}

impl Client {
    fn new(socket: WebSocket, taken: Taken, shared: &Shared, wishes: &Wishes) -> Self {
        let wanted = Wanted {
            examples: listed(wishes.example.as_deref()),
            types: listed(wishes.kind.as_deref()),
        };
        let (form, patience) = (Form::new(wishes), shared.limits.stuck_after);
        Self { socket, taken, wanted, form, patience, stopped: shared.stopped.clone() }
    }

    /// Sends a run to its end.
    async fn stream(&mut self, run: &Arc<Run>, since: u64) -> End {
        let mut watching: Watching = run.watch();
        if !caught_up(run).await {
            return End::Over;
        }
        let mut place = run.index().after(since);
        if !self.form.prepare(run, place).await {
            return End::Over;
        }
        let mut generation = watching.changes.borrow_and_update().1;
        let mut closing = false;
        loop {
            let ended = run.has_ended();
            let (count, now) = *watching.changes.borrow_and_update();
            if now != generation {
                (generation, place) = (now, 0);
            }
            if place < count.max(run.index().len()) {
                let Ok((events, next)) = run.read(place, &self.wanted, BATCH).await else {
                    return End::Over;
                };
                place = next;
                if !self.send(&events).await {
                    return End::Gone;
                }
            } else if ended {
                return End::Over;
            } else if closing {
                return End::Closing;
            } else {
                let Self { socket, stopped, .. } = self;
                let goes_on = tokio::select! {
                    changed = watching.changes.changed() => changed.is_ok(),
                    open = listen(socket) => open,
                    () = told_to_stop(stopped) => {
                        // What was recorded last may not have been looked at yet.
                        closing = caught_up(run).await;
                        closing
                    }
                };
                if !goes_on {
                    return End::Gone;
                }
            }
        }
    }

    /// Sends a batch; false if the client is gone or stuck.
    async fn send(&mut self, events: &[Sent]) -> bool {
        let Self { socket, taken, form, patience, .. } = self;
        let sending = async {
            for sent in events {
                if let Some(text) = form.message(sent) {
                    socket.feed(Message::Text(text)).await?;
                }
            }
            socket.flush().await
        };
        matches!(taken.patiently(*patience, sending).await, Some(Ok(())))
    }

    /// Waits a moment; says why, if there is nothing more to wait for.
    async fn wait(&mut self, moment: Duration) -> Option<End> {
        let Self { socket, stopped, .. } = self;
        tokio::select! {
            () = tokio::time::sleep(moment) => None,
            () = async { while listen(socket).await {} } => Some(End::Gone),
            () = told_to_stop(stopped) => Some(End::Closing),
        }
    }

    /// Answers the goodbye of a client that has said one; one that is gone or stuck is not waited for.
    async fn let_go(mut self) {
        let _ = timeout(Duration::from_millis(200), self.socket.flush()).await;
    }

    async fn bye(mut self, code: u16, reason: &'static str) {
        let patience = self.patience;
        let frame = CloseFrame { code, reason: Utf8Bytes::from_static(reason) };
        let closing = async {
            self.socket.send(Message::Close(Some(frame))).await?;
            // The other side says goodbye too, or the connection ends.
            while let Some(Ok(_)) = self.socket.next().await {}
            Ok::<(), axum::Error>(())
        };
        let _ = timeout(patience, closing).await;
    }
}

/// Reads what has been recorded until now; false if it cannot be read.
async fn caught_up(run: &Arc<Run>) -> bool {
    let run = Arc::clone(run);
    matches!(tokio::task::spawn_blocking(move || run.catch_up()).await, Ok(Ok(_)))
}

async fn told_to_stop(stopped: &mut watch::Receiver<bool>) {
    // Whoever could say so has gone: that is an end too.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// Listens to a client that has nothing to say; false once it has left.
async fn listen(socket: &mut WebSocket) -> bool {
    match socket.next().await {
        Some(Ok(Message::Close(_)) | Err(_)) | None => false,
        Some(Ok(_)) => true,
    }
}

/// In which form a client wants the events.
enum Form {
    Flat,
    Envelope(Box<Translator>),
}

impl Form {
    fn new(wishes: &Wishes) -> Self {
        match wishes.format {
            Some(Format::Envelope) => Self::Envelope(Box::default()),
            Some(Format::Flat) | None => Self::Flat,
        }
    }

    fn message(&mut self, sent: &Sent) -> Option<Utf8Bytes> {
        match self {
            Self::Flat => Some(sent.text.clone()),
            Self::Envelope(translator) => {
                let event = Event::from_json(&sent.text).ok()?;
                Some(translator.translate(&event).to_string().into())
            }
        }
    }

    /// Results repeat what starts said; a client that resumes has seen those.
    async fn prepare(&mut self, run: &Arc<Run>, place: usize) -> bool {
        let Self::Envelope(translator) = self else { return true };
        let starts = Wanted { examples: Vec::new(), types: vec!["ExampleStarted".to_owned()] };
        let mut from = 0;
        while from < place {
            let Ok((events, next)) = run.read(from, &starts, BATCH).await else { return false };
            for sent in &events {
                if let Ok(event) = Event::from_json(&sent.text) {
                    translator.translate(&event);
                }
            }
            from = next;
        }
        true
    }
}
