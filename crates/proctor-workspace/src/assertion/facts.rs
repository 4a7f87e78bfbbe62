//! What assertions are judged by: the result of a run, its session, its output, and the files.

use proctor_text::VisibleMatch;
use regex::Regex;
use serde_json::{Value, json};

use crate::contained_path::{PathProblem, RelPath, Root};
use crate::error::ToolError;
use crate::session::SessionRecord;
use crate::snapshot::diff::Compared;
use crate::snapshot::{Manifest, Selection, Snapshots};
use crate::tools::run::RunResult;

/// Why a file of the workspace cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub(super) enum FileError {
    #[error(transparent)]
    Path(#[from] PathProblem),
    /// `instead` names files that are there, and begins with `; `.
    #[error("{path} does not exist{instead}")]
    Missing { path: String, instead: String },
    #[error("{path} cannot be read: {source}")]
    Unreadable { path: String, source: std::io::Error },
    #[error("{path} is not JSON: {source}")]
    NotJson { path: String, source: serde_json::Error },
}

/// Everything an assertion may look at.
pub(crate) struct Facts<'a> {
    pub(crate) root: &'a Root,
    /// The run that is judged; `None` before the first.
    pub(crate) run: Option<&'a RunResult>,
    pub(crate) records: &'a [SessionRecord],
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) scratchpad: String,
    pub(crate) snapshots: &'a Snapshots,
    pub(crate) read_bytes: u64,
}

/// A text that a pattern is sought in.
pub(super) struct TestedText {
    pub(super) text: String,
    /// Whether secrets were masked in it when it was kept. A mask in any other text is the program's own.
    is_filtered: bool,
}

impl TestedText {
    /// A text that was kept without secrets.
    pub(super) fn filtered(text: String) -> Self {
        Self { text, is_filtered: true }
    }

    pub(super) fn find(&self, pattern: &Regex) -> VisibleMatch {
        if self.is_filtered {
            let matches = pattern.find_iter(&self.text).map(|found| found.range());
            return VisibleMatch::of(&self.text, matches);
        }
        let found = pattern.find(&self.text).map(|found| found.range());
        found.map_or(VisibleMatch::Absent, VisibleMatch::Found)
    }
}

/// Whether we write this file of the workspace, without secrets. All other files are kept byte for byte.
pub(super) fn is_filtered(path: &str) -> bool {
    let parsed = RelPath::parse(path).map(|path| path.to_string());
    parsed.is_ok_and(|path| crate::tools::run::folder::is_session_file(&path))
}

impl Facts<'_> {
    /// A file that a pattern is sought in.
    pub(super) fn tested_file(&self, path: &str) -> Result<TestedText, FileError> {
        Ok(TestedText { text: self.text(path)?, is_filtered: is_filtered(path) })
    }

    /// A file as text.
    pub(super) fn text(&self, path: &str) -> Result<String, FileError> {
        let parsed = RelPath::parse(path)?;
        match self.root.read(&parsed, self.read_bytes) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(FileError::Missing { path: path.to_owned(), instead: self.neighbours(path) })
            }
            Err(source) => Err(FileError::Unreadable { path: path.to_owned(), source }),
        }
    }

    /// The files that are there instead, for the message.
    fn neighbours(&self, path: &str) -> String {
        let Ok(selection) = Selection::new(&[], &[]) else { return String::new() };
        let Ok(manifest) = Snapshots::look(self.root, &selection, &Manifest::default()) else {
            return String::new();
        };
        let near = proctor_text::nearest(path, manifest.entries.keys().map(String::as_str));
        match near {
            Some(near) => format!("; there is {near}"),
            None if manifest.entries.is_empty() => "; the workspace has no files".to_owned(),
            None => {
                let some: Vec<&str> = manifest.entries.keys().take(8).map(String::as_str).collect();
                format!("; there are {}", some.join(", "))
            }
        }
    }

    /// A file as JSON.
    pub(super) fn json(&self, path: &str) -> Result<Value, FileError> {
        let text = self.text(path)?;
        serde_json::from_str(&text)
            .map_err(|source| FileError::NotJson { path: path.to_owned(), source })
    }

    pub(super) fn exists(&self, path: &str) -> Result<bool, FileError> {
        let parsed = RelPath::parse(path)?;
        let kind = self.root.kind(&parsed);
        kind.map(|kind| kind.is_some())
            .map_err(|source| FileError::Unreadable { path: path.to_owned(), source })
    }

    /// The events of the session that count.
    pub(super) fn events(&self, published_only: bool) -> Vec<&SessionRecord> {
        self.records
            .iter()
            .filter(|record| record.is_published() || (record.is_bus() && !published_only))
            .collect()
    }

    /// The files of a snapshot and the files now, as far as the snapshot and the assertion select them.
    pub(super) fn compare_with(
        &self,
        snapshot: &str,
        include: &[String],
        exclude: &[String],
    ) -> Result<Compared, ToolError> {
        let selection = Selection::within(include, exclude)?;
        let then = self.snapshots.load(snapshot)?;
        let now = Snapshots::look(self.root, &then.selection()?.and(&selection), &then)?;
        Compared::new(then, now, &selection)
    }

    /// A file's state in a snapshot and now, as hashes.
    pub(super) fn file_then_and_now(
        &self,
        path: &str,
        since: &str,
    ) -> Result<(Value, Value), ToolError> {
        let selection = Selection::new(&[crate::snapshot::literal(path)], &[])?;
        let then = self.snapshots.load(since)?;
        let now = Snapshots::look(self.root, &selection, &then)?;
        let shown = |manifest: &Manifest| {
            let entry = manifest.entries.get(path);
            entry.map_or(Value::Null, |entry| json!(crate::snapshot::walk::hex_of(&entry.hash)))
        };
        Ok((shown(&then), shown(&now)))
    }
}
