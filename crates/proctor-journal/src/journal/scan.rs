//! Reads all entries of a journal and its lanes: whole entries to list them, headers to count
//! and to find them.
//!
//! The files are read once. Of several lines with one id the first is kept, in the order of
//! resolution: archives, then the open session, then the active entry. No lock is taken.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::path::PathBuf;

use super::annotate::Annotations;
use super::{EntryPlace, Filter, FoundEntry, Journal, JournalResult};
use crate::decode;
use crate::disk::Disk;
use crate::entry::Entry;
use crate::entry_header::{EntryHeader, SearchableEntry};
use crate::error::JournalError;
use crate::search;
use crate::stats::{self, Stats};
use crate::store::{CURRENT, ENTRIES, LANES, archive_files};
use crate::warning::{Warning, WithWarnings};

/// An entry that was found by its words.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// How well it fits; only comparable within one search.
    pub score: f64,
    /// The entry.
    pub found: FoundEntry,
}

/// The files of the journal itself or of one lane, as they were read.
struct LaneFiles {
    lane: Option<String>,
    files: Vec<(EntryPlace, PathBuf, Vec<u8>)>,
    annotations: Annotations,
}

/// Where an entry was read: its lane, its file and its bytes.
#[derive(Clone, Copy)]
struct EntryLocation<'a> {
    lane_files: &'a LaneFiles,
    place: &'a EntryPlace,
    bytes: &'a [u8],
}

impl EntryLocation<'_> {
    fn is_active(&self) -> bool {
        *self.place == EntryPlace::Active
    }

    fn lane(&self) -> Option<&str> {
        self.lane_files.lane.as_deref()
    }

    fn found(&self, entry: Entry) -> FoundEntry {
        FoundEntry { entry, lane: self.lane_files.lane.clone(), place: self.place.clone() }
    }
}

/// The header of an entry and its location.
type LocatedHeader<'a> = (EntryHeader<'a>, EntryLocation<'a>);

impl<D: Disk> Journal<D> {
    /// Entries of the journal and its lanes, newest first; annotations are folded in. An id that
    /// stands in several places is listed once, as it was first resolved.
    pub fn list(&self, filter: &Filter) -> JournalResult<Vec<FoundEntry>> {
        let lanes = self.read_all_lanes()?;
        let mut warnings = Vec::new();
        let read = read_entries(&lanes, decode::record::<Entry>, &mut warnings);
        let mut value: Vec<FoundEntry> = read
            .into_iter()
            .filter_map(|(mut entry, location)| {
                location.lane_files.annotations.apply_to_entry(&mut entry);
                let wanted = filter.admits(&entry.facts(), location.lane(), location.is_active());
                wanted.then(|| location.found(entry))
            })
            .collect();
        // Entries are large: sort their keys and move each of them once.
        value.sort_by_cached_key(|found| Reverse((found.entry.created_at, found.entry.id.clone())));
        value.truncate(filter.limit.unwrap_or(usize::MAX));
        Ok(WithWarnings { value, warnings })
    }

    /// Part of what [`list`](Self::list) would give, and how many there are in all. Entries are looked
    /// at; only those that are returned are read in full.
    pub fn page(
        &self,
        filter: &Filter,
        offset: usize,
        limit: usize,
    ) -> JournalResult<(Vec<FoundEntry>, usize)> {
        let lanes = self.read_all_lanes()?;
        let mut warnings = Vec::new();
        let mut seen = filtered_headers(&lanes, filter, &mut warnings);
        newest_first(&mut seen);
        let part = seen.iter().skip(offset).take(limit);
        let found = part.filter_map(|(_, location)| read_full_entry(location)).collect();
        Ok(WithWarnings { value: (found, seen.len()), warnings })
    }

    /// Numbers over the entries that [`list`](Self::list) would give; only looks at them.
    pub fn stats(&self, filter: &Filter) -> JournalResult<Stats> {
        let lanes = self.read_all_lanes()?;
        let mut warnings = Vec::new();
        let seen = filtered_headers(&lanes, filter, &mut warnings);
        Ok(WithWarnings {
            value: stats::count(seen.iter().map(|(header, _)| header.facts())),
            warnings,
        })
    }

    /// At most `limit` of the entries that [`list`](Self::list) would give and that share words
    /// with the text, best first; those that fit equally well newest first. Entries are looked at;
    /// only those that are returned are read in full.
    pub fn search(&self, text: &str, filter: &Filter, limit: usize) -> JournalResult<Vec<Match>> {
        let lanes = self.read_all_lanes()?;
        let mut warnings = Vec::new();
        let seen = filtered_headers(&lanes, filter, &mut warnings);
        let hits = search::rank(text, seen.iter().map(|(header, _)| header));
        let read = hits.iter().filter_map(|hit| {
            let found = read_full_entry(&seen[hit.index].1)?;
            Some(Match { score: hit.score, found })
        });
        Ok(WithWarnings { value: read.take(limit).collect(), warnings })
    }

    /// Part of what [`search`](Self::search) would give without a limit, and how many there are in all. Only the
    /// entries of the part are read in full.
    pub fn search_page(
        &self,
        text: &str,
        filter: &Filter,
        offset: usize,
        limit: usize,
    ) -> JournalResult<(Vec<FoundEntry>, usize)> {
        let lanes = self.read_all_lanes()?;
        let mut warnings = Vec::new();
        let seen = filtered_headers(&lanes, filter, &mut warnings);
        let hits = search::rank(text, seen.iter().map(|(header, _)| header));
        let part = hits.iter().skip(offset).take(limit);
        let found = part.filter_map(|hit| read_full_entry(&seen[hit.index].1)).collect();
        Ok(WithWarnings { value: (found, hits.len()), warnings })
    }

    /// Past entries like this one, falsified ones first, none of those in `shown`.
    pub(super) fn similar(
        &self,
        entry: &Entry,
        shown: &[String],
        limit: usize,
    ) -> JournalResult<Vec<Entry>> {
        let lanes = self.read_all_lanes()?;
        let mut warnings = Vec::new();
        let ended = Filter { active: Some(false), ..Filter::default() };
        let seen = filtered_headers(&lanes, &ended, &mut warnings);
        let headers: Vec<&EntryHeader<'_>> = seen.iter().map(|(header, _)| header).collect();
        let alike = search::similar_places(entry, &headers, shown, limit);
        let read = alike.iter().filter_map(|place| read_full_entry(&seen[*place].1));
        Ok(WithWarnings { value: read.map(|found| found.entry).collect(), warnings })
    }

    fn read_all_lanes(&self) -> Result<Vec<LaneFiles>, JournalError> {
        let mut lanes = vec![self.read_lane_files(None)?];
        for lane in self.lanes()? {
            lanes.push(self.read_lane_files(Some(lane))?);
        }
        Ok(lanes)
    }

    fn read_lane_files(&self, lane: Option<String>) -> Result<LaneFiles, JournalError> {
        let root = &self.store.root;
        let dir = lane.as_ref().map_or_else(|| root.clone(), |lane| root.join(LANES).join(lane));
        let mut files = Vec::new();
        let mut take = |place: EntryPlace, path: PathBuf| -> Result<(), JournalError> {
            if let Some(bytes) = self.store.read(&path)? {
                files.push((place, path, bytes));
            }
            Ok(())
        };
        // Entries move from here to there; read in this order, none is missed while it moves.
        take(EntryPlace::Active, dir.join(CURRENT))?;
        take(EntryPlace::Session, dir.join(ENTRIES))?;
        for path in archive_files(&self.store, &dir)?.into_iter().rev() {
            take(EntryPlace::Archive(path.clone()), path)?;
        }
        files.reverse();
        Ok(LaneFiles { lane, files, annotations: self.annotations_in(&dir)? })
    }
}

/// All readable entries of the files, in the order of resolution, each id once per lane.
fn read_entries<'a, T: SearchableEntry>(
    lanes: &'a [LaneFiles],
    read: impl Fn(&'a [u8]) -> serde_json::Result<T>,
    warnings: &mut Vec<Warning>,
) -> Vec<(T, EntryLocation<'a>)> {
    let mut all = Vec::new();
    for lane_files in lanes {
        let mut seen: HashSet<String> = HashSet::new();
        let mut keep = |read: T, location: EntryLocation<'a>| {
            if seen.insert(read.facts().id.to_owned()) {
                all.push((read, location));
            }
        };
        for (place, path, bytes) in &lane_files.files {
            let location = |bytes| EntryLocation { lane_files, place, bytes };
            if *place == EntryPlace::Active {
                // The next change sets an unreadable file aside.
                if let Ok(entry) = read(bytes) {
                    keep(entry, location(bytes));
                }
                continue;
            }
            let mut unreadable = Vec::new();
            for line in decode::lines(bytes) {
                match read(line.bytes) {
                    Ok(entry) => keep(entry, location(line.bytes)),
                    Err(_) => unreadable.push(line.number),
                }
            }
            if !unreadable.is_empty() {
                let path = path.clone();
                warnings.push(Warning::SkippedLines { path, lines: unreadable });
            }
        }
    }
    all
}

/// The headers of the entries that match a filter, in the order of the files.
fn filtered_headers<'a>(
    lanes: &'a [LaneFiles],
    filter: &Filter,
    warnings: &mut Vec<Warning>,
) -> Vec<LocatedHeader<'a>> {
    let mut seen = read_entries(lanes, EntryHeader::of_bytes, warnings);
    seen.retain_mut(|(header, location)| {
        location.lane_files.annotations.apply_to_header(header);
        filter.admits(&header.facts(), location.lane(), location.is_active())
    });
    // Headers are large: they are sorted only where the filter has a limit.
    if let Some(limit) = filter.limit {
        newest_first(&mut seen);
        seen.truncate(limit);
    }
    seen
}

fn newest_first(seen: &mut [LocatedHeader<'_>]) {
    seen.sort_by_cached_key(|(header, _)| {
        let facts = header.facts();
        Reverse((facts.created_at, facts.id.to_owned()))
    });
}

/// The whole entry at a location; `None` if its evidence, which the header does not include, is damaged.
fn read_full_entry(location: &EntryLocation<'_>) -> Option<FoundEntry> {
    let mut entry = decode::record::<Entry>(location.bytes).ok()?;
    location.lane_files.annotations.apply_to_entry(&mut entry);
    Some(location.found(entry))
}
