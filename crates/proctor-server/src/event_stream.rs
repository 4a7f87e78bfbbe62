//! `/ws`: the events of a run as they happen, by a [`Session`] like that of the `ws://` observer.
//!
//! With `run` the stream ends with that run. Without it, the stream has the live run, if there is one, and then each run that is started.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use futures_util::{SinkExt as _, StreamExt as _};
use proctor_record::{EventFilter, StreamEvent};
use proctor_redact::Redactor;
use proctor_stream::{
    Connection, EventCursor, MessageFormat, MessageOptions, ProgressFrequency, Recording, Session,
    SessionEnd, SessionLimits, WriteProgress,
};
use serde::Deserialize;

use crate::api::{Query, listed};
use crate::error::ApiError;
use crate::open_runs::{OpenRun, RunWatch};
use crate::server::Shared;

/// The largest message that a client may send; messages of clients are ignored.
const MAX_INCOMING_BYTES: usize = 4 << 10;
/// How long events are sent after the stop signal, and how long closing may take. Together less than the shutdown timeout of the
/// connections.
const STOP_GRACE: Duration = Duration::from_millis(500);
const CLOSE_TIMEOUT: Duration = Duration::from_millis(400);
/// How many events are read at a time where none is sent.
const SCAN_BATCH: usize = 256;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StreamQuery {
    run: Option<String>,
    since: Option<u64>,
    format: Option<Format>,
    progress: Option<Frequency>,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Frequency {
    Coalesced,
    Each,
}

pub(crate) async fn upgrade(
    State(shared): State<Arc<Shared>>,
    Query(query): Query<StreamQuery>,
    Extension(progress): Extension<WriteProgress>,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    if query.progress == Some(Frequency::Each) && (query.example.is_some() || query.kind.is_some())
    {
        let problem =
            "progress=each counts the results of a whole run: leave out example= and type=";
        return Err(ApiError::bad_request(problem));
    }
    let first = match query.run.clone() {
        Some(name) => {
            let shared = Arc::clone(&shared);
            let found = tokio::task::spawn_blocking(move || shared.runs.find(&name)).await;
            Some(found.map_err(ApiError::internal)??)
        }
        None => None,
    };
    let upgrade = upgrade.map_err(|problem| ApiError::bad_request(problem.body_text()))?;
    let upgrade = upgrade.max_message_size(MAX_INCOMING_BYTES).max_frame_size(MAX_INCOMING_BYTES);
    let counted = OpenStream::new(&shared.watching);
    Ok(upgrade.on_upgrade(move |socket| async move {
        let limits = SessionLimits {
            stall_after: shared.limits.stall_after,
            after_stop: STOP_GRACE,
            close_timeout: CLOSE_TIMEOUT,
            // A stream that has ended is sent as long as the server runs.
            end_pace: None,
        };
        let stop = shared.stopped.clone();
        let mut session = Session::new(
            ServerSocket { socket, redactor: shared.redactor.clone() },
            progress,
            limits,
            stop,
        );
        let end = match first {
            Some(run) => stream(&mut session, &run, &query, query.since).await,
            None => follow(&mut session, &shared, &query).await,
        };
        session.close(end).await;
        drop(counted);
    }))
}

/// One open stream.
struct OpenStream(Arc<AtomicUsize>);

impl OpenStream {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Sends one run to its end.
async fn stream(
    session: &mut Session<ServerSocket>,
    run: &Arc<OpenRun>,
    query: &StreamQuery,
    since: Option<u64>,
) -> SessionEnd {
    let since = since.unwrap_or_default();
    let format = match query.format {
        Some(Format::Envelope) => MessageFormat::Envelope,
        Some(Format::Flat) | None => MessageFormat::Flat,
    };
    let progress = match query.progress {
        Some(Frequency::Each) => ProgressFrequency::Each,
        Some(Frequency::Coalesced) | None => ProgressFrequency::Coalesced,
    };
    let options = MessageOptions { format, progress };
    match RunCursor::open(run, since, query).await {
        Some(mut cursor) => session.stream(&mut cursor, options, since).await,
        None => SessionEnd::StreamEnded,
    }
}

/// Sends one run after the other.
async fn follow(
    session: &mut Session<ServerSocket>,
    shared: &Arc<Shared>,
    query: &StreamQuery,
) -> SessionEnd {
    let mut since = query.since;
    let mut seen: Option<String> = None;
    let mut list = None;
    loop {
        let next = next_run(shared, seen.clone(), since.is_some()).await;
        if let Some(run) = next {
            list = None;
            seen = Some(run.name.clone());
            match stream(session, &run, query, since.take()).await {
                SessionEnd::StreamEnded => {}
                end => return end,
            }
        } else {
            since = None;
            seen.get_or_insert_default();
            let list = list.get_or_insert_with(|| shared.runs.watch_run_list());
            if let Some(end) = session.wait_for(list.changed()).await {
                return end;
            }
        }
    }
}

/// The run to stream next: the oldest after the one seen last; at first the newest that goes on, or
/// with `resuming` the newest at all.
async fn next_run(
    shared: &Arc<Shared>,
    seen: Option<String>,
    resuming: bool,
) -> Option<Arc<OpenRun>> {
    let shared = Arc::clone(shared);
    let looking = tokio::task::spawn_blocking(move || {
        let folders = shared.runs.folders().ok()?;
        let folder = match &seen {
            None => folders.last().filter(|folder| {
                resuming || {
                    let run = shared.runs.open(folder);
                    run.catch_up().is_ok() && !run.state().is_over()
                }
            })?,
            // No run was live when this client connected, so a live run is new to it.
            Some(seen) if seen.is_empty() => folders.last().filter(|folder| {
                let run = shared.runs.open(folder);
                run.catch_up().is_ok() && !run.state().is_over()
            })?,
            Some(seen) => folders.iter().find(|folder| folder.name() > *seen)?,
        };
        Some(shared.runs.open(folder))
    });
    looking.await.ok().flatten()
}

/// A client's place in a run.
struct RunCursor {
    watching: RunWatch,
    filter: EventFilter,
    /// The next event, as a place in the recording.
    place: usize,
    /// How often the file had been replaced when `place` was taken.
    generation: u64,
}

impl RunCursor {
    /// Stands after the event with this number; `None` if the recording cannot be read.
    async fn open(run: &Arc<OpenRun>, since: u64, query: &StreamQuery) -> Option<Self> {
        let mut watching = run.watch();
        if !catch_up(run).await {
            return None;
        }
        let filter = EventFilter {
            examples: listed(query.example.as_deref()),
            types: listed(query.kind.as_deref()),
        };
        let place = run.recording().place_after(since);
        let generation = watching.changes.borrow_and_update().1;
        Some(Self { watching, filter, place, generation })
    }
}

impl EventCursor for RunCursor {
    async fn read(&mut self, limit: usize) -> io::Result<Option<Vec<StreamEvent>>> {
        let (_, generation) = *self.watching.changes.borrow_and_update();
        if generation != self.generation {
            (self.generation, self.place) = (generation, 0);
        }
        let run = &self.watching.run;
        if self.place >= run.recording().event_count() {
            return Ok(None);
        }
        let (events, next) = run.read(self.place, &self.filter, limit).await?;
        self.place = next;
        Ok(Some(events))
    }

    async fn changed(&mut self) {
        // The run lives as long as this cursor, and with it the sender.
        let _ = self.watching.changes.changed().await;
    }

    async fn catch_up(&mut self) {
        catch_up(&self.watching.run).await;
    }

    async fn earlier(&mut self, types: &[&str]) -> io::Result<Vec<StreamEvent>> {
        let types = types.iter().map(|name| (*name).to_owned()).collect();
        let filter = EventFilter { examples: Vec::new(), types };
        let (mut from, mut found) = (0, Vec::new());
        let before = self.watching.run.recording().seq_at(self.place).unwrap_or(u64::MAX);
        while from < self.place {
            let (events, next) = self.watching.run.read(from, &filter, SCAN_BATCH).await?;
            found.extend(events.into_iter().filter(|event| event.seq < before));
            from = next;
        }
        Ok(found)
    }

    fn has_ended(&self) -> bool {
        self.watching.run.has_ended()
    }

    fn behind(&self) -> u64 {
        self.watching.run.recording().event_count().saturating_sub(self.place) as u64
    }

    fn recording(&self) -> Recording {
        let run = &self.watching.run;
        Recording { run: Some(run.name.as_str().into()), path: run.events_path() }
    }
}

/// Reads what has been recorded until now; false if it cannot be read.
async fn catch_up(run: &Arc<OpenRun>) -> bool {
    let run = Arc::clone(run);
    matches!(tokio::task::spawn_blocking(move || run.catch_up()).await, Ok(Ok(_)))
}

/// Sends messages without secrets, whoever made the recording.
struct ServerSocket {
    socket: WebSocket,
    redactor: Redactor,
}

impl Connection for ServerSocket {
    type Error = axum::Error;

    async fn feed(&mut self, text: &str) -> Result<(), axum::Error> {
        let message = match self.redactor.redact_json_line(text.as_bytes()) {
            Cow::Borrowed(_) => Message::text(text),
            Cow::Owned(clean) => Message::text(String::from_utf8_lossy(&clean).into_owned()),
        };
        self.socket.feed(message).await
    }

    async fn flush(&mut self) -> Result<(), axum::Error> {
        self.socket.flush().await
    }

    async fn receive(&mut self) -> bool {
        !matches!(self.socket.next().await, Some(Ok(Message::Close(_)) | Err(_)) | None)
    }

    async fn close(&mut self, code: u16, reason: &str) {
        let frame = CloseFrame { code, reason: reason.into() };
        if self.socket.send(Message::Close(Some(frame))).await.is_ok() {
            while let Some(Ok(_)) = self.socket.next().await {}
        }
    }
}
