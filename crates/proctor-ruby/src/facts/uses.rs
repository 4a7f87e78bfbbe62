//! Uses by name: a small map in one piece of memory.
//!
//! Most values have one or two names under them, of which often nothing more is known, and there are many values: a tree
//! would take room for eleven usages at once, and each usage is as large as seven names.

use std::collections::BTreeMap;
use std::ops::Index;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Usage;

/// Usages by name, in the order of the names. Written as a table.
#[derive(Debug, Clone, Default)]
pub struct Uses(Vec<(String, Option<Box<Usage>>)>);

/// What is known about a name that has only been seen.
static NOTHING: Usage = Usage::nothing();

impl Uses {
    pub(super) const fn nothing() -> Self {
        Self(Vec::new())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The usage of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Usage> {
        self.place(name).ok().map(|place| self.0[place].1.as_deref().unwrap_or(&NOTHING))
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Usage)> {
        self.known().map(|(name, usage)| (name, usage.unwrap_or(&NOTHING)))
    }

    /// All names, with what is known beyond them.
    pub(crate) fn known(&self) -> impl Iterator<Item = (&str, Option<&Usage>)> {
        self.0.iter().map(|(name, usage)| (name.as_str(), usage.as_deref()))
    }

    /// The same, to add to it.
    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Usage> {
        self.place(name).ok().map(|place| self.0[place].1.get_or_insert_default().as_mut())
    }

    /// Puts a name there; says whether it is new.
    pub(crate) fn add_name(&mut self, name: &str) -> bool {
        let place = self.place(name);
        if let Err(place) = place {
            self.0.insert(place, (name.to_owned(), None));
        }
        place.is_err()
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
        let known = |usage: Usage| (usage != NOTHING).then(|| Box::new(usage));
        let mut list: Vec<_> = all.into_iter().map(|(name, usage)| (name, known(usage))).collect();
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

/// Nothing known is the same as nothing said.
impl PartialEq for Uses {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
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
        Ok(table.into_iter().collect())
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
    fn a_name_is_new_once_and_found_again() {
        let mut uses = Uses::default();
        assert!(uses.is_empty());
        assert!(["m", "a", "z"].iter().all(|name| uses.add_name(name)));
        assert!(!uses.add_name("a"));
        assert_eq!(uses.get("a"), Some(&Usage::default()));
        if let Some(known) = uses.get_mut("a") {
            known.truth = true;
        }
        assert!(uses["a"].truth && !uses["z"].truth);
        assert_eq!(uses.get("q"), None);
    }

    #[test]
    fn what_is_known_to_be_nothing_equals_what_is_not_known() {
        let [mut one, mut other] = [Uses::default(), Uses::default()];
        one.add_name("a");
        other.add_name("a");
        assert!(other.get_mut("a").is_some());
        assert_eq!(one, other);
        other.add_name("b");
        assert_ne!(one, other);
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
