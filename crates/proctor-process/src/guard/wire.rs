//! What host and guard say to each other, over one socket pair.
//!
//! Host → guard: one launch message (length-prefixed bytes, because arguments need not be UTF-8)
//! with the child's descriptors attached, then orders of two bytes. Guard → host: JSON lines.
//! Both are the same program of the same version, so there is no versioning here. Pure but for
//! [`receive_launch`], which the guard uses.

use crate::child_environment::ChildEnvironment;
use crate::exit::{ExitStatus, Leaked};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;

/// Most descriptors that come with a launch: RPC socket, standard input, output, error.
const MAX_FDS: usize = 4;
/// Longest launch message; the kernel refuses longer argument lists anyway.
const MAX_LAUNCH: usize = 16 * 1024 * 1024;

/// The real command, as the guard has to start it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Launch {
    pub(crate) argv: Vec<OsString>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) environment: ChildEnvironment,
    /// The first attached descriptor is the RPC socket, to be kept open under its number, which
    /// becomes the value of this variable.
    pub(crate) rpc_variable: Option<OsString>,
}

/// What the guard reports.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub(crate) enum Report {
    /// The command runs under this process id.
    Started { pid: u32 },
    /// The command could not be started; nothing else follows.
    Failed { errno: Option<i32>, message: String },
    /// The command has ended. Its left-overs are being looked for.
    Exited { status: ExitStatus },
    /// The command left this running.
    Left(Leaked),
    /// Nothing of the tree is left.
    Done,
}

/// An order to the guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Kill the whole tree.
    KillTree,
    /// Send a signal to the command itself.
    Signal(u8),
    /// Send a signal to the command's process group.
    SignalGroup(u8),
}

impl Order {
    pub(crate) fn encode(self) -> [u8; 2] {
        match self {
            Self::KillTree => [b'k', 0],
            Self::Signal(number) => [b's', number],
            Self::SignalGroup(number) => [b'g', number],
        }
    }

    pub(crate) fn decode(bytes: [u8; 2]) -> Option<Self> {
        match bytes {
            [b'k', _] => Some(Self::KillTree),
            [b's', number] => Some(Self::Signal(number)),
            [b'g', number] => Some(Self::SignalGroup(number)),
            _ => None,
        }
    }
}

impl Launch {
    /// The command, without its standard streams.
    pub(crate) fn command(&self) -> io::Result<Command> {
        let (program, arguments) =
            self.argv.split_first().ok_or(io::Error::from(io::ErrorKind::InvalidInput))?;
        let mut command = Command::new(program);
        command.args(arguments);
        self.environment.apply(&mut command);
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        Ok(command)
    }

    /// The message: its length in four bytes, then its parts.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![0; 4];
        put_count(&mut out, self.argv.len());
        for argument in &self.argv {
            put(&mut out, argument);
        }
        put_option(&mut out, self.cwd.as_ref().map(|cwd| cwd.as_os_str()));
        let variables = self.environment.variables();
        put_count(&mut out, variables.len());
        for (name, value) in &variables {
            put(&mut out, name);
            put(&mut out, value);
        }
        put_option(&mut out, self.rpc_variable.as_deref());
        let length = u32::try_from(out.len() - 4).unwrap_or(u32::MAX);
        out[..4].copy_from_slice(&length.to_le_bytes());
        out
    }

    /// The inverse of [`Launch::encode`], without the length.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut parts = Parts(bytes);
        let argv = (0..parts.count()?).map(|_| parts.text()).collect::<Option<_>>()?;
        let cwd = parts.option().ok()?.map(PathBuf::from);
        let environment = ChildEnvironment::empty().set_all(parts.variables()?);
        let rpc_variable = parts.option().ok()?;
        parts.0.is_empty().then_some(Self { argv, cwd, environment, rpc_variable })
    }
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    out.extend(u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

fn put(out: &mut Vec<u8>, text: &OsStr) {
    put_count(out, text.len());
    out.extend(text.as_bytes());
}

fn put_option(out: &mut Vec<u8>, text: Option<&OsStr>) {
    out.push(u8::from(text.is_some()));
    if let Some(text) = text {
        put(out, text);
    }
}

/// A message that cannot be taken apart.
struct MalformedMessage;

/// The rest of a message that is being taken apart.
struct Parts<'a>(&'a [u8]);

impl<'a> Parts<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn count(&mut self) -> Option<usize> {
        let bytes = self.take(4)?.try_into().ok()?;
        usize::try_from(u32::from_le_bytes(bytes)).ok()
    }

    fn text(&mut self) -> Option<OsString> {
        let count = self.count()?;
        Some(OsString::from_vec(self.take(count)?.to_vec()))
    }

    /// The variables of an environment, which are encoded in the order of their names.
    fn variables(&mut self) -> Option<BTreeMap<OsString, OsString>> {
        let mut variables = BTreeMap::new();
        for _ in 0..self.count()? {
            let (name, value) = (self.text()?, self.text()?);
            if variables.last_key_value().is_some_and(|(last, _)| *last >= name) {
                return None;
            }
            variables.insert(name, value);
        }
        Some(variables)
    }

    /// An optional text: the outer `Err` means that the message is broken.
    fn option(&mut self) -> Result<Option<OsString>, MalformedMessage> {
        match self.byte() {
            Some(0) => Ok(None),
            Some(1) => self.text().map(Some).ok_or(MalformedMessage),
            _ => Err(MalformedMessage),
        }
    }
}

/// Sends the first bytes of a launch with the child's descriptors; returns how many went.
pub(crate) fn send_with_fds(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    fds: &[BorrowedFd<'_>],
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let slices = [IoSlice::new(bytes)];
    Ok(rustix::net::sendmsg(socket, &slices, &mut control, SendFlags::NOSIGNAL)?)
}

/// Receives the launch message and its descriptors; `None` if the host went away.
pub(crate) fn receive_launch(socket: &UnixStream) -> io::Result<Option<(Launch, Vec<OwnedFd>)>> {
    let mut length = [0; 4];
    let mut fds = Vec::new();
    let mut filled = 0;
    while filled < length.len() {
        let count = receive_some(socket, &mut length[filled..], &mut fds)?;
        if count == 0 {
            return Ok(None);
        }
        filled += count;
    }
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    if length > MAX_LAUNCH {
        return Err(io::Error::from(io::ErrorKind::InvalidData));
    }
    let mut bytes = vec![0; length];
    let mut socket = socket;
    if socket.read_exact(&mut bytes).is_err() {
        return Ok(None);
    }
    let launch = Launch::decode(&bytes).ok_or(io::Error::from(io::ErrorKind::InvalidData))?;
    Ok(Some((launch, fds)))
}

fn receive_some(
    socket: &UnixStream,
    bytes: &mut [u8],
    fds: &mut Vec<OwnedFd>,
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut slices = [IoSliceMut::new(bytes)];
    let flags = RecvFlags::CMSG_CLOEXEC;
    let received = rustix::net::recvmsg(socket.as_fd(), &mut slices, &mut control, flags)?;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    Ok(received.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text() -> impl Strategy<Value = OsString> {
        proptest::collection::vec(any::<u8>(), 0..20).prop_map(OsString::from_vec)
    }

    proptest! {
        #[test]
        fn a_launch_survives_the_round_trip(
            argv in proptest::collection::vec(text(), 0..5),
            cwd in proptest::option::of(text()),
            variables in proptest::collection::btree_map(text(), text(), 0..5),
            rpc_variable in proptest::option::of(text()),
        ) {
            let environment = ChildEnvironment::empty().set_all(variables);
            let launch = Launch { argv, cwd: cwd.map(PathBuf::from), environment, rpc_variable };
            let bytes = launch.encode();
            prop_assert_eq!(Launch::decode(&bytes[4..]), Some(launch));
        }

        #[test]
        fn garbage_is_refused_not_believed(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            if let Some(launch) = Launch::decode(&bytes) {
                prop_assert_eq!(&launch.encode()[4..], &bytes[..]);
            }
        }
    }

    #[test]
    fn orders_survive_the_round_trip() {
        for order in [Order::KillTree, Order::Signal(15), Order::SignalGroup(2)] {
            assert_eq!(Order::decode(order.encode()), Some(order));
        }
        assert_eq!(Order::decode(*b"??"), None);
    }
}
