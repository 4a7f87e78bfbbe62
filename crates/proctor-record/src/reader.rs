//! Reading a recording that may be torn, corrupt, foreign or many runs long.
//!
//! A line that cannot be used is reported with its number and reading goes on. A last line without line
//! feed counts if it is complete; otherwise it is the torn tail of a writer that died.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use proctor_events::{Body, Event, ReadError, RunId};

use crate::aggregate::Aggregator;
use crate::model::RunData;
use crate::recording_reader::line_assembler::LineAssembler;
use crate::recording_reader::{IndexRules, RecordingReader};
use crate::store::RunFolder;

/// The longest line that is read; a longer one is reported and passed over.
pub const MAX_LINE: usize = 64 << 20;

/// One line of a recording.
#[derive(Debug, PartialEq)]
pub enum Entry {
    /// An event, with `seq` filled in from the line number where it was missing.
    Event {
        /// The line, from 1.
        line: u64,
        /// The event.
        event: Box<Event>,
    },
    /// A line that cannot be used.
    Problem(Problem),
}

/// A line that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {kind}")]
pub struct Problem {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub kind: ProblemKind,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProblemKind {
    /// It is not UTF-8.
    #[error("not valid UTF-8 at byte {0}")]
    NotUtf8(usize),
    /// It is longer than [`MAX_LINE`].
    #[error("longer than {} MiB", MAX_LINE >> 20)]
    TooLong,
    /// It is not an event.
    #[error(transparent)]
    NotAnEvent(#[from] ReadError),
    /// It is the last line and incomplete: its writer died while writing it.
    #[error("incomplete: the writer stopped in the middle of the line")]
    Torn,
    /// The file cannot be read any further.
    #[error("cannot read further: {0}")]
    Io(String),
}

/// Reads entries one by one, holding one line at a time. The file is read once; for one that grows there is
/// [`RecordingFollower`](crate::RecordingFollower).
pub struct Reader<R> {
    input: R,
    lines: LineAssembler,
    ended: bool,
}

impl Reader<BufReader<File>> {
    /// Opens a file.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self::new(BufReader::with_capacity(1 << 16, proctor_files::open(path)?)))
    }
}

impl<R: BufRead> Reader<R> {
    /// Reads from anything.
    pub fn new(input: R) -> Self {
        Self { input, lines: LineAssembler::default(), ended: false }
    }

    /// The bytes of the line that the last entry was made from, without its line end.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.lines.line().bytes
    }

    /// Reads one line. Returns whether there was one.
    fn read_line(&mut self) -> io::Result<bool> {
        loop {
            let available = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                outcome => outcome?,
            };
            if available.is_empty() {
                self.ended = true;
                return Ok(self.lines.has_partial_line());
            }
            let (used, complete) = self.lines.feed(available);
            self.input.consume(used);
            if complete {
                return Ok(true);
            }
        }
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        while !self.ended {
            let read = self.read_line();
            let line = self.lines.line();
            let problem = |kind| Entry::Problem(Problem { line: line.number, kind });
            match read {
                Err(error) => {
                    self.ended = true;
                    return Some(problem(ProblemKind::Io(error.to_string())));
                }
                Ok(false) => return None,
                Ok(true) => match line.parse() {
                    Err(kind) => return Some(problem(kind)),
                    Ok(None) => {}
                    Ok(Some(mut event)) => {
                        event.seq.get_or_insert(line.number);
                        return Some(Entry::Event { line: line.number, event: Box::new(event) });
                    }
                },
            }
        }
        None
    }
}

/// Which run of a file is meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RunChoice {
    /// The last one.
    #[default]
    Last,
    /// The one with this id, or with an id that begins like this.
    Id(String),
}

impl RunChoice {
    fn includes(&self, name: &str) -> bool {
        match self {
            Self::Last => true,
            Self::Id(wanted) => name.starts_with(wanted.as_str()),
        }
    }
}

/// A run folded from a file.
#[derive(Debug)]
pub struct Loaded {
    /// The run.
    pub run: RunData,
    /// Lines that could not be used.
    pub problems: Vec<Problem>,
    /// The ids of all runs in the file, in order; runs without an id are numbered.
    pub runs: Vec<String>,
}

/// Why no run could be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is no event in it.
    #[error("{} contains no events{}", path.display(), first_problem(problems))]
    Empty {
        /// The file.
        path: PathBuf,
        /// What it holds instead.
        problems: Vec<Problem>,
    },
    /// The run that was asked for is not in it.
    #[error("{} contains no run `{wanted}`; it contains: {}", path.display(), runs.join(", "))]
    NoSuchRun {
        /// The file.
        path: PathBuf,
        /// The id that was asked for.
        wanted: String,
        /// The ids that are there.
        runs: Vec<String>,
    },
}

fn first_problem(problems: &[Problem]) -> String {
    problems.first().map(|problem| format!(" ({problem})")).unwrap_or_default()
}

/// Tells which run of a file an event belongs to. Runs follow each other, or are mixed where several write to one file at once.
#[derive(Debug, Default)]
pub struct RunSplitter {
    /// Places of the runs that have an id.
    known: HashMap<RunId, usize>,
    /// The place of the run that the last event belongs to, and its id.
    current: usize,
    current_id: Option<RunId>,
    count: usize,
}

impl RunSplitter {
    /// Takes the next event; returns the name of the run that begins with it, if one does, and the place of its run, from 0.
    ///
    /// An event without an id belongs to the run of the event before it, unless it is the start of a suite.
    pub fn place(&mut self, event: &Event) -> (Option<String>, usize) {
        if event.run_id.is_some() && event.run_id == self.current_id {
            return (None, self.current);
        }
        self.current_id.clone_from(&event.run_id);
        let known = match &event.run_id {
            Some(id) => self.known.get(id).copied(),
            None if self.count == 0 || matches!(event.body, Body::SuiteStarted(_)) => None,
            None => Some(self.current),
        };
        if let Some(place) = known {
            self.current = place;
            return (None, place);
        }
        self.current = self.count;
        self.count += 1;
        if let Some(id) = &event.run_id {
            self.known.insert(id.clone(), self.current);
        }
        let numbered = || format!("#{}", self.count);
        let name = event.run_id.as_ref().map_or_else(numbered, ToString::to_string);
        (Some(name), self.current)
    }

    /// Takes the next event; returns the name of the run that begins with it, if one does.
    pub fn begins(&mut self, event: &Event) -> Option<String> {
        self.place(event).0
    }

    /// Whether the last event belongs to the run that began last.
    pub fn in_newest(&self) -> bool {
        self.current + 1 >= self.count
    }
}

/// Folds one run out of a file.
pub fn load(path: &Path, choice: &RunChoice) -> Result<Loaded, LoadError> {
    load_into(path, choice, &Aggregator::default())
}

/// Folds one run out of a file, and keeps what ended how, in numbers, but not what was said ([`Aggregator::outline`]). Uses the index beside a
/// large recording, if there is one.
pub fn load_outline(path: &Path, choice: &RunChoice) -> Result<Loaded, LoadError> {
    // A file that cannot be read is reported below.
    let indexed = RecordingReader::indexed_outline(path, IndexRules::default()).ok().flatten();
    if let Some((mut run, id)) = indexed
        && choice.includes(id.as_str())
    {
        note_state(&mut run, path);
        return Ok(Loaded { run, problems: Vec::new(), runs: vec![id.to_string()] });
    }
    load_into(path, choice, &Aggregator::outline())
}

fn load_into(path: &Path, choice: &RunChoice, empty: &Aggregator) -> Result<Loaded, LoadError> {
    let found = read_run(path, choice, || empty.clone(), |fold, event, _| fold.apply(event))?;
    let mut run = found.folded.into_run();
    note_state(&mut run, path);
    Ok(Loaded { run, problems: found.problems, runs: found.runs })
}

/// What was made of the events of one run.
pub(crate) struct FoldedRun<T> {
    pub(crate) folded: T,
    pub(crate) problems: Vec<Problem>,
    pub(crate) runs: Vec<String>,
}

/// Hands the events of one run to `add`, each with the place in the file where its line begins. `begin` is called for every run that may be
/// the one; the last of them counts.
pub(crate) fn read_run<T>(
    path: &Path,
    choice: &RunChoice,
    begin: impl Fn() -> T,
    mut add: impl FnMut(&mut T, &Event, u64),
) -> Result<FoldedRun<T>, LoadError> {
    let mut reader =
        Reader::open(path).map_err(|source| LoadError::Io { path: path.to_owned(), source })?;
    let mut splitter = RunSplitter::default();
    let (mut runs, mut problems) = (Vec::new(), Vec::new());
    let mut folding: Option<(usize, T)> = None;
    while let Some(entry) = reader.next() {
        let event = match entry {
            Entry::Problem(problem) => {
                problems.push(problem);
                continue;
            }
            Entry::Event { event, .. } => event,
        };
        let (begins, place) = splitter.place(&event);
        if let Some(name) = begins {
            if choice.includes(&name) {
                folding = Some((place, begin()));
            }
            runs.push(name);
        }
        if let Some((wanted, folded)) = &mut folding
            && *wanted == place
        {
            add(folded, &event, reader.lines.line().offset);
        }
    }
    match (folding, choice) {
        (Some((_, folded)), _) => Ok(FoldedRun { folded, problems, runs }),
        (None, RunChoice::Id(wanted)) if !runs.is_empty() => {
            Err(LoadError::NoSuchRun { path: path.to_owned(), wanted: wanted.clone(), runs })
        }
        (None, _) => Err(LoadError::Empty { path: path.to_owned(), problems }),
    }
}

/// The events of one run of a file, one after the other. Lines that cannot be used are passed over; a file that cannot be read to its end is an
/// error.
pub fn run_events(
    path: &Path,
    choice: &RunChoice,
) -> io::Result<impl Iterator<Item = io::Result<Event>>> {
    let mut splitter = RunSplitter::default();
    let mut wanted = None;
    for event in events_of(path)? {
        if let (Some(name), place) = splitter.place(&event?)
            && choice.includes(&name)
        {
            wanted = Some(place);
        }
    }
    let mut splitter = RunSplitter::default();
    Ok(events_of(path)?.filter(move |event| {
        event.as_ref().map_or(true, |event| Some(splitter.place(event).1) == wanted)
    }))
}

fn events_of(path: &Path) -> io::Result<impl Iterator<Item = io::Result<Event>>> {
    Ok(Reader::open(path)?.filter_map(|entry| match entry {
        Entry::Event { event, .. } => Some(Ok(*event)),
        Entry::Problem(Problem { kind: ProblemKind::Io(error), .. }) => {
            Some(Err(io::Error::other(error)))
        }
        Entry::Problem(_) => None,
    }))
}

/// Adds the state that only the folder of the run has. A recording outside a run's folder is over.
pub(crate) fn note_state(run: &mut RunData, path: &Path) {
    let folder = RunFolder::of(path);
    run.over |= folder.as_ref().is_none_or(|folder| !folder.is_live());
    run.interrupted = folder.is_some_and(|folder| folder.info().is_ok_and(|info| info.interrupted));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(bytes: &[u8]) -> Vec<Entry> {
        Reader::new(bytes).collect()
    }

    fn outline(bytes: &[u8]) -> Vec<String> {
        entries(bytes)
            .iter()
            .map(|entry| match entry {
                Entry::Event { line, event } => {
                    format!("{line} {} {}", event.seq.unwrap(), event.type_name())
                }
                Entry::Problem(problem) => problem.to_string(),
            })
            .collect()
    }

    #[test]
    fn corrupt_lines_are_numbered_and_passed_over() {
        let bytes = b"{\"event_type\":\"A\",\"seq\":7}\n\noops\n\xff\xfe\n{\"event_type\":\"B\"}\n{\"event_type\":\"C";
        assert_eq!(
            outline(bytes),
            [
                "1 7 A",
                "line 3: not a JSON object: expected value at line 1 column 1",
                "line 4: not valid UTF-8 at byte 0",
                "5 5 B",
                "line 6: incomplete: the writer stopped in the middle of the line",
            ]
        );
    }

    #[test]
    fn a_complete_last_line_without_line_feed_counts() {
        assert_eq!(outline(b"{\"event_type\":\"A\"}"), ["1 1 A"]);
    }

    #[test]
    fn windows_line_ends_are_harmless() {
        assert_eq!(
            outline(b"{\"event_type\":\"A\"}\r\n\r\n{\"event_type\":\"B\"}\r\n"),
            ["1 1 A", "3 3 B"]
        );
    }

    /// Cutting a recording at any byte loses at most the event being written.
    #[test]
    fn every_prefix_gives_every_whole_event() {
        let whole = b"{\"event_type\":\"A\"}\n{\"event_type\":\"B\",\"x\":\"\xe2\x98\x82\"}\n{\"event_type\":\"C\"}\n";
        for cut in 0..=whole.len() {
            let prefix = &whole[..cut];
            let complete = prefix.split(|byte| *byte == b'\n').count() - 1;
            let found = entries(prefix);
            let events = found.iter().filter(|e| matches!(e, Entry::Event { .. })).count();
            assert!(events == complete || events == complete + 1, "cut at {cut}");
            for entry in &found {
                if let Entry::Problem(problem) = entry {
                    assert_eq!(problem.kind, ProblemKind::Torn, "cut at {cut}");
                }
            }
        }
    }

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    const TWO_RUNS: &str = concat!(
        r#"{"run_id":"aa1","event_type":"SuiteStarted","seed":1}"#,
        "\n",
        r#"{"run_id":"bb2","event_type":"SuiteStarted","seed":2}"#,
        "\n",
    );

    #[test]
    fn the_last_run_is_taken_unless_another_is_named() {
        let file = file(TWO_RUNS);
        let last = load(file.path(), &RunChoice::Last).unwrap();
        assert_eq!((last.run.seed, last.runs), (Some(2), vec!["aa1".into(), "bb2".into()]));
        let first = load(file.path(), &RunChoice::Id("aa".into())).unwrap();
        assert_eq!(first.run.seed, Some(1));
        let error = load(file.path(), &RunChoice::Id("cc".into())).unwrap_err().to_string();
        assert!(error.ends_with("contains no run `cc`; it contains: aa1, bb2"), "{error}");
    }

    /// Runs that write to one file at once are told apart.
    #[test]
    fn the_events_of_one_run_are_told_from_those_of_another() {
        let lines = ["aa", "bb", "aa", "bb"].map(|run| {
            format!(
                "{{\"run_id\":\"{run}\",\"event_type\":\"Progress\",\"completed\":0,\"total\":1,\"failures\":0}}\n"
            )
        });
        let file = file(&format!("{}oops\n", lines.concat()));
        let ids = |choice: RunChoice| -> Vec<(String, u64)> {
            let events = run_events(file.path(), &choice).unwrap().map(|event| event.unwrap());
            events.map(|it| (it.run_id.unwrap().to_string(), it.seq.unwrap())).collect()
        };
        assert_eq!(ids(RunChoice::Last), [("bb".to_owned(), 2), ("bb".to_owned(), 4)]);
        assert_eq!(ids(RunChoice::Id("a".into())), [("aa".to_owned(), 1), ("aa".to_owned(), 3)]);
        assert_eq!(ids(RunChoice::Id("c".into())), []);
    }

    #[test]
    fn runs_without_ids_begin_at_their_suite_start() {
        let file = file(
            "{\"event_type\":\"SuiteStarted\",\"seed\":1}\n{\"event_type\":\"SuiteStarted\",\"seed\":2}\n",
        );
        let loaded = load(file.path(), &RunChoice::Last).unwrap();
        assert_eq!((loaded.run.seed, loaded.runs), (Some(2), vec!["#1".into(), "#2".into()]));
    }

    #[test]
    fn a_file_without_events_says_what_it_holds() {
        let file = file("hello\n");
        let error = load(file.path(), &RunChoice::Last).unwrap_err().to_string();
        assert!(error.contains("contains no events (line 1: not a JSON object"), "{error}");
    }
}
