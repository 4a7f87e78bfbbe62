//! Measures how often a comparison of a thing with itself raises an alarm: `bench/compare/run`.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program that prints a table")]

#[path = "../tests/it/simulate.rs"]
mod simulate;

use simulate::{Alarms, Plan, Random, mixed_rates, same_against_same};

fn main() {
    let comparisons = std::env::args().nth(1).map_or(2000, |word| word.parse().unwrap());
    println!(
        "| rates | examples | repeats | on record | gate stops | any alarm | suite alarm | examples wrong |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (examples, repeats) in [(1, 1), (1, 10), (10, 5), (100, 1), (100, 5), (100, 20), (500, 5)] {
        let plan = Plan { examples, repeats, comparisons, history: 0 };
        row("mixed", plan, &same_against_same(plan, mixed_rates, 1));
    }
    for repeats in [4, 10, 30] {
        let plan = Plan { examples: 50, repeats, comparisons, history: 0 };
        row("all 0.5", plan, &same_against_same(plan, |_: &mut Random| 0.5, 2));
    }
    for (examples, history) in [(1, 12), (1, 40), (20, 60), (100, 1000)] {
        for rate in [0.8, 0.95, 0.99] {
            let plan = Plan { examples, repeats: 1, comparisons, history };
            row(&format!("all {rate}"), plan, &same_against_same(plan, |_: &mut Random| rate, 3));
        }
    }
}

fn row(rates: &str, plan: Plan, alarms: &Alarms) {
    let Plan { examples, repeats, history, .. } = plan;
    let percent = |share: f64| format!("{:.2} %", share * 100.0);
    println!(
        "| {rates} | {examples} | {repeats} | {history} | {} | {} | {} | {} |",
        percent(alarms.share(alarms.gated)),
        percent(alarms.share(alarms.any)),
        percent(alarms.share(alarms.suite)),
        percent(alarms.example_share()),
    );
}
