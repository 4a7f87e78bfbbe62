//! Methods made by `define_method`: one for each name that can be read off the file, also in a loop over names.

use ruby_prism::{CallNode, Node};

use super::Reader;
use super::methods::{Definition, WrittenMethod};
use super::words::named;
use crate::facts::Scope;
use crate::source::{constant, name, owned, statements};

/// A loop in a class body whose values are known.
pub(super) struct NameLoop {
    /// The variable of its block.
    variable: String,
    /// What it stands for in this turn.
    value: String,
    /// Byte range of the whole loop: what must be evaluated to define its methods.
    span: (u32, u32),
}

/// More names than this are a table, not a handful of methods.
const MAX_NAMES: usize = 24;

impl Reader<'_> {
    /// Remembers the names that a constant lists: elements of an array, keys of a table.
    pub(super) fn remember_list(&mut self, own: &str, value: &Node<'_>) {
        if let Some(names) = names_in(value) {
            self.listed.push((own.to_owned(), names));
        }
    }

    /// `%w[a b].each do |name| … end`: the statements are read once for each name. Says whether it was such a loop.
    pub(super) fn loop_over_names(&mut self, call: &CallNode<'_>) -> bool {
        let loops = matches!(call.name().as_slice(), b"each" | b"each_key" | b"each_pair");
        let block = call.block().and_then(|block| block.as_block_node());
        let (true, false, Some(block), Some(receiver)) =
            (loops, self.open.is_empty(), block, call.receiver())
        else {
            return false;
        };
        let names = match constant(&receiver) {
            Some(list) => self.listed.iter().find(|(own, _)| *own == list).map(|(_, names)| names),
            None => None,
        };
        let names = names.cloned().or_else(|| names_in(&receiver));
        let parameters = block.parameters().and_then(|list| list.as_block_parameters_node());
        let first = parameters.and_then(|list| list.parameters()?.requireds().first());
        let variable = first.and_then(|one| one.as_required_parameter_node());
        let (Some(names), Some(variable)) = (names, variable) else { return false };
        let location = call.location();
        for value in names {
            self.loops.push(NameLoop {
                variable: owned(variable.name().as_slice()),
                value,
                span: (location.start(), location.end()),
            });
            self.all(&statements(block.body()));
            self.loops.pop();
        }
        true
    }

    /// `define_method(:name) { … }`. Says whether the name and the body could be read.
    pub(super) fn define_method(&mut self, call: &CallNode<'_>, arguments: &[Node<'_>]) -> bool {
        let block = call.block().and_then(|block| block.as_block_node());
        let (Some(block), [first]) = (block, arguments) else { return false };
        let Some(own) = self.made_name(first) else { return false };
        let Some(open) = self.open.last() else { return false };
        let scope = if open.singleton { Scope::Class } else { Scope::Instance };
        let (visibility, module_function) = (open.visibility, open.module_function);
        let location = call.location();
        let span =
            self.loops.first().map_or((location.start(), location.end()), |outer| outer.span);
        self.method(Definition {
            written: WrittenMethod::Block(call, block),
            name: own,
            span,
            scope,
            visibility,
            module_function,
        });
        true
    }

    /// A name as it comes out: a literal, the variable of a loop, or a text with such variables in it.
    fn made_name(&self, node: &Node<'_>) -> Option<String> {
        if let [only] = named(std::slice::from_ref(node)).as_slice() {
            return Some(only.clone());
        }
        if let Some(read) = node.as_local_variable_read_node() {
            return self.loop_value(&name(read.name().as_slice()));
        }
        let parts = node
            .as_interpolated_string_node()
            .map(|text| text.parts())
            .or_else(|| node.as_interpolated_symbol_node().map(|symbol| symbol.parts()))?;
        parts.iter().map(|part| self.made_part(&part)).collect()
    }

    fn made_part(&self, part: &Node<'_>) -> Option<String> {
        if let Some(text) = part.as_string_node() {
            return Some(owned(text.unescaped()));
        }
        let inner = part.as_embedded_statements_node()?.statements()?;
        let only = inner.body().first()?;
        let read = only.as_local_variable_read_node()?;
        self.loop_value(&name(read.name().as_slice()))
    }

    fn loop_value(&self, variable: &str) -> Option<String> {
        self.loops.iter().rev().find(|one| one.variable == variable).map(|one| one.value.clone())
    }
}

/// The names that a literal lists, if all of them are names.
fn names_in(node: &Node<'_>) -> Option<Vec<String>> {
    // `[…].freeze`
    if let Some(call) = node.as_call_node() {
        let freezes = call.name().as_slice() == b"freeze";
        return call.receiver().filter(|_| freezes).and_then(|inner| names_in(&inner));
    }
    let (count, found) = if let Some(array) = node.as_array_node() {
        let elements: Vec<Node<'_>> = array.elements().iter().collect();
        (elements.len(), named(&elements))
    } else {
        let table = node.as_hash_node()?;
        let keys: Vec<Node<'_>> = table
            .elements()
            .iter()
            .filter_map(|pair| pair.as_assoc_node().map(|pair| pair.key()))
            .collect();
        (table.elements().len(), named(&keys))
    };
    (found.len() == count && (1..=MAX_NAMES).contains(&count)).then_some(found)
}
