//! Everybody else's side: one question, one answer, within a time limit.

use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use super::socket::{self, SOCKET_NAME};
use super::wire::{Action, Answer, Request, Status, VERSION, read_line, to_line};

/// How long a live run may take to answer.
const REPLY_TIMEOUT: Duration = Duration::from_secs(2);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Nobody is there: the run is over, or was cut off.
    #[error("the run is not live")]
    NotLive,
    /// Somebody is there and does not answer in time.
    #[error("the run's process does not answer: {0}")]
    NoReply(io::Error),
    /// It answered that it would not.
    #[error("{0}")]
    Refused(String),
}

/// How far is the run in this folder?
pub fn query_status(folder: &Path) -> Result<Status, AskError> {
    request(folder, Action::Status)
}

/// Whether somebody answers for the run in this folder. Asks nothing, and so waits for nothing.
pub fn is_live(folder: &Path) -> bool {
    socket::connect(folder).is_ok()
}

/// Asks the run in this folder to stop: nothing new starts, running examples get the grace.
pub fn cancel(folder: &Path) -> Result<Status, AskError> {
    request(folder, Action::Cancel)
}

/// Asks the run in this folder to end now.
pub fn kill(folder: &Path) -> Result<Status, AskError> {
    request(folder, Action::Kill)
}

fn request(folder: &Path, action: Action) -> Result<Status, AskError> {
    let mut connection = socket::connect(folder).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => AskError::NotLive,
        _ => AskError::NoReply(error),
    })?;
    let mut exchange = || -> io::Result<String> {
        connection.set_read_timeout(Some(REPLY_TIMEOUT))?;
        connection.set_write_timeout(Some(REPLY_TIMEOUT))?;
        connection.write_all(&to_line(&Request { v: VERSION, action })?)?;
        read_line(&connection)
    };
    let text = exchange().map_err(AskError::NoReply)?;
    match serde_json::from_str(&text) {
        Ok(Answer::Status(status)) => Ok(status),
        Ok(Answer::Error { message }) => Err(AskError::Refused(message)),
        Err(error) => Err(AskError::NoReply(error.into())),
    }
}

/// A run that lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveRun {
    /// The name of its folder, which is the run's id.
    pub run_id: String,
    /// How far it is.
    pub status: Status,
}

/// The runs that live, oldest first: the registry of `.proctor/runs`.
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
