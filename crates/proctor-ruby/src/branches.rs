//! From a method's body to its characteristics: what its behaviour depends on, in which order.
//!
//! Guards form an ordered path: what follows a decision with an early exit depends on it, under the values
//! that go on. Decisions without an exit stand beside each other.
//!
//! Here the statements are walked. [`clauses`] has the constructs with several clauses, [`decisions`] the two-sided
//! ones and the list of what was found, [`questions`] what a condition asks, [`endings`] how a way ends.

mod clauses;
mod decisions;
mod endings;
mod questions;

use ruby_prism::{CallNode, Node};

use self::endings::{effect_words, ending};
use crate::effects::side_effect;
use crate::facts::{
    Behavior, BehaviorKind, Characteristic, CharacteristicKind, Origin, SideEffect,
};
use crate::probes::{ProbeMap, grouped};
use crate::source::{FastMap, Source, listed, name, statements, text};
use crate::words::{humanize, identifier};

/// What a body turned out to do.
pub(crate) struct Body {
    pub(crate) characteristics: Vec<Characteristic>,
    pub(crate) side_effects: Vec<SideEffect>,
    pub(crate) outcome: Behavior,
    pub(crate) raise_lines: Vec<u32>,
}

/// What is around the body.
pub(crate) struct Surroundings<'a> {
    pub(crate) source: &'a Source<'a>,
    pub(crate) probes: &'a ProbeMap,
    pub(crate) class: &'a str,
}

pub(crate) fn study<'a>(body: Option<Node<'a>>, around: &'a Surroundings<'a>) -> Body {
    let list = statements(body);
    let mut study = Study {
        around,
        locals: FastMap::default(),
        found: Vec::new(),
        effects: Vec::new(),
        raise_lines: Vec::new(),
    };
    let outcome = Behavior {
        kind: BehaviorKind::Success,
        description: list.last().map_or_else(|| "returns nil".to_owned(), ending),
    };
    study.block(&list, &None);
    study.settle(&outcome);
    Body {
        characteristics: study.found,
        side_effects: study.effects,
        outcome,
        raise_lines: study.raise_lines,
    }
}

/// The decision that something depends on, and its values that lead there.
type Parent = Option<(usize, Vec<String>)>;

struct Study<'a> {
    around: &'a Surroundings<'a>,
    /// What locals were made from.
    locals: FastMap<&'a [u8], Option<Origin>>,
    found: Vec<Characteristic>,
    effects: Vec<SideEffect>,
    raise_lines: Vec<u32>,
}

impl<'a> Study<'a> {
    fn block(&mut self, list: &[Node<'a>], parent: &Parent) {
        let mut guarded: Parent;
        let mut parent = parent;
        for statement in list {
            let before = self.found.len();
            self.statement(statement, parent);
            if let Some(index) = self.guard(before, parent) {
                let goes_on = self.found[index].arms.iter().filter(|arm| !arm.terminal);
                guarded = Some((index, goes_on.map(|arm| arm.value.clone()).collect()));
                parent = &guarded;
            }
        }
    }

    /// The decision with an early exit that governs what follows, among those found since.
    fn guard(&self, before: usize, parent: &Parent) -> Option<usize> {
        (before..self.found.len()).rev().find(|index| {
            let arms = &self.found[*index].arms;
            let same_level = self.found[*index].parent == parent.as_ref().map(|parent| parent.0)
                || self.chained(*index, before);
            same_level
                && arms.iter().any(|arm| arm.terminal)
                && arms.iter().any(|arm| !arm.terminal)
        })
    }

    /// Whether a decision hangs on another one of the same statement.
    fn chained(&self, index: usize, from: usize) -> bool {
        self.found[index].parent.is_some_and(|parent| parent >= from)
    }

    fn statement(&mut self, node: &Node<'a>, parent: &Parent) {
        // By far the most common, so asked for first.
        if let Some(call) = node.as_call_node() {
            self.note_raise(&call);
            return self.call(&call, parent);
        }
        let lines = |study: &Self| study.around.source.lines(&node.location());
        if let Some(branch) = node.as_if_node() {
            let then = listed(branch.statements());
            let other = branch.subsequent().map(otherwise).unwrap_or_default();
            self.decide(&branch.predicate(), (&then, &other), parent, lines(self));
        } else if let Some(branch) = node.as_unless_node() {
            let then = listed(branch.statements());
            let other =
                branch.else_clause().map(|other| listed(other.statements())).unwrap_or_default();
            self.decide(&branch.predicate(), (&other, &then), parent, lines(self));
        } else if let Some(case) = node.as_case_node() {
            self.case(&case, parent);
        } else if let Some(case) = node.as_case_match_node() {
            self.case_match(&case, parent);
        } else if let Some(begin) = node.as_begin_node() {
            self.begin(&begin, parent);
        } else if let Some(both) = node.as_and_node() {
            self.decide(&both.left(), (&[both.right()], &[]), parent, lines(self));
        } else if let Some(either) = node.as_or_node() {
            self.decide(&either.left(), (&[], &[either.right()]), parent, lines(self));
        } else if let Some(leave) = node.as_return_node() {
            if let Some(arguments) = leave.arguments() {
                for argument in &arguments.arguments() {
                    self.expression(&argument, parent);
                }
            }
        } else if let Some(repeat) = node.as_while_node() {
            let body = listed(repeat.statements());
            self.decide(&repeat.predicate(), (&body, &[]), parent, lines(self));
        } else if let Some(repeat) = node.as_until_node() {
            let body = listed(repeat.statements());
            self.decide(&repeat.predicate(), (&[], &body), parent, lines(self));
        } else {
            self.expression(node, parent);
        }
    }

    /// Expressions that may hold decisions: assignments, calls with blocks, `&.`, `||=`.
    fn expression(&mut self, node: &Node<'a>, parent: &Parent) {
        if let Some(call) = node.as_call_node() {
            return self.call(&call, parent);
        }
        if let Some(inner) = grouped(node) {
            return self.statement(&inner, parent);
        }
        if let Some(write) = node.as_local_variable_write_node() {
            let origin = self.origin(&write.value());
            self.locals.insert(write.name().as_slice(), origin);
            return self.statement(&write.value(), parent);
        }
        if let Some(write) = node.as_instance_variable_write_node() {
            return self.statement(&write.value(), parent);
        }
        let or_write = node
            .as_instance_variable_or_write_node()
            .map(|write| (write.name().as_slice(), write.value()))
            .or_else(|| {
                node.as_local_variable_or_write_node()
                    .map(|write| (write.name().as_slice(), write.value()))
            });
        if let Some((variable, value)) = or_write {
            self.default(node, &name(variable), parent);
            return self.statement(&value, parent);
        }
        if node.as_if_node().is_some()
            || node.as_case_node().is_some()
            || node.as_unless_node().is_some()
            || node.as_begin_node().is_some()
            || node.as_and_node().is_some()
            || node.as_or_node().is_some()
        {
            self.statement(node, parent);
        }
    }

    fn call(&mut self, call: &CallNode<'a>, parent: &Parent) {
        let receiver = call.receiver();
        self.note_effect(call, receiver.as_ref());
        if let Some(receiver) = &receiver {
            if call.is_safe_navigation() {
                let lines = self.around.source.lines(&receiver.location());
                let question = Self::presence(receiver, &text(receiver));
                self.ask(question, receiver, (&[], &[]), parent, lines);
            }
            self.expression(receiver, parent);
        }
        if let Some(arguments) = call.arguments() {
            for argument in &arguments.arguments() {
                self.expression(&argument, parent);
            }
        }
        if let Some(block) = call.block().and_then(|block| block.as_block_node()) {
            self.block(&statements(block.body()), parent);
        }
    }

    fn note_effect(&mut self, call: &CallNode<'a>, receiver: Option<&Node<'a>>) {
        let owner = receiver.map(text).unwrap_or_default();
        let method = name(call.name().as_slice());
        let Some(kind) = side_effect(&owner, &method) else { return };
        let line = self.around.source.line(call.location().start());
        let description = effect_words(kind, &owner, &method);
        let known = |effect: &SideEffect| {
            effect.description == description || (effect.kind == kind && effect.line == line)
        };
        if !self.effects.iter().any(known) {
            self.effects.push(SideEffect { kind: kind.to_owned(), description, line });
        }
    }

    /// `@x ||= value`: there already, or made now.
    fn default(&mut self, node: &Node<'a>, variable: &str, parent: &Parent) {
        let location = node.location();
        let lines = self.around.source.lines(&location);
        let probe = self.around.probes.place(location.start());
        let word = humanize(variable);
        let arms = vec![
            decisions::arm("present", format!("{word} is already set"), None),
            decisions::arm("nil", format!("{word} is not set yet"), probe.map(|id| (id, None))),
        ];
        let name = identifier(&word, 40);
        self.push(name, CharacteristicKind::Presence, arms, parent, lines);
    }

    fn note_raise(&mut self, call: &CallNode<'a>) {
        if matches!(call.name().as_slice(), b"raise" | b"fail" | b"throw")
            && call.receiver().is_none()
        {
            let line = self.around.source.line(call.location().start());
            self.raise_lines.push(line);
        }
    }
}

fn otherwise(node: Node<'_>) -> Vec<Node<'_>> {
    match node.as_else_node() {
        Some(other) => listed(other.statements()),
        None => vec![node],
    }
}
