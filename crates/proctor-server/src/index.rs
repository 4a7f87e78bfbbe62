//! The index of one recording: where each event stands, and the run in outline.
//!
//! The file is read once, from front to back, as it grows; what was read is never kept, but for the newest lines. So a run
//! of any length costs a few dozen bytes an event, and any place in it can be read at once.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use axum::extract::ws::Utf8Bytes;
use proctor_events::{Event, ExampleId};
use proctor_record::{Aggregator, MAX_LINE, RunData};

/// How much is read at a time.
const CHUNK: usize = 1 << 20;
/// How many of the newest events, and how many bytes of them, are kept in memory.
const KEPT_EVENTS: usize = 4096;
const KEPT_BYTES: usize = 8 << 20;
const NO_EXAMPLE: u32 = u32::MAX;

/// Where one event stands.
#[derive(Debug, Clone, Copy)]
struct Line {
    offset: u64,
    length: u32,
    example: u32,
    seq: u64,
    kind: u16,
    /// Whether the text is in today's form, so that it can be passed on as it is.
    plain: bool,
}

/// Which events a reader wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Only of these examples; empty means all.
    pub(crate) examples: Vec<String>,
    /// Only of these types; empty means all.
    pub(crate) types: Vec<String>,
}

/// An event for a reader.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) seq: u64,
    pub(crate) text: Utf8Bytes,
}

/// What a reader gets.
#[derive(Debug)]
pub(crate) enum Batch {
    /// Events, and the place to go on from.
    Events(Vec<Sent>, usize),
    /// They are no longer in memory: read these, then go on from the place.
    OnDisk(Spans, usize),
}

/// Places in a file.
#[derive(Debug)]
pub(crate) struct Spans {
    path: PathBuf,
    lines: Vec<Line>,
}

/// The index.
#[derive(Debug)]
pub(crate) struct Index {
    path: PathBuf,
    file: Option<File>,
    identity: Option<(u64, u64)>,
    offset: u64,
    /// Lines passed in the file, blank and unusable ones included.
    line_number: u64,
    lines: Vec<Line>,
    kinds: Vec<String>,
    recent: VecDeque<Utf8Bytes>,
    recent_bytes: usize,
    /// Lines that could not be used.
    pub(crate) problems: u64,
    /// Numbers for the examples that events name, known to the outline or not.
    examples: HashMap<ExampleId, u32>,
    outline: Aggregator,
}

/// What came of looking for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Growth {
    Nothing,
    /// There was more, and there may be still more.
    More,
    /// It is another file now; readers begin anew.
    Replaced,
}

impl Index {
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            file: None,
            identity: None,
            offset: 0,
            line_number: 0,
            lines: Vec::new(),
            kinds: Vec::new(),
            recent: VecDeque::new(),
            recent_bytes: 0,
            problems: 0,
            examples: HashMap::new(),
            outline: Aggregator::outline(),
        }
    }

    /// The run in outline.
    pub(crate) fn run(&self) -> &RunData {
        self.outline.run()
    }

    /// The number of the last event.
    pub(crate) fn last_seq(&self) -> u64 {
        self.run().last_seq.unwrap_or_default()
    }

    /// Whether some event is about this example.
    pub(crate) fn knows(&self, example: &str) -> bool {
        self.examples.contains_key(&ExampleId::new(example))
    }

    /// How many events there are.
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Reads one portion of what has been written since.
    pub(crate) fn grow(&mut self) -> io::Result<Growth> {
        let metadata = match std::fs::metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Growth::Nothing),
            outcome => outcome?,
        };
        let identity = (metadata.dev(), metadata.ino());
        if self.identity.is_some_and(|known| known != identity) || metadata.len() < self.offset {
            *self = Self::new(&self.path);
            return Ok(Growth::Replaced);
        }
        if metadata.len() == self.offset {
            return Ok(Growth::Nothing);
        }
        if self.file.is_none() {
            self.file = Some(File::open(&self.path)?);
            self.identity = Some(identity);
        }
        let portion = self.portion()?;
        if portion.is_empty() {
            return Ok(Growth::Nothing);
        }
        self.take(&portion);
        Ok(Growth::More)
    }

    /// Whole lines from the current place on; nothing while the next one is being written.
    fn portion(&self) -> io::Result<Vec<u8>> {
        let Some(file) = &self.file else { return Ok(Vec::new()) };
        let mut size = CHUNK;
        loop {
            let mut portion = vec![0; size];
            let mut filled = 0;
            while filled < size {
                match file.read_at(&mut portion[filled..], self.offset + filled as u64) {
                    Ok(0) => break,
                    Ok(count) => filled += count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            portion.truncate(filled);
            if let Some(end) = portion.iter().rposition(|byte| *byte == b'\n') {
                portion.truncate(end + 1);
                return Ok(portion);
            }
            if filled < size {
                return Ok(Vec::new());
            }
            if size > MAX_LINE {
                // No event is this long; what there is of it counts as one unusable line.
                return Ok(portion);
            }
            size *= 2;
        }
    }

    fn take(&mut self, portion: &[u8]) {
        for line in portion.split_inclusive(|byte| *byte == b'\n') {
            self.line_number += 1;
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            let text = text.strip_suffix(b"\r").unwrap_or(text);
            if !text.trim_ascii().is_empty() {
                self.take_line(text);
            }
            self.offset += line.len() as u64;
        }
    }

    fn take_line(&mut self, text: &[u8]) {
        let event = std::str::from_utf8(text).ok().and_then(|text| Event::from_json(text).ok());
        let Some(mut event) = event else {
            self.problems += 1;
            return;
        };
        let plain = event.v.is_some() && event.seq.is_some();
        let seq = *event.seq.get_or_insert(self.line_number);
        self.outline.apply(&event);
        let line = Line {
            offset: self.offset,
            length: u32::try_from(text.len()).unwrap_or(u32::MAX),
            example: event.example_id.as_ref().map_or(NO_EXAMPLE, |id| self.example(id)),
            seq,
            kind: self.kind(event.type_name()),
            plain,
        };
        self.lines.push(line);
        self.remember(if plain {
            String::from_utf8_lossy(text).as_ref().into()
        } else {
            event.to_json().into()
        });
    }

    fn example(&mut self, id: &ExampleId) -> u32 {
        if let Some(number) = self.examples.get(id) {
            return *number;
        }
        let number = u32::try_from(self.examples.len()).unwrap_or(NO_EXAMPLE);
        self.examples.insert(id.clone(), number);
        number
    }

    fn kind(&mut self, name: &str) -> u16 {
        let place = self.kinds.iter().position(|kind| kind == name).unwrap_or_else(|| {
            self.kinds.push(name.to_owned());
            self.kinds.len() - 1
        });
        u16::try_from(place).unwrap_or(u16::MAX)
    }

    fn remember(&mut self, text: Utf8Bytes) {
        self.recent_bytes += text.len();
        self.recent.push_back(text);
        while self.recent.len() > KEPT_EVENTS
            || (self.recent_bytes > KEPT_BYTES && self.recent.len() > 1)
        {
            if let Some(oldest) = self.recent.pop_front() {
                self.recent_bytes -= oldest.len();
            }
        }
    }

    /// The place of the first event after the one with this number.
    pub(crate) fn after(&self, seq: u64) -> usize {
        self.lines.partition_point(|line| line.seq <= seq)
    }

    /// Up to `limit` wanted events from a place on.
    pub(crate) fn batch(&self, from: usize, wanted: &Wanted, limit: usize) -> Batch {
        let choice = Choice::new(self, wanted);
        let in_memory = self.lines.len() - self.recent.len();
        let (mut next, mut found, mut bytes) = (from, Vec::new(), 0);
        while let Some(line) = self.lines.get(next) {
            if found.len() == limit
                || bytes > CHUNK
                || (next == in_memory && from < next && !found.is_empty())
            {
                break;
            }
            if choice.wants(line) {
                found.push(next);
                bytes += line.length as usize;
            }
            next += 1;
        }
        if found.first().is_some_and(|first| *first < in_memory) {
            let lines = found.iter().map(|place| self.lines[*place]).collect();
            return Batch::OnDisk(Spans { path: self.path.clone(), lines }, next);
        }
        let events = found.into_iter().map(|place| Sent {
            seq: self.lines[place].seq,
            text: self.recent[place - in_memory].clone(),
        });
        Batch::Events(events.collect(), next)
    }
}

/// Filters by place instead of by name.
struct Choice {
    examples: Option<Vec<u32>>,
    kinds: Option<Vec<u16>>,
}

impl Choice {
    fn new(index: &Index, wanted: &Wanted) -> Self {
        let examples = (!wanted.examples.is_empty()).then(|| {
            let ids = wanted.examples.iter().map(|id| ExampleId::new(id.as_str()));
            ids.filter_map(|id| index.examples.get(&id).copied()).collect()
        });
        let kinds = (!wanted.types.is_empty()).then(|| {
            let places = (0u16..).zip(&index.kinds);
            places.filter(|(_, name)| wanted.types.contains(name)).map(|(place, _)| place).collect()
        });
        Self { examples, kinds }
    }

    fn wants(&self, line: &Line) -> bool {
        self.examples.as_ref().is_none_or(|examples| examples.contains(&line.example))
            && self.kinds.as_ref().is_none_or(|kinds| kinds.contains(&line.kind))
    }
}

impl Spans {
    /// Reads them. Neighbours are read together.
    pub(crate) fn read(&self) -> io::Result<Vec<Sent>> {
        let file = File::open(&self.path)?;
        let mut sent = Vec::with_capacity(self.lines.len());
        let mut rest = &self.lines[..];
        while let Some(first) = rest.first() {
            let near = |line: &&Line| line.offset - first.offset < CHUNK as u64;
            let together = rest.iter().take_while(near).count().max(1);
            let (group, others) = rest.split_at(together);
            rest = others;
            let end =
                group.last().map_or(first.offset, |line| line.offset + u64::from(line.length));
            let mut bytes = vec![0; usize::try_from(end - first.offset).unwrap_or(usize::MAX)];
            file.read_exact_at(&mut bytes, first.offset)?;
            for line in group {
                let start = usize::try_from(line.offset - first.offset).unwrap_or(usize::MAX);
                let text = &bytes[start..start + line.length as usize];
                sent.push(Sent { seq: line.seq, text: line.text(text)? });
            }
        }
        Ok(sent)
    }
}

impl Line {
    fn text(&self, bytes: &[u8]) -> io::Result<Utf8Bytes> {
        let text = std::str::from_utf8(bytes).map_err(io::Error::other)?;
        if self.plain {
            // The digest vouches for the file; a stream has none.
            return Ok((&*proctor_record::without_digest(text)).into());
        }
        let mut event = Event::from_json(text).map_err(io::Error::other)?;
        event.seq.get_or_insert(self.seq);
        Ok(event.to_json().into())
    }
}

#[cfg(test)]
mod tests;
