//! The verdict on each example.
//!
//! | example | outcomes | verdict |
//! |---|---|---|
//! | deterministic | pass → fail, fail → pass, same | regression, improvement, unchanged |
//! | otherwise | adjusted p at or below the level | regression or improvement, by direction |
//! | | same rate, or interval of the difference within the margin | unchanged |
//! | | else | too little data |
//!
//! Deterministic is an example in which no model takes part, with one outcome per side, that is not known to be flaky.
//! Otherwise there are two tests, and the numbers of attempts decide which is made, never their outcomes:
//!
//! * Fisher's, where it could tell all from none. A table that could not have come out significant given its margins
//!   does not count among those that the adjustment is made for: it can raise no alarm.
//! * Else the record. An example that gave the same outcome in its last H attempts and the other one in all n attempts now
//!   does so by chance with probability at most `H^H n^n / (H+n)^(H+n)`, whatever its true rate. Every example with
//!   such a record counts for the adjustment, whatever it does now.

use std::collections::BTreeMap;

use proctor_stats::{
    Z95, benjamini_hochberg, fisher_exact, fisher_smallest_p, newcombe, repeats_to_tell,
};

use crate::model::{Basis, Change, ExampleChange, Record, Rules, Tally, Verdict};
use crate::pair::Pair;
use crate::side::Sample;
use crate::usage::mean;

pub(crate) fn examples(
    pairs: &[Pair<'_>],
    history: &BTreeMap<String, Record>,
    rules: &Rules,
) -> Vec<ExampleChange> {
    let tested: Vec<Tested> = pairs.iter().map(|pair| test(pair, history, rules)).collect();
    let family: Vec<f64> =
        tested.iter().filter(|test| test.in_family).filter_map(|test| test.p).collect();
    let mut adjusted = benjamini_hochberg(&family).into_iter();
    pairs
        .iter()
        .zip(tested)
        .map(|(pair, test)| {
            let p_adjusted = if test.in_family { adjusted.next() } else { test.p.map(|_| 1.0) };
            Judged { pair, test, p_adjusted, rules }.change()
        })
        .collect()
}

struct Tested {
    basis: Basis,
    /// Why it is deterministic, or why not.
    reason: String,
    p: Option<f64>,
    in_family: bool,
}

fn test(pair: &Pair<'_>, history: &BTreeMap<String, Record>, rules: &Rules) -> Tested {
    let record = history.get(&pair.after.id).or_else(|| history.get(&pair.before.id));
    let reason = match determinism(pair, record) {
        Ok(reason) => {
            let basis = Basis::Deterministic;
            return Tested { basis, reason: reason.to_owned(), p: None, in_family: false };
        }
        Err(reason) => reason.to_owned(),
    };
    let (before, after) = (pair.before.tally(), pair.after.tally());
    let alpha = rules.alpha_examples;
    let could_tell = fisher_exact((before.1, before.1), (0, after.1)) <= alpha;
    if let Some(record) = record.filter(|record| !could_tell && !record.flaky && record.streak > 0)
    {
        return by_record(record, pair, after, reason);
    }
    Tested {
        basis: Basis::Fisher,
        reason,
        p: Some(fisher_exact(before, after)),
        in_family: fisher_smallest_p(before, after) <= alpha,
    }
}

fn by_record(record: &Record, pair: &Pair<'_>, after: (u64, u64), reason: String) -> Tested {
    let opposite = if record.newest_passed { after.0 == 0 } else { after.0 == after.1 };
    let even = !pair.before.mixed && !pair.after.mixed;
    let p = if opposite && even { chance(record.streak, after.1) } else { 1.0 };
    let outcome = if record.newest_passed { "passed" } else { "failed" };
    Tested {
        basis: Basis::Record,
        reason: match record.streak {
            1 => reason,
            streak => format!("it {outcome} {streak} times in a row before"),
        },
        p: Some(p),
        in_family: true,
    }
}

/// The most that `rate^streak × (1 − rate)^others` can be.
fn chance(streak: u64, others: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts of attempts are far below 2^53")]
    let (streak, others) = (streak as f64, others as f64);
    let both = streak + others;
    (streak * (streak / both).ln() + others * (others / both).ln()).exp()
}

/// Why one outcome is as good as many, or why it is not.
fn determinism(pair: &Pair<'_>, record: Option<&Record>) -> Result<&'static str, &'static str> {
    let even = |sample: &Sample| {
        let (passed, attempts) = sample.tally();
        !sample.mixed && (passed == 0 || passed == attempts)
    };
    let model = |sample: &Sample| sample.trials.iter().any(|trial| trial.model);
    if !even(pair.before) || !even(pair.after) {
        Err("both outcomes were seen in one run")
    } else if record.is_some_and(|record| record.flaky) {
        Err("it is known to be flaky")
    } else if model(pair.before) || model(pair.after) {
        Err("a model takes part")
    } else {
        Ok("no model takes part")
    }
}

struct Judged<'a> {
    pair: &'a Pair<'a>,
    test: Tested,
    p_adjusted: Option<f64>,
    rules: &'a Rules,
}

impl Judged<'_> {
    fn change(self) -> ExampleChange {
        let Pair { before, after } = self.pair;
        let difference = newcombe(before.tally(), after.tally(), Z95);
        let verdict = self.verdict(&difference);
        let (old, new) = (Tally::of_sample(before), Tally::of_sample(after));
        let repeats = match (verdict, old.rate, new.rate) {
            (Verdict::TooLittleData, Some(old), Some(new)) => repeats_to_tell(old, new),
            _ => None,
        };
        ExampleChange {
            id: after.id.clone(),
            id_before: (before.id != after.id).then(|| before.id.clone()),
            title: after.title.clone(),
            file: after.file.clone(),
            moved_from: self.pair.moved_from(),
            verdict,
            basis: self.test.basis,
            why: self.why(verdict, &old, &new, repeats),
            before: old,
            after: new,
            status_before: before.status.clone(),
            status_after: after.status.clone(),
            change: Change::from(difference),
            p: self.test.p,
            p_adjusted: self.p_adjusted,
            repeats_to_tell: repeats,
            duration_before_ms: mean(before, |trial| trial.duration_ms),
            duration_after_ms: mean(after, |trial| trial.duration_ms),
            cost_before_usd: mean(before, |trial| trial.cost_usd),
            cost_after_usd: mean(after, |trial| trial.cost_usd),
        }
    }

    fn verdict(&self, difference: &proctor_stats::Difference) -> Verdict {
        let direction =
            if difference.estimate < 0.0 { Verdict::Regression } else { Verdict::Improvement };
        let same = difference.estimate.abs() < 1e-12;
        let settled = match self.test.basis {
            Basis::Deterministic => true,
            Basis::Fisher | Basis::Record => {
                self.p_adjusted.is_some_and(|p| p <= self.rules.alpha_examples)
            }
        };
        let within = difference.interval.low >= -self.rules.margin
            && difference.interval.high <= self.rules.margin;
        match (same, settled, within) {
            (true, _, _) | (false, false, true) => Verdict::Unchanged,
            (false, true, _) => direction,
            (false, false, false) => Verdict::TooLittleData,
        }
    }

    fn why(&self, verdict: Verdict, old: &Tally, new: &Tally, repeats: Option<u64>) -> String {
        let counts = format!(
            "{} of {} passed before, {} of {} now",
            old.passed, old.attempts, new.passed, new.attempts
        );
        let reason = &self.test.reason;
        match (self.test.basis, verdict) {
            (Basis::Record, Verdict::Regression) => {
                format!("{reason}, and fails now{}", self.p_words())
            }
            (Basis::Record, Verdict::Improvement) => {
                format!("{reason}, and passes now{}", self.p_words())
            }
            (Basis::Deterministic, Verdict::Regression) => {
                format!("passed before, fails now; {reason}")
            }
            (Basis::Deterministic, Verdict::Improvement) => {
                format!("failed before, passes now; {reason}")
            }
            (_, Verdict::Unchanged) if new.rate == old.rate => match new.rate {
                Some(rate) if rate >= 1.0 => "passes as before".to_owned(),
                Some(rate) if rate <= 0.0 => "fails as before".to_owned(),
                _ => counts,
            },
            (_, Verdict::TooLittleData) => {
                let more = repeats
                    .map(|repeats| format!("; about {repeats} repeats a side would tell"))
                    .unwrap_or_default();
                format!("{counts}, and {reason}{}{more}", self.p_words())
            }
            _ => format!("{counts}{}", self.p_words()),
        }
    }

    fn p_words(&self) -> String {
        match (self.test.p, self.p_adjusted) {
            (Some(p), Some(adjusted)) if self.test.in_family => {
                format!(" (p = {p:.3}, adjusted {adjusted:.3})")
            }
            (Some(p), _) => format!(" (p = {p:.3})"),
            _ => String::new(),
        }
    }
}
