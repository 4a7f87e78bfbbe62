//! Distinguishes slow clients from stalled ones.
//!
//! A time limit on whole messages would drop clients that read slowly but steadily. So the socket counts the written bytes, and only a
//! pause without progress ends the session.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::timeout;

/// How many bytes were written to a socket so far. Clones share the count.
#[derive(Debug, Clone, Default)]
pub struct WriteProgress(Arc<AtomicU64>);

impl WriteProgress {
    fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Awaits the work; `None` once no byte was written for `stall_after`.
    pub async fn while_advancing<T>(
        &self,
        stall_after: Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let mut work = pin!(work);
        let mut before = self.count();
        loop {
            if let Ok(done) = timeout(stall_after, &mut work).await {
                return Some(done);
            }
            let now = self.count();
            if now == before {
                return None;
            }
            before = now;
        }
    }
}

/// A socket that counts what is written to it.
#[derive(Debug)]
pub struct ProgressStream<S> {
    inner: S,
    progress: WriteProgress,
}

impl<S> ProgressStream<S> {
    /// Counts from here on.
    pub fn new(inner: S) -> Self {
        Self { inner, progress: WriteProgress::default() }
    }

    /// The count.
    pub fn progress(&self) -> WriteProgress {
        self.progress.clone()
    }

    fn noted(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = &written {
            self.progress.0.fetch_add(*bytes as u64, Ordering::Relaxed);
        }
        written
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ProgressStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ProgressStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.noted(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, parts);
        self.noted(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    const SILENCE: Duration = Duration::from_millis(400);

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
    }

    /// Much longer than the silence that is allowed, but never silent for so long.
    #[test]
    fn a_slow_reader_is_waited_for() {
        let sent = block_on(async {
            let (ours, mut theirs) = tokio::io::duplex(1024);
            let mut socket = ProgressStream::new(ours);
            let progress = socket.progress();
            tokio::spawn(async move {
                let mut part = [0; 1024];
                while theirs.read(&mut part).await.is_ok_and(|count| count > 0) {
                    tokio::time::sleep(SILENCE / 8).await;
                }
            });
            let started = std::time::Instant::now();
            let sent =
                progress.while_advancing(SILENCE, socket.write_all(&vec![0; 32 << 10])).await;
            assert!(started.elapsed() > SILENCE, "the whole takes longer than the silence");
            sent
        });
        assert!(sent.is_some_and(|sent| sent.is_ok()));
    }

    #[test]
    fn a_reader_that_takes_nothing_is_given_up() {
        let sent = block_on(async {
            let (ours, _theirs) = tokio::io::duplex(1024);
            let mut socket = ProgressStream::new(ours);
            let progress = socket.progress();
            progress.while_advancing(SILENCE, socket.write_all(&vec![0; 32 << 10])).await
        });
        assert!(sent.is_none());
    }
}
