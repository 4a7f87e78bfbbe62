//! Files of the original collector are read here, and ours by a reader like the original's.
//!
//! The Python in this file is written from the specification: `json`, `datetime.fromisoformat`
//! and the specification's classes, nothing else.

use std::io::Write as _;
use std::process::{Command, Stdio};

use proctor_journal::{Change, Lesson, OutcomeStatus, Resolution, RootCause, Strategy};

use crate::support::{SEED_SESSION, TestJournal};

/// The active entry as the specification prints it.
const SEED_CURRENT: &str = r#"{
  "id": "ghap_20251203_143022_a1b2c3",
  "session_id": "session_20251203_140000_x7y8z9",
  "created_at": "2025-12-03T14:30:22Z",
  "domain": "debugging",
  "strategy": "systematic-elimination",
  "goal": "Fix flaky test in test_cache.py",
  "hypothesis": "The flakiness is caused by test pollution",
  "action": "Adding teardown",
  "prediction": "Test will pass consistently",
  "history": [
    {
      "timestamp": "2025-12-03T14:30:22Z",
      "hypothesis": "Timing issue with cache expiry",
      "action": "Adding explicit sleep",
      "prediction": "Test passes with the added delay"
    }
  ],
  "iteration_count": 2,
  "notes": ["Checked logs"]
}"#;

/// A resolved line as the specification prints it, with Python's spacing.
const SEED_LINE: &str = r#"{"id": "ghap_20251203_141500_b2c3d4", "session_id": "session_20251203_140000_x7y8z9", "created_at": "2025-12-03T14:15:00Z", "domain": "feature", "strategy": "research-first", "goal": "Add pagination to API", "hypothesis": "...", "action": "...", "prediction": "...", "history": [], "iteration_count": 1, "outcome": {"status": "confirmed", "result": "Pagination works correctly", "captured_at": "2025-12-03T14:20:00Z", "auto_captured": false}, "confidence_tier": "silver", "notes": []}"#;

/// Reads a file of ours as the specification's classes would, and fails on anything odd.
const READER: &str = r#"
import json, sys
from datetime import datetime, timedelta
DOMAINS = "debugging refactoring feature testing configuration documentation performance security integration".split()
STRATEGIES = ("systematic-elimination trial-and-error research-first divide-and-conquer root-cause-analysis "
              "copy-from-similar check-assumptions read-the-error ask-user").split()

def time(text):
    assert isinstance(text, str) and text.endswith("Z"), text
    for form in (text, text[:-1] + "+00:00"):
        moment = datetime.fromisoformat(form)
        assert moment.tzinfo is not None and moment.utcoffset() == timedelta(0), text

def text(value):
    assert isinstance(value, str), value
    value.encode("utf-8")

def check(entry):
    for name in ("id", "session_id", "goal", "hypothesis", "action", "prediction"):
        text(entry[name])
    time(entry["created_at"])
    assert entry["domain"] in DOMAINS and entry["strategy"] in STRATEGIES
    assert type(entry["iteration_count"]) is int
    assert isinstance(entry["history"], list) and isinstance(entry["notes"], list)
    for note in entry["notes"]:
        text(note)
    for item in entry["history"]:
        time(item["timestamp"])
        for name in ("hypothesis", "action", "prediction"):
            text(item[name])
    outcome = entry.get("outcome")
    if outcome is not None:
        assert outcome["status"] in ("confirmed", "falsified", "abandoned")
        text(outcome["result"]); time(outcome["captured_at"])
        assert type(outcome["auto_captured"]) is bool
        assert entry["confidence_tier"] in ("gold", "silver", "bronze", "abandoned")
    if entry.get("root_cause") is not None:
        text(entry["root_cause"]["category"]); text(entry["root_cause"]["description"])
    if entry.get("lesson") is not None:
        text(entry["lesson"]["what_worked"])
    known = set("id session_id created_at domain strategy goal hypothesis action prediction history iteration_count "
                "outcome surprise root_cause lesson confidence_tier notes".split())
    assert list(k for k in entry if k in known) == list(entry)[: sum(k in known for k in entry)], list(entry)

kind, path = sys.argv[1:3]
with open(path, encoding="utf-8") as f:
    if kind == "current":
        check(json.load(f)); print(1)
    else:
        lines = [line for line in f if line.strip()]
        for line in lines:
            check(json.loads(line))
        print(len(lines))
"#;

/// Writes files the way Python programs do.
const WRITER: &str = r#"
import json, os, sys
from datetime import datetime, timezone
d = sys.argv[1]
now = datetime(2025, 12, 3, 14, 30, 22, 123456, tzinfo=timezone.utc)
entry = {"id": "ghap_20251203_143022_a1b2c3", "session_id": "session_20251203_140000_x7y8z9",
  "created_at": now.isoformat(), "domain": "debugging", "strategy": "ask-user", "goal": "Größe \ud83d\ude00 \ud800",
  "hypothesis": "h", "action": "a", "prediction": "p", "history": [], "iteration_count": 1, "outcome": None,
  "surprise": None, "root_cause": None, "lesson": None, "confidence_tier": None, "notes": [], "score": 0.1}
os.makedirs(d + "/archive", exist_ok=True)
json.dump(entry, open(d + "/current_ghap.json", "w"), indent=2)
open(d + "/.session_id", "w").write("session_20251203_140000_x7y8z9")
open(d + "/.tool_count", "w").write("7")
done = dict(entry, id="ghap_20251203_141500_b2c3d4", confidence_tier="gold",
  outcome={"status": "falsified", "result": "r", "captured_at": "2025-12-03T14:20:00Z", "auto_captured": True})
with open(d + "/session_entries.jsonl", "w", newline="\r\n") as f:
    f.write("\ufeff" + json.dumps(done) + "\n")
with open(d + "/archive/20251204_session_20251202_093000_def456.jsonl", "w") as f:
    f.write(json.dumps(dict(done, id="old", session_id="session_20251202_093000_def456")) + "\n")
"#;

fn python(program: &str, arguments: &[&str]) -> String {
    let mut child = Command::new("python3")
        .arg("-")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 is needed for the interoperability tests");
    child.stdin.take().unwrap().write_all(program.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{program}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn the_specifications_own_examples_are_read() {
    let fixture = TestJournal::new();
    fixture.write(".session_id", SEED_SESSION);
    fixture.write("current_ghap.json", SEED_CURRENT);
    fixture.write("session_entries.jsonl", format!("{SEED_LINE}\n"));
    let current = fixture.current().unwrap();
    assert_eq!((current.id.as_str(), current.iteration_count), ("ghap_20251203_143022_a1b2c3", 2));
    assert_eq!(current.history[0].hypothesis, "Timing issue with cache expiry");
    let entries = fixture.journal.session_entries().unwrap().value;
    assert_eq!(entries[0].status(), Some(OutcomeStatus::Confirmed));
    fixture.end();
    let archive = fixture.read(&format!("archive/20251203_{SEED_SESSION}.jsonl"));
    assert!(archive.starts_with(SEED_LINE), "moved byte for byte");
    assert_eq!(archive.lines().count(), 2);
}

#[test]
fn an_entry_of_the_specification_is_written_back_as_it_was() {
    let entry: proctor_journal::Entry = serde_json::from_str(SEED_CURRENT).unwrap();
    let written: serde_json::Value = serde_json::to_value(&entry).unwrap();
    assert_eq!(written, serde_json::from_str::<serde_json::Value>(SEED_CURRENT).unwrap());
    let line: proctor_journal::Entry = serde_json::from_str(SEED_LINE).unwrap();
    let ours = serde_json::to_string(&line).unwrap();
    assert_eq!(ours, SEED_LINE.replace("\": ", "\":").replace(", \"", ",\""), "the same key order");
}

#[test]
fn a_fresh_entry_has_the_specifications_key_set_and_order() {
    let fixture = TestJournal::new();
    fixture.create("goal");
    let text = fixture.read("current_ghap.json");
    let keys: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("  \"")?.split('"').next()).collect();
    assert_eq!(
        keys,
        [
            "id",
            "session_id",
            "created_at",
            "domain",
            "strategy",
            "goal",
            "hypothesis",
            "action",
            "prediction",
            "history",
            "iteration_count",
            "notes"
        ]
    );
}

#[test]
fn python_reads_what_we_write() {
    let fixture = TestJournal::new();
    fixture.start();
    fixture.create("Größe 😀 \u{0} \" \\ \u{2028}");
    let change = Change {
        hypothesis: Some("second".into()),
        strategy: Some(Strategy::AskUser),
        note: Some("note".into()),
        confidence: Some(0.7),
        ..Change::default()
    };
    fixture.journal.update(change, &fixture.now()).unwrap();
    let current = fixture.path("current_ghap.json");
    assert_eq!(python(READER, &["current", current.to_str().unwrap()]), "1");
    let resolution = Resolution {
        surprise: Some("s".into()),
        root_cause: Some(RootCause::new("oversight", "d")),
        lesson: Some(Lesson::new("w", None)),
        auto_captured: true,
        ..Resolution::new(OutcomeStatus::Falsified, "r")
    };
    fixture.journal.resolve(resolution, &fixture.now()).unwrap();
    fixture.create("second");
    fixture.journal.abandon("enough", &fixture.now()).unwrap();
    let lines = fixture.path("session_entries.jsonl");
    assert_eq!(python(READER, &["lines", lines.to_str().unwrap()]), "2");
    fixture.end();
    let archive = fixture.path(&format!("archive/{}", fixture.names("archive")[0]));
    assert_eq!(python(READER, &["lines", archive.to_str().unwrap()]), "2");
}

#[test]
fn we_read_what_python_writes() {
    let fixture = TestJournal::new();
    python(WRITER, &[fixture.dir().to_str().unwrap()]);
    let current = fixture.current().unwrap();
    assert_eq!(current.goal, "Größe 😀 \u{fffd}");
    assert_eq!(current.created_at.to_string(), "2025-12-03T14:30:22.123456Z");
    assert_eq!(current.extra.get("score"), Some("0.1"));
    assert_eq!(fixture.journal.tool_count().unwrap().value, 7);
    let entries = fixture.journal.session_entries().unwrap();
    assert_eq!((entries.value.len(), entries.warnings.len()), (1, 0));
    // An archive under another date than the session's is still that session's archive.
    fixture.start_as("session_20251202_093000_def456");
    assert_eq!(fixture.journal.session_entries().unwrap().value[0].id, "old");
    let change = Change { note: Some("n".into()), ..Change::default() };
    fixture.journal.adopt_orphan(&fixture.now()).unwrap();
    fixture.journal.update(change, &fixture.now()).unwrap();
    assert_eq!(
        python(READER, &["current", fixture.path("current_ghap.json").to_str().unwrap()]),
        "1"
    );
    assert!(!fixture.exists(".gitignore"), "a journal that someone else filled is left as it is");
}
