//! What tells one state of a file from the next, for everything that is cached about a recording.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// One state of a file, as the file system describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileState {
    /// Device and inode.
    pub(crate) identity: (u64, u64),
    pub(crate) size: u64,
    /// The time of the last write: seconds and nanoseconds.
    pub(crate) written: (i64, i64),
    /// The time of the last change of contents or metadata. Programs cannot set it, so a file that takes the place of another may bring
    /// its old time of writing with it, but not this one.
    pub(crate) changed: (i64, i64),
}

impl FileState {
    /// The state of the file at this path; `None` where there is none.
    pub fn at(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().map(|metadata| Self::of(&metadata))
    }

    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            identity: (metadata.dev(), metadata.ino()),
            size: metadata.len(),
            written: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether the last change was at least this long before `now`. Times of files come from a clock that ticks: a file that changed a moment
    /// ago may change once more and have the same state.
    pub fn is_settled(&self, now: SystemTime, quiet: Duration) -> bool {
        let changed_at = SystemTime::UNIX_EPOCH + since_1970(self.changed);
        now.duration_since(changed_at).is_ok_and(|age| age >= quiet)
    }

    /// Size and times as text, to be stored. Without the identity: the numbers of devices may differ after a restart of the machine.
    pub fn to_text(&self) -> String {
        let (written, changed) = (since_1970(self.written), since_1970(self.changed));
        format!("{}@{}/{}", self.size, written.as_nanos(), changed.as_nanos())
    }
}

/// The time since 1970; none for times before.
fn since_1970((seconds, nanoseconds): (i64, i64)) -> Duration {
    let (seconds, nanoseconds) = (u64::try_from(seconds), u32::try_from(nanoseconds));
    Duration::new(seconds.unwrap_or_default(), nanoseconds.unwrap_or_default())
}
