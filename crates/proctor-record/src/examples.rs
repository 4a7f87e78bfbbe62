//! The examples of a run one at a time, so that a run of any length can be reported in little memory.
//!
//! A run that was folded is one [`ExampleSource`]; [`RunOnDisk`] is the other. It goes through the recording once, folds what concerns the run
//! as a whole and notes in twelve bytes an event where the events of each example stand. An example is then folded from its own events whenever
//! it is asked for. Both give the same examples in the same order, which a property test holds.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::Path;

use proctor_events::{Event, ExampleId};
use proctor_verdict::Counts;

use crate::aggregate::Aggregator;
use crate::model::{Example, RunData};
use crate::reader::{LoadError, Problem, RunChoice, note_state, read_run};
use crate::recording_reader::read_at;
use crate::workspaces::{WorkspaceCoverage, WorkspaceFold};

/// A run whose examples are visited one after the other.
pub trait ExampleSource {
    /// The run; its list of examples may be empty although there are some.
    fn run(&self) -> &RunData;

    /// How many examples there are.
    fn example_count(&self) -> usize;

    /// Hands out the example in this place of the order of appearance.
    fn with_example(&self, place: usize, visit: &mut dyn FnMut(&Example)) -> io::Result<()>;

    /// Hands out every example in order.
    fn for_each_example(&self, visit: &mut dyn FnMut(&Example)) -> io::Result<()> {
        (0..self.example_count()).try_for_each(|place| self.with_example(place, visit))
    }

    /// What is known only once every example was visited.
    fn totals(&self) -> io::Result<Totals>;

    /// Visits only these examples from now on. The verdict stays that of the whole run. Returns how many there are.
    fn choose(&mut self, wanted: &dyn Fn(&Example) -> bool) -> io::Result<usize>;
}

/// What the examples of a run come to together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Totals {
    /// The counts of examples, repetitions and attempts.
    pub counts: Counts,
    /// What workspace examples reached together; absent where there were none.
    pub workspaces: Option<WorkspaceCoverage>,
}

/// Visits every example.
fn visit_totals(source: &dyn ExampleSource) -> io::Result<Totals> {
    let run = source.run();
    let mut counts = Counts { errors: run.errors.len() as u64, ..Counts::default() };
    let mut workspaces = WorkspaceFold::default();
    source.for_each_example(&mut |example| {
        run.count_example(&mut counts, example, run.over);
        workspaces.take_example(example);
    })?;
    Ok(Totals { counts, workspaces: workspaces.coverage() })
}

impl ExampleSource for RunData {
    fn run(&self) -> &RunData {
        self
    }

    fn example_count(&self) -> usize {
        self.examples.len()
    }

    fn with_example(&self, place: usize, visit: &mut dyn FnMut(&Example)) -> io::Result<()> {
        self.examples.get(place).into_iter().for_each(visit);
        Ok(())
    }

    fn totals(&self) -> io::Result<Totals> {
        visit_totals(self)
    }

    fn choose(&mut self, wanted: &dyn Fn(&Example) -> bool) -> io::Result<usize> {
        self.select(wanted);
        Ok(self.examples.len())
    }
}

/// Stands for "no example" while events are gathered.
const NO_EXAMPLE: u32 = u32::MAX;

/// A run whose examples stay in its recording.
#[derive(Debug)]
pub struct RunOnDisk {
    run: RunData,
    lines: RefCell<LineCache>,
    /// Where the line of each event begins, in the order of events.
    offsets: Vec<u64>,
    /// Places of events in `offsets`, by example and in order.
    events: Vec<u32>,
    /// Where the events of each example begin in `events`; one more than there are examples.
    begins: Vec<u32>,
    /// Those of all examples.
    totals: Totals,
    /// The examples that are visited, where not all of them are.
    chosen: Option<Vec<usize>>,
}

/// A run on disk, with what was found beside it in its file.
#[derive(Debug)]
pub struct OpenedRun {
    /// The run. Its verdict is that of the whole run.
    pub run: RunOnDisk,
    /// Lines that could not be used.
    pub problems: Vec<Problem>,
    /// The ids of all runs in the file, in order; runs without an id are numbered.
    pub runs: Vec<String>,
}

/// What is gathered while the recording is read.
#[derive(Default)]
struct Gathered {
    fold: Aggregator,
    numbers: HashMap<Option<ExampleId>, u32, foldhash::fast::RandomState>,
    offsets: Vec<u64>,
    examples: Vec<u32>,
}

impl Gathered {
    fn add(&mut self, event: &Event, offset: u64) {
        let next = u32::try_from(self.numbers.len()).unwrap_or(NO_EXAMPLE);
        let concerned = crate::aggregate::concerns_example(event);
        let known = self.numbers.get_key_value(&event.example_id);
        let example = known.map_or(next, |(_, number)| *number);
        // The id that is known already, so that its text is kept once.
        let id = known.map_or(&event.example_id, |(id, _)| id);
        self.fold.apply_to_run(event, id.as_ref());
        if known.is_none() && concerned {
            self.numbers.insert(event.example_id.clone(), next);
        }
        self.offsets.push(offset);
        self.examples.push(if concerned { example } else { NO_EXAMPLE });
    }

    /// The places of events sorted by example, and where each example begins.
    fn by_example(&self) -> (Vec<u32>, Vec<u32>) {
        let mut begins = vec![0_u32; self.numbers.len() + 1];
        let counted = || self.examples.iter().filter(|example| **example != NO_EXAMPLE);
        counted().for_each(|example| begins[*example as usize + 1] += 1);
        for place in 1..begins.len() {
            begins[place] += begins[place - 1];
        }
        let mut next = begins.clone();
        let mut events = vec![0; counted().count()];
        for (place, example) in (0..).zip(&self.examples).filter(|(_, it)| **it != NO_EXAMPLE) {
            let slot = &mut next[*example as usize];
            events[*slot as usize] = place;
            *slot += 1;
        }
        (events, begins)
    }
}

impl RunOnDisk {
    /// Goes through a recording and counts its examples.
    pub fn open(path: &Path, choice: &RunChoice) -> Result<OpenedRun, LoadError> {
        let unreadable = |source| LoadError::Io { path: path.to_owned(), source };
        let file = proctor_files::open(path).map_err(unreadable)?;
        let found = read_run(path, choice, Gathered::default, Gathered::add)?;
        let (events, begins) = found.folded.by_example();
        let Gathered { fold, offsets, .. } = found.folded;
        let mut run = fold.into_run();
        note_state(&mut run, path);
        let lines = RefCell::new(LineCache::new(file));
        let totals = Totals::default();
        let mut run = Self { run, lines, offsets, events, begins, totals, chosen: None };
        run.totals = visit_totals(&run).map_err(unreadable)?;
        run.run.verdict_of_all = Some(Box::new(run.run.verdict_by(&run.totals.counts)));
        Ok(OpenedRun { run, problems: found.problems, runs: found.runs })
    }

    /// The number of the example that is visited in this place.
    fn number_at(&self, place: usize) -> usize {
        self.chosen.as_ref().map_or(place, |chosen| chosen[place])
    }

    fn fold_example(&self, number: usize) -> io::Result<Example> {
        let (from, to) = (self.begins[number] as usize, self.begins[number + 1] as usize);
        let mut fold = Aggregator::default();
        let mut lines = self.lines.borrow_mut();
        for place in &self.events[from..to] {
            let line = lines.line_at(self.offsets[*place as usize])?;
            let text = std::str::from_utf8(line).map_err(io::Error::other)?;
            let event = Event::from_json(text).map_err(io::Error::other)?;
            fold.apply_at(u64::from(*place), &event);
        }
        Ok(fold.into_run().examples.pop().unwrap_or_default())
    }
}

impl ExampleSource for RunOnDisk {
    fn run(&self) -> &RunData {
        &self.run
    }

    fn example_count(&self) -> usize {
        self.chosen.as_ref().map_or(self.begins.len() - 1, Vec::len)
    }

    fn with_example(&self, place: usize, visit: &mut dyn FnMut(&Example)) -> io::Result<()> {
        visit(&self.fold_example(self.number_at(place))?);
        Ok(())
    }

    fn totals(&self) -> io::Result<Totals> {
        if self.chosen.is_none() { Ok(self.totals.clone()) } else { visit_totals(self) }
    }

    fn choose(&mut self, wanted: &dyn Fn(&Example) -> bool) -> io::Result<usize> {
        let (mut chosen, mut places) = (Vec::new(), 0..);
        self.for_each_example(&mut |example| {
            let place = places.next().unwrap_or_default();
            if wanted(example) {
                chosen.push(self.number_at(place));
            }
        })?;
        let count = chosen.len();
        self.chosen = Some(chosen);
        Ok(count)
    }
}

/// Bytes of a block, and how many blocks are kept.
const BLOCK: usize = 1 << 15;
const BLOCKS: usize = 64;

/// Lines of a file by the place where they begin. Lines that are asked for one after the other mostly stand near each other, so the blocks
/// around them are kept.
#[derive(Debug)]
struct LineCache {
    file: File,
    /// Each block stands in the slot that its number gives.
    blocks: Vec<Option<(u64, Vec<u8>)>>,
    line: Vec<u8>,
}

impl LineCache {
    fn new(file: File) -> Self {
        Self { file, blocks: vec![None; BLOCKS], line: Vec::new() }
    }

    /// The line that begins here, without its line end.
    fn line_at(&mut self, offset: u64) -> io::Result<&[u8]> {
        self.line.clear();
        let mut at = offset;
        loop {
            let (number, within) = (at / BLOCK as u64, remainder(at, BLOCK));
            let bytes = Self::block(&self.file, &mut self.blocks, number)?;
            let rest = bytes.get(within..).unwrap_or_default();
            let end = memchr::memchr(b'\n', rest);
            self.line.extend_from_slice(&rest[..end.unwrap_or(rest.len())]);
            at += rest.len() as u64;
            if end.is_some() || bytes.len() < BLOCK {
                break;
            }
        }
        Ok(self.line.strip_suffix(b"\r").unwrap_or(&self.line))
    }

    fn block<'a>(
        file: &File,
        blocks: &'a mut [Option<(u64, Vec<u8>)>],
        number: u64,
    ) -> io::Result<&'a [u8]> {
        let slot = &mut blocks[remainder(number, BLOCKS)];
        if slot.as_ref().is_none_or(|(kept, _)| *kept != number) {
            let mut bytes = slot.take().map(|(_, bytes)| bytes).unwrap_or_default();
            bytes.resize(BLOCK, 0);
            let length = read_at(file, &mut bytes, number * BLOCK as u64)?;
            bytes.truncate(length);
            *slot = Some((number, bytes));
        }
        Ok(slot.as_ref().map_or(&[], |(_, bytes)| bytes))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a remainder is smaller than its divisor")]
fn remainder(number: u64, divisor: usize) -> usize {
    (number % divisor as u64) as usize
}

#[cfg(test)]
mod generated;
#[cfg(test)]
mod tests;
