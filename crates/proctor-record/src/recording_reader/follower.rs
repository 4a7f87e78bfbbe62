//! The events of a recording as it grows.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use proctor_events::Event;

use super::file_changes::FileChanges;
use super::index_file::ReadPosition;
use super::line_assembler::{Line, LineAssembler};
use super::recording_file::{Bytes, RecordingFile};
use crate::file_state::FileState;
use crate::reader::ProblemKind;
use crate::store::RunFolder;

/// How long a wait takes where the kernel sends no notifications.
const WITHOUT_NOTIFICATIONS: Duration = Duration::from_millis(50);

/// What came of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// There was nothing to read.
    Nothing,
    /// There was something, and there may be more.
    More,
    /// The file was truncated or replaced: everything that was read before is void, and lines come from the start again.
    Restarted,
}

/// A line of a recording that is not blank.
#[derive(Debug)]
pub struct RecordedLine<'a> {
    /// From 1; blank lines count.
    pub number: u64,
    /// Where the line begins in the file.
    pub offset: u64,
    /// The bytes without line end; empty where the line is too long to be read.
    pub bytes: &'a [u8],
    /// Whether the line has a `seq`. Otherwise the line number is the event's number.
    pub has_seq: bool,
    /// The event, or why the line cannot be used.
    pub event: Result<Event, ProblemKind>,
}

/// Follows one recording from its beginning. States and transitions: the header of its module.
#[derive(Debug)]
pub struct RecordingFollower {
    file: RecordingFile,
    lines: LineAssembler,
    /// Whether the last line was taken although it has no line feed.
    torn_line_taken: bool,
    changes: Option<FileChanges>,
}

impl RecordingFollower {
    /// Starts at the beginning of the file, which need not exist yet.
    pub fn new(path: &Path) -> Self {
        Self {
            file: RecordingFile::new(path),
            lines: LineAssembler::default(),
            torn_line_taken: false,
            changes: None,
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    pub(super) fn file(&self) -> &RecordingFile {
        &self.file
    }

    /// Opens the file for the first time and goes on after the lines that `known` returns for its state. Nothing is read if `known` returns
    /// `None` or there is no file.
    pub(super) fn open_after<T>(
        &mut self,
        known: impl FnOnce(&File, &FileState) -> Option<(T, ReadPosition)>,
    ) -> io::Result<Option<T>> {
        self.file.open()?;
        self.watch_opened_file();
        let found = self.file.opened().and_then(|(file, state)| known(file, state));
        let Some((value, position)) = found else { return Ok(None) };
        self.file.skip_to(position.offset)?;
        self.lines = LineAssembler::after(position.lines, position.offset);
        Ok(Some(value))
    }

    /// The end of the last complete line.
    pub(super) fn position(&self) -> ReadPosition {
        let (lines, offset) = self.lines.complete_lines();
        ReadPosition { offset, lines }
    }

    /// Reads one chunk of what has been written since the last call, and hands out the lines that are complete.
    pub fn read(&mut self, mut take: impl FnMut(RecordedLine<'_>)) -> io::Result<Growth> {
        let is_first = self.file.file().is_none();
        let mut bytes = self.file.read()?;
        if bytes == Bytes::Opened {
            self.watch_opened_file();
            if !is_first {
                self.forget_lines();
                return Ok(Growth::Restarted);
            }
            bytes = self.file.read()?;
        }
        let Bytes::More(bytes) = bytes else { return Ok(Growth::Nothing) };
        let mut rest = &bytes[..];
        if self.torn_line_taken {
            if !rest.starts_with(b"\n") {
                // The line goes on: it is read again with the rest of it.
                self.file.rewind();
                self.forget_lines();
                return Ok(Growth::Restarted);
            }
            self.torn_line_taken = false;
            let (line_feed, _) = self.lines.feed(rest);
            rest = &rest[line_feed..];
        }
        while !rest.is_empty() {
            let (used, complete) = self.lines.feed(rest);
            rest = &rest[used..];
            if complete {
                pass_line(&self.lines.line(), &mut take);
            }
        }
        Ok(Growth::More)
    }

    /// As [`read`](Self::read), and hands out the last line although it has no line feed once its writer is gone.
    pub fn read_including_torn_line(
        &mut self,
        mut take: impl FnMut(RecordedLine<'_>),
    ) -> io::Result<Growth> {
        match self.read(&mut take)? {
            Growth::Nothing => self.read_torn_line(take),
            growth => Ok(growth),
        }
    }

    /// To be called when there was nothing to read: hands out the last line although it has no line feed if its writer is gone.
    pub(super) fn read_torn_line(
        &mut self,
        mut take: impl FnMut(RecordedLine<'_>),
    ) -> io::Result<Growth> {
        if !self.has_torn_line() || self.is_live() {
            return Ok(Growth::Nothing);
        }
        // The writer may have written its last bytes between the read and the question.
        let growth = self.read(&mut take)?;
        let taken = growth == Growth::Nothing && self.take_torn_line(take);
        Ok(if taken { Growth::More } else { growth })
    }

    /// Whether the process that writes the recording is there.
    pub fn is_live(&self) -> bool {
        RunFolder::of(self.path()).is_some_and(|folder| folder.is_live())
    }

    /// Whether the last line has no line feed yet and was not taken.
    pub fn has_torn_line(&self) -> bool {
        self.lines.has_partial_line() && !self.torn_line_taken
    }

    /// Hands out the last line although it has no line feed, if it holds a whole event. Returns whether it does. Call it once the
    /// writer is gone and a further read found nothing.
    pub fn take_torn_line(&mut self, mut take: impl FnMut(RecordedLine<'_>)) -> bool {
        let whole = self.has_torn_line() && matches!(self.lines.line().parse(), Ok(Some(_)));
        if whole {
            self.torn_line_taken = true;
            pass_line(&self.lines.line(), &mut take);
        }
        whole
    }

    /// Waits until the file may have changed, but not longer than this.
    pub fn wait(&mut self, at_most: Duration) -> io::Result<()> {
        if self.changes.is_none() {
            self.changes = FileChanges::watch(self.file.path()).ok();
            if self.changes.is_some() {
                // What was written before the watch began is read first.
                return Ok(());
            }
        }
        if let Some(changes) = &self.changes {
            return changes.wait(at_most).map(|_| ());
        }
        std::thread::sleep(at_most.min(WITHOUT_NOTIFICATIONS));
        Ok(())
    }

    fn watch_opened_file(&self) {
        if let Some(changes) = &self.changes {
            // Without a watch on the new file a wait only times out.
            let _ = changes.watch_also(self.file.path());
        }
    }

    fn forget_lines(&mut self) {
        self.lines = LineAssembler::default();
        self.torn_line_taken = false;
    }
}

fn pass_line(line: &Line<'_>, take: &mut impl FnMut(RecordedLine<'_>)) {
    let Line { number, offset, bytes, .. } = *line;
    let Some(mut event) = line.parse().transpose() else { return };
    let has_seq = event.as_ref().is_ok_and(|event| event.seq.is_some());
    if let Ok(event) = &mut event {
        event.seq.get_or_insert(number);
    }
    take(RecordedLine { number, offset, bytes, has_seq, event });
}
