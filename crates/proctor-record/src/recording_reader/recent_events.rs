//! The newest events of a stream in memory, bounded in number and in bytes.

use std::collections::VecDeque;

/// How many events, and how many bytes of them, are kept.
const KEPT_EVENTS: usize = 4096;
const KEPT_BYTES: usize = 8 << 20;

/// The newest events, oldest first. At least the last one is kept, however long it is.
#[derive(Debug)]
pub struct RecentEvents<T> {
    events: VecDeque<(T, usize)>,
    bytes: usize,
}

impl<T> Default for RecentEvents<T> {
    fn default() -> Self {
        Self { events: VecDeque::new(), bytes: 0 }
    }
}

impl<T> RecentEvents<T> {
    /// Adds an event of this size.
    pub fn push(&mut self, event: T, bytes: usize) {
        self.bytes += bytes;
        self.events.push_back((event, bytes));
        while self.events.len() > KEPT_EVENTS || (self.bytes > KEPT_BYTES && self.events.len() > 1)
        {
            self.forget_oldest();
        }
    }

    pub(crate) fn forget_oldest(&mut self) {
        if let Some((_, bytes)) = self.events.pop_front() {
            self.bytes -= bytes;
        }
    }

    /// How many events are kept.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether there was no event yet.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The event at a place among those that are kept.
    pub fn get(&self, place: usize) -> Option<&T> {
        self.events.get(place).map(|(event, _)| event)
    }

    /// Those that are kept from a place on.
    pub fn from(&self, place: usize) -> impl Iterator<Item = &T> {
        self.events.iter().skip(place).map(|(event, _)| event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_bytes_are_bounded_and_the_newest_stays() {
        let mut recent = RecentEvents::default();
        for event in 0..KEPT_EVENTS + 10 {
            recent.push(event, 1);
        }
        assert_eq!((recent.len(), recent.get(0)), (KEPT_EVENTS, Some(&10)));
        recent.push(0, KEPT_BYTES - 5);
        assert_eq!(recent.len(), 6);
        recent.push(1, KEPT_BYTES * 2);
        assert_eq!(recent.from(0).collect::<Vec<_>>(), [&1]);
    }
}
