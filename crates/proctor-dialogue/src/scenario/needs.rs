//! Which parties an example asks, as far as its file shows.

use super::Example;
use crate::check::{DecidedBy, plan};
use crate::format::{Assertion, OnMaxTurns, Simulate, StopWhen};
use proctor_yaml::At;

impl Example {
    /// Whether there is a conversation to be held with an agent.
    pub fn needs_agent(&self) -> bool {
        self.pending.is_none() && !self.steps.is_empty()
    }

    /// Whether a model plays the user somewhere.
    pub fn needs_simulator(&self) -> bool {
        self.pending.is_none() && self.simulations().next().is_some()
    }

    /// Whether a judge may be asked for a check, a goal or a topic.
    pub fn needs_judge(&self) -> bool {
        self.pending.is_none()
            && (self
                .steps
                .iter()
                .any(|step| self.has_judged_assertion(&step.expect, &step.evaluate))
                || self.has_judged_assertion(&self.expect, &self.evaluate)
                || self.topics.0.iter().any(|(_, topic)| {
                    self.has_judged_assertion(&topic.expect, &topic.evaluate)
                        || topic.next.0.iter().any(|next| self.topic_needs_judge(&next.value))
                })
                || self.simulations().any(|simulate| self.asks_for_goal(simulate)))
    }

    fn simulations(&self) -> impl Iterator<Item = &Simulate> {
        self.steps.iter().filter_map(|step| step.simulate.as_ref())
    }

    fn has_judged_assertion(&self, expect: &[At<Assertion>], evaluate: &[At<Assertion>]) -> bool {
        // Any goal will do: which one it is does not decide who is asked.
        let planned = plan(expect, evaluate, &self.criteria, Some(""));
        planned.iter().any(|check| matches!(check.decided_by, DecidedBy::Judge(_)))
    }

    fn topic_needs_judge(&self, topic: &str) -> bool {
        self.topics.get(topic).is_some_and(|topic| topic.characteristic.is_some())
    }

    fn asks_for_goal(&self, simulate: &Simulate) -> bool {
        let user = simulate.user_within(&self.simulator);
        let stops_by_goal = user
            .stop_when
            .as_ref()
            .is_none_or(|rules| rules.iter().any(|rule| matches!(rule, StopWhen::GoalReached)));
        let every = &simulate.every_turn;
        stops_by_goal
            || simulate.on_max_turns == OnMaxTurns::AskJudge
            || self.has_judged_assertion(&every.expect, &every.evaluate)
    }
}
