//! From a method's body to its characteristics: what its behaviour depends on, in which order.
//!
//! Guards form an ordered path: what follows a decision with an early exit depends on it, under the values
//! that go on. Decisions without an exit stand beside each other.
//!
//! Here the statements are walked. `clauses` has the constructs with several clauses, `decisions` the two-sided
//! ones and the list of what was found, `defaults` the assignments that depend on what is there already, `inside` finds
//! decisions within expressions, `questions` says what a condition asks, `endings` how a way ends, `flow` what locals
//! are made from.

mod clauses;
mod conditions;
mod continuation;
mod decisions;
mod defaults;
mod endings;
mod flow;
mod nested_decisions;

use ruby_prism::{CallNode, Node};

use self::conditions::presence;
use self::continuation::Continuation;
use self::endings::{effect_words, ending};
use self::flow::Flow;
use self::nested_decisions::NestedDecisions;
use crate::effects::{command, side_effect};
use crate::facts::{Arm, Behavior, BehaviorKind, Characteristic, SideEffect};
use crate::probes::{ProbeMap, grouped};
use crate::source::{FastMap, Source, name, text};

/// What a body turned out to do.
pub(crate) struct Body {
    pub(crate) characteristics: Vec<Characteristic>,
    pub(crate) side_effects: Vec<SideEffect>,
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
        raise_lines: Vec::new(),
    };
    let outcome = Behavior {
        kind: BehaviorKind::Success,
        description: whole.last(ending).unwrap_or_else(|| "returns nil".to_owned()),
    };
    study.block(&whole, &None);
    study.finish_behaviors(&outcome);
    let characteristics = study.found.drain(..).collect();
    *decisions = study.found;
    Body { characteristics, side_effects: study.effects, outcome, raise_lines: study.raise_lines }
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
    raise_lines: Vec<u32>,
}

impl<'a> BodyAnalysis<'a> {
    fn block(&mut self, way: &Continuation<'a>, parent: &Parent) {
        let list = match way {
            Continuation::Nothing => return,
            // Nothing follows that a guard could govern.
            Continuation::One(only) => return self.statement(only, parent),
            Continuation::List(list) => list,
        };
        let mut guarded: Parent;
        let mut parent = parent;
        for statement in list {
            let before = self.found.len();
            self.statement(&statement, parent);
            if let Some(index) = self.guard(before, parent) {
                let arms = self.found[index].arms.iter().enumerate();
                let goes_on = arms.filter(|(_, arm)| !arm.terminal).map(|(place, _)| place);
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
            same_level
                && arms.iter().any(|arm| arm.terminal)
                && arms.iter().any(|arm| !arm.terminal)
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
            Node::WhileNode { .. } | Node::UntilNode { .. } => self.repeat(node, parent),
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
                    self.statement(&write.value(), parent);
                }
            }
            Node::XStringNode { .. } | Node::InterpolatedXStringNode { .. } => {
                self.note_effect("external_api", "runs a command", node);
                if let Some(command) = node.as_interpolated_x_string_node() {
                    for part in &command.parts() {
                        self.inside(&part, parent);
                    }
                }
            }
            _ => match grouped(node) {
                Some(inner) => self.statement(&inner, parent),
                None if self.default(node, parent) => {}
                None => self.inside(node, parent),
            },
        }
    }

    /// Decisions within a node that decides nothing itself.
    fn inside(&mut self, node: &Node<'a>, parent: &Parent) {
        NestedDecisions::new(self, parent).look(node);
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
                (&Continuation::One(both.right()), &Continuation::Nothing),
                parent,
                lines,
            );
        } else if let Some(either) = node.as_or_node() {
            self.decide(
                &either.left(),
                (&Continuation::Nothing, &Continuation::One(either.right())),
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
        match (after, while_true) {
            (true, _) => {
                self.block(&body, parent);
                self.decide(&condition, (&nothing, &nothing), parent, lines);
            }
            (false, true) => self.decide(&condition, (&body, &nothing), parent, lines),
            (false, false) => self.decide(&condition, (&nothing, &body), parent, lines),
        }
    }

    /// A call; gives the decision whether there is something to call it on, if it asks that.
    fn call(&mut self, call: &CallNode<'a>, parent: &Parent) -> Option<usize> {
        let receiver = call.receiver();
        self.note_call(call, receiver.as_ref());
        let mut presence = None;
        if let Some(receiver) = &receiver {
            let inner = if let Some(inner) = receiver.as_call_node() {
                self.call(&inner, parent)
            } else {
                self.statement(receiver, parent);
                None
            };
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
                self.statement(&argument, parent);
            }
        }
        if let Some(block) = call.block() {
            if let Some(block) = block.as_block_node() {
                self.flow.bind(call, &block);
                self.block(&Continuation::of(block.body()), parent);
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
        self.ask(
            question,
            receiver,
            (&Continuation::Nothing, &Continuation::Nothing),
            parent,
            lines,
        )
    }

    fn note_call(&mut self, call: &CallNode<'a>, receiver: Option<&Node<'a>>) {
        let method = call.name().as_slice();
        if command(receiver, method, self.around.own_commands) {
            let words =
                if method == b"open" { "opens what lies outside" } else { "runs a command" };
            self.note_effect("external_api", words, &call.as_node());
        } else if let Some(kind) = side_effect(receiver, method) {
            let words = effect_words(kind, receiver, &name(method));
            self.note_effect(kind, &words, &call.as_node());
        }
    }

    fn note_effect(&mut self, kind: &str, words: &str, node: &Node<'a>) {
        let line = self.around.source.line(node.location().start());
        let known = |effect: &SideEffect| {
            effect.description == words || (effect.kind == kind && effect.line == line)
        };
        if !self.effects.iter().any(known) {
            let (kind, description) = (kind.to_owned(), words.to_owned());
            self.effects.push(SideEffect { kind, description, line });
        }
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
