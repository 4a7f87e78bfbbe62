//! Which transport a worker uses, decided from variables that the caller passes in.

use super::WorkerError;
use crate::protocol::{ConnectLine, StreamName, kind, var};
use crate::sys;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// How to reach the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// Connect to a socket and show the token.
    Path {
        /// `RPC_SOCKET_PATH`.
        path: PathBuf,
        /// `RPC_TOKEN`.
        token: String,
    },
    /// Use an inherited socket.
    Fd(RawFd),
    /// Use standard input and output.
    Stdio,
}

/// What a worker learns from its environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerEnv {
    /// How to reach the host.
    pub transport: Transport,
    /// `WORKER_INDEX`, if it is a worker of a group.
    pub index: Option<u32>,
    /// Counts the processes that have had this index; for the connect line.
    pub generation: u32,
}

impl WorkerEnv {
    /// Reads the variables, usually `std::env::vars()`. Only binaries read the environment, so it
    /// is passed in.
    pub fn from_vars<N: AsRef<str>, V: Into<String>>(
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Self, WorkerError> {
        let (mut path, mut token, mut fd, mut index) = (None, None, None, None);
        for (name, value) in variables {
            match name.as_ref() {
                var::RPC_SOCKET_PATH => path = Some(PathBuf::from(value.into())),
                var::RPC_TOKEN => token = Some(value.into()),
                var::RPC_SOCKET_FD => fd = Some(value.into()),
                var::WORKER_INDEX => index = value.into().parse().ok(),
                _ => {}
            }
        }
        let transport = match (path, token, fd) {
            (Some(path), Some(token), _) => Transport::Path { path, token },
            (_, _, Some(text)) => Transport::Fd(descriptor(&text)?),
            _ => Transport::Stdio,
        };
        Ok(Self { transport, index, generation: 0 })
    }

    /// Opens the connection: where to read and where to write.
    pub(super) fn open(&self) -> Result<(File, File), WorkerError> {
        match &self.transport {
            Transport::Path { path, token } => {
                let mut stream = UnixStream::connect(path)
                    .map_err(|error| WorkerError::Connect { path: path.clone(), error })?;
                stream.write_all(&self.connect_line(token)).map_err(WorkerError::Io)?;
                both(stream.into())
            }
            Transport::Fd(number) => {
                let fd = sys::adopt_inherited_socket(*number)
                    .map_err(|error| WorkerError::Descriptor { text: number.to_string(), error })?;
                both(fd)
            }
            Transport::Stdio => Ok((
                copy(std::io::stdin().as_fd().try_clone_to_owned())?,
                copy(std::io::stdout().as_fd().try_clone_to_owned())?,
            )),
        }
    }

    fn connect_line(&self, token: &str) -> Vec<u8> {
        let line = ConnectLine {
            kind: kind::CONNECT.to_owned(),
            token: token.to_owned(),
            stream: StreamName::Rpc,
            slot: self.index.unwrap_or_default(),
            generation: self.generation,
            pid: Some(std::process::id()),
        };
        let mut bytes = serde_json::to_vec(&line).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }
}

fn descriptor(text: &str) -> Result<RawFd, WorkerError> {
    text.parse().map_err(|_| WorkerError::Descriptor {
        text: text.to_owned(),
        error: std::io::Error::from(std::io::ErrorKind::InvalidInput),
    })
}

fn both(fd: OwnedFd) -> Result<(File, File), WorkerError> {
    let write = copy(fd.try_clone())?;
    Ok((File::from(fd), write))
}

fn copy(fd: std::io::Result<OwnedFd>) -> Result<File, WorkerError> {
    fd.map(File::from).map_err(WorkerError::Io)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_comes_before_descriptor_comes_before_stdio() {
        let all = [
            ("RPC_SOCKET_PATH", "/run/x"),
            ("RPC_TOKEN", "t"),
            ("RPC_SOCKET_FD", "5"),
            ("WORKER_INDEX", "3"),
            ("HOME", "/root"),
        ];
        let env = WorkerEnv::from_vars(all).unwrap();
        assert_eq!(env.transport, Transport::Path { path: "/run/x".into(), token: "t".into() });
        assert_eq!(env.index, Some(3));
        assert_eq!(WorkerEnv::from_vars([all[0], all[2]]).unwrap().transport, Transport::Fd(5));
        assert_eq!(WorkerEnv::from_vars([all[4]]).unwrap().transport, Transport::Stdio);
    }

    #[test]
    fn a_bad_descriptor_is_named() {
        let error = WorkerEnv::from_vars([("RPC_SOCKET_FD", "five")]).unwrap_err();
        assert!(error.to_string().contains("\"five\""), "{error}");
        let closed = WorkerEnv { transport: Transport::Fd(987_654), index: None, generation: 0 };
        assert!(closed.open().is_err());
    }
}
