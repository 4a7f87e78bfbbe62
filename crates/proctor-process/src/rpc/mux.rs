//! The table of requests that wait for a reply. Pure.
//!
//! Owns the ids and the waiters; knows neither what a waiter is nor how a reply looks.
//! Everything here is synchronous and total: an unknown id is an answer, not an error.

use std::collections::HashMap;

/// Names one request of ours. On the wire it is `r` and the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RequestId(u64);

impl std::fmt::Display for RequestId {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "r{}", self.0)
    }
}

impl RequestId {
    /// Reads an id that we may have written; anything else is `None`.
    fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('r')?;
        let number: u64 = digits.parse().ok()?;
        // "r01" and "r+1" parse as numbers but are not what we wrote.
        (number.to_string() == digits).then_some(Self(number))
    }
}

/// Requests in flight, each with its waiter `W`.
#[derive(Debug)]
pub(crate) struct Mux<W> {
    last: u64,
    waiting: HashMap<u64, W>,
    closed: bool,
}

impl<W> Mux<W> {
    pub(crate) fn new() -> Self {
        Self { last: 0, waiting: HashMap::new(), closed: false }
    }

    /// Enters a request. Hands the waiter back when the table is closed.
    pub(crate) fn open(&mut self, waiter: W) -> Result<RequestId, W> {
        if self.closed {
            return Err(waiter);
        }
        self.last += 1;
        self.waiting.insert(self.last, waiter);
        Ok(RequestId(self.last))
    }

    /// Takes out the waiter that a reply is for; `None` if no request waits for it.
    pub(crate) fn settle(&mut self, reply_to: &str) -> Option<W> {
        let id = RequestId::parse(reply_to)?;
        self.waiting.remove(&id.0)
    }

    /// Forgets a request; says whether it was still waiting.
    pub(crate) fn forget(&mut self, id: RequestId) -> bool {
        self.waiting.remove(&id.0).is_some()
    }

    /// Closes the table and returns everyone who still waits, oldest first.
    pub(crate) fn close(&mut self) -> Vec<W> {
        self.closed = true;
        let mut left: Vec<_> = self.waiting.drain().collect();
        left.sort_by_key(|(number, _)| *number);
        left.into_iter().map(|(_, waiter)| waiter).collect()
    }

    /// How many requests wait.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn replies_in_any_order_find_their_waiter_once() {
        let mut mux = Mux::new();
        let first = mux.open("first").unwrap();
        let second = mux.open("second").unwrap();
        assert_eq!(mux.settle(&second.to_string()), Some("second"));
        assert_eq!(mux.settle(&second.to_string()), None);
        assert_eq!(mux.settle(&first.to_string()), Some("first"));
    }

    #[test]
    fn foreign_ids_are_nobodys() {
        let mut mux = Mux::new();
        mux.open(()).unwrap();
        for id in ["", "r", "1", "r01", "r+1", "r2", "x1", "r1 ", "r99999999999999999999999"] {
            assert_eq!(mux.settle(id), None, "{id}");
        }
        assert_eq!(mux.len(), 1);
    }

    #[test]
    fn closing_returns_the_rest_in_order_and_refuses_new_ones() {
        let mut mux = Mux::new();
        let ids: Vec<_> = (0..3).map(|n| mux.open(n).unwrap()).collect();
        assert!(mux.forget(ids[1]));
        assert!(!mux.forget(ids[1]));
        assert_eq!(mux.close(), [0, 2]);
        assert_eq!(mux.open(9), Err(9));
        assert_eq!(mux.close(), Vec::<i32>::new());
    }

    #[derive(Debug, Clone)]
    enum Op {
        Open,
        Settle(u64),
        Forget(u64),
        Close,
    }

    fn ops() -> impl Strategy<Value = Vec<Op>> {
        let op = prop_oneof![
            6 => Just(Op::Open),
            4 => (1_u64..20).prop_map(Op::Settle),
            2 => (1_u64..20).prop_map(Op::Forget),
            1 => Just(Op::Close),
        ];
        proptest::collection::vec(op, 0..60)
    }

    proptest! {
        /// Every waiter leaves the table exactly once, by the door the model says.
        #[test]
        fn behaves_like_a_sorted_list(ops in ops()) {
            let mut mux = Mux::new();
            let mut model: Vec<u64> = Vec::new();
            let (mut opened, mut closed) = (0, false);
            for op in ops {
                match op {
                    Op::Open if closed => prop_assert_eq!(mux.open(0), Err(0)),
                    Op::Open => {
                        opened += 1;
                        prop_assert_eq!(mux.open(opened), Ok(RequestId(opened)));
                        model.push(opened);
                    }
                    Op::Settle(n) => {
                        let known = model.contains(&n);
                        model.retain(|other| *other != n);
                        prop_assert_eq!(mux.settle(&format!("r{n}")), known.then_some(n));
                    }
                    Op::Forget(n) => {
                        let known = model.contains(&n);
                        model.retain(|other| *other != n);
                        prop_assert_eq!(mux.forget(RequestId(n)), known);
                    }
                    Op::Close => {
                        closed = true;
                        prop_assert_eq!(mux.close(), std::mem::take(&mut model));
                    }
                }
                prop_assert_eq!(mux.len(), model.len());
            }
        }
    }
}
