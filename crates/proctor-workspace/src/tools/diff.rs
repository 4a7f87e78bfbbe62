//! `test_diff`: what changed between two snapshots, or since one.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Tools;
use crate::beneath::RelPath;
use crate::error::ToolError;
use crate::registry;
use crate::snapshot::diff::{self, FileDiff};
use crate::snapshot::walk::{Kind, LARGEST_KEPT};
use crate::snapshot::{CURRENT, Manifest, Selection, Snapshots};

fn current() -> String {
    CURRENT.to_owned()
}

/// Parameters of `test_diff`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiffParams {
    /// The workspace.
    pub workspace_id: String,
    /// The state before: a snapshot id, or `initial` for the state after `test_setup`.
    pub baseline: String,
    /// The state after: a snapshot id, or `current` (default).
    #[serde(default = "current")]
    pub compare_to: String,
    /// Leave the lines out of the answer.
    #[serde(default)]
    pub omit_hunks: bool,
}

/// Result of `test_diff`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiffResult {
    /// Files in both states that differ.
    pub changed_files: Vec<String>,
    /// Files only in the later state.
    pub added_files: Vec<String>,
    /// Files only in the earlier state.
    pub deleted_files: Vec<String>,
    /// The lines that changed, by file.
    pub diffs: BTreeMap<String, FileDiff>,
    /// Lines were left out of this answer.
    pub truncated: bool,
}

impl Tools {
    /// Compares two states of a workspace.
    pub async fn diff(&self, params: DiffParams) -> Result<DiffResult, ToolError> {
        self.blocking(move |tools| tools.diff_now(&params)).await
    }

    fn diff_now(&self, params: &DiffParams) -> Result<DiffResult, ToolError> {
        let place = registry::find(&self.config, &params.workspace_id)?;
        let root = place.root()?;
        let snapshots = Snapshots::of(&place.home, &place.record.id);
        let selection = Selection::new(&[], &[])?;
        let state = |name: &str, known: &Manifest| match name {
            CURRENT => Snapshots::look(&root, &selection, known),
            id => snapshots.load(id),
        };
        let old = state(&params.baseline, &Manifest::default())?;
        let new = state(&params.compare_to, &old)?;
        let changes = diff::compare(&old, &new);
        let mut result = DiffResult {
            changed_files: changes.changed.clone(),
            added_files: changes.added.clone(),
            deleted_files: changes.deleted.clone(),
            ..DiffResult::default()
        };
        if params.omit_hunks {
            return Ok(result);
        }
        let content = |name: &str, manifest: &Manifest, path: &str| {
            let Some(entry) = manifest.entries.get(path) else { return Ok(None) };
            match (&entry.kind, name, RelPath::parse(path)) {
                (Kind::File, CURRENT, Ok(inside)) => root
                    .read(&inside, LARGEST_KEPT)
                    .map(Some)
                    .map_err(|error| ToolError::io("read", std::path::Path::new(path), &error)),
                _ => snapshots.content(entry).map(Some),
            }
        };
        let limits = &self.config.limits;
        (result.diffs, result.truncated) = diff::diffs(
            &changes,
            &|path| content(&params.baseline, &old, path),
            &|path| content(&params.compare_to, &new, path),
            limits.field_bytes,
            limits.answer_bytes,
        );
        Ok(result)
    }
}
