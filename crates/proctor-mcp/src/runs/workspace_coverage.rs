//! What the workspace examples of a run reached together, as an answer: numbers, and a few names of what is missing.

use proctor_record::{CoveredSet, WorkspaceCoverage};
use proctor_text::truncate;
use schemars::JsonSchema;
use serde::Serialize;

/// How many names come of each list.
const MAX_NAMES: usize = 20;

/// What the workspace examples of a run reached together.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WorkspaceCoverageView {
    /// Topics that hats listen to or publish.
    topics: CoveredSetView,
    /// Hats that were worn.
    hats: CoveredSetView,
    /// Ways to end.
    terminations: CoveredSetView,
    /// Assertions that held in some attempts and not in others, at most 20.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    flaky_assertions: Vec<FlakyAssertionView>,
    /// What the authors should know although an example may have passed, at most 20.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<WarningView>,
}

/// A warning.
#[derive(Debug, Serialize, JsonSchema)]
struct WarningView {
    /// The text.
    warning: String,
    /// Ids of examples it was given for, at most 20.
    examples: Vec<String>,
}

/// How much of a set was reached.
#[derive(Debug, Serialize, JsonSchema)]
struct CoveredSetView {
    /// How many were reached.
    covered: usize,
    /// How many there are.
    total: usize,
    /// Some that were never reached, at most 20.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
}

/// An assertion that changed its mind.
#[derive(Debug, Serialize, JsonSchema)]
struct FlakyAssertionView {
    /// The example's id.
    example: String,
    /// What the assertion says.
    assertion: String,
    /// How often it held.
    passed: u32,
    /// How often it did not.
    failed: u32,
}

impl WorkspaceCoverageView {
    pub(super) fn new(coverage: WorkspaceCoverage) -> Self {
        let flaky = coverage.flaky_assertions.into_iter().take(MAX_NAMES);
        Self {
            topics: CoveredSetView::new(&coverage.topics),
            hats: CoveredSetView::new(&coverage.hats),
            terminations: CoveredSetView::new(&coverage.terminations),
            flaky_assertions: flaky
                .map(|one| FlakyAssertionView {
                    example: one.example_id,
                    assertion: truncate(&one.assertion, 200),
                    passed: one.passed,
                    failed: one.failed,
                })
                .collect(),
            warnings: coverage
                .warnings
                .into_iter()
                .take(MAX_NAMES)
                .map(|one| WarningView {
                    warning: truncate(&one.warning, 300),
                    examples: one.examples.into_iter().take(MAX_NAMES).collect(),
                })
                .collect(),
        }
    }
}

impl CoveredSetView {
    fn new(reached: &CoveredSet) -> Self {
        Self {
            covered: reached.covered.len(),
            total: reached.covered.len() + reached.missing.len(),
            missing: reached
                .missing
                .iter()
                .take(MAX_NAMES)
                .map(|name| truncate(name, 100))
                .collect(),
        }
    }
}
