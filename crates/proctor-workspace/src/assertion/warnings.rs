//! Warnings about assertions that may hold for a reason nobody meant: a topic that cannot occur, a file
//! pattern without a file, a run that never began.

use super::{Assertion, AssertionResult, Facts};
use crate::orchestrator::Topology;
use crate::session::SessionRecord;
use crate::topic::TopicPattern;

/// Warnings about assertions and their results, which are in the same order.
pub(crate) fn warnings(
    assertions: &[Assertion],
    results: &[AssertionResult],
    facts: &Facts<'_>,
    topology: Option<&Topology>,
) -> Vec<String> {
    let mut warnings = Vec::new();
    for (index, assertion) in assertions.iter().enumerate() {
        let place = format!("assertions[{index}] ({})", assertion.name());
        let about = topic_warnings(assertion, facts, topology)
            .into_iter()
            .chain(file_warnings(assertion, facts));
        warnings.extend(about.map(|warning| format!("{place}: {warning}")));
    }
    warnings.extend(never_began(assertions, results, facts));
    warnings
}

/// Topics outside the topology. One that occurred all the same is no mistake of the test.
fn topic_warnings(
    assertion: &Assertion,
    facts: &Facts<'_>,
    topology: Option<&Topology>,
) -> Vec<String> {
    let Some(topology) = topology else { return Vec::new() };
    let occurred = |pattern: &TopicPattern| {
        let mut topics = facts.records.iter().filter_map(SessionRecord::topic);
        topics.any(|topic| pattern.matches(topic))
    };
    let warning = |pattern| topology.warning(pattern).filter(|_| !occurred(pattern));
    assertion.topics().iter().filter_map(warning).collect()
}

/// Patterns that select no file, neither in the snapshot nor now.
fn file_warnings(assertion: &Assertion, facts: &Facts<'_>) -> Vec<String> {
    let Assertion::SnapshotMatches { snapshot, include_patterns, exclude_patterns } = assertion
    else {
        return Vec::new();
    };
    if include_patterns.is_empty() {
        return Vec::new();
    }
    // A snapshot that cannot be compared fails its assertion.
    let compared = facts.compare_with(snapshot, include_patterns, exclude_patterns);
    compared.map(|compared| compared.warnings).unwrap_or_default()
}

/// Nothing occurs in a run that never began.
fn never_began(
    assertions: &[Assertion],
    results: &[AssertionResult],
    facts: &Facts<'_>,
) -> Option<String> {
    let run = facts.run?;
    let failed = matches!(&*run.termination_reason, "StartupError" | "UsageError");
    let about_events = |(assertion, result): (&Assertion, &AssertionResult)| {
        result.passed && !assertion.topics().is_empty()
    };
    let holds = assertions.iter().zip(results).any(about_events);
    (failed && holds).then(|| {
        format!(
            "the run never began ({}): assertions that no event occurred hold, and show nothing",
            run.termination_reason
        )
    })
}
