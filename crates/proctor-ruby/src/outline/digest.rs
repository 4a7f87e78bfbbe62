//! A fingerprint of a method's syntax tree.

use std::hash::{Hash as _, Hasher as _};

use ruby_prism::{Node, Visit};
use sha2::{Digest as _, Sha256};

/// Hash over the kinds of nodes and the text of their leaves: comments and layout leave it unchanged.
pub(super) fn digest(node: &Node<'_>) -> String {
    struct TreeHasher(Sha256);
    impl<'pr> Visit<'pr> for TreeHasher {
        fn visit_branch_node_enter(&mut self, node: Node<'pr>) {
            self.0.update([b'(', kind(&node)]);
            if let Some(call) = node.as_call_node() {
                self.0.update(call.name().as_slice());
                self.0.update([u8::from(call.is_safe_navigation())]);
            } else if let Some(def) = node.as_def_node() {
                self.0.update(def.name().as_slice());
            } else if let Some(write) = node.as_local_variable_write_node() {
                self.0.update(write.name().as_slice());
            } else if let Some(write) = node.as_instance_variable_write_node() {
                self.0.update(write.name().as_slice());
            } else if let Some(range) = node.as_range_node() {
                self.0.update(range.operator_loc().as_slice());
            } else if node.as_parameters_node().is_some() || node.as_multi_write_node().is_some() {
                // Names of parameters and targets are not nodes of their own everywhere.
                let words: Vec<u8> = node
                    .location()
                    .as_slice()
                    .iter()
                    .copied()
                    .filter(|byte| !byte.is_ascii_whitespace())
                    .collect();
                self.0.update(words);
            }
        }

        fn visit_branch_node_leave(&mut self) {
            self.0.update(b")");
        }

        fn visit_leaf_node_enter(&mut self, node: Node<'pr>) {
            self.0.update([b'.', kind(&node)]);
            match node.as_string_node() {
                Some(string) => self.0.update(string.unescaped()),
                None => self.0.update(node.location().as_slice()),
            }
        }
    }
    let mut hasher = TreeHasher(Sha256::new());
    hasher.visit(node);
    hasher.0.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// A byte that tells node kinds apart well enough; operators differ by their text.
fn kind(node: &Node<'_>) -> u8 {
    let mut hasher = std::hash::DefaultHasher::new();
    std::mem::discriminant(node).hash(&mut hasher);
    hasher.finish().to_le_bytes()[0]
}
