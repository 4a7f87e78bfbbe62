//! Going through all entries of a journal and its lanes: in full to list them, at a glance to count
//! and to find them.
//!
//! The files are read once. Of several lines with one id the first is kept, in the order of
//! resolution: archives, then the open session, then the active entry. No lock is taken.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::path::PathBuf;

use super::annotate::Annotations;
use super::{Answer, Filter, Found, Journal, Place};
use crate::decode;
use crate::disk::Disk;
use crate::entry::Entry;
use crate::entry_header::{EntryHeader, Regarded};
use crate::error::JournalError;
use crate::search;
use crate::stats::{self, Stats};
use crate::store::{CURRENT, ENTRIES, LANES, archive_files};
use crate::warning::{Noted, Warning};

/// An entry that was found by its words.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// How well it fits; only comparable within one search.
    pub score: f64,
    /// The entry.
    pub found: Found,
}

/// The files of the journal itself or of one lane, as they were read.
struct Shelf {
    lane: Option<String>,
    files: Vec<(Place, PathBuf, Vec<u8>)>,
    annotations: Annotations,
}

/// Where something stood.
#[derive(Clone, Copy)]
struct Spot<'a> {
    shelf: &'a Shelf,
    place: &'a Place,
    bytes: &'a [u8],
}

impl Spot<'_> {
    fn is_active(&self) -> bool {
        *self.place == Place::Active
    }

    fn lane(&self) -> Option<&str> {
        self.shelf.lane.as_deref()
    }

    fn found(&self, entry: Entry) -> Found {
        Found { entry, lane: self.shelf.lane.clone(), place: self.place.clone() }
    }
}

/// A glimpse of an entry, and where it stands.
type Seen<'a> = (EntryHeader<'a>, Spot<'a>);

impl<D: Disk> Journal<D> {
    /// Entries of the journal and its lanes, newest first; annotations are folded in. An id that
    /// stands in several places is listed once, as it was first resolved.
    pub fn list(&self, filter: &Filter) -> Answer<Vec<Found>> {
        let shelves = self.shelves()?;
        let mut warnings = Vec::new();
        let read = walk(&shelves, decode::record::<Entry>, &mut warnings);
        let mut value: Vec<Found> = read
            .into_iter()
            .filter_map(|(mut entry, spot)| {
                spot.shelf.annotations.fold(&mut entry);
                let wanted = filter.admits(&entry.facts(), spot.lane(), spot.is_active());
                wanted.then(|| spot.found(entry))
            })
            .collect();
        // Entries are large: sort their keys and move each of them once.
        value.sort_by_cached_key(|found| Reverse((found.entry.created_at, found.entry.id.clone())));
        value.truncate(filter.limit.unwrap_or(usize::MAX));
        Ok(Noted { value, warnings })
    }

    /// Part of what [`list`](Self::list) would give, and how many there are in all. Entries are looked
    /// at; only those that are returned are read in full.
    pub fn page(
        &self,
        filter: &Filter,
        offset: usize,
        limit: usize,
    ) -> Answer<(Vec<Found>, usize)> {
        let shelves = self.shelves()?;
        let mut warnings = Vec::new();
        let mut seen = glance(&shelves, filter, &mut warnings);
        newest_first(&mut seen);
        let part = seen.iter().skip(offset).take(limit);
        let found = part.filter_map(|(_, spot)| in_full(spot)).collect();
        Ok(Noted { value: (found, seen.len()), warnings })
    }

    /// Numbers over the entries that [`list`](Self::list) would give; only looks at them.
    pub fn stats(&self, filter: &Filter) -> Answer<Stats> {
        let shelves = self.shelves()?;
        let mut warnings = Vec::new();
        let seen = glance(&shelves, filter, &mut warnings);
        Ok(Noted { value: stats::count(seen.iter().map(|(glimpse, _)| glimpse.facts())), warnings })
    }

    /// At most `limit` of the entries that [`list`](Self::list) would give and that share words
    /// with the text, best first; those that fit equally well newest first. Entries are looked at;
    /// only those that are returned are read in full.
    pub fn search(&self, text: &str, filter: &Filter, limit: usize) -> Answer<Vec<Match>> {
        let shelves = self.shelves()?;
        let mut warnings = Vec::new();
        let seen = glance(&shelves, filter, &mut warnings);
        let hits = search::rank(text, seen.iter().map(|(glimpse, _)| glimpse));
        let read = hits.iter().filter_map(|hit| {
            let found = in_full(&seen[hit.index].1)?;
            Some(Match { score: hit.score, found })
        });
        Ok(Noted { value: read.take(limit).collect(), warnings })
    }

    /// Part of what [`search`](Self::search) would give without a limit, and how many there are in all. Only the
    /// entries of the part are read in full.
    pub fn search_page(
        &self,
        text: &str,
        filter: &Filter,
        offset: usize,
        limit: usize,
    ) -> Answer<(Vec<Found>, usize)> {
        let shelves = self.shelves()?;
        let mut warnings = Vec::new();
        let seen = glance(&shelves, filter, &mut warnings);
        let hits = search::rank(text, seen.iter().map(|(glimpse, _)| glimpse));
        let part = hits.iter().skip(offset).take(limit);
        let found = part.filter_map(|hit| in_full(&seen[hit.index].1)).collect();
        Ok(Noted { value: (found, hits.len()), warnings })
    }

    /// Past entries like this one, falsified ones first, none of those in `shown`.
    pub(super) fn similar(
        &self,
        entry: &Entry,
        shown: &[String],
        limit: usize,
    ) -> Answer<Vec<Entry>> {
        let shelves = self.shelves()?;
        let mut warnings = Vec::new();
        let ended = Filter { active: Some(false), ..Filter::default() };
        let seen = glance(&shelves, &ended, &mut warnings);
        let glimpses: Vec<&EntryHeader<'_>> = seen.iter().map(|(glimpse, _)| glimpse).collect();
        let alike = search::alike(entry, &glimpses, shown, limit);
        let read = alike.iter().filter_map(|place| in_full(&seen[*place].1));
        Ok(Noted { value: read.map(|found| found.entry).collect(), warnings })
    }

    fn shelves(&self) -> Result<Vec<Shelf>, JournalError> {
        let mut shelves = vec![self.shelf(None)?];
        for lane in self.lanes()? {
            shelves.push(self.shelf(Some(lane))?);
        }
        Ok(shelves)
    }

    fn shelf(&self, lane: Option<String>) -> Result<Shelf, JournalError> {
        let root = &self.store.root;
        let dir = lane.as_ref().map_or_else(|| root.clone(), |lane| root.join(LANES).join(lane));
        let mut files = Vec::new();
        let mut take = |place: Place, path: PathBuf| -> Result<(), JournalError> {
            if let Some(bytes) = self.store.read(&path)? {
                files.push((place, path, bytes));
            }
            Ok(())
        };
        // Entries move from here to there; read in this order, none is missed while it moves.
        take(Place::Active, dir.join(CURRENT))?;
        take(Place::Session, dir.join(ENTRIES))?;
        for path in archive_files(&self.store, &dir)?.into_iter().rev() {
            take(Place::Archive(path.clone()), path)?;
        }
        files.reverse();
        Ok(Shelf { lane, files, annotations: self.annotations_in(&dir)? })
    }
}

/// Everything on the shelves that can be read, in the order of resolution, each id once per lane.
fn walk<'a, T: Regarded>(
    shelves: &'a [Shelf],
    read: impl Fn(&'a [u8]) -> serde_json::Result<T>,
    warnings: &mut Vec<Warning>,
) -> Vec<(T, Spot<'a>)> {
    let mut all = Vec::new();
    for shelf in shelves {
        let mut seen: HashSet<String> = HashSet::new();
        let mut keep = |read: T, spot: Spot<'a>| {
            if seen.insert(read.facts().id.to_owned()) {
                all.push((read, spot));
            }
        };
        for (place, path, bytes) in &shelf.files {
            let spot = |bytes| Spot { shelf, place, bytes };
            if *place == Place::Active {
                // The next change sets an unreadable file aside.
                if let Ok(entry) = read(bytes) {
                    keep(entry, spot(bytes));
                }
                continue;
            }
            let mut unreadable = Vec::new();
            for line in decode::lines(bytes) {
                match read(line.bytes) {
                    Ok(entry) => keep(entry, spot(line.bytes)),
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

/// The entries that a filter wants, at a glance, in the order of the files.
fn glance<'a>(shelves: &'a [Shelf], filter: &Filter, warnings: &mut Vec<Warning>) -> Vec<Seen<'a>> {
    let mut seen = walk(shelves, EntryHeader::of_bytes, warnings);
    seen.retain_mut(|(glimpse, spot)| {
        spot.shelf.annotations.fold_into_glimpse(glimpse);
        filter.admits(&glimpse.facts(), spot.lane(), spot.is_active())
    });
    // Glimpses are large: they are moved only where the newest so many are wanted.
    if let Some(limit) = filter.limit {
        newest_first(&mut seen);
        seen.truncate(limit);
    }
    seen
}

fn newest_first(seen: &mut [Seen<'_>]) {
    seen.sort_by_cached_key(|(glimpse, _)| {
        let facts = glimpse.facts();
        Reverse((facts.created_at, facts.id.to_owned()))
    });
}

/// The entry of a glimpse; `None` where its evidence, which a glimpse passes over, is damaged.
fn in_full(spot: &Spot<'_>) -> Option<Found> {
    let mut entry = decode::record::<Entry>(spot.bytes).ok()?;
    spot.shelf.annotations.fold(&mut entry);
    Some(spot.found(entry))
}
