//! Following a file that still grows, line by line.
//!
//! The kernel says when the file has changed (inotify); where it cannot, a short nap stands in. Only
//! whole lines come out. A file that shrinks or is replaced is read again from its start.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify;

/// What came of looking at the file.
#[derive(Debug, PartialEq, Eq)]
pub enum Grown {
    /// New whole lines, in order, without their line feeds.
    Lines(Vec<String>),
    /// The file was truncated or replaced; what follows comes from its start.
    Restarted,
    /// Nothing new.
    Nothing,
}

/// Follows one file.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    file: Option<File>,
    identity: Option<(u64, u64)>,
    offset: u64,
    /// Where the unfinished last line began.
    partial: Vec<u8>,
    changes: Option<OwnedFd>,
}

/// How much is read at a time, so that a huge backlog does not become one huge allocation.
const CHUNK: u64 = 4 << 20;

impl Follower {
    /// Starts at the beginning of the file, which need not exist yet.
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            file: None,
            identity: None,
            offset: 0,
            partial: Vec::new(),
            changes: None,
        }
    }

    /// Reads what has come since the last call.
    pub fn read(&mut self) -> io::Result<Grown> {
        if self.replaced()? {
            let first_time = self.identity.is_none();
            self.reopen()?;
            if !first_time {
                return Ok(Grown::Restarted);
            }
        }
        let Some(file) = &mut self.file else {
            return Ok(Grown::Nothing);
        };
        let mut fresh = Vec::new();
        file.seek(SeekFrom::Start(self.offset))?;
        file.take(CHUNK).read_to_end(&mut fresh)?;
        if fresh.is_empty() {
            return Ok(Grown::Nothing);
        }
        self.offset += fresh.len() as u64;
        Ok(self.split(&fresh))
    }

    fn split(&mut self, fresh: &[u8]) -> Grown {
        self.partial.extend_from_slice(fresh);
        let Some(end) = self.partial.iter().rposition(|byte| *byte == b'\n') else {
            return Grown::Nothing;
        };
        let rest = self.partial.split_off(end + 1);
        let whole = std::mem::replace(&mut self.partial, rest);
        let lines = whole[..end]
            .split(|byte| *byte == b'\n')
            .map(|line| String::from_utf8_lossy(line).into_owned())
            .collect();
        Grown::Lines(lines)
    }

    /// Whether the path now names another file than the one we hold, or ours has shrunk.
    fn replaced(&self) -> io::Result<bool> {
        match std::fs::metadata(&self.path) {
            Ok(now) => {
                let other = self.identity != Some((now.dev(), now.ino()));
                Ok(other || now.len() < self.offset)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn reopen(&mut self) -> io::Result<()> {
        let file = File::open(&self.path)?;
        let metadata = file.metadata()?;
        self.identity = Some((metadata.dev(), metadata.ino()));
        self.file = Some(file);
        self.offset = 0;
        self.partial.clear();
        self.changes = watch(&self.path).ok();
        Ok(())
    }

    /// Waits until the file may have changed, but not longer than this.
    pub fn wait(&mut self, at_most: Duration) -> io::Result<()> {
        let Some(changes) = &self.changes else {
            std::thread::sleep(at_most.min(Duration::from_millis(50)));
            return Ok(());
        };
        let timeout = Timespec::try_from(at_most).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
        let mut descriptors = [PollFd::new(changes, PollFlags::IN)];
        match poll(&mut descriptors, Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => Ok(()),
            Ok(_) => drain(changes),
            Err(error) => Err(error.into()),
        }
    }
}

fn watch(path: &Path) -> io::Result<OwnedFd> {
    let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
    let changes = inotify::init(flags)?;
    let wanted = inotify::WatchFlags::MODIFY
        | inotify::WatchFlags::MOVE_SELF
        | inotify::WatchFlags::DELETE_SELF;
    inotify::add_watch(&changes, path, wanted)?;
    Ok(changes)
}

fn drain(changes: &OwnedFd) -> io::Result<()> {
    let mut buffer = [0; 4096];
    loop {
        match rustix::io::read(changes, &mut buffer) {
            Ok(0) | Err(rustix::io::Errno::AGAIN) => return Ok(()),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn lines(texts: &[&str]) -> Grown {
        Grown::Lines(texts.iter().map(|text| (*text).to_owned()).collect())
    }

    #[test]
    fn only_whole_lines_come_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let mut follower = Follower::new(&path);
        assert_eq!(follower.read().unwrap(), Grown::Nothing, "not there yet");
        let mut file = File::create(&path).unwrap();
        file.write_all(b"one\ntw").unwrap();
        assert_eq!(follower.read().unwrap(), lines(&["one"]));
        assert_eq!(follower.read().unwrap(), Grown::Nothing);
        file.write_all(b"o\n\n").unwrap();
        assert_eq!(follower.read().unwrap(), lines(&["two", ""]));
    }

    #[test]
    fn a_write_ends_the_wait() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let mut file = File::create(&path).unwrap();
        let mut follower = Follower::new(&path);
        assert_eq!(follower.read().unwrap(), Grown::Nothing);
        std::thread::scope(|scope| {
            scope.spawn(|| file.write_all(b"late\n").unwrap());
            let started = std::time::Instant::now();
            loop {
                if follower.read().unwrap() == lines(&["late"]) {
                    break;
                }
                follower.wait(Duration::from_secs(20)).unwrap();
            }
            assert!(started.elapsed() < Duration::from_secs(15), "woken, not timed out");
        });
    }

    #[test]
    fn a_replaced_file_is_read_from_its_start() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        std::fs::write(&path, "old\n").unwrap();
        let mut follower = Follower::new(&path);
        assert_eq!(follower.read().unwrap(), lines(&["old"]));
        let other = folder.path().join("new");
        std::fs::write(&other, "new\n").unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert_eq!(follower.read().unwrap(), Grown::Restarted);
        assert_eq!(follower.read().unwrap(), lines(&["new"]));
    }
}
