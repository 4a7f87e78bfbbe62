//! The statements of one way through a body, seen where they stand in the tree.

use ruby_prism::{Node, NodeList, StatementsNode};

/// What happens on a way.
pub(super) enum Continuation<'a> {
    Nothing,
    /// The value of the left side of `&&` or `||`, and whether it counts as true.
    Left(Node<'a>, bool),
    One(Node<'a>),
    List(NodeList<'a>),
}

impl<'a> Continuation<'a> {
    /// A body, whatever wraps its statements.
    pub(super) fn of(body: Option<Node<'a>>) -> Self {
        let Some(body) = body else { return Self::Nothing };
        match body.as_statements_node() {
            Some(list) => Self::List(list.body()),
            None => Self::One(body),
        }
    }

    /// An optional list.
    pub(super) fn listed(list: Option<StatementsNode<'a>>) -> Self {
        list.map_or(Self::Nothing, |list| Self::List(list.body()))
    }

    /// What can be said about the last statement, if there is one.
    pub(super) fn last<T>(&self, say: impl FnOnce(&Node<'a>) -> T) -> Option<T> {
        match self {
            Self::Nothing | Self::Left(..) => None,
            Self::One(node) => Some(say(node)),
            Self::List(list) => list.last().as_ref().map(say),
        }
    }
}
