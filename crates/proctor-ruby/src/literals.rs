//! Values worth trying: literals of the source, and what its comments show as examples.

use ruby_prism::{Node, Visit};
use serde::{Deserialize, Serialize};

use crate::source::{constant, is_scalar, literal_code, text};

/// Literals and example expressions found in a text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundLiterals {
    /// Strings, symbols, numbers, short arrays and hashes, as Ruby code.
    pub literals: Vec<String>,
    /// Regular expressions, as Ruby code.
    pub patterns: Vec<String>,
    /// Calls on constants that comments show, as Ruby code.
    pub calls: Vec<String>,
}

const LIMIT: usize = 400;

/// Looks through code and comments of a Ruby file.
#[must_use]
pub fn collect_literals(source: &[u8]) -> FoundLiterals {
    let parsed = ruby_prism::parse(source);
    let mut gatherer = LiteralCollector { found: FoundLiterals::default(), with_calls: false };
    gatherer.visit(&parsed.node());
    for comment in parsed.comments() {
        let comment = String::from_utf8_lossy(comment.text()).into_owned();
        for line in comment.lines() {
            example(&mut gatherer, line);
        }
    }
    gatherer.found
}

/// Looks through code that shows how something is used: calls on constants count as examples.
#[must_use]
pub fn collect_usage_literals(source: &[u8]) -> FoundLiterals {
    let parsed = ruby_prism::parse(source);
    let mut gatherer = LiteralCollector { found: FoundLiterals::default(), with_calls: true };
    gatherer.visit(&parsed.node());
    gatherer.found
}

/// A line of a comment that may be code.
fn example(gatherer: &mut LiteralCollector, line: &str) {
    let line =
        line.trim_start_matches('#').trim().trim_start_matches(">>").trim_start_matches("irb>");
    let code = line.split("# =>").next().unwrap_or(line).split("#=>").next().unwrap_or(line).trim();
    if code.len() < 3 || code.len() > 300 || !code.contains(['(', '.', '"', '\'', ':', '[']) {
        return;
    }
    let parsed = ruby_prism::parse(code.as_bytes());
    if !parsed.is_success() {
        return;
    }
    gatherer.with_calls = true;
    gatherer.visit(&parsed.node());
    gatherer.with_calls = false;
}

struct LiteralCollector {
    found: FoundLiterals,
    with_calls: bool,
}

impl LiteralCollector {
    fn literal(&mut self, node: &Node<'_>) {
        if let Some(code) = literal_code(node)
            && code.len() <= 200
            && self.found.literals.len() < LIMIT
            && !self.found.literals.contains(&code)
        {
            self.found.literals.push(code);
        }
    }
}

impl<'pr> Visit<'pr> for LiteralCollector {
    fn visit_string_node(&mut self, node: &ruby_prism::StringNode<'pr>) {
        self.literal(&node.as_node());
    }

    fn visit_symbol_node(&mut self, node: &ruby_prism::SymbolNode<'pr>) {
        self.literal(&node.as_node());
    }

    fn visit_integer_node(&mut self, node: &ruby_prism::IntegerNode<'pr>) {
        self.literal(&node.as_node());
    }

    fn visit_float_node(&mut self, node: &ruby_prism::FloatNode<'pr>) {
        self.literal(&node.as_node());
    }

    fn visit_array_node(&mut self, node: &ruby_prism::ArrayNode<'pr>) {
        if self.with_calls && node.opening_loc().is_some() {
            self.literal(&node.as_node());
        }
        ruby_prism::visit_array_node(self, node);
    }

    fn visit_hash_node(&mut self, node: &ruby_prism::HashNode<'pr>) {
        if self.with_calls {
            self.literal(&node.as_node());
        }
        ruby_prism::visit_hash_node(self, node);
    }

    fn visit_regular_expression_node(&mut self, node: &ruby_prism::RegularExpressionNode<'pr>) {
        let code = text(&node.as_node()).into_owned();
        if self.found.patterns.len() < LIMIT && !self.found.patterns.contains(&code) {
            self.found.patterns.push(code);
        }
    }

    fn visit_call_node(&mut self, node: &ruby_prism::CallNode<'pr>) {
        let on_constant = node.receiver().is_some_and(|receiver| constant(&receiver).is_some());
        if self.with_calls && on_constant && node.block().is_none() && is_closed(&node.as_node()) {
            let code = text(&node.as_node()).into_owned();
            let known = self.found.calls.contains(&code);
            if code.len() < 200 && !known && self.found.calls.len() < LIMIT {
                self.found.calls.push(code);
            }
        }
        ruby_prism::visit_call_node(self, node);
    }
}

/// Whether an expression needs nothing around it: only literals, constants and calls on those.
fn is_closed(node: &Node<'_>) -> bool {
    if is_scalar(node) || constant(node).is_some() || node.as_symbol_node().is_some() {
        return true;
    }
    if let Some(array) = node.as_array_node() {
        return array.elements().iter().all(|element| is_closed(&element));
    }
    let pairs = node
        .as_hash_node()
        .map(|hash| hash.elements())
        .or_else(|| node.as_keyword_hash_node().map(|hash| hash.elements()));
    if let Some(pairs) = pairs {
        return pairs.iter().all(|pair| {
            pair.as_assoc_node()
                .is_some_and(|pair| is_closed(&pair.key()) && is_closed(&pair.value()))
        });
    }
    let Some(call) = node.as_call_node() else { return false };
    let arguments = call
        .arguments()
        .is_none_or(|list| list.arguments().iter().all(|argument| is_closed(&argument)));
    let dangerous = matches!(
        call.name().as_slice(),
        b"exit" | b"abort" | b"system" | b"exec" | b"run" | b"start"
    );
    let bracketed = call.arguments().is_none() || call.closing_loc().is_some();
    arguments
        && bracketed
        && !dangerous
        && call.receiver().is_some_and(|receiver| is_closed(&receiver))
}
