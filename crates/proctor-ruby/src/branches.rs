//! From a method's body to its characteristics: what its behaviour depends on, in which order.
//!
//! Guards form an ordered path: what follows a decision with an early exit depends on it, under the values
//! that go on. Decisions without an exit stand beside each other.
//!
//! The last expression of a body is its result, and so is the last one of each clause of a decision that stands there: such
//! clauses end the method as `return` does (`results`).
//!
//! Here the statements are walked. `clauses` has the constructs with several clauses, `decisions` the two-sided
//! ones and the list of what was found, `defaults` the assignments that depend on what is there already, `nested_decisions` finds
//! decisions within expressions, `conditions` says what a condition asks, `predicates` and `patterns` in which words, `endings` how a way ends, `flow` what locals
//! are made from.

mod clauses;
mod conditions;
mod continuation;
mod decisions;
mod defaults;
mod effect_words;
mod endings;
mod flow;
mod nested_decisions;
mod patterns;
mod predicates;
mod results;
mod wording;

use ruby_prism::{CallNode, Node};

use self::conditions::presence;
use self::continuation::Continuation;
use self::effect_words::effect_words;
use self::endings::ending;
use self::flow::Flow;
use self::nested_decisions::NestedDecisions;
use crate::effects::{command, side_effect};
use crate::facts::{
    Arm, Behavior, BehaviorKind, Characteristic, Ending, OwnCall, Place, SideEffect,
};
use crate::probes::{ProbeMap, grouped};
use crate::source::{FastMap, Source, name, text};

/// What a body turned out to do.
pub(crate) struct Body {
    pub(crate) characteristics: Vec<Characteristic>,
    pub(crate) side_effects: Vec<SideEffect>,
    pub(crate) own_calls: Vec<OwnCall>,
    pub(crate) outcome: Behavior,
    pub(crate) raise_lines: Vec<u32>,
}

/// The method and class around the body.
pub(crate) struct MethodScope<'a> {
    pub(crate) source: &'a Source<'a>,
    pub(crate) probes: &'a ProbeMap,
    pub(crate) class: &'a str,
    /// Names of the parameters.
    pub(crate) params: Vec<&'a str>,
    /// Attributes of the class.
    pub(crate) readers: &'a [String],
    /// Methods of the class that hide those of every object which reach outside.
    pub(crate) own_commands: &'a [Vec<u8>],
}

/// Analyzes a body; `decisions` is the buffer for the decisions found.
pub(crate) fn analyze_body<'a>(
    body: Option<Node<'a>>,
    around: &'a MethodScope<'a>,
    decisions: &mut Vec<Characteristic>,
) -> Body {
    let whole = Continuation::of(body);
    let mut study = BodyAnalysis {
        around,
        flow: Flow::new(around),
        found: std::mem::take(decisions),
        names: FastMap::default(),
        effects: Vec::new(),
        own_calls: Vec::new(),
        is_result: true,
        depth: 0,
        depths: Vec::new(),
        raise_lines: Vec::new(),
    };
    let outcome = Behavior {
        kind: BehaviorKind::Success,
        description: whole.last(ending).unwrap_or_else(|| "returns nil".to_owned()),
    };
    study.block(&whole, &None);
    study.finish_behaviors(&outcome);
    study.choose_terminal_results();
    let characteristics = study.found.drain(..).collect();
    *decisions = study.found;
    Body {
        characteristics,
        side_effects: study.effects,
        own_calls: study.own_calls,
        outcome,
        raise_lines: study.raise_lines,
    }
}

/// The decision that something depends on, and its values that lead there.
type Parent = Option<(usize, ArmValues)>;

/// Values of a decision, by their places among its arms.
enum ArmValues {
    One(usize),
    Several(Vec<usize>),
}

impl ArmValues {
    fn values(&self, arms: &[Arm]) -> Vec<String> {
        let places = match self {
            Self::One(place) => std::slice::from_ref(place),
            Self::Several(places) => places,
        };
        places.iter().filter_map(|place| arms.get(*place)).map(|arm| arm.value.clone()).collect()
    }
}

struct BodyAnalysis<'a> {
    around: &'a MethodScope<'a>,
    /// What locals were made from.
    flow: Flow<'a>,
    found: Vec<Characteristic>,
    /// The names of what was found, with the next number for each, once there are many.
    names: FastMap<String, u32>,
    effects: Vec<SideEffect>,
    own_calls: Vec<OwnCall>,
    raise_lines: Vec<u32>,
    /// Whether the value of what is looked at is the result of the method.
    is_result: bool,
    /// How many blocks and loops stand around what is looked at.
    depth: u32,
    /// The same for each decision found.
    depths: Vec<u32>,
}

impl<'a> BodyAnalysis<'a> {
    /// Looks at a part whose value is not the result of the method.
    fn aside<T>(&mut self, look: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.is_result, false);
        let found = look(self);
        self.is_result = before;
        found
    }

    /// Looks at the body of a block: its value goes to whoever calls it.
    fn closure(&mut self, body: Option<Node<'a>>, parent: &Parent) {
        self.depth += 1;
        self.aside(|study| study.block(&Continuation::of(body), parent));
        self.depth -= 1;
    }

    fn block(&mut self, way: &Continuation<'a>, parent: &Parent) {
        let list = match way {
            Continuation::Nothing | Continuation::Left(..) => return,
            // Nothing follows that a guard could govern.
            Continuation::One(only) => return self.statement(only, parent),
            Continuation::List(list) => list,
        };
        let mut guarded: Parent;
        let mut parent = parent;
        let last = list.len().saturating_sub(1);
        for (place, statement) in list.iter().enumerate() {
            let before = self.found.len();
            if place == last {
                self.statement(&statement, parent);
            } else {
                self.aside(|study| study.statement(&statement, parent));
            }
            if let Some(index) = self.guard(before, parent) {
                let arms = self.found[index].arms.iter().enumerate();
                let inner = self.depths[index] > self.depth;
                let goes_on = arms.filter(|(_, arm)| !leaves(arm, inner)).map(|(place, _)| place);
                guarded = Some((index, ArmValues::Several(goes_on.collect())));
                parent = &guarded;
            }
        }
    }

    /// The decision with an early exit that governs what follows, among those found since.
    fn guard(&self, before: usize, parent: &Parent) -> Option<usize> {
        (before..self.found.len()).rev().find(|index| {
            let arms = &self.found[*index].arms;
            let same_level = self.found[*index].parent == parent.as_ref().map(|parent| parent.0)
                || self.depends_on_sibling(*index, before);
            // What leaves a block or a loop says nothing about what follows it.
            let inner = self.depths[*index] > self.depth;
            same_level
                && arms.iter().any(|arm| leaves(arm, inner))
                && arms.iter().any(|arm| !leaves(arm, inner))
        })
    }

    /// Whether a decision hangs on another one of the same statement.
    fn depends_on_sibling(&self, index: usize, from: usize) -> bool {
        self.found[index].parent.is_some_and(|parent| parent >= from)
    }

    /// A statement or an expression: whatever it decides, in the order of evaluation.
    fn statement(&mut self, node: &Node<'a>, parent: &Parent) {
        match node {
            // By far the most common, so asked for first.
            Node::CallNode { .. } => {
                if let Some(call) = node.as_call_node() {
                    self.note_raise(&call);
                    self.call(&call, parent);
                }
            }
            Node::IfNode { .. }
            | Node::UnlessNode { .. }
            | Node::AndNode { .. }
            | Node::OrNode { .. } => self.branch(node, parent),
            Node::WhileNode { .. } | Node::UntilNode { .. } => {
                self.aside(|study| study.repeat(node, parent));
            }
            Node::CaseNode { .. } => {
                if let Some(case) = node.as_case_node() {
                    self.case(&case, parent);
                }
            }
            Node::CaseMatchNode { .. } => {
                if let Some(case) = node.as_case_match_node() {
                    self.case_match(&case, parent);
                }
            }
            Node::BeginNode { .. } => {
                if let Some(begin) = node.as_begin_node() {
                    self.begin(&begin, parent);
                }
            }
            Node::RescueModifierNode { .. } => {
                if let Some(rescue) = node.as_rescue_modifier_node() {
                    self.rescue_modifier(&rescue, parent);
                }
            }
            Node::LocalVariableWriteNode { .. } => {
                if let Some(write) = node.as_local_variable_write_node() {
                    self.flow.write(write.name().as_slice(), &write.value());
                    self.aside(|study| study.statement(&write.value(), parent));
                }
            }
            Node::ReturnNode { .. } => self.leave(node, parent),
            Node::XStringNode { .. } | Node::InterpolatedXStringNode { .. } => {
                self.note_effect("external_api", "runs a command", node, parent);
                if let Some(command) = node.as_interpolated_x_string_node() {
                    for part in &command.parts() {
                        self.inside(&part, parent);
                    }
                }
            }
            _ => match grouped(node) {
                Some(inner) => self.statement(&inner, parent),
                None if self.aside(|study| study.default(node, parent)) => {}
                None => self.inside(node, parent),
            },
        }
    }

    /// What is returned is the result, wherever it stands.
    fn leave(&mut self, node: &Node<'a>, parent: &Parent) {
        let arguments = node.as_return_node().and_then(|leave| leave.arguments());
        let Some(list) = arguments.map(|list| list.arguments()) else { return };
        let before = std::mem::replace(&mut self.is_result, list.len() == 1);
        let first = self.found.len();
        for argument in &list {
            self.statement(&argument, parent);
        }
        self.is_result = before;
        for arm in self.found[first..].iter_mut().flat_map(|found| &mut found.arms) {
            if arm.ending == Ending::Result {
                (arm.ending, arm.terminal) = (Ending::Exit, true);
            }
        }
    }

    /// Decisions within a node that decides nothing itself.
    fn inside(&mut self, node: &Node<'a>, parent: &Parent) {
        self.aside(|study| NestedDecisions::new(study, parent).look(node));
    }

    /// `if`, `unless`, `&&` and `||`.
    fn branch(&mut self, node: &Node<'a>, parent: &Parent) {
        let lines = self.around.source.lines(&node.location());
        if let Some(branch) = node.as_if_node() {
            let then = Continuation::listed(branch.statements());
            let other = branch.subsequent().map_or(Continuation::Nothing, otherwise);
            self.decide(&branch.predicate(), (&then, &other), parent, lines);
        } else if let Some(branch) = node.as_unless_node() {
            let then = Continuation::listed(branch.statements());
            let other =
                Continuation::listed(branch.else_clause().and_then(|other| other.statements()));
            self.decide(&branch.predicate(), (&other, &then), parent, lines);
        } else if let Some(both) = node.as_and_node() {
            self.decide(
                &both.left(),
                (&Continuation::One(both.right()), &Continuation::Left(both.left(), false)),
                parent,
                lines,
            );
        } else if let Some(either) = node.as_or_node() {
            self.decide(
                &either.left(),
                (&Continuation::Left(either.left(), true), &Continuation::One(either.right())),
                parent,
                lines,
            );
        }
    }

    /// Loops. The body of `begin … end while x` runs before its condition is asked.
    fn repeat(&mut self, node: &Node<'a>, parent: &Parent) {
        let lines = self.around.source.lines(&node.location());
        let (condition, body, after, while_true) = if let Some(repeat) = node.as_while_node() {
            (repeat.predicate(), repeat.statements(), repeat.is_begin_modifier(), true)
        } else if let Some(repeat) = node.as_until_node() {
            (repeat.predicate(), repeat.statements(), repeat.is_begin_modifier(), false)
        } else {
            return;
        };
        let (body, nothing) = (Continuation::listed(body), Continuation::Nothing);
        self.depth += 1;
        match (after, while_true) {
            (true, _) => {
                self.block(&body, parent);
                self.decide(&condition, (&nothing, &nothing), parent, lines);
            }
            (false, true) => self.decide(&condition, (&body, &nothing), parent, lines),
            (false, false) => self.decide(&condition, (&nothing, &body), parent, lines),
        }
        self.depth -= 1;
    }

    /// A call; gives the decision whether there is something to call it on, if it asks that.
    fn call(&mut self, call: &CallNode<'a>, parent: &Parent) -> Option<usize> {
        let receiver = call.receiver();
        self.note_call(call, receiver.as_ref(), parent);
        let mut presence = None;
        if let Some(receiver) = &receiver {
            let inner = self.aside(|study| {
                if let Some(inner) = receiver.as_call_node() {
                    return study.call(&inner, parent);
                }
                study.statement(receiver, parent);
                None
            });
            if call.is_safe_navigation() {
                let there = inner.map(presence_arm);
                presence = Some(self.add_presence_decision(
                    receiver,
                    if inner.is_some() { &there } else { parent },
                ));
            }
        }
        // Without a receiver neither arguments nor block are looked at.
        let there = presence.map(presence_arm);
        let parent = if presence.is_some() { &there } else { parent };
        if let Some(arguments) = call.arguments() {
            for argument in &arguments.arguments() {
                self.aside(|study| study.statement(&argument, parent));
            }
        }
        if let Some(block) = call.block() {
            if let Some(block) = block.as_block_node() {
                self.flow.bind(call, &block);
                self.closure(block.body(), parent);
            } else {
                self.inside(&block, parent);
            }
        }
        presence
    }

    /// Whether there is something to call a method on.
    fn add_presence_decision(&mut self, receiver: &Node<'a>, parent: &Parent) -> usize {
        let lines = self.around.source.lines(&receiver.location());
        let mut question = presence(receiver, &text(receiver));
        question.inputs = self.flow.inputs(receiver);
        let nothing = &Continuation::Nothing;
        let index = self.ask(question, receiver, (nothing, nothing), parent, lines);
        // If something is there, what is called on it decides.
        let present = &mut self.found[index].arms[0];
        (present.behavior, present.ending) = (None, Ending::GoesOn);
        index
    }

    fn note_call(&mut self, call: &CallNode<'a>, receiver: Option<&Node<'a>>, parent: &Parent) {
        let method = call.name().as_slice();
        if receiver.is_none_or(|receiver| receiver.as_self_node().is_some()) {
            self.note_own_call(method, parent);
        }
        if command(receiver, method, self.around.own_commands) {
            let words =
                if method == b"open" { "opens what lies outside" } else { "runs a command" };
            self.note_effect("external_api", words, &call.as_node(), parent);
        } else if let Some(kind) = side_effect(receiver, method) {
            let words = effect_words(kind, call);
            self.note_effect(kind, &words, &call.as_node(), parent);
        }
    }

    fn note_own_call(&mut self, method: &[u8], parent: &Parent) {
        if !self.own_calls.iter().any(|call| call.name.as_bytes() == method) {
            let (name, place) = (name(method).into_owned(), self.place(parent));
            self.own_calls.push(OwnCall { name, place, is_result: self.is_result });
        }
    }

    fn note_effect(&mut self, kind: &str, words: &str, node: &Node<'a>, parent: &Parent) {
        let line = self.around.source.line(node.location().start());
        let place = self.place(parent);
        let known = |effect: &SideEffect| {
            (effect.description == words && effect.place == place)
                || (effect.kind == kind && effect.line == line)
        };
        if !self.effects.iter().any(known) {
            let (kind, description) = (kind.to_owned(), words.to_owned());
            self.effects.push(SideEffect { kind, description, line, place });
        }
    }

    /// The decision under which something happens, with its values.
    fn place(&self, parent: &Parent) -> Option<Place> {
        let (decision, ways) = parent.as_ref()?;
        Some(Place { decision: *decision, values: ways.values(&self.found[*decision].arms) })
    }

    fn note_raise(&mut self, call: &CallNode<'a>) {
        if call.receiver().is_none()
            && matches!(call.name().as_slice(), b"raise" | b"fail" | b"throw")
        {
            let line = self.around.source.line(call.location().start());
            self.raise_lines.push(line);
        }
    }
}

/// Whether nothing follows a value. `inner`: it stands in a block or a loop before what follows.
fn leaves(arm: &Arm, inner: bool) -> bool {
    match arm.ending {
        Ending::Exit | Ending::Raise => true,
        Ending::Next => !inner,
        Ending::GoesOn | Ending::Result => arm.terminal,
    }
}

/// The way on which something is there: the first of its question.
fn presence_arm(decision: usize) -> (usize, ArmValues) {
    (decision, ArmValues::One(0))
}

fn otherwise(node: Node<'_>) -> Continuation<'_> {
    match node.as_else_node() {
        Some(other) => Continuation::listed(other.statements()),
        None => Continuation::One(node),
    }
}
