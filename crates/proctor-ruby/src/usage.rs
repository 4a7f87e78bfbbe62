//! How a method uses its parameters and the object's variables.
//!
//! A walk over the body keeps, for every local, which value it stands for: a parameter, an instance variable, an
//! element or attribute of one of these. What is called on such a value, and what it is compared with, is noted on it.

mod patterns;
mod values;

use ruby_prism::{CallNode, Node, Visit};

use self::values::Values;
use crate::facts::Usage;
use crate::source::{FewNames, constant, has_name, literal_code, name, owned, text};

pub(crate) use self::patterns::accepted;
use self::patterns::matched_classes;
pub(crate) use self::values::absorb;

/// What was learned about the values of one method.
#[derive(Debug, Default)]
pub(crate) struct MethodUsage {
    /// By name, sorted: parameters as they are called, variables of the object with their `@`.
    pub(crate) values: Vec<(String, Usage)>,
    /// Instance variables that were set from parameters: variable, parameter.
    pub(crate) stores: Vec<(String, String)>,
    /// Calls of classes that stand for the world outside, with how their answers are used.
    pub(crate) doors: Vec<(String, Usage)>,
}

/// What calls on the object itself mean.
#[derive(Clone, Copy)]
pub(crate) struct SelfCalls<'a> {
    /// Attributes: calling one is reading its variable.
    pub(crate) readers: &'a [String],
    /// Whether other calls may go to the object that this one stands for.
    pub(crate) delegated: bool,
}

/// What the object that a delegator stands for is called among the values; no parameter or variable has such a name.
pub(crate) const DELEGATED: &str = "self";

/// Follows the values through a body.
pub(crate) fn collect_usage<'a>(
    body: Option<Node<'a>>,
    params: impl Iterator<Item = &'a str>,
    self_calls: SelfCalls<'a>,
) -> MethodUsage {
    let mut walker = UsageWalker {
        self_calls,
        values: Values::default(),
        locals: FewNames::default(),
        stores: vec![],
    };
    for param in params {
        let root = walker.values.root(param.as_bytes());
        walker.locals.insert(param.as_bytes(), root);
    }
    if let Some(body) = body {
        walker.visit(&body);
    }
    let (doors, values) =
        walker.values.into_usages().into_iter().partition(|(name, _)| is_door_name(name));
    MethodUsage { values, stores: walker.stores, doors }
}

struct UsageWalker<'a> {
    self_calls: SelfCalls<'a>,
    values: Values<'a>,
    locals: FewNames<'a, usize>,
    stores: Vec<(String, String)>,
}

/// `Class.method`: what a door is called among the values; no parameter or variable has such a name.
fn is_door_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase()) && name.contains('.')
}

/// Methods whose block gets the elements.
fn gives_elements(method: &[u8]) -> bool {
    matches!(
        method,
        b"each"
            | b"map"
            | b"collect"
            | b"select"
            | b"filter"
            | b"reject"
            | b"find"
            | b"detect"
            | b"any?"
            | b"all?"
            | b"none?"
            | b"flat_map"
            | b"each_with_index"
            | b"each_with_object"
            | b"sort_by"
            | b"min_by"
            | b"max_by"
            | b"group_by"
            | b"partition"
            | b"sum"
            | b"count"
            | b"find_index"
            | b"index"
            | b"filter_map"
            | b"take_while"
            | b"drop_while"
            | b"each_char"
            | b"each_line"
            | b"map!"
            | b"reject!"
            | b"delete_if"
            | b"each_slice"
            | b"zip"
            | b"uniq"
            | b"to_h"
            | b"reverse_each"
            | b"each_entry"
            | b"inject"
            | b"reduce"
    )
}

/// Methods that change a value but not what it is.
fn keeps_value(method: &[u8]) -> bool {
    matches!(
        method,
        b"to_s"
            | b"strip"
            | b"downcase"
            | b"upcase"
            | b"dup"
            | b"to_sym"
            | b"to_i"
            | b"freeze"
            | b"chomp"
            | b"to_a"
            | b"compact"
            | b"clone"
    )
}

impl<'a> UsageWalker<'a> {
    /// The value that an expression stands for, if we follow it.
    fn resolve(&mut self, node: &Node<'a>) -> Option<usize> {
        match node {
            Node::LocalVariableReadNode { .. } => {
                let read = node.as_local_variable_read_node()?;
                self.locals.get(read.name().as_slice()).copied()
            }
            Node::ItLocalVariableReadNode { .. } => self.locals.get(b"it").copied(),
            Node::InstanceVariableReadNode { .. } => {
                let read = node.as_instance_variable_read_node()?;
                Some(self.values.root(read.name().as_slice()))
            }
            Node::ParenthesesNode { .. } => self.resolve(&crate::probes::grouped(node)?),
            Node::OrNode { .. } => self.resolve(&node.as_or_node()?.left()),
            Node::LocalVariableWriteNode { .. } => {
                self.resolve(&node.as_local_variable_write_node()?.value())
            }
            Node::CallNode { .. } => {
                let call = node.as_call_node()?;
                self.resolve_call(&call, call.name().as_slice())
            }
            _ => None,
        }
    }

    fn resolve_call(&mut self, call: &CallNode<'a>, method: &'a [u8]) -> Option<usize> {
        let Some(receiver) = call.receiver().filter(|receiver| receiver.as_self_node().is_none())
        else {
            let SelfCalls { readers, delegated } = self.self_calls;
            if call.arguments().is_none() && has_name(readers, method) {
                return Some(self.values.attribute(method));
            }
            return delegated.then(|| {
                let object = self.values.root(DELEGATED.as_bytes());
                self.values.called(object, method)
            });
        };
        if let Some(door) = door(call, &receiver) {
            return Some(self.values.root(door));
        }
        let owner = self.resolve(&receiver)?;
        match method {
            b"[]" | b"fetch" | b"dig" | b"delete" | b"key?" | b"has_key?" | b"include?" => {
                let key = first_argument(call).as_ref().and_then(literal_code);
                match key.filter(|key| key.starts_with([':', '"'])) {
                    Some(key) => Some(self.values.keyed(owner, key)),
                    None if method == b"[]" => Some(self.element_by(owner, method)),
                    None => Some(self.values.called(owner, method)),
                }
            }
            b"first" | b"last" | b"pop" | b"shift" | b"sample" => {
                Some(self.element_by(owner, method))
            }
            _ if keeps_value(method) => {
                self.values.called(owner, method);
                Some(owner)
            }
            _ => Some(self.values.called(owner, method)),
        }
    }

    fn element_by(&mut self, owner: usize, method: &'a [u8]) -> usize {
        self.values.called(owner, method);
        self.values.element(owner)
    }

    fn truth(&mut self, node: &Node<'a>) {
        if let Some(id) = self.resolve(node) {
            self.values.own(id).truth = true;
        }
    }

    fn compare(&mut self, left: &Node<'a>, right: &Node<'a>, ordered: bool) {
        for (one, other) in [(left, right), (right, left)] {
            let Some(code) = comparable(other) else { continue };
            if let Some(id) = self.resolve(one) {
                let own = self.values.own(id);
                note(if ordered { &mut own.bounds } else { &mut own.equals }, code);
            }
        }
    }

    fn pattern(&mut self, value: &Node<'a>, pattern: &Node<'a>) {
        let Some(id) = self.resolve(value) else { return };
        let own = self.values.own(id);
        if pattern.as_regular_expression_node().is_some() {
            note(&mut own.patterns, text(pattern).into_owned());
        } else if pattern.as_self_node().is_some() {
            note(&mut own.classes, "self".to_owned());
        } else if let Some(class) = constant(pattern) {
            let shouted = class
                .rsplit("::")
                .next()
                .is_some_and(|last| last.len() > 1 && last.to_uppercase() == last);
            note(if shouted { &mut own.patterns } else { &mut own.classes }, class.into_owned());
        } else if let Some(code) = literal_code(pattern) {
            note(&mut own.equals, code);
        } else if let Some(splat) = pattern.as_splat_node()
            && let Some(inner) = splat.expression()
        {
            self.member(value, &inner);
        }
    }

    /// A value that is looked up in a list or table.
    fn member(&mut self, value: &Node<'a>, list: &Node<'a>) {
        if let Some(table) = constant(list) {
            if let Some(id) = self.resolve(value) {
                note(&mut self.values.own(id).patterns, table.into_owned());
            }
            return;
        }
        let Some(array) = list.as_array_node() else { return };
        for element in &array.elements() {
            if let (Some(id), Some(code)) = (self.resolve(value), literal_code(&element)) {
                note(&mut self.values.own(id).equals, code);
            }
        }
    }

    /// Where the arguments of a call go, if it is one whose parameters can be known.
    fn flows(&mut self, call: &CallNode<'a>, method: &[u8]) {
        let Some(arguments) = call.arguments() else { return };
        let receiver = call.receiver();
        let owner = match &receiver {
            None => None,
            Some(receiver) if receiver.as_self_node().is_some() || is_own_class(receiver) => None,
            Some(receiver) => match constant(receiver) {
                Some(class) => Some(class),
                None => return,
            },
        };
        let target = |place: &str| match &owner {
            Some(class) => [class, ".", &name(method), ":", place].concat(),
            None => [&name(method), ":", place].concat(),
        };
        for (place, argument) in arguments.arguments().iter().enumerate() {
            if let Some(pairs) = argument.as_keyword_hash_node() {
                for pair in &pairs.elements() {
                    let Some(pair) = pair.as_assoc_node() else { continue };
                    let value = self.resolve(&pair.value());
                    if let (Some(key), Some(id)) = (pair.key().as_symbol_node(), value) {
                        note(&mut self.values.own(id).flows, target(&name(key.unescaped())));
                    }
                }
            } else if let Some(id) = self.resolve(&argument) {
                note(&mut self.values.own(id).flows, target(&place.to_string()));
            }
        }
    }

    fn bind_block(&mut self, call: &CallNode<'a>) {
        let Some(block) = call.block().and_then(|block| block.as_block_node()) else { return };
        let method = call.name().as_slice();
        let elements = gives_elements(method);
        // What an unknown method gives its block is an element of what it answers.
        let answer = if elements { None } else { self.resolve_call(call, method) };
        if let Some(answer) = answer {
            self.values.own(answer).block = true;
        }
        let (Some(receiver), Some(params)) = (call.receiver(), block.parameters()) else { return };
        let owner = if elements { self.resolve(&receiver) } else { answer };
        let mut names: Vec<&'a [u8]> = Vec::new();
        if let Some(params) = params.as_block_parameters_node() {
            let Some(params) = params.parameters() else { return };
            let required = params.requireds();
            let required = required.iter().filter_map(|param| param.as_required_parameter_node());
            names.extend(required.map(|param| param.name().as_slice()));
        } else if params.as_it_parameters_node().is_some() {
            names.push(b"it");
        } else {
            names.extend([&b"_1"[..], b"_2"]);
        }
        for (place, name) in names.into_iter().enumerate() {
            let value = match owner {
                Some(owner) if place == 0 => self.values.element(owner),
                _ => self.values.fresh(),
            };
            self.locals.insert(name, value);
        }
    }

    /// What a call with an argument says about its receiver or that argument.
    fn compared(&mut self, method: &[u8], receiver: &Node<'a>, first: &Node<'a>) {
        match method {
            b"==" | b"!=" | b"eql?" | b"equal?" | b"start_with?" | b"end_with?" => {
                self.compare(receiver, first, false);
            }
            b"<" | b">" | b"<=" | b">=" => self.compare(receiver, first, true),
            b"===" => self.pattern(first, receiver),
            b"=~" | b"match" | b"match?" | b"!~" | b"scan" | b"gsub" | b"sub" | b"split"
            | b"slice" | b"gsub!" | b"sub!" => {
                if first.as_regular_expression_node().is_some()
                    || matches!(method[0], b'=' | b'm' | b'!')
                {
                    self.pattern(receiver, first);
                }
                if receiver.as_regular_expression_node().is_some() || constant(receiver).is_some() {
                    self.pattern(first, receiver);
                }
            }
            b"is_a?" | b"kind_of?" | b"instance_of?" => self.pattern(receiver, first),
            b"include?" | b"member?" | b"key?" | b"has_key?" | b"fetch" | b"dig" => {
                self.member(first, receiver);
            }
            // `str[/regex/]`
            b"[]" if first.as_regular_expression_node().is_some() => self.pattern(receiver, first),
            b"[]" if constant(receiver).is_some() => self.member(first, receiver),
            _ => {}
        }
    }
}

/// The text `Class.method` of a call that leaves the program, if it is one and written in one piece.
fn door<'a>(call: &CallNode<'a>, receiver: &Node<'a>) -> Option<&'a [u8]> {
    let class = constant(receiver)?;
    let method = call.name();
    if !crate::effects::is_door(&class, method.as_slice()) {
        return None;
    }
    let (whole, message) = (call.location(), call.message_loc()?);
    let written = whole.as_slice().get(..(message.end() - whole.start()) as usize)?;
    let plain = written.len() == class.len() + 1 + method.as_slice().len();
    plain.then_some(written)
}

/// Adds an item that is new, as long as there are not too many.
pub(super) fn note(list: &mut Vec<String>, item: String) {
    if !list.contains(&item) && list.len() < 40 {
        list.push(item);
    }
}

/// `self.class`, on which the same names are known.
fn is_own_class(node: &Node<'_>) -> bool {
    node.as_call_node().is_some_and(|call| {
        call.name().as_slice() == b"class"
            && call.receiver().is_none_or(|receiver| receiver.as_self_node().is_some())
    })
}

fn comparable(node: &Node<'_>) -> Option<String> {
    literal_code(node).or_else(|| {
        constant(node).filter(|name| !name.is_empty()).map(std::borrow::Cow::into_owned)
    })
}

fn first_argument<'pr>(call: &CallNode<'pr>) -> Option<Node<'pr>> {
    call.arguments().and_then(|arguments| arguments.arguments().first())
}

impl<'a> Visit<'a> for UsageWalker<'a> {
    fn visit_local_variable_write_node(&mut self, node: &ruby_prism::LocalVariableWriteNode<'a>) {
        self.visit(&node.value());
        let key = node.name().as_slice();
        match self.resolve(&node.value()) {
            Some(id) => self.locals.insert(key, id),
            None => self.locals.remove(key),
        }
    }

    fn visit_instance_variable_write_node(
        &mut self,
        node: &ruby_prism::InstanceVariableWriteNode<'a>,
    ) {
        self.visit(&node.value());
        if let Some(id) = self.resolve(&node.value())
            && let Some(param) = self.values.param(id)
        {
            self.stores.push((owned(node.name().as_slice()), param));
        }
    }

    fn visit_if_node(&mut self, node: &ruby_prism::IfNode<'a>) {
        self.truth(&node.predicate());
        ruby_prism::visit_if_node(self, node);
    }

    fn visit_unless_node(&mut self, node: &ruby_prism::UnlessNode<'a>) {
        self.truth(&node.predicate());
        ruby_prism::visit_unless_node(self, node);
    }

    fn visit_and_node(&mut self, node: &ruby_prism::AndNode<'a>) {
        self.truth(&node.left());
        ruby_prism::visit_and_node(self, node);
    }

    fn visit_or_node(&mut self, node: &ruby_prism::OrNode<'a>) {
        self.truth(&node.left());
        ruby_prism::visit_or_node(self, node);
    }

    fn visit_case_node(&mut self, node: &ruby_prism::CaseNode<'a>) {
        if let Some(subject) = node.predicate() {
            for condition in &node.conditions() {
                let Some(when) = condition.as_when_node() else { continue };
                for pattern in &when.conditions() {
                    self.pattern(&subject, &pattern);
                }
            }
        }
        ruby_prism::visit_case_node(self, node);
    }

    fn visit_case_match_node(&mut self, node: &ruby_prism::CaseMatchNode<'a>) {
        if let Some(id) = node.predicate().and_then(|subject| self.resolve(&subject)) {
            for condition in &node.conditions() {
                let Some(arm) = condition.as_in_node() else { continue };
                for code in accepted(&arm.pattern()) {
                    note(&mut self.values.own(id).equals, code);
                }
                for class in matched_classes(&arm.pattern()) {
                    note(&mut self.values.own(id).classes, class);
                }
            }
        }
        ruby_prism::visit_case_match_node(self, node);
    }

    fn visit_call_node(&mut self, node: &CallNode<'a>) {
        let method = node.name().as_slice();
        self.bind_block(node);
        if let (Some(receiver), Some(first)) = (node.receiver(), first_argument(node)) {
            self.compared(method, &receiver, &first);
        }
        self.flows(node, method);
        self.resolve_call(node, method);
        ruby_prism::visit_call_node(self, node);
    }
}
