//! What stands at which place of a file: gathered on one walk over it, put in order once, then asked.

/// Values by place. Of several at one place the last counts.
#[derive(Debug)]
pub(super) struct ByPlace<K, V>(Vec<(K, V)>);

impl<K, V> Default for ByPlace<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord + Copy, V: Copy> ByPlace<K, V> {
    pub(super) fn insert(&mut self, place: K, value: V) {
        self.0.push((place, value));
    }

    /// Puts all in order; to be called between the last `insert` and the first `get`.
    pub(super) fn settle(&mut self) {
        self.0.sort_by_key(|(place, _)| *place);
        self.0.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                earlier.1 = later.1;
            }
            same
        });
    }

    pub(super) fn get(&self, place: K) -> Option<V> {
        let found = self.0.binary_search_by_key(&place, |(other, _)| *other).ok()?;
        Some(self.0[found].1)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = V> {
        self.0.iter().map(|(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_of_a_place_counts() {
        let mut found = ByPlace::default();
        for (place, value) in [(7, 'a'), (3, 'b'), (7, 'c'), (5, 'd'), (7, 'e')] {
            found.insert(place, value);
        }
        found.settle();
        assert_eq!(
            [3, 5, 7, 8].map(|place| found.get(place)),
            [Some('b'), Some('d'), Some('e'), None]
        );
        assert_eq!(found.values().collect::<String>(), "bde");
    }
}
