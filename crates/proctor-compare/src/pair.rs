//! Pairing: by stable id, then by description chain for files that moved.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::model::Gap;
use crate::side::{ExampleResults, Side};

/// An example on both sides.
pub(crate) struct Pair<'a> {
    pub(crate) before: &'a ExampleResults,
    pub(crate) after: &'a ExampleResults,
}

impl Pair<'_> {
    /// The file it stood in, where that changed.
    pub(crate) fn moved_from(&self) -> Option<String> {
        let moved = self.before.id != self.after.id && self.before.file != self.after.file;
        moved.then(|| self.before.file.clone()).flatten()
    }
}

pub(crate) struct Paired<'a> {
    /// Examples with a result on both sides.
    pub(crate) pairs: Vec<Pair<'a>>,
    pub(crate) gaps: Vec<Gap>,
}

pub(crate) fn pair<'a>(before: &'a Side, after: &'a Side) -> Paired<'a> {
    let known: HashMap<&str, &ExampleResults> =
        before.examples.iter().map(|sample| (sample.id.as_str(), sample)).collect();
    let mut partner: HashMap<&str, &ExampleResults> = HashMap::with_capacity(after.examples.len());
    let mut taken: HashSet<&str> = HashSet::with_capacity(before.examples.len());
    for sample in &after.examples {
        if let Some(old) = known.get(sample.id.as_str()) {
            partner.insert(&sample.id, old);
            taken.insert(&old.id);
        }
    }
    let lonely_before = before.examples.iter().filter(|sample| !taken.contains(&*sample.id));
    let lonely_after = after.examples.iter().filter(|sample| !partner.contains_key(&*sample.id));
    for (old, new) in moved(lonely_before, lonely_after) {
        partner.insert(&new.id, old);
        taken.insert(&old.id);
    }
    let mut paired = Paired { pairs: Vec::new(), gaps: Vec::new() };
    for sample in &after.examples {
        match partner.get(sample.id.as_str()) {
            Some(old) => paired.add(old, sample),
            None => paired.gaps.push(gap(sample, false, "not there")),
        }
    }
    let gone = before.examples.iter().filter(|sample| !taken.contains(&*sample.id));
    paired.gaps.extend(gone.map(|sample| gap(sample, true, "not there")));
    paired.gaps.sort_by(|a, b| (!a.missing_after, &a.title).cmp(&(!b.missing_after, &b.title)));
    paired
}

impl<'a> Paired<'a> {
    /// A pair in which one side has no result is a gap; in which neither has, nothing.
    fn add(&mut self, before: &'a ExampleResults, after: &'a ExampleResults) {
        match (before.trials.is_empty(), after.trials.is_empty()) {
            (false, false) => self.pairs.push(Pair { before, after }),
            (false, true) => self.gaps.push(gap(after, true, &after.status)),
            (true, false) => self.gaps.push(gap(after, false, &before.status)),
            (true, true) => {}
        }
    }
}

/// Examples of the same chain that are unpaired on both sides, in order, where there are as many of them.
fn moved<'a>(
    before: impl Iterator<Item = &'a ExampleResults>,
    after: impl Iterator<Item = &'a ExampleResults>,
) -> Vec<(&'a ExampleResults, &'a ExampleResults)> {
    type Chains<'a> = BTreeMap<&'a [String], (Vec<&'a ExampleResults>, Vec<&'a ExampleResults>)>;
    let mut chains: Chains<'a> = BTreeMap::new();
    for sample in before.filter(|sample| !sample.path.is_empty()) {
        chains.entry(&sample.path).or_default().0.push(sample);
    }
    for sample in after.filter(|sample| !sample.path.is_empty()) {
        chains.entry(&sample.path).or_default().1.push(sample);
    }
    let same_number = chains.into_values().filter(|(old, new)| old.len() == new.len());
    same_number.flat_map(|(old, new)| old.into_iter().zip(new)).collect()
}

fn gap(sample: &ExampleResults, missing_after: bool, reason: &str) -> Gap {
    Gap {
        id: sample.id.clone(),
        title: sample.title.clone(),
        file: sample.file.clone(),
        missing_after,
        reason: reason.replace('_', " "),
    }
}
