//! Assignments that depend on what is there already: `x ||= value` and `x &&= value`, for everything that can be assigned.

use ruby_prism::{ArgumentsNode, Node};

use super::decisions::arm;
use super::{ArmValues, BodyAnalysis, Parent};
use crate::facts::CharacteristicKind;
use crate::source::{name, nodes};
use crate::words::{humanize, identifier, short};

/// The parts of such an assignment.
struct Write<'a> {
    /// What is assigned, as code.
    target: Vec<u8>,
    /// What is evaluated before: the receiver and its arguments.
    before: Vec<Node<'a>>,
    value: Node<'a>,
    /// Whether it is assigned if it is missing; otherwise if it is there.
    if_missing: bool,
    /// The local variable that changes.
    local: Option<&'a [u8]>,
}

impl<'a> BodyAnalysis<'a> {
    /// Takes such an assignment; says whether the node is one.
    pub(super) fn default(&mut self, node: &Node<'a>, parent: &Parent) -> bool {
        let Some(write) = parts(node) else { return false };
        for part in &write.before {
            self.statement(part, parent);
        }
        let location = node.location();
        let lines = self.around.source.lines(&location);
        let probe = self.around.probes.place(location.start()).map(|id| (id, None));
        let word = short(&humanize(&name(&write.target))).into_owned();
        let (there, missing) = if write.if_missing {
            (
                arm("present", format!("{word} is already set"), None),
                arm("nil", format!("{word} is not set yet"), probe),
            )
        } else {
            (
                arm("present", format!("{word} is set"), probe),
                arm("nil", format!("{word} is not set"), None),
            )
        };
        let assigned = ArmValues::One(usize::from(write.if_missing));
        let words = (identifier(&word, 40), word);
        let kind = CharacteristicKind::Presence;
        let index = self.push(words, kind, vec![there, missing], parent, lines);
        if let Some(local) = write.local {
            let inputs = self.flow.of_local(local);
            self.found[index].inputs = self.flow.names(inputs);
            self.flow.add(local, &write.value);
        }
        self.statement(&write.value, &Some((index, assigned)));
        true
    }
}

fn parts<'a>(node: &Node<'a>) -> Option<Write<'a>> {
    /// Variables and constants: a name and a value.
    macro_rules! named {
        ($($variant:ident $as:ident $missing:literal $local:literal),+ $(,)?) => {
            match node {
                $(Node::$variant { .. } => {
                    let write = node.$as()?;
                    let own = write.name().as_slice();
                    return Some(Write {
                        target: own.to_vec(),
                        before: Vec::new(),
                        value: write.value(),
                        if_missing: $missing,
                        local: $local.then_some(own),
                    });
                })+
                _ => {}
            }
        };
    }
    named! {
        LocalVariableOrWriteNode as_local_variable_or_write_node true true,
        LocalVariableAndWriteNode as_local_variable_and_write_node false true,
        InstanceVariableOrWriteNode as_instance_variable_or_write_node true false,
        InstanceVariableAndWriteNode as_instance_variable_and_write_node false false,
        ClassVariableOrWriteNode as_class_variable_or_write_node true false,
        ClassVariableAndWriteNode as_class_variable_and_write_node false false,
        GlobalVariableOrWriteNode as_global_variable_or_write_node true false,
        GlobalVariableAndWriteNode as_global_variable_and_write_node false false,
        ConstantOrWriteNode as_constant_or_write_node true false,
        ConstantAndWriteNode as_constant_and_write_node false false,
    }
    let (receiver, arguments, value, operator, if_missing) =
        if let Some(write) = node.as_index_or_write_node() {
            (write.receiver(), write.arguments(), write.value(), write.operator_loc(), true)
        } else if let Some(write) = node.as_index_and_write_node() {
            (write.receiver(), write.arguments(), write.value(), write.operator_loc(), false)
        } else if let Some(write) = node.as_call_or_write_node() {
            (write.receiver(), None, write.value(), write.operator_loc(), true)
        } else {
            let write = node.as_call_and_write_node()?;
            (write.receiver(), None, write.value(), write.operator_loc(), false)
        };
    let location = node.location();
    let width = (operator.start() - location.start()) as usize;
    let mut before: Vec<Node<'a>> = receiver.into_iter().collect();
    before.extend(arguments.iter().flat_map(listed));
    let target = location.as_slice()[..width].trim_ascii().to_vec();
    Some(Write { target, before, value, if_missing, local: None })
}

fn listed<'a>(arguments: &ArgumentsNode<'a>) -> Vec<Node<'a>> {
    nodes(&arguments.arguments())
}
