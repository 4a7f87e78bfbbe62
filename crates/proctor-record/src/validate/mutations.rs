//! S6: 34 of 100 recordings that somebody had changed passed. Real recordings are changed here in every way that a line, a byte or a
//! number can be, by a fixed seed, and every change must be found.

use std::path::Path;
use std::sync::Arc;

use proctor_events::{Event, Published, Recorder as _};

use super::{DigestState, RecordingState, Validation, validate};
use crate::reader::Reader;
use crate::recorder::JsonlRecorder;

/// The same recording as the present version writes it.
pub(super) fn with_digests(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.jsonl");
    let mut recorder = JsonlRecorder::append(&path).unwrap();
    for line in text.lines() {
        recorder.record(&[Arc::new(Published::new(Event::from_json(line).unwrap()))]).unwrap();
    }
    std::fs::read_to_string(path).unwrap()
}

/// Numbers that look random and are the same every time (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }
}

fn checked(bytes: &[u8]) -> Validation {
    validate(Reader::new(bytes))
}

fn recordings() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/8d3abcc/runs");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(path.join("events.jsonl")).unwrap();
        all.push((path.file_name().unwrap().to_string_lossy().into_owned(), text));
    }
    all.sort();
    all
}

/// Every way to change a recording: what was done, and what came of it.
fn mutations(text: &str, numbers: &mut Numbers) -> Vec<(String, Vec<u8>)> {
    let lines: Vec<&str> = text.lines().collect();
    let join = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let mut all: Vec<(String, Vec<u8>)> = Vec::new();
    for place in 0..lines.len() {
        let mut less = lines.clone();
        less.remove(place);
        all.push((format!("delete line {}", place + 1), join(&less).into_bytes()));
        let mut more = lines.clone();
        more.insert(numbers.below(lines.len()), lines[place]);
        all.push((format!("duplicate line {}", place + 1), join(&more).into_bytes()));
        let other = numbers.below(lines.len());
        if lines[other] != lines[place] {
            let mut swapped = lines.clone();
            swapped.swap(place, other);
            let name = format!("swap lines {} and {}", place + 1, other + 1);
            all.push((name, join(&swapped).into_bytes()));
        }
        all.push((format!("truncate after line {place}"), join(&lines[..place]).into_bytes()));
    }
    for _ in 0..200 {
        let (place, bit) = (numbers.below(text.len()), numbers.below(8));
        let mut bytes = text.as_bytes().to_vec();
        bytes[place] ^= 1 << bit;
        all.push((format!("flip bit {bit} of byte {place}"), bytes));
        let cut = numbers.below(text.len() - 1);
        all.push((format!("truncate after byte {cut}"), text.as_bytes()[..cut].to_vec()));
    }
    all.extend(replacements(text));
    all
}

/// Statuses, counts and times that were changed by hand.
fn replacements(text: &str) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for (from, to) in [
        ("\"status\":\"failed\"", "\"status\":\"passed\""),
        ("\"status\":\"crashed\"", "\"status\":\"passed\""),
        ("\"status\":\"passed\"", "\"status\":\"failed\""),
        ("\"status\":\"not_run\"", "\"status\":\"passed\""),
        ("\"final\":true", "\"final\":false"),
        ("\"final\":false", "\"final\":true"),
        ("\"passed\":true", "\"passed\":false"),
        ("\"failure_count\":1", "\"failure_count\":0"),
        ("\"example_count\":", "\"example_count\":1"),
        ("\"exit_code\":1", "\"exit_code\":0"),
        ("\"duration_ms\":", "\"duration_ms\":-"),
        ("\"attempt\":1", "\"attempt\":2"),
        ("\"text\":\"", "\"text\":\"not "),
    ] {
        for (place, _) in text.match_indices(from) {
            let changed = format!("{}{to}{}", &text[..place], &text[place + from.len()..]);
            all.push((format!("{from} to {to} at byte {place}"), changed.into_bytes()));
        }
    }
    all
}

/// Whether a change is found: the recording is worth less than before, or a line is said to be changed.
fn is_found(before: &Validation, after: &Validation) -> bool {
    after.events == 0
        || after.state > before.state
        || after.runs.iter().any(|run| run.digest == DigestState::Differs)
        || (after.state == RecordingState::Damaged && after.findings != before.findings)
        // Of a recording that was cut off, more can be cut off.
        || (after.state == RecordingState::CutOff && after.runs[0].finished < before.runs[0].finished)
        || (after.state == RecordingState::CutOff && after.events < before.events)
}

#[test]
fn s6_every_change_to_a_recording_is_found() {
    let mut numbers = Numbers(0x5eed_0006);
    let (mut tried, mut missed) = (0, Vec::new());
    for (name, text) in recordings() {
        let text = with_digests(&text);
        let before = checked(text.as_bytes());
        assert!(before.runs.iter().all(|run| run.digest == DigestState::Matches), "{name}");
        for (what, bytes) in mutations(&text, &mut numbers) {
            tried += 1;
            if !is_found(&before, &checked(&bytes)) {
                missed.push(format!("{name}: {what}"));
            }
        }
    }
    assert!(tried > 5_000, "{tried}");
    assert_eq!(missed, [""; 0], "{} of {tried}", missed.len());
}

/// Recordings without digests rest on what their events say of each other: lines that come and go are found, and most of what is counted.
#[test]
fn s6_lines_that_come_and_go_are_found_without_digests_too() {
    let mut numbers = Numbers(0x5eed_0007);
    let (mut tried, mut missed) = (0, Vec::new());
    for (name, text) in recordings() {
        let before = checked(text.as_bytes());
        for (what, bytes) in mutations(&text, &mut numbers) {
            let lines = ["delete", "duplicate", "swap", "truncate"];
            // Numbers are compared at the end of a run.
            let numbers = ["\"status\"", "\"final\"", "\"example_count\""];
            let starts = |starts: &[&str]| starts.iter().any(|start| what.starts_with(start));
            if starts(&lines) || starts(&numbers) && text.contains("SuiteFinished") {
                tried += 1;
                if !is_found(&before, &checked(&bytes)) {
                    missed.push(format!("{name}: {what}"));
                }
            }
        }
    }
    assert!(tried > 2_000, "{tried}");
    assert_eq!(missed, [""; 0], "{} of {tried}", missed.len());
}
