//! Many processes on one journal: counts are exact, and no process resolves the entry of another.
//!
//! The children are this test binary again; their environment names their role.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use jiff::Timestamp;
use proctor_journal::{Change, EntryPlace, Filter, Journal, Moment, OutcomeStatus, Resolution};

use crate::support::draft;

const PROCESSES: u64 = 4;
const ROLE: &str = "PROCTOR_JOURNAL_TEST_ROLE";

fn start(role: &str, number: u64, dir: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "stress::child", "--ignored", "--nocapture", "--test-threads=1"])
        .env(ROLE, format!("{role} {number}"))
        .env("PROCTOR_JOURNAL_TEST_DIR", dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn run_all(role: &str, dir: &Path) {
    let children: Vec<Child> = (0..PROCESSES).map(|number| start(role, number, dir)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
}

/// Moments of one process: real time does not matter, only that nonces differ.
struct Moments(u64);

impl Moments {
    fn next(&mut self) -> Moment {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(0x9e37_79b9);
        Moment::new(Timestamp::from_second(1_764_772_222).unwrap(), self.0)
    }
}

#[test]
#[ignore = "a child process of the tests below"]
fn child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let dir = std::env::var("PROCTOR_JOURNAL_TEST_DIR").unwrap();
    let (role, number) = role.split_once(' ').unwrap();
    let number: u64 = number.parse().unwrap();
    let mut moments = Moments((number + 1) << 32);
    let journal = Journal::open(dir).unwrap();
    match role {
        "count" => count(&journal, &mut moments),
        "lane" => in_lane(journal, number, &mut moments),
        "shared" => in_one_lane(&journal, number, &mut moments),
        "forever" => forever(&journal, &mut moments),
        other => panic!("{other}"),
    }
}

fn count(journal: &Journal, moments: &mut Moments) {
    for _ in 0..150 {
        journal.increment_tool_count(&moments.next()).unwrap();
    }
}

fn in_lane(journal: Journal, number: u64, moments: &mut Moments) {
    let journal = journal.lane(&format!("agent-{number}")).unwrap();
    for round in 0..20 {
        journal.create(draft(&format!("agent-{number} round {round}")), &moments.next()).unwrap();
        journal.resolve(mine(number), &moments.next()).unwrap();
    }
}

fn mine(number: u64) -> Resolution {
    Resolution::new(OutcomeStatus::Confirmed, format!("agent-{number}"))
}

/// Creates and resolves entries until it has made enough of them.
fn in_one_lane(journal: &Journal, number: u64, moments: &mut Moments) {
    let mut turns = 0;
    while turns < 15 {
        if journal.create(draft(&format!("agent-{number}")), &moments.next()).is_err() {
            std::thread::yield_now();
            continue;
        }
        let note = Change { note: Some(format!("agent-{number}")), ..Change::default() };
        journal.update(note, &moments.next()).unwrap();
        journal.resolve(mine(number), &moments.next()).unwrap();
        turns += 1;
    }
}

/// Works until it is killed, and says what was acknowledged.
#[expect(clippy::print_stdout, reason = "the parent reads what was acknowledged")]
fn forever(journal: &Journal, moments: &mut Moments) {
    loop {
        if let Ok(created) = journal.create(draft("goal"), &moments.next()) {
            println!("\ncreated {}", created.value.id);
        }
        if let Ok(resolved) = journal.resolve(mine(0), &moments.next()) {
            println!("\nresolved {}", resolved.value.id);
        }
    }
}

#[test]
fn defect_19_increments_of_many_processes_are_all_counted() {
    let temp = tempfile::tempdir().unwrap();
    run_all("count", temp.path());
    let journal = Journal::open(temp.path()).unwrap();
    assert_eq!(journal.tool_count().unwrap().value, PROCESSES * 150);
}

#[test]
fn defect_20_lanes_keep_the_entries_of_many_processes_apart() {
    let temp = tempfile::tempdir().unwrap();
    run_all("lane", temp.path());
    let journal = Journal::open(temp.path()).unwrap();
    let all = journal.list(&Filter::default()).unwrap();
    assert_eq!(all.warnings, []);
    assert_eq!(all.value.len() as u64, PROCESSES * 20);
    for found in &all.value {
        let lane = found.lane.as_deref().unwrap();
        assert!(found.entry.goal.starts_with(&format!("{lane} ")), "{}", found.entry.goal);
        assert_eq!(found.entry.outcome.as_ref().unwrap().result, lane);
    }
}

#[test]
fn defect_20_one_lane_is_shared_without_resolving_each_others_entries() {
    let temp = tempfile::tempdir().unwrap();
    run_all("shared", temp.path());
    let journal = Journal::open(temp.path()).unwrap();
    let all = journal.list(&Filter::default()).unwrap();
    assert_eq!(all.warnings, []);
    assert_eq!(all.value.len() as u64, PROCESSES * 15);
    for found in &all.value {
        let entry = &found.entry;
        assert_eq!(entry.outcome.as_ref().unwrap().result, entry.goal);
        assert_eq!(entry.notes, std::slice::from_ref(&entry.goal));
    }
    assert_eq!(journal.session_entries().unwrap().value.len(), all.value.len());
}

#[test]
fn killed_processes_lose_nothing_they_had_acknowledged() {
    let temp = tempfile::tempdir().unwrap();
    let mut created = Vec::new();
    let mut resolved = Vec::new();
    for round in 0..8_u64 {
        let mut child = start("forever", round, temp.path());
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Kill at a point of the work, not of time: after so many acknowledgements.
        let mut left = 5 + round;
        while left > 0 {
            let line = lines.next().unwrap().unwrap();
            if note_line(&line, &mut created, &mut resolved) {
                left -= 1;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        for line in lines.map_while(Result::ok) {
            note_line(&line, &mut created, &mut resolved);
        }
    }
    let journal = Journal::open(temp.path()).unwrap();
    let all = journal.list(&Filter::default()).unwrap().value;
    for id in &created {
        assert_eq!(all.iter().filter(|found| found.entry.id == *id).count(), 1, "{id}");
    }
    for id in &resolved {
        let found = all.iter().find(|found| found.entry.id == *id).unwrap();
        assert_ne!(found.place, EntryPlace::Active, "{id}");
    }
    assert!(resolved.len() >= 8);
}

fn note_line(line: &str, created: &mut Vec<String>, resolved: &mut Vec<String>) -> bool {
    // A line may be cut by the kill; ids have one length.
    const LENGTH: usize = "ghap_20251203_143022_a1b2c3".len();
    match line.split_once(' ') {
        Some(("created", id)) if id.len() == LENGTH => created.push(id.to_owned()),
        Some(("resolved", id)) if id.len() == LENGTH => resolved.push(id.to_owned()),
        _ => return false,
    }
    true
}
