//! Uses by name: a small map in one piece of memory.
//!
//! Most values have one or two names under them, and there are many values: a tree would take room for eleven at once.

use std::collections::BTreeMap;
use std::ops::Index;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Usage;

/// Usages by name, in the order of the names. Written as a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Uses(Vec<(String, Usage)>);

impl Uses {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The usage of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Usage> {
        self.place(name).ok().map(|place| &self.0[place].1)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Usage)> {
        self.0.iter().map(|(name, usage)| (name.as_str(), usage))
    }

    /// The same, to add to it.
    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Usage> {
        self.place(name).ok().map(|place| &mut self.0[place].1)
    }

    /// The usage of a name, and whether it was put there just now.
    pub(crate) fn entry(&mut self, name: &str) -> (&mut Usage, bool) {
        let (place, is_new) = match self.place(name) {
            Ok(place) => (place, false),
            Err(place) => {
                self.0.insert(place, (name.to_owned(), Usage::default()));
                (place, true)
            }
        };
        (&mut self.0[place].1, is_new)
    }

    /// Takes room for as many more as there are names in `other`, but no more.
    pub(crate) fn reserve_for(&mut self, other: &Self) {
        if self.0.is_empty() {
            self.0.reserve_exact(other.0.len());
        }
    }

    fn place(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(other, _)| other.as_str().cmp(name))
    }
}

/// Of several with one name the last counts.
impl FromIterator<(String, Usage)> for Uses {
    fn from_iter<I: IntoIterator<Item = (String, Usage)>>(all: I) -> Self {
        let mut list: Vec<_> = all.into_iter().collect();
        list.sort_by(|one, other| one.0.cmp(&other.0));
        list.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                std::mem::swap(later, earlier);
            }
            same
        });
        Self(list)
    }
}

impl Index<&str> for Uses {
    type Output = Usage;

    /// The usage of a name that is known to be there.
    fn index(&self, name: &str) -> &Usage {
        match self.get(name) {
            Some(usage) => usage,
            None => panic!("nothing is known about {name}"),
        }
    }
}

impl Serialize for Uses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Uses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = BTreeMap::<String, Usage>::deserialize(deserializer)?;
        Ok(Self(table.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(truth: bool) -> Usage {
        Usage { truth, ..Usage::default() }
    }

    #[test]
    fn names_stand_in_order_and_the_last_of_one_name_counts() {
        let all = [("b", true), ("a", true), ("b", false)];
        let uses: Uses =
            all.map(|(name, truth)| (name.to_owned(), usage(truth))).into_iter().collect();
        let seen: Vec<_> = uses.iter().map(|(name, usage)| (name, usage.truth)).collect();
        assert_eq!(seen, [("a", true), ("b", false)]);
    }

    #[test]
    fn an_entry_is_made_once_and_found_again() {
        let mut uses = Uses::default();
        assert!(uses.is_empty());
        for name in ["m", "a", "z"] {
            let (usage, is_new) = uses.entry(name);
            usage.truth = name == "a";
            assert!(is_new);
        }
        let (usage, is_new) = uses.entry("a");
        assert!(usage.truth && !is_new);
        assert_eq!(uses.get("q"), None);
        assert_eq!(uses["z"], usage_of("z", &uses));
    }

    fn usage_of(name: &str, uses: &Uses) -> Usage {
        uses.get(name).cloned().unwrap_or_default()
    }

    #[test]
    fn it_is_written_as_a_table_and_read_back() {
        let uses: Uses =
            [("b".to_owned(), usage(true)), ("a".to_owned(), usage(false))].into_iter().collect();
        let written = serde_json::to_string(&uses).unwrap_or_default();
        assert_eq!(written, r#"{"a":{},"b":{"truth":true}}"#);
        assert_eq!(serde_json::from_str::<Uses>(&written).ok(), Some(uses));
    }
}
