//! Starting a command: descriptors, guard, and the handle on what was started.
//!
//! [`launch`] makes the pipes and sockets (all close-on-exec), starts the command directly or under a
//! guard, and returns a [`Backend`], which knows how to signal, kill and wait for it. The backend
//! owns the process id; decisions about when to use it are the driver's.

mod direct;
mod guarded;
mod plumbing;
mod reaper;

use crate::exit::ExitReport;
use crate::guard::wire::Launch;
use crate::spec::{Guard, ProcessSpec, RpcMode};
use direct::Direct;
use guarded::Guarded;
pub(crate) use plumbing::HostEnds;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// Why a process did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It was started before; a process lives once.
    #[error("{command} was already started; make a new process to run it again")]
    AlreadyStarted {
        /// The command line.
        command: String,
    },
    /// There is no program to run.
    #[error("the command is empty; give at least a program")]
    EmptyCommand,
    /// The working directory is not there.
    #[error("cannot start {command}: its working directory {} is not a folder", .cwd.display())]
    NoSuchFolder {
        /// The command line.
        command: String,
        /// The folder.
        cwd: PathBuf,
    },
    /// The program could not be run.
    #[error("cannot start {command}: {error}; check the program's name and PATH")]
    Spawn {
        /// The command line.
        command: String,
        /// What the system said.
        error: io::Error,
    },
    /// The guard could not be run.
    #[error("cannot start the guard {} for {command}: {error}", .program.to_string_lossy())]
    Guard {
        /// The command line.
        command: String,
        /// The guard's program.
        program: OsString,
        /// What the system said.
        error: io::Error,
    },
    /// Pipes or sockets could not be made.
    #[error("cannot make the pipes for {command}: {error}; are too many files open?")]
    Pipes {
        /// The command line.
        command: String,
        /// What the system said.
        error: io::Error,
    },
}

/// What went wrong at the start.
#[derive(Debug)]
enum Failure {
    /// The command could not be run.
    Command(io::Error),
    /// The guard could not be run or did not behave.
    Guard(io::Error),
}

/// A running command.
#[derive(Debug)]
pub(crate) enum Backend {
    Guarded(Guarded),
    Direct(Direct),
}

/// A command that was started, and our ends of its pipes.
#[derive(Debug)]
pub(crate) struct Launched {
    pub(crate) backend: Backend,
    pub(crate) pid: u32,
    pub(crate) ends: HostEnds,
}

/// Starts what the specification says.
pub(crate) async fn launch(spec: &ProcessSpec) -> Result<Launched, StartError> {
    let command = spec.command_line();
    if spec.argv.is_empty() {
        return Err(StartError::EmptyCommand);
    }
    let pipes = |error| StartError::Pipes { command: command.clone(), error };
    let (host, child) = plumbing::make(spec.rpc).map_err(pipes)?;
    let ends = host.into_tokio().map_err(pipes)?;
    let wanted = wanted(spec);
    let started = match &spec.guard {
        Guard::None => Direct::start(&wanted, child)
            .map(|(pid, direct)| (pid, Backend::Direct(direct)))
            .map_err(Failure::Command),
        Guard::Program(program) => Guarded::start(program, &wanted, child)
            .await
            .map(|(pid, guarded)| (pid, Backend::Guarded(guarded))),
    };
    let (pid, backend) = started.map_err(|failure| refused(spec, command, failure))?;
    Ok(Launched { backend, pid, ends })
}

fn wanted(spec: &ProcessSpec) -> Launch {
    let socket = spec.rpc == RpcMode::Socket;
    Launch {
        argv: spec.argv.clone(),
        cwd: spec.cwd.clone(),
        environment: spec.environment.clone(),
        rpc_variable: socket.then(|| crate::protocol::var::RPC_SOCKET_FD.into()),
    }
}

/// Says which of the things that can be missing is missing.
fn refused(spec: &ProcessSpec, command: String, failure: Failure) -> StartError {
    match (failure, &spec.guard, &spec.cwd) {
        (Failure::Guard(error), Guard::Program(guard), _) => {
            StartError::Guard { command, program: guard.program.clone(), error }
        }
        (Failure::Command(_), _, Some(cwd)) if !cwd.is_dir() => {
            StartError::NoSuchFolder { command, cwd: cwd.clone() }
        }
        (Failure::Command(error) | Failure::Guard(error), _, _) => {
            StartError::Spawn { command, error }
        }
    }
}

impl Backend {
    /// Waits until the command and, with a guard, its whole tree have ended. May be dropped and
    /// called again.
    pub(crate) async fn ended(&mut self) -> ExitReport {
        match self {
            Self::Guarded(guarded) => guarded.ended().await,
            Self::Direct(direct) => direct.ended().await,
        }
    }

    /// Sends a signal to the command itself; a gone process is no error.
    pub(crate) fn signal(&mut self, number: i32) {
        match self {
            Self::Guarded(guarded) => guarded.signal(number),
            Self::Direct(direct) => direct.signal(number),
        }
    }

    /// Sends SIGTERM to the command's process group.
    pub(crate) fn terminate(&mut self) {
        match self {
            Self::Guarded(guarded) => guarded.terminate(),
            Self::Direct(direct) => direct.signal_group(rustix::process::Signal::TERM),
        }
    }

    /// Kills the tree (without a guard: the process group).
    pub(crate) fn kill_tree(&mut self) {
        match self {
            Self::Guarded(guarded) => guarded.kill_tree(),
            Self::Direct(direct) => direct.signal_group(rustix::process::Signal::KILL),
        }
    }

    /// Kills without the guard's help, because it does not help.
    pub(crate) fn force_kill(&mut self) {
        match self {
            Self::Guarded(guarded) => guarded.force_kill(),
            Self::Direct(direct) => direct.signal_group(rustix::process::Signal::KILL),
        }
    }
}
