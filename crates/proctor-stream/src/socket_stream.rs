//! The events of a run for the process that started it, one JSON line each, over an inherited unix socket.
//!
//! Like every client it has a [`Session`](crate::Session) and no queue: a reader that is slow, or stopped in a debugger, costs the run nothing and
//! loses nothing. When the run is over the rest is sent, however long the reader takes, as long as it lives.
//!
//! In the other direction the reader sends lines, of which the owner is told ([`ReaderMessage`]), and so is that the reader is gone.

use std::io;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::io::{
    AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, BufWriter,
};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::watch;

use crate::feed::{Feed, FeedCursor};
use crate::message_form::MessageOptions;
use crate::session::{Connection, Session, SessionEnd, SessionLimits};
use crate::write_progress::ProgressStream;

/// How long the reader may read nothing while there is something to read. It is a parent that waits for the run: that it is
/// stopped is more likely than that it has forgotten the run, and if it ends the socket is closed.
const STALL_TIMEOUT: Duration = Duration::from_hours(1);
/// The longest line that the reader may send.
const MAX_LINE: u64 = 4096;

/// What comes from the reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReaderMessage {
    /// A line, without its line feed.
    Line(String),
    /// It has closed its end, or died. Sent last.
    Gone,
}

/// A stream that is being sent.
#[derive(Debug)]
pub struct SocketStream {
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl SocketStream {
    /// Sends the feed on a thread of its own, on which `on_message` is called too; it must not block.
    pub fn start(
        socket: StdUnixStream,
        feed: Arc<Feed>,
        options: MessageOptions,
        on_message: impl FnMut(ReaderMessage) + Send + 'static,
    ) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let (stop, stopped) = watch::channel(false);
        let thread = std::thread::Builder::new()
            .name("events to parent".to_owned())
            .spawn(move || send(socket, feed, options, stopped, on_message))?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Waits until the reader has received everything, or is gone. Call after the bus is closed.
    pub fn finish(mut self) {
        self.join();
    }

    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            // A panic was printed by the panic hook.
            let _ = thread.join();
        }
    }
}

impl Drop for SocketStream {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        self.join();
    }
}

fn send(
    socket: StdUnixStream,
    feed: Arc<Feed>,
    options: MessageOptions,
    stop: watch::Receiver<bool>,
    mut on_message: impl FnMut(ReaderMessage),
) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return;
    };
    runtime.block_on(async {
        let Ok(socket) = UnixStream::from_std(socket) else { return };
        let (input, output) = socket.into_split();
        let socket = ProgressStream::new(output);
        let progress = socket.progress();
        let limits = SessionLimits {
            stall_after: STALL_TIMEOUT,
            after_stop: Duration::ZERO,
            close_timeout: Duration::from_secs(1),
            end_pace: None,
        };
        let mut session = Session::new(LineSocket(BufWriter::new(socket)), progress, limits, stop);
        let mut cursor = FeedCursor::new(feed, 0);
        let streaming = session.stream(&mut cursor, options, 0);
        let end = tokio::select! {
            end = streaming => end,
            // Nobody is left to send to.
            () = read_lines(input, &mut on_message) => SessionEnd::ClientGone,
        };
        if end == SessionEnd::ClientGone {
            on_message(ReaderMessage::Gone);
        }
        session.close(end).await;
    });
    runtime.shutdown_background();
}

/// Hands over lines until the reader closes its end.
async fn read_lines(input: OwnedReadHalf, on_message: &mut impl FnMut(ReaderMessage)) {
    let mut input = BufReader::new(input);
    let mut line = String::new();
    loop {
        line.clear();
        match (&mut input).take(MAX_LINE).read_line(&mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => on_message(ReaderMessage::Line(line.trim_end().to_owned())),
        }
    }
}

/// One line for each message. What the reader sends is read by [`read_lines`].
struct LineSocket(BufWriter<ProgressStream<OwnedWriteHalf>>);

impl Connection for LineSocket {
    type Error = io::Error;

    async fn feed(&mut self, text: &str) -> io::Result<()> {
        self.0.write_all(text.as_bytes()).await?;
        self.0.write_all(b"\n").await
    }

    async fn flush(&mut self) -> io::Result<()> {
        self.0.flush().await
    }

    async fn receive(&mut self) -> bool {
        std::future::pending().await
    }

    async fn close(&mut self, _: u16, _: &str) {
        // The end of the stream is the end of the file.
        let _ = self.0.shutdown().await;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};

    use proctor_events::{Bus, BusConfig, ExampleFinished, Status, SuiteStarted, Timestamp};
    use proctor_record::JsonlRecorder;

    use super::*;
    use crate::message_form::{MessageFormat, ProgressFrequency};

    fn bus(recording: &std::path::Path) -> (Bus, Arc<Feed>) {
        let bus = Bus::new(BusConfig {
            run_id: "r1".into(),
            clock: Box::new(|| Timestamp::UNIX_EPOCH),
            on_warning: Box::new(|warning| panic!("{warning}")),
        });
        bus.add_recorder(JsonlRecorder::append(recording).unwrap());
        let feed = Feed::new(recording);
        bus.add_recorder(feed.recorder());
        (bus, feed)
    }

    /// The reader begins when the run is over: nothing was waited for, and nothing is lost.
    #[test]
    fn a_reader_that_comes_late_gets_everything_with_progress_after_each_result() {
        let folder = tempfile::tempdir().unwrap();
        let (bus, feed) = bus(&folder.path().join("events.jsonl"));
        let (ours, theirs) = StdUnixStream::pair().unwrap();
        let options =
            MessageOptions { format: MessageFormat::Envelope, progress: ProgressFrequency::Each };
        let stream = SocketStream::start(theirs, feed, options, |_| {}).unwrap();
        let count = 5_000_u64;
        bus.publish(SuiteStarted { example_count: Some(count), ..Default::default() }.into());
        for number in 0..count {
            let status = if number % 2 == 0 { Status::Passed } else { Status::Failed };
            let finished = ExampleFinished { status, r#final: Some(true), ..Default::default() };
            let id = format!("e{number}").as_str().into();
            bus.publish(proctor_events::Event::new(finished).about(&id));
        }
        bus.close(Duration::from_mins(1));
        let reading = std::thread::spawn(move || {
            let lines = BufReader::new(ours).lines().map(|line| line.unwrap());
            lines
                .map(|line| serde_json::from_str(&line).unwrap())
                .collect::<Vec<serde_json::Value>>()
        });
        stream.finish();
        let messages = reading.join().unwrap();
        let progress: Vec<_> = messages.iter().filter(|it| it["event"] == "progress").collect();
        assert_eq!(progress.len() as u64, count);
        for (place, told) in (1..).zip(&progress) {
            let data =
                serde_json::json!({"completed": place, "total": count, "failures": place / 2});
            assert_eq!((&told["data"], &told["seq"]), (&data, &(place + 1).into()));
        }
        // Reports of lag have no number beside them.
        let events = messages.iter().filter(|it| it["event"] != "progress" && it["seq"].is_u64());
        let seqs: Vec<u64> = events.map(|it| it["seq"].as_u64().unwrap()).collect();
        assert_eq!(seqs, (1..=count + 1).collect::<Vec<_>>());
    }

    #[test]
    fn a_reader_that_is_gone_is_waited_for_by_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let (bus, feed) = bus(&folder.path().join("events.jsonl"));
        let (ours, theirs) = StdUnixStream::pair().unwrap();
        let (told, messages) = std::sync::mpsc::channel();
        let on_message = move |message| told.send(message).unwrap();
        let options = MessageOptions::default();
        let stream = SocketStream::start(theirs, feed, options, on_message).unwrap();
        (&ours).write_all(b"cancel\n").unwrap();
        drop(ours);
        let messages: Vec<_> = messages.into_iter().collect();
        assert_eq!(messages, [ReaderMessage::Line("cancel".to_owned()), ReaderMessage::Gone]);
        bus.publish(SuiteStarted::default().into());
        bus.close(Duration::from_mins(1));
        stream.finish();
    }
}
