//! What a loaded project writes at the end of a run: the output of RSpec's formatters over the recording, and its file of statuses.

use proctor_process::Channel;
use serde::Deserialize;
use serde_json::json;

use crate::example::OutsideError;
use crate::suite::{FinalReport, SuiteEnd};

/// What became of the report.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RunReport {
    /// What could not be written although it was asked for: the run is no success.
    errors: Vec<String>,
    /// What a person should know.
    notes: Vec<String>,
}

impl RunReport {
    /// Has a parent that has loaded the project report the run. Dropping the future abandons the report; the parent is ended anyway.
    pub(super) async fn request(channel: &Channel, report: &FinalReport) -> Self {
        let body = json!({
            "recording": report.recording,
            "output": report.output,
            "terminal": report.is_terminal,
        });
        match channel.request("report", &body, None).await {
            Ok(reply) => reply.body.parse().unwrap_or_else(|error| Self::failed(&error)),
            Err(error) => Self::failed(&error),
        }
    }

    pub(super) fn failed(error: &dyn std::error::Error) -> Self {
        Self { errors: vec![error.to_string()], ..Self::default() }
    }

    pub(super) fn add_to(self, end: &mut SuiteEnd) {
        end.errors.extend(self.errors.into_iter().map(|message| OutsideError {
            phase: "formatter".to_owned(),
            message: Some(message),
            ..OutsideError::default()
        }));
        end.notes.extend(self.notes);
    }
}
