//! `test_cleanup`: everything gone, but for the session if it is wanted.

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Tools;
use super::setup::FORCE_WAIT;
use crate::contained_path::RelPath;
use crate::disk;
use crate::error::{ErrorKind, ToolError};
use crate::registry;

/// Parameters of `test_cleanup`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CleanupParams {
    /// The workspace.
    pub workspace_id: String,
    /// Keep `session.jsonl` in the folder and remove everything else.
    #[serde(default)]
    pub preserve_session: bool,
    /// Stop a run that is under way instead of refusing.
    #[serde(default)]
    pub force: bool,
}

/// Result of `test_cleanup`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CleanupResult {
    /// Whether the workspace is gone.
    pub deleted: bool,
    /// Files that are still there.
    pub preserved_files: Vec<PathBuf>,
}

impl Tools {
    /// Removes a workspace and forgets its id.
    pub async fn cleanup(&self, params: CleanupParams) -> Result<CleanupResult, ToolError> {
        self.blocking(move |tools| tools.cleanup_now(&params)).await
    }

    fn cleanup_now(&self, params: &CleanupParams) -> Result<CleanupResult, ToolError> {
        let mut place = registry::find(&self.config, &params.workspace_id)?;
        if params.force && place.is_held() {
            disk::replace(&place.file("cancel"), b"")?;
        }
        let patience = if params.force { FORCE_WAIT } else { Duration::from_millis(500) };
        let _held = place.lock_when_idle(patience)?;
        let session = RelPath::parse("session.jsonl")
            .map_err(|problem| ToolError::new(ErrorKind::Io, problem.to_string()))?;
        let kept = place.record.path.join(session.as_str());
        let keep = params.preserve_session && kept.is_file();
        place.delete(&self.config, keep.then_some(&session))?;
        Ok(CleanupResult {
            deleted: true,
            preserved_files: if keep { vec![kept] } else { Vec::new() },
        })
    }
}
