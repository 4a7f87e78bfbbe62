//! Examining a journal's files, and repairing on request what can be repaired without loss.
//!
//! A repair moves, completes or closes; it never deletes a line or a file that holds one.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::decode;
use crate::disk::{Disk, Durability};
use crate::entry::{AnnotationLine, Entry};
use crate::error::{At, JournalError};
use crate::id;
use crate::journal::{Filter, Journal, JournalResult};
use crate::record::to_pretty;
use crate::store::{
    ANNOTATIONS, COUNT, CURRENT, ENTRIES, SESSION, SET_ASIDE, TEMP_SUFFIX, archive_files,
};
use crate::time::Moment;
use crate::warning::{Warning, WithWarnings};

/// What can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Problem {
    /// The current file is not an entry; the next change sets it aside.
    UnreadableCurrent,
    /// A file that was set aside earlier; it may be restored.
    SetAside,
    /// A line is not an entry.
    UnreadableLine,
    /// A last line without an end.
    TornLine,
    /// The same line twice.
    RepeatedLine,
    /// Two lines with one id that say different things.
    Contradiction,
    /// A line of another session among those of the session that is open.
    ForeignLine,
    /// Lines while no session is open.
    StrayLines,
    /// An active entry that is already resolved.
    AlreadyResolved,
    /// An active entry of another session.
    Orphan,
    /// A number of iterations that does not fit the history.
    IterationCount,
    /// A session id that cannot stand in a path.
    UnsafeSessionId,
    /// A tool counter that is not a number.
    UnreadableCounter,
    /// A temporary file of an interrupted write.
    TemporaryFile,
    /// An annotation of an entry that is not there, or that cannot be read.
    LooseAnnotation,
    /// Evidence that was moved out of an entry and is not where the entry says.
    MissingEvidence,
    /// A folder that others can look into.
    OpenFolder,
}

impl Problem {
    /// Whether [`Journal::repair`] does something about it.
    pub const fn is_repairable(self) -> bool {
        matches!(
            self,
            Self::UnreadableCurrent
                | Self::TornLine
                | Self::ForeignLine
                | Self::StrayLines
                | Self::AlreadyResolved
                | Self::TemporaryFile
                | Self::OpenFolder
        )
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub problem: Problem,
    /// Where.
    pub path: PathBuf,
    /// The line, counted from 1.
    pub line: Option<usize>,
    /// More about it.
    pub detail: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.detail)
    }
}

impl<D: Disk> Journal<D> {
    /// Everything that is wrong with this journal or lane. Changes nothing.
    pub fn examine(&self) -> Result<Vec<Finding>, JournalError> {
        let mut exam =
            JournalExamination { journal: self, findings: Vec::new(), lines: HashMap::new() };
        exam.folder()?;
        exam.names()?;
        for path in archive_files(&self.store, self.dir())? {
            exam.lines_of(&path, None)?;
        }
        let session = self.session_id()?;
        exam.session(session.as_deref())?;
        exam.lines_of(&self.store.path(ENTRIES), session.as_deref())?;
        exam.current()?;
        exam.annotations()?;
        exam.evidence()?;
        Ok(exam.findings)
    }

    /// Repairs what can be repaired and returns what is left.
    pub fn repair(&self, moment: &Moment) -> JournalResult<Vec<Finding>> {
        let found = self.examine()?;
        let mut locked = self.store.lock(moment)?;
        locked.recover_state()?;
        for finding in found {
            match finding.problem {
                Problem::OpenFolder => {
                    self.store.disk.make_private(&finding.path).at("close", &finding.path)?;
                }
                Problem::TornLine => locked.append(&finding.path, b"")?,
                _ => {}
            }
        }
        locked.return_foreign_lines()?;
        let warnings = std::mem::take(&mut locked.warnings);
        drop(locked);
        self.archive_leftover_lines(moment)?;
        Ok(WithWarnings { value: self.examine()?, warnings })
    }

    /// Puts a file that was set aside back as the active entry, once it can be read again.
    pub fn restore(&self, name: &str, moment: &Moment) -> JournalResult<Entry> {
        let path = self.store.path(name);
        let refuse = |reason: &str| {
            Err(JournalError::NotRestorable { path: path.clone(), reason: reason.to_owned() })
        };
        if !name.starts_with(SET_ASIDE) || name.contains(['/', '\\']) {
            return refuse("only files that were set aside can be restored");
        }
        let mut locked = self.store.lock(moment)?;
        let state = locked.recover_state()?;
        if state.current.is_some() {
            return refuse("another entry is active; resolve or abandon it first");
        }
        let Some(bytes) = self.store.read(&path)? else { return refuse("there is no such file") };
        let entry = match decode::record::<Entry>(&bytes) {
            Ok(entry) => entry,
            Err(error) => return refuse(&error.to_string()),
        };
        let text = to_pretty(&entry).at("write", &path)?;
        locked.replace(&self.store.path(CURRENT), text.as_bytes(), Durability::Synced)?;
        locked.remove(&path)?;
        let warnings = std::mem::take(&mut locked.warnings);
        Ok(WithWarnings { value: entry, warnings })
    }
}

struct JournalExamination<'a, D> {
    journal: &'a Journal<D>,
    findings: Vec<Finding>,
    /// Lines seen so far by id, with where they stand.
    lines: HashMap<String, (Vec<u8>, PathBuf)>,
}

impl<D: Disk> JournalExamination<'_, D> {
    fn add_finding(
        &mut self,
        problem: Problem,
        path: &Path,
        line: Option<usize>,
        detail: impl Into<String>,
    ) {
        self.findings.push(Finding { problem, path: path.to_owned(), line, detail: detail.into() });
    }

    fn folder(&mut self) -> Result<(), JournalError> {
        let dir = self.journal.dir().to_owned();
        if self.journal.store.names(&dir)?.is_empty() {
            return Ok(());
        }
        if !self.journal.store.disk.is_private(&dir).at("examine", &dir)? {
            self.add_finding(
                Problem::OpenFolder,
                &dir,
                None,
                "others can read it; evidence may hold secrets",
            );
        }
        Ok(())
    }

    fn names(&mut self) -> Result<(), JournalError> {
        let dir = self.journal.dir().to_owned();
        for name in self.journal.store.names(&dir)? {
            let path = dir.join(&name);
            if name.starts_with(SET_ASIDE) {
                self.add_finding(
                    Problem::SetAside,
                    &path,
                    None,
                    "set aside because it could not be read",
                );
            } else if name.ends_with(TEMP_SUFFIX) {
                self.add_finding(
                    Problem::TemporaryFile,
                    &path,
                    None,
                    "left by an interrupted write",
                );
            }
        }
        let count = dir.join(COUNT);
        if let Some(bytes) = self.journal.store.read(&count)?
            && String::from_utf8_lossy(&bytes).trim().parse::<u64>().is_err()
        {
            self.add_finding(
                Problem::UnreadableCounter,
                &count,
                None,
                "not a number; counts from 0",
            );
        }
        Ok(())
    }

    fn session(&mut self, session: Option<&str>) -> Result<(), JournalError> {
        let store = &self.journal.store;
        match session {
            Some(id) if !id::is_safe(id) => {
                let path = store.path(SESSION);
                self.add_finding(
                    Problem::UnsafeSessionId,
                    &path,
                    None,
                    "cannot stand in a file name",
                );
            }
            None if store.read(&store.path(ENTRIES))?.is_some_and(|bytes| !bytes.is_empty()) => {
                let path = store.path(ENTRIES);
                self.add_finding(Problem::StrayLines, &path, None, "lines, but no session is open");
            }
            _ => {}
        }
        Ok(())
    }

    fn lines_of(&mut self, path: &Path, session: Option<&str>) -> Result<(), JournalError> {
        let Some(bytes) = self.journal.store.read(path)? else { return Ok(()) };
        if bytes.last().is_some_and(|last| *last != b'\n') {
            let count = decode::lines(&bytes).last().map(|line| line.number);
            self.add_finding(Problem::TornLine, path, count, "the last line has no end");
        }
        for line in decode::lines(&bytes) {
            match line.entry() {
                Ok(entry) => self.line(path, line, entry, session),
                Err(error) => {
                    self.add_finding(
                        Problem::UnreadableLine,
                        path,
                        Some(line.number),
                        error.to_string(),
                    );
                }
            }
        }
        Ok(())
    }

    fn line(&mut self, path: &Path, line: decode::Line<'_>, entry: Entry, session: Option<&str>) {
        let number = Some(line.number);
        if session.is_some_and(|session| entry.session_id != session) {
            let detail = format!("belongs to {}", entry.session_id);
            self.add_finding(Problem::ForeignLine, path, number, detail);
        }
        self.iterations(path, number, &entry);
        match self.lines.get(&entry.id) {
            Some((bytes, first)) => {
                let detail = format!("{} also stands in {}", entry.id, first.display());
                let problem = if bytes == line.bytes {
                    Problem::RepeatedLine
                } else {
                    Problem::Contradiction
                };
                self.add_finding(problem, path, number, detail);
            }
            None => {
                self.lines.insert(entry.id, (line.bytes.to_owned(), path.to_owned()));
            }
        }
    }

    fn iterations(&mut self, path: &Path, line: Option<usize>, entry: &Entry) {
        let expected = entry.history.len() as u64 + 1;
        if entry.iteration_count != expected {
            let detail =
                format!("{} iterations, but {expected} are recorded", entry.iteration_count);
            self.add_finding(Problem::IterationCount, path, line, detail);
        }
    }

    fn current(&mut self) -> Result<(), JournalError> {
        let store = &self.journal.store;
        let path = store.path(CURRENT);
        match store.current()? {
            Some(Err(error)) => {
                self.add_finding(Problem::UnreadableCurrent, &path, None, error.to_string());
            }
            Some(Ok(entry)) if self.lines.contains_key(&entry.id) => {
                let detail = format!("{} is already resolved", entry.id);
                self.add_finding(Problem::AlreadyResolved, &path, None, detail);
            }
            Some(Ok(entry)) => {
                self.iterations(&path, None, &entry);
                if self.journal.session_id()?.as_ref() != Some(&entry.session_id) {
                    let detail = format!("{} was left by {}", entry.id, entry.session_id);
                    self.add_finding(Problem::Orphan, &path, None, detail);
                }
            }
            None => {}
        }
        Ok(())
    }

    fn annotations(&mut self) -> Result<(), JournalError> {
        let path = self.journal.store.path(ANNOTATIONS);
        let bytes = self.journal.store.read(&path)?.unwrap_or_default();
        let active = self.journal.list(&Filter { active: Some(true), ..Filter::default() })?;
        for line in decode::lines(&bytes) {
            let detail = match decode::record::<AnnotationLine>(line.bytes) {
                Ok(found) if self.lines.contains_key(&found.entry_id) => continue,
                Ok(found) if active.value.iter().any(|f| f.entry.id == found.entry_id) => continue,
                Ok(found) => format!("there is no entry {}", found.entry_id),
                Err(error) => error.to_string(),
            };
            self.add_finding(Problem::LooseAnnotation, &path, Some(line.number), detail);
        }
        Ok(())
    }

    fn evidence(&mut self) -> Result<(), JournalError> {
        let lane = self.journal.lane_name();
        let listed = self.journal.list(&Filter::default())?.value;
        for found in listed.into_iter().filter(|found| found.lane.as_deref() == lane) {
            for warning in self.journal.with_moved_evidence(found)?.warnings {
                if let Warning::EvidenceMissing { path, .. } = &warning {
                    self.add_finding(Problem::MissingEvidence, path, None, warning.to_string());
                }
            }
        }
        Ok(())
    }
}
