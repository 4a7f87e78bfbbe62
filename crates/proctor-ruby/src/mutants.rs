//! Small faults, each a byte range and its replacement inside one method.
//!
//! The operator set is fixed: conditions negated, comparison and arithmetic operators exchanged, literals and symbols changed,
//! statements, calls and raised errors dropped, returned values lost. A mutant whose file no longer parses is not made.

use ruby_prism::{DefNode, Node, Visit};
use serde::{Deserialize, Serialize};

use crate::deep_stack::with_deep_stack;
use crate::source::{Source, statements, text};
use crate::statements::StatementRanges;

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mutant {
    /// Byte offset where the replaced text starts.
    pub start: u32,
    /// Byte offset where it ends.
    pub end: u32,
    /// What stands there instead.
    pub replacement: String,
    /// The operator's name.
    pub operator: String,
    /// The line.
    pub line: u32,
    /// Byte range of the method around it.
    pub method: (u32, u32),
}

/// All faults of a file's methods, in source order.
#[must_use]
pub fn mutants(source: &[u8]) -> Vec<Mutant> {
    with_deep_stack(source, || mutants_here(source))
}

fn mutants_here(source: &[u8]) -> Vec<Mutant> {
    let parsed = ruby_prism::parse(source);
    if !parsed.is_success() {
        return Vec::new();
    }
    let lines = Source::new(source);
    let mut maker = MutantMaker { lines: &lines, method: None, found: Vec::new() };
    maker.visit(&parsed.node());
    let mut found = maker.found;
    found.sort_by(|a, b| (a.start, a.end, &a.replacement).cmp(&(b.start, b.end, &b.replacement)));
    found.dedup();
    let statements = StatementRanges::of(&parsed.node());
    found.retain(|one| {
        statements.still_parses(source, one.method, (one.start, one.end), &one.replacement)
    });
    found
}

struct MutantMaker<'a> {
    lines: &'a Source<'a>,
    method: Option<(u32, u32)>,
    found: Vec<Mutant>,
}

impl MutantMaker<'_> {
    fn add(&mut self, start: u32, end: u32, replacement: &str, operator: &str) {
        let Some(method) = self.method else { return };
        self.found.push(Mutant {
            start,
            end,
            replacement: replacement.to_owned(),
            operator: operator.to_owned(),
            line: self.lines.line(start),
            method,
        });
    }

    fn replace(&mut self, node: &Node<'_>, replacement: &str, operator: &str) {
        self.add(node.location().start(), node.location().end(), replacement, operator);
    }

    fn condition(&mut self, node: &Node<'_>) {
        let code = text(node);
        if code.contains("<<") && code.contains('\n') {
            return;
        }
        self.replace(node, &format!("!({code})"), "negate condition");
    }

    fn drop_statements(&mut self, list: &[Node<'_>]) {
        if list.len() < 2 {
            return;
        }
        for statement in list {
            let is_call = statement.as_call_node().is_some_and(|call| {
                !matches!(call.name().as_slice(), b"raise" | b"private" | b"require")
            });
            if (is_call || is_assignment(statement)) && !has_heredoc(&text(statement)) {
                self.replace(statement, "nil", "drop statement");
            }
        }
    }

    /// The value of a method becomes nil, where callers can see it.
    fn lose_value(&mut self, node: &DefNode<'_>) {
        let name = node.name().as_slice();
        if name == b"initialize" || (name.ends_with(b"=") && name[0].is_ascii_lowercase()) {
            return;
        }
        let list = statements(node.body());
        let Some(last) = list.last() else { return };
        let raises = last.as_call_node().is_some_and(|call| call.name().as_slice() == b"raise");
        let code = text(last);
        if !raises && !decides(last) && code != "nil" && !has_heredoc(&code) {
            self.replace(last, &format!("({code}; nil)"), "lose value");
        }
    }

    /// `a.b` becomes `a`; an error that is raised is not.
    fn drop_call(&mut self, node: &ruby_prism::CallNode<'_>) {
        if node.receiver().is_none() && node.name().as_slice() == b"raise" {
            if !has_heredoc(&text(&node.as_node())) {
                self.replace(&node.as_node(), "nil", "drop raise");
            }
            return;
        }
        let plain = node.arguments().is_none() && node.block().is_none();
        if let (Some(dot), Some(message), true) =
            (node.call_operator_loc(), node.message_loc(), plain)
        {
            self.add(dot.start(), message.end(), "", "drop call");
        }
    }
}

/// Whether a text may belong to one that stands further below.
fn has_heredoc(code: &str) -> bool {
    code.contains("<<~") || code.contains("<<-") || (code.contains("<<") && code.contains('\n'))
}

fn is_assignment(node: &Node<'_>) -> bool {
    matches!(
        node,
        Node::InstanceVariableWriteNode { .. }
            | Node::InstanceVariableOperatorWriteNode { .. }
            | Node::InstanceVariableOrWriteNode { .. }
            | Node::LocalVariableWriteNode { .. }
            | Node::LocalVariableOperatorWriteNode { .. }
            | Node::ClassVariableWriteNode { .. }
            | Node::YieldNode { .. }
    )
}

/// Whether the value of an expression is decided inside of it, where other faults are made.
fn decides(node: &Node<'_>) -> bool {
    matches!(
        node,
        Node::IfNode { .. }
            | Node::UnlessNode { .. }
            | Node::CaseNode { .. }
            | Node::CaseMatchNode { .. }
            | Node::WhileNode { .. }
            | Node::UntilNode { .. }
            | Node::BeginNode { .. }
            | Node::ReturnNode { .. }
            | Node::NilNode { .. }
    )
}

/// Operators and what stands in for them.
const OPERATORS: &[(&[u8], &str)] = &[
    (b"==", "!="),
    (b"!=", "=="),
    (b"<", "<="),
    (b"<=", "<"),
    (b">", ">="),
    (b">=", ">"),
    (b"+", "-"),
    (b"-", "+"),
    (b"*", "+"),
    (b"/", "*"),
    (b"%", "*"),
    (b"=~", "!~"),
    (b"!~", "=~"),
    (b"&", "|"),
    (b"|", "&"),
];

/// Methods and what stands in for them.
const METHODS: &[(&[u8], &str)] = &[
    (b"first", "last"),
    (b"last", "first"),
    (b"min", "max"),
    (b"max", "min"),
    (b"any?", "all?"),
    (b"all?", "any?"),
    (b"select", "reject"),
    (b"reject", "select"),
    (b"upcase", "downcase"),
    (b"downcase", "upcase"),
    (b"start_with?", "end_with?"),
    (b"end_with?", "start_with?"),
    (b"push", "unshift"),
    (b"unshift", "push"),
    (b"floor", "ceil"),
    (b"ceil", "floor"),
    (b"shift", "pop"),
    (b"pop", "shift"),
];

impl<'pr> Visit<'pr> for MutantMaker<'_> {
    fn visit_def_node(&mut self, node: &DefNode<'pr>) {
        let location = node.location();
        let was = self.method.replace((location.start(), location.end()));
        self.lose_value(node);
        if let Some(parameters) = node.parameters() {
            self.visit(&parameters.as_node());
        }
        if let Some(body) = node.body() {
            self.visit(&body);
        }
        self.method = was;
    }

    fn visit_if_node(&mut self, node: &ruby_prism::IfNode<'pr>) {
        self.condition(&node.predicate());
        ruby_prism::visit_if_node(self, node);
    }

    fn visit_while_node(&mut self, node: &ruby_prism::WhileNode<'pr>) {
        self.condition(&node.predicate());
        ruby_prism::visit_while_node(self, node);
    }

    fn visit_until_node(&mut self, node: &ruby_prism::UntilNode<'pr>) {
        self.condition(&node.predicate());
        ruby_prism::visit_until_node(self, node);
    }

    fn visit_statements_node(&mut self, node: &ruby_prism::StatementsNode<'pr>) {
        self.drop_statements(&node.body().iter().collect::<Vec<_>>());
        ruby_prism::visit_statements_node(self, node);
    }

    fn visit_unless_node(&mut self, node: &ruby_prism::UnlessNode<'pr>) {
        self.condition(&node.predicate());
        ruby_prism::visit_unless_node(self, node);
    }

    fn visit_and_node(&mut self, node: &ruby_prism::AndNode<'pr>) {
        let operator = node.operator_loc();
        let other = if operator.as_slice() == b"and" { "or" } else { "||" };
        self.add(operator.start(), operator.end(), other, "and to or");
        ruby_prism::visit_and_node(self, node);
    }

    fn visit_or_node(&mut self, node: &ruby_prism::OrNode<'pr>) {
        let operator = node.operator_loc();
        let other = if operator.as_slice() == b"or" { "and" } else { "&&" };
        self.add(operator.start(), operator.end(), other, "or to and");
        ruby_prism::visit_or_node(self, node);
    }

    fn visit_call_node(&mut self, node: &ruby_prism::CallNode<'pr>) {
        if let Some(message) = node.message_loc() {
            let found =
                OPERATORS.iter().chain(METHODS).find(|(from, _)| *from == message.as_slice());
            // A unary minus has no argument; `-x` would become `+x`, which says little.
            let binary = node.arguments().is_some()
                || METHODS.iter().any(|(from, _)| *from == message.as_slice());
            if let Some((_, to)) = found.filter(|_| binary && node.receiver().is_some()) {
                self.add(message.start(), message.end(), to, "exchange operator");
            }
            if node.name().as_slice() == b"!"
                && let Some(receiver) = node.receiver()
            {
                let code = text(&receiver);
                self.replace(&node.as_node(), &format!("({code})"), "drop negation");
            }
        }
        self.drop_call(node);
        ruby_prism::visit_call_node(self, node);
    }

    fn visit_float_node(&mut self, node: &ruby_prism::FloatNode<'pr>) {
        if let Ok(number) = text(&node.as_node()).parse::<f64>() {
            self.replace(&node.as_node(), &format!("{:?}", number + 1.0), "change number");
        }
    }

    fn visit_integer_node(&mut self, node: &ruby_prism::IntegerNode<'pr>) {
        let code = text(&node.as_node());
        if let Ok(number) = code.parse::<i64>() {
            self.replace(&node.as_node(), &(number + 1).to_string(), "change number");
        }
    }

    fn visit_string_node(&mut self, node: &ruby_prism::StringNode<'pr>) {
        let Some(opening) = node.opening_loc() else { return };
        if !matches!(opening.as_slice(), b"\"" | b"'") || node.closing_loc().is_none() {
            return;
        }
        let other = if node.unescaped().is_empty() { "\"mutant\"" } else { "\"\"" };
        self.replace(&node.as_node(), other, "change string");
    }

    fn visit_true_node(&mut self, node: &ruby_prism::TrueNode<'pr>) {
        self.replace(&node.as_node(), "false", "flip boolean");
    }

    fn visit_false_node(&mut self, node: &ruby_prism::FalseNode<'pr>) {
        self.replace(&node.as_node(), "true", "flip boolean");
    }

    fn visit_return_node(&mut self, node: &ruby_prism::ReturnNode<'pr>) {
        if let Some(arguments) = node.arguments() {
            let location = arguments.location();
            if arguments.as_node().as_arguments_node().is_some() && location.as_slice() != b"nil" {
                self.add(location.start(), location.end(), "nil", "lose return value");
            }
        }
        ruby_prism::visit_return_node(self, node);
    }

    fn visit_symbol_node(&mut self, node: &ruby_prism::SymbolNode<'pr>) {
        if node.opening_loc().is_some_and(|opening| opening.as_slice() == b":") {
            self.replace(&node.as_node(), ":mutant", "change symbol");
        }
    }
}
