//! Files of one entry per line: appending to them and moving them to the archive.
//!
//! Lines are moved as the bytes they are. What cannot be read is moved along, what is already in
//! the archive is not written twice, and nothing is removed before its copy is on the disk.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use super::{ARCHIVE, ENTRIES, LANES, Locked, Store};
use crate::decode;
use crate::disk::{Disk, Durability};
use crate::entry::Entry;
use crate::error::{At, JournalError};
use crate::id;
use crate::record::to_line;

/// The file of lines without a known session.
const UNKNOWN_SESSION: &str = "unknown";

impl<D: Disk> Store<D> {
    /// The archive of a session, if there is one.
    pub(crate) fn existing_archive(
        &self,
        session_id: &str,
    ) -> Result<Option<PathBuf>, JournalError> {
        let dir = self.path(ARCHIVE);
        let ending = format!("_{}.jsonl", id::archive_stem(session_id));
        let is_dated = |name: &String| {
            name.strip_suffix(&ending)
                .is_some_and(|date| date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit()))
        };
        Ok(self.names(&dir)?.into_iter().find(is_dated).map(|name| dir.join(name)))
    }
}

/// The archives of a journal or lane, oldest first by name.
pub(crate) fn archive_files<D: Disk>(
    store: &Store<D>,
    dir: &Path,
) -> Result<Vec<PathBuf>, JournalError> {
    let dir = dir.join(ARCHIVE);
    let names = store.names(&dir)?;
    let is_lines = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "jsonl");
    Ok(names.iter().map(|name| dir.join(name)).filter(is_lines).collect())
}

/// The lanes of a journal.
pub(crate) fn lane_names<D: Disk>(store: &Store<D>) -> Result<Vec<String>, JournalError> {
    let mut names = store.names(&store.root.join(LANES))?;
    names.retain(|name| id::is_safe(name));
    Ok(names)
}

impl<D: Disk> Locked<'_, D> {
    /// Appends an entry to the lines of the session.
    pub(crate) fn record(&mut self, entry: &Entry) -> Result<(), JournalError> {
        let path = self.store.path(ENTRIES);
        let line = to_line(entry).at("write", &path)?;
        self.append(&path, line.as_bytes())
    }

    /// Appends an entry to the archive of its own session.
    pub(crate) fn file(&mut self, entry: &Entry) -> Result<(), JournalError> {
        let path = self.archive_for(&entry.session_id)?;
        let line = to_line(entry).at("write", &path)?;
        self.append(&path, line.as_bytes())
    }

    /// The archive of a session, existing or to be made.
    pub(crate) fn archive_for(&self, session_id: &str) -> Result<PathBuf, JournalError> {
        let dir = self.store.path(ARCHIVE);
        self.store.ensure_dir(&dir)?;
        if let Some(path) = self.store.existing_archive(session_id)? {
            return Ok(path);
        }
        let today = self.moment.now.compact_date();
        let date = id::session_date(session_id).unwrap_or(&today);
        Ok(dir.join(format!("{date}_{}.jsonl", id::archive_stem(session_id))))
    }

    /// Appends whole lines. A last line without an end gets one first, unless it is the beginning
    /// of what is to be written now: then it is our own unfinished write and is replaced.
    pub(crate) fn append(&mut self, path: &Path, lines: &[u8]) -> Result<(), JournalError> {
        let disk = &self.store.disk;
        match disk.ends_line(path).at("read", path)? {
            Some(true) => disk.append(path, lines).at("append to", path),
            Some(false) => self.append_after_torn(path, lines),
            None => {
                disk.append(path, lines).at("append to", path)?;
                self.sync_dir_of(path)?;
                match path.parent() {
                    // A new archive may lie in a new folder.
                    Some(dir) if dir != self.store.dir => self.sync_dir_of(dir),
                    _ => Ok(()),
                }
            }
        }
    }

    fn append_after_torn(&self, path: &Path, lines: &[u8]) -> Result<(), JournalError> {
        let disk = &self.store.disk;
        let before = self.store.read(path)?.unwrap_or_default();
        let whole = memchr::memrchr(b'\n', &before).map_or(0, |at| at + 1);
        let torn = before.get(whole..).unwrap_or_default();
        if lines.starts_with(torn) {
            disk.truncate(path, whole as u64).at("repair", path)?;
            return disk.append(path, lines).at("append to", path);
        }
        let ended = [b"\n", lines].concat();
        disk.append(path, &ended).at("append to", path)
    }

    /// Moves the session's lines to the archives of the sessions they belong to.
    pub(crate) fn archive_lines(&mut self, live: Option<&str>) -> Result<(), JournalError> {
        let path = self.store.path(ENTRIES);
        let Some(bytes) = self.store.read(&path)? else { return Ok(()) };
        let by_session = sort_by_session(&bytes, live.unwrap_or(UNKNOWN_SESSION));
        for (session, lines) in &by_session {
            self.append_missing(session, lines)?;
        }
        self.remove(&path)?;
        self.sync_dir_of(&path)
    }

    /// Moves lines of other sessions to their archives and keeps the rest as it is.
    pub(crate) fn return_foreign_lines(&mut self) -> Result<(), JournalError> {
        let path = self.store.path(ENTRIES);
        let (Some(session), Some(bytes)) = (self.store.session()?, self.store.read(&path)?) else {
            return Ok(());
        };
        let mut sorted = sort_by_session(&bytes, &session);
        let own = sorted.remove(&session).unwrap_or_default();
        if sorted.is_empty() {
            return Ok(());
        }
        for (foreign, lines) in &sorted {
            self.append_missing(foreign, lines)?;
        }
        let kept = own.iter().flat_map(|line| [*line, b"\n"]).collect::<Vec<_>>().concat();
        self.replace(&path, &kept, Durability::Synced)
    }

    /// Appends the lines that the session's archive does not have, byte for byte.
    ///
    /// Lines are compared, not ids: two different lines with one id are a contradiction to keep
    /// for `doctor`, not a repetition to drop.
    pub(crate) fn append_missing(
        &mut self,
        session: &str,
        lines: &[&[u8]],
    ) -> Result<usize, JournalError> {
        let archive = self.archive_for(session)?;
        let present = self.store.read(&archive)?.unwrap_or_default();
        let present: HashSet<&[u8]> = decode::lines(&present).map(|line| line.bytes).collect();
        let missing: Vec<_> = lines.iter().filter(|line| !present.contains(**line)).collect();
        if missing.is_empty() {
            return Ok(0);
        }
        let mut bytes = Vec::new();
        for line in &missing {
            bytes.extend_from_slice(line);
            bytes.push(b'\n');
        }
        self.append(&archive, &bytes)?;
        Ok(missing.len())
    }
}

/// Which session each line belongs to. A line that does not say goes with the live session.
fn sort_by_session<'a>(bytes: &'a [u8], live: &str) -> BTreeMap<String, Vec<&'a [u8]>> {
    let mut sorted: BTreeMap<String, Vec<&[u8]>> = BTreeMap::new();
    for line in decode::lines(bytes) {
        let session = decode::identity(line.bytes).map(|(_, session)| session);
        sorted.entry(session.unwrap_or_else(|| live.to_owned())).or_default().push(line.bytes);
    }
    sorted
}
