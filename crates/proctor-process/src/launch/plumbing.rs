//! The pipes and sockets between host and child, one end each. All are close-on-exec.
//!
//! Owns descriptors until they are handed on; knows no process.

use crate::rpc::io::{Sink, Source};
use crate::spec::RpcMode;
use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::pipe::{PipeFlags, pipe_with};
use std::io;
use std::os::fd::OwnedFd;

/// What the child gets.
#[derive(Debug)]
pub(super) struct ChildEnds {
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    pub(super) rpc: Option<OwnedFd>,
}

/// What we keep, before tokio knows it.
#[derive(Debug)]
pub(super) struct RawHostEnds {
    rpc: RawRpc,
    stdin: Option<OwnedFd>,
    stdout: Option<OwnedFd>,
    stderr: OwnedFd,
}

#[derive(Debug)]
enum RawRpc {
    None,
    Socket(OwnedFd),
    Pipes { read: OwnedFd, write: OwnedFd },
}

/// What we keep.
#[derive(Debug)]
pub(crate) struct HostEnds {
    pub(crate) rpc: Option<(Source, Sink)>,
    /// Present when raw bytes are written to standard input.
    pub(crate) stdin: Option<Sink>,
    /// Absent when standard output carries the protocol.
    pub(crate) stdout: Option<Source>,
    pub(crate) stderr: Source,
}

pub(super) fn make(mode: RpcMode) -> io::Result<(RawHostEnds, ChildEnds)> {
    let (stderr, child_stderr) = pipe_with(PipeFlags::CLOEXEC)?;
    let (stdout, child_stdout) = pipe_with(PipeFlags::CLOEXEC)?;
    if mode == RpcMode::Stdio {
        let (child_stdin, write) = pipe_with(PipeFlags::CLOEXEC)?;
        let rpc = RawRpc::Pipes { read: stdout, write };
        let child =
            ChildEnds { stdin: child_stdin, stdout: child_stdout, stderr: child_stderr, rpc: None };
        return Ok((RawHostEnds { rpc, stdin: None, stdout: None, stderr }, child));
    }
    let (child_stdin, stdin) = if mode == RpcMode::RawStdin {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        (read, Some(write))
    } else {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        (rustix::fs::open("/dev/null", flags, Mode::empty())?, None)
    };
    let (rpc, child_rpc) = match mode {
        RpcMode::Socket => {
            let (ours, theirs) = socket_pair()?;
            (RawRpc::Socket(ours), Some(theirs))
        }
        _ => (RawRpc::None, None),
    };
    let child = ChildEnds {
        stdin: child_stdin,
        stdout: child_stdout,
        stderr: child_stderr,
        rpc: child_rpc,
    };
    Ok((RawHostEnds { rpc, stdin, stdout: Some(stdout), stderr }, child))
}

/// A connected pair of stream sockets.
pub(super) fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC;
    Ok(rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}

/// Makes a tokio stream of one end of a pair.
pub(super) fn tokio_stream(fd: OwnedFd) -> io::Result<tokio::net::UnixStream> {
    let stream = std::os::unix::net::UnixStream::from(fd);
    stream.set_nonblocking(true)?;
    tokio::net::UnixStream::from_std(stream)
}

impl RawHostEnds {
    pub(super) fn into_tokio(self) -> io::Result<HostEnds> {
        let rpc = match self.rpc {
            RawRpc::None => None,
            RawRpc::Socket(fd) => Some(crate::rpc::io::socket(fd)?),
            RawRpc::Pipes { read, write } => Some(crate::rpc::io::pipes(read, write)?),
        };
        Ok(HostEnds {
            rpc,
            stdin: self.stdin.map(Sink::pipe).transpose()?,
            stdout: self.stdout.map(Source::new).transpose()?,
            stderr: Source::new(self.stderr)?,
        })
    }
}
