//! What discovery finds: examples, and what went wrong while looking.

use std::collections::BTreeMap;
use std::sync::Arc;

use proctor_events::{ExampleId, Exception, StableId, StableIds};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One example of a suite.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Example {
    /// Its stable id.
    pub id: ExampleId,
    /// Its name within this load of the suite.
    #[serde(skip)]
    pub key: String,
    /// The name of the suite it belongs to; several suites of a run may share one.
    pub suite: String,
    /// The place of that suite among the suites of the run. Set when all suites have been opened.
    #[serde(skip)]
    pub suite_index: usize,
    /// The file it stands in, relative to the project's root.
    pub file: String,
    /// Its description chain, outermost first.
    pub path: Vec<String>,
    /// `file:line`.
    pub location: Option<String>,
    /// Its own description.
    pub description: String,
    /// The whole chain as one sentence.
    pub full_description: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Examples with the same unit are run together, in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<u32>,
    /// The row of a scenario set.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "shared")]
    pub scenario: Option<Arc<Value>>,
    /// How often it is run, where the suite says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u32>,
    /// The share of repetitions that must pass, where the suite says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass_rate: Option<f64>,
    /// What the project declares of its agent or suite: whether the same code gives the same result every time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deterministic: Option<bool>,
    /// Whether the answers of its agent are a script.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub scripted: bool,
}

#[expect(clippy::ref_option, reason = "serde asks for this signature")]
fn shared<S: serde::Serializer>(
    row: &Option<Arc<Value>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    row.as_deref().serialize(serializer)
}

/// An error outside any example.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OutsideError {
    /// Where in the run: `load`, `configuration`, ….
    pub phase: String,
    /// The file or group.
    pub place: Option<String>,
    /// What went wrong.
    pub exception: Option<Exception>,
    /// What it said, where there is no exception.
    pub message: Option<String>,
}

/// What discovery found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Discovery {
    /// The examples, in the order in which one worker would run them.
    pub examples: Vec<Example>,
    /// What went wrong. If there is anything, nothing is run.
    pub errors: Vec<OutsideError>,
    /// What a person should know.
    pub notes: Vec<String>,
    /// The seed in force.
    pub seed: Option<u64>,
    /// How long loading took, in milliseconds.
    pub load_ms: f64,
    /// Versions of what took part.
    pub versions: BTreeMap<String, String>,
    /// A limit on failures that the suite itself asks for.
    pub fail_fast: Option<u32>,
    /// How many observers the project's code has that run beside the workers.
    pub observers: u32,
    /// How long they may take after the last event, in milliseconds.
    pub observers_within_ms: u64,
    /// Where the project's code wants events to go too.
    pub destinations: Vec<String>,
    /// How the process shall exit if the run fails, where the suite asks for it.
    pub failure_exit: FailureExit,
    /// Whether the suite has something to write at the end of the run, such as the output of formatters.
    pub has_final_report: bool,
    /// What a suite that was loaded for `proctor mutate` says about the watched files.
    pub mutation: Option<Value>,
}

/// How a process exits when a run has finished and failed. Recordings keep Proctor's own code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FailureExit {
    /// Of failed examples (`--failure-exit-code` of RSpec).
    pub failure: Option<u8>,
    /// Of errors outside examples (`--error-exit-code` of RSpec); those of failed examples where it is absent.
    pub error: Option<u8>,
}

impl FailureExit {
    /// The exit code of a process, in place of Proctor's own.
    pub fn code(self, errors_outside: bool, own: u8) -> u8 {
        let error = self.error.filter(|_| errors_outside);
        error.or(self.failure).unwrap_or(own)
    }
}

/// How many titles a warning names.
const TITLES_NAMED: usize = 5;

/// A warning of titles that several examples have: their results are told apart by their order alone, and change
/// places with it.
pub(crate) fn duplicate_titles(examples: &[Example]) -> Option<String> {
    let mut places: BTreeMap<(usize, &str, &[String]), Vec<&str>> = BTreeMap::new();
    for example in examples {
        let title = (example.suite_index, example.file.as_str(), example.path.as_slice());
        let place = example.location.as_deref().unwrap_or(&example.file);
        places.entry(title).or_default().push(place);
    }
    let shared: Vec<String> = places
        .into_iter()
        .filter(|(_, places)| places.len() > 1)
        .map(|((.., path), places)| format!("`{}` ({})", path.join(" "), places.join(", ")))
        .collect();
    let more = shared.len().saturating_sub(TITLES_NAMED);
    let named = shared.iter().take(TITLES_NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    (!shared.is_empty()).then(|| {
        format!(
            "several examples have the same title: {named}{more}; only their order tells their results apart, so give each its own"
        )
    })
}

/// An example as a worker lists it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Listed {
    pub(crate) key: String,
    #[serde(default)]
    pub(crate) file: String,
    #[serde(default)]
    pub(crate) path: Vec<String>,
    #[serde(default)]
    pub(crate) location: Option<String>,
    #[serde(default)]
    pub(crate) description: Option<String>,
    #[serde(default)]
    pub(crate) full_description: Option<String>,
    #[serde(default)]
    pub(crate) tags: Value,
    #[serde(default)]
    pub(crate) unit: Option<u32>,
    #[serde(default)]
    pub(crate) ordinal: Option<u32>,
    #[serde(default)]
    pub(crate) scenario: Option<Value>,
}

impl Listed {
    /// The example, with the first id of its file and path that is not taken.
    pub(crate) fn into_example(
        self,
        suite: &str,
        suite_index: usize,
        is_taken: impl Fn(&ExampleId) -> bool,
    ) -> Example {
        let mut ordinal = self.ordinal.unwrap_or(1);
        let mut id = StableId::new(&self.file, &self.path, ordinal).id;
        while is_taken(&id) {
            ordinal += 1;
            id = StableId::new(&self.file, &self.path, ordinal).id;
        }
        Example { suite_index, ..example(suite, self, id) }
    }
}

/// Gives listed examples their ids.
#[derive(Debug, Default)]
pub(crate) struct Register {
    ids: StableIds,
    pub(crate) examples: Vec<Example>,
    pub(crate) errors: Vec<OutsideError>,
    /// How many were added, those that could not be taken included.
    pub(crate) listed: u64,
}

impl Register {
    pub(crate) fn add(&mut self, suite: &str, listed: Listed) {
        self.listed += 1;
        let claimed = match listed.ordinal {
            Some(ordinal) => self.ids.claim(StableId::new(&listed.file, &listed.path, ordinal)),
            None => self.ids.next(&listed.file, &listed.path),
        };
        match claimed {
            Ok(stable) => self.examples.push(example(suite, listed, stable.id)),
            Err(collision) => self.errors.push(OutsideError {
                phase: "discovery".to_owned(),
                place: Some(listed.file),
                message: Some(collision.to_string()),
                ..OutsideError::default()
            }),
        }
    }
}

fn example(suite: &str, mut listed: Listed, id: ExampleId) -> Example {
    listed.path.shrink_to_fit();
    let description =
        listed.description.or_else(|| listed.path.last().cloned()).unwrap_or_default();
    let full_description = listed.full_description.unwrap_or_else(|| listed.path.join(" "));
    Example {
        id,
        key: listed.key,
        suite: suite.to_owned(),
        suite_index: 0,
        file: listed.file,
        path: listed.path,
        location: listed.location,
        description,
        full_description,
        tags: tags(&listed.tags),
        unit: listed.unit,
        scenario: listed.scenario.map(Arc::new),
        repeats: None,
        pass_rate: None,
        deterministic: None,
        scripted: false,
    }
}

/// Tags come as a list of names, or as an object of names and values.
fn tags(value: &Value) -> Vec<String> {
    match value {
        Value::Array(all) => all.iter().filter_map(|tag| tag.as_str().map(str::to_owned)).collect(),
        Value::Object(all) => all
            .iter()
            .map(|(name, value)| match value {
                Value::Bool(true) => name.clone(),
                Value::String(text) => format!("{name}:{text}"),
                other => format!("{name}:{other}"),
            })
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(json: Value) -> Listed {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn duplicates_are_told_apart_by_the_ordinal_counted_before_filters() {
        let mut register = Register::default();
        let one = serde_json::json!({"key": "k", "file": "./a", "path": ["A", "b"], "ordinal": 2, "tags": {"slow": true, "db": "pg"}});
        register.add("rspec", listed(one));
        let example = &register.examples[0];
        assert_eq!(example.id, StableId::new("./a", &["A", "b"], 2).id);
        assert_eq!(example.tags, ["db:pg", "slow"]);
        assert_eq!((example.description.as_str(), example.full_description.as_str()), ("b", "A b"));
    }
}
