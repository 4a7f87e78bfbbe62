//! Covers whole libraries and prints a scorecard: `cargo run --release -p proctor-cover --example scorecard -- FOLDER…`.
//! Specs and metadata are written into the folders: use copies. `SEEDS=0` leaves out the runs in random order, `AGAIN=0` the
//! second run from nothing, `VERBOSE=1` adds the report of every file.
#![allow(clippy::print_stdout, reason = "a program for people")]
#![allow(clippy::cast_precision_loss, reason = "counts are small")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use proctor_cover::{Choice, Effort, FileReport, Mode, Options, Report, Stop, run, text};

/// The figures of one library.
struct Scorecard {
    name: String,
    lines: u64,
    before: f64,
    after: f64,
    killed: f64,
    examples: u64,
    pending: f64,
    unproven: u64,
    errors: usize,
    flaky: usize,
    same: Option<bool>,
    seconds: f64,
}

fn main() {
    let number = |name: &str, usual: u32| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
    };
    let (seeds, again) = (number("SEEDS", 10), number("AGAIN", 1) > 0);
    println!("{}", heading());
    let mut cards = Vec::new();
    for root in std::env::args().skip(1) {
        match measure_library(Path::new(&root), seeds, again) {
            Ok(card) => {
                println!("{}", line(&card));
                cards.push(card);
            }
            Err(stop) => println!("{root}: {stop}"),
        }
    }
    if !cards.is_empty() {
        println!("{}", medians(&cards));
    }
}

fn cover(root: &Path, again: bool) -> Result<Report, Stop> {
    let options = Options {
        root: root.canonicalize().unwrap_or_else(|_| root.to_path_buf()),
        mode: Mode::All,
        choice: Choice::default(),
        from: None,
        to: None,
        ruby: PathBuf::from("ruby"),
        effort: Effort::default(),
        again,
        launcher: None,
        require_confinement: false,
    };
    run(&options, &mut |_| {})
}

fn measure_library(root: &Path, seeds: u32, again: bool) -> Result<Scorecard, Stop> {
    let started = Instant::now();
    let report = cover(root, false)?;
    let seconds = started.elapsed().as_secs_f64();
    if std::env::var_os("VERBOSE").is_some() {
        print!("{}", text(&report));
    }
    let sum = |value: &dyn Fn(&FileReport) -> u64| report.files.iter().map(value).sum::<u64>();
    let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
    let branches = sum(&|file| file.after.branches);
    let (examples, pending) =
        (sum(&|file| file.examples as u64), sum(&|file| file.pending.len() as u64));
    let flaky = (1..=seeds).filter(|seed| !passes(root, *seed)).count();
    let same = again.then(|| {
        let first = specs(root);
        let _ = std::fs::remove_dir_all(root.join("tmp"));
        cover(root, true).is_ok() && specs(root) == first
    });
    Ok(Scorecard {
        name: root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        lines: sum(&|file| file.after.lines),
        before: percent(sum(&|file| file.before.taken), branches),
        after: percent(sum(&|file| file.after.taken), branches),
        killed: percent(sum(&|file| file.killed as u64), sum(&|file| file.faults as u64)),
        examples,
        pending: percent(pending, examples + pending),
        unproven: sum(&|file| file.unproven as u64),
        errors: report.files.iter().filter(|file| file.error.is_some()).count(),
        flaky,
        same,
        seconds,
    })
}

/// Whether plain RSpec is content with everything, in this order.
fn passes(root: &Path, seed: u32) -> bool {
    Command::new("rspec")
        .args(["--order", &format!("random:{seed}")])
        .current_dir(root)
        .output()
        .is_ok_and(|output| output.status.success())
}

fn specs(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.join("spec")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.clone(), std::fs::read(&path).unwrap_or_default());
            }
        }
    }
    found
}

fn heading() -> String {
    format!(
        "{:<24} {:>6} {:>7} {:>7} {:>7} {:>9} {:>8} {:>9} {:>7} {:>6} {:>6} {:>8}",
        "library",
        "lines",
        "before",
        "after",
        "killed",
        "examples",
        "pending",
        "unproven",
        "errors",
        "flaky",
        "same",
        "seconds"
    )
}

fn line(card: &Scorecard) -> String {
    let same = match card.same {
        Some(true) => "yes",
        Some(false) => "NO",
        None => "–",
    };
    format!(
        "{:<24} {:>6} {:>6.1}% {:>6.1}% {:>6.1}% {:>9} {:>7.1}% {:>9} {:>7} {:>6} {:>6} {:>8.1}",
        card.name,
        card.lines,
        card.before,
        card.after,
        card.killed,
        card.examples,
        card.pending,
        card.unproven,
        card.errors,
        card.flaky,
        same,
        card.seconds
    )
}

fn medians(cards: &[Scorecard]) -> String {
    let median = |value: &dyn Fn(&Scorecard) -> f64| {
        let mut list: Vec<f64> = cards.iter().map(value).collect();
        list.sort_by(f64::total_cmp);
        let middle = list.len() / 2;
        if list.len() % 2 == 1 {
            list[middle]
        } else {
            f64::midpoint(list[middle - 1], list[middle])
        }
    };
    format!(
        "median of {}: branches {:.1} % → {:.1} %, faults noticed {:.1} %, pending {:.1} %, flaky {}, {:.1} s",
        cards.len(),
        median(&|card| card.before),
        median(&|card| card.after),
        median(&|card| card.killed),
        median(&|card| card.pending),
        cards.iter().map(|card| card.flaky).sum::<usize>(),
        median(&|card| card.seconds)
    )
}
