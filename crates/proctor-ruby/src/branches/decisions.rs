//! Two-sided decisions, and the list of everything that a body decides.

use ruby_prism::Node;

use super::endings::{ending, is_exit};
use super::questions::Question;
use super::{Parent, Study};
use crate::facts::{
    Arm, Behavior, BehaviorKind, Characteristic, CharacteristicKind, Setup, SetupKind,
};
use crate::probes::{grouped, negated};
use crate::source::statements;
use crate::words::{humanize, identifier};

/// What happens if a condition holds, and if it does not.
pub(super) type Sides<'s, 'a> = (&'s [Node<'a>], &'s [Node<'a>]);

impl<'a> Study<'a> {
    /// A condition with what happens if it holds and if it does not.
    pub(super) fn decide(
        &mut self,
        predicate: &Node<'a>,
        (yes, no): Sides<'_, 'a>,
        parent: &Parent,
        lines: (u32, u32),
    ) {
        if let Some(inner) = grouped(predicate) {
            return self.decide(&inner, (yes, no), parent, lines);
        }
        if let Some(inner) = negated(predicate) {
            return self.decide(&inner, (no, yes), parent, lines);
        }
        if let Some(both) = predicate.as_and_node() {
            let first = self.found.len();
            self.decide(&both.left(), (&[], &[]), parent, lines);
            let Some(last) = self.found.len().checked_sub(1).filter(|last| *last >= first) else {
                return self.decide(&both.right(), (yes, no), parent, lines);
            };
            for index in first..=last {
                self.mark_negative(index, no);
            }
            let passing = Some((last, vec![self.passing(last)]));
            return self.decide(&both.right(), (yes, no), &passing, lines);
        }
        let question = self.question(predicate);
        self.ask(question, predicate, (yes, no), parent, lines);
    }

    /// Puts what happens otherwise on the arms that say no.
    fn mark_negative(&mut self, index: usize, no: &[Node<'a>]) {
        for arm in &mut self.found[index].arms {
            if arm.probe.is_some_and(|(_, answer)| answer == Some(false)) {
                leaf(arm, no);
            }
        }
    }

    fn passing(&self, index: usize) -> String {
        let arms = &self.found[index].arms;
        arms.iter()
            .find(|arm| arm.probe.is_some_and(|(_, answer)| answer == Some(true)))
            .or_else(|| arms.first())
            .map(|arm| arm.value.clone())
            .unwrap_or_default()
    }

    pub(super) fn ask(
        &mut self,
        question: Question,
        condition: &Node<'a>,
        (yes, no): Sides<'_, 'a>,
        parent: &Parent,
        lines: (u32, u32),
    ) {
        let probe = self.around.probes.condition(condition);
        let (yes_value, no_value) = (question.yes.0.clone(), question.no.0.clone());
        let mut positive = arm(question.yes.0, question.yes.1, probe.map(|id| (id, Some(true))));
        let mut negative = arm(question.no.0, question.no.1, probe.map(|id| (id, Some(false))));
        leaf(&mut positive, yes);
        leaf(&mut negative, no);
        let arms =
            if question.no_first { vec![negative, positive] } else { vec![positive, negative] };
        let index = self.push(identifier(&question.name, 40), question.kind, arms, parent, lines);
        let found = &mut self.found[index];
        found.description = question.name;
        found.threshold = question.threshold;
        found.origin = question.origin;
        found.setup = question.setup;
        self.arm_body(index, &yes_value, yes);
        self.arm_body(index, &no_value, no);
        // What the condition itself decides, such as blocks inside it.
        if let Some(call) = condition.as_call_node()
            && let Some(block) = call.block().and_then(|block| block.as_block_node())
        {
            self.block(&statements(block.body()), &None);
        }
    }

    pub(super) fn arm_body(&mut self, index: usize, value: &str, list: &[Node<'a>]) {
        if list.is_empty() {
            return;
        }
        let before = self.effects.len();
        self.block(list, &Some((index, vec![value.to_owned()])));
        if let Some(arm) = self.found[index].arms.iter_mut().find(|arm| arm.value == value) {
            arm.side_effects = (before..self.effects.len()).collect();
        }
    }

    pub(super) fn push(
        &mut self,
        name: String,
        kind: CharacteristicKind,
        arms: Vec<Arm>,
        parent: &Parent,
        lines: (u32, u32),
    ) -> usize {
        let name = self.unique(name);
        let level = parent.as_ref().map_or(1, |(index, _)| self.found[*index].level + 1);
        self.found.push(Characteristic {
            description: humanize(&name),
            name,
            kind,
            arms,
            lines,
            origin: None,
            setup: Setup { kind: SetupKind::Data, class: None },
            level,
            parent: parent.as_ref().map(|parent| parent.0),
            when_parent: parent.as_ref().map(|parent| parent.1.clone()).unwrap_or_default(),
            threshold: None,
        });
        self.found.len() - 1
    }

    /// The name, with a number if it is taken.
    fn unique(&self, name: String) -> String {
        let taken = |candidate: &str| self.found.iter().any(|other| other.name == candidate);
        if !taken(&name) {
            return name;
        }
        let mut number = 2;
        loop {
            let candidate = format!("{name}_{number}");
            if !taken(&candidate) {
                return candidate;
            }
            number += 1;
        }
    }

    /// Leaves keep a behaviour, inner values lose theirs.
    pub(super) fn settle(&mut self, outcome: &Behavior) {
        for arm in self.found.iter_mut().flat_map(|found| &mut found.arms) {
            arm.behavior.get_or_insert_with(|| outcome.clone());
        }
        for index in 0..self.found.len() {
            // A parent stands before what depends on it.
            let (before, after) = self.found.split_at_mut(index);
            let Some(parent) = after[0].parent else { continue };
            for arm in &mut before[parent].arms {
                if !arm.terminal && after[0].when_parent.contains(&arm.value) {
                    arm.behavior = None;
                }
            }
        }
    }
}

/// What happens on a way that ends with these statements.
pub(super) fn leaf(arm: &mut Arm, list: &[Node<'_>]) {
    let Some(last) = list.last() else { return };
    arm.terminal |= is_exit(last);
    let kind = if is_exit(last) { BehaviorKind::Terminal } else { BehaviorKind::Success };
    arm.behavior = Some(Behavior { kind, description: ending(last) });
}

pub(super) fn arm(
    value: impl Into<String>,
    description: impl Into<String>,
    probe: Option<(u32, Option<bool>)>,
) -> Arm {
    Arm {
        value: value.into(),
        description: description.into(),
        terminal: false,
        behavior: None,
        side_effects: Vec::new(),
        probe,
    }
}
