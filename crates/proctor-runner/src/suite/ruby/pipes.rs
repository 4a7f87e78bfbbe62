//! The named pipes that a forked worker prints to.
//!
//! Pipes rather than sockets: many small writes cost a pipe half of the time and a fraction of the memory, and a program
//! may open `/dev/stdout` by name. Our ends are opened first, so that the worker's opening never waits; the files are
//! removed once it is connected, or has failed to.

use std::path::{Path, PathBuf};

use proctor_process::OutputStream;
use rustix::fs::{CWD, FileType, Mode};
use serde_json::{Value, json};
use tokio::net::unix::pipe;

use super::parent::WorkerId;

/// Why there are no pipes.
#[derive(Debug, thiserror::Error)]
#[error("cannot make the pipe {} for the output of a worker: {error}", .path.display())]
pub(crate) struct PipeError {
    path: PathBuf,
    error: std::io::Error,
}

/// The reading ends for one worker.
pub(super) struct Pipes {
    stdout: (File, pipe::Receiver),
    stderr: (File, pipe::Receiver),
}

impl Pipes {
    pub(super) fn make(folder: &Path, (slot, generation): WorkerId) -> Result<Self, PipeError> {
        let make = |name: &str| open(folder.join(format!("{slot}-{generation}-{name}")));
        Ok(Self { stdout: make("stdout")?, stderr: make("stderr")? })
    }

    /// Where the worker finds them, in the words of the protocol.
    pub(super) fn paths(&self) -> Value {
        json!({"stdout": self.stdout.0.0, "stderr": self.stderr.0.0})
    }

    /// Reads them from now on. The worker must have opened them: with no writer a pipe is at its end.
    pub(super) fn feed(self, stdout: &OutputStream, stderr: &OutputStream) -> std::io::Result<()> {
        stdout.attach_descriptor(self.stdout.1.into_nonblocking_fd()?)?;
        stderr.attach_descriptor(self.stderr.1.into_nonblocking_fd()?)
    }
}

/// A file that goes when this does.
struct File(PathBuf);

impl Drop for File {
    fn drop(&mut self) {
        // The folder goes at the end of the run, with whatever could not be removed now.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn open(path: PathBuf) -> Result<(File, pipe::Receiver), PipeError> {
    let mode = Mode::RUSR | Mode::WUSR;
    let made = rustix::fs::mknodat(CWD, &path, FileType::Fifo, mode, 0).map_err(Into::into);
    let opened = made.and_then(|()| pipe::OpenOptions::new().open_receiver(&path));
    match opened {
        Ok(receiver) => Ok((File(path), receiver)),
        Err(error) => Err(PipeError { path, error }),
    }
}
