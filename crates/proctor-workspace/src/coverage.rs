//! Coverage: which of the configured topics, hats and endings the runs of a workspace have reached.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::error::ToolError;
use crate::orchestrator::Topology;
use crate::registry::Place;
use crate::session::{SessionRecord, view};
use crate::tools::mock_backend;
use crate::tools::run::folder::{self, RunFolder};
use crate::topic::trigger_matches;

/// How many topics that nobody configured are named.
const MOST_NAMES: usize = 200;

/// How much of a set was reached.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reached {
    /// What was reached.
    pub covered: Vec<String>,
    /// What was not.
    pub missing: Vec<String>,
    /// The share that was reached, 0 to 1.
    pub ratio: f64,
}

impl Reached {
    fn of(all: BTreeSet<String>, reached: impl Fn(&str) -> bool) -> Self {
        let (covered, missing): (Vec<_>, Vec<_>) = all.into_iter().partition(|item| reached(item));
        let count = covered.len() + missing.len();
        #[expect(clippy::cast_precision_loss, reason = "a handful of names")]
        let ratio = if count == 0 { 1.0 } else { covered.len() as f64 / count as f64 };
        Self { covered, missing, ratio }
    }
}

/// What the runs of a workspace reached.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Coverage {
    /// The runs that were counted.
    pub runs: Vec<u32>,
    /// Topics that hats listen to or publish.
    pub topics: Reached,
    /// Hats that were worn.
    pub hats: Reached,
    /// Ways to end.
    pub terminations: Reached,
    /// Topics that occurred and that no hat listens to or publishes, at most 200.
    pub unconfigured_topics: Vec<String>,
}

impl Coverage {
    /// Coverage over all concluded runs of a workspace.
    pub(crate) fn of(config: &Config, place: &Place) -> Result<Self, ToolError> {
        let topology = mock_backend::topology(place)?;
        let (mut records, mut reasons, mut runs) = (Vec::new(), BTreeSet::new(), Vec::new());
        for number in folder::numbers(place) {
            if let Some(result) = RunFolder::of(place, number).result()? {
                records.extend(folder::records(place, number, config.limits.read_bytes)?);
                reasons.insert(result.termination_reason);
                runs.push(number);
            }
        }
        let endings = place.record.orchestrator.adapter().endings();
        Ok(Self { runs, ..Self::between(&topology, endings, &records, &reasons) })
    }

    fn between(
        topology: &Topology,
        endings: &[&str],
        records: &[SessionRecord],
        reasons: &BTreeSet<String>,
    ) -> Self {
        let events = records.iter().filter(|record| record.is_bus());
        let seen: BTreeSet<String> =
            events.filter_map(|record| record.topic().map(str::to_owned)).collect();
        let worn: BTreeSet<String> = view::hats(records).into_iter().collect();
        let configured: BTreeSet<String> = topology.configured().cloned().collect();
        let hats = topology.hats.iter().map(|hat| hat.id.clone()).collect();
        let endings = endings.iter().map(|&reason| reason.to_owned()).collect();
        let known = |name: &str| configured.iter().any(|pattern| trigger_matches(pattern, name));
        // The word that ends the loop may be said in plain text: then it ends the loop and is no event.
        let said = |name: &str| {
            topology.completion.first().is_some_and(|promise| promise == name)
                && reasons.contains("CompletionPromise")
        };
        let own = |name: &str| matches!(name, "loop.terminate" | "task.resume");
        Self {
            runs: Vec::new(),
            unconfigured_topics: seen
                .iter()
                .filter(|name| !known(name) && !own(name))
                .take(MOST_NAMES)
                .map(|name| crate::tools::cut(name, 200).0)
                .collect(),
            topics: Reached::of(configured.clone(), |pattern| {
                said(pattern) || seen.iter().any(|name| trigger_matches(pattern, name))
            }),
            hats: Reached::of(hats, |hat| worn.contains(hat)),
            terminations: Reached::of(endings, |reason| reasons.contains(reason)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::orchestrator::Hat;
    use serde_json::json;

    #[test]
    fn the_configured_topology_is_the_whole() {
        let topology = Topology {
            hats: vec![
                Hat {
                    id: "planner".to_owned(),
                    triggers: vec!["task.*".to_owned()],
                    publishes: vec!["build.task".to_owned()],
                },
                Hat {
                    id: "builder".to_owned(),
                    triggers: vec!["build.task".to_owned()],
                    publishes: Vec::new(),
                },
            ],
            coordinator: "ralph".to_owned(),
            completion: vec!["LOOP_COMPLETE".to_owned()],
            own: Vec::new(),
        };
        let record = |event: &str, data| SessionRecord {
            ts: 0,
            event: event.to_owned(),
            data,
            origin: String::new(),
        };
        let records = [
            record("bus.publish", json!({"topic": "task.start"})),
            record("_meta.iteration", json!({"n": 1, "hat": "planner"})),
            record("bus.emit", json!({"topic": "odd.one"})),
        ];
        let reasons = BTreeSet::from(["MaxCost".to_owned()]);
        let coverage = Coverage::between(&topology, &["MaxCost", "Stopped"], &records, &reasons);
        assert_eq!(coverage.topics.covered, ["task.*"]);
        assert_eq!(coverage.topics.missing, ["LOOP_COMPLETE", "build.task"]);
        assert_eq!((coverage.hats.covered, coverage.hats.ratio), (vec!["planner".to_owned()], 0.5));
        assert_eq!(coverage.terminations.covered, ["MaxCost"]);
        assert_eq!(coverage.terminations.missing, ["Stopped"]);
        assert_eq!(coverage.unconfigured_topics, ["odd.one"]);
        let reasons = BTreeSet::from(["CompletionPromise".to_owned()]);
        let coverage = Coverage::between(&topology, &[], &records, &reasons);
        assert_eq!(coverage.topics.covered, ["LOOP_COMPLETE", "task.*"], "said in plain text");
    }
}
