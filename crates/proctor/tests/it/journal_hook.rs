//! `proctor journal hook`: whatever comes in, an answer goes out and the exit code is 0.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::env::{Ran, repository};
use crate::journal::JournalProject;

fn hook(book: &JournalProject, arguments: &[&str], input: &[u8]) -> Ran {
    let mut command = book.env.command();
    command.args(["journal", "hook"]).args(arguments);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    // It may answer without reading.
    let _ = child.stdin.take().unwrap().write_all(input);
    let ran = book.env.ran(&child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    ran
}

fn context(book: &JournalProject, arguments: &[&str], input: &Value) -> String {
    let ran = hook(book, arguments, input.to_string().as_bytes());
    let answer: Value = serde_json::from_str(&ran.stdout).expect(&ran.stdout);
    let said = &answer["hookSpecificOutput"];
    if !said.is_null() {
        assert_eq!(said["hookEventName"], input["hook_event_name"]);
    }
    said["additionalContext"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn garbage_is_answered_and_logged() {
    let book = JournalProject::new();
    for garbage in [&b"\xff\xfe{"[..], b"", b"[1, 2]", b"{\"hook_event_name\": 7}"] {
        let ran = hook(&book, &[], garbage);
        assert_eq!(ran.stdout, "{}\n");
    }
    let log = book.env.read(".claude/journal/hook.log");
    assert!(log.contains("the hook's input is not JSON"), "{log}");
    assert!(book.env.project.join(".claude/journal/.gitignore").exists());
    assert_eq!(book.run(&["doctor"]).code, Some(0), "the log is not in the doctor's way");
}

#[test]
fn nothing_that_is_wrong_stops_the_host() {
    let book = JournalProject::new();
    let start = json!({ "hook_event_name": "SessionStart", "session_id": "s" }).to_string();
    let ran = hook(&book, &["--evry", "3"], start.as_bytes());
    assert!(ran.stderr.contains("--evry"), "{}", ran.stderr);
    book.env.write("proctor.toml", "events = 7\n");
    let ran = hook(&book, &[], start.as_bytes());
    assert_eq!(ran.stdout, "{}\n");
    assert!(ran.stderr.contains("events = 7"), "{}", ran.stderr);
    book.env.write("proctor.toml", "");
    book.env.write(".claude/journal", "a file where a folder should be");
    assert_eq!(hook(&book, &[], start.as_bytes()).stdout, "{}\n");
}

#[test]
fn a_session_starts_counts_tools_checks_in_and_ends() {
    let book = JournalProject::new();
    let start = |id: &str| json!({ "hook_event_name": "SessionStart", "session_id": id });
    let tool = json!({ "hook_event_name": "PreToolUse", "session_id": "s1", "tool_name": "Read" });
    assert_eq!(context(&book, &[], &start("s1")), "");
    assert_eq!(book.ok(&["session", "id"]), "s1\n");
    let id = book.create(&[]);
    assert_eq!(context(&book, &["--every", "2"], &tool), "");
    let said = context(&book, &["--every", "2"], &tool);
    assert!(said.contains("check-in after 2 tool calls") && said.contains(&id), "{said}");
    assert_eq!(book.ok(&["session", "count"]), "0\n");
    let said = context(&book, &[], &start("s2"));
    assert!(said.contains("Adopt it") && said.contains(&id), "{said}");
    let end = json!({ "hook_event_name": "SessionEnd", "session_id": "s2" });
    assert_eq!(context(&book, &[], &end), "");
    assert_eq!(book.ok(&["session", "id"]), "no session is open\n");
    assert_eq!(book.entry(&id)["outcome"]["status"], "abandoned");
}

#[test]
fn the_result_of_tests_is_attached_not_decided() {
    let book = JournalProject::new();
    let id = book.create(&["--expect", "pass"]);
    let failed = json!({
        "hook_event_name": "PostToolUseFailure",
        "tool_name": "Bash",
        "tool_input": { "command": "bundle exec rspec" },
        "error": "Exit code 1\n\nFinished in 0.1 seconds\n3 examples, 1 failure\n",
    });
    let said = context(&book, &[], &failed);
    assert!(said.contains("2 passed, 1 failed") && said.contains("falsified"), "{said}");
    let entry = book.entry(&id);
    assert_eq!((&entry["evidence"][0]["exit"], &entry["outcome"]), (&1.into(), &Value::Null));
}

#[test]
fn a_held_lock_does_not_hold_up_the_agent() {
    let book = JournalProject::new();
    book.create(&[]);
    let path = book.env.project.join(".claude/journal/.lock");
    let lock = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    lock.lock().unwrap();
    let ran = hook(&book, &[], br#"{"hook_event_name": "PreToolUse"}"#);
    assert_eq!(ran.stdout, "{}\n");
    drop(lock);
    let log = book.env.read(".claude/journal/hook.log");
    assert!(log.contains("is held by another process"), "{log}");
}

#[test]
fn the_configuration_in_the_documentation_works() {
    let page = std::fs::read_to_string(repository().join("docs/journal.md")).unwrap();
    let snippet = page.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let settings: Value = serde_json::from_str(snippet).unwrap();
    let book = JournalProject::new();
    for (event, entries) in settings["hooks"].as_object().unwrap() {
        let command = entries[0]["hooks"][0]["command"].as_str().unwrap();
        assert_eq!(command, "proctor journal hook");
        context(&book, &[], &json!({ "hook_event_name": event, "session_id": "s" }));
    }
    assert_eq!(book.env.read(".claude/journal/hook.log"), "");
}

fn bash(command: &str, stdout: &str, cwd: &str) -> Value {
    json!({
        "hook_event_name": "PostToolUse", "session_id": "s", "cwd": cwd, "tool_name": "Bash",
        "tool_input": { "command": command },
        "tool_response": { "stdout": stdout, "stderr": "", "interrupted": false }
    })
}

/// V10: what ran no tests is not even attached.
#[test]
fn v10_commands_that_run_no_tests_are_passed_over() {
    let book = JournalProject::new();
    let id = book.create(&["--expect", "pass"]);
    for command in [
        "pip install pytest",
        "git commit -m 'add pytest config'",
        "grep -rn jest src",
        "pytest --version",
        "pytest --collect-only",
        "cargo test --no-run",
        "man pytest",
        "cat pytest.log",
        "ls # pytest",
    ] {
        let cwd = book.env.project.display().to_string();
        assert_eq!(context(&book, &[], &bash(command, "45 passed in 1.2s", &cwd)), "", "{command}");
    }
    let said = context(&book, &[], &bash("pytest | tail -1", "45 passed in 1.2s", ""));
    assert!(said.contains("decides nothing"), "{said}");
    let said = context(&book, &[], &bash("pytest | tail -1", "1 failed, 45 passed in 1.2s", ""));
    assert!(said.contains("that would be falsified"), "{said}");
    assert_eq!(book.entry(&id)["evidence"].as_array().unwrap().len(), 2);
}

#[test]
fn the_project_is_that_of_the_payloads_cwd() {
    let book = JournalProject::new();
    let id = book.create(&["--expect", "pass"]);
    let sub = book.env.project.join("deep/sub");
    std::fs::create_dir_all(&sub).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let from = |input: &Value| {
        let mut command = book.env.command();
        command.current_dir(elsewhere.path()).args(["journal", "hook"]);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
        book.env.ran(&child.wait_with_output().unwrap())
    };
    let ran = from(&bash("pytest", "45 passed in 1.2s", &sub.display().to_string()));
    assert!(ran.stdout.contains("that would be confirmed"), "{}", ran.terminal());
    assert_eq!(book.entry(&id)["evidence"].as_array().unwrap().len(), 1);
    assert!(!elsewhere.path().join(".claude").exists());
    // A folder that is not there is no project; the hook's own folder is taken.
    assert_eq!(from(&bash("pytest", "1 passed in 1.2s", "/no/such/folder")).stdout, "{}\n");
}

/// V12: the hook reads our own runs from their recordings.
#[test]
fn v12_the_hook_reads_our_own_runs_from_their_recordings() {
    let book = JournalProject::new();
    book.create(&["--expect", "pass"]);
    book.env.write("spec/a_spec.rb", "RSpec.describe(1) { it { }; it { raise 'x' } }");
    assert_eq!(book.env.run(&["run", "--ui", "terse"]).code, Some(1));
    let cwd = book.env.project.display().to_string();
    // Nothing of the summary is left, and the exit code is that of `true`.
    let said =
        context(&book, &[], &bash("proctor run --ui terse | grep nothing || true", "", &cwd));
    assert!(said.contains("1 passed, 1 failed") && said.contains("falsified"), "{said}");
    let other =
        context(&book, &[], &bash("proctor run --ui lines | grep nothing || true", "", &cwd));
    assert!(other.contains("decides nothing"), "another command line: {other}");
}

#[test]
fn invalid_utf8_in_a_payload_becomes_the_replacement_character() {
    let book = JournalProject::new();
    let id = book.create(&[]);
    let text = bash("pytest", "BAD\n5 passed in 0.1s", &book.env.project.display().to_string());
    let mut bytes = text.to_string().into_bytes();
    let place = bytes.windows(3).position(|part| part == b"BAD").unwrap();
    bytes[place] = 0xff;
    let _ = hook(&book, &[], &bytes);
    let tail = book.entry(&id)["evidence"][0]["output_tail"].as_str().unwrap().to_owned();
    assert!(tail.contains("\u{fffd}AD"), "{tail}");
}
