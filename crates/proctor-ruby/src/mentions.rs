//! Constants that are named anywhere in a file.

use std::borrow::Cow;

use ruby_prism::Visit;

use crate::source::{FastSet, constant, name};

/// Notes constants, wherever it is led.
#[derive(Default)]
pub(crate) struct Mentions<'pr> {
    /// As they are written: most are written many times.
    seen: FastSet<&'pr [u8]>,
    found: Vec<Cow<'pr, str>>,
}

impl Mentions<'_> {
    /// Sorted, each once.
    pub(crate) fn into_names(self) -> Vec<String> {
        sorted(self.found)
    }
}

/// Names in order, each once.
pub(crate) fn sorted(mut names: Vec<Cow<'_, str>>) -> Vec<String> {
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(Cow::into_owned).collect()
}

impl<'pr> Visit<'pr> for Mentions<'pr> {
    fn visit_constant_read_node(&mut self, node: &ruby_prism::ConstantReadNode<'pr>) {
        let own = node.name().as_slice();
        if self.seen.insert(own) {
            self.found.push(name(own));
        }
    }

    fn visit_constant_path_node(&mut self, node: &ruby_prism::ConstantPathNode<'pr>) {
        if self.seen.insert(node.location().as_slice()) {
            self.found.extend(constant(&node.as_node()));
        }
    }
}
