//! The same run several times from the same state, to find what is flaky.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Request, RunResult, exhausted};
use crate::assertion::AssertionResult;
use crate::error::ToolError;
use crate::registry;
use crate::snapshot::{Selection, Snapshots};
use crate::tools::assert::AssertParams;
use crate::tools::{CallContext, Tools};

/// How often one assertion held.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AssertionRate {
    /// What it says.
    pub assertion: String,
    /// In how many repeats it held.
    pub passed: u32,
    /// In how many it did not.
    pub failed: u32,
    /// In how many that is unknown, because secrets are masked in the text it is about.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub undecided: u32,
    /// It held in some and not in others.
    pub flaky: bool,
    /// The result of the last repeat in which it did not hold; if there is none, of the last in which that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<AssertionResult>,
}

/// What repeated runs showed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Flakiness {
    /// How often it was run.
    pub repeats: u32,
    /// The numbers of the runs.
    pub runs: Vec<u32>,
    /// Every assertion with its counts.
    pub assertions: Vec<AssertionRate>,
    /// Why the runs ended, in order.
    pub termination_reasons: Vec<String>,
    /// Some assertion or reason was not always the same.
    pub flaky: bool,
    /// In how many repeats every assertion held.
    pub passed: u32,
}

impl Flakiness {
    /// Adds the outcome of one repeat.
    fn add(&mut self, run: &RunResult, results: &[AssertionResult], titles: &[String]) {
        self.repeats += 1;
        self.runs.push(run.run);
        self.termination_reasons.push(run.termination_reason.clone());
        self.assertions.resize(results.len(), AssertionRate::default());
        for ((rate, result), title) in self.assertions.iter_mut().zip(results).zip(titles) {
            rate.assertion.clone_from(title);
            if result.passed {
                rate.passed += 1;
            } else if result.undecided {
                rate.undecided += 1;
                if rate.failed == 0 {
                    rate.last_failure = Some(result.clone());
                }
            } else {
                rate.failed += 1;
                rate.last_failure = Some(result.clone());
            }
            rate.flaky = rate.passed > 0 && rate.failed > 0;
        }
        self.passed += u32::from(results.iter().all(|result| result.passed));
        let same = self.termination_reasons.windows(2).all(|pair| pair[0] == pair[1]);
        self.flaky = !same || self.assertions.iter().any(|rate| rate.flaky);
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for this signature")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Tools {
    pub(super) async fn repeat(
        &self,
        request: Request,
        context: &CallContext,
    ) -> Result<RunResult, ToolError> {
        let repeats = request.params.repeat.unwrap_or(1);
        let id = request.params.workspace_id.clone();
        let snapshot = if repeats > 1 { Some(self.remember(&id).await?) } else { None };
        let titles: Vec<String> =
            request.params.assertions.iter().map(crate::Assertion::title).collect();
        let mut flakiness = Flakiness::default();
        let (mut last, mut warnings) = (None, Vec::new());
        for repeat in 0..repeats {
            if repeat > 0
                && let Some(snapshot) = &snapshot
            {
                self.put_back(&id, snapshot).await?;
            }
            let request = Request { restored: repeat > 0, ..request.clone() };
            let result = self.run_once(request.clone(), context).await?;
            let result = exhausted(result, request.params.allow_exhausted)?;
            let judged = self
                .assert(AssertParams {
                    workspace_id: id.clone(),
                    assertions: request.params.assertions.clone(),
                    run: Some(result.run),
                })
                .await?;
            flakiness.add(&result, &judged.results, &titles);
            warnings = judged.warnings;
            let stop = result.termination_reason == "HarnessCancelled";
            last = Some(result);
            if stop {
                break;
            }
        }
        let mut result = last.unwrap_or_default();
        result.flakiness = Some(flakiness);
        result.warnings.append(&mut warnings);
        Ok(result)
    }

    async fn remember(&self, id: &str) -> Result<String, ToolError> {
        let id = id.to_owned();
        self.blocking(move |tools| {
            let place = registry::find(&tools.config, &id)?;
            let snapshots = Snapshots::of(&place.home, &place.record.id);
            Ok(snapshots.take(&place.root()?, &Selection::new(&[], &[])?, None)?.0)
        })
        .await
    }

    async fn put_back(&self, id: &str, snapshot: &str) -> Result<(), ToolError> {
        let (id, snapshot) = (id.to_owned(), snapshot.to_owned());
        self.blocking(move |tools| {
            let place = registry::find(&tools.config, &id)?;
            let _held = place.lock_briefly()?;
            let snapshots = Snapshots::of(&place.home, &place.record.id);
            snapshots.restore(&place.root()?, &snapshot, &Selection::new(&[], &[])?)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flaky_is_what_is_not_always_the_same() {
        let mut flakiness = Flakiness::default();
        let run = |reason: &str| RunResult {
            termination_reason: reason.to_owned(),
            ..RunResult::default()
        };
        let result = |passed| AssertionResult { passed, ..AssertionResult::default() };
        let titles = ["a".to_owned(), "b".to_owned()];
        flakiness.add(&run("X"), &[result(true), result(false)], &titles);
        assert!(!flakiness.flaky);
        flakiness.add(&run("X"), &[result(true), result(true)], &titles);
        assert!(flakiness.flaky && !flakiness.assertions[0].flaky && flakiness.assertions[1].flaky);
        assert_eq!((flakiness.repeats, flakiness.passed), (2, 1));
    }
}
