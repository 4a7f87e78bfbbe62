//! What a machine would run, as short words that can be compared.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::example::{Discovery, OutsideError};

/// What a machine would run: names of facts, such as the commit, and what they are there. Two machines run the same thing if all
/// facts are the same; one that only one of them knows makes a difference.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeProof {
    facts: BTreeMap<String, String>,
}

impl CodeProof {
    /// Adds a fact.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.facts.insert(name.to_owned(), value.into());
        self
    }

    /// Adds what the suites tell: versions, and which examples there are.
    #[must_use]
    pub(crate) fn with_suites<'d>(mut self, suites: impl Iterator<Item = &'d Discovery>) -> Self {
        for (number, found) in (1..).zip(suites) {
            for (name, version) in &found.versions {
                self.facts.insert(format!("{name} (suite {number})"), version.clone());
            }
            let examples = format!("examples (suite {number})");
            self.facts.insert(examples, listing(found));
        }
        self
    }

    /// What differs at another machine, in words.
    pub(crate) fn differences(&self, other: &Self) -> Vec<String> {
        let missing = "not known";
        let mut names: Vec<&String> = self.facts.keys().chain(other.facts.keys()).collect();
        names.sort();
        names.dedup();
        let differs = |name: &&String| self.facts.get(*name) != other.facts.get(*name);
        let value =
            |proof: &Self, name| proof.facts.get(name).map_or(missing, String::as_str).to_owned();
        let line = |name| {
            format!(
                "{name}: {} at the controller, {} at the machine",
                value(self, name),
                value(other, name)
            )
        };
        names.into_iter().filter(differs).map(line).collect()
    }
}

/// The examples of a suite in short: their number, and a digest of ids and keys whatever their order.
fn listing(found: &Discovery) -> String {
    if let Some(error) = found.errors.first() {
        return format!("cannot be listed ({})", in_words(error));
    }
    let mut lines: Vec<(&str, &str)> =
        found.examples.iter().map(|example| (example.key.as_str(), example.id.as_str())).collect();
    lines.sort_unstable();
    let mut digest = Sha256::new();
    for text in lines.iter().flat_map(|(key, id)| [key, id]) {
        digest.update(text);
        // No text holds this byte, so no two listings run together to the same.
        digest.update([0xff]);
    }
    let digest = digest.finalize();
    let short: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{} with digest {short}", lines.len())
}

fn in_words(error: &OutsideError) -> String {
    let exception = error.exception.as_ref().map(|exception| exception.message.clone());
    let text = error.message.clone().or(exception).unwrap_or_else(|| error.phase.clone());
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fact_counts_also_one_that_only_one_side_knows() {
        let here = CodeProof::default().with("commit", "a").with("ruby", "3.3");
        assert_eq!(here.differences(&here.clone()), [] as [&str; 0]);
        let there = CodeProof::default().with("commit", "b").with("lock files", "c");
        assert_eq!(
            here.differences(&there),
            [
                "commit: a at the controller, b at the machine",
                "lock files: not known at the controller, c at the machine",
                "ruby: 3.3 at the controller, not known at the machine",
            ]
        );
    }
}
