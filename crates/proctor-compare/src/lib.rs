//! A tested verdict on a change: two runs go in, and what differs beyond chance comes out.
//!
//! [`Side::of`] reduces a run to what a comparison needs; a side can be kept as a baseline. [`compare`] pairs the
//! examples of two sides and judges each pair; it returns a [`Comparison`], plain data that every view shows
//! alike: terminal, Markdown, web, JSON, MCP. The rules are in `docs/comparing.md`.
//!
//! Pure: no files, no clock, no randomness. What earlier runs have shown is passed in as [`EarlierRuns`].

mod assess;
mod criteria;
mod determinism;
mod earlier_runs;
mod gate;
mod model;
mod pair;
mod side;
mod suite;
mod usage;

pub use assess::Direction;
pub use criteria::CriterionChange;
pub use earlier_runs::{EarlierResult, EarlierRun, EarlierRuns, ExampleHistory, Streak};
pub use gate::{AllowedGaps, Gate, GateDecision, GateRules, Undecided};
pub use model::{
    Assessment, Basis, Change, Comparison, Counts, ExampleChange, Gap, Range, Rules, SideInfo,
    SuiteChange, SuiteTest, Tally, UsageChange,
};
pub use side::{Check, CountedAttempt, ExampleResults, SIDE_VERSION, Side, StoredSideError};

/// Judges `after` against `before`, with what `past` runs have shown.
pub fn compare(before: &Side, after: &Side, past: &EarlierRuns, rules: &Rules) -> Comparison {
    let paired = pair::pair(before, after);
    let pairs = &paired.pairs;
    let run_variation = past.run_variation(pairs);
    let adaptive = before.adaptive || after.adaptive;
    let judged = assess::examples(pairs, past, &run_variation, adaptive, rules);
    let compared: Vec<suite::SuitePair<'_>> = pairs
        .iter()
        .zip(&judged.deterministic)
        .map(|(pair, deterministic)| suite::SuitePair { pair, deterministic: *deterministic })
        .collect();
    let suite = suite::change(&compared, adaptive, &run_variation, rules);
    let mut examples = judged.examples;
    let counts = Counts::of(&examples, &paired.gaps);
    examples.sort_by_cached_key(|change| (change.verdict, change.title.clone()));
    let not_comparable = obstacle(before, after, pairs.is_empty());
    let verdict = if not_comparable.is_some() {
        Assessment::NotComparable
    } else {
        model::overall(&counts, &suite, after.errors > before.errors)
    };
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
        verdict,
        not_comparable,
        gate: Gate::open(),
        suite,
        counts,
        criteria: criteria::changes(pairs, &run_variation, rules),
        duration: usage::duration(pairs, &run_variation),
        cost: usage::cost(pairs, &run_variation),
        examples,
        gaps: paired.gaps,
    }
    .gated(&GateRules::default())
}

/// Why the two cannot be compared, where that is so.
fn obstacle(before: &Side, after: &Side, nothing_paired: bool) -> Option<String> {
    let of = |name: &str, side: &Side| {
        side.obstacle().map(|why| format!("the side {name} ({}): {why}", side.label))
    };
    of("before", before).or_else(|| of("after", after)).or_else(|| {
        nothing_paired.then(|| "the two have no example with a result in common".to_owned())
    })
}

#[cfg(test)]
mod tests;
