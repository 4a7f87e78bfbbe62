//! Small habits for files of our own: whole-file replacement, JSON, appended lines, locks.
//!
//! For the registry only; files of a workspace go through [`crate::contained_path`].

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use proctor_files::limits;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::ToolError;

/// Replaces a file: readers see the old or the new content.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), ToolError> {
    let temporary = path.with_extension(format!("{}.tmp", uuid::Uuid::new_v4().simple()));
    let written = write_new(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written.map_err(|error| ToolError::io("write", path, &error))
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(bytes)
}

/// Replaces a file with a value as JSON.
pub(crate) fn replace_json<T: Serialize>(path: &Path, value: &T) -> Result<(), ToolError> {
    let bytes = serde_json::to_vec_pretty(value)
        .map_err(|error| ToolError::io("write", path, &error.into()))?;
    replace(path, &bytes)
}

/// Reads a value; `None` if there is no such file.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, ToolError> {
    match proctor_files::read(path, limits::WORKSPACE_STATE) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| ToolError::io("understand", path, &error.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ToolError::io("read", path, &error)),
    }
}

/// Appends one line with a single write, so that lines of several processes do not mix.
pub(crate) fn append_line(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    proctor_files::append_private(path)?.write_all(&line)
}

/// Makes a folder only we may enter, and those above it.
pub(crate) fn make_private(path: &Path) -> Result<(), ToolError> {
    let made = proctor_files::create_private_folder(path);
    made.map_err(|error| ToolError::io("make", path, &error))
}

/// Opens a lock file.
pub(crate) fn lock_file(path: &Path) -> io::Result<File> {
    proctor_files::open_lock_file(path)
}

/// Takes a lock, waiting at most `patience`. Blocks the thread: call it where that is allowed.
pub(crate) fn lock_within(file: &File, patience: Duration) -> bool {
    let deadline = Instant::now() + patience;
    let mut pause = Duration::from_millis(1);
    loop {
        match file.try_lock() {
            Ok(()) => return true,
            Err(_) if Instant::now() >= deadline => return false,
            Err(_) => std::thread::sleep(pause),
        }
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    millis(SystemTime::now())
}

pub(crate) fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
