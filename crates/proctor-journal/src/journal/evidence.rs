//! Evidence that an entry had no room for: a file beside the others, one piece per line.
//!
//! The pieces are on the disk before the entry lets go of them. A crash in between leaves the last of
//! them in both places; the count in the entry says how many belong to the file.

use std::path::{Component, Path, PathBuf};

use super::{FoundEntry, Journal, JournalResult};
use crate::decode;
use crate::disk::Disk;
use crate::entry::Evidence;
use crate::error::{At, JournalError};
use crate::record::to_line;
use crate::step::FIRST_EVIDENCE;
use crate::store::{LANES, Locked};
use crate::warning::{Warning, WithWarnings};

impl<D: Disk> Journal<D> {
    /// The entry with the evidence that was moved out of it.
    ///
    /// Pieces that cannot be read are missing from the result; a warning counts them.
    pub fn with_moved_evidence(&self, mut found: FoundEntry) -> JournalResult<FoundEntry> {
        let Some(moved) = found.entry.evidence_moved.clone() else {
            return Ok(WithWarnings { value: found, warnings: Vec::new() });
        };
        let root = &self.store.root;
        let dir = found.lane.as_ref().map_or(root.clone(), |lane| root.join(LANES).join(lane));
        let path = dir.join(&moved.file);
        // The name comes from a file that another program may have written.
        let bytes = if is_inside(&moved.file) { self.store.read(&path)? } else { None };
        let pieces = usize::try_from(moved.count).unwrap_or(usize::MAX);
        let lines = bytes.as_deref().unwrap_or_default();
        let read: Vec<Evidence> = decode::lines(lines)
            .take(pieces)
            .filter_map(|line| decode::record(line.bytes).ok())
            .collect();
        let missing = moved.count.saturating_sub(read.len() as u64);
        let place = FIRST_EVIDENCE.min(found.entry.evidence.len());
        found.entry.evidence.splice(place..place, read);
        if missing == 0 {
            found.entry.evidence_moved = None;
            return Ok(WithWarnings { value: found, warnings: Vec::new() });
        }
        let warnings = vec![Warning::EvidenceMissing { id: found.entry.id.clone(), path, missing }];
        Ok(WithWarnings { value: found, warnings })
    }
}

fn is_inside(file: &str) -> bool {
    Path::new(file).components().all(|part| matches!(part, Component::Normal(_)))
}

impl<D: Disk> Locked<'_, D> {
    pub(super) fn move_evidence(
        &mut self,
        file: &str,
        evidence: &[Evidence],
    ) -> Result<(), JournalError> {
        let path: PathBuf = self.store.path(file);
        if let Some(dir) = path.parent() {
            self.store.ensure_dir(dir)?;
        }
        let lines: Vec<String> =
            evidence.iter().map(to_line).collect::<Result<_, _>>().at("write", &path)?;
        let text = lines.concat();
        // What an interrupted attempt has already written is not written again.
        let end = self.store.disk.read_end(&path, text.len() as u64).at("read", &path)?;
        if end.as_deref() == Some(text.as_bytes()) {
            return Ok(());
        }
        self.append(&path, text.as_bytes())
    }
}
