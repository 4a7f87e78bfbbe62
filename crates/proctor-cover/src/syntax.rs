//! Small helpers over the syntax trees of specs and factories: text, lines, names, literals.

use ruby_prism::{CallNode, Location, Node};

/// Where lines begin.
pub(crate) struct Lines(Vec<u32>);

impl Lines {
    pub(crate) fn new(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = breaks.map(|(place, _)| u32::try_from(place + 1).unwrap_or(u32::MAX));
        Self(std::iter::once(0).chain(starts).collect())
    }

    /// The line of an offset, from 1.
    pub(crate) fn of(&self, offset: u32) -> u32 {
        u32::try_from(self.0.partition_point(|start| *start <= offset)).unwrap_or(1).max(1)
    }
}

pub(crate) fn text(node: &Node<'_>) -> String {
    word(node.location().as_slice())
}

pub(crate) fn word(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn name(call: &CallNode<'_>) -> String {
    word(call.name().as_slice())
}

pub(crate) fn span(location: &Location<'_>) -> (usize, usize) {
    (location.start() as usize, location.end() as usize)
}

/// The statements of a body, whatever wraps them.
pub(crate) fn statements(body: Option<Node<'_>>) -> Vec<Node<'_>> {
    let Some(body) = body else { return Vec::new() };
    if let Some(list) = body.as_statements_node() {
        return list.body().iter().collect();
    }
    vec![body]
}

pub(crate) fn arguments<'pr>(call: &CallNode<'pr>) -> Vec<Node<'pr>> {
    call.arguments().map(|list| list.arguments().iter().collect()).unwrap_or_default()
}

/// The statements of a call's block.
pub(crate) fn block_statements<'pr>(call: &CallNode<'pr>) -> Vec<Node<'pr>> {
    let block = call.block().and_then(|block| block.as_block_node());
    block.map(|block| statements(block.body())).unwrap_or_default()
}

/// A symbol or string without parts.
pub(crate) fn plain(node: &Node<'_>) -> Option<String> {
    if let Some(symbol) = node.as_symbol_node() {
        return Some(word(symbol.unescaped()));
    }
    node.as_string_node().map(|string| word(string.unescaped()))
}

/// Keys and values of the options that a call ends with.
pub(crate) fn options<'pr>(call: &CallNode<'pr>) -> Vec<(String, Node<'pr>)> {
    let Some(last) = arguments(call).pop() else { return Vec::new() };
    let pairs: Vec<Node<'pr>> = if let Some(hash) = last.as_keyword_hash_node() {
        hash.elements().iter().collect()
    } else if let Some(hash) = last.as_hash_node() {
        hash.elements().iter().collect()
    } else {
        return Vec::new();
    };
    let pairs = pairs.into_iter().filter_map(|pair| {
        let pair = pair.as_assoc_node()?;
        Some((plain(&pair.key())?, pair.value()))
    });
    pairs.collect()
}

/// The constant a node names, `A::B`.
pub(crate) fn constant(node: &Node<'_>) -> Option<String> {
    if let Some(read) = node.as_constant_read_node() {
        return Some(word(read.name().as_slice()));
    }
    let path = node.as_constant_path_node()?;
    let own = word(path.name()?.as_slice());
    match path.parent() {
        None => Some(own),
        Some(parent) => Some(format!("{}::{own}", constant(&parent)?)),
    }
}

/// Code with its white space evened out, to compare.
pub(crate) fn normalize_whitespace(code: &str) -> String {
    code.split_whitespace().collect::<Vec<_>>().join(" ")
}
