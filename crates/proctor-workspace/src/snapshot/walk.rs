//! One pass over the files of a workspace. Links are noted, never followed; pipes, sockets and devices are
//! passed over. Folders are opened relative to their parents without following links, so that nothing
//! the program under test does meanwhile can lead the walk outside.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use serde::{Deserialize, Serialize};

use super::store::{Hash, Store, hash_of};
use super::{Manifest, Selection};
use crate::contained_path::Root;
use crate::error::ToolError;

/// A file changed this shortly before a snapshot may change again without its times showing it.
const RACY: i64 = 50_000_000;
/// Larger files are known by their hash, but their content is not kept.
pub(crate) const LARGEST_KEPT: u64 = 64 * 1024 * 1024;
/// Deeper trees are cut off, so that a runaway program cannot exhaust our stack.
const DEEPEST: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    File,
    Link { target: String },
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    #[serde(with = "hex")]
    pub(crate) hash: Hash,
    pub(crate) size: u64,
    pub(crate) mode: u32,
    /// Where the content is kept.
    pub(crate) offset: Option<u64>,
    /// Inode, time of change and time of modification: what makes it recognisable as unchanged.
    pub(crate) mark: (u64, i64, i64),
}

impl Entry {
    /// Whether two entries are the same file content.
    pub(crate) fn same_as(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.hash == other.hash
            && self.mode & 0o111 == other.mode & 0o111
    }
}

mod hex {
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(hash: &[u8; 32], out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&super::hex_of(hash))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<[u8; 32], D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(input)?;
        let mut hash = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return Err(de::Error::custom("not a hash"));
        }
        for (index, byte) in hash.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[index * 2..index * 2 + 2], 16)
                .map_err(de::Error::custom)?;
        }
        Ok(hash)
    }
}

/// A hash as people write it.
pub(crate) fn hex_of(hash: &Hash) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = hash.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| DIGITS[usize::from(digit)] as char).collect()
}

struct Walk<'a> {
    selection: &'a Selection,
    known: &'a Manifest,
    store: Option<&'a mut Store>,
    entries: BTreeMap<String, Entry>,
}

pub(crate) fn walk(
    root: &Root,
    selection: &Selection,
    known: &Manifest,
    store: Option<&mut Store>,
) -> Result<Manifest, ToolError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let taken_ns = i64::try_from(now.as_nanos()).unwrap_or_default();
    let failed = |error: std::io::Error| ToolError::io("look at the files of", root.path(), &error);
    let mut walk = Walk { selection, known, store, entries: BTreeMap::new() };
    let top = root.folder().try_clone_to_owned().map_err(failed)?;
    walk.folder(&top, "", 0)?;
    Ok(Manifest { version: 1, taken_ns, patterns: selection.patterns(), entries: walk.entries })
}

impl Walk<'_> {
    /// What vanishes while we look is not there.
    fn folder(&mut self, folder: &OwnedFd, prefix: &str, depth: usize) -> Result<(), ToolError> {
        let Ok(listing) = Dir::read_from(folder) else { return Ok(()) };
        for entry in listing.flatten() {
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            let path = format!("{prefix}{}", shown(name));
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                let flags = AtFlags::SYMLINK_NOFOLLOW;
                let Ok(about) = rustix::fs::statat(folder, name, flags) else { continue };
                kind = FileType::from_raw_mode(about.st_mode);
            }
            match kind {
                FileType::Directory if depth < DEEPEST && !self.selection.skips_folder(&path) => {
                    let flags =
                        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    if let Ok(inner) = rustix::fs::openat(folder, name, flags, Mode::empty()) {
                        self.folder(&inner, &format!("{path}/"), depth + 1)?;
                    }
                }
                FileType::RegularFile if self.selection.takes(&path) => {
                    self.file(folder, name, path)?;
                }
                FileType::Symlink if self.selection.takes(&path) => self.link(folder, name, path),
                _ => {}
            }
        }
        Ok(())
    }

    fn file(&mut self, folder: &OwnedFd, name: &[u8], path: String) -> Result<(), ToolError> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let Ok(about) = rustix::fs::statat(folder, name, flags) else { return Ok(()) };
        if let Some(entry) = self.unchanged(&path, &about) {
            self.entries.insert(path, entry);
            return Ok(());
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(file) = rustix::fs::openat(folder, name, flags, Mode::empty()) else {
            return Ok(());
        };
        // The file as it is now, which may be newer than what was looked at above.
        let Ok(about) = rustix::fs::fstat(&file) else { return Ok(()) };
        if FileType::from_raw_mode(about.st_mode) == FileType::RegularFile
            && let Some(entry) = self.read(file.into(), &about)?
        {
            self.entries.insert(path, entry);
        }
        Ok(())
    }

    fn unchanged(&self, path: &str, about: &Stat) -> Option<Entry> {
        let entry = self.known.entries.get(path)?;
        let settled = entry.mark.1.max(entry.mark.2) + RACY < self.known.taken_ns;
        let same = settled && entry.kind == Kind::File && entry.mark == mark(about);
        (same && (self.store.is_none() || entry.offset.is_some())).then(|| entry.clone())
    }

    fn read(&mut self, mut file: File, about: &Stat) -> Result<Option<Entry>, ToolError> {
        let size = u64::try_from(about.st_size).unwrap_or_default();
        let mut entry = Entry {
            kind: Kind::File,
            hash: [0; 32],
            size,
            mode: about.st_mode & 0o7777,
            offset: None,
            mark: mark(about),
        };
        if size > LARGEST_KEPT {
            let Ok((hash, size)) = hash_stream(file) else { return Ok(None) };
            return Ok(Some(Entry { hash, size, ..entry }));
        }
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or_default() + 1);
        if file.by_ref().take(LARGEST_KEPT).read_to_end(&mut content).is_err() {
            return Ok(None);
        }
        entry.size = content.len() as u64;
        entry.hash = hash_of(&content);
        if let Some(store) = &mut self.store {
            entry.offset = Some(store.keep(entry.hash, &content)?);
        }
        Ok(Some(entry))
    }

    fn link(&mut self, folder: &OwnedFd, name: &[u8], path: String) {
        let Ok(target) = rustix::fs::readlinkat(folder.as_fd(), name, Vec::new()) else { return };
        let target = String::from_utf8_lossy(target.as_bytes()).into_owned();
        let hash = hash_of(target.as_bytes());
        let size = target.len() as u64;
        let kind = Kind::Link { target };
        self.entries
            .insert(path, Entry { kind, hash, size, mode: 0, offset: None, mark: (0, 0, 0) });
    }
}

fn hash_stream(mut file: File) -> std::io::Result<(Hash, u64)> {
    use sha2::Digest as _;
    let mut hasher = sha2::Sha256::new();
    let mut chunk = vec![0; 1024 * 1024];
    let mut size = 0;
    loop {
        let count = file.read(&mut chunk)?;
        if count == 0 {
            return Ok((hasher.finalize().into(), size));
        }
        size += count as u64;
        hasher.update(&chunk[..count]);
    }
}

fn mark(about: &Stat) -> (u64, i64, i64) {
    let time = |seconds: i64, nanos: u64| {
        seconds.saturating_mul(1_000_000_000).saturating_add_unsigned(nanos)
    };
    let changed = time(about.st_ctime, about.st_ctime_nsec);
    let modified = time(about.st_mtime, about.st_mtime_nsec);
    (about.st_ino, changed, modified)
}

/// A name as text; bytes that are not UTF-8 are shown as `\xNN`.
fn shown(name: &[u8]) -> String {
    let mut text = String::new();
    for chunk in name.utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    text
}
