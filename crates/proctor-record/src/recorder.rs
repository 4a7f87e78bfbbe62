//! Writing events as JSON lines, so that no byte position of a crash loses more than one event.
//!
//! A batch goes out in one `write` of whole lines to a descriptor opened for appending. When that call
//! has returned, our own death cannot take the lines back, and `tail -f` shows them at once. The file is
//! synced to the device when the run ends. Each line carries a [digest](crate::line_digest) that covers it and the line before.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use proctor_events::{BoxedError, Published, Recorder};

use crate::line_digest::{self, LineDigest};

/// Why a recording cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {path}: {source}", path = .path.display())]
pub struct RecordError {
    /// What was tried.
    pub action: &'static str,
    /// On which file.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// A recorder that appends to a file.
#[derive(Debug)]
pub struct JsonlRecorder {
    file: File,
    path: PathBuf,
    buffer: Vec<u8>,
    /// The digest of the last line that was written.
    digest: Option<LineDigest>,
}

/// A buffer that grew beyond this for one huge batch is given back.
const KEPT_BUFFER: usize = 1 << 20;

const LOCK_TRIES: u32 = 50;
const LOCK_RETRY_PAUSE: Duration = Duration::from_millis(2);

/// Whether a process holds the write lock of this recording.
pub(crate) fn is_locked_by_writer(path: &Path) -> bool {
    let probe = proctor_files::open(path).map(|file| file.try_lock());
    matches!(probe, Ok(Err(TryLockError::WouldBlock)))
}

impl JsonlRecorder {
    /// Opens a file for appending, creating it if need be.
    ///
    /// A torn last line, left by a writer that died, is ended first so that it cannot swallow ours.
    pub fn append(path: &Path) -> Result<Self, RecordError> {
        let failed = |action| {
            let path = path.to_owned();
            move |source| RecordError { action, path, source }
        };
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .open(path)
            .map_err(failed("open"))?;
        let mut recorder = Self { file, path: path.to_owned(), buffer: Vec::new(), digest: None };
        recorder.end_torn_line().map_err(failed("repair"))?;
        recorder.lock_for_writing();
        Ok(recorder)
    }

    /// The file it writes to.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Holds a shared lock while the file is written, by which other processes see that the writer is alive. A process that checks holds
    /// an exclusive lock for a moment, hence the retries.
    fn lock_for_writing(&self) {
        for _ in 0..LOCK_TRIES {
            match self.file.try_lock_shared() {
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_RETRY_PAUSE),
                // A file system without locks leaves the control socket to tell.
                Ok(()) | Err(TryLockError::Error(_)) => return,
            }
        }
    }

    fn end_torn_line(&mut self) -> io::Result<()> {
        // A pipe or terminal has no end to look at.
        if !self.file.metadata()?.is_file() || self.file.seek(SeekFrom::End(0))? == 0 {
            return Ok(());
        }
        self.file.seek(SeekFrom::End(-1))?;
        let mut last = [0];
        self.file.read_exact(&mut last)?;
        if last != *b"\n" {
            self.file.write_all(b"\n")?;
        }
        Ok(())
    }

    fn error(&self, action: &'static str, source: io::Error) -> RecordError {
        RecordError { action, path: self.path.clone(), source }
    }
}

impl Recorder for JsonlRecorder {
    fn record(&mut self, batch: &[Arc<Published>]) -> Result<(), BoxedError> {
        self.buffer.clear();
        for event in batch {
            let start = self.buffer.len();
            event.append_json_to(&mut self.buffer);
            self.digest = line_digest::seal(&mut self.buffer, start, self.digest.as_ref());
        }
        self.file.write_all(&self.buffer).map_err(|source| self.error("write to", source))?;
        if self.buffer.capacity() > KEPT_BUFFER {
            self.buffer = Vec::new();
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), BoxedError> {
        match self.file.sync_all() {
            // Terminals and pipes cannot be synced and need not be.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            outcome => outcome.map_err(|source| self.error("sync", source).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proctor_events::{Event, Progress};

    use super::*;

    fn event(completed: u64) -> Arc<Published> {
        let progress = Progress { completed, total: 9, failures: 0 };
        Arc::new(Published::new(Event::new(progress)))
    }

    #[test]
    fn lines_are_there_as_soon_as_record_returns() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let mut recorder = JsonlRecorder::append(&path).unwrap();
        recorder.record(&[event(1), event(2)]).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 2);
        assert!(text.ends_with('\n'));
        recorder.close().unwrap();
    }

    #[test]
    fn a_torn_line_is_ended_before_more_is_appended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        std::fs::write(&path, "{\"event_type\":\"Prog").unwrap();
        let mut recorder = JsonlRecorder::append(&path).unwrap();
        recorder.record(&[event(1)]).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(Event::from_json(lines[1]).is_ok());
    }

    #[test]
    fn a_full_disk_is_an_error_that_names_the_file() {
        let mut recorder = JsonlRecorder::append(Path::new("/dev/full")).unwrap();
        let error = recorder.record(&[event(1)]).unwrap_err().to_string();
        assert!(error.starts_with("cannot write to /dev/full: No space left"), "{error}");
    }
}
