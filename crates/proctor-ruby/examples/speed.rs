//! How fast Ruby files are read: `cargo run --release -p proctor-ruby --example speed -- FOLDER…`. Prints megabytes per second of one thread.
#![allow(clippy::print_stdout, reason = "a program for people")]
#![allow(clippy::cast_precision_loss, reason = "sizes are small")]

use std::path::PathBuf;
use std::time::Instant;

fn main() {
    let mut folders: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rb") {
                sources.extend(std::fs::read(&path));
            }
        }
    }
    let bytes: usize = sources.iter().map(Vec::len).sum();
    let mut best = f64::MAX;
    let (mut methods, mut unreadable) = (0, 0);
    for _ in 0..3 {
        let started = Instant::now();
        (methods, unreadable) = (0, 0);
        for source in &sources {
            match proctor_ruby::analyze(source) {
                Ok(facts) => methods += facts.methods().count(),
                Err(_) => unreadable += 1,
            }
        }
        best = best.min(started.elapsed().as_secs_f64());
    }
    let megabytes = bytes as f64 / 1e6;
    println!(
        "{} files, {megabytes:.1} MB, {methods} methods, {unreadable} unreadable: {:.1} MB/s",
        sources.len(),
        megabytes / best
    );
}
