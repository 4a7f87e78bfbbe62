//! A tested verdict on a change: two runs go in, and what differs beyond chance comes out.
//!
//! [`Side::of`] reduces a run to what a comparison needs; a side can be kept as a baseline. [`compare`] pairs the
//! examples of two sides and judges each pair; it returns a [`Comparison`], plain data that every view shows
//! alike: terminal, Markdown, web, JSON, MCP. The rules are in `docs/comparing.md`.
//!
//! Pure: no files, no clock, no randomness. What earlier runs have shown is passed in as [`Record`]s.

mod criteria;
mod judge;
mod model;
mod pair;
mod side;
mod suite;
mod usage;

use std::collections::BTreeMap;

pub use criteria::CriterionChange;
pub use model::{
    Basis, Change, Comparison, Counts, ExampleChange, Gap, Range, Record, Rules, SideInfo,
    SuiteChange, Tally, UsageChange, Verdict,
};
pub use side::{BadSide, Check, SIDE_VERSION, Sample, Side, Trial};

/// Judges `after` against `before`.
///
/// `history` says what earlier runs have shown of an example, by stable id; it may be empty.
pub fn compare(
    before: &Side,
    after: &Side,
    history: &BTreeMap<String, Record>,
    rules: &Rules,
) -> Comparison {
    let paired = pair::pair(before, after);
    let mut examples = judge::examples(&paired.pairs, history, rules);
    let suite = suite::change(&paired.pairs, rules);
    let counts = Counts::of(&examples, &paired.gaps);
    examples.sort_by_cached_key(|change| (change.verdict, change.title.clone()));
    Comparison {
        v: model::COMPARISON_VERSION,
        before: SideInfo::of(before),
        after: SideInfo::of(after),
        config_changed: before
            .config_fingerprint
            .as_ref()
            .zip(after.config_fingerprint.as_ref())
            .map(|(before, after)| before != after),
        rules: *rules,
        verdict: model::overall(&counts, &suite),
        suite,
        counts,
        criteria: criteria::changes(&paired.pairs, rules),
        duration: usage::duration(&paired.pairs),
        cost: usage::cost(&paired.pairs),
        examples,
        gaps: paired.gaps,
    }
}

#[cfg(test)]
mod tests;
