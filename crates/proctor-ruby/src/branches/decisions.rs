//! Two-sided decisions, and the list of everything that a body decides.

use ruby_prism::{CallNode, Node};

use super::conditions::Condition;
use super::continuation::Continuation;
use super::endings::{ending, is_assignment, is_exit, is_raise, leaves_iteration, left_value};
use super::{ArmValues, BodyAnalysis, Parent};
use crate::facts::{
    Arm, Behavior, BehaviorKind, Characteristic, CharacteristicKind, Ending, Setup, SetupKind,
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
            let nothing = &Continuation::Nothing;
            self.aside(|study| study.decide(&both.left(), (nothing, nothing), parent, lines));
            let Some(last) = self.found.len().checked_sub(1).filter(|last| *last >= first) else {
                return self.decide(&both.right(), (yes, no), parent, lines);
            };
            // `!a && b` goes on where `a` says no. Of `!(a && b)` only the last answer decides.
            let holds = !is_negated(&both.left());
            let negative = if holds { first } else { last };
            for index in negative..=last {
                self.mark(index, !holds, no);
            }
            let passing = Some((last, self.passing_arm(last, holds)));
            return self.decide(&both.right(), (yes, no), &passing, lines);
        }
        // `a&.b` in a condition says no if there is no `a`.
        if let Some(call) = predicate.as_call_node().filter(CallNode::is_safe_navigation) {
            let first = self.found.len();
            if let Some(presence) = self.aside(|study| study.call(&call, parent)) {
                let mut next = Some(presence);
                while let Some(index) = next.filter(|index| *index >= first) {
                    self.mark(index, false, no);
                    next = self.found[index].parent;
                }
                let passing = Some((presence, self.passing_arm(presence, true)));
                let question = self.question(predicate);
                self.ask(question, predicate, (yes, no), &passing, lines);
                return;
            }
        } else if predicate.as_or_node().is_none() {
            // What its parts decide before it is asked. Of `a || b` the second is asked only sometimes.
            self.aside(|study| study.statement(predicate, parent));
        }
        let question = self.question(predicate);
        self.ask(question, predicate, (yes, no), parent, lines);
    }

    /// Puts what happens otherwise on the arms with this answer.
    fn mark(&mut self, index: usize, answer: bool, way: &Continuation<'a>) {
        let is_result = self.is_result;
        for arm in &mut self.found[index].arms {
            if arm.probe.is_some_and(|(_, other)| other == Some(answer)) {
                leaf(arm, way, is_result);
            }
        }
    }

    /// The value of a decision under which things go on: the one with this answer of its probe, or the first.
    fn passing_arm(&self, index: usize, answer: bool) -> ArmValues {
        let passes = |arm: &Arm| arm.probe.is_some_and(|(_, other)| other == Some(answer));
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
        let is_result = self.is_result;
        if way.last(|_| ()).is_none() {
            return leaf(&mut self.found[index].arms[place], way, is_result);
        }
        let (effects, decisions) = (self.effects.len(), self.found.len());
        self.block(way, &Some((index, ArmValues::One(place))));
        let decided = self.found[decisions..].iter().any(|inner| inner.parent == Some(index));
        if is_result {
            self.end_with(decisions, way);
        }
        let arm = &mut self.found[index].arms[place];
        arm.side_effects = (effects..self.effects.len()).collect();
        if !decided || way.last(is_exit) == Some(true) {
            leaf(arm, way, is_result);
        }
        // `return a ? b : c`: what is returned is decided further in.
        if decided && way.last(|last| last.as_return_node().is_some()) == Some(true) {
            let within = |inner: &Characteristic| {
                inner.parent == Some(index)
                    && inner.arms.iter().all(|arm| arm.ending == Ending::Exit)
            };
            if self.found[decisions..].iter().any(within) {
                let arm = &mut self.found[index].arms[place];
                (arm.behavior, arm.terminal) = (Some(UNDECIDED), false);
            }
        }
    }

    /// Decisions on a way that leave it to what follows: the last expression of the way is their result.
    fn end_with(&mut self, first: usize, way: &Continuation<'a>) {
        let Some(description) = way.last(ending) else { return };
        for arm in self.found[first..].iter_mut().flat_map(|found| &mut found.arms) {
            if arm.behavior.is_none() && !arm.terminal {
                let (kind, description) = (BehaviorKind::Success, description.clone());
                arm.behavior = Some(Behavior { kind, description });
            }
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
        self.depths.push(self.depth);
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

/// Whether a condition is turned around.
fn is_negated(node: &Node<'_>) -> bool {
    match (grouped(node), negated(node)) {
        (Some(inner), _) => is_negated(&inner),
        (_, Some(inner)) => !is_negated(&inner),
        _ => false,
    }
}

fn numbered(name: &str, number: u32) -> String {
    [name, "_", &number.to_string()].concat()
}

/// Up to so many names are compared one by one.
const MAX_LINEAR_NAMES: usize = 24;

/// Stands for "something else decides" until everything is known.
const UNDECIDED: Behavior = Behavior { kind: BehaviorKind::Success, description: String::new() };

/// What happens on a way that ends with these statements. `is_result`: their value is the result of the method.
fn leaf(arm: &mut Arm, way: &Continuation<'_>, is_result: bool) {
    let (exits, raises) = way.last(|last| (is_exit(last), is_raise(last))).unwrap_or_default();
    let iterates = way.last(leaves_iteration).unwrap_or_default();
    let sets = way.last(is_assignment).unwrap_or_default();
    if !exits && !is_result && !sets {
        return;
    }
    arm.terminal |= exits;
    arm.ending = match (exits, is_result) {
        (true, _) if raises => Ending::Raise,
        (true, _) if iterates => Ending::Next,
        (true, _) => Ending::Exit,
        (false, true) => Ending::Result,
        (false, false) => arm.ending,
    };
    let kind = if exits { BehaviorKind::Terminal } else { BehaviorKind::Success };
    let description = match way {
        Continuation::Nothing => "returns nil".to_owned(),
        Continuation::Left(node, truth) => left_value(node, *truth),
        _ => way.last(ending).unwrap_or_default(),
    };
    arm.behavior = Some(Behavior { kind, description });
}

pub(super) fn arm(
    value: impl Into<String>,
    description: impl Into<String>,
    probe: Option<(u32, Option<bool>)>,
) -> Arm {
    Arm {
        value: value.into(),
        description: crate::sentence::without_code(&description.into()),
        terminal: false,
        behavior: None,
        ending: Ending::GoesOn,
        side_effects: Vec::new(),
        probe,
    }
}
