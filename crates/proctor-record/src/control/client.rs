//! The client: one request, one reply, within a time limit.

use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use super::socket::{self, SOCKET_NAME};
use super::wire::{Action, Answer, Request, Status, VERSION, read_line, to_line};

/// How long a live run may take to reply.
const REPLY_TIMEOUT: Duration = Duration::from_secs(2);

/// Why a request has no reply.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// No process listens: the run is over or died.
    #[error("the run is not live")]
    NotLive,
    /// A process listens and does not reply in time.
    #[error("the run's process does not answer: {0}")]
    NoReply(io::Error),
    /// The run replied with an error.
    #[error("{0}")]
    Refused(String),
}

/// Asks the run in this folder for its status.
pub fn query_status(folder: &Path) -> Result<Status, ControlError> {
    request(folder, Action::Status)
}

/// Whether a process listens on the control socket of the run in this folder. Sends no request and does not wait.
pub fn is_live(folder: &Path) -> bool {
    socket::connect(folder).is_ok()
}

/// Asks the run in this folder to stop: nothing new starts, running examples get the grace.
pub fn cancel(folder: &Path) -> Result<Status, ControlError> {
    request(folder, Action::Cancel)
}

/// Asks the run in this folder to end now.
pub fn kill(folder: &Path) -> Result<Status, ControlError> {
    request(folder, Action::Kill)
}

fn request(folder: &Path, action: Action) -> Result<Status, ControlError> {
    let mut connection = socket::connect(folder).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => ControlError::NotLive,
        _ => ControlError::NoReply(error),
    })?;
    let mut exchange = || -> io::Result<String> {
        connection.set_read_timeout(Some(REPLY_TIMEOUT))?;
        connection.set_write_timeout(Some(REPLY_TIMEOUT))?;
        connection.write_all(&to_line(&Request { v: VERSION, action })?)?;
        read_line(&connection)
    };
    let text = exchange().map_err(ControlError::NoReply)?;
    match serde_json::from_str(&text) {
        Ok(Answer::Status(status)) => Ok(status),
        Ok(Answer::Error { message }) => Err(ControlError::Refused(message)),
        Err(error) => Err(ControlError::NoReply(error.into())),
    }
}

/// A live run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveRun {
    /// The run's id, which is the name of its folder.
    pub run_id: String,
    /// The reply of the run.
    pub status: Status,
}

/// The live runs in `.proctor/runs`, oldest first.
pub fn live_runs(runs_folder: &Path) -> Vec<LiveRun> {
    let Ok(entries) = std::fs::read_dir(runs_folder) else { return Vec::new() };
    let mut names: Vec<_> = entries
        .flatten()
        .filter(|entry| entry.path().join(SOCKET_NAME).exists())
        .map(|entry| entry.file_name())
        .collect();
    names.sort();
    let live = names.into_iter().filter_map(|name| {
        let status = query_status(&runs_folder.join(&name)).ok()?;
        Some(LiveRun { run_id: name.to_string_lossy().into_owned(), status })
    });
    live.collect()
}
