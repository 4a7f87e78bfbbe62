//! The two ends of a channel: a pair of pipes or a unix socket.
//!
//! Reading waits through tokio. Writing does not until it has to: a descriptor that tokio watches for
//! being writable wakes us each time the other side has read something, which nearly doubles the
//! cost of a round trip. So the writing end is registered only while a write is blocked. The reading end is
//! registered except while its reader rests ([`Source::stop_watching`]): each write of the other side would wake us,
//! though nobody waits for it. Owns the descriptors; knows nothing of lines.

use crate::sys;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, Interest, ReadBuf};

/// Where messages come from.
#[derive(Debug)]
pub(crate) struct Source {
    fd: Arc<OwnedFd>,
    watched: Option<AsyncFd<Arc<OwnedFd>>>,
    /// The reader rested: its next read asks the kernel first. After that read it is watched again unless it rests again,
    /// because what tokio watches takes turns with other tasks.
    asks_first: bool,
}

/// Where messages go. Closed when dropped.
#[derive(Debug)]
pub(crate) struct Sink {
    fd: OwnedFd,
    is_socket: bool,
}

/// Both directions of one connected socket.
pub(crate) fn socket(socket: OwnedFd) -> io::Result<(Source, Sink)> {
    let sink = Sink { fd: socket.try_clone()?, is_socket: true };
    Ok((Source::new(socket)?, sink))
}

impl Source {
    /// The reading end of a pipe or socket.
    pub(crate) fn new(fd: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&fd, true)?;
        let mut source = Self { fd: Arc::new(fd), watched: None, asks_first: false };
        source.watched()?;
        Ok(source)
    }

    /// Until the next read nothing that the other side writes wakes anybody.
    pub(crate) fn stop_watching(&mut self) {
        self.watched = None;
        self.asks_first = true;
    }

    /// The registration with tokio. What came before it makes the descriptor readable at once.
    fn watched(&mut self) -> io::Result<&AsyncFd<Arc<OwnedFd>>> {
        let watched = match self.watched.take() {
            Some(watched) => watched,
            None => sys::watch(Arc::clone(&self.fd), Interest::READABLE)?,
        };
        Ok(self.watched.insert(watched))
    }

    /// Reads what is there right now; `None` if there is nothing. It asks the kernel, not tokio, which may not have heard yet.
    pub(crate) fn read_now(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        read_now(&self.fd, buffer)
    }
}

fn read_now(fd: &OwnedFd, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        match rustix::io::read(fd, &mut *buffer) {
            Ok(count) => return Ok(Some(count)),
            Err(rustix::io::Errno::AGAIN) => return Ok(None),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// One pipe for each direction.
pub(crate) fn pipes(read: OwnedFd, write: OwnedFd) -> io::Result<(Source, Sink)> {
    Ok((Source::new(read)?, Sink::pipe(write)?))
}

impl AsyncRead for Source {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let fd = Arc::clone(&self.fd);
        if std::mem::take(&mut self.asks_first)
            && let Some(count) = read_now(&fd, buffer.initialize_unfilled())?
        {
            buffer.advance(count);
            return Poll::Ready(Ok(()));
        }
        let watched = self.watched()?;
        loop {
            let mut guard = ready!(watched.poll_read_ready(context))?;
            let space = buffer.initialize_unfilled();
            let wanted = space.len();
            match read_now(&fd, space)? {
                Some(count) => {
                    // A short read has emptied the descriptor: asking again would only say so.
                    if count > 0 && count < wanted {
                        guard.clear_ready();
                    }
                    buffer.advance(count);
                    return Poll::Ready(Ok(()));
                }
                None => guard.clear_ready(),
            }
        }
    }
}

impl Sink {
    /// The writing end of a pipe.
    pub(crate) fn pipe(fd: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&fd, true)?;
        Ok(Self { fd, is_socket: false })
    }

    /// Writes what fits right now.
    pub(crate) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(&self.fd, bytes)?)
    }

    /// Waits until a write is worth trying.
    pub(crate) async fn writable(&self) -> io::Result<()> {
        let watched = sys::watch(self.fd.as_fd(), Interest::WRITABLE)?;
        watched.writable().await.map(|_| ())
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        if self.is_socket {
            // The reading end keeps the socket open; the other side shall see an end of file.
            let _ = rustix::net::shutdown(&self.fd, rustix::net::Shutdown::Write);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;
    use tokio::io::AsyncReadExt as _;

    fn pair() -> (Source, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (Source::new(ours.into()).unwrap(), theirs)
    }

    #[tokio::test]
    async fn what_came_during_a_rest_is_read_without_being_watched() {
        let (mut source, mut peer) = pair();
        let mut bytes = [0; 8];
        for text in ["one", "two"] {
            source.stop_watching();
            peer.write_all(text.as_bytes()).unwrap();
            assert_eq!(source.read(&mut bytes).await.unwrap(), 3);
            assert_eq!(&bytes[..3], text.as_bytes());
            assert!(source.watched.is_none());
        }
    }

    #[tokio::test]
    async fn a_read_that_finds_nothing_after_a_rest_is_woken_by_what_comes() {
        let (mut source, mut peer) = pair();
        source.stop_watching();
        let read = tokio::spawn(async move {
            let mut bytes = [0; 8];
            let count = source.read(&mut bytes).await.unwrap();
            (count, source)
        });
        tokio::task::yield_now().await;
        peer.write_all(b"late").unwrap();
        let (count, mut source) = read.await.unwrap();
        assert_eq!(count, 4);
        assert!(source.watched.is_some());
        drop(peer);
        source.stop_watching();
        assert_eq!(source.read(&mut [0; 8]).await.unwrap(), 0, "the end is found after a rest too");
    }

    #[tokio::test]
    async fn a_second_read_without_a_rest_is_watched_again() {
        let (mut source, mut peer) = pair();
        source.stop_watching();
        peer.write_all(b"abcdef").unwrap();
        let mut bytes = [0; 3];
        source.read_exact(&mut bytes).await.unwrap();
        source.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"def");
        assert!(source.watched.is_some());
    }
}
