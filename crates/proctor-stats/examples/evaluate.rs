//! Evaluates statistics that are asked for as JSON lines `["name", arguments…]`, one answer a line.
//!
//! `crates/proctor-stats/tests/against_scipy.py` asks random questions and compares the answers with SciPy and statsmodels.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program that answers a test")]

use std::io::BufRead as _;

use proctor_stats::{
    Arm, StopRule, Stratum, Z95, benjamini_hochberg, discordant_e_value, fisher_exact,
    fisher_power, fisher_worse, fisher_worse_shifted, holm, mcnemar_exact, mean_interval, newcombe,
    normal_quantile, normal_tail, pass_at_k, pass_hat_k, rate_e_value_above, rate_e_value_below,
    ratio_interval, stratified_difference, stratified_exact, stratified_scores, student_t_quantile,
    student_t_tail, wilson,
};
use serde_json::{Value, json};

fn main() {
    for line in std::io::stdin().lock().lines() {
        let question: Vec<Value> = serde_json::from_str(&line.unwrap()).unwrap();
        println!("{}", answer(question[0].as_str().unwrap(), &question[1..]));
    }
}

fn float(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(float).collect()
}

fn pair(value: &Value) -> (u64, u64) {
    (count(&value[0]), count(&value[1]))
}

/// `[passed, attempts]`, or `[passed, attempts, needed, planned]` of a side that settles early.
fn arm(value: &Value) -> Arm {
    let fixed = Arm::fixed(pair(value));
    match value.get(2) {
        Some(needed) => {
            let stop = StopRule::Settled { needed: count(needed), planned: count(&value[3]) };
            Arm { stop, ..fixed }
        }
        None => fixed,
    }
}

fn strata(value: &Value) -> Vec<Stratum> {
    let stratum = |one: &Value| Stratum { before: arm(&one[0]), after: arm(&one[1]) };
    value.as_array().unwrap().iter().map(stratum).collect()
}

fn answer(name: &str, given: &[Value]) -> Value {
    match name {
        "wilson" => {
            let interval = wilson(count(&given[0]), count(&given[1]), Z95);
            json!([interval.low, interval.high])
        }
        "newcombe" => {
            let change = newcombe(pair(&given[0]), pair(&given[1]), Z95);
            json!([change.interval.low, change.interval.high])
        }
        "fisher" => json!(fisher_exact(pair(&given[0]), pair(&given[1]))),
        "fisher_worse" => json!(fisher_worse(pair(&given[0]), pair(&given[1]))),
        "fisher_shifted" => {
            json!(fisher_worse_shifted(pair(&given[0]), pair(&given[1]), float(&given[2])))
        }
        "fisher_power" => json!(fisher_power(
            float(&given[0]),
            float(&given[1]),
            count(&given[2]),
            float(&given[3])
        )),
        "mcnemar" => json!(mcnemar_exact(count(&given[0]), count(&given[1]))),
        "benjamini_hochberg" => json!(benjamini_hochberg(&floats(&given[0]))),
        "holm" => json!(holm(&floats(&given[0]))),
        "normal_tail" => json!(normal_tail(float(&given[0]))),
        "normal_quantile" => json!(normal_quantile(float(&given[0]))),
        "t_tail" => json!(student_t_tail(float(&given[0]), float(&given[1]))),
        "t_quantile" => json!(student_t_quantile(float(&given[0]), float(&given[1]))),
        "mean" => {
            let mean = mean_interval(&floats(&given[0]), 0.95).unwrap();
            let interval = mean.interval.unwrap();
            json!([mean.mean, interval.low, interval.high])
        }
        "ratio" => {
            let pairs: Vec<(f64, f64)> =
                floats(&given[0]).into_iter().zip(floats(&given[1])).collect();
            let ratio = ratio_interval(&pairs, 0.95).unwrap();
            let interval = ratio.interval.unwrap();
            json!([ratio.ratio, interval.low, interval.high])
        }
        "pass_k" => {
            let (n, c, k) = (count(&given[0]), count(&given[1]), count(&given[2]));
            json!([pass_at_k(n, c, k), pass_hat_k(n, c, k)])
        }
        "stratified" => {
            let tails = stratified_exact(&strata(&given[0]));
            json!([tails.lower, tails.upper, tails.excess, tails.variance])
        }
        "scores" => {
            let values: Vec<(Vec<f64>, Vec<f64>)> = given[0]
                .as_array()
                .unwrap()
                .iter()
                .map(|one| (floats(&one[0]), floats(&one[1])))
                .collect();
            let tails = stratified_scores(&values);
            json!([tails.lower, tails.upper])
        }
        "difference" => {
            let change = stratified_difference(&strata(&given[0]), Z95).unwrap();
            json!([change.estimate, change.interval.low, change.interval.high])
        }
        "e_pairs" => json!(discordant_e_value(count(&given[0]), count(&given[1]))),
        "e_rate" => {
            let (passes, failures, rate) = (count(&given[0]), count(&given[1]), float(&given[2]));
            json!([
                rate_e_value_below(passes, failures, rate),
                rate_e_value_above(passes, failures, rate)
            ])
        }
        other => panic!("no statistic `{other}`"),
    }
}
