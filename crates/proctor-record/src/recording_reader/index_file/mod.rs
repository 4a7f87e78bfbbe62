//! The index beside a recording (`events.index`): what a [`RecordingReader`](super::RecordingReader) makes of a finished recording, stored so
//! that the next reader need not read the recording again.
//!
//! The index is a cache. It is used only if all of this holds; otherwise the recording is read, and nothing is lost but time:
//!
//! * The index was written by the same code: [`FORMAT`] covers the layout, the parsing of lines and events, and the fold.
//! * The recording is the same file in the same state: device, inode, size, time of the last write, time of the last change and the last
//!   bytes. The time of the last change (ctime) cannot be set by programs, so an edit in place is found although its size and time of
//!   writing are unchanged, and so is a copy.
//! * The SHA-256 at the end of the index is that of the bytes before it.
//! * The index belongs to the owner of the recording or to the user who reads it, and nobody else may write it.
//!
//! An index is written by the first reader that has read a large recording in one pass while it did not change and whose writer is gone. The last
//! change must be [`MIN_AGE`] old when that reader opens the file: times of files are coarse, and two changes within one tick look like one.
//! A reader writes an index only after restoring the same contents from it. Not being able to write one is no error.
//!
//! The checksum finds damage, not forgery: whoever may write the index can compute it. So an index is believed as far as its recording is: who may
//! write the one may write the other. A process of the same user, such as an agent under test, may forge both; `proctor validate` reads the
//! recording itself, checks the digests of its lines, and never uses an index. A check of a few blocks or lines would not do: of ten
//! thousand results a forger needs to change one. An index that was copied or sent along with its recording is stale, since the inode is another.

mod contents;
mod encoding;

use std::fs::{File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};

use self::encoding::{Input, Stored, stored};
use super::Contents;
use super::event_index::EventRow;
use super::recording_file::read_at;
use crate::file_state::FileState;
use crate::store::RunFolder;

/// Shorter recordings are read as fast as an index.
const MIN_INDEXED_BYTES: u64 = 1 << 20;
/// How old the last change of a recording must be.
const MIN_AGE: Duration = Duration::from_secs(2);

const MAGIC: [u8; 8] = *b"PROCTIDX";
const CHECKSUM: usize = 32;
/// How many of the last bytes of the recording are compared.
const COMPARED: usize = 64;

/// Changes with every change of the code that decides what an index holds.
const FORMAT: u64 = fingerprint(&[
    include_bytes!("mod.rs"),
    include_bytes!("contents.rs"),
    include_bytes!("encoding.rs"),
    include_bytes!("../event_index.rs"),
    include_bytes!("../follower.rs"),
    include_bytes!("../line_assembler.rs"),
    include_bytes!("../mod.rs"),
    include_bytes!("../../file_state.rs"),
    include_bytes!("../../aggregate.rs"),
    include_bytes!("../../aggregate/attempt_index.rs"),
    include_bytes!("../../aggregate/detail.rs"),
    include_bytes!("../../aggregate/conversation.rs"),
    include_bytes!("../../model.rs"),
    include_bytes!("../../reader.rs"),
    include_bytes!("../../tally.rs"),
    // The events as they are parsed, and the rules that the fold asks.
    include_bytes!("../../../../proctor-events/src/alias.rs"),
    include_bytes!("../../../../proctor-events/src/catalogue.rs"),
    include_bytes!("../../../../proctor-events/src/define.rs"),
    include_bytes!("../../../../proctor-events/src/event.rs"),
    include_bytes!("../../../../proctor-events/src/field.rs"),
    include_bytes!("../../../../proctor-events/src/ids.rs"),
    include_bytes!("../../../../proctor-events/src/json.rs"),
    include_bytes!("../../../../proctor-events/src/naming.rs"),
    include_bytes!("../../../../proctor-events/src/translate.rs"),
    include_bytes!("../../../../proctor-events/src/words.rs"),
    include_bytes!("../../../../proctor-events/src/written_form.rs"),
    include_bytes!("../../../../proctor-verdict/src/attempt.rs"),
    include_bytes!("../../../../proctor-verdict/src/evidence.rs"),
    include_bytes!("../../../../proctor-verdict/src/run.rs"),
    include_bytes!("../../../../proctor-verdict/src/tables.rs"),
]);

/// FNV-1a over eight bytes at a time, so that the compiler computes it quickly.
const fn fingerprint(sources: &[&[u8]]) -> u64 {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut source = 0;
    while source < sources.len() {
        let mut rest = sources[source];
        while let Some((word, others)) = rest.split_first_chunk::<8>() {
            hash = (hash ^ u64::from_le_bytes(*word)).wrapping_mul(PRIME);
            rest = others;
        }
        while let Some((byte, others)) = rest.split_first() {
            hash = (hash ^ *byte as u64).wrapping_mul(PRIME);
            rest = others;
        }
        // Where one file ends and the next begins is part of the sum.
        hash = (hash ^ sources[source].len() as u64).wrapping_mul(PRIME);
        source += 1;
    }
    hash
}

/// When an index is read and written. Tests have rules of their own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IndexRules {
    /// The size of the smallest recording that gets an index.
    pub(super) smallest: u64,
    /// How old the last change of the recording must be when it is opened.
    pub(super) quiet: Duration,
}

impl Default for IndexRules {
    fn default() -> Self {
        Self { smallest: MIN_INDEXED_BYTES, quiet: MIN_AGE }
    }
}

impl IndexRules {
    /// Whether a file that was opened at this time, in this state, may get an index.
    pub(super) fn allow(&self, state: &FileState, opened_at: SystemTime) -> bool {
        state.size >= self.smallest && state.is_settled(opened_at, self.quiet)
    }
}

/// How far a recording was read: always to the end of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReadPosition {
    /// Bytes from the start of the file.
    pub(super) offset: u64,
    /// Lines, blank ones included.
    pub(super) lines: u64,
}

stored! {
    ReadPosition { offset, lines }
    FileState { identity, size, written, changed }
}

/// Where the index of a recording stands; `None` for a recording that is not in the folder of a run.
fn index_path(recording: &Path) -> Option<PathBuf> {
    RunFolder::of(recording).map(|folder| folder.index_path())
}

/// The contents that are stored for a recording in this state; `None` where there are none or they cannot be used.
pub(super) fn load(
    path: &Path,
    recording: &File,
    state: &FileState,
) -> Option<(Contents, ReadPosition)> {
    let owner = recording.metadata().ok()?.uid();
    let bytes = read_trusted_file(&index_path(path)?, state.size, owner).ok()??;
    let (body, checksum) = bytes.split_last_chunk::<CHECKSUM>()?;
    let stored = body.strip_prefix(&header(recording, state).ok()?[..])?;
    if *Sha256::digest(body) != *checksum {
        return None;
    }
    decode(stored, state)
}

/// Reads a regular file that is no longer than its recording and that only `owner` or this user may write. A link, a pipe or a huge file in its
/// place is no index.
fn read_trusted_file(path: &Path, longest: u64, owner: u32) -> io::Result<Option<Vec<u8>>> {
    let file = proctor_files::open_with(path, proctor_files::Links::Refuse)?;
    let metadata = file.metadata()?;
    let users = [owner, rustix::process::geteuid().as_raw()];
    if metadata.len() > longest || !is_trusted(&metadata, users) {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    file.take(longest).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Whether a file belongs to one of these users and nobody else may write it.
fn is_trusted(metadata: &Metadata, users: [u32; 2]) -> bool {
    users.contains(&metadata.uid()) && metadata.mode() & 0o022 == 0
}

/// Writes the index of a recording that was read up to this position while it was in this state.
pub(super) fn write(
    path: &Path,
    recording: &File,
    state: &FileState,
    contents: &Contents,
    position: ReadPosition,
) -> io::Result<()> {
    let Some(target) = index_path(path) else { return Ok(()) };
    let mut bytes = header(recording, state)?;
    let header_length = bytes.len();
    position.store(&mut bytes);
    contents.store(&mut bytes);
    let restored = decode(&bytes[header_length..], state);
    let is_same =
        restored.is_some_and(|(again, place)| place == position && again.is_same(contents));
    let longest = state.size.saturating_sub(CHECKSUM as u64);
    if !is_same || bytes.len() as u64 > longest {
        return Ok(());
    }
    let checksum = Sha256::digest(&bytes);
    bytes.extend_from_slice(&checksum);
    let Some(folder) = target.parent() else { return Ok(()) };
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&bytes)?;
    // Who may read the recording may read its index; only its owner may write it.
    let mode = recording.metadata()?.permissions().mode() & 0o644;
    file.as_file().set_permissions(std::fs::Permissions::from_mode(mode))?;
    // Not synced: an index that a power failure has damaged is found by its checksum.
    file.persist(&target).map_err(|error| error.error)?;
    Ok(())
}

/// What an index begins with: who wrote it, and for which state of the recording.
fn header(recording: &File, state: &FileState) -> io::Result<Vec<u8>> {
    let mut bytes = MAGIC.to_vec();
    FORMAT.to_le_bytes().store(&mut bytes);
    state.store(&mut bytes);
    let mut last = [0; COMPARED];
    let filled = read_at(recording, &mut last, state.size.saturating_sub(COMPARED as u64))?;
    bytes.extend_from_slice(&last[..filled]);
    Ok(bytes)
}

fn decode(stored: &[u8], state: &FileState) -> Option<(Contents, ReadPosition)> {
    let mut input = Input(stored);
    let position = ReadPosition::restore(&mut input)?;
    let contents = Contents::restore(&mut input)?;
    let last = contents.index.rows.last();
    let end = last.map_or(Some(0), EventRow::end)?;
    let is_within = end <= position.offset && position.offset <= state.size;
    (input.0.is_empty() && is_within).then_some((contents, position))
}

/// Whether the body of an index is read, and then written and read again as the same. For fuzzing: the checks of `load` that come before need files.
pub(crate) fn check_round_trip(stored: &[u8]) {
    let state = FileState { identity: (0, 0), size: u64::MAX, written: (0, 0), changed: (0, 0) };
    let Some((contents, position)) = decode(stored, &state) else { return };
    let mut bytes = Vec::new();
    position.store(&mut bytes);
    contents.store(&mut bytes);
    let again = decode(&bytes, &state);
    let is_same = again.is_some_and(|(other, place)| place == position && other.is_same(&contents));
    assert!(is_same, "it is not read again as the same");
}

#[cfg(test)]
mod tests;
