//! The order of work: methods whose dependencies come first. Pure.

use std::collections::{BTreeMap, BTreeSet};

/// A method and the classes that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// `Class#name`
    pub id: String,
    /// Its class.
    pub class: String,
    /// Classes it needs, among those being covered.
    pub needs: BTreeSet<String>,
    /// Private methods that it reaches.
    pub absorbed: BTreeSet<String>,
    /// File and line, for the order within a wave.
    pub place: (String, u32),
}

/// Waves of ids, and the ids at which a cycle was broken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waves {
    /// Each wave needs only earlier ones.
    pub waves: Vec<Vec<String>>,
    /// Where nothing was ready and one was taken all the same.
    pub cycles: Vec<String>,
}

/// Kahn's order over methods; a class is done when all its methods are.
#[must_use]
pub fn waves(items: &[Item]) -> Waves {
    let mut open: BTreeMap<&str, &Item> =
        items.iter().map(|item| (item.id.as_str(), item)).collect();
    let mut result = Waves::default();
    while !open.is_empty() {
        let unfinished: BTreeSet<&str> = open.values().map(|item| item.class.as_str()).collect();
        let blocked = |item: &Item| {
            item.needs
                .iter()
                .filter(|class| **class != item.class && unfinished.contains(class.as_str()))
                .count()
        };
        let mut ready: Vec<&Item> =
            open.values().copied().filter(|item| blocked(item) == 0).collect();
        if ready.is_empty() {
            let Some(least) =
                open.values().copied().min_by_key(|item| (blocked(item), item.id.clone()))
            else {
                break;
            };
            result.cycles.push(least.id.clone());
            ready.push(least);
        }
        ready.sort_by(|a, b| a.place.cmp(&b.place));
        for item in &ready {
            open.remove(item.id.as_str());
        }
        result.waves.push(ready.iter().map(|item| item.id.clone()).collect());
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: &str, needs: &[&str]) -> Item {
        let class = id.split('#').next().unwrap().to_owned();
        Item {
            id: id.to_owned(),
            class,
            needs: needs.iter().map(|name| (*name).to_owned()).collect(),
            absorbed: BTreeSet::new(),
            place: (id.to_owned(), 1),
        }
    }

    #[test]
    fn needs_come_first() {
        let found = waves(&[item("B#x", &["A"]), item("A#y", &[]), item("C#z", &["B", "A"])]);
        assert_eq!(found.waves, [vec!["A#y"], vec!["B#x"], vec!["C#z"]]);
        assert!(found.cycles.is_empty());
    }

    #[test]
    fn a_cycle_is_broken_at_the_same_place_every_time() {
        let found = waves(&[item("B#x", &["A"]), item("A#y", &["B"])]);
        assert_eq!(found.cycles, ["A#y"]);
        assert_eq!(found.waves, [vec!["A#y"], vec!["B#x"]]);
    }

    #[test]
    fn a_class_that_needs_itself_is_no_cycle() {
        assert!(waves(&[item("A#x", &["A"])]).cycles.is_empty());
    }
}
