//! Our values against those of SciPy and statsmodels, which `tests/reference.py` wrote down.

use proctor_stats::{
    Z95, benjamini_hochberg, fisher_exact, mcnemar_exact, mean_interval, newcombe, pass_at_k,
    pass_hat_k, student_t_quantile, wilson,
};
use serde_json::Value;

fn rows(name: &str) -> Vec<Vec<Value>> {
    let text = include_str!("../reference.json");
    let all: Value = serde_json::from_str(text).unwrap();
    let rows = all[name].as_array().unwrap_or_else(|| panic!("no {name} in reference.json"));
    assert!(rows.len() > 3);
    rows.iter().map(|row| row.as_array().unwrap().clone()).collect()
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

#[track_caller]
fn close(ours: f64, theirs: &Value, row: &[Value]) {
    let theirs = theirs.as_f64().unwrap();
    let allowed = 1e-9 * theirs.abs().max(1e-3);
    assert!((ours - theirs).abs() <= allowed, "{ours} instead of {theirs} for {row:?}");
}

#[test]
fn wilson_intervals() {
    for row in rows("wilson") {
        let interval = wilson(count(&row[0]), count(&row[1]), Z95);
        close(interval.low, &row[2], &row);
        close(interval.high, &row[3], &row);
    }
}

#[test]
fn newcombe_intervals() {
    for row in rows("newcombe") {
        let change =
            newcombe((count(&row[0]), count(&row[1])), (count(&row[2]), count(&row[3])), Z95);
        close(change.interval.low, &row[4], &row);
        close(change.interval.high, &row[5], &row);
    }
}

#[test]
fn fisher() {
    for row in rows("fisher") {
        let p = fisher_exact((count(&row[0]), count(&row[1])), (count(&row[2]), count(&row[3])));
        close(p, &row[4], &row);
    }
}

#[test]
fn mcnemar() {
    for row in rows("mcnemar") {
        close(mcnemar_exact(count(&row[0]), count(&row[1])), &row[2], &row);
    }
}

#[test]
fn false_discovery_rate() {
    for row in rows("benjamini_hochberg") {
        let ours = benjamini_hochberg(&numbers(&row[0]));
        for (ours, theirs) in ours.into_iter().zip(row[1].as_array().unwrap()) {
            close(ours, theirs, &row);
        }
    }
}

#[test]
fn at_least_one_and_all_of_k() {
    for row in rows("repeats") {
        let (n, c, k) = (count(&row[0]), count(&row[1]), count(&row[2]));
        close(pass_at_k(n, c, k).unwrap(), &row[3], &row);
        close(pass_hat_k(n, c, k).unwrap(), &row[4], &row);
    }
}

#[test]
fn quantiles_of_t() {
    for row in rows("t_quantile") {
        let (probability, degrees) = (row[0].as_f64().unwrap(), row[1].as_f64().unwrap());
        close(student_t_quantile(probability, degrees), &row[2], &row);
    }
}

#[test]
fn intervals_of_means() {
    for row in rows("mean") {
        let mean = mean_interval(&numbers(&row[0]), 0.95).unwrap();
        close(mean.mean, &row[1], &row);
        let interval = mean.interval.unwrap();
        close(interval.low, &row[2], &row);
        close(interval.high, &row[3], &row);
    }
}
