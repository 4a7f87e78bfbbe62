//! `test_diff`: what changed between two snapshots, or since one.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Tools, notice_if};
use crate::contained_path::RelPath;
use crate::error::ToolError;
use crate::registry;
use crate::snapshot::diff::{self, Compared, FileDiff};
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

/// How many files differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiffCounts {
    /// Files in both states that differ.
    pub changed: usize,
    /// Files only in the later state.
    pub added: usize,
    /// Files only in the earlier state.
    pub deleted: usize,
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
    /// Lines or names of files were left out of this answer; the counts are whole.
    pub truncated: bool,
    /// How many files changed, were added and were deleted in all.
    pub counts: DiffCounts,
    /// What you should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What to keep in mind about the texts in this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
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
        let all = Selection::new(&[], &[])?;
        let look =
            |selection: &Selection, known: &Manifest| Snapshots::look(&root, selection, known);
        // The state right now is looked at by the patterns of the other side.
        let (old, new) = match (&*params.baseline, &*params.compare_to) {
            (CURRENT, CURRENT) => {
                let now = look(&all, &Manifest::default())?;
                (now.clone(), now)
            }
            (CURRENT, id) => {
                let new = snapshots.load(id)?;
                (look(&new.selection()?, &new)?, new)
            }
            (id, CURRENT) => {
                let old = snapshots.load(id)?;
                let new = look(&old.selection()?, &old)?;
                (old, new)
            }
            (before, after) => (snapshots.load(before)?, snapshots.load(after)?),
        };
        let anything = Selection::anything();
        let Compared { old, new, changes, warnings } = Compared::new(old, new, &anything)?;
        let limits = &self.config.limits;
        // A quarter of the answer for names, the rest for lines.
        let mut room = limits.answer_bytes / 4;
        let mut result = DiffResult {
            changed_files: names(&changes.changed, &mut room),
            added_files: names(&changes.added, &mut room),
            deleted_files: names(&changes.deleted, &mut room),
            counts: DiffCounts {
                changed: changes.changed.len(),
                added: changes.added.len(),
                deleted: changes.deleted.len(),
            },
            warnings,
            ..DiffResult::default()
        };
        let named =
            result.changed_files.len() + result.added_files.len() + result.deleted_files.len();
        let unnamed = named < changes.all().count();
        if params.omit_hunks {
            result.truncated = unnamed;
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
        (result.diffs, result.truncated) = diff::diffs(
            &changes,
            &|path| content(&params.baseline, &old, path),
            &|path| content(&params.compare_to, &new, path),
            limits.field_bytes,
            limits.answer_bytes / 4 * 3,
        );
        result.truncated |= unnamed;
        result.notice = notice_if(!result.diffs.is_empty());
        Ok(result)
    }
}

/// As many names as there is room for.
fn names(all: &[String], room: &mut usize) -> Vec<String> {
    let mut fits = |path: &&String| {
        let left = room.checked_sub(path.len() + 8);
        *room = left.unwrap_or(0);
        left.is_some()
    };
    all.iter().take_while(|path| fits(path)).cloned().collect()
}
