//! The simulated user as a scenario describes it, and how inner groups change it.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::Deserialize;

use super::assertion::{Assertion, ToolExpectation};
use super::block::Block;
use super::model::ModelSpec;
use super::schema::{above_zero, not_blank, or_nothing};
use super::shorthand::{Expression, Pattern};
use super::values::{Notes, TimeSpan};
use proctor_yaml::At;

/// How a simulated user behaves.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(transform = or_nothing)]
pub struct Simulator {
    /// The model that plays the user.
    pub model: Option<At<ModelSpec>>,
    /// Who the user is.
    pub role: Option<String>,
    /// How the user talks.
    pub personality: Option<Notes>,
    /// What the user knows.
    pub context: Option<Notes>,
    /// What the user should and should not do.
    pub rules: Rules,
    /// The most turns a simulation takes; 15 when nothing says otherwise.
    pub max_turns: Option<NonZeroU32>,
    /// When to stop, asked in this order after each turn; `goal_reached` when absent.
    pub stop_when: Option<Vec<StopWhen>>,
    /// Changes that hold while the conversation is in a topic.
    pub during_topic: BTreeMap<String, TopicManner>,
}

/// Rules for the simulated user.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(transform = or_nothing)]
pub struct Rules {
    /// What it should do.
    pub should: Vec<String>,
    /// What it should not do.
    pub should_not: Vec<String>,
}

/// How the user behaves in one topic.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(transform = or_nothing)]
pub struct TopicManner {
    /// How the user talks.
    pub personality: Option<Notes>,
    /// What the user knows.
    pub context: Option<Notes>,
    /// Further rules.
    pub rules: Rules,
}

/// A reason to stop a simulation.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopWhen {
    /// The judge finds the goal reached.
    GoalReached,
    /// A pattern occurs in the agent's last answer.
    Response(#[schemars(transform = not_blank)] Pattern),
    /// A pattern occurs in the user's last message.
    User(#[schemars(transform = not_blank)] Pattern),
    /// A tool was called in the last turn.
    CallTool(ToolExpectation),
    /// The conversation is in this topic.
    Topic(#[schemars(transform = not_blank)] At<String>),
    /// A CEL expression is true.
    Condition(Expression),
    /// A block outside says so. Not for files.
    #[serde(rename = "$block")]
    #[schemars(skip)]
    Block(Block),
}

/// A stretch of conversation in which a model plays the user.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Simulate {
    /// What the user wants.
    #[schemars(transform = not_blank)]
    pub goal: String,
    /// Before this many turns, nothing stops the simulation.
    #[serde(default)]
    pub min_turns: u32,
    /// What it means when the turns run out.
    #[serde(default)]
    pub on_max_turns: OnMaxTurns,
    /// The most time the simulation may take.
    #[schemars(transform = above_zero)]
    pub timeout: Option<TimeSpan>,
    /// Assertions that are checked after every turn.
    #[serde(default)]
    pub every_turn: EveryTurn,
    /// Who the user is.
    pub role: Option<String>,
    /// How the user talks.
    pub personality: Option<Notes>,
    /// What the user knows.
    pub context: Option<Notes>,
    /// What the user should and should not do.
    #[serde(default)]
    pub rules: Rules,
    /// The most turns.
    pub max_turns: Option<NonZeroU32>,
    /// When to stop.
    pub stop_when: Option<Vec<StopWhen>>,
    /// Changes that hold while the conversation is in a topic.
    #[serde(default)]
    pub during_topic: BTreeMap<String, TopicManner>,
}

/// What it means when a simulation runs out of turns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnMaxTurns {
    /// The judge is asked for the goal; not having reached it is a failure.
    #[default]
    AskJudge,
    /// It is what was wanted: for users who must not get their way.
    Fine,
}

/// Assertions for every turn of a simulation.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(transform = or_nothing)]
pub struct EveryTurn {
    /// Those that decide.
    pub expect: Vec<At<Assertion>>,
    /// Those that are recorded as quality.
    pub evaluate: Vec<At<Assertion>>,
}

impl Simulator {
    /// What holds when this stands inside an outer group: role, limits and stop conditions replace, texts
    /// replace and lists add, rules add up, topics are merged by name.
    #[must_use]
    pub fn inside(&self, outer: &Self) -> Self {
        let mut during_topic = outer.during_topic.clone();
        for (topic, manner) in &self.during_topic {
            let merged = match outer.during_topic.get(topic) {
                Some(outer) => manner.inside(outer),
                None => manner.clone(),
            };
            during_topic.insert(topic.clone(), merged);
        }
        Self {
            model: self.model.clone().or_else(|| outer.model.clone()),
            role: self.role.clone().or_else(|| outer.role.clone()),
            personality: inside(self.personality.as_ref(), outer.personality.as_ref()),
            context: inside(self.context.as_ref(), outer.context.as_ref()),
            rules: self.rules.inside(&outer.rules),
            max_turns: self.max_turns.or(outer.max_turns),
            stop_when: self.stop_when.clone().or_else(|| outer.stop_when.clone()),
            during_topic,
        }
    }
}

impl TopicManner {
    fn inside(&self, outer: &Self) -> Self {
        Self {
            personality: inside(self.personality.as_ref(), outer.personality.as_ref()),
            context: inside(self.context.as_ref(), outer.context.as_ref()),
            rules: self.rules.inside(&outer.rules),
        }
    }
}

impl Rules {
    /// Outer rules, then these.
    #[must_use]
    pub fn inside(&self, outer: &Self) -> Self {
        let join = |outer: &[String], inner: &[String]| [outer, inner].concat();
        Self {
            should: join(&outer.should, &self.should),
            should_not: join(&outer.should_not, &self.should_not),
        }
    }
}

pub(crate) fn inside(inner: Option<&Notes>, outer: Option<&Notes>) -> Option<Notes> {
    match inner {
        Some(inner) => Some(inner.inside(outer)),
        None => outer.cloned(),
    }
}

impl Simulate {
    /// The user of this simulation, within what the groups around it say.
    pub fn user_within(&self, outer: &Simulator) -> Simulator {
        let own = Simulator {
            model: None,
            role: self.role.clone(),
            personality: self.personality.clone(),
            context: self.context.clone(),
            rules: self.rules.clone(),
            max_turns: self.max_turns,
            stop_when: self.stop_when.clone(),
            during_topic: self.during_topic.clone(),
        };
        own.inside(outer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_groups_change_the_user_by_the_written_rules() {
        let outer: Simulator = serde_json::from_str(
            r#"{"role": "guest", "personality": ["calm"], "context": "outer", "max_turns": 5,
                "rules": {"should": ["ask"]}, "during_topic": {"pay": {"context": ["a"]}}}"#,
        )
        .unwrap();
        let inner: Simulator = serde_json::from_str(
            r#"{"personality": ["curt"], "context": "inner", "rules": {"should": ["wait"]},
                "during_topic": {"pay": {"context": ["b"]}, "book": {}}}"#,
        )
        .unwrap();
        let merged = inner.inside(&outer);
        assert_eq!(merged.role.as_deref(), Some("guest"));
        assert_eq!(merged.personality.unwrap().lines(), ["calm", "curt"]);
        assert_eq!(merged.context.unwrap().lines(), ["inner"]);
        assert_eq!(merged.rules.should, ["ask", "wait"]);
        assert_eq!(merged.max_turns.map(NonZeroU32::get), Some(5));
        assert_eq!(merged.during_topic["pay"].context.as_ref().unwrap().lines(), ["a", "b"]);
        assert!(merged.during_topic.contains_key("book"));
    }
}
