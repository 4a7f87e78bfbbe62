//! What the workspace examples of a run reached together, and which of their assertions were not always the same.
//!
//! Each example tells what it reached as one soft evaluation of the kind [`WORKSPACE_COVERAGE`], and each of its warnings as one of
//! the kind [`WORKSPACE_WARNING`]; its assertions are hard ones. One fold over evaluations, whether they come from a finished
//! [`RunData`] or one by one.

use std::collections::{BTreeMap, BTreeSet};

use proctor_events::{EvaluationMode, ExampleId, Json};
use serde::Serialize;
use serde_json::Value;

use crate::model::{Example, RunData};

/// The kind of the evaluation that carries what an example reached.
pub const WORKSPACE_COVERAGE: &str = "workspace_coverage";
/// The kind of an evaluation that is a warning about an example; its description is the text.
pub const WORKSPACE_WARNING: &str = "workspace_warning";
/// The name of the suite of workspace files.
const SUITE: &str = "workspace";

/// How much of a set was reached by some example.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CoveredSet {
    /// What was reached.
    pub covered: Vec<String>,
    /// What was configured somewhere and never reached.
    pub missing: Vec<String>,
    /// The share that was reached, 0 to 1.
    pub ratio: f64,
}

/// An assertion that held in some attempts and not in others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FlakyAssertion {
    /// The example's id.
    pub example_id: String,
    /// The text of the assertion.
    pub assertion: String,
    /// How often it held.
    pub passed: u32,
    /// How often it did not.
    pub failed: u32,
}

/// A warning and the examples it was given for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct WorkspaceWarning {
    /// The text.
    pub warning: String,
    /// The ids of the examples.
    pub examples: Vec<String>,
}

/// What the workspace examples of a run reached together.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct WorkspaceCoverage {
    /// Topics that hats listen to or publish.
    pub topics: CoveredSet,
    /// Hats that were worn.
    pub hats: CoveredSet,
    /// Ways to end.
    pub terminations: CoveredSet,
    /// Topics that occurred and that no hat of their own configuration knows.
    pub unconfigured_topics: Vec<String>,
    /// Assertions that were not always the same over repeats and retries.
    pub flaky_assertions: Vec<FlakyAssertion>,
    /// What the authors should know although an example may have passed, such as a topic that cannot occur.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<WorkspaceWarning>,
}

/// Names, each with whether it was reached.
type Names = BTreeMap<String, bool>;

/// The fold.
#[derive(Debug, Clone, Default)]
pub struct WorkspaceFold {
    seen: bool,
    topics: Names,
    hats: Names,
    terminations: Names,
    unconfigured: Names,
    assertions: BTreeMap<(String, String), (u32, u32)>,
    warnings: BTreeMap<String, BTreeSet<String>>,
}

/// What the fold needs to know about an evaluation.
#[derive(Debug, Clone, Copy)]
pub struct WorkspaceEvaluation<'a> {
    /// The example's id.
    pub example_id: &'a str,
    /// Its suite.
    pub suite: Option<&'a str>,
    /// Whether it decides the verdict.
    pub mode: &'a EvaluationMode,
    /// What kind of check it is.
    pub kind: Option<&'a str>,
    /// What it demands.
    pub description: Option<&'a str>,
    /// Whether it holds.
    pub passed: Option<bool>,
    /// Its data.
    pub metadata: Option<&'a Json>,
}

impl WorkspaceFold {
    /// Takes one evaluation; those of other suites are passed over.
    pub fn take(&mut self, judged: &WorkspaceEvaluation<'_>) {
        if judged.suite != Some(SUITE) {
            return;
        }
        self.seen = true;
        if judged.kind == Some(WORKSPACE_COVERAGE) {
            self.reached(&judged.metadata.map(Json::to_value).unwrap_or_default());
        } else if judged.kind == Some(WORKSPACE_WARNING) {
            let text = judged.description.unwrap_or("warning").to_owned();
            self.warnings.entry(text).or_default().insert(judged.example_id.to_owned());
        } else if let (EvaluationMode::Hard, Some(passed)) = (judged.mode, judged.passed) {
            let title = judged.description.unwrap_or("assertion").to_owned();
            let (held, broke) =
                self.assertions.entry((judged.example_id.to_owned(), title)).or_default();
            *if passed { held } else { broke } += 1;
        }
    }

    /// Takes all evaluations of an example; those of other suites are passed over.
    pub(crate) fn take_example(&mut self, example: &Example) {
        let id = example.id.as_ref().map_or("", ExampleId::as_str);
        for evaluation in example.attempts.iter().flat_map(|attempt| &attempt.evaluations) {
            self.take(&WorkspaceEvaluation {
                example_id: id,
                suite: example.suite.as_deref(),
                mode: &evaluation.mode,
                kind: evaluation.kind.as_deref(),
                description: evaluation.description.as_deref(),
                passed: evaluation.passed,
                metadata: evaluation.metadata.as_ref(),
            });
        }
    }

    fn reached(&mut self, coverage: &Value) {
        mark_reached(&mut self.topics, &coverage["topics"]);
        mark_reached(&mut self.hats, &coverage["hats"]);
        mark_reached(&mut self.terminations, &coverage["terminations"]);
        for topic in words(&coverage["unconfigured_topics"]) {
            self.unconfigured.insert(topic.to_owned(), true);
        }
    }

    /// The coverage; `None` without workspace examples.
    pub fn coverage(&self) -> Option<WorkspaceCoverage> {
        let flaky = self.assertions.iter().filter(|(_, (held, broke))| *held > 0 && *broke > 0);
        self.seen.then(|| WorkspaceCoverage {
            topics: CoveredSet::of(&self.topics),
            hats: CoveredSet::of(&self.hats),
            terminations: CoveredSet::of(&self.terminations),
            unconfigured_topics: self.unconfigured.keys().cloned().collect(),
            flaky_assertions: flaky
                .map(|((example_id, assertion), (passed, failed))| FlakyAssertion {
                    example_id: example_id.clone(),
                    assertion: assertion.clone(),
                    passed: *passed,
                    failed: *failed,
                })
                .collect(),
            warnings: self.warnings.iter().map(warning).collect(),
        })
    }
}

fn warning((text, examples): (&String, &BTreeSet<String>)) -> WorkspaceWarning {
    WorkspaceWarning { warning: text.clone(), examples: examples.iter().cloned().collect() }
}

fn words(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn mark_reached(names: &mut Names, reached: &Value) {
    for name in words(&reached["missing"]) {
        names.entry(name.to_owned()).or_insert(false);
    }
    for name in words(&reached["covered"]) {
        names.insert(name.to_owned(), true);
    }
}

impl CoveredSet {
    fn of(names: &Names) -> Self {
        let some = |wanted: bool| {
            let chosen = names.iter().filter(move |(_, reached)| **reached == wanted);
            chosen.map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        let (covered, missing) = (some(true), some(false));
        #[expect(clippy::cast_precision_loss, reason = "a handful of names")]
        let ratio = if names.is_empty() { 1.0 } else { covered.len() as f64 / names.len() as f64 };
        Self { covered, missing, ratio }
    }
}

impl RunData {
    /// What the workspace examples of this run reached together; nothing where there were none.
    pub fn workspace_coverage(&self) -> Option<WorkspaceCoverage> {
        let mut fold = WorkspaceFold::default();
        self.examples.iter().for_each(|example| fold.take_example(example));
        fold.coverage()
    }
}

#[cfg(test)]
mod tests {
    use proctor_events::Event;

    use super::*;
    use crate::Aggregator;

    fn folded(lines: &[&str]) -> RunData {
        let mut fold = Aggregator::default();
        for line in lines {
            fold.apply(&Event::from_json(line).unwrap());
        }
        fold.into_run()
    }

    const STARTED: &str =
        r#"{"event_type":"ExampleStarted","example_id":"a","suite":"workspace","path":["A"]}"#;

    fn reached(example: &str, covered: &str, missing: &str) -> String {
        format!(
            r#"{{"event_type":"EvaluationRecorded","example_id":"{example}","mode":"soft","evaluation_type":"workspace_coverage",
            "metadata":{{"topics":{{"covered":[{covered}],"missing":[{missing}]}},"unconfigured_topics":["odd"]}}}}"#
        )
        .replace('\n', " ")
    }

    #[test]
    fn what_one_example_reaches_is_not_missing_from_the_suite() {
        let second = STARTED.replace(r#""a""#, r#""b""#);
        let (one, two) = (reached("a", r#""x""#, r#""y","z""#), reached("b", r#""y""#, r#""x""#));
        let run = folded(&[STARTED, &one, &second, &two]);
        let coverage = run.workspace_coverage().unwrap();
        assert_eq!(
            (coverage.topics.covered, coverage.topics.missing),
            (vec!["x".to_owned(), "y".to_owned()], vec!["z".to_owned()])
        );
        assert_eq!(coverage.unconfigured_topics, ["odd"]);
        assert!((coverage.hats.ratio - 1.0).abs() < 1e-9, "of nothing, everything is reached");
    }

    #[test]
    fn a_warning_is_told_once_with_its_examples() {
        let warned = |example: &str| {
            format!(
                r#"{{"event_type":"EvaluationRecorded","example_id":"{example}","mode":"soft","evaluation_type":"workspace_warning","description":"typo"}}"#
            )
        };
        let second = STARTED.replace(r#""a""#, r#""b""#);
        let (one, two) = (warned("a"), warned("b"));
        let run = folded(&[STARTED, &one, &one, &second, &two]);
        let warnings = run.workspace_coverage().unwrap().warnings;
        assert_eq!(warnings.len(), 1);
        assert_eq!((&*warnings[0].warning, warnings[0].examples.len()), ("typo", 2));
    }

    #[test]
    fn an_assertion_that_changes_its_mind_is_flaky_and_other_suites_are_passed_over() {
        let judged = |repeat: u32, passed: bool, title: &str| {
            format!(
                r#"{{"event_type":"EvaluationRecorded","example_id":"a","repeat":{repeat},"mode":"hard","description":"{title}","passed":{passed}}}"#
            )
        };
        let lines = [
            judged(1, true, "steady"),
            judged(1, true, "moody"),
            judged(2, true, "steady"),
            judged(2, false, "moody"),
        ];
        let mut all = vec![STARTED];
        all.extend(lines.iter().map(String::as_str));
        let flaky = folded(&all).workspace_coverage().unwrap().flaky_assertions;
        assert_eq!(flaky.len(), 1);
        assert_eq!(
            (flaky[0].assertion.as_str(), flaky[0].passed, flaky[0].failed),
            ("moody", 1, 1)
        );
        all[0] = r#"{"event_type":"ExampleStarted","example_id":"a","suite":"rspec","path":["A"]}"#;
        assert_eq!(folded(&all).workspace_coverage(), None);
    }
}
