//! Assignments that depend on what is there already: `x ||= value` and `x &&= value`, for everything that can be assigned.

use ruby_prism::{ArgumentsNode, Node};

use super::decisions::arm;
use super::{ArmValues, BodyAnalysis, Parent, wording};
use crate::facts::CharacteristicKind;
use crate::source::{name, nodes};
use crate::words::{humanize, identifier};

/// The parts of such an assignment.
struct Write<'a> {
    /// What is assigned, in words.
    words: String,
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
        let word = write.words.clone();
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
                        words: humanize(&name(own)),
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
    let (receiver, arguments, value, attribute, if_missing) =
        if let Some(write) = node.as_index_or_write_node() {
            (write.receiver(), write.arguments(), write.value(), None, true)
        } else if let Some(write) = node.as_index_and_write_node() {
            (write.receiver(), write.arguments(), write.value(), None, false)
        } else if let Some(write) = node.as_call_or_write_node() {
            (write.receiver(), None, write.value(), Some(write.read_name()), true)
        } else {
            let write = node.as_call_and_write_node()?;
            (write.receiver(), None, write.value(), Some(write.read_name()), false)
        };
    let keys: Vec<Node<'a>> = arguments.iter().flat_map(listed).collect();
    let owner = receiver.as_ref().filter(|receiver| receiver.as_self_node().is_none());
    let owner = owner.and_then(wording::expression).unwrap_or_default();
    let own = match &attribute {
        Some(own) => humanize(&name(own.as_slice())),
        None => keys.iter().map(wording::operand).collect::<Vec<_>>().join(" "),
    };
    let words = format!("{owner} {own}").trim().to_owned();
    let before = receiver.into_iter().chain(keys).collect();
    Some(Write { words, before, value, if_missing, local: None })
}

fn listed<'a>(arguments: &ArgumentsNode<'a>) -> Vec<Node<'a>> {
    nodes(&arguments.arguments())
}
