//! What the code of one example, hook or `let` does: calls, demands, decisions, variables. Plain data.

use ruby_prism::{CallNode, Node, Visit};

use crate::syntax::{Lines, arguments, name, normalize_whitespace, text, word};

/// What the code of an example, hook or `let` does.
#[derive(Debug, Default)]
pub(crate) struct Body {
    pub(crate) statements: usize,
    pub(crate) expectations: Vec<Expectation>,
    /// `expect(…)` that nothing is demanded of.
    pub(crate) bare_expects: Vec<u32>,
    pub(crate) calls: Vec<Call>,
    /// Conditionals, loops by keyword and rescues: line and keyword.
    pub(crate) decisions: Vec<(u32, &'static str)>,
    /// Instance variables: line, name, whether it is set.
    pub(crate) variables: Vec<(u32, String, bool)>,
    /// Iterations that expect something inside: line.
    pub(crate) expecting_loops: Vec<u32>,
}

/// A demand.
#[derive(Debug)]
pub(crate) struct Expectation {
    pub(crate) line: u32,
    /// What is looked at; empty for `is_expected`.
    pub(crate) subject: String,
    /// Whether `subject` is a block.
    pub(crate) is_block: bool,
    /// Whether `subject` is a literal.
    pub(crate) is_literal: bool,
    pub(crate) negated: bool,
    /// The matcher's name.
    pub(crate) matcher: String,
    /// The matcher's arguments, evened.
    pub(crate) wanted: String,
    /// Whether the matcher's first argument is a literal.
    pub(crate) wants_literal: bool,
    /// For a call: its receiver and name.
    pub(crate) call: Option<(Option<String>, String)>,
}

/// A call.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) line: u32,
    pub(crate) name: String,
    pub(crate) receiver: Option<String>,
    pub(crate) arguments: Vec<String>,
    pub(crate) has_block: bool,
}

/// Looks at some statements.
pub(super) fn read_body(lines: &Lines, statements: &[Node<'_>]) -> Body {
    let mut looker = BodyReader { lines, body: Body::default(), inside_expect: 0 };
    for statement in statements {
        looker.visit(statement);
    }
    looker.body.statements = statements.len();
    looker.body
}

struct BodyReader<'a> {
    lines: &'a Lines,
    body: Body,
    inside_expect: u32,
}

impl BodyReader<'_> {
    fn line(&self, node: &Node<'_>) -> u32 {
        self.lines.of(node.location().start())
    }

    fn add_branch(&mut self, node: &Node<'_>, keyword: &'static str) {
        let line = self.line(node);
        self.body.decisions.push((line, keyword));
    }

    fn variable(&mut self, offset: u32, name: &[u8], is_set: bool) {
        self.body.variables.push((self.lines.of(offset), word(name), is_set));
    }

    /// `expect(x).to matcher`, `is_expected.not_to matcher`
    fn add_expectation(&mut self, call: &CallNode<'_>) -> bool {
        let verb = name(call);
        if !matches!(verb.as_str(), "to" | "not_to" | "to_not") {
            return false;
        }
        let Some(looked) = call.receiver().and_then(|receiver| receiver.as_call_node()) else {
            return false;
        };
        let what = name(&looked);
        if looked.receiver().is_some()
            || !matches!(what.as_str(), "expect" | "is_expected" | "expect_any_instance_of")
        {
            return false;
        }
        let list = arguments(&looked);
        let subject = list.first();
        let block = looked.block().and_then(|block| block.as_block_node());
        let matcher = arguments(call).into_iter().next();
        let matcher_call = matcher.as_ref().and_then(Node::as_call_node);
        let wanted = matcher_call.as_ref().map(arguments).unwrap_or_default();
        self.body.expectations.push(Expectation {
            line: self.lines.of(call.location().start()),
            subject: match (subject, &block) {
                (Some(subject), _) => normalize_whitespace(&text(subject)),
                (None, Some(block)) => normalize_whitespace(
                    &crate::syntax::statements(block.body())
                        .iter()
                        .map(text)
                        .collect::<Vec<_>>()
                        .join("; "),
                ),
                (None, None) => String::new(),
            },
            is_block: block.is_some(),
            is_literal: subject.is_some_and(is_literal),
            negated: verb != "to",
            matcher: matcher_call.as_ref().map(root_name).unwrap_or_default(),
            wanted: wanted
                .iter()
                .map(|one| normalize_whitespace(&text(one)))
                .collect::<Vec<_>>()
                .join(", "),
            wants_literal: wanted.first().is_some_and(is_literal),
            call: subject.and_then(|subject| {
                let subject = unwrapped(subject)?;
                Some((
                    subject.receiver().map(|receiver| normalize_whitespace(&text(&receiver))),
                    name(&subject),
                ))
            }),
        });
        true
    }
}

/// A call, with or without parentheses around it.
fn unwrapped<'pr>(node: &Node<'pr>) -> Option<CallNode<'pr>> {
    if let Some(call) = node.as_call_node() {
        return Some(call);
    }
    let inner = node.as_parentheses_node()?;
    crate::syntax::statements(inner.body()).first()?.as_call_node()
}

/// `change { }.from(1).to(2)` is `change`; `a.and b` is `a`.
fn root_name(call: &CallNode<'_>) -> String {
    match call.receiver().and_then(|receiver| receiver.as_call_node()) {
        Some(inner) => root_name(&inner),
        None => name(call),
    }
}

fn is_literal(node: &Node<'_>) -> bool {
    node.as_integer_node().is_some()
        || node.as_float_node().is_some()
        || node.as_string_node().is_some()
        || node.as_symbol_node().is_some()
        || node.as_true_node().is_some()
        || node.as_false_node().is_some()
        || node.as_nil_node().is_some()
}

/// Calls that go through a collection.
const ITERATIONS: &[&str] = &[
    "each",
    "each_with_index",
    "each_with_object",
    "times",
    "upto",
    "downto",
    "step",
    "map",
    "each_pair",
    "each_key",
    "each_value",
    "loop",
    "zip",
    "each_slice",
    "each_cons",
    "select",
    "reject",
];

impl<'pr> Visit<'pr> for BodyReader<'_> {
    fn visit_call_node(&mut self, node: &CallNode<'pr>) {
        let word = name(node);
        let line = self.lines.of(node.location().start());
        let is_demand = self.add_expectation(node);
        let bare = node.receiver().is_none();
        if bare && word == "expect" && self.inside_expect == 0 {
            self.body.bare_expects.push(line);
        }
        if matches!(word.as_str(), "should" | "should_not") && !bare {
            let subject = node
                .receiver()
                .map(|receiver| normalize_whitespace(&text(&receiver)))
                .unwrap_or_default();
            let matcher = arguments(node)
                .first()
                .map(|first| normalize_whitespace(&text(first)))
                .unwrap_or_default();
            self.body.expectations.push(Expectation {
                line,
                subject,
                is_block: false,
                is_literal: false,
                negated: word == "should_not",
                matcher: matcher.split(['(', ' ', '.']).next().unwrap_or_default().to_owned(),
                wanted: String::new(),
                wants_literal: false,
                call: None,
            });
        }
        self.body.calls.push(Call {
            line,
            receiver: node.receiver().map(|receiver| normalize_whitespace(&text(&receiver))),
            arguments: arguments(node)
                .iter()
                .map(|argument| normalize_whitespace(&text(argument)))
                .collect(),
            has_block: node.block().is_some(),
            name: word.clone(),
        });
        let before = self.body.expectations.len();
        if is_demand {
            self.inside_expect += 1;
        }
        ruby_prism::visit_call_node(self, node);
        if is_demand {
            self.inside_expect -= 1;
        }
        let is_loop = ITERATIONS.contains(&word.as_str())
            && node.block().is_some_and(|block| block.as_block_node().is_some());
        if is_loop && self.body.expectations.len() > before && self.inside_expect == 0 {
            self.body.expecting_loops.push(line);
        }
    }

    fn visit_if_node(&mut self, node: &ruby_prism::IfNode<'pr>) {
        self.add_branch(&node.as_node(), "if");
        ruby_prism::visit_if_node(self, node);
    }

    fn visit_unless_node(&mut self, node: &ruby_prism::UnlessNode<'pr>) {
        self.add_branch(&node.as_node(), "unless");
        ruby_prism::visit_unless_node(self, node);
    }

    fn visit_case_node(&mut self, node: &ruby_prism::CaseNode<'pr>) {
        self.add_branch(&node.as_node(), "case");
        ruby_prism::visit_case_node(self, node);
    }

    fn visit_while_node(&mut self, node: &ruby_prism::WhileNode<'pr>) {
        self.add_branch(&node.as_node(), "while");
        ruby_prism::visit_while_node(self, node);
    }

    fn visit_until_node(&mut self, node: &ruby_prism::UntilNode<'pr>) {
        self.add_branch(&node.as_node(), "until");
        ruby_prism::visit_until_node(self, node);
    }

    fn visit_for_node(&mut self, node: &ruby_prism::ForNode<'pr>) {
        self.add_branch(&node.as_node(), "for");
        ruby_prism::visit_for_node(self, node);
    }

    fn visit_begin_node(&mut self, node: &ruby_prism::BeginNode<'pr>) {
        if node.rescue_clause().is_some() {
            self.add_branch(&node.as_node(), "rescue");
        }
        ruby_prism::visit_begin_node(self, node);
    }

    fn visit_rescue_modifier_node(&mut self, node: &ruby_prism::RescueModifierNode<'pr>) {
        self.add_branch(&node.as_node(), "rescue");
        ruby_prism::visit_rescue_modifier_node(self, node);
    }

    fn visit_instance_variable_write_node(
        &mut self,
        node: &ruby_prism::InstanceVariableWriteNode<'pr>,
    ) {
        self.variable(node.location().start(), node.name().as_slice(), true);
        ruby_prism::visit_instance_variable_write_node(self, node);
    }

    fn visit_instance_variable_or_write_node(
        &mut self,
        node: &ruby_prism::InstanceVariableOrWriteNode<'pr>,
    ) {
        self.variable(node.location().start(), node.name().as_slice(), true);
        ruby_prism::visit_instance_variable_or_write_node(self, node);
    }

    fn visit_instance_variable_read_node(
        &mut self,
        node: &ruby_prism::InstanceVariableReadNode<'pr>,
    ) {
        self.variable(node.location().start(), node.name().as_slice(), false);
    }

    fn visit_instance_variable_target_node(
        &mut self,
        node: &ruby_prism::InstanceVariableTargetNode<'pr>,
    ) {
        self.variable(node.location().start(), node.name().as_slice(), true);
    }

    // Helper methods are no part of the example that stands beside them.
    fn visit_def_node(&mut self, _node: &ruby_prism::DefNode<'pr>) {}
    fn visit_class_node(&mut self, _node: &ruby_prism::ClassNode<'pr>) {}
}
