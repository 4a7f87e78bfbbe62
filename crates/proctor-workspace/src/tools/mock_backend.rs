//! `test_mock_backend`: what the scripted model will answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Tools;
use crate::disk;
use crate::error::ToolError;
use crate::mock::script::{self, MockResponse};
use crate::orchestrator::{Backend, Topology};
use crate::registry::{self, Place};

/// Parameters of `test_mock_backend`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MockBackendParams {
    /// The workspace.
    pub workspace_id: String,
    /// The answers, in order. They replace those of an earlier call, and every run starts from the first.
    pub responses: Vec<MockResponse>,
}

/// Result of `test_mock_backend`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MockBackendResult {
    /// Always true; a problem is an error.
    pub configured: bool,
    /// How many answers there are now.
    pub response_count: usize,
}

impl Tools {
    /// Configures the mock of a workspace.
    pub async fn mock_backend(
        &self,
        params: MockBackendParams,
    ) -> Result<MockBackendResult, ToolError> {
        self.blocking(move |tools| {
            let place = registry::find(&tools.config, &params.workspace_id)?;
            let _held = place.lock_briefly()?;
            script::check(&params.responses, topology(&place)?.hat_names().as_deref())?;
            disk::replace_json(&place.file("mock.json"), &params.responses)?;
            Ok(MockBackendResult { configured: true, response_count: params.responses.len() })
        })
        .await
    }
}

pub(crate) fn topology(place: &Place) -> Result<Topology, ToolError> {
    let root = place.root()?;
    place.record.orchestrator.adapter().topology(&root, &place.record.config, Backend::Mock)
}

pub(crate) fn stored(place: &Place) -> Result<Option<Vec<MockResponse>>, ToolError> {
    disk::read_json(&place.file("mock.json"))
}
