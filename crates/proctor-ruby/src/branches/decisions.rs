//! Two-sided decisions, and the list of everything that a body decides.

use ruby_prism::{CallNode, Node};

use super::conditions::Condition;
use super::continuation::Continuation;
use super::endings::{ending, is_exit};
use super::{ArmValues, BodyAnalysis, Parent};
use crate::facts::{
    Arm, Behavior, BehaviorKind, Characteristic, CharacteristicKind, Setup, SetupKind,
};
use crate::probes::{grouped, negated};
use crate::words::identifier;

/// What happens if a condition holds, and if it does not.
pub(super) type Sides<'s, 'a> = (&'s Continuation<'a>, &'s Continuation<'a>);

impl<'a> BodyAnalysis<'a> {
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
            self.decide(
                &both.left(),
                (&Continuation::Nothing, &Continuation::Nothing),
                parent,
                lines,
            );
            let Some(last) = self.found.len().checked_sub(1).filter(|last| *last >= first) else {
                return self.decide(&both.right(), (yes, no), parent, lines);
            };
            for index in first..=last {
                self.mark_negative(index, no);
            }
            let passing = Some((last, self.passing_arm(last)));
            return self.decide(&both.right(), (yes, no), &passing, lines);
        }
        // `a&.b` in a condition says no if there is no `a`.
        if let Some(call) = predicate.as_call_node().filter(CallNode::is_safe_navigation) {
            let first = self.found.len();
            if let Some(presence) = self.call(&call, parent) {
                let mut next = Some(presence);
                while let Some(index) = next.filter(|index| *index >= first) {
                    self.mark_negative(index, no);
                    next = self.found[index].parent;
                }
                let passing = Some((presence, self.passing_arm(presence)));
                let question = self.question(predicate);
                self.ask(question, predicate, (yes, no), &passing, lines);
                return;
            }
        } else if predicate.as_or_node().is_none() {
            // What its parts decide before it is asked. Of `a || b` the second is asked only sometimes.
            self.statement(predicate, parent);
        }
        let question = self.question(predicate);
        self.ask(question, predicate, (yes, no), parent, lines);
    }

    /// Puts what happens otherwise on the arms that say no.
    fn mark_negative(&mut self, index: usize, no: &Continuation<'a>) {
        for arm in &mut self.found[index].arms {
            if arm.probe.is_some_and(|(_, answer)| answer == Some(false)) {
                leaf(arm, no);
            }
        }
    }

    /// The value of a decision under which things go on: the one that its probe says yes for, or the first.
    fn passing_arm(&self, index: usize) -> ArmValues {
        let passes = |arm: &Arm| arm.probe.is_some_and(|(_, answer)| answer == Some(true));
        ArmValues::One(self.found[index].arms.iter().position(passes).unwrap_or(0))
    }

    pub(super) fn ask(
        &mut self,
        question: Condition,
        condition: &Node<'a>,
        (yes, no): Sides<'_, 'a>,
        parent: &Parent,
        lines: (u32, u32),
    ) -> usize {
        let probe = self.around.probes.condition(condition);
        let positive = arm(question.yes.0, question.yes.1, probe.map(|id| (id, Some(true))));
        let negative = arm(question.no.0, question.no.1, probe.map(|id| (id, Some(false))));
        let inputs = self.flow.names(question.inputs);
        let no_first = question.no_first;
        let arms = if no_first { vec![negative, positive] } else { vec![positive, negative] };
        let words = (identifier(&question.name, 40), question.name);
        let index = self.push(words, question.kind, arms, parent, lines);
        let found = &mut self.found[index];
        found.threshold = question.threshold;
        found.origin = question.origin;
        found.setup = question.setup;
        found.inputs = inputs;
        self.arm_body(index, usize::from(no_first), yes);
        self.arm_body(index, usize::from(!no_first), no);
        index
    }

    /// What happens under a value: side effects, further decisions, and how it ends if nothing else decides that.
    pub(super) fn arm_body(&mut self, index: usize, place: usize, way: &Continuation<'a>) {
        let Some(exits) = way.last(is_exit) else { return };
        let (effects, decisions) = (self.effects.len(), self.found.len());
        self.block(way, &Some((index, ArmValues::One(place))));
        let decided = self.found[decisions..].iter().any(|inner| inner.parent == Some(index));
        let arm = &mut self.found[index].arms[place];
        arm.side_effects = (effects..self.effects.len()).collect();
        arm.terminal |= exits;
        if arm.terminal || !decided {
            leaf(arm, way);
        }
    }

    /// Puts a decision on the list, with its name and description.
    pub(super) fn push(
        &mut self,
        (name, description): (String, String),
        kind: CharacteristicKind,
        arms: Vec<Arm>,
        parent: &Parent,
        lines: (u32, u32),
    ) -> usize {
        let name = self.unique(name);
        let level = parent.as_ref().map_or(1, |(index, _)| self.found[*index].level + 1);
        let when_parent =
            parent.as_ref().map(|(index, ways)| ways.values(&self.found[*index].arms));
        let when_parent = when_parent.unwrap_or_default();
        self.found.push(Characteristic {
            name,
            description,
            kind,
            arms,
            lines,
            origin: None,
            setup: Setup { kind: SetupKind::Data, class: None },
            inputs: Vec::new(),
            level,
            parent: parent.as_ref().map(|parent| parent.0),
            when_parent,
            threshold: None,
        });
        self.found.len() - 1
    }

    /// The name, with a number if it is taken.
    fn unique(&mut self, name: String) -> String {
        if self.names.is_empty() && self.found.len() < MAX_LINEAR_NAMES {
            let taken = |name: &str| self.found.iter().any(|other| other.name == name);
            if !taken(&name) {
                return name;
            }
            let mut candidates = (2..).map(|number| numbered(&name, number));
            return candidates.find(|candidate| !taken(candidate)).unwrap_or(name);
        }
        // Long methods ask about the same things over and over: numbers are counted on from the last.
        if self.names.is_empty() {
            self.names.extend(self.found.iter().map(|found| (found.name.clone(), 2)));
        }
        let Some(mut number) = self.names.get(&name).copied() else {
            self.names.insert(name.clone(), 2);
            return name;
        };
        loop {
            let candidate = numbered(&name, number);
            number += 1;
            if !self.names.contains_key(&candidate) {
                self.names.insert(name, number);
                self.names.insert(candidate.clone(), 2);
                return candidate;
            }
        }
    }

    /// Leaves keep a behaviour, inner values lose theirs.
    pub(super) fn finish_behaviors(&mut self, outcome: &Behavior) {
        for index in 0..self.found.len() {
            // A parent stands before what depends on it.
            let (before, after) = self.found.split_at_mut(index);
            let Some(parent) = after[0].parent else { continue };
            for arm in &mut before[parent].arms {
                if !arm.terminal && after[0].when_parent.contains(&arm.value) {
                    arm.behavior = Some(UNDECIDED);
                }
            }
        }
        for arm in self.found.iter_mut().flat_map(|found| &mut found.arms) {
            match &arm.behavior {
                None => arm.behavior = Some(outcome.clone()),
                Some(behavior) if *behavior == UNDECIDED => arm.behavior = None,
                Some(_) => {}
            }
        }
    }
}

fn numbered(name: &str, number: u32) -> String {
    [name, "_", &number.to_string()].concat()
}

/// Up to so many names are compared one by one.
const MAX_LINEAR_NAMES: usize = 24;

/// Stands for "something else decides" until everything is known.
const UNDECIDED: Behavior = Behavior { kind: BehaviorKind::Success, description: String::new() };

/// What happens on a way that ends with these statements.
fn leaf(arm: &mut Arm, way: &Continuation<'_>) {
    let Some((exits, description)) = way.last(|last| (is_exit(last), ending(last))) else { return };
    arm.terminal |= exits;
    let kind = if exits { BehaviorKind::Terminal } else { BehaviorKind::Success };
    arm.behavior = Some(Behavior { kind, description });
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
