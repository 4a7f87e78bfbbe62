//! The guide's rules that a program can check on a spec file. Numbers are the guide's.
//!
//! 3 one behaviour per example · 7 happy path first · 9 each context shows its difference · 11 no instance variables ·
//! 15 no programming in tests · 19 no modal verbs · 20 contexts begin with when, with or without · 22 no `any_instance` ·
//! 24 verifying doubles · 27 stable time · 28 nothing is left focused or empty.

use ruby_prism::{CallNode, Node, Visit};
use serde::{Deserialize, Serialize};

use crate::source::{Source, name, statements, text};

/// A violated rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule's number.
    pub rule: u32,
    /// The line.
    pub line: u32,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub fix: String,
}

/// Checks a spec file. A file that is not Ruby has no findings: that is reported elsewhere.
#[must_use]
pub fn check(text: &str) -> Vec<Finding> {
    let parsed = ruby_prism::parse(text.as_bytes());
    if !parsed.is_success() {
        return Vec::new();
    }
    let source = Source::new(text.as_bytes());
    let mut checker =
        Checker { source: &source, found: Vec::new(), in_example: false, in_group: false };
    checker.visit(&parsed.node());
    checker.found.sort_by_key(|finding| (finding.line, finding.rule));
    checker.found.dedup();
    checker.found
}

struct Checker<'a> {
    source: &'a Source<'a>,
    found: Vec<Finding>,
    in_example: bool,
    in_group: bool,
}

const EXAMPLES: &[&str] = &["it", "specify", "example", "fit", "xit"];
const GROUPS: &[&str] =
    &["describe", "context", "fdescribe", "fcontext", "xdescribe", "xcontext", "feature"];
const MODALS: &[&str] =
    &["should", "must", "can", "could", "will", "would", "shall", "may", "might"];

impl Checker<'_> {
    fn add(&mut self, rule: u32, node: &Node<'_>, message: &str, fix: &str) {
        let line = self.source.line(node.location().start());
        self.found.push(Finding { rule, line, message: message.to_owned(), fix: fix.to_owned() });
    }

    fn example(&mut self, call: &CallNode<'_>) {
        let node = call.as_node();
        let words = description(call).unwrap_or_default();
        if words.split_whitespace().any(|word| MODALS.contains(&word.to_lowercase().as_str())) {
            self.add(
                19,
                &node,
                "the description uses a modal verb",
                "say what happens: present tense, third person",
            );
        }
        let Some(block) = call.block().and_then(|block| block.as_block_node()) else { return };
        let list = statements(block.body());
        let mut expectations = Expectations(0);
        for statement in &list {
            expectations.visit(statement);
        }
        let aggregate =
            text(&node).lines().next().is_some_and(|line| line.contains("aggregate_failures"))
                || list.first().is_some_and(|first| text(first).starts_with("aggregate_failures"));
        if expectations.0 > 1 && !aggregate {
            self.add(
                3,
                &node,
                "the example has several expectations",
                "one behaviour per example, or aggregate_failures",
            );
        }
        if list.is_empty() {
            self.add(
                28,
                &node,
                "the example is empty",
                "expect something, or leave the block away",
            );
        }
        if words.starts_with(['f', 'x']) && matches!(call.name().as_slice(), b"fit" | b"fdescribe")
        {
            self.add(28, &node, "the example is focused", "remove the focus");
        }
    }

    fn context(&mut self, call: &CallNode<'_>) {
        let node = call.as_node();
        if let Some(words) = description(call) {
            let good = ["when ", "with ", "without "].iter().any(|start| words.starts_with(start));
            if call.name().as_slice().ends_with(b"context") && !good {
                self.add(
                    20,
                    &node,
                    "the context does not begin with when, with or without",
                    "begin with one of these words",
                );
            }
        }
        let Some(block) = call.block().and_then(|block| block.as_block_node()) else { return };
        let list = statements(block.body());
        let calls: Vec<CallNode<'_>> = list.iter().filter_map(Node::as_call_node).collect();
        let contexts: Vec<&CallNode<'_>> =
            calls.iter().filter(|call| call.name().as_slice() == b"context").collect();
        if let Some(first) = contexts.first().filter(|_| contexts.len() > 1) {
            let unhappy = |call: &CallNode<'_>| {
                let inner = call
                    .block()
                    .and_then(|block| block.as_block_node())
                    .map(|block| statements(block.body()));
                let inner: Vec<String> =
                    inner.unwrap_or_default().iter().map(|node| text(node).into_owned()).collect();
                !inner.is_empty() && inner.iter().all(|code| code.contains("raise_error"))
            };
            if unhappy(first) && contexts.iter().any(|call| !unhappy(call)) {
                self.add(
                    7,
                    &first.as_node(),
                    "an error case stands before the happy path",
                    "put the happy path first",
                );
            }
        }
    }
}

struct Expectations(u32);

impl<'pr> Visit<'pr> for Expectations {
    fn visit_call_node(&mut self, node: &CallNode<'pr>) {
        let expects = matches!(
            node.name().as_slice(),
            b"expect" | b"is_expected" | b"expect_any_instance_of"
        );
        self.0 += u32::from(expects && node.receiver().is_none());
        ruby_prism::visit_call_node(self, node);
    }
}

fn description(call: &CallNode<'_>) -> Option<String> {
    let first = call.arguments()?.arguments().first()?;
    first.as_string_node().map(|string| name(string.unescaped()).into_owned())
}

impl<'pr> Visit<'pr> for Checker<'_> {
    fn visit_call_node(&mut self, node: &CallNode<'pr>) {
        let method = name(node.name().as_slice());
        let bare = node.receiver().is_none_or(|receiver| text(&receiver) == "RSpec");
        let (was_example, was_group) = (self.in_example, self.in_group);
        if bare && EXAMPLES.contains(&method.as_ref()) && node.block().is_some() {
            self.example(node);
            self.in_example = true;
        } else if bare && GROUPS.contains(&method.as_ref()) && node.block().is_some() {
            self.context(node);
            if method.starts_with('f') && method != "feature" {
                self.add(28, &node.as_node(), "the group is focused", "remove the focus");
            }
            self.in_group = true;
        } else if self.in_group
            && matches!(
                method.as_ref(),
                "allow_any_instance_of" | "expect_any_instance_of" | "any_instance"
            )
        {
            self.add(
                22,
                &node.as_node(),
                "any_instance is used",
                "inject the object, or stub the constructor",
            );
        } else if self.in_example
            && method == "not_to"
            && text(&node.as_node()).ends_with("raise_error")
        {
            self.add(
                1,
                &node.as_node(),
                "the example only says that nothing is raised",
                "expect what happens instead",
            );
        }
        if self.in_example && matches!(method.as_ref(), "sleep") && node.receiver().is_none() {
            self.add(27, &node.as_node(), "the example sleeps", "control the clock instead");
        }
        ruby_prism::visit_call_node(self, node);
        self.in_example = was_example;
        self.in_group = was_group;
    }

    fn visit_instance_variable_write_node(
        &mut self,
        node: &ruby_prism::InstanceVariableWriteNode<'pr>,
    ) {
        if self.in_group {
            self.add(11, &node.as_node(), "an instance variable is used", "use let");
        }
        ruby_prism::visit_instance_variable_write_node(self, node);
    }

    fn visit_if_node(&mut self, node: &ruby_prism::IfNode<'pr>) {
        if self.in_example {
            self.add(
                15,
                &node.as_node(),
                "the example decides something",
                "one example for each case",
            );
        }
        ruby_prism::visit_if_node(self, node);
    }
}
