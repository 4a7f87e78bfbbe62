//! One client's stream of events, for the `ws://` observer and for `/ws` of the server alike.
//!
//! A session has a position in the stream and no queue. Events come from an [`EventCursor`], which reads recent ones from memory and older ones
//! from the recording, so a slow client costs no memory and a late one misses nothing. A client that receives nothing for a while is
//! dropped.
//!
//! Two messages are no events of the run. Both carry the `seq` of the last event that was sent, so that a client that takes them for events
//! resumes at the right place: `StreamLag` (`behind`: how many events the client has not been sent yet), at most once a second;
//! `StreamClosing` (`behind`, `run_id`, `recording`), when the sender ends before the client has had everything.
//!
//! How long a client is served after the end of the stream is bounded by its pace ([`EndPace`]), not by a time alone: a slow client that
//! will be through gets everything, one that would never be through is cut off.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use proctor_events::RunId;
use proctor_record::StreamEvent;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use crate::message_form::{MessageForm, MessageOptions};
use crate::write_progress::WriteProgress;

/// How many events are sent before looking at the socket's other side again.
const BATCH: usize = 256;
/// The messages that are no events of the run.
pub(crate) const STREAM_LAG: &str = "StreamLag";
pub(crate) const STREAM_CLOSING: &str = "StreamClosing";
/// How many events a client must be behind to get a `StreamLag`, and the interval between two.
const LAG_EVENTS: u64 = 1000;
const LAG_INTERVAL: Duration = Duration::from_secs(1);

/// The WebSocket close codes that are used.
mod close_code {
    /// The stream is complete.
    pub(super) const NORMAL: u16 = 1000;
    /// The sender ends.
    pub(super) const AWAY: u16 = 1001;
}

/// The WebSocket of one client.
pub trait Connection: Send {
    /// Why a message could not be sent.
    type Error: Send;

    /// Puts a text message into the send buffer; waits while that is full.
    fn feed(&mut self, text: &str) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Sends what is in the buffer.
    fn flush(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Receives and ignores one message; false once the client has left. Cancel safe.
    fn receive(&mut self) -> impl Future<Output = bool> + Send;

    /// Sends a close frame.
    fn close(&mut self, code: u16, reason: &str) -> impl Future<Output = ()> + Send;
}

/// A client's place in one stream of events.
pub trait EventCursor: Send {
    /// Up to `limit` events from the place on, perhaps none of those that were passed being wanted; `None` at the end of what there is now.
    fn read(
        &mut self,
        limit: usize,
    ) -> impl Future<Output = io::Result<Option<Vec<StreamEvent>>>> + Send;

    /// Waits until there may be more, or the stream may have ended, since the last read.
    fn changed(&mut self) -> impl Future<Output = ()> + Send;

    /// Reads what has been recorded until now.
    fn catch_up(&mut self) -> impl Future<Output = ()> + Send;

    /// The events of these types before the place.
    fn earlier(
        &mut self,
        types: &[&str],
    ) -> impl Future<Output = io::Result<Vec<StreamEvent>>> + Send;

    /// Whether no further event is to be expected.
    fn has_ended(&self) -> bool;

    /// How many events stand after the place.
    fn behind(&self) -> u64;

    /// Where the rest can be read when the sender has ended.
    fn recording(&self) -> Recording;
}

/// The recording that a stream is made from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recording {
    /// The run, as `proctor serve` knows it.
    pub run: Option<RunId>,
    /// The file.
    pub path: PathBuf,
}

/// How long a session waits for its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimits {
    /// How long a client may receive nothing before it is dropped.
    pub stall_after: Duration,
    /// How long events are sent after the stop signal.
    pub after_stop: Duration,
    /// How long the closing message and the close frame may take.
    pub close_timeout: Duration,
    /// How fast events must be received after the end of the stream; `None` if the sender goes on and nobody waits for the client.
    pub end_pace: Option<EndPace>,
}

/// How fast a client must receive the rest of a stream that has ended, so that whoever waits for it waits for a bounded time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndPace {
    /// How long a client has for each part of the rest.
    pub window: Duration,
    /// In how many windows it must be through.
    pub windows: u32,
}

/// Why a session ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEnd {
    /// The client has had everything, and nothing more will come.
    StreamEnded,
    /// The client is gone, or took nothing for too long.
    ClientGone,
    /// The sender ends; the client has had everything that was recorded until then.
    Stopped,
    /// The sender ends before the client has had everything.
    CutOff,
}

/// One client.
#[derive(Debug)]
pub struct Session<C> {
    connection: C,
    progress: WriteProgress,
    limits: SessionLimits,
    stop: watch::Receiver<bool>,
    /// When sending ends although there is more; set once the stop is seen.
    deadline: Option<Instant>,
    lag: LagReports,
    /// Shared with the clock that looks at the pace while a batch is being sent.
    last_sent: Arc<AtomicU64>,
    pace: Option<PaceWatch>,
}

/// The pace of a client after the end of the stream.
#[derive(Debug)]
struct PaceWatch {
    pace: EndPace,
    last_sent: Arc<AtomicU64>,
    /// How many events it must receive in a window.
    share: u64,
    /// Until when it must have received the event with this number.
    due: Instant,
    wanted: u64,
}

impl PaceWatch {
    fn new(pace: EndPace, last_sent: &Arc<AtomicU64>, behind: u64, now: Instant) -> Self {
        let share = behind.div_ceil(u64::from(pace.windows.max(1))).max(1);
        let wanted = last_sent.load(Ordering::Relaxed) + share;
        Self { pace, last_sent: Arc::clone(last_sent), share, due: now + pace.window, wanted }
    }

    /// Returns as soon as the client is too slow.
    async fn lost(&mut self) {
        loop {
            sleep_until(self.due).await;
            if self.last_sent.load(Ordering::Relaxed) < self.wanted {
                return;
            }
            self.due += self.pace.window;
            self.wanted += self.share;
        }
    }
}

impl<C: Connection> Session<C> {
    /// A session over a connection whose bytes `progress` counts. `stop` becomes true when the sender ends.
    pub fn new(
        connection: C,
        progress: WriteProgress,
        limits: SessionLimits,
        stop: watch::Receiver<bool>,
    ) -> Self {
        let lag = LagReports::new(Instant::now());
        let last_sent = Arc::default();
        Self { connection, progress, limits, stop, deadline: None, lag, last_sent, pace: None }
    }

    /// Sends a stream to its end. `since` is the number of the last event that the client has seen; the cursor stands after it.
    pub async fn stream(
        &mut self,
        cursor: &mut impl EventCursor,
        options: MessageOptions,
        since: u64,
    ) -> SessionEnd {
        self.last_sent.store(since, Ordering::Relaxed);
        self.pace = None;
        let Ok(mut form) = MessageForm::new(options, cursor).await else {
            return SessionEnd::StreamEnded;
        };
        loop {
            let ended = cursor.has_ended();
            // Counted before the read, so that the batch that follows is included.
            let behind = cursor.behind();
            match cursor.read(BATCH).await {
                Err(_) => return SessionEnd::StreamEnded,
                Ok(Some(events)) => {
                    if let Some(end) = self.send(&events, behind, &mut form, cursor).await {
                        return end;
                    }
                }
                Ok(None) if ended => return SessionEnd::StreamEnded,
                Ok(None) if self.deadline.is_some() => return SessionEnd::Stopped,
                Ok(None) => {
                    let Self { connection, stop, deadline, limits, .. } = self;
                    tokio::select! {
                        () = cursor.changed() => {}
                        open = connection.receive() => if !open { return SessionEnd::ClientGone },
                        () = stopped(stop) => {
                            *deadline = Some(Instant::now() + limits.after_stop);
                            // What was recorded last may not have been read yet.
                            cursor.catch_up().await;
                        }
                    }
                }
            }
        }
    }

    /// Sends a batch. Returns why the session ends, if it does.
    async fn send(
        &mut self,
        events: &[StreamEvent],
        behind: u64,
        form: &mut MessageForm,
        cursor: &impl EventCursor,
    ) -> Option<SessionEnd> {
        let Self { connection, progress, limits, stop, deadline, lag, last_sent, pace } = self;
        let before = last_sent.load(Ordering::Relaxed);
        let sent = {
            let sending = async {
                if lag.is_due(behind, Instant::now()) {
                    let report = form.control(STREAM_LAG, before, json!({ "behind": behind }));
                    connection.feed(&report).await?;
                }
                for event in events {
                    let messages = form.messages(event);
                    for text in messages.into_iter().flatten() {
                        connection.feed(&text).await?;
                    }
                    last_sent.store(event.seq, Ordering::Relaxed);
                }
                connection.flush().await
            };
            tokio::select! {
                biased;
                sent = progress.while_advancing(limits.stall_after, sending) => Some(sent),
                () = stop_deadline(stop, deadline, limits.after_stop) => None,
                () = too_slow(pace, limits.end_pace, last_sent, events, cursor) => None,
            }
        };
        match sent {
            Some(Some(Ok(()))) => None,
            Some(_) => Some(SessionEnd::ClientGone),
            None => {
                let last_sent = self.last_sent.load(Ordering::Relaxed);
                let unsent = events.iter().filter(|event| event.seq > last_sent).count();
                self.send_closing(cursor, unsent as u64, form).await;
                Some(SessionEnd::CutOff)
            }
        }
    }

    /// Sends `StreamClosing` to a client that is behind.
    async fn send_closing(
        &mut self,
        cursor: &impl EventCursor,
        unsent: u64,
        form: &mut MessageForm,
    ) {
        let Recording { run, path } = cursor.recording();
        let fields = json!({
            "behind": cursor.behind() + unsent,
            "run_id": run.as_ref().map(RunId::as_str),
            "recording": path.display().to_string(),
        });
        let last_sent = self.last_sent.load(Ordering::Relaxed);
        let text = form.control(STREAM_CLOSING, last_sent, fields);
        let telling = async {
            self.connection.feed(&text).await?;
            self.connection.flush().await
        };
        // The client may be gone; ignore.
        let _ = timeout(self.limits.close_timeout, telling).await;
    }

    /// Waits for `change` while there is nothing to send. Returns why the session ends, if it ends first.
    pub async fn wait_for(&mut self, change: impl Future<Output = ()>) -> Option<SessionEnd> {
        let Self { connection, stop, .. } = self;
        tokio::select! {
            () = change => None,
            () = async { while connection.receive().await {} } => Some(SessionEnd::ClientGone),
            () = stopped(stop) => Some(SessionEnd::Stopped),
        }
    }

    /// Closes the connection with the close code for this end.
    pub async fn close(mut self, end: SessionEnd) {
        let Self { connection, progress, limits, last_sent, .. } = &mut self;
        let last_sent = last_sent.load(Ordering::Relaxed);
        let resume =
            format!("resume after seq {last_sent}: proctor serve, /ws?run=…&since={last_sent}");
        match end {
            SessionEnd::StreamEnded => {
                let closing = connection.close(close_code::NORMAL, "the run is over");
                progress.while_advancing(limits.stall_after, closing).await;
            }
            SessionEnd::Stopped => {
                let closing = connection.close(close_code::AWAY, "the server has ended");
                let _ = timeout(limits.close_timeout, closing).await;
            }
            SessionEnd::CutOff => {
                let _ = timeout(limits.close_timeout, connection.close(close_code::AWAY, &resume))
                    .await;
            }
            // Answers the close frame of a client that has sent one.
            SessionEnd::ClientGone => {
                let _ = timeout(Duration::from_millis(200), connection.flush()).await;
            }
        }
    }
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    // A dropped sender counts as a stop.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Returns when the stream has ended and the client receives the rest too slowly. The stream may end while a batch is being sent.
async fn too_slow(
    pace: &mut Option<PaceWatch>,
    demanded: Option<EndPace>,
    last_sent: &Arc<AtomicU64>,
    batch: &[StreamEvent],
    cursor: &impl EventCursor,
) {
    let Some(demanded) = demanded else { return std::future::pending().await };
    while pace.is_none() && !cursor.has_ended() {
        tokio::time::sleep(demanded.window).await;
    }
    let begin = || {
        let sent = last_sent.load(Ordering::Relaxed);
        let unsent = batch.last().map_or(0, |last| last.seq.saturating_sub(sent));
        PaceWatch::new(demanded, last_sent, unsent + cursor.behind(), Instant::now())
    };
    pace.get_or_insert_with(begin).lost().await;
}

/// Waits until sending has to end.
async fn stop_deadline(
    stop: &mut watch::Receiver<bool>,
    deadline: &mut Option<Instant>,
    after_stop: Duration,
) {
    if deadline.is_none() {
        stopped(stop).await;
    }
    sleep_until(*deadline.get_or_insert_with(|| Instant::now() + after_stop)).await;
}

/// When the next `StreamLag` may be sent.
#[derive(Debug)]
struct LagReports {
    next: Instant,
}

impl LagReports {
    fn new(now: Instant) -> Self {
        Self { next: now + LAG_INTERVAL }
    }

    fn is_due(&mut self, behind: u64, now: Instant) -> bool {
        let due = behind >= LAG_EVENTS && now >= self.next;
        if due {
            self.next = now + LAG_INTERVAL;
        }
        due
    }
}

#[cfg(test)]
mod tests;
