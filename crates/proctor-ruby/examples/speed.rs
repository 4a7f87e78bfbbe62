//! How fast Ruby files are read: `cargo run --release -p proctor-ruby --example speed -- [--threads N] FOLDER…`.
//!
//! Prints megabytes per second of wall time, and of computing time where the kernel tells it (Linux): the second figure
//! holds on a machine that does other things besides. Best of three.
#![allow(clippy::print_stdout, reason = "a program for people")]
#![allow(clippy::cast_precision_loss, reason = "sizes are small")]

use std::path::PathBuf;
use std::time::Instant;

fn main() {
    let mut threads = 1;
    let mut folders = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--threads" {
            threads = arguments.next().and_then(|count| count.parse().ok()).unwrap_or(1);
        } else {
            folders.push(PathBuf::from(argument));
        }
    }
    let sources = read(folders);
    let bytes: usize = sources.iter().map(Vec::len).sum();
    let (mut wall, mut computing) = (f64::MAX, f64::MAX);
    let (mut methods, mut unreadable) = (0, 0);
    for _ in 0..3 {
        let (started, before) = (Instant::now(), spent());
        (methods, unreadable) = analyze(&sources, threads);
        wall = wall.min(started.elapsed().as_secs_f64());
        if let (Some(before), Some(after)) = (before, spent()) {
            computing = computing.min((after - before) as f64 / 1e9);
        }
    }
    let megabytes = bytes as f64 / 1e6;
    println!(
        "{} files, {megabytes:.1} MB, {methods} methods, {unreadable} unreadable, {threads} threads: {:.1} MB/s",
        sources.len(),
        megabytes / wall
    );
    if threads == 1 && computing < f64::MAX {
        println!("{:.1} MB per second of computing", megabytes / computing);
    }
}

fn analyze(sources: &[Vec<u8>], threads: usize) -> (usize, usize) {
    if threads > 1 {
        let all = proctor_ruby::analyze_all(sources, threads);
        let unreadable = all.iter().filter(|facts| facts.is_err()).count();
        return (all.iter().flatten().map(|facts| facts.methods().count()).sum(), unreadable);
    }
    let (mut methods, mut unreadable) = (0, 0);
    for source in sources {
        match proctor_ruby::analyze(source) {
            Ok(facts) => methods += facts.methods().count(),
            Err(_) => unreadable += 1,
        }
    }
    (methods, unreadable)
}

/// Nanoseconds that this thread has computed.
fn spent() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

fn read(mut folders: Vec<PathBuf>) -> Vec<Vec<u8>> {
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
    sources
}
