//! Covers whole libraries and prints a line for each: `cargo run --release -p proctor-cover --example scorecard -- FOLDER…`.
//! Specs and metadata are written into the folders: use copies.
#![allow(clippy::print_stdout, reason = "a program for people")]
#![allow(clippy::cast_precision_loss, reason = "counts are small")]

use std::path::PathBuf;
use std::time::Instant;

use proctor_cover::{Choice, Effort, Mode, Options, run, text};

fn main() {
    for root in std::env::args().skip(1) {
        let started = Instant::now();
        let options = Options {
            root: PathBuf::from(&root).canonicalize().unwrap_or_else(|_| PathBuf::from(&root)),
            mode: Mode::All,
            choice: Choice::default(),
            from: None,
            to: None,
            ruby: PathBuf::from("ruby"),
            effort: Effort::default(),
            again: false,
        };
        let verbose = std::env::var_os("VERBOSE").is_some();
        let report = match run(&options, &mut |_| {}) {
            Ok(report) => report,
            Err(stop) => {
                println!("{root}: {stop}");
                continue;
            }
        };
        if verbose {
            print!("{}", text(&report));
        }
        let sum = |value: &dyn Fn(&proctor_cover::FileReport) -> u64| {
            report.files.iter().map(value).sum::<u64>()
        };
        let (taken, branches) = (sum(&|file| file.after.taken), sum(&|file| file.after.branches));
        let (killed, faults) = (sum(&|file| file.killed as u64), sum(&|file| file.faults as u64));
        println!(
            "{root}: files {}, errors {}, examples {}, unproven {}, pending {}, dropped {}, branches {taken}/{branches} = {:.1} %, faults {killed}/{faults} = {:.1} %, findings {}, {:.1} s",
            report.files.len(),
            report.files.iter().filter(|file| file.error.is_some()).count(),
            sum(&|file| file.examples as u64),
            sum(&|file| file.unproven as u64),
            sum(&|file| file.pending.len() as u64),
            sum(&|file| file.dropped as u64),
            100.0 * taken as f64 / branches.max(1) as f64,
            100.0 * killed as f64 / faults.max(1) as f64,
            sum(&|file| file.violations.len() as u64),
            started.elapsed().as_secs_f64()
        );
    }
}
