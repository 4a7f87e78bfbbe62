//! What `--repeat auto` spends and finds. Usage: `cargo run --release -p proctor-runner --example repeat_auto -- [RUNS]`
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program that prints a table")]

#[path = "../tests/it/simulate.rs"]
mod simulate;

use simulate::{Setting, simulate};

fn main() {
    let runs = std::env::args().nth(1).map_or(2000, |text| text.parse().unwrap());
    println!(
        "{runs} simulated runs of 20 examples each against a baseline of 20 repeats, limit of 20"
    );
    println!();
    println!(
        "| change | repeats made | of 400 | rounds | worse: auto | names an example | worse: --repeat 20, exact stratified test |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (name, setting) in settings() {
        let outcome = simulate(&setting, runs, 1);
        let percent = |count: u32| 100.0 * outcome.per_run(count.into());
        let made = outcome.per_run(outcome.repetitions);
        println!(
            "| {name} | {made:.0} | {:.0} % | {:.1} | {:.1} % | {:.1} % | {:.1} % |",
            made / 4.0,
            outcome.per_run(outcome.rounds),
            percent(outcome.alarms),
            percent(outcome.examples_named),
            percent(outcome.fixed_alarms),
        );
    }
}

fn settings() -> Vec<(&'static str, Setting)> {
    vec![
        ("none, rate .5", Setting::twenty(0, 0.5, 0.5)),
        ("none, rate .8", Setting::twenty(0, 0.8, 0.8)),
        ("none, rate .95", Setting::twenty(0, 0.95, 0.95)),
        ("none, rate 1", Setting::twenty(0, 1.0, 1.0)),
        ("none, rates .5 to 1", mixed()),
        ("none, rate .8, baseline settled early at .8", settled_at(0.8, 0.8)),
        ("none, rate .5, baseline settled early at .8", settled_at(0.5, 0.8)),
        ("none, rate .8, baseline of 5 repeats", short()),
        ("all .8 → .7", Setting::twenty(20, 0.8, 0.7)),
        ("all .8 → .6", Setting::twenty(20, 0.8, 0.6)),
        ("all .95 → .85", Setting::twenty(20, 0.95, 0.85)),
        ("2 of 20 .8 → .6", Setting::twenty(2, 0.8, 0.6)),
        ("2 of 20 .8 → .2", Setting::twenty(2, 0.8, 0.2)),
        ("2 of 20 .95 → .2", Setting::twenty(2, 0.95, 0.2)),
        ("1 of 20 1 → 0", Setting::twenty(1, 1.0, 0.0)),
    ]
}

fn mixed() -> Setting {
    let rates = (0..20).map(|place| 0.5 + 0.5 * f64::from(place) / 19.0).map(|rate| (rate, rate));
    Setting { rates: rates.collect(), ..Setting::twenty(0, 0.5, 0.5) }
}

fn settled_at(rate: f64, needed: f64) -> Setting {
    Setting { baseline_settles: Some(needed), ..Setting::twenty(0, rate, rate) }
}

fn short() -> Setting {
    Setting { baseline_repeats: 5, ..Setting::twenty(0, 0.8, 0.8) }
}
