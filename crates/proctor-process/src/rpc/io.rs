//! The two ends of a channel: a pair of pipes or a unix socket.
//!
//! Reading waits through tokio. Writing does not until it has to: a descriptor that tokio watches for
//! being writable wakes us each time the other side has read something, which nearly doubles the
//! cost of a round trip. So the writing end is registered only while a write is blocked. Owns the
//! descriptors; knows nothing of lines.

use crate::sys;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, Interest, ReadBuf};

/// Where messages come from.
#[derive(Debug)]
pub(crate) struct Source(AsyncFd<OwnedFd>);

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
        Ok(Self(sys::watch(fd, Interest::READABLE)?))
    }

    /// Reads what is there right now; `None` if there is nothing. It asks the kernel, not tokio, which may not have heard yet.
    pub(crate) fn read_now(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            match rustix::io::read(self.0.get_ref(), &mut *buffer) {
                Ok(count) => return Ok(Some(count)),
                Err(rustix::io::Errno::AGAIN) => return Ok(None),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// One pipe for each direction.
pub(crate) fn pipes(read: OwnedFd, write: OwnedFd) -> io::Result<(Source, Sink)> {
    Ok((Source::new(read)?, Sink::pipe(write)?))
}

impl AsyncRead for Source {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut guard = ready!(self.0.poll_read_ready(context))?;
            let space = buffer.initialize_unfilled();
            let wanted = space.len();
            match rustix::io::read(self.0.get_ref(), space) {
                Ok(count) => {
                    // A short read has emptied the descriptor: asking again would only say so.
                    if count > 0 && count < wanted {
                        guard.clear_ready();
                    }
                    buffer.advance(count);
                    return Poll::Ready(Ok(()));
                }
                Err(rustix::io::Errno::AGAIN) => guard.clear_ready(),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
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
