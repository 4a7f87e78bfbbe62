//! Asks the history and the recordings of a project one question, and prints how long that took.
//!
//! `ask_history FOLDER list|all|search WORDS|example ID|compare BEFORE AFTER|sync`; `bench/readers/run` calls it. Every question opens the index
//! anew, as a command does, and is asked several times; the least times count.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program for measuring")]

use std::path::Path;
use std::time::{Duration, Instant};

use proctor_compare::{Rules, compare};
use proctor_history::{History, Recording, SearchQuery, search_runs};
use proctor_record::RunStore;

const TURNS: usize = 7;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let [folder, question, rest @ ..] = &words[..] else {
        println!(
            "usage: ask_history FOLDER list|all|search WORDS|example ID|compare BEFORE AFTER|sync"
        );
        return;
    };
    let store = RunStore::new(Path::new(folder));
    let mut found = 0;
    let turns: Vec<(Duration, Duration)> = (0..TURNS)
        .map(|_| {
            let (begun, used) = (Instant::now(), processor_time());
            found = ask(&store, question, rest);
            (begun.elapsed(), processor_time().saturating_sub(used))
        })
        .collect();
    let wall = turns.iter().map(|turn| turn.0).min().unwrap().as_secs_f64() * 1000.0;
    let used = turns.iter().map(|turn| turn.1).min().unwrap().as_secs_f64() * 1000.0;
    println!("{wall:.1} {used:.1} {found}");
}

/// Asks once; what is found shows that something was.
fn ask(store: &RunStore, question: &str, words: &[&str]) -> usize {
    match (question, words) {
        ("list", []) => {
            let mut history = History::open_without_sync(store).unwrap();
            history.newest_runs(20).unwrap().len()
        }
        ("all", []) => History::open(store).unwrap().suite().unwrap().len(),
        ("sync", []) => usize::try_from(History::open(store).unwrap().sync_summary().runs).unwrap(),
        ("example", [id]) => {
            let mut history = History::open(store).unwrap();
            let example = history.find(id).unwrap().remove(0);
            history.example(&example.id).unwrap().len()
        }
        ("search", [words]) => {
            search_runs(store, &SearchQuery::parse(words).unwrap(), 30).hits.len()
        }
        ("compare", [before, after]) => compared(store, before, after),
        _ => panic!("unknown question {question}"),
    }
}

/// Both sides at once, as the command does it.
fn compared(store: &RunStore, before: &str, after: &str) -> usize {
    let read = |name: &str| {
        let recording = Recording::read(&store.find(name).unwrap()).unwrap();
        (recording.side(name), recording)
    };
    let ((before, first), (after, second)) = std::thread::scope(|scope| {
        let before = scope.spawn(|| read(before));
        let after = read(after);
        (before.join().unwrap(), after)
    });
    let recordings = [first, second];
    let mut history = History::open_with(store, &recordings).unwrap();
    let past = history.past(after.run_id.as_deref(), after.config_fingerprint.as_deref()).unwrap();
    compare(&before, &after, &past, &Rules::default()).examples.len()
}

/// Processor time of all threads of this process.
fn processor_time() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec.unsigned_abs(), u32::try_from(used.tv_nsec).unwrap_or_default())
}
