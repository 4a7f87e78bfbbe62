//! The folder of one run in the registry: what it was, and what it became.

use std::path::{Path, PathBuf};

use proctor_files::limits;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::RunResult;
use crate::cassette::Cassette;
use crate::contained_path::RelPath;
use crate::disk;
use crate::error::{ErrorKind, ToolError};
use crate::limits::RunLimits;
use crate::orchestrator::{Backend, Topology};
use crate::registry::Place;
use crate::session::{self, SessionRecord};

/// What was known when the run began; enough to conclude it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Start {
    pub(crate) started_ms: u64,
    pub(crate) task: String,
    pub(crate) backend: Backend,
    pub(crate) cursor: Value,
    pub(crate) topology: Topology,
    /// Absent in folders of earlier versions.
    #[serde(default)]
    pub(crate) limits: Option<RunLimits>,
    pub(crate) warnings: Vec<String>,
    /// The orchestrator as it was installed.
    pub(crate) orchestrator: String,
    pub(crate) cassette: Option<Cassette>,
    /// The run has no network but its own loopback.
    #[serde(default)]
    pub(crate) network_off: bool,
}

/// One run of a workspace.
#[derive(Debug, Clone)]
pub(crate) struct RunFolder {
    pub(crate) number: u32,
    pub(crate) path: PathBuf,
}

/// The numbers of all runs of a workspace, in order.
pub(crate) fn numbers(place: &Place) -> Vec<u32> {
    let entries = std::fs::read_dir(place.file("runs")).into_iter().flatten().flatten();
    let mut numbers: Vec<u32> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

impl RunFolder {
    pub(crate) fn of(place: &Place, number: u32) -> Self {
        Self { number, path: place.file("runs").join(number.to_string()) }
    }

    pub(crate) fn start(&self) -> Result<Option<Start>, ToolError> {
        disk::read_json(&self.path.join("start.json"))
    }

    pub(crate) fn result(&self) -> Result<Option<RunResult>, ToolError> {
        disk::read_json(&self.path.join("result.json"))
    }

    pub(crate) fn output(&self, name: &str) -> String {
        let bytes =
            proctor_files::read(&self.path.join(name), limits::PROGRAM_OUTPUT).unwrap_or_default();
        without_colours(&String::from_utf8_lossy(&bytes))
    }
}

/// The run that is asked for, or the last one. `None` if nothing has run.
pub(crate) fn choose(place: &Place, number: Option<u32>) -> Result<Option<RunFolder>, ToolError> {
    let numbers = numbers(place);
    match number {
        None => Ok(numbers.last().map(|last| RunFolder::of(place, *last))),
        Some(number) if numbers.contains(&number) => Ok(Some(RunFolder::of(place, number))),
        Some(number) => Err(ToolError::new(ErrorKind::NoRun, format!("there is no run {number}"))
            .hint(format!("runs so far: {numbers:?}"))
            .details(serde_json::json!({"runs": numbers}))),
    }
}

/// The name of a run's session file in the workspace: the last run's is `session.jsonl`.
pub(crate) fn session_name(place: &Place, number: u32) -> String {
    if numbers(place).last() == Some(&number) {
        "session.jsonl".to_owned()
    } else {
        format!("session.{number}.jsonl")
    }
}

/// Whether a file of the workspace has the name of a session.
pub(crate) fn is_session_file(path: &str) -> bool {
    let between = path.strip_prefix("session").and_then(|rest| rest.strip_suffix(".jsonl"));
    between.is_some_and(|between| {
        let digits = between.strip_prefix('.').unwrap_or(between);
        digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// The records of a run's session.
pub(crate) fn records(
    place: &Place,
    number: u32,
    most: u64,
) -> Result<Vec<SessionRecord>, ToolError> {
    let name = session_name(place, number);
    let path = RelPath::parse(&name).map_err(|problem| ToolError::invalid(problem.to_string()))?;
    match place.root()?.read(&path, most) {
        Ok(bytes) => session::from_text(&bytes, &name),
        Err(error) => Err(ToolError::io("read", Path::new(&name), &error)),
    }
}

/// A text without terminal sequences.
pub(crate) fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\u{1b}' {
            plain.push(letter);
            continue;
        }
        // CSI runs to a letter; anything else is a single character.
        if letters.next() == Some('[') {
            letters.find(|letter| ('@'..='~').contains(letter));
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_removed() {
        assert_eq!(without_colours("\u{1b}[2mdim\u{1b}[0m plain"), "dim plain");
        assert_eq!(without_colours("\u{1b}[1;31mred\u{1b}("), "red");
    }
}
