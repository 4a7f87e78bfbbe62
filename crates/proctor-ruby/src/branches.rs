//! From a method's body to its characteristics: what its behaviour depends on, in which order.
//!
//! Guards form an ordered path: what follows a decision with an early exit depends on it, under the values
//! that go on. Decisions without an exit stand beside each other.

mod endings;
mod questions;

use std::collections::HashMap;

use ruby_prism::{CallNode, Node};

use self::endings::{effect_words, ending, is_exit};
use self::questions::{Question, phrase, plain_value};
use crate::effects::{is_lifecycle, side_effect};
use crate::facts::{
    Arm, Behavior, BehaviorKind, Characteristic, CharacteristicKind, Origin, Setup, SetupKind,
    SideEffect,
};
use crate::probes::{ProbeMap, grouped, negated};
use crate::source::{Source, listed, name, statements, text};
use crate::words::{humanize, identifier, short};

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

pub(crate) fn study(body: Option<Node<'_>>, around: &Surroundings<'_>) -> Body {
    let list = statements(body);
    let mut study = Study {
        around,
        locals: HashMap::new(),
        found: Vec::new(),
        effects: Vec::new(),
        raise_lines: Vec::new(),
    };
    let outcome = Behavior {
        kind: BehaviorKind::Success,
        description: list.last().map_or_else(|| "returns nil".to_owned(), ending),
    };
    study.block(&list, None);
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
    locals: HashMap<String, Option<Origin>>,
    found: Vec<Characteristic>,
    effects: Vec<SideEffect>,
    raise_lines: Vec<u32>,
}

impl Study<'_> {
    fn block(&mut self, list: &[Node<'_>], parent: Parent) {
        let mut parent = parent;
        for statement in list {
            let before = self.found.len();
            self.statement(statement, parent.clone());
            // A decision with an early exit governs what follows.
            let guard = (before..self.found.len()).rev().find(|index| {
                let arms = &self.found[*index].arms;
                let same_level = self.found[*index].parent
                    == parent.as_ref().map(|parent| parent.0)
                    || self.chained(*index, before);
                same_level
                    && arms.iter().any(|arm| arm.terminal)
                    && arms.iter().any(|arm| !arm.terminal)
            });
            if let Some(index) = guard {
                let goes_on = self.found[index].arms.iter().filter(|arm| !arm.terminal);
                parent = Some((index, goes_on.map(|arm| arm.value.clone()).collect()));
            }
        }
    }

    /// Whether a decision hangs on another one of the same statement.
    fn chained(&self, index: usize, from: usize) -> bool {
        self.found[index].parent.is_some_and(|parent| parent >= from)
    }

    fn statement(&mut self, node: &Node<'_>, parent: Parent) {
        self.note_raise(node);
        if let Some(branch) = node.as_if_node() {
            let then = listed(branch.statements());
            let other = branch.subsequent().map(otherwise).unwrap_or_default();
            let lines = self.around.source.lines(&branch.location());
            self.decide(&branch.predicate(), &then, &other, parent, lines);
        } else if let Some(branch) = node.as_unless_node() {
            let then = listed(branch.statements());
            let other =
                branch.else_clause().map(|other| listed(other.statements())).unwrap_or_default();
            let lines = self.around.source.lines(&branch.location());
            self.decide(&branch.predicate(), &other, &then, parent, lines);
        } else if let Some(case) = node.as_case_node() {
            self.case(&case, parent);
        } else if let Some(case) = node.as_case_match_node() {
            self.case_match(&case, parent);
        } else if let Some(begin) = node.as_begin_node() {
            self.begin(&begin, parent);
        } else if let Some(both) = node.as_and_node() {
            let lines = self.around.source.lines(&both.location());
            self.decide(&both.left(), &[both.right()], &[], parent, lines);
        } else if let Some(either) = node.as_or_node() {
            let lines = self.around.source.lines(&either.location());
            self.decide(&either.left(), &[], &[either.right()], parent, lines);
        } else if let Some(leave) = node.as_return_node() {
            if let Some(arguments) = leave.arguments() {
                for argument in &arguments.arguments() {
                    self.expression(&argument, parent.clone());
                }
            }
        } else if let Some(repeat) = node.as_while_node() {
            let lines = self.around.source.lines(&repeat.location());
            self.decide(&repeat.predicate(), &listed(repeat.statements()), &[], parent, lines);
        } else if let Some(repeat) = node.as_until_node() {
            let lines = self.around.source.lines(&repeat.location());
            self.decide(&repeat.predicate(), &[], &listed(repeat.statements()), parent, lines);
        } else {
            self.expression(node, parent);
        }
    }

    /// Expressions that may hold decisions: assignments, calls with blocks, `&.`, `||=`.
    fn expression(&mut self, node: &Node<'_>, parent: Parent) {
        if let Some(inner) = grouped(node) {
            return self.statement(&inner, parent);
        }
        if let Some(write) = node.as_local_variable_write_node() {
            let origin = self.origin(&write.value());
            self.locals.insert(name(write.name().as_slice()), origin);
            return self.statement(&write.value(), parent);
        }
        if let Some(write) = node.as_instance_variable_write_node() {
            return self.statement(&write.value(), parent);
        }
        let or_write = node
            .as_instance_variable_or_write_node()
            .map(|write| (name(write.name().as_slice()), write.value()))
            .or_else(|| {
                node.as_local_variable_or_write_node()
                    .map(|write| (name(write.name().as_slice()), write.value()))
            });
        if let Some((variable, value)) = or_write {
            self.default(node, &variable, parent.clone());
            return self.statement(&value, parent);
        }
        if node.as_if_node().is_some()
            || node.as_case_node().is_some()
            || node.as_unless_node().is_some()
            || node.as_begin_node().is_some()
            || node.as_and_node().is_some()
            || node.as_or_node().is_some()
        {
            return self.statement(node, parent);
        }
        if let Some(call) = node.as_call_node() {
            self.call(&call, parent);
        }
    }

    fn call(&mut self, call: &CallNode<'_>, parent: Parent) {
        let receiver = call.receiver();
        let owner = receiver.as_ref().map(text).unwrap_or_default();
        let method = name(call.name().as_slice());
        if let Some(kind) = side_effect(&owner, &method) {
            let line = self.around.source.line(call.location().start());
            let description = effect_words(kind, &owner, &method);
            let known = |effect: &SideEffect| {
                effect.description == description || (effect.kind == kind && effect.line == line)
            };
            if !self.effects.iter().any(known) {
                self.effects.push(SideEffect { kind: kind.to_owned(), description, line });
            }
        }
        if let Some(receiver) = &receiver {
            if call.is_safe_navigation() {
                let lines = self.around.source.lines(&receiver.location());
                let question = Self::presence(receiver, &text(receiver));
                self.ask(question, receiver, (&[], &[]), parent.clone(), lines);
            }
            self.expression(receiver, parent.clone());
        }
        if let Some(arguments) = call.arguments() {
            for argument in &arguments.arguments() {
                self.expression(&argument, parent.clone());
            }
        }
        if let Some(block) = call.block().and_then(|block| block.as_block_node()) {
            self.block(&statements(block.body()), parent);
        }
    }

    /// `@x ||= value`: there already, or made now.
    fn default(&mut self, node: &Node<'_>, variable: &str, parent: Parent) {
        let location = node.location();
        let lines = self.around.source.lines(&location);
        let probe = self.around.probes.place(location.start());
        let word = humanize(variable);
        let arms = vec![
            arm("present", &format!("{word} is already set"), None),
            arm("nil", &format!("{word} is not set yet"), probe.map(|id| (id, None))),
        ];
        let name = identifier(&word, 40);
        self.push(&name, CharacteristicKind::Presence, arms, parent, lines);
    }

    fn begin(&mut self, begin: &ruby_prism::BeginNode<'_>, parent: Parent) {
        self.block(&listed(begin.statements()), parent.clone());
        let mut clause = begin.rescue_clause();
        let mut arms = vec![arm("none", "nothing is raised", None)];
        let first = clause.as_ref().map(|clause| clause.location().start());
        let mut bodies = Vec::new();
        while let Some(rescue) = clause {
            let errors: Vec<String> =
                rescue.exceptions().iter().map(|error| text(&error)).collect();
            let error =
                if errors.is_empty() { "StandardError".to_owned() } else { errors.join(" or ") };
            let probe = self.around.probes.place(rescue.location().start());
            let list = listed(rescue.statements());
            let mut value = arm(&error, &format!("{error} is raised"), probe.map(|id| (id, None)));
            Self::leaf(&mut value, &list);
            arms.push(value);
            bodies.push((error, list));
            clause = rescue.subsequent();
        }
        if let Some(first) = first {
            let line = self.around.source.line(first);
            let index =
                self.push("error", CharacteristicKind::Boolean, arms, parent.clone(), (line, line));
            for (value, list) in bodies {
                self.block(&list, Some((index, vec![value])));
            }
        }
        if let Some(ensure) = begin.ensure_clause() {
            self.block(&listed(ensure.statements()), parent);
        }
    }

    fn case(&mut self, case: &ruby_prism::CaseNode<'_>, parent: Parent) {
        let subject = case.predicate();
        let word = subject.as_ref().map_or_else(|| "condition".to_owned(), phrase);
        let mut arms = Vec::new();
        let mut bodies = Vec::new();
        for condition in &case.conditions() {
            let Some(when) = condition.as_when_node() else { continue };
            let values: Vec<String> = when.conditions().iter().map(|value| text(&value)).collect();
            let plain: Vec<String> =
                when.conditions().iter().map(|value| plain_value(&value)).collect();
            let description = if subject.is_some() {
                format!(
                    "{word} is {}",
                    values.iter().map(|value| short(value)).collect::<Vec<_>>().join(" or ")
                )
            } else {
                values
                    .iter()
                    .map(|value| format!("{} holds", short(value)))
                    .collect::<Vec<_>>()
                    .join(" or ")
            };
            let probe = self.around.probes.place(when.location().start()).map(|id| (id, None));
            let list = listed(when.statements());
            let mut value = arm(&plain.join(", "), &description, probe);
            Self::leaf(&mut value, &list);
            bodies.push((value.value.clone(), list));
            arms.push(value);
        }
        if let Some(other) = case.else_clause() {
            let list = listed(other.statements());
            let probe = self.around.probes.place(other.location().start()).map(|id| (id, None));
            let mut value = arm("other", &format!("{word} is something else"), probe);
            Self::leaf(&mut value, &list);
            bodies.push(("other".to_owned(), list));
            arms.push(value);
        }
        let origin = subject.as_ref().and_then(|subject| self.origin(subject));
        let setup = Self::setup(subject.as_ref(), origin.as_ref());
        self.enumerate(
            &word,
            arms,
            bodies,
            (origin, setup),
            parent,
            self.around.source.lines(&case.location()),
        );
    }

    fn case_match(&mut self, case: &ruby_prism::CaseMatchNode<'_>, parent: Parent) {
        let word = case.predicate().as_ref().map_or_else(|| "value".to_owned(), phrase);
        let mut arms = Vec::new();
        let mut bodies = Vec::new();
        for condition in &case.conditions() {
            let Some(pattern) = condition.as_in_node() else { continue };
            let code = text(&pattern.pattern());
            let probe = self.around.probes.place(pattern.location().start()).map(|id| (id, None));
            let list = listed(pattern.statements());
            let mut value = arm(&short(&code), &format!("{word} matches {}", short(&code)), probe);
            Self::leaf(&mut value, &list);
            bodies.push((value.value.clone(), list));
            arms.push(value);
        }
        if let Some(other) = case.else_clause() {
            let list = listed(other.statements());
            let probe = self.around.probes.place(other.location().start()).map(|id| (id, None));
            let mut value = arm("other", &format!("{word} matches nothing else"), probe);
            Self::leaf(&mut value, &list);
            bodies.push(("other".to_owned(), list));
            arms.push(value);
        }
        let origin = case.predicate().as_ref().and_then(|subject| self.origin(subject));
        let setup = Self::setup(case.predicate().as_ref(), origin.as_ref());
        self.enumerate(
            &word,
            arms,
            bodies,
            (origin, setup),
            parent,
            self.around.source.lines(&case.location()),
        );
    }

    fn enumerate(
        &mut self,
        word: &str,
        arms: Vec<Arm>,
        bodies: Vec<(String, Vec<Node<'_>>)>,
        (origin, setup): (Option<Origin>, Setup),
        parent: Parent,
        lines: (u32, u32),
    ) {
        let values: Vec<String> = arms.iter().map(|arm| arm.value.clone()).collect();
        let kind = if is_lifecycle(&values) {
            CharacteristicKind::Sequential
        } else {
            CharacteristicKind::Enum
        };
        let index = self.push(&identifier(word, 40), kind, arms, parent, lines);
        word.clone_into(&mut self.found[index].description);
        self.found[index].origin = origin;
        self.found[index].setup = setup;
        for (value, list) in bodies {
            self.arm_body(index, &value, &list);
        }
    }

    /// A condition with what happens if it holds and if it does not.
    fn decide(
        &mut self,
        predicate: &Node<'_>,
        yes: &[Node<'_>],
        no: &[Node<'_>],
        parent: Parent,
        lines: (u32, u32),
    ) {
        if let Some(inner) = grouped(predicate) {
            return self.decide(&inner, yes, no, parent, lines);
        }
        if let Some(inner) = negated(predicate) {
            return self.decide(&inner, no, yes, parent, lines);
        }
        if let Some(both) = predicate.as_and_node() {
            let first = self.found.len();
            let left = both.left();
            self.decide(&left, &[], &[], parent.clone(), lines);
            let Some(last) = self.found.len().checked_sub(1).filter(|last| *last >= first) else {
                return self.decide(&both.right(), yes, no, parent, lines);
            };
            for index in first..=last {
                self.mark_negative(index, no);
            }
            let passing = self.passing(last);
            return self.decide(&both.right(), yes, no, Some((last, vec![passing])), lines);
        }
        let question = self.question(predicate);
        self.ask(question, predicate, (yes, no), parent, lines);
    }

    /// Puts what happens otherwise on the arms that say no.
    fn mark_negative(&mut self, index: usize, no: &[Node<'_>]) {
        let mut arms = std::mem::take(&mut self.found[index].arms);
        for arm in &mut arms {
            if arm.probe.is_some_and(|(_, answer)| answer == Some(false)) {
                Self::leaf(arm, no);
            }
        }
        self.found[index].arms = arms;
    }

    fn passing(&self, index: usize) -> String {
        let arms = &self.found[index].arms;
        arms.iter()
            .find(|arm| arm.probe.is_some_and(|(_, answer)| answer == Some(true)))
            .or_else(|| arms.first())
            .map(|arm| arm.value.clone())
            .unwrap_or_default()
    }

    fn ask(
        &mut self,
        question: Question,
        condition: &Node<'_>,
        (yes, no): (&[Node<'_>], &[Node<'_>]),
        parent: Parent,
        lines: (u32, u32),
    ) {
        let probe = self.around.probes.condition(condition);
        let mut positive = arm(&question.yes.0, &question.yes.1, probe.map(|id| (id, Some(true))));
        let mut negative = arm(&question.no.0, &question.no.1, probe.map(|id| (id, Some(false))));
        Self::leaf(&mut positive, yes);
        Self::leaf(&mut negative, no);
        let (yes_value, no_value) = (positive.value.clone(), negative.value.clone());
        let arms =
            if question.no_first { vec![negative, positive] } else { vec![positive, negative] };
        let index = self.push(&identifier(&question.name, 40), question.kind, arms, parent, lines);
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
            self.block(&statements(block.body()), None);
        }
    }

    fn arm_body(&mut self, index: usize, value: &str, list: &[Node<'_>]) {
        let before = self.effects.len();
        self.block(list, Some((index, vec![value.to_owned()])));
        let effects: Vec<usize> = (before..self.effects.len()).collect();
        if let Some(arm) = self.found[index].arms.iter_mut().find(|arm| arm.value == value) {
            arm.side_effects = effects;
        }
    }

    fn leaf(arm: &mut Arm, list: &[Node<'_>]) {
        let Some(last) = list.last() else { return };
        if is_exit(last) {
            arm.terminal = true;
            arm.behavior =
                Some(Behavior { kind: BehaviorKind::Terminal, description: ending(last) });
        } else {
            arm.behavior =
                Some(Behavior { kind: BehaviorKind::Success, description: ending(last) });
        }
    }

    fn push(
        &mut self,
        name: &str,
        kind: CharacteristicKind,
        arms: Vec<Arm>,
        parent: Parent,
        lines: (u32, u32),
    ) -> usize {
        let taken = |candidate: &str| self.found.iter().any(|other| other.name == candidate);
        let mut unique = name.to_owned();
        let mut number = 2;
        while taken(&unique) {
            unique = format!("{name}_{number}");
            number += 1;
        }
        let level = parent.as_ref().map_or(1, |(index, _)| self.found[*index].level + 1);
        let (parent, when_parent) = match parent {
            Some((index, values)) => (Some(index), values),
            None => (None, Vec::new()),
        };
        self.found.push(Characteristic {
            description: humanize(&unique),
            name: unique,
            kind,
            arms,
            lines,
            origin: None,
            setup: Setup { kind: SetupKind::Data, class: None },
            level,
            parent,
            when_parent,
            threshold: None,
        });
        self.found.len() - 1
    }

    /// Leaves keep a behaviour, inner values lose theirs.
    fn settle(&mut self, outcome: &Behavior) {
        let parents: Vec<(usize, Vec<String>)> = self
            .found
            .iter()
            .filter_map(|found| Some((found.parent?, found.when_parent.clone())))
            .collect();
        for (index, found) in self.found.iter_mut().enumerate() {
            for arm in &mut found.arms {
                let inner = parents
                    .iter()
                    .any(|(parent, values)| *parent == index && values.contains(&arm.value));
                if inner && !arm.terminal {
                    arm.behavior = None;
                } else if arm.behavior.is_none() {
                    arm.behavior = Some(outcome.clone());
                }
            }
        }
    }

    fn note_raise(&mut self, node: &Node<'_>) {
        if let Some(call) = node.as_call_node()
            && call.receiver().is_none()
            && matches!(call.name().as_slice(), b"raise" | b"fail" | b"throw")
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

fn arm(value: &str, description: &str, probe: Option<(u32, Option<bool>)>) -> Arm {
    Arm {
        value: value.to_owned(),
        description: description.to_owned(),
        terminal: false,
        behavior: None,
        side_effects: Vec::new(),
        probe,
    }
}
