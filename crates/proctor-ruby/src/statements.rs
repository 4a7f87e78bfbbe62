//! Where the statements of a file stand. A changed statement of a long method is parsed alone: parsing the whole method for
//! every fault takes quadratic time.

use ruby_prism::{Node, Visit};

/// Methods up to this size are parsed whole.
const LONG_METHOD: usize = 6_000;

/// The byte ranges of all statements, by their starts.
pub(crate) struct StatementRanges(Vec<(u32, u32)>);

impl StatementRanges {
    pub(crate) fn of(root: &Node<'_>) -> Self {
        let mut finder = StatementFinder(Vec::new());
        finder.visit(root);
        finder.0.sort_unstable();
        Self(finder.0)
    }

    /// Whether the method parses with a part of it replaced.
    pub(crate) fn still_parses(
        &self,
        source: &[u8],
        method: (u32, u32),
        part: (u32, u32),
        replacement: &str,
    ) -> bool {
        let changed = |range: (u32, u32)| {
            let mut code = source[range.0 as usize..part.0 as usize].to_vec();
            code.extend_from_slice(replacement.as_bytes());
            code.extend_from_slice(&source[part.1 as usize..range.1 as usize]);
            code
        };
        if &source[part.0 as usize..part.1 as usize] == replacement.as_bytes() {
            return false;
        }
        if (method.1 - method.0) as usize > LONG_METHOD
            && let Some(range) = self.around(method, part)
            && parses_within_method(&source[range.0 as usize..range.1 as usize])
        {
            return parses_within_method(&changed(range));
        }
        ruby_prism::parse(&changed(method)).is_success()
    }

    /// The smallest statement of a method that has a part.
    fn around(&self, method: (u32, u32), part: (u32, u32)) -> Option<(u32, u32)> {
        let place = self.0.partition_point(|range| range.0 <= part.0);
        let before = self.0[..place].iter().rev().take_while(|range| range.0 > method.0);
        before.filter(|range| range.1 >= part.1).min_by_key(|range| range.1 - range.0).copied()
    }
}

/// Whether code parses as the body of a method. What needs more around it (`retry`, a heredoc) does not.
fn parses_within_method(code: &[u8]) -> bool {
    let whole = [b"def m(*a, &b)\n", code, b"\nend\n"].concat();
    ruby_prism::parse(&whole).is_success()
}

struct StatementFinder(Vec<(u32, u32)>);

impl<'pr> Visit<'pr> for StatementFinder {
    fn visit_statements_node(&mut self, node: &ruby_prism::StatementsNode<'pr>) {
        for statement in &node.body() {
            let location = statement.location();
            self.0.push((location.start(), location.end()));
        }
        ruby_prism::visit_statements_node(self, node);
    }
}
