//! Who listens to what, as configured, and which topics can occur at all. Pure.

use proctor_text::nearest;
use serde::{Deserialize, Serialize};

use crate::topic::{TopicPattern, trigger_matches};

/// A hat: a role that the orchestrator gives to the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hat {
    pub(crate) id: String,
    pub(crate) triggers: Vec<String>,
    pub(crate) publishes: Vec<String>,
}

/// Who listens to what, as configured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Topology {
    pub(crate) hats: Vec<Hat>,
    /// The hat that gets events without a subscriber.
    pub(crate) coordinator: String,
    /// Topics that end the loop; they are consumed, not published.
    pub(crate) completion: Vec<String>,
    /// Topics that the orchestrator publishes by itself, or that its configuration names outside the hats.
    #[serde(default)]
    pub(crate) own: Vec<String>,
}

impl Topology {
    /// The hats that listen to a topic, the one that gets it first: ralph asks them in the order of their
    /// names. Events without a subscriber go to the coordinator.
    pub(crate) fn targets(&self, name: &str) -> Vec<String> {
        if self.completion.iter().any(|topic| topic == name) || name == "loop.terminate" {
            return Vec::new();
        }
        let listens =
            |hat: &&Hat| hat.triggers.iter().any(|trigger| trigger_matches(trigger, name));
        let mut listening: Vec<String> =
            self.hats.iter().filter(listens).map(|hat| hat.id.clone()).collect();
        listening.sort();
        if listening.is_empty() && !self.coordinator.is_empty() {
            return vec![self.coordinator.clone()];
        }
        listening
    }

    /// Every name that a response may be scripted for; `None` where the orchestrator knows no hats.
    pub(crate) fn hat_names(&self) -> Option<Vec<String>> {
        if self.coordinator.is_empty() {
            return None;
        }
        let hats = self.hats.iter().map(|hat| hat.id.clone());
        Some(hats.chain([self.coordinator.clone()]).collect())
    }

    /// What hats listen to and publish, but for the lone `*`, which names no topic, and what ends the loop.
    pub(crate) fn configured(&self) -> impl Iterator<Item = &String> {
        let hats = self.hats.iter().flat_map(|hat| hat.triggers.iter().chain(&hat.publishes));
        hats.filter(|name| *name != "*").chain(&self.completion)
    }

    /// A warning about a pattern that can match no topic of this topology. Without hats there is no topology
    /// to compare with.
    pub(crate) fn warning(&self, pattern: &TopicPattern) -> Option<String> {
        let known = || self.configured().chain(&self.own);
        if self.hats.is_empty() || known().any(|name| pattern.overlaps_trigger(name)) {
            return None;
        }
        let near = nearest(pattern.as_str(), known().map(String::as_str));
        let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        Some(format!(
            "{pattern} is outside the topology: no hat listens to it or publishes it{hint}"
        ))
    }

    /// Warnings about triggers that look like patterns and are none: the orchestrator compares them letter
    /// by letter.
    pub(crate) fn trigger_warnings(&self) -> Vec<String> {
        let odd = |trigger: &&String| {
            TopicPattern::parse(trigger).is_err() || trigger.split('.').any(|part| part == "**")
        };
        let of_hat = |hat: &Hat| {
            let texts = hat.triggers.iter().filter(odd).map(|trigger| {
                format!(
                    "hats.{}.triggers: the orchestrator takes {trigger:?} literally; it knows `*` for one \
                     segment and a lone `*` only",
                    hat.id
                )
            });
            texts.collect::<Vec<_>>()
        };
        self.hats.iter().flat_map(of_hat).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hat(id: &str, triggers: &[&str], publishes: &[&str]) -> Hat {
        let words = |list: &[&str]| list.iter().map(|&word| word.to_owned()).collect();
        Hat { id: id.to_owned(), triggers: words(triggers), publishes: words(publishes) }
    }

    fn topology(hats: Vec<Hat>) -> Topology {
        Topology {
            hats,
            coordinator: "ralph".to_owned(),
            completion: vec!["LOOP_COMPLETE".to_owned()],
            own: vec!["task.start".to_owned()],
        }
    }

    #[test]
    fn hats_listen_in_the_order_of_their_names_and_the_coordinator_gets_the_rest() {
        let mut topology =
            topology(vec![hat("star", &["*"], &[]), hat("builder", &["build.*"], &[])]);
        assert_eq!(topology.targets("build.task"), ["builder", "star"]);
        assert_eq!(topology.targets("other"), ["star"]);
        assert!(topology.targets("LOOP_COMPLETE").is_empty());
        topology.hats.remove(0);
        assert_eq!(topology.targets("other"), ["ralph"]);
    }

    #[test]
    fn a_topic_that_nobody_configured_is_warned_about() {
        let topology = topology(vec![hat("builder", &["build.*", "*"], &["review.ask"])]);
        let warning = |text: &str| topology.warning(&TopicPattern::parse(text).unwrap());
        for known in [
            "build.task",
            "build.*",
            "*",
            "**",
            "review.ask",
            "*.ask",
            "task.start",
            "LOOP_COMPLETE",
        ] {
            assert_eq!(warning(known), None, "{known}");
        }
        for typo in ["bulid.task", "build", "build.a.b", "review.*.x", "task.stat"] {
            assert!(warning(typo).is_some(), "{typo}");
        }
        let told = warning("reveiw.ask").unwrap();
        assert!(told.ends_with("did you mean review.ask?"), "{told}");
        assert_eq!(Topology::default().warning(&TopicPattern::parse("x").unwrap()), None);
    }

    #[test]
    fn a_trigger_that_the_orchestrator_takes_literally_is_warned_about() {
        let topology = topology(vec![hat("a", &["build.*", "build*", "x.**", "*"], &[])]);
        let warnings = topology.trigger_warnings();
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings[0].contains("\"build*\"") && warnings[1].contains("\"x.**\""));
    }
}
