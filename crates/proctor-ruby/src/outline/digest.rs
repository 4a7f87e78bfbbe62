//! A fingerprint of a method's syntax tree.

use std::hash::{Hash as _, Hasher};
use std::sync::LazyLock;

use ruby_prism::{Node, Visit};
use sha2::{Digest as _, Sha256};

/// Hash over the kinds of nodes and the text of their leaves: comments and layout leave it unchanged.
/// `words` is room to work in.
pub(super) fn digest(node: &Node<'_>, words: &mut Vec<u8>) -> String {
    words.clear();
    Tree(words).visit(node);
    let mut code = String::with_capacity(16);
    for byte in Sha256::digest(&words).iter().take(8) {
        code.extend(
            [byte >> 4, byte & 15].map(|half| char::from(b"0123456789abcdef"[usize::from(half)])),
        );
    }
    code
}

/// Writes a tree down, one byte for each node's kind and what belongs to the node itself.
struct Tree<'a>(&'a mut Vec<u8>);

impl<'pr> Visit<'pr> for Tree<'_> {
    fn visit_branch_node_enter(&mut self, node: Node<'pr>) {
        self.0.extend([b'(', kind(&node)]);
        if let Some(call) = node.as_call_node() {
            self.0.extend_from_slice(call.name().as_slice());
            self.0.push(u8::from(call.is_safe_navigation()));
        } else if let Some(def) = node.as_def_node() {
            self.0.extend_from_slice(def.name().as_slice());
        } else if let Some(write) = node.as_local_variable_write_node() {
            self.0.extend_from_slice(write.name().as_slice());
        } else if let Some(write) = node.as_instance_variable_write_node() {
            self.0.extend_from_slice(write.name().as_slice());
        } else if let Some(range) = node.as_range_node() {
            self.0.extend_from_slice(range.operator_loc().as_slice());
        } else if node.as_parameters_node().is_some() || node.as_multi_write_node().is_some() {
            // Names of parameters and targets are not nodes of their own everywhere.
            let location = node.location();
            let words = location.as_slice().iter().filter(|byte| !byte.is_ascii_whitespace());
            self.0.extend(words);
        }
    }

    fn visit_branch_node_leave(&mut self) {
        self.0.push(b')');
    }

    fn visit_leaf_node_enter(&mut self, node: Node<'pr>) {
        self.0.extend([b'.', kind(&node)]);
        match node.as_string_node() {
            Some(string) => self.0.extend_from_slice(string.unescaped()),
            None => self.0.extend_from_slice(node.location().as_slice()),
        }
    }
}

/// A byte that tells node kinds apart well enough; operators differ by their text.
fn kind(node: &Node<'_>) -> u8 {
    struct Capture(u64);
    impl Hasher for Capture {
        fn finish(&self) -> u64 {
            self.0
        }
        fn write(&mut self, bytes: &[u8]) {
            for (place, byte) in bytes.iter().take(8).enumerate() {
                self.0 |= u64::from(*byte) << (8 * place);
            }
        }
    }
    static TABLE: LazyLock<Vec<u8>> = LazyLock::new(|| {
        (0..256isize)
            .map(|number| {
                let mut hasher = std::hash::DefaultHasher::new();
                number.hash(&mut hasher);
                hasher.finish().to_le_bytes()[0]
            })
            .collect()
    });
    let mut hasher = Capture(0);
    std::mem::discriminant(node).hash(&mut hasher);
    TABLE.get(usize::try_from(hasher.finish()).unwrap_or(0)).copied().unwrap_or_default()
}
