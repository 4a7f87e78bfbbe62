//! `test_snapshot`: the files of a workspace at this moment.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Tools, cut, notice_if};
use crate::error::ToolError;
use crate::registry;
use crate::snapshot::walk::{Kind, hex_of};
use crate::snapshot::{Manifest, Selection, Snapshots, diff};

/// What an entry of the answer takes beside its path and content.
const ENTRY: usize = 160;

/// Parameters of `test_snapshot`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SnapshotParams {
    /// The workspace.
    pub workspace_id: String,
    /// Only files that match one of these patterns, such as `src/**` (default: all but `.ralph`, `.git` and
    /// the sessions). The patterns are kept with the snapshot: `test_diff` and `snapshot_matches` look at these
    /// files only, on both sides.
    #[serde(default)]
    pub include_patterns: Vec<String>,
    /// No files that match one of these patterns.
    #[serde(default)]
    pub exclude_patterns: Vec<String>,
    /// Leave the contents out of the answer; they are kept all the same.
    #[serde(default)]
    pub omit_contents: bool,
}

/// A file whose content is not shown as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OtherFile {
    /// `binary`, `not_utf8` or `symlink`.
    pub kind: String,
    /// Its size.
    pub bytes: u64,
    /// The SHA-256 of its content, or of the link's target.
    pub sha256: String,
    /// Where the link points to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// Result of `test_snapshot`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotResult {
    /// For `test_diff` and the assertions about files.
    pub snapshot_id: String,
    /// Text files with their contents.
    pub files: BTreeMap<String, String>,
    /// Binary files, text that is not UTF-8, and links.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub other_files: BTreeMap<String, OtherFile>,
    /// How many files the snapshot has.
    pub file_count: usize,
    /// Their size together.
    pub total_bytes: u64,
    /// Contents or files were left out of this answer (not of the snapshot).
    pub truncated: bool,
    /// What you should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What to keep in mind about the texts in this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

impl Tools {
    /// Takes a snapshot.
    pub async fn snapshot(&self, params: SnapshotParams) -> Result<SnapshotResult, ToolError> {
        self.blocking(move |tools| {
            let selection = Selection::new(&params.include_patterns, &params.exclude_patterns)?;
            let place = registry::find(&tools.config, &params.workspace_id)?;
            let root = place.root()?;
            let snapshots = Snapshots::of(&place.home, &place.record.id);
            let (id, manifest) = snapshots.take(&root, &selection, None)?;
            let mut result = SnapshotResult {
                snapshot_id: id,
                files: BTreeMap::new(),
                other_files: BTreeMap::new(),
                file_count: manifest.entries.len(),
                total_bytes: manifest.entries.values().map(|entry| entry.size).sum(),
                truncated: false,
                warnings: selection.warnings(&manifest.entries.keys()),
                notice: None,
            };
            if !params.omit_contents {
                tools.show(&snapshots, &manifest, &mut result);
                result.notice = notice_if(!result.files.is_empty());
            }
            Ok(result)
        })
        .await
    }

    fn show(&self, snapshots: &Snapshots, manifest: &Manifest, result: &mut SnapshotResult) {
        let limits = &self.config.limits;
        let mut room = limits.answer_bytes;
        for (path, entry) in &manifest.entries {
            if room == 0 {
                result.truncated = true;
                return;
            }
            let mut other = OtherFile {
                kind: "symlink".to_owned(),
                bytes: entry.size,
                sha256: hex_of(&entry.hash),
                target: None,
            };
            room = room.saturating_sub(path.len() + ENTRY);
            if let Kind::Link { target } = &entry.kind {
                other.target = Some(target.clone());
                result.other_files.insert(path.clone(), other);
                continue;
            }
            match snapshots.content(entry).map(String::from_utf8) {
                Ok(Ok(text)) if !diff::is_binary(text.as_bytes()) => {
                    let (text, was_cut) = cut(&text, limits.field_bytes.min(room));
                    room = room.saturating_sub(text.len());
                    result.truncated |= was_cut;
                    result.files.insert(path.clone(), text);
                }
                Ok(text) => {
                    let kind = if text.is_ok() { "binary" } else { not_text(&text) };
                    kind.clone_into(&mut other.kind);
                    result.other_files.insert(path.clone(), other);
                }
                Err(_) => {
                    "too_large".clone_into(&mut other.kind);
                    result.other_files.insert(path.clone(), other);
                }
            }
        }
    }
}

fn not_text(content: &Result<String, std::string::FromUtf8Error>) -> &'static str {
    match content {
        Err(bytes) if diff::is_binary(bytes.as_bytes()) => "binary",
        _ => "not_utf8",
    }
}
