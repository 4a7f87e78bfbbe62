//! Small helpers over prism nodes: text, lines, literals.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use ruby_prism::{Location, Node, NodeList, ParseResult, StatementsNode};

/// A map for many short keys that come from the file itself: quick, and the same in every process.
pub(crate) type FastMap<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

/// A set of the same kind.
pub(crate) type FastSet<K> = HashSet<K, foldhash::fast::FixedState>;

/// What is known about the names of one method. They are few: looking through them needs no table, and so no time to make one.
#[derive(Debug)]
pub(crate) struct FewNames<'a, T>(Vec<(&'a [u8], T)>);

impl<T> Default for FewNames<'_, T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'a, T> FewNames<'a, T> {
    pub(crate) fn get(&self, name: &[u8]) -> Option<&T> {
        self.place(name).map(|place| &self.0[place].1)
    }

    pub(crate) fn insert(&mut self, name: &'a [u8], value: T) {
        match self.place(name) {
            Some(place) => self.0[place].1 = value,
            None => self.0.push((name, value)),
        }
    }

    pub(crate) fn remove(&mut self, name: &[u8]) {
        if let Some(place) = self.place(name) {
            self.0.swap_remove(place);
        }
    }

    fn place(&self, name: &[u8]) -> Option<usize> {
        self.0.iter().position(|(other, _)| *other == name)
    }
}

/// A file with a table of its lines.
pub(crate) struct Source<'a> {
    bytes: &'a [u8],
    starts: Cow<'a, [u32]>,
}

impl<'a> Source<'a> {
    /// A file that has been parsed: the parser has seen its lines already, unless something ended it early.
    pub(crate) fn of(parsed: &'a ParseResult<'a>) -> Self {
        let (bytes, starts) = (parsed.source(), parsed.line_offsets());
        let rest = starts.last().and_then(|last| bytes.get(*last as usize..));
        if rest.is_some_and(|rest| memchr::memchr(b'\n', rest).is_none()) {
            Self { bytes, starts: Cow::Borrowed(starts) }
        } else {
            Self::new(bytes)
        }
    }

    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let mut starts = Vec::with_capacity(bytes.len() / 24 + 1);
        starts.push(0);
        let after = |place: usize| u32::try_from(place + 1).unwrap_or(u32::MAX);
        starts.extend(memchr::memchr_iter(b'\n', bytes).map(after));
        Self { bytes, starts: Cow::Owned(starts) }
    }

    /// The line of an offset, from 1.
    pub(crate) fn line(&self, offset: u32) -> u32 {
        u32::try_from(self.starts.partition_point(|start| *start <= offset)).unwrap_or(1).max(1)
    }

    pub(crate) fn column(&self, offset: u32) -> u32 {
        let line = self.line(offset) as usize - 1;
        offset - self.starts.get(line).copied().unwrap_or(0)
    }

    pub(crate) fn lines(&self, location: &Location<'_>) -> (u32, u32) {
        let first = self.line(location.start());
        let last = location.end().saturating_sub(1).max(location.start());
        // Most things end on the line on which they begin.
        match self.starts.get(first as usize) {
            Some(next) if *next <= last => (first, self.line(last)),
            _ => (first, first),
        }
    }

    /// Lines that are neither blank nor comments, nor begin in one of the ranges of offsets.
    pub(crate) fn loc(&self, left_out: &[(u32, u32)]) -> u32 {
        let mut left_out = left_out.iter().peekable();
        let mut count = 0;
        for start in self.starts.iter() {
            while left_out.next_if(|range| range.1 <= *start).is_some() {}
            let rest = &self.bytes[*start as usize..];
            let first = rest.iter().find(|byte| **byte == b'\n' || !byte.is_ascii_whitespace());
            let is_code = first.is_some_and(|first| !matches!(first, b'\n' | b'#'));
            count += u32::from(is_code && left_out.peek().is_none_or(|range| range.0 > *start));
        }
        count
    }
}

/// A node's own text.
pub(crate) fn text<'pr>(node: &Node<'pr>) -> Cow<'pr, str> {
    name(node.location().as_slice())
}

/// Text of bytes that prism hands out; what is no text of ours gets marks instead.
pub(crate) fn name(bytes: &[u8]) -> Cow<'_, str> {
    // Nearly everything is plain, and this way of asking is the quicker one.
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

/// The same as a value of its own.
pub(crate) fn owned(bytes: &[u8]) -> String {
    name(bytes).into_owned()
}

/// Whether a list has a name. Asked for every call, so the first letter is looked at before the rest.
pub(crate) fn has_name(list: &[String], name: &[u8]) -> bool {
    list.iter().any(|other| {
        let other = other.as_bytes();
        other.len() == name.len() && other.first() == name.first() && other == name
    })
}

/// The statements of a body, whatever wraps them.
pub(crate) fn statements(body: Option<Node<'_>>) -> Vec<Node<'_>> {
    let Some(body) = body else { return Vec::new() };
    if let Some(list) = body.as_statements_node() {
        return nodes(&list.body());
    }
    vec![body]
}

/// The nodes of a list, in just as much room as they need.
pub(crate) fn nodes<'pr>(list: &NodeList<'pr>) -> Vec<Node<'pr>> {
    let mut nodes = Vec::with_capacity(list.len());
    nodes.extend(list);
    nodes
}

/// The statements of an optional list.
pub(crate) fn listed(list: Option<StatementsNode<'_>>) -> Vec<Node<'_>> {
    list.map(|list| nodes(&list.body())).unwrap_or_default()
}

/// The first statement of a body, whatever wraps it.
pub(crate) fn first_of<'pr>(list: Option<&StatementsNode<'pr>>) -> Option<Node<'pr>> {
    list.and_then(|list| list.body().first())
}

/// The constant a node names, `A::B`; `None` if it is computed.
pub(crate) fn constant<'pr>(node: &Node<'pr>) -> Option<Cow<'pr, str>> {
    if let Some(read) = node.as_constant_read_node() {
        return Some(name(read.name().as_slice()));
    }
    let path = node.as_constant_path_node()?;
    if let Some(plain) = plain_constant(path.location().as_slice()) {
        return Some(Cow::Borrowed(plain));
    }
    let own = path.name()?.as_slice();
    let Some(parent) = path.parent() else { return Some(name(own)) };
    let mut outer = constant(&parent)?.into_owned();
    outer.push_str("::");
    outer.push_str(&name(own));
    Some(Cow::Owned(outer))
}

/// The name that a constant is written as, if its parts are all constants and stand together.
fn plain_constant(code: &[u8]) -> Option<&str> {
    let own = code.strip_prefix(b"::").unwrap_or(code);
    // A part begins behind two colons, with a capital.
    let mut colons = 2;
    for byte in own {
        match byte {
            b':' => colons += 1,
            b'A'..=b'Z' if matches!(colons, 0 | 2) => colons = 0,
            b'a'..=b'z' | b'0'..=b'9' | b'_' if colons == 0 => {}
            _ => return None,
        }
    }
    if colons == 0 { std::str::from_utf8(own).ok() } else { None }
}

/// Whether a node is a literal that can be copied into other code.
pub(crate) fn is_literal(node: &Node<'_>) -> bool {
    if let Some(array) = node.as_array_node() {
        return array.elements().iter().all(|element| is_literal(&element));
    }
    if let Some(hash) = node.as_hash_node() {
        return hash.elements().iter().all(|element| {
            element
                .as_assoc_node()
                .is_some_and(|pair| is_literal(&pair.key()) && is_literal(&pair.value()))
        });
    }
    if let Some(range) = node.as_range_node() {
        return range.left().is_none_or(|side| is_literal(&side))
            && range.right().is_none_or(|side| is_literal(&side));
    }
    is_scalar(node)
}

/// Whether a node is a literal without parts. Heredocs are not: their text lies elsewhere.
pub(crate) fn is_scalar(node: &Node<'_>) -> bool {
    if let Some(string) = node.as_string_node() {
        return string.opening_loc().is_some_and(|open| !open.as_slice().starts_with(b"<<"));
    }
    if let Some(symbol) = node.as_symbol_node() {
        return symbol.opening_loc().is_some();
    }
    node.as_integer_node().is_some()
        || node.as_float_node().is_some()
        || node.as_true_node().is_some()
        || node.as_false_node().is_some()
        || node.as_nil_node().is_some()
        || node.as_regular_expression_node().is_some()
}

/// Code for a literal, usable anywhere; symbols of word lists and bare hash keys get their full form.
pub(crate) fn literal_code(node: &Node<'_>) -> Option<String> {
    if let Some(symbol) = node.as_symbol_node() {
        return Some(symbol_code(&name(symbol.unescaped())));
    }
    if let Some(string) = node.as_string_node() {
        return Some(string_code(&name(string.unescaped())));
    }
    is_literal(node).then(|| text(node).into_owned())
}

/// A symbol as Ruby code.
pub(crate) fn symbol_code(text: &str) -> String {
    let body = text.strip_suffix(['?', '!']).unwrap_or(text);
    let plain = !body.is_empty()
        && !body.starts_with(|first: char| first.is_ascii_digit())
        && body.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if plain { [":", text].concat() } else { [":", &string_code(text)].concat() }
}

/// A string as double-quoted Ruby code.
pub(crate) fn string_code(text: &str) -> String {
    let mut code = String::with_capacity(text.len() + 2);
    code.push('"');
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => code.push_str("\\\""),
            '\\' => code.push_str("\\\\"),
            '\n' => code.push_str("\\n"),
            '\r' => code.push_str("\\r"),
            '\t' => code.push_str("\\t"),
            '\u{1b}' => code.push_str("\\e"),
            '#' if matches!(letters.peek(), Some('{' | '$' | '@')) => code.push_str("\\#"),
            control if control.is_control() => {
                code.push_str(&format!("\\u{{{:x}}}", u32::from(control)));
            }
            other => code.push(other),
        }
    }
    code.push('"');
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parser_and_we_see_the_same_lines() {
        let sources = [
            "",
            "a = 1",
            "a = 1\n",
            "a = <<X + <<Y\n 1\nX\n 2\nY\n'b\nc'\n",
            "=begin\nx\n=end\n\na\r\nb\r\n",
            "a\n__END__\nb\nc\n",
            "a\n\0\nb\n",
        ];
        for source in sources {
            let parsed = ruby_prism::parse(source.as_bytes());
            let (one, other) = (Source::of(&parsed), Source::new(source.as_bytes()));
            assert_eq!(one.starts, other.starts, "{source:?}");
        }
    }

    #[test]
    fn constants_are_named_however_they_are_written() {
        let named = |code: &str| {
            let parsed = ruby_prism::parse(code.as_bytes());
            let program = parsed.node().as_program_node().map(|root| root.statements());
            first_of(program.as_ref())
                .and_then(|node| constant(&node).map(std::borrow::Cow::into_owned))
        };
        for code in ["A::B1::C_d", "::A::B1::C_d", "A::B1::\n  C_d"] {
            assert_eq!(named(code).as_deref(), Some("A::B1::C_d"), "{code}");
        }
        assert_eq!(named("Ärger::B").as_deref(), Some("Ärger::B"));
        for code in ["a::B", "A::b::C", "A.b::C", "self::B", "A::B()::C"] {
            assert_eq!(named(code), None, "{code}");
        }
    }
}
