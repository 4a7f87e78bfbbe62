//! Export and import as lines of JSON.
//!
//! An export is a header line and one line per entry, annotations folded in. Import also takes the
//! files of this journal and of the original collector as they are. It adds what is missing, under
//! the archive of each entry's own session, and changes nothing that is there: importing twice is
//! importing once.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::decode;
use crate::disk::Disk;
use crate::entry::Entry;
use crate::error::{At, JournalError};
use crate::journal::{Filter, FoundEntry, Journal, JournalResult};
use crate::record::to_line;
use crate::time::{Moment, UtcTime};
use crate::warning::WithWarnings;

/// The version of the export format.
pub const VERSION: u64 = 1;

/// The first line of an export.
#[derive(Serialize, Deserialize)]
struct Header {
    proctor_journal_export: u64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    exported_at: Option<UtcTime>,
}

/// Writes entries as lines of JSON, oldest first. Evidence that was moved out of them is not in it
/// unless [`Journal::with_moved_evidence`] has put it back.
pub fn export(entries: &[FoundEntry], moment: &Moment) -> Result<String, JournalError> {
    let header = Header { proctor_journal_export: VERSION, exported_at: Some(moment.now) };
    let place = std::path::Path::new("the export");
    let mut text = to_line(&header).at("write", place)?;
    for found in entries.iter().rev() {
        text.push_str(&to_line(&found.entry).at("write", place)?);
    }
    Ok(text)
}

/// The ids that an import added, skipped and refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportResult {
    /// Ids that were added.
    pub added: Vec<String>,
    /// Ids that were there already, with the same content.
    pub known: Vec<String>,
    /// Ids that were there with other content; what was there stays.
    pub conflicting: Vec<String>,
    /// Ids of entries that are still active where they come from; they are not taken over.
    pub active: Vec<String>,
    /// Numbers of lines that are not entries.
    pub unreadable: Vec<usize>,
}

impl<D: Disk> Journal<D> {
    /// Adds the resolved entries of an export that this journal or lane does not have.
    pub fn import(&self, bytes: &[u8], moment: &Moment) -> JournalResult<ImportResult> {
        let mut report = ImportResult::default();
        let offered = read_lines(bytes, &mut report)?;
        let mut locked = self.store.lock(moment)?;
        locked.recover_state()?;
        let here = self.list(&Filter::default())?;
        let known: HashMap<&str, &FoundEntry> =
            here.value.iter().map(|found| (found.entry.id.as_str(), found)).collect();
        let mut missing: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
        for entry in &offered {
            let id = entry.id.clone();
            match known.get(id.as_str()) {
                Some(present) if self.has_same_content(present, entry)? => report.known.push(id),
                Some(_) => report.conflicting.push(id),
                None if report.added.contains(&id) => report.conflicting.push(id),
                None => {
                    missing.entry(&entry.session_id).or_default().push(entry);
                    report.added.push(id);
                }
            }
        }
        for (session, entries) in missing {
            let lines: Vec<String> = entries
                .into_iter()
                .map(to_line)
                .collect::<Result<_, _>>()
                .at("write", self.dir())?;
            let lines: Vec<&[u8]> = lines.iter().map(|line| line.trim_end().as_bytes()).collect();
            locked.append_missing(session, &lines)?;
        }
        let warnings = std::mem::take(&mut locked.warnings);
        Ok(WithWarnings { value: report, warnings })
    }

    /// Whether the stored entry has the content of the imported one, wherever its evidence is kept.
    fn has_same_content(&self, here: &FoundEntry, offered: &Entry) -> Result<bool, JournalError> {
        if here.entry == *offered {
            return Ok(true);
        }
        Ok(here.entry.evidence_moved.is_some()
            && self.with_moved_evidence(here.clone())?.value.entry == *offered)
    }
}

pub(crate) fn read_lines(
    bytes: &[u8],
    report: &mut ImportResult,
) -> Result<Vec<Entry>, JournalError> {
    // A whole current file is an entry over several lines.
    if let Ok(entry) = decode::record::<Entry>(bytes) {
        return Ok(resolved_only(entry, report).into_iter().collect());
    }
    let mut entries = Vec::new();
    for line in decode::lines(bytes) {
        if let Ok(header) = decode::record::<Header>(line.bytes) {
            if header.proctor_journal_export > VERSION {
                let found = header.proctor_journal_export;
                return Err(JournalError::NewerExport { found, known: VERSION });
            }
            continue;
        }
        match line.entry() {
            Ok(entry) => entries.extend(resolved_only(entry, report)),
            Err(_) => report.unreadable.push(line.number),
        }
    }
    Ok(entries)
}

fn resolved_only(entry: Entry, report: &mut ImportResult) -> Option<Entry> {
    if entry.outcome.is_none() {
        report.active.push(entry.id);
        return None;
    }
    Some(entry)
}
