//! Killed at a random moment, 200 times: what was published is on disk, and nobody is left behind.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use proctor_record::{Entry, ProblemKind, Reader};
use proctor_testkit::processes_with;

const RUNS: u32 = 200;

#[test]
fn two_hundred_kills_lose_nothing_and_leave_nobody() {
    // A fixed sequence of moments: a failure can be run again.
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for run in 0..RUNS {
        let folder = tempfile::tempdir().unwrap();
        let token = format!("proctor-kill-test-{}-{run}", std::process::id());
        let mut host = Command::new(env!("CARGO_BIN_EXE_crash_host"))
            .arg(folder.path())
            .arg(&token)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let printed = kill_after(&mut host, 1 + random.below(1500));
        let recorded = read_back(&folder.path().join(".proctor/runs/run/events.jsonl"), run);
        let lost: Vec<&u64> = printed.difference(&recorded).collect();
        assert!(lost.is_empty(), "run {run}: published but not on disk: {lost:?}");
        assert_gone(&token, run);
    }
}

/// Kills the host once it has printed so many numbers; returns all that it printed.
fn kill_after(host: &mut Child, count: u64) -> BTreeSet<u64> {
    let mut lines = BufReader::new(host.stdout.take().unwrap());
    let mut text = String::new();
    for _ in 0..count {
        lines.read_line(&mut text).unwrap();
    }
    host.kill().unwrap();
    host.wait().unwrap();
    lines.read_to_string(&mut text).unwrap();
    // The last line may have been cut; every line that ended was printed whole.
    let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
    whole.lines().map(|line| line.parse().unwrap()).collect()
}

/// The numbers on disk, which must run from 1 without a gap; only the very end may be torn.
fn read_back(path: &std::path::Path, run: u32) -> BTreeSet<u64> {
    let mut seqs = BTreeSet::new();
    for entry in Reader::open(path).unwrap() {
        match entry {
            Entry::Event { event, .. } => {
                let seq = event.seq.unwrap();
                assert_eq!(seq, seqs.len() as u64 + 1, "run {run}");
                seqs.insert(seq);
            }
            Entry::Problem(problem) => assert_eq!(problem.kind, ProblemKind::Torn, "run {run}"),
        }
    }
    seqs
}

fn assert_gone(token: &str, run: u32) {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let left = processes_with(token);
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "run {run}: still there: {left:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A small generator (splitmix64); tests need moments, not secrets.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}
