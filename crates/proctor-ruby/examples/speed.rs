//! How fast Ruby files are read: `cargo run --release -p proctor-ruby --example speed -- FOLDER…`.
//!
//! Prints megabytes per second on one thread and on as many as there are cores, best of three each; and for one thread
//! also per second of computing where the kernel tells it (Linux), which holds on a machine that does other things besides.
//! The facts are kept until the clock has stopped, as they are by those who ask for them. `--once` reads once on one
//! thread, for tools that count instructions.
#![allow(clippy::print_stdout, reason = "a program for people")]
#![allow(clippy::cast_precision_loss, reason = "sizes are small")]

use std::path::PathBuf;
use std::time::Instant;

fn main() {
    let (options, folders): (Vec<_>, Vec<_>) =
        std::env::args().skip(1).partition(|argument| argument == "--once");
    let sources = read(folders.into_iter().map(PathBuf::from).collect());
    if !options.is_empty() {
        return measure(&sources, 1, 1);
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    measure(&sources, 1, 3);
    if cores > 1 {
        measure(&sources, cores, 3);
    }
}

fn measure(sources: &[Vec<u8>], threads: usize, times: usize) {
    let (mut wall, mut computing) = (f64::MAX, f64::MAX);
    let (mut methods, mut unreadable) = (0, 0);
    for _ in 0..times {
        let (started, before) = (Instant::now(), spent());
        let all = proctor_ruby::analyze_all(sources, threads);
        wall = wall.min(started.elapsed().as_secs_f64());
        if let (Some(before), Some(after)) = (before, spent()) {
            computing = computing.min((after - before) as f64 / 1e9);
        }
        methods = all.iter().flatten().map(|facts| facts.methods().count()).sum();
        unreadable = all.iter().filter(|facts| facts.is_err()).count();
    }
    let megabytes = sources.iter().map(Vec::len).sum::<usize>() as f64 / 1e6;
    println!(
        "{} files, {megabytes:.1} MB, {methods} methods, {unreadable} unreadable: {:.1} MB/s, threads: {threads}",
        sources.len(),
        megabytes / wall
    );
    if threads == 1 && computing < f64::MAX {
        println!("one thread: {:.1} MB per second of computing", megabytes / computing);
    }
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
