//! Contents by hash, in one growing file: ten thousand small files cost one write each of a large buffer
//! instead of ten thousand new files.
//!
//! `pack` holds the bytes, `index` a fixed-size row per content: hash, offset, length. Rows are written
//! after their bytes; a torn row is ignored, orphaned bytes are harmless, and what is read is compared
//! with its hash.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use proctor_files::limits;
use sha2::{Digest as _, Sha256};

use super::walk::Entry;
use crate::error::ToolError;

pub(crate) type Hash = [u8; 32];
const ROW: usize = 48;
/// How much is gathered before it is written.
const BUFFER: usize = 1024 * 1024;

pub(crate) fn hash_of(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}

pub(crate) struct Store {
    folder: PathBuf,
    known: HashMap<Hash, u64>,
    pack: File,
    end: u64,
    bytes: Vec<u8>,
    rows: Vec<u8>,
}

impl Store {
    pub(crate) fn open(folder: &Path) -> Result<Self, ToolError> {
        let failed = |error: std::io::Error| ToolError::io("open the snapshots in", folder, &error);
        let index =
            proctor_files::read(&folder.join("index"), limits::PROGRAM_OUTPUT).unwrap_or_default();
        let known = index.chunks_exact(ROW).filter_map(row).collect();
        let mut pack = proctor_files::append_private(&folder.join("pack")).map_err(failed)?;
        let end = pack.seek(SeekFrom::End(0)).map_err(failed)?;
        if !index.len().is_multiple_of(ROW) {
            // A torn row would shift all later ones.
            let whole = index.len() - index.len() % ROW;
            let file = OpenOptions::new().write(true).open(folder.join("index")).map_err(failed)?;
            file.set_len(whole as u64).map_err(failed)?;
        }
        Ok(Self {
            folder: folder.to_owned(),
            known,
            pack,
            end,
            bytes: Vec::new(),
            rows: Vec::new(),
        })
    }

    /// Keeps a content; says where it is.
    pub(crate) fn keep(&mut self, hash: Hash, content: &[u8]) -> Result<u64, ToolError> {
        if let Some(offset) = self.known.get(&hash) {
            return Ok(*offset);
        }
        let offset = self.end + self.bytes.len() as u64;
        self.bytes.extend_from_slice(content);
        self.rows.extend_from_slice(&hash);
        self.rows.extend_from_slice(&offset.to_le_bytes());
        self.rows.extend_from_slice(&(content.len() as u64).to_le_bytes());
        self.known.insert(hash, offset);
        if self.bytes.len() >= BUFFER {
            self.flush()?;
        }
        Ok(offset)
    }

    pub(crate) fn flush(&mut self) -> Result<(), ToolError> {
        let failed =
            |error: std::io::Error| ToolError::io("write snapshots to", &self.folder, &error);
        if self.rows.is_empty() {
            return Ok(());
        }
        self.pack.write_all(&self.bytes).map_err(failed)?;
        self.end += self.bytes.len() as u64;
        let mut index =
            proctor_files::append_private(&self.folder.join("index")).map_err(failed)?;
        index.write_all(&self.rows).map_err(failed)?;
        self.bytes.clear();
        self.rows.clear();
        Ok(())
    }

    pub(crate) fn read(folder: &Path, entry: &Entry) -> Result<Vec<u8>, ToolError> {
        let path = folder.join("pack");
        let failed = |error: std::io::Error| ToolError::io("read", &path, &error);
        let Some(offset) = entry.offset else {
            let error = std::io::Error::other("the file was too large to be kept");
            return Err(failed(error));
        };
        let mut pack = proctor_files::open(&path).map_err(failed)?;
        pack.seek(SeekFrom::Start(offset)).map_err(failed)?;
        let mut content = vec![0; usize::try_from(entry.size).unwrap_or_default()];
        pack.read_exact(&mut content).map_err(failed)?;
        if hash_of(&content) != entry.hash {
            return Err(failed(std::io::Error::other("the stored content is damaged")));
        }
        Ok(content)
    }
}

fn row(bytes: &[u8]) -> Option<(Hash, u64)> {
    let hash = bytes.get(..32)?.try_into().ok()?;
    let offset = u64::from_le_bytes(bytes.get(32..40)?.try_into().ok()?);
    Some((hash, offset))
}
