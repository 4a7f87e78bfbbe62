//! The suite as a whole: McNemar's test over examples, mean rates, pass^k.

use proctor_stats::{mcnemar_exact, mean_interval, pass_hat_k};

use crate::model::{Change, Rules, SuiteChange, Verdict};
use crate::pair::Pair;
use crate::side::Sample;

pub(crate) fn change(pairs: &[Pair<'_>], rules: &Rules) -> SuiteChange {
    let rates: Vec<(f64, f64)> =
        pairs.iter().filter_map(|pair| Some((rate(pair.before)?, rate(pair.after)?))).collect();
    let worse = rates.iter().filter(|(before, after)| after < before).count() as u64;
    let better = rates.iter().filter(|(before, after)| after > before).count() as u64;
    let p = mcnemar_exact(worse, better);
    let differences: Vec<f64> = rates.iter().map(|(before, after)| after - before).collect();
    let average = |side: fn(&(f64, f64)) -> f64| {
        let values: Vec<f64> = rates.iter().map(side).collect();
        mean_interval(&values, 0.95).map(|mean| mean.mean)
    };
    let fewest = |pair: &Pair<'_>| pair.before.tally().1.min(pair.after.tally().1);
    let k = pairs.iter().map(fewest).min().unwrap_or(0);
    let all_of_k = |side: fn(&Pair<'_>) -> (u64, u64)| {
        let chance = |pair: &Pair<'_>| {
            let (passed, attempts) = side(pair);
            pass_hat_k(attempts, passed, k)
        };
        let values: Vec<f64> = pairs.iter().filter_map(chance).collect();
        mean_interval(&values, 0.95).map(|mean| mean.mean)
    };
    SuiteChange {
        verdict: verdict(worse, better, p, rules),
        paired: pairs.len() as u64,
        worse,
        better,
        p,
        rate_before: average(|rates| rates.0),
        rate_after: average(|rates| rates.1),
        change: mean_interval(&differences, 0.95)
            .map(|mean| Change { estimate: mean.mean, range: mean.interval.map(Into::into) }),
        k,
        pass_hat_k_before: all_of_k(|pair| pair.before.tally()),
        pass_hat_k_after: all_of_k(|pair| pair.after.tally()),
    }
}

fn rate(sample: &Sample) -> Option<f64> {
    let (passed, attempts) = sample.tally();
    pass_hat_k(attempts, passed, 1)
}

fn verdict(worse: u64, better: u64, p: f64, rules: &Rules) -> Verdict {
    // Had all of them gone one way, would it have been enough?
    let could_tell = mcnemar_exact(worse + better, 0) <= rules.alpha_suite;
    match (p <= rules.alpha_suite, worse > better) {
        (true, true) => Verdict::Regression,
        (true, false) => Verdict::Improvement,
        (false, _) if worse + better == 0 || could_tell => Verdict::Unchanged,
        (false, _) => Verdict::TooLittleData,
    }
}
