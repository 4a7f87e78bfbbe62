//! Checking a recording: can every line be read, was none changed, is nothing missing, do the numbers agree?
//!
//! What was announced (`SuiteStarted`), what was started, what ended and what was counted (`SuiteFinished`) are compared, each
//! line with its [digest](crate::line_digest), and each event with the events before it. Whatever does not fit is named. The checks know
//! nothing of verdicts: a recording can be complete although everything in it failed.
//!
//! [`run`] holds what is checked within one run, [`attempts`] the life of examples, [`counts`] the numbers, [`chain`] the digests.

mod attempts;
mod chain;
mod counts;
#[cfg(test)]
mod mutations;
mod run;
#[cfg(test)]
mod tests;
mod verdicts;

use std::collections::HashMap;
use std::fmt;
use std::io::{self, BufRead};
use std::path::Path;

use serde::Serialize;

use self::run::RunCheck;
use crate::reader::{Entry, Problem, ProblemKind, Reader, RunSplitter};
use crate::store::RunFolder;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing is lost.
    Note,
    /// Something is missing or cannot be trusted.
    Error,
}

/// Something a check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The line, from 1; absent for findings about a whole run.
    pub line: Option<u64>,
    /// How bad it is.
    pub severity: Severity,
    /// What it is.
    pub message: String,
}

/// What a recording is worth, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordingState {
    /// Everything that was announced has a result, and the numbers agree.
    Complete,
    /// The same, but the run was stopped before its end; what was left out is recorded as `not_run`.
    Interrupted,
    /// The run is going on; nothing is wrong so far.
    Running,
    /// The recording ends before the run did, or announced examples have no result.
    CutOff,
    /// Lines are unreadable, were changed, or contradict each other.
    Damaged,
}

impl RecordingState {
    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Interrupted => "interrupted",
            Self::Running => "running",
            Self::CutOff => "cut off",
            Self::Damaged => "damaged",
        }
    }

    /// Whether the recording holds the whole of its run.
    pub fn is_whole(self) -> bool {
        matches!(self, Self::Complete | Self::Interrupted)
    }
}

impl fmt::Display for RecordingState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What the digests of a run's lines say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DigestState {
    /// No line has one: written by an older version, or by another program.
    #[default]
    Absent,
    /// Every line has one, and it is right.
    Matches,
    /// A line was changed, or lost its digest.
    Differs,
}

impl fmt::Display for DigestState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Absent => "no digest",
            Self::Matches => "digest matches",
            Self::Differs => "digest differs",
        })
    }
}

/// What a check found about one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckedRun {
    /// Its id; runs without one are numbered: `#1`.
    pub run: String,
    /// What its recording is worth.
    pub state: RecordingState,
    /// What the digests of its lines say.
    pub digest: DigestState,
    /// How many results `SuiteStarted` announced: examples times repetitions.
    pub announced: Option<u64>,
    /// How many final results there are, those of `not_run` included.
    pub finished: u64,
    /// How many of those are `not_run`.
    pub not_run: u64,
}

/// What a check found in all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Validation {
    /// The worst state of its runs.
    pub state: RecordingState,
    /// How many events were read.
    pub events: u64,
    /// The runs, in the order they begin.
    pub runs: Vec<CheckedRun>,
    /// Everything found: what belongs to a line in order of lines, then what belongs to whole runs.
    pub findings: Vec<Finding>,
}

/// Checks a recording that is a file of its own, or `events.jsonl` beside the `run.json` of its run.
pub fn validate_file(path: &Path) -> io::Result<Validation> {
    let mut validation = validate(Reader::open(path)?);
    let folder = path.file_name().filter(|name| *name == "events.jsonl").and(path.parent());
    if let Some(folder) = folder.and_then(RunFolder::at) {
        validation.add_folder_state(&folder);
    }
    Ok(validation)
}

/// Checks everything that a reader yields.
pub fn validate<R: BufRead>(mut reader: Reader<R>) -> Validation {
    let mut check = Check::default();
    while let Some(entry) = reader.next() {
        match entry {
            Entry::Event { line, event } => {
                let (begins, place) = check.splitter.place(&event);
                if let Some(name) = begins {
                    check.runs.push(RunCheck::new(name, &event));
                }
                check.events += 1;
                check.current = Some(place);
                check.runs[place].event(line, &event, reader.bytes(), &mut check.findings);
            }
            Entry::Problem(problem) => check.problem(&problem, reader.bytes()),
        }
    }
    check.end()
}

/// A map that is looked into for every line.
type FastMap<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// Everything found so far.
#[derive(Debug, Default)]
pub(crate) struct Findings(Vec<Finding>);

impl Findings {
    fn note(&mut self, line: Option<u64>, message: impl Into<String>) {
        self.0.push(Finding { line, severity: Severity::Note, message: message.into() });
    }

    fn error(&mut self, line: Option<u64>, message: impl Into<String>) {
        self.0.push(Finding { line, severity: Severity::Error, message: message.into() });
    }
}

#[derive(Default)]
struct Check {
    events: u64,
    splitter: RunSplitter,
    runs: Vec<RunCheck>,
    /// The run of the last event.
    current: Option<usize>,
    findings: Findings,
    /// A line was unreadable before any run began.
    damaged: bool,
}

impl Check {
    fn problem(&mut self, problem: &Problem, bytes: &[u8]) {
        let run = self.current.map(|place| &mut self.runs[place]);
        // A writer that dies tears its last line; after the end of a run there is no writer.
        if problem.kind == ProblemKind::Torn && !run.as_ref().is_some_and(|run| run.is_finished()) {
            let message = format!("{}; it is ignored", problem.kind);
            return self.findings.note(Some(problem.line), message);
        }
        self.findings.error(Some(problem.line), problem.kind.to_string());
        match run {
            Some(run) => run.unreadable(bytes),
            None => self.damaged = true,
        }
    }

    fn end(mut self) -> Validation {
        let runs: Vec<CheckedRun> =
            self.runs.into_iter().map(|run| run.end(&mut self.findings)).collect();
        let state = if self.damaged { RecordingState::Damaged } else { worst_state(&runs) };
        Validation { state, events: self.events, runs, findings: self.findings.0 }
    }
}

impl Validation {
    /// Adds what the run's folder knows: who stopped it, and whether it is going on.
    fn add_folder_state(&mut self, folder: &RunFolder) {
        let Ok(info) = folder.info() else { return };
        let Some(run) = self.runs.iter_mut().find(|run| run.run == info.run_id.to_string()) else {
            let message = format!("run.json is of run {}, which is not in this file", info.run_id);
            self.findings.push(Finding { line: None, severity: Severity::Error, message });
            self.state = RecordingState::Damaged;
            return;
        };
        match run.state {
            RecordingState::Complete if info.interrupted => run.state = RecordingState::Interrupted,
            RecordingState::CutOff if folder.is_live() => {
                run.state = RecordingState::Running;
                self.findings.retain(|finding| finding.line.is_some());
            }
            _ => return,
        }
        if self.state != RecordingState::Damaged {
            self.state = worst_state(&self.runs);
        }
    }
}

/// The state of a file with these runs. A file without any run lacks everything.
fn worst_state(runs: &[CheckedRun]) -> RecordingState {
    runs.iter().map(|run| run.state).max().unwrap_or(RecordingState::CutOff)
}
