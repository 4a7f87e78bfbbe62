//! The values of one method, as a forest: parameters and variables at the roots, what is called on a value and
//! what is read from it below.

use std::borrow::Cow;

use crate::facts::Usage;
use crate::source::owned;

/// How deep uses of uses are followed.
const MAX_DEPTH: u32 = 4;

#[derive(Debug, Default)]
struct Value<'a> {
    /// Made when there is something to say: most values are only passed through.
    own: Option<Box<Usage>>,
    calls: Vec<(&'a [u8], usize)>,
    keys: Vec<(String, usize)>,
    element: Option<usize>,
}

/// All values that are followed.
#[derive(Debug, Default)]
pub(super) struct Values<'a> {
    nodes: Vec<Value<'a>>,
    roots: Vec<(Cow<'a, [u8]>, usize)>,
}

impl<'a> Values<'a> {
    pub(super) fn fresh(&mut self) -> usize {
        self.nodes.push(Value::default());
        self.nodes.len() - 1
    }

    /// A parameter, or a variable of the object.
    pub(super) fn root(&mut self, key: &'a [u8]) -> usize {
        let known = self.roots.iter().find(|(root, _)| root.as_ref() == key);
        let known = known.map(|(_, id)| *id);
        known.unwrap_or_else(|| self.plant(Cow::Borrowed(key)))
    }

    /// The variable behind an attribute.
    pub(super) fn attribute(&mut self, reader: &[u8]) -> usize {
        let is_it = |root: &[u8]| root.strip_prefix(b"@") == Some(reader);
        let known = self.roots.iter().find(|(root, _)| is_it(root));
        let known = known.map(|(_, id)| *id);
        known.unwrap_or_else(|| self.plant([b"@", reader].concat().into()))
    }

    fn plant(&mut self, key: Cow<'a, [u8]>) -> usize {
        let id = self.fresh();
        self.roots.push((key, id));
        id
    }

    /// The parameter that a value is.
    pub(super) fn param(&self, id: usize) -> Option<String> {
        let found = self.roots.iter().find(|(_, other)| *other == id)?;
        (found.0.first() != Some(&b'@')).then(|| owned(&found.0))
    }

    /// What is known about a value itself.
    pub(super) fn own(&mut self, id: usize) -> &mut Usage {
        self.nodes[id].own.get_or_insert_default()
    }

    /// What a method of a value answers.
    pub(super) fn called(&mut self, id: usize, method: &'a [u8]) -> usize {
        let known = self.nodes[id].calls.iter().find(|(name, _)| *name == method);
        if let Some((_, child)) = known {
            return *child;
        }
        let child = self.fresh();
        self.nodes[id].calls.push((method, child));
        child
    }

    /// What stands under a key.
    pub(super) fn keyed(&mut self, id: usize, key: String) -> usize {
        let known = self.nodes[id].keys.iter().find(|(name, _)| *name == key);
        if let Some((_, child)) = known {
            return *child;
        }
        let child = self.fresh();
        self.nodes[id].keys.push((key, child));
        child
    }

    /// Any element of a value.
    pub(super) fn element(&mut self, id: usize) -> usize {
        if let Some(child) = self.nodes[id].element {
            return child;
        }
        let child = self.fresh();
        self.nodes[id].element = Some(child);
        child
    }

    /// The uses of all roots, by name. Every value has one owner, so nothing is copied.
    pub(super) fn into_usages(mut self) -> Vec<(String, Usage)> {
        let mut roots = std::mem::take(&mut self.roots);
        roots.sort_unstable();
        roots.iter().map(|(key, id)| (owned(key), self.take(*id, 0))).collect()
    }

    fn take(&mut self, id: usize, depth: u32) -> Usage {
        if depth > MAX_DEPTH {
            return Usage::default();
        }
        let value = std::mem::take(&mut self.nodes[id]);
        let mut usage = value.own.map_or_else(Usage::default, |own| *own);
        let calls = value.calls.into_iter();
        usage.calls =
            calls.map(|(method, child)| (owned(method), self.take(child, depth + 1))).collect();
        let keys = value.keys.into_iter();
        usage.keys = keys.map(|(key, child)| (key, self.take(child, depth + 1))).collect();
        usage.element = value.element.map(|child| Box::new(self.take(child, depth + 1)));
        usage
    }
}

/// Adds what `other` knows, down to the same depth. Says whether that was anything new.
pub(crate) fn absorb(into: &mut Usage, other: &Usage, depth: u32) -> bool {
    if depth > MAX_DEPTH {
        return false;
    }
    let mut news = false;
    for (mine, theirs) in [(&mut into.calls, &other.calls), (&mut into.keys, &other.keys)] {
        mine.reserve_for(theirs);
        for (key, usage) in theirs.known() {
            news |= mine.add_name(key);
            if let Some(usage) = usage
                && let Some(known) = mine.get_mut(key)
            {
                news |= absorb(known, usage, depth + 1);
            }
        }
    }
    if let Some(element) = &other.element {
        news |= into.element.is_none();
        news |= absorb(into.element.get_or_insert_with(Box::default), element, depth + 1);
    }
    for (list, more) in [
        (&mut into.equals, &other.equals),
        (&mut into.bounds, &other.bounds),
        (&mut into.patterns, &other.patterns),
        (&mut into.classes, &other.classes),
        (&mut into.flows, &other.flows),
    ] {
        for item in more {
            if list.len() < 40 && !list.contains(item) {
                list.push(item.clone());
                news = true;
            }
        }
    }
    news |= other.truth && !into.truth;
    into.truth |= other.truth;
    news |= other.block && !into.block;
    into.block |= other.block;
    news
}
