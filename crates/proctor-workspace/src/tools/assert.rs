//! `test_assert`: does what must hold, hold?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::run::folder::{self, RunFolder};
use super::run::{RunResult, conclude};
use super::{Tools, notice_if};
use crate::assertion::{self, Assertion, AssertionResult, Facts};
use crate::error::ToolError;
use crate::registry::{self, Place};
use crate::session::SessionRecord;
use crate::snapshot::Snapshots;

/// Parameters of `test_assert`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssertParams {
    /// The workspace.
    pub workspace_id: String,
    /// What must hold. All are judged, also after one has failed.
    pub assertions: Vec<Assertion>,
    /// The run to judge, by its number (default: the last). Files are always judged as they are now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<u32>,
}

/// Result of `test_assert`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AssertResult {
    /// All of them hold.
    pub passed: bool,
    /// One result per assertion, in order.
    pub results: Vec<AssertionResult>,
    /// How many do not hold.
    pub failed_count: usize,
    /// How many could not be decided, because secrets are masked in the texts they are about.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub undecided_count: usize,
    /// Assertions that may hold for a reason you did not mean: topics outside the configured topology, file patterns without
    /// a file, a run that never began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What to keep in mind about the texts in this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for this signature")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Tools {
    /// Judges assertions.
    pub async fn assert(&self, params: AssertParams) -> Result<AssertResult, ToolError> {
        self.blocking(move |tools| tools.assert_now(&params)).await
    }

    fn assert_now(&self, params: &AssertParams) -> Result<AssertResult, ToolError> {
        assertion::check_all(&params.assertions)?;
        let place = registry::find(&self.config, &params.workspace_id)?;
        conclude::recover_if_free(&self.config, &place)?;
        let run = folder::choose(&place, params.run)?;
        let (result, records) = match &run {
            Some(run) => self.run_and_records(&place, run)?,
            None => (None, Vec::new()),
        };
        let root = place.root()?;
        let output = |name: &str| run.as_ref().map_or_else(String::new, |run| run.output(name));
        let snapshots = Snapshots::of(&place.home, &place.record.id);
        let facts = Facts {
            root: &root,
            run: result.as_ref(),
            records: &records,
            stdout: output("stdout"),
            stderr: output("stderr"),
            scratchpad: place.record.orchestrator.adapter().scratchpad().to_owned(),
            snapshots: &snapshots,
            read_bytes: self.config.limits.read_bytes,
        };
        let results = assertion::judge_all(&params.assertions, &facts);
        let undecided_count = results.iter().filter(|result| result.undecided).count();
        let not_passed = results.iter().filter(|result| !result.passed).count();
        let failed_count = not_passed - undecided_count;
        let quotes = |result: &AssertionResult| {
            result.actual.is_string() || result.actual.is_object() || result.actual.is_array()
        };
        let notice = notice_if(results.iter().any(quotes));
        let start = run.as_ref().map(RunFolder::start).transpose()?.flatten();
        let topology = start.as_ref().map(|start| &start.topology);
        let warnings = assertion::warnings(&params.assertions, &results, &facts, topology);
        Ok(AssertResult {
            passed: not_passed == 0,
            results,
            failed_count,
            undecided_count,
            warnings,
            notice,
        })
    }

    fn run_and_records(
        &self,
        place: &Place,
        run: &RunFolder,
    ) -> Result<(Option<RunResult>, Vec<SessionRecord>), ToolError> {
        let Some(result) = run.result()? else { return Err(conclude::still_running(run.number)) };
        let records = folder::records(place, run.number, self.config.limits.read_bytes)?;
        Ok((Some(result), records))
    }
}
