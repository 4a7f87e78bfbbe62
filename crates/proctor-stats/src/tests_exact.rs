//! Exact tests of counts: Fisher's for two groups, McNemar's for pairs.

use crate::special::{as_float, ln_choose};

/// Tables as likely as the observed one but for rounding count as «at least as extreme».
const TIE: f64 = 1.0 + 1e-7;

/// Fisher's exact test, two-sided: how likely a table at least as unlikely as this one is when both
/// groups have the same rate. `first` and `second` are (successes, attempts).
///
/// ```
/// // 10 of 10 before, 4 of 10 now.
/// assert!(proctor_stats::fisher_exact((10, 10), (4, 10)) < 0.05);
/// ```
pub fn fisher_exact(first: (u64, u64), second: (u64, u64)) -> f64 {
    let table = Margins::of(first, second);
    let observed = table.ln_probability(first.0.min(first.1));
    let limit = observed + TIE.ln();
    let tail = table.support().map(|hits| table.ln_probability(hits)).filter(|p| *p <= limit);
    tail.map(f64::exp).sum::<f64>().min(1.0)
}

/// Fisher's exact test in one direction: how likely the second group has so few successes, or fewer, when both groups have the
/// same rate.
///
/// ```
/// assert!((proctor_stats::fisher_worse((4, 4), (0, 4)) - 1.0 / 70.0).abs() < 1e-12);
/// ```
pub fn fisher_worse(first: (u64, u64), second: (u64, u64)) -> f64 {
    let table = Margins::of(first, second);
    let tail =
        (first.0.min(first.1)..=*table.support().end()).map(|hits| table.ln_probability(hits));
    tail.map(f64::exp).sum::<f64>().min(1.0)
}

/// The same where the odds of the second group are those of the first times `exp(shift)`.
pub fn fisher_worse_shifted(first: (u64, u64), second: (u64, u64), shift: f64) -> f64 {
    let table = Margins::of(first, second);
    let weight = |hits: u64| table.ln_probability(hits) + as_float(table.hits - hits) * shift;
    let weights: Vec<(u64, f64)> = table.support().map(|hits| (hits, weight(hits))).collect();
    let highest = weights.iter().map(|(_, ln)| *ln).fold(f64::NEG_INFINITY, f64::max);
    let (mut tail, mut all) = (0.0, 0.0);
    for (hits, ln) in weights {
        let chance = (ln - highest).exp();
        all += chance;
        if hits >= first.0.min(first.1) {
            tail += chance;
        }
    }
    (tail / all).min(1.0)
}

/// The smallest value that [`fisher_worse`] can give for these margins.
pub fn fisher_worse_least(first: (u64, u64), second: (u64, u64)) -> f64 {
    let table = Margins::of(first, second);
    let hits = *table.support().end();
    fisher_worse((hits, first.1), (table.hits - hits, second.1))
}

/// What stays fixed in Fisher's test.
struct Margins {
    first: u64,
    second: u64,
    hits: u64,
}

impl Margins {
    fn of(first: (u64, u64), second: (u64, u64)) -> Self {
        let hits = first.0.min(first.1) + second.0.min(second.1);
        Self { first: first.1, second: second.1, hits }
    }

    /// How many successes the first group can have.
    fn support(&self) -> std::ops::RangeInclusive<u64> {
        self.hits.saturating_sub(self.second)..=self.hits.min(self.first)
    }

    /// The hypergeometric probability of so many successes in the first group, as a logarithm.
    fn ln_probability(&self, hits: u64) -> f64 {
        ln_choose(self.first, hits) + ln_choose(self.second, self.hits - hits)
            - ln_choose(self.first + self.second, self.hits)
    }
}

/// McNemar's exact test, two-sided: of the pairs that differ, `worse` went one way and `better` the
/// other; how likely is a split at least as uneven when both ways are as likely?
pub fn mcnemar_exact(worse: u64, better: u64) -> f64 {
    let (at_most, _) = binomial_tail(worse, better);
    (2.0 * at_most).min(1.0)
}

/// P(X ≤ the smaller) and P(X = the smaller) for a fair coin thrown for every differing pair.
fn binomial_tail(one: u64, other: u64) -> (f64, f64) {
    let pairs = one + other;
    let smaller = one.min(other);
    let probability =
        |k: u64| (ln_choose(pairs, k) - as_float(pairs) * std::f64::consts::LN_2).exp();
    ((0..=smaller).map(probability).sum::<f64>(), probability(smaller))
}
