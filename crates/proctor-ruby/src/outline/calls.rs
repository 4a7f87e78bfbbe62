//! What a method calls and names, and whether it is seen to change anything.

use std::borrow::Cow;

use ruby_prism::{CallNode, DefNode, Node, ParametersNode, Visit};

use crate::mentions::sorted;
use crate::source::{constant, name, owned};

/// What a method calls on itself, which constants it names, whether it yields.
pub(super) struct Calls<'pr> {
    own: Vec<&'pr [u8]>,
    constants: Vec<Cow<'pr, str>>,
    pub(super) yields: bool,
    /// Whether it is seen to change something.
    pub(super) acts: bool,
    pub(super) raise_offsets: Vec<u32>,
    /// Errors that are rescued, as written; a bare `rescue` is one of `StandardError`.
    pub(super) rescues: Vec<String>,
    /// Calls that make methods while running, and methods within the method: where, and what.
    pub(super) made: Vec<(u32, Cow<'pr, [u8]>)>,
}

/// Whether a call of this name changes its receiver or the world.
fn is_mutating(method: &[u8]) -> bool {
    matches!(
        method,
        b"<<"
            | b"[]="
            | b"push"
            | b"pop"
            | b"shift"
            | b"unshift"
            | b"append"
            | b"prepend"
            | b"insert"
            | b"concat"
            | b"delete"
            | b"clear"
            | b"replace"
            | b"store"
            | b"update"
            | b"puts"
            | b"print"
            | b"p"
            | b"pp"
            | b"warn"
            | b"write"
            | b"exit"
            | b"abort"
            | b"sleep"
            | b"system"
            | b"exec"
            | b"spawn"
            | b"fork"
            | b"require"
            | b"load"
            | b"close"
            | b"open"
            | b"rewind"
            | b"next"
            | b"read"
            | b"gets"
            | b"rand"
            | b"now"
            | b"instance_variable_set"
            | b"define_method"
            | b"remove_method"
            | b"`"
    ) || (method.ends_with(b"!") && method.len() > 1)
}

impl<'pr> Calls<'pr> {
    pub(super) fn of(parameters: Option<&ParametersNode<'pr>>, body: Option<&Node<'pr>>) -> Self {
        let block = parameters.is_some_and(|list| list.block().is_some());
        let mut calls = Self {
            own: vec![],
            constants: vec![],
            yields: block,
            acts: false,
            raise_offsets: vec![],
            rescues: vec![],
            made: vec![],
        };
        if let Some(body) = body {
            calls.visit(body);
        }
        calls.own.sort_unstable();
        calls.own.dedup();
        calls
    }

    /// Whether a method of this name, with these calls, is only a question.
    pub(super) fn is_query(&self, own: &str) -> bool {
        !self.yields
            && !self.acts
            && !own.ends_with(['=', '!'])
            && own.starts_with(|first: char| first.is_ascii_lowercase())
    }

    /// The names called on itself and the constants named, each sorted and once.
    pub(super) fn into_names(self) -> (Vec<String>, Vec<String>) {
        (self.own.into_iter().map(owned).collect(), sorted(self.constants))
    }
}

impl<'pr> Visit<'pr> for Calls<'pr> {
    fn visit_call_node(&mut self, node: &CallNode<'pr>) {
        let method = node.name().as_slice();
        self.acts |= is_mutating(method);
        let makes = matches!(method, b"define_method" | b"define_singleton_method" | b"eval")
            || (matches!(method, b"class_eval" | b"module_eval" | b"instance_eval")
                && node.arguments().is_some());
        if makes {
            self.made.push((node.location().start(), method.into()));
        }
        if node.receiver().is_none_or(|receiver| receiver.as_self_node().is_some()) {
            if matches!(method, b"raise" | b"fail") {
                self.raise_offsets.push(node.location().start());
            }
            self.yields |= method == b"block_given?";
            self.own.push(method);
        }
        ruby_prism::visit_call_node(self, node);
    }

    fn visit_instance_variable_write_node(
        &mut self,
        node: &ruby_prism::InstanceVariableWriteNode<'pr>,
    ) {
        self.acts = true;
        ruby_prism::visit_instance_variable_write_node(self, node);
    }

    fn visit_def_node(&mut self, node: &DefNode<'pr>) {
        let words = [b"def ", node.name().as_slice()].concat();
        self.made.push((node.location().start(), words.into()));
        ruby_prism::visit_def_node(self, node);
    }

    fn visit_rescue_node(&mut self, node: &ruby_prism::RescueNode<'pr>) {
        let named = node.exceptions();
        if named.is_empty() {
            self.rescues.push("StandardError".to_owned());
        }
        self.rescues.extend(named.iter().filter_map(|error| constant(&error)).map(Cow::into_owned));
        ruby_prism::visit_rescue_node(self, node);
    }

    fn visit_rescue_modifier_node(&mut self, node: &ruby_prism::RescueModifierNode<'pr>) {
        self.rescues.push("StandardError".to_owned());
        ruby_prism::visit_rescue_modifier_node(self, node);
    }

    fn visit_yield_node(&mut self, node: &ruby_prism::YieldNode<'pr>) {
        self.yields = true;
        ruby_prism::visit_yield_node(self, node);
    }

    fn visit_constant_read_node(&mut self, node: &ruby_prism::ConstantReadNode<'pr>) {
        self.constants.push(name(node.name().as_slice()));
    }

    fn visit_constant_path_node(&mut self, node: &ruby_prism::ConstantPathNode<'pr>) {
        self.constants.extend(constant(&node.as_node()));
    }
}
