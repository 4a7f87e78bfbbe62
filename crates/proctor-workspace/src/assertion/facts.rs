//! What assertions are judged by: the result of a run, its session, its output, and the files.

use serde_json::{Value, json};

use crate::beneath::{RelPath, Root};
use crate::error::ToolError;
use crate::session::SessionRecord;
use crate::snapshot::{Manifest, Selection, Snapshots};
use crate::tools::run::RunResult;

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

impl Facts<'_> {
    /// A file as text; the error is for people.
    pub(super) fn text(&self, path: &str) -> Result<String, String> {
        let parsed = RelPath::parse(path).map_err(|problem| problem.to_string())?;
        match self.root.read(&parsed, self.read_bytes) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(format!("{path} does not exist{}", self.neighbours(path)))
            }
            Err(error) => Err(format!("{path} cannot be read: {error}")),
        }
    }

    /// The files that are there instead, for the message.
    fn neighbours(&self, path: &str) -> String {
        let Ok(selection) = Selection::new(&[], &[]) else { return String::new() };
        let Ok(manifest) = Snapshots::look(self.root, &selection, &Manifest::default()) else {
            return String::new();
        };
        let near = crate::error::nearest(path, manifest.entries.keys().map(String::as_str));
        match near {
            Some(near) => format!("; there is {near}"),
            None if manifest.entries.is_empty() => "; the workspace has no files".to_owned(),
            None => {
                let some: Vec<&str> = manifest.entries.keys().take(8).map(String::as_str).collect();
                format!("; there are {}", some.join(", "))
            }
        }
    }

    pub(super) fn exists(&self, path: &str) -> Result<bool, String> {
        let parsed = RelPath::parse(path).map_err(|problem| problem.to_string())?;
        self.root
            .kind(&parsed)
            .map(|kind| kind.is_some())
            .map_err(|error| format!("{path}: {error}"))
    }

    /// The events of the session that count.
    pub(super) fn events(&self, published_only: bool) -> Vec<&SessionRecord> {
        self.records
            .iter()
            .filter(|record| record.is_published() || (record.is_bus() && !published_only))
            .collect()
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
