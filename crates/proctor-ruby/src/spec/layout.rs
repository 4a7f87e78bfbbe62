//! One statement over as many lines as its width asks for: lists break after their opening bracket, long texts into pieces,
//! blocks of several statements into lines. Pure; code that cannot be parsed stays on its line.

use std::ops::Range;

use ruby_prism::{Node, Visit};

use super::restyle::range;
use super::style::{Style, TrailingComma};
use crate::source::name;

/// A bracket pair that can be broken: `open` and `close` are the texts outside of what is listed.
struct Brackets {
    whole: Range<usize>,
    inner: Range<usize>,
    items: Vec<Range<usize>>,
    /// The place of the first pair of a list that begins with other items: pairs start on a line of their own.
    first_pair: Option<usize>,
    /// The place of the first pair of a call without braces around its pairs.
    pairs_from: Option<usize>,
    kind: BracketKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BracketKind {
    /// The arguments of a call.
    Arguments,
    /// The elements of a list.
    Array,
    /// The pairs of a table.
    Hash,
    /// A list of words.
    Words,
    /// A block in braces; its items are statements.
    Block,
}

/// The lines of a statement, the first without indentation, the others with it relative to `indent`.
#[must_use]
pub fn laid_out(code: &str, indent: usize, style: &Style) -> Vec<String> {
    let parsed = ruby_prism::parse(code.as_bytes());
    if !parsed.is_success() || code.contains('\n') {
        return code.lines().map(str::to_owned).collect();
    }
    let mut finder = Finder { found: Vec::new(), texts: Vec::new() };
    finder.visit(&parsed.node());
    let page = Page { code, style, brackets: finder.found, texts: finder.texts };
    page.lines(0..code.len(), indent, 0)
}

struct Page<'a> {
    code: &'a str,
    style: &'a Style,
    brackets: Vec<Brackets>,
    texts: Vec<Range<usize>>,
}

impl Page<'_> {
    /// The lines of a part that stands at this column, followed by `after` letters.
    fn lines(&self, part: Range<usize>, indent: usize, after: usize) -> Vec<String> {
        let text = &self.code[part.clone()];
        let outer = self.outermost(&part);
        let fits =
            |text: &str, more: usize| indent + text.chars().count() + more <= self.style.width;
        if let Some(block) = self.nested_block(&part) {
            let holds = |one: &&Brackets| {
                one.inner.start <= block.inner.start && block.inner.end <= one.inner.end
            };
            let holder: Vec<&Brackets> = outer.iter().copied().filter(holds).collect();
            return self.broken(&part, &holder, indent);
        }
        if fits(text, after) || outer.is_empty() {
            return self.long_text(&part, indent, after).unwrap_or_else(|| vec![text.to_owned()]);
        }
        let breakable: Vec<&Brackets> =
            outer.into_iter().filter(|one| !one.items.is_empty()).collect();
        // The last one alone if the rest fits, else another one alone, else all.
        for one in breakable.iter().rev() {
            let lines = self.broken(&part, &[*one], indent);
            let ends = [lines.first(), lines.last()];
            if ends.into_iter().flatten().all(|line| fits(line, 0)) {
                return lines;
            }
        }
        if breakable.is_empty() {
            return vec![text.to_owned()];
        }
        self.broken(&part, &breakable, indent)
    }

    /// Pairs within a part that no other pair of it holds.
    fn outermost(&self, part: &Range<usize>) -> Vec<&Brackets> {
        let within = |one: &&Brackets| part.start <= one.whole.start && one.whole.end <= part.end;
        let mut found: Vec<&Brackets> = self.brackets.iter().filter(within).collect();
        found.sort_by_key(|one| (one.inner.start, std::cmp::Reverse(one.inner.end)));
        let mut outer: Vec<&Brackets> = Vec::new();
        for one in found {
            if outer.last().is_none_or(|last| one.inner.start >= last.inner.end) {
                outer.push(one);
            }
        }
        outer
    }

    /// A block of several statements somewhere within a part.
    fn nested_block(&self, part: &Range<usize>) -> Option<&Brackets> {
        self.brackets.iter().find(|one| {
            one.kind == BracketKind::Block
                && one.items.len() > 1
                && part.start <= one.whole.start
                && one.whole.end <= part.end
        })
    }

    /// A part with these pairs broken.
    fn broken(&self, part: &Range<usize>, pairs: &[&Brackets], indent: usize) -> Vec<String> {
        let mut lines = vec![String::new()];
        let mut from = part.start;
        for pair in pairs {
            let mut head = self.code[from..pair.inner.start].trim_end().to_owned();
            let mut close = "";
            if pair.kind == BracketKind::Block {
                head = self.block_head(&head, pair);
                close = "end";
            }
            if let Some(last) = lines.last_mut() {
                last.push_str(&head);
            }
            lines.extend(self.items(pair, indent + 2));
            from = pair.inner.end;
            if close.is_empty() {
                let rest = self.code[from..].len() - self.code[from..].trim_start().len();
                from += rest;
            } else {
                from = pair.whole.end;
            }
            lines.push(close.to_owned());
        }
        if let Some(last) = lines.last_mut() {
            last.push_str(&self.code[from..part.end]);
        }
        lines
    }

    /// `{ |x| …` as `do |x|`.
    fn block_head(&self, head: &str, pair: &Brackets) -> String {
        let open = pair.whole.start;
        let parameters = self.code[open + 1..pair.inner.start].trim();
        let own =
            &head[..head.len().saturating_sub(self.code[open..pair.inner.start].trim_end().len())];
        let space = if parameters.is_empty() { "" } else { " " };
        format!("{own}do{space}{parameters}")
    }

    fn items(&self, pair: &Brackets, indent: usize) -> Vec<String> {
        let lines = self.filled(pair, indent, None);
        if lines.len() > 1 && pair.first_pair.is_some() {
            return self.filled(pair, indent, pair.first_pair);
        }
        lines
    }

    /// As many items on a line as fit; the one at `apart` begins a line.
    fn filled(&self, pair: &Brackets, indent: usize, apart: Option<usize>) -> Vec<String> {
        let pad = "  ";
        let mut lines: Vec<String> = Vec::new();
        let mut fresh = true;
        let count = pair.items.len();
        let statement = pair.kind == BracketKind::Block;
        let has_commas = !statement && pair.kind != BracketKind::Words;
        // On which lines each item stands.
        let mut spans: Vec<(usize, usize)> = Vec::new();
        for (place, item) in pair.items.iter().enumerate() {
            let last = place + 1 == count;
            let comma = if has_commas && !last { "," } else { "" };
            let may_end_so = self.trailing_comma(pair) != TrailingComma::Never;
            let room = usize::from(has_commas && (!last || may_end_so));
            let own = self.lines(item.clone(), indent, room);
            let joined = lines
                .last()
                .filter(|_| !fresh && own.len() == 1 && !statement && apart != Some(place))
                .map(|line| format!("{line} {}{comma}", own[0]));
            let fits = |line: &String| line.chars().count() + indent - 2 <= self.style.width;
            if let Some(joined) = joined.filter(fits) {
                lines.pop();
                lines.push(joined);
                spans.push((lines.len() - 1, lines.len() - 1));
            } else {
                spans.push((lines.len(), lines.len() + own.len() - 1));
                lines.extend(own.iter().enumerate().map(|(number, line)| {
                    let end = if number + 1 == own.len() { comma } else { "" };
                    format!("{pad}{line}{end}")
                }));
            }
            fresh = own.len() > 1;
        }
        if self.ends_with_comma(pair, &spans)
            && let Some(last) = lines.last_mut()
        {
            last.push(',');
        }
        lines
    }

    fn trailing_comma(&self, pair: &Brackets) -> TrailingComma {
        let commas = &self.style.trailing_commas;
        match pair.kind {
            BracketKind::Arguments => commas.arguments,
            BracketKind::Array => commas.arrays,
            BracketKind::Hash => commas.hashes,
            BracketKind::Words | BracketKind::Block => TrailingComma::Never,
        }
    }

    /// Whether a comma follows the last item of a list over several lines.
    fn ends_with_comma(&self, pair: &Brackets, spans: &[(usize, usize)]) -> bool {
        let wanted = self.trailing_comma(pair);
        let last = pair.items.last().map_or("", |item| &self.code[item.clone()]);
        if wanted == TrailingComma::Never || last.starts_with('&') {
            return false;
        }
        // Pairs of a call that all stand on one line are one argument.
        let mut elements = spans.to_vec();
        if let Some(from) = pair.pairs_from
            && let (Some(first), Some(last)) = (spans.get(from), spans.last())
            && first.0 == last.1
        {
            elements.truncate(from);
            elements.push(*first);
        }
        let is_apart = elements.windows(2).all(|two| two[0].1 < two[1].0);
        wanted == TrailingComma::Always || is_apart
    }

    /// A text that is too long for its line, in pieces.
    fn long_text(&self, part: &Range<usize>, indent: usize, after: usize) -> Option<Vec<String>> {
        let text = &self.code[part.clone()];
        let room = self.style.width.checked_sub(indent + after + 4)?;
        let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''))?;
        let whole = self.texts.contains(part);
        if !whole || indent + text.chars().count() + after <= self.style.width || room < 20 {
            return None;
        }
        let pieces = pieces(&text[1..text.len() - 1], room);
        let count = pieces.len();
        let line = |(place, piece): (usize, String)| {
            // A piece without escapes may need no double quotes.
            let code = self.style.quoted(&format!("{quote}{piece}{quote}"));
            if place + 1 == count { code } else { format!("{code} \\") }
        };
        Some(pieces.into_iter().enumerate().map(line).collect())
    }
}

/// Cuts a text between its escapes, behind a space where there is one.
fn pieces(inner: &str, room: usize) -> Vec<String> {
    let mut atoms: Vec<String> = Vec::new();
    let mut letters = inner.chars().peekable();
    while let Some(letter) = letters.next() {
        let mut atom = letter.to_string();
        if letter == '\\'
            && let Some(next) = letters.next()
        {
            atom.push(next);
            let more = match next {
                'u' if letters.peek() == Some(&'{') => usize::MAX,
                'u' => 4,
                'x' | '0'..='7' => 2,
                _ => 0,
            };
            let mut taken = 0;
            while taken < more
                && let Some(next) = letters.peek().copied()
            {
                let is_part = next.is_ascii_hexdigit() || matches!(next, '{' | '}' | ' ');
                if !is_part || (more != usize::MAX && !next.is_ascii_hexdigit()) {
                    break;
                }
                atom.push(next);
                letters.next();
                taken += 1;
                if next == '}' {
                    break;
                }
            }
        }
        atoms.push(atom);
    }
    let mut found: Vec<String> = vec![String::new()];
    let mut length = 0;
    for (place, atom) in atoms.iter().enumerate() {
        let own = atom.chars().count();
        let word: usize = atoms[place..]
            .iter()
            .take_while(|atom| *atom != " ")
            .take(30)
            .map(|atom| atom.chars().count())
            .sum();
        let after_space = place > 0 && atoms[place - 1] == " ";
        if length + own > room || (after_space && word < 30 && length + word > room) {
            found.push(String::new());
            length = 0;
        }
        if let Some(last) = found.last_mut() {
            last.push_str(atom);
        }
        length += own;
    }
    found
}

struct Finder {
    found: Vec<Brackets>,
    texts: Vec<Range<usize>>,
}

impl Finder {
    fn list(
        &mut self,
        open: &ruby_prism::Location<'_>,
        close: &ruby_prism::Location<'_>,
        items: &[Node<'_>],
        kind: BracketKind,
    ) {
        let mut ranges = Vec::new();
        let (mut first_pair, mut pairs_from) = (None, None);
        for item in items {
            match item.as_keyword_hash_node() {
                Some(keywords) => {
                    pairs_from = Some(ranges.len());
                    first_pair = pairs_from.filter(|place| *place > 0);
                    ranges.extend(keywords.elements().iter().map(|pair| range(&pair.location())));
                }
                None => ranges.push(range(&item.location())),
            }
        }
        let is_words = name(open.as_slice()).starts_with('%');
        let kind = if is_words { BracketKind::Words } else { kind };
        let (open, close) = (range(open), range(close));
        self.found.push(Brackets {
            whole: open.start..close.end,
            inner: open.end..close.start,
            items: ranges,
            first_pair,
            pairs_from,
            kind,
        });
    }
}

impl<'pr> Visit<'pr> for Finder {
    fn visit_call_node(&mut self, node: &ruby_prism::CallNode<'pr>) {
        if let (Some(open), Some(close)) = (node.opening_loc(), node.closing_loc()) {
            let mut items: Vec<Node<'_>> =
                node.arguments().map(|list| list.arguments().iter().collect()).unwrap_or_default();
            items.extend(node.block().filter(|block| block.as_block_argument_node().is_some()));
            self.list(&open, &close, &items, BracketKind::Arguments);
        }
        ruby_prism::visit_call_node(self, node);
    }

    fn visit_array_node(&mut self, node: &ruby_prism::ArrayNode<'pr>) {
        if let (Some(open), Some(close)) = (node.opening_loc(), node.closing_loc()) {
            let items: Vec<Node<'_>> = node.elements().iter().collect();
            self.list(&open, &close, &items, BracketKind::Array);
        }
        ruby_prism::visit_array_node(self, node);
    }

    fn visit_hash_node(&mut self, node: &ruby_prism::HashNode<'pr>) {
        let items: Vec<Node<'_>> = node.elements().iter().collect();
        self.list(&node.opening_loc(), &node.closing_loc(), &items, BracketKind::Hash);
        ruby_prism::visit_hash_node(self, node);
    }

    fn visit_block_node(&mut self, node: &ruby_prism::BlockNode<'pr>) {
        let body = node.body().and_then(|body| body.as_statements_node());
        if let Some(body) = body.filter(|_| node.opening_loc().as_slice() == b"{") {
            let (open, close) = (range(&node.opening_loc()), range(&node.closing_loc()));
            let items: Vec<Range<usize>> =
                body.body().iter().map(|one| range(&one.location())).collect();
            let inner = items[0].start..items[items.len() - 1].end;
            self.found.push(Brackets {
                whole: open.start..close.end,
                inner,
                items,
                first_pair: None,
                pairs_from: None,
                kind: BracketKind::Block,
            });
        }
        ruby_prism::visit_block_node(self, node);
    }

    fn visit_lambda_node(&mut self, _node: &ruby_prism::LambdaNode<'pr>) {
        // Stays on its line.
    }

    fn visit_string_node(&mut self, node: &ruby_prism::StringNode<'pr>) {
        self.texts.push(range(&node.location()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::style::TrailingCommas;
    use super::*;

    fn narrow(code: &str) -> String {
        laid_out(code, 0, &Style { width: 40, ..Style::default() }).join("\n")
    }

    #[test]
    fn short_code_stays_on_its_line() {
        assert_eq!(narrow("expect(a).to eq(1)"), "expect(a).to eq(1)");
    }

    #[test]
    fn the_last_list_is_broken_first() {
        assert_eq!(
            narrow("expect(cart.total).to have_attributes(a: 1, b: [2, 3], c: 'four', d: 5)"),
            "expect(cart.total).to have_attributes(\n  a: 1, b: [2, 3], c: 'four', d: 5\n)"
        );
    }

    #[test]
    fn trailing_commas_are_those_that_rubocop_asks_for() {
        let with = |trailing: TrailingComma, code: &str| {
            let commas = TrailingCommas { arguments: trailing, arrays: trailing, hashes: trailing };
            let style = Style { width: 40, trailing_commas: commas, ..Style::default() };
            laid_out(code, 0, &style).join("\n")
        };
        // One line of pairs is one argument; on two lines they are several, of which some share a line.
        let short = "expect(cart.total).to have_attributes(a: 1, b: [2, 3], c: 'four')";
        let long =
            "expect(cart.total).to have_attributes(a: 11111111, b: 22222222, c: 33333333, d: 4)";
        let block = "expect(cart.total).to have_been_done_by(1111111111, &block_that_is_given)";
        assert!(with(TrailingComma::IfApart, short).ends_with("c: 'four',\n)"));
        assert!(with(TrailingComma::IfApart, long).ends_with("d: 4\n)"));
        assert!(with(TrailingComma::Always, long).ends_with("d: 4,\n)"));
        assert!(with(TrailingComma::Always, block).ends_with("given\n)"));
        assert!(with(TrailingComma::Never, short).ends_with("c: 'four'\n)"));
    }

    #[test]
    fn both_sides_are_broken_if_neither_fits() {
        let code = "expect(first_of_all(1111, 2222, 3333)).to eq(other_of_all(1111, 22222, 33333))";
        assert_eq!(
            narrow(code),
            "expect(\n  first_of_all(1111, 2222, 3333)\n).to eq(\n  other_of_all(1111, 22222, 33333)\n)"
        );
    }

    #[test]
    fn long_texts_become_pieces() {
        assert_eq!(
            narrow("a = x('one two three four five six seven eight nine ten')"),
            "a = x(\n  'one two three four five six seven ' \\\n  'eight nine ten'\n)"
        );
    }

    #[test]
    fn blocks_of_several_statements_become_lines() {
        assert_eq!(
            narrow("list = List.new.tap { |list| list.add(1); list.add(2) }"),
            "list = List.new.tap do |list|\n  list.add(1)\n  list.add(2)\nend"
        );
    }
}
