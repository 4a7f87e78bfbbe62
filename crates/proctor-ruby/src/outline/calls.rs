//! What a method calls and names, and whether it is seen to change anything.

use ruby_prism::{CallNode, DefNode, Visit};

use crate::source::{constant, name};

/// What a method calls on itself, which constants it names, whether it yields.
pub(super) struct Calls {
    pub(super) own: Vec<String>,
    pub(super) constants: Vec<String>,
    pub(super) yields: bool,
    /// Whether it is seen to change something.
    pub(super) acts: bool,
    pub(super) raise_offsets: Vec<u32>,
}

/// Calls that change their receiver or the world.
const ACTS: &[&str] = &[
    "<<",
    "[]=",
    "push",
    "pop",
    "shift",
    "unshift",
    "append",
    "prepend",
    "insert",
    "concat",
    "delete",
    "clear",
    "replace",
    "store",
    "update",
    "puts",
    "print",
    "p",
    "pp",
    "warn",
    "write",
    "exit",
    "abort",
    "sleep",
    "system",
    "exec",
    "spawn",
    "fork",
    "require",
    "load",
    "close",
    "open",
    "rewind",
    "next",
    "read",
    "gets",
    "rand",
    "now",
    "instance_variable_set",
    "define_method",
    "remove_method",
    "`",
];

impl Calls {
    pub(super) fn of(def: &DefNode<'_>) -> Self {
        let block = def.parameters().is_some_and(|list| list.block().is_some());
        let mut calls = Self {
            own: vec![],
            constants: vec![],
            yields: block,
            acts: false,
            raise_offsets: vec![],
        };
        if let Some(body) = def.body() {
            calls.visit(&body);
        }
        for list in [&mut calls.own, &mut calls.constants] {
            list.sort();
            list.dedup();
        }
        calls
    }
}

impl Calls {
    /// Whether a method of this name, with these calls, is only a question.
    pub(super) fn only_answer(&self, own: &str) -> bool {
        !self.yields
            && !self.acts
            && !own.ends_with(['=', '!'])
            && own.starts_with(|first: char| first.is_ascii_lowercase())
    }
}

impl<'pr> Visit<'pr> for Calls {
    fn visit_call_node(&mut self, node: &CallNode<'pr>) {
        let method = name(node.name().as_slice());
        self.acts |= ACTS.contains(&method.as_str()) || (method.ends_with('!') && method.len() > 1);
        if node.receiver().is_none_or(|receiver| receiver.as_self_node().is_some()) {
            if matches!(method.as_str(), "raise" | "fail") {
                self.raise_offsets.push(node.location().start());
            }
            self.yields |= method == "block_given?";
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

/// Constants that are named anywhere.
pub(super) struct Mentions(pub(super) Vec<String>);

impl<'pr> Visit<'pr> for Mentions {
    fn visit_constant_read_node(&mut self, node: &ruby_prism::ConstantReadNode<'pr>) {
        self.0.push(name(node.name().as_slice()));
    }

    fn visit_constant_path_node(&mut self, node: &ruby_prism::ConstantPathNode<'pr>) {
        self.0.extend(constant(&node.as_node()));
    }
}
