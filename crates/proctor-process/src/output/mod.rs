//! A child's output as lines: bounded memory, any number of readers, nothing lost once subscribed.
//!
//! Each stream owns one ring of lines, bounded by bytes. A subscriber is a position in that ring, so
//! no reader has a queue of its own. The rules:
//!
//! - A new subscriber first gets all the ring still holds, then every later line. Up to the size of
//!   the ring (1 MiB by default) it therefore misses nothing, however late it comes; what had to go
//!   before is counted in [`Lines::missed`].
//! - While nobody subscribes, the oldest lines make room ([`Overflow::DropOldest`]) or the child
//!   has to wait ([`Overflow::Wait`]).
//! - While somebody subscribes, a full ring makes the child wait until the slowest subscriber has
//!   read on or is dropped. A subscriber that is kept but not read stops the child: that is the
//!   back-pressure; use [`OutputStream::tail`] for a look without obligation.
//!
//! The end of a stream is the end of its file, unless somebody else holds the other end. When the child has ended,
//! [`OutputStream::writer_ended`] says so: what the pipe holds at that moment is the rest, and is read without waiting.
//!
//! The stream does not interpret its lines and does not end the child.

mod splitter;

use crate::diagnostics::{Diagnostic, DiagnosticSink};
use crate::rpc::io::Source;
use splitter::Splitter;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// No pipe holds more than this. What comes beyond it after the child's end comes from processes it left behind.
const MAX_REST_BYTES: usize = 4 * 1024 * 1024;

/// One line of output, or a piece of one that was too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The text without its line feed; invalid UTF-8 became replacement characters.
    pub text: Arc<str>,
    /// This piece continues the line before it.
    pub continues: bool,
    /// A line feed followed. False for a piece that goes on, and for a last line without one.
    pub ended: bool,
}

/// What to do when the ring is full and nobody has subscribed yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// Forget the oldest lines and count them: a chatty child is never held up.
    DropOldest,
    /// Let the child wait for the first subscriber: nothing is ever lost.
    Wait,
}

/// Bounds of an output stream.
#[derive(Debug, Clone, Copy)]
pub struct OutputConfig {
    /// How many bytes of text the ring may hold (a single longer piece is held too).
    pub ring_bytes: usize,
    /// Longer lines are cut into pieces of at most this many bytes.
    pub max_line: usize,
    /// What happens before the first subscriber comes.
    pub overflow: Overflow,
    /// How long to rest after each read. A program that prints often then costs a wake-up per rest
    /// instead of one per print; nothing is lost, it only comes so much later.
    pub settle: Duration,
}

impl Default for OutputConfig {
    fn default() -> Self {
        Self {
            ring_bytes: 1024 * 1024,
            max_line: 64 * 1024,
            overflow: Overflow::DropOldest,
            settle: Duration::ZERO,
        }
    }
}

/// A handle on one stream; clones share it.
#[derive(Debug, Clone)]
pub struct OutputStream {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    config: OutputConfig,
    diagnostics: DiagnosticSink,
    ring: Mutex<Ring>,
    arrived: Notify,
    space: Notify,
    writer_ended: CancellationToken,
}

#[derive(Debug)]
struct Ring {
    lines: VecDeque<Line>,
    bytes: usize,
    /// Number of the oldest line held, which is also how many were forgotten.
    first: u64,
    closed: bool,
    subscribed_once: bool,
    next_reader: u64,
    /// Position of each subscriber.
    readers: BTreeMap<u64, u64>,
}

impl Ring {
    fn end(&self) -> u64 {
        self.first + self.lines.len() as u64
    }

    /// May the oldest line be forgotten?
    fn may_evict(&self, overflow: Overflow) -> bool {
        match self.readers.values().min() {
            Some(slowest) => *slowest > self.first,
            None => self.subscribed_once || overflow == Overflow::DropOldest,
        }
    }

    /// Takes the line, forgetting old ones as allowed, or hands it back when it has to wait.
    fn push(&mut self, line: Line, config: &OutputConfig) -> Result<(), Line> {
        // A line counts a little more than its text, so that empty lines are bounded too.
        let cost = line_cost(&line);
        while !self.lines.is_empty() && self.bytes + cost > config.ring_bytes {
            if !self.may_evict(config.overflow) {
                return Err(line);
            }
            if let Some(old) = self.lines.pop_front() {
                self.bytes -= line_cost(&old);
                self.first += 1;
            }
        }
        self.bytes += cost;
        self.lines.push_back(line);
        Ok(())
    }

    /// Appends what the reader has not read yet: at least one line, if there is one, and further ones up to so many bytes in all.
    fn read_some(&mut self, reader: u64, most_bytes: usize, lines: &mut Vec<Line>) {
        let Some(position) = self.readers.get_mut(&reader) else { return };
        let Ok(offset) = usize::try_from(*position - self.first) else { return };
        let mut bytes = 0;
        for line in self.lines.range(offset.min(self.lines.len())..) {
            bytes += line_cost(line);
            lines.push(line.clone());
            *position += 1;
            if bytes >= most_bytes {
                break;
            }
        }
    }
}

fn line_cost(line: &Line) -> usize {
    line.text.len() + 32
}

impl OutputStream {
    /// A stream without a source yet; see [`OutputStream::attach`].
    pub fn new(config: OutputConfig, diagnostics: DiagnosticSink) -> Self {
        let ring = Ring {
            lines: VecDeque::new(),
            bytes: 0,
            first: 0,
            closed: false,
            subscribed_once: false,
            next_reader: 0,
            readers: BTreeMap::new(),
        };
        let shared = Shared {
            config,
            diagnostics,
            ring: Mutex::new(ring),
            arrived: Notify::new(),
            space: Notify::new(),
            writer_ended: CancellationToken::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Starts a task that reads `source` to its end; `first` are bytes already read from it.
    pub fn attach(&self, source: impl AsyncRead + Send + Sync + Unpin + 'static, first: Vec<u8>) {
        self.read_from(WithoutDescriptor(source), first);
    }

    /// Starts a task that reads a pipe or socket, to its end or until [`writer_ended`](Self::writer_ended) is said.
    pub fn attach_descriptor(&self, descriptor: OwnedFd) -> io::Result<()> {
        self.read_from(Source::new(descriptor)?, Vec::new());
        Ok(())
    }

    pub(crate) fn read_from(&self, source: impl Input, first: Vec<u8>) {
        let stream = self.clone();
        tokio::spawn(async move { stream.read_all(source, &first).await });
    }

    /// Marks the stream as ended.
    pub fn close(&self) {
        self.shared.lock().closed = true;
        self.shared.arrived.notify_waiters();
        self.shared.space.notify_waiters();
    }

    /// Whether the source has ended (subscribers may still have lines to read).
    pub fn is_closed(&self) -> bool {
        self.shared.lock().closed
    }

    /// Waits until the source has ended.
    pub async fn closed(&self) {
        loop {
            let arrived = self.shared.arrived.notified();
            if self.is_closed() {
                return;
            }
            arrived.await;
        }
    }

    /// Subscribes: everything still held, then everything that comes.
    pub fn lines(&self) -> Lines {
        let mut ring = self.shared.lock();
        let reader = ring.next_reader;
        let position = ring.first;
        ring.next_reader += 1;
        ring.subscribed_once = true;
        ring.readers.insert(reader, position);
        drop(ring);
        self.shared.space.notify_waiters();
        Lines { shared: Arc::clone(&self.shared), reader, missed: position }
    }

    /// Calls `callback` for every line a subscriber would get, from a task of its own.
    ///
    /// A panic of the callback is reported and the next line is delivered all the same.
    pub fn on_line(&self, mut callback: impl FnMut(Line) + Send + 'static) {
        let mut lines = self.lines();
        let diagnostics = self.shared.diagnostics.clone();
        tokio::spawn(async move {
            while let Some(line) = lines.next().await {
                if catch_unwind(AssertUnwindSafe(|| callback(line))).is_err() {
                    diagnostics.report(Diagnostic::CallbackPanicked { place: "output line" });
                }
            }
        });
    }

    /// The last lines, at most `count`, without subscribing.
    pub fn tail(&self, count: usize) -> Vec<Line> {
        let ring = self.shared.lock();
        let skip = ring.lines.len().saturating_sub(count);
        ring.lines.iter().skip(skip).cloned().collect()
    }

    /// How many lines have come so far.
    pub fn line_count(&self) -> u64 {
        self.shared.lock().end()
    }

    /// How many bytes the ring holds at the moment.
    pub fn held_bytes(&self) -> usize {
        self.shared.lock().bytes
    }

    async fn read_all(&self, mut source: impl Input, first: &[u8]) {
        let mut splitter = Splitter::new(self.shared.config.max_line);
        splitter.feed(first);
        self.push_finished(&mut splitter).await;
        let mut chunk = vec![0; 64 * 1024];
        loop {
            let read = tokio::select! {
                biased;
                read = source.read(&mut chunk) => read,
                () = self.shared.writer_ended.cancelled() => break,
            };
            // A read error ends the stream like its end does: there is nothing more to get.
            let Ok(count @ 1..) = read else { break };
            splitter.feed(&chunk[..count]);
            self.push_finished(&mut splitter).await;
            // More than that: the writer is in a hurry, and would soon have to wait for us.
            if count < chunk.len() / 2 {
                self.rest(&mut source).await;
            }
        }
        self.read_rest(&source, &mut splitter, &mut chunk).await;
        self.push_all(splitter.finish().into_iter()).await;
        self.close();
    }

    /// Reads what the pipe holds and no more: the writer has ended, but others may hold its end.
    async fn read_rest(&self, source: &impl Input, splitter: &mut Splitter, chunk: &mut [u8]) {
        let mut read = 0;
        while read < MAX_REST_BYTES
            && let Ok(Some(count @ 1..)) = source.read_now(chunk)
        {
            read += count;
            splitter.feed(&chunk[..count]);
            self.push_finished(splitter).await;
        }
    }

    /// Rests after a read, if configured so and the writer has not ended.
    async fn rest(&self, source: &mut impl Input) {
        let settle = self.shared.config.settle;
        // What another process goes on printing is not waited for, so it must not be read without a look at the end.
        if !settle.is_zero() && !self.shared.writer_ended.is_cancelled() {
            source.stop_watching();
            let ended = self.shared.writer_ended.cancelled();
            let _ = tokio::time::timeout(settle, ended).await;
        }
    }

    /// The process that writes has ended: what it has written is read, then the stream ends even if another process holds the pipe.
    pub fn writer_ended(&self) {
        self.shared.writer_ended.cancel();
    }

    async fn push_finished(&self, splitter: &mut Splitter) {
        self.push_all(std::iter::from_fn(|| splitter.next_line())).await;
    }

    /// Takes in all lines, waiting for space where there is none. Those that there is space for are taken in together.
    async fn push_all(&self, mut lines: impl Iterator<Item = Line>) {
        let mut next = lines.next();
        while next.is_some() {
            let space = self.shared.space.notified();
            next = self.push_some(next, &mut lines);
            self.shared.arrived.notify_waiters();
            if next.is_some() {
                space.await;
            }
        }
    }

    /// Takes in lines until there is no space for one, which is returned.
    fn push_some(
        &self,
        mut next: Option<Line>,
        lines: &mut impl Iterator<Item = Line>,
    ) -> Option<Line> {
        let mut ring = self.shared.lock();
        while let Some(line) = next {
            if let Err(refused) = ring.push(line, &self.shared.config) {
                return Some(refused);
            }
            next = lines.next();
        }
        None
    }
}

/// What a stream reads.
pub(crate) trait Input: AsyncRead + Send + Sync + Unpin + 'static {
    /// Reads what is there right now; `None` if there is nothing.
    fn read_now(&self, buffer: &mut [u8]) -> io::Result<Option<usize>>;

    /// The reader rests: until its next read nothing that arrives needs to wake it.
    fn stop_watching(&mut self);
}

impl Input for Source {
    fn read_now(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        Source::read_now(self, buffer)
    }

    fn stop_watching(&mut self) {
        Source::stop_watching(self);
    }
}

/// A source without a descriptor: there is only its end.
struct WithoutDescriptor<T>(T);

impl<T: AsyncRead + Send + Unpin + 'static> AsyncRead for WithoutDescriptor<T> {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        std::pin::Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<T: AsyncRead + Send + Sync + Unpin + 'static> Input for WithoutDescriptor<T> {
    fn read_now(&self, _: &mut [u8]) -> io::Result<Option<usize>> {
        Ok(None)
    }

    fn stop_watching(&mut self) {}
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A subscription. Read it or drop it; see the module's rules.
#[derive(Debug)]
pub struct Lines {
    shared: Arc<Shared>,
    reader: u64,
    missed: u64,
}

impl Lines {
    /// The next line; `None` once the source has ended and everything was read.
    pub async fn next(&mut self) -> Option<Line> {
        let mut line = Vec::new();
        self.next_lines(0, &mut line).await;
        line.pop()
    }

    /// Replaces `lines` by those that wait: at least one, and further ones up to so many bytes in all. Empty once the source has ended and
    /// everything was read.
    pub async fn next_lines(&mut self, most_bytes: usize, lines: &mut Vec<Line>) {
        lines.clear();
        loop {
            let arrived = self.shared.arrived.notified();
            let closed = {
                let mut ring = self.shared.lock();
                ring.read_some(self.reader, most_bytes, lines);
                ring.closed
            };
            if !lines.is_empty() {
                self.shared.space.notify_waiters();
            }
            if closed || !lines.is_empty() {
                return;
            }
            arrived.await;
        }
    }

    /// Reads to the end of the stream.
    pub async fn collect(mut self) -> Vec<Line> {
        let mut all = Vec::new();
        while let Some(line) = self.next().await {
            all.push(line);
        }
        all
    }

    /// How many lines had been forgotten before this subscription began.
    pub fn missed(&self) -> u64 {
        self.missed
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.shared.lock().readers.remove(&self.reader);
        self.shared.space.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
