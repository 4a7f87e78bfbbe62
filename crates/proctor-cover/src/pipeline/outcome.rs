//! What came of a run: plain data for reports.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::FactoryFile;
use crate::implement::DroppedExample;
use crate::review::Covered;

/// The result for one file.
#[derive(Debug, Clone, Default, Serialize)]
pub struct FileReport {
    /// The source.
    pub source: String,
    /// The spec.
    pub spec: String,
    /// The wave it was covered in.
    pub wave: usize,
    /// Methods selected.
    pub methods: usize,
    /// Methods with at least one example that passes.
    pub methods_covered: usize,
    /// The selected methods, one by one.
    pub by_method: Vec<MethodReport>,
    /// Examples that pass.
    pub examples: usize,
    /// Situations left open, with the reason.
    pub pending: Vec<String>,
    /// Examples that a model wrote and that were kept.
    pub filled: usize,
    /// Answers of a model that were refused, with the reason.
    pub refused: Vec<String>,
    /// Examples that were dropped because they did not hold everywhere, each with the reason.
    pub dropped: Vec<DroppedExample>,
    /// Examples that no fault was found for.
    pub unproven: usize,
    /// Branches before.
    pub before: Covered,
    /// Branches after.
    pub after: Covered,
    /// Faults noticed.
    pub killed: usize,
    /// Faults tried.
    pub faults: usize,
    /// Files of factories that were made or added to for its examples.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub factories: Vec<FactoryFile>,
    /// Blocks that were edited by hand and kept.
    pub kept: Vec<String>,
    /// Violated rules.
    pub violations: Vec<Value>,
    /// Violated rules that were repaired.
    pub fixed: Vec<Value>,
    /// What is worth saying.
    pub warnings: Vec<String>,
    /// Why nothing was written.
    pub error: Option<String>,
    /// Whether nothing had to be done.
    pub cached: bool,
    /// Whether all examples of the spec passed; `None` if they were not run.
    pub passed: Option<bool>,
}

impl FileReport {
    /// Selected methods without any example, each with what was missing.
    pub fn unreached(&self) -> impl Iterator<Item = (&str, &str)> {
        let found = |one: &'_ MethodReport| one.missing.is_some();
        self.by_method
            .iter()
            .filter(move |one| found(one))
            .map(|one| (one.id.as_str(), one.missing.as_deref().unwrap_or_default()))
    }
}

/// The result for one method.
#[derive(Debug, Clone, Default, Serialize)]
pub struct MethodReport {
    /// `Class#name`
    pub id: String,
    /// new, modified, unchanged
    pub mode: String,
    /// Examples that pass.
    pub examples: usize,
    /// Situations left open.
    pub pending: usize,
    /// Faults noticed in it.
    pub killed: usize,
    /// Faults tried in it.
    pub faults: usize,
    /// Why there is no example for it, though it was selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// The result of a run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// File by file.
    pub files: Vec<FileReport>,
    /// What each stage answered, in the seed's form.
    pub answers: BTreeMap<String, Value>,
    /// What is worth saying.
    pub warnings: Vec<String>,
    /// What broke for the run as a whole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// Whether the kernel cut off network and processes.
    pub isolated: bool,
}

impl Report {
    /// Whether everything that was asked for was done: every file could be worked on, every selected method has an example,
    /// all examples passed, and nothing broke on the way.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.errors.is_empty()
            && self.files.iter().all(|file| {
                file.error.is_none()
                    && file.passed != Some(false)
                    && file.unreached().next().is_none()
            })
    }
}
