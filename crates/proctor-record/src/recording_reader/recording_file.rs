//! The bytes of a recording as its file grows, and whether it still is the same file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::file_state::FileState;

/// How much is read at a time, so that a huge backlog does not become one huge allocation.
pub(crate) const CHUNK: usize = 1 << 20;
/// How many bytes before the read position are compared at each read: a file that was truncated and written again differs there.
const COMPARED: usize = 128;

/// A file and the position up to which it was read.
#[derive(Debug)]
pub(crate) struct RecordingFile {
    path: PathBuf,
    open: Option<OpenFile>,
}

#[derive(Debug)]
struct OpenFile {
    file: Arc<File>,
    offset: u64,
    /// The bytes before `offset`, at most [`COMPARED`].
    before: Vec<u8>,
    /// What the file system said of the file at the last read.
    seen: FileState,
    /// What the file system said of the file when it was opened.
    opened: FileState,
    opened_at: SystemTime,
    /// Whether the file was in the state of `opened` at every read since.
    unchanged: bool,
}

/// What a read found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Bytes {
    /// Bytes that follow those of the read before.
    More(Vec<u8>),
    /// The file was opened, or opened anew because it was truncated or replaced: the next read begins at its start.
    Opened,
    Nothing,
}

impl RecordingFile {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), open: None }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file that was read; `None` while there is none.
    pub(crate) fn file(&self) -> Option<&Arc<File>> {
        self.open.as_ref().map(|open| &open.file)
    }

    /// Reads one chunk of what has been written since.
    pub(crate) fn read(&mut self) -> io::Result<Bytes> {
        let now = match std::fs::metadata(&self.path) {
            // What was read stays true until another file is there.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Bytes::Nothing),
            outcome => FileState::of(&outcome?),
        };
        let Some(open) = &mut self.open else { return self.reopen() };
        open.unchanged &= open.opened == now;
        if open.seen == now && open.offset == now.size {
            return Ok(Bytes::Nothing);
        }
        let same = open.seen.identity == now.identity && open.offset <= now.size;
        let fresh = if same { open.read_chunk(now)? } else { None };
        match fresh {
            Some(fresh) if fresh.is_empty() => Ok(Bytes::Nothing),
            Some(fresh) => Ok(Bytes::More(fresh)),
            None => self.reopen(),
        }
    }

    /// Opens the file that has the path now.
    fn reopen(&mut self) -> io::Result<Bytes> {
        let file = match proctor_files::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Bytes::Nothing),
            outcome => outcome?,
        };
        let opened = FileState::of(&file.metadata()?);
        self.open = Some(OpenFile {
            file: Arc::new(file),
            offset: 0,
            before: Vec::new(),
            seen: FileState { size: 0, ..opened },
            opened,
            opened_at: SystemTime::now(),
            unchanged: true,
        });
        Ok(Bytes::Opened)
    }

    /// Opens the file, if there is one, without reading from it. For a file that is not open yet.
    pub(super) fn open(&mut self) -> io::Result<()> {
        self.reopen().map(|_| ())
    }

    /// The file and the state in which it was opened.
    pub(super) fn opened(&self) -> Option<(&File, &FileState)> {
        self.open.as_ref().map(|open| (&*open.file, &open.opened))
    }

    pub(super) fn opened_at(&self) -> Option<SystemTime> {
        self.open.as_ref().map(|open| open.opened_at)
    }

    /// Whether the file was read to its end and was in the state of [`opened`](Self::opened) at every read.
    pub(super) fn is_read_unchanged(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.unchanged && open.offset == open.opened.size)
    }

    /// Goes on at this position of a file from which nothing was read yet.
    pub(super) fn skip_to(&mut self, offset: u64) -> io::Result<()> {
        if let Some(open) = &mut self.open {
            let start = offset.saturating_sub(COMPARED as u64);
            let mut before = vec![0; usize::try_from(offset - start).unwrap_or_default()];
            open.file.read_exact_at(&mut before, start)?;
            (open.offset, open.before, open.seen) = (offset, before, open.opened);
        }
        Ok(())
    }

    /// Begins again at the start of the same file.
    pub(crate) fn rewind(&mut self) {
        if let Some(open) = &mut self.open {
            open.offset = 0;
            open.before.clear();
            open.unchanged = false;
        }
    }
}

impl OpenFile {
    /// The next bytes; `None` if those before them are no longer what they were.
    fn read_chunk(&mut self, now: FileState) -> io::Result<Option<Vec<u8>>> {
        let left = usize::try_from(now.size - self.offset).unwrap_or(CHUNK).min(CHUNK);
        let mut bytes = vec![0; self.before.len() + left];
        let filled = read_at(&self.file, &mut bytes, self.offset - self.before.len() as u64)?;
        bytes.truncate(filled);
        if !bytes.starts_with(&self.before) {
            return Ok(None);
        }
        let fresh = bytes.split_off(self.before.len());
        self.offset += fresh.len() as u64;
        bytes.extend_from_slice(&fresh[fresh.len().saturating_sub(COMPARED)..]);
        bytes.drain(..bytes.len().saturating_sub(COMPARED));
        self.before = bytes;
        self.seen = now;
        Ok(Some(fresh))
    }
}

/// Fills a buffer from a place on, as far as the file goes.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
