//! The two ends of a channel: a pair of pipes or a unix socket.
//!
//! A thin layer, so that the writer can try to write without waiting and the reader can use
//! tokio's ordinary reading. Knows nothing of lines.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf, pipe};

/// Where messages come from.
#[derive(Debug)]
pub(crate) enum Source {
    Socket(OwnedReadHalf),
    Pipe(pipe::Receiver),
}

/// Where messages go. Closed when dropped.
#[derive(Debug)]
pub(crate) enum Sink {
    Socket(OwnedWriteHalf),
    Pipe(pipe::Sender),
}

/// Both directions of one connected socket.
pub(crate) fn socket(stream: UnixStream) -> (Source, Sink) {
    let (read, write) = stream.into_split();
    (Source::Socket(read), Sink::Socket(write))
}

/// One pipe for each direction.
pub(crate) fn pipes(read: OwnedFd, write: OwnedFd) -> io::Result<(Source, Sink)> {
    let source = Source::Pipe(pipe::Receiver::from_owned_fd(read)?);
    Ok((source, Sink::Pipe(pipe::Sender::from_owned_fd(write)?)))
}

impl AsyncRead for Source {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Socket(half) => Pin::new(half).poll_read(context, buffer),
            Self::Pipe(pipe) => Pin::new(pipe).poll_read(context, buffer),
        }
    }
}

impl Sink {
    /// Writes what fits right now.
    pub(crate) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Socket(half) => half.try_write(bytes),
            Self::Pipe(pipe) => pipe.try_write(bytes),
        }
    }

    /// Waits until a write is worth trying.
    pub(crate) async fn writable(&self) -> io::Result<()> {
        match self {
            Self::Socket(half) => half.writable().await,
            Self::Pipe(pipe) => pipe.writable().await,
        }
    }
}
