//! Notes: both sides of a comparison, handed through unchanged while the code runs.
//!
//! A search that sees `token == "end"` answer no with `token` being `"a"` knows what to try next. Only the operands
//! are wrapped; the comparison itself stays where it is, because `=~` and its kin set variables of their frame.

use ruby_prism::{CallNode, CaseMatchNode, Node, Visit as _};

use super::{MODULE, ProbePlacer, can_wrap};
use crate::source::name;
use crate::usage::accepted;

/// Asked with one argument.
const BINARY: &[&str] = &[
    "==",
    "!=",
    "===",
    "eql?",
    "equal?",
    "<",
    ">",
    "<=",
    ">=",
    "<=>",
    "=~",
    "!~",
    "match",
    "match?",
    "start_with?",
    "end_with?",
    "include?",
    "member?",
    "key?",
    "has_key?",
    "is_a?",
    "kind_of?",
    "instance_of?",
    "respond_to?",
    "casecmp?",
    "cover?",
    "[]",
    "fetch",
    "delete",
    "dig",
    "scan",
    "check",
    "skip",
    "scan_until",
    "skip_until",
    "check_until",
    "exist?",
    "sub",
    "gsub",
    "sub!",
    "gsub!",
    "split",
    "index",
    "slice",
    "slice!",
    "delete_prefix",
    "delete_suffix",
    "partition",
    "rpartition",
    "send",
    "public_send",
    "const_get",
    "method_defined?",
    "parse",
];

/// Asked without arguments.
const UNARY: &[&str] = &[
    "nil?",
    "empty?",
    "zero?",
    "positive?",
    "negative?",
    "even?",
    "odd?",
    "any?",
    "none?",
    "eos?",
];

impl<'pr> ProbePlacer<'pr> {
    fn note_number(&mut self) -> u32 {
        self.map.notes += 1;
        self.map.notes - 1
    }

    fn surround(&mut self, node: &Node<'_>, opening: String) {
        self.depth += 1;
        self.edit(node.location().start(), false, opening);
        self.edit(node.location().end(), true, "))".to_owned());
    }

    /// Notes a call that compares or looks up.
    pub(super) fn note_call(&mut self, call: &CallNode<'_>) {
        if !self.written {
            return;
        }
        let method = name(call.name().as_slice());
        let Some(receiver) = call.receiver().filter(can_wrap) else { return };
        if call.message_loc().is_none() || call.is_attribute_write() || call.equal_loc().is_some() {
            return;
        }
        let arguments: Vec<Node<'_>> =
            call.arguments().map(|list| list.arguments().iter().collect()).unwrap_or_default();
        match arguments.as_slice() {
            [] if UNARY.contains(&method.as_ref()) && call.block().is_none() => {
                let id = self.note_number();
                self.surround(&receiver, format!("{MODULE}.u(<{id}>,:{method},("));
            }
            // `sub(pattern, text)` and `fetch(key, default)` ask with the first.
            [first, ..] if BINARY.contains(&method.as_ref()) && is_value(first) => {
                self.note_pair(&method, &receiver, first);
            }
            _ => {}
        }
    }

    fn note_pair(&mut self, method: &str, receiver: &Node<'_>, argument: &Node<'_>) {
        let id = self.note_number();
        // A literal pattern may set local variables; it stays bare and its text is handed over instead.
        let pattern = receiver.as_regular_expression_node().is_some()
            || receiver.as_interpolated_regular_expression_node().is_some();
        if pattern {
            if receiver.as_regular_expression_node().is_some() {
                let text = crate::source::text(receiver);
                if !text.contains('\n') {
                    self.surround(argument, format!("{MODULE}.p(<{id}>,({text}),("));
                }
            }
            return;
        }
        self.surround(receiver, format!("{MODULE}.l(<{id}>,:{method},("));
        self.surround(argument, format!("{MODULE}.r(<{id}>,("));
    }

    /// Notes what a `case` looks at; gives the number its patterns belong to.
    pub(super) fn note_subject(&mut self, subject: &Node<'pr>) -> u32 {
        let id = self.note_number();
        if self.written && can_wrap(subject) {
            self.surround(subject, format!("{MODULE}.l(<{id}>,:when,("));
        }
        self.visit(subject);
        id
    }

    /// Notes what a `case … in` looks at, with values that its patterns accept.
    pub(super) fn note_matched(&mut self, node: &CaseMatchNode<'pr>) {
        let Some(subject) = node.predicate() else { return };
        if self.written && can_wrap(&subject) {
            let arms = node.conditions();
            let codes: Vec<String> = arms
                .iter()
                .filter_map(|arm| arm.as_in_node())
                .flat_map(|arm| accepted(&arm.pattern()))
                .collect();
            let id = self.note_number();
            self.surround(&subject, format!("{MODULE}.i(<{id}>,[{}],(", codes.join(", ")));
        }
        self.visit(&subject);
    }

    pub(super) fn note_pattern(&mut self, id: u32, pattern: &Node<'pr>) {
        if !self.written {
            return self.visit(pattern);
        }
        if let Some(inner) = pattern.as_splat_node().and_then(|splat| splat.expression()) {
            if is_value(&inner) && can_wrap(&inner) {
                self.surround(&inner, format!("{MODULE}.w(<{id}>,("));
            }
        } else if is_value(pattern) && can_wrap(pattern) {
            self.surround(pattern, format!("{MODULE}.r(<{id}>,("));
        }
        self.visit(pattern);
    }
}

/// Whether a node is an ordinary argument.
fn is_value(node: &Node<'_>) -> bool {
    node.as_splat_node().is_none()
        && node.as_keyword_hash_node().is_none()
        && node.as_block_argument_node().is_none()
        && node.as_forwarding_arguments_node().is_none()
        && can_wrap(node)
}
