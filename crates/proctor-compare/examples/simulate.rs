//! Measures what the gate decides on simulated runs whose truth is known: `bench/compare/run`.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program that prints tables")]

#[path = "../tests/it/simulate.rs"]
mod simulate;

use simulate::{Outcomes, Rates, Repeats, Setting, simulate};

/// One kind of setting.
type Part = fn(&mut Table);

struct Table {
    comparisons: u32,
    worst_stops: f64,
    worst_claims: f64,
    least_covered: f64,
    worst_unchanged: f64,
    contradictions: u32,
}

fn main() {
    let comparisons = std::env::args().nth(1).map_or(2000, |word| word.parse().unwrap());
    let only = std::env::args().nth(2).unwrap_or_default();
    let mut table = Table {
        comparisons,
        worst_stops: 0.0,
        worst_claims: 0.0,
        least_covered: 1.0,
        worst_unchanged: 0.0,
        contradictions: 0,
    };
    let parts: [(&str, Part); 6] = [
        ("same", Table::same),
        ("unequal", Table::unequal),
        ("settling", Table::settling),
        ("days", Table::bad_days),
        ("unchanged", Table::unchanged),
        ("power", Table::power),
    ];
    for (name, part) in parts {
        if only.is_empty() || only == name {
            part(&mut table);
        }
    }
    println!(
        "\nWorst of all: stops of the same {:.1} %, any claim {:.1} %, coverage {:.1} %, false «unchanged» {:.1} %, contradictions {}",
        table.worst_stops * 100.0,
        table.worst_claims * 100.0,
        table.least_covered * 100.0,
        table.worst_unchanged * 100.0,
        table.contradictions
    );
}

const RATES: [f64; 5] = [0.5, 0.8, 0.9, 0.95, 0.99];

impl Table {
    fn heading(title: &str) {
        println!("\n### {title}\n");
        println!(
            "| setting | examples | repeats | rates | exit 0 | exit 1 | exit 3 | any claim | bare test | coverage |"
        );
        println!("|---|---|---|---|---|---|---|---|---|---|");
    }

    /// Nothing changed.
    fn null(&mut self, name: &str, setting: Setting) {
        let outcomes = simulate(setting, self.comparisons, 1);
        self.worst_stops = self.worst_stops.max(outcomes.stops());
        self.worst_claims = self.worst_claims.max(outcomes.share(outcomes.claims));
        self.note(&outcomes);
        row(name, setting, &outcomes);
    }

    fn note(&mut self, outcomes: &Outcomes) {
        self.least_covered = self.least_covered.min(outcomes.share(outcomes.covered));
        self.contradictions += outcomes.contradictions;
    }

    fn same(&mut self) {
        Self::heading("Nothing changed, equal repeats");
        for (examples, repeats) in [
            (2, 1),
            (2, 5),
            (2, 20),
            (5, 5),
            (5, 20),
            (20, 1),
            (20, 5),
            (200, 1),
            (200, 5),
            (200, 20),
        ] {
            for rate in RATES {
                self.null("same", Setting::new(examples, repeats, Rates::All(rate)));
            }
            self.null("same", Setting::new(examples, repeats, Rates::Around(0.8)));
            self.null("same", Setting::new(examples, repeats, Rates::Mixed));
            let retried =
                Setting { retries: 1, ..Setting::new(examples, repeats, Rates::All(0.7)) };
            self.null("retries 1", retried);
        }
    }

    fn unequal(&mut self) {
        Self::heading("Nothing changed, unequal repeats");
        for examples in [5, 50, 200] {
            for (name, before, after) in [
                ("1 against 10", Repeats::All(1), Repeats::All(10)),
                ("10 against 1", Repeats::All(10), Repeats::All(1)),
                ("1 against 5", Repeats::All(1), Repeats::All(5)),
                ("3 against 1", Repeats::All(3), Repeats::All(1)),
                ("1 or 20 against 5", Repeats::OneOr(20), Repeats::All(5)),
                ("5 against few where it wavers", Repeats::All(5), Repeats::FewWhereItWavers(20)),
            ] {
                for rates in [
                    Rates::All(0.5),
                    Rates::All(0.8),
                    Rates::All(0.95),
                    Rates::Around(0.8),
                    Rates::Mixed,
                ] {
                    self.null(name, Setting { before, after, ..Setting::new(examples, 1, rates) });
                }
            }
        }
    }

    fn settling(&mut self) {
        Self::heading("Nothing changed, pass rates that settle early");
        for (examples, repeats) in [(5, 5), (5, 20), (50, 5), (50, 10), (50, 20), (200, 10)] {
            for (name, settles) in [
                ("0.8 both", (Some(0.8), Some(0.8))),
                ("0.8 after", (None, Some(0.8))),
                ("0.95 before", (Some(0.95), None)),
            ] {
                for rate in RATES {
                    self.null(
                        name,
                        Setting { settles, ..Setting::new(examples, repeats, Rates::All(rate)) },
                    );
                }
                self.null(
                    name,
                    Setting { settles, ..Setting::new(examples, repeats, Rates::Mixed) },
                );
            }
        }
    }

    fn bad_days(&mut self) {
        Self::heading(
            "Nothing changed, days that shift the log odds by a standard deviation of 0.5",
        );
        for (examples, repeats) in [(5, 20), (20, 5), (20, 20), (200, 1), (200, 5), (200, 20)] {
            for earlier_runs in [3, 4, 5, 10, 20] {
                for rates in [Rates::All(0.8), Rates::Around(0.8)] {
                    let setting = Setting {
                        bad_days: 0.5,
                        earlier_runs,
                        ..Setting::new(examples, repeats, rates)
                    };
                    self.null(&format!("{earlier_runs} earlier runs"), setting);
                }
            }
            let calm =
                Setting { earlier_runs: 10, ..Setting::new(examples, repeats, Rates::All(0.8)) };
            self.null("no bad days, 10 earlier runs", calm);
        }
    }

    fn unchanged(&mut self) {
        println!("\n### The word «unchanged» (`--margin`)\n");
        println!(
            "| examples | repeats | rate | margin | said of a drop as large as the margin | said of no drop |\n|---|---|---|---|---|---|"
        );
        for (examples, repeats) in
            [(5, 5), (5, 20), (20, 5), (50, 10), (200, 1), (200, 5), (200, 20)]
        {
            for rate in [0.8, 0.9, 0.99] {
                for margin in [0.05, 0.1, 0.2] {
                    let said = |drop: f64| {
                        let setting = Setting {
                            drop,
                            margin: Some(margin),
                            ..Setting::new(examples, repeats, Rates::All(rate))
                        };
                        let outcomes = simulate(setting, self.comparisons, 3);
                        (outcomes.share(outcomes.unchanged), outcomes)
                    };
                    let ((wrong, dropped), (right, _)) = (said(margin), said(0.0));
                    self.worst_unchanged = self.worst_unchanged.max(wrong);
                    self.note(&dropped);
                    println!(
                        "| {examples} | {repeats} | {rate} | {:.0} | {} | {} |",
                        margin * 100.0,
                        percent(wrong),
                        percent(right)
                    );
                }
            }
        }
    }

    fn power(&mut self) {
        println!("\n### A real drop\n");
        println!(
            "| examples | repeats | rate | drop | exit 1 | exit 3 | exit 0 | bare stratified test | coverage |\n|---|---|---|---|---|---|---|---|---|"
        );
        for (examples, repeats) in
            [(5, 5), (5, 20), (20, 1), (20, 5), (20, 20), (50, 10), (200, 1), (200, 5), (200, 20)]
        {
            for (rate, drops) in [(0.8, [0.1, 0.2, 0.3]), (0.95, [0.05, 0.1, 0.2])] {
                for drop in drops {
                    let setting =
                        Setting { drop, ..Setting::new(examples, repeats, Rates::All(rate)) };
                    let outcomes = simulate(setting, self.comparisons, 4);
                    self.note(&outcomes);
                    println!(
                        "| {examples} | {repeats} | {rate} | {:.0} | {} | {} | {} | {} | {} |",
                        drop * 100.0,
                        percent(outcomes.stops()),
                        percent(outcomes.share(outcomes.codes[3])),
                        percent(outcomes.share(outcomes.codes[0])),
                        percent(outcomes.share(outcomes.stratified)),
                        percent(outcomes.share(outcomes.covered)),
                    );
                }
            }
        }
        println!("\nAfter bad days (standard deviation 0.5) with 10 earlier runs:\n");
        println!(
            "| examples | repeats | drop | exit 1 | exit 3 | coverage |\n|---|---|---|---|---|---|"
        );
        for (examples, repeats) in [(20, 5), (200, 5), (200, 20)] {
            for drop in [0.2, 0.3, 0.4] {
                let setting = Setting {
                    drop,
                    bad_days: 0.5,
                    earlier_runs: 10,
                    ..Setting::new(examples, repeats, Rates::All(0.8))
                };
                let outcomes = simulate(setting, self.comparisons, 4);
                self.note(&outcomes);
                println!(
                    "| {examples} | {repeats} | {:.0} | {} | {} | {} |",
                    drop * 100.0,
                    percent(outcomes.stops()),
                    percent(outcomes.share(outcomes.codes[3])),
                    percent(outcomes.share(outcomes.covered)),
                );
            }
        }
    }
}

fn row(name: &str, setting: Setting, outcomes: &Outcomes) {
    let repeats = match (setting.before, setting.after) {
        (Repeats::All(before), Repeats::All(after)) if before == after => before.to_string(),
        _ => "–".to_owned(),
    };
    let rates = match setting.rates {
        Rates::All(rate) => format!("{rate}"),
        Rates::Around(rate) => format!("around {rate}"),
        Rates::Mixed => "mixed".to_owned(),
    };
    println!(
        "| {name} | {} | {repeats} | {rates} | {} | {} | {} | {} | {} | {} |",
        setting.examples,
        percent(outcomes.share(outcomes.codes[0])),
        percent(outcomes.stops()),
        percent(outcomes.share(outcomes.codes[3])),
        percent(outcomes.share(outcomes.claims)),
        percent(outcomes.share(outcomes.stratified)),
        percent(outcomes.share(outcomes.covered)),
    );
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
