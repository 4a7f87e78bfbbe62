//! Hooks: the host's shapes in and out, and an answer whatever happens.

use proctor_journal::disk::LockWait;
use proctor_journal::hook::{HookReply, Options};
use proctor_journal::{Draft, Journal, OutcomeStatus};
use serde_json::{Value, json};

use crate::support::{TestJournal, draft};

fn send(fixture: &TestJournal, input: &Value) -> HookReply {
    fixture.journal.hook(input.to_string().as_bytes(), Options { frequency: 3 }, &fixture.now())
}

fn context(reply: &HookReply, event: &str) -> Option<String> {
    let answer: Value = serde_json::from_str(&reply.stdout).unwrap();
    let special = answer.get("hookSpecificOutput")?;
    assert_eq!(special["hookEventName"], event);
    Some(special["additionalContext"].as_str().unwrap().to_owned())
}

fn event(name: &str, session: &str) -> Value {
    json!({
        "session_id": session, "transcript_path": "/x/t.jsonl", "cwd": "/project",
        "permission_mode": "default", "hook_event_name": name
    })
}

fn bash(name: &str, command: &str, more: &Value) -> Value {
    let mut input = event(name, "host-1");
    input["tool_name"] = json!("Bash");
    input["tool_input"] = json!({ "command": command });
    for (key, value) in more.as_object().unwrap() {
        input[key] = value.clone();
    }
    input
}

#[test]
fn session_start_uses_the_hosts_id_and_tells_of_an_orphan() {
    let fixture = TestJournal::new();
    let reply = send(&fixture, &event("SessionStart", "host-1"));
    assert_eq!(reply.stdout, "{}");
    assert_eq!(fixture.journal.session_id().unwrap().as_deref(), Some("host-1"));
    let entry = fixture.create("goal");
    let again = send(&fixture, &event("SessionStart", "host-1"));
    assert!(context(&again, "SessionStart").unwrap().contains("is active"), "a resumption");
    let other = send(&fixture, &event("SessionStart", "host-2"));
    let text = context(&other, "SessionStart").unwrap();
    assert!(text.contains(&entry.id) && text.contains("Adopt it"), "{text}");
}

#[test]
fn session_end_ends_only_its_own_session() {
    let fixture = TestJournal::new();
    fixture.start_as("host-1");
    fixture.create("goal");
    send(&fixture, &event("SessionEnd", "someone-else"));
    assert!(fixture.current().is_some());
    let reply = send(&fixture, &event("SessionEnd", "host-1"));
    assert_eq!(reply.stdout, "{}");
    assert_eq!(fixture.journal.session_id().unwrap(), None);
    assert!(fixture.archived().contains("session ended"));
}

#[test]
fn every_third_tool_checks_in_once() {
    let fixture = TestJournal::new();
    fixture.start_as("host-1");
    let tool = bash("PreToolUse", "ls", &json!({}));
    for _ in 0..5 {
        assert_eq!(send(&fixture, &tool).stdout, "{}", "no entry, no check-in");
    }
    let entry = fixture.create("goal");
    let text = context(&send(&fixture, &tool), "PreToolUse").unwrap();
    assert!(text.contains("check-in after 6 tool calls") && text.contains(&entry.id), "{text}");
    let said: Vec<bool> =
        (0..6).map(|_| context(&send(&fixture, &tool), "PreToolUse").is_some()).collect();
    assert_eq!(said, [false, false, true, false, false, true]);
}

#[test]
fn failing_tests_reach_the_entry_though_the_host_uses_another_event() {
    let fixture = TestJournal::new();
    fixture.start_as("host-1");
    let stated = Draft { expectation: Some("fail".parse().unwrap()), ..draft("goal") };
    fixture.journal.create(stated, &fixture.now()).unwrap();
    let failed = json!({ "error": "Exit code 1\n=== 3 failed, 42 passed in 1.2s ===", "is_interrupt": false });
    let reply = send(&fixture, &bash("PostToolUseFailure", "pytest -x", &failed));
    let text = context(&reply, "PostToolUseFailure").unwrap();
    assert!(text.contains("42 passed, 3 failed") && text.contains("confirmed"), "{text}");
    let entry = fixture.current().unwrap();
    assert_eq!(entry.evidence.len(), 1, "attached, not resolved");
    assert_eq!(entry.evidence[0].exit, Some(1));
}

#[test]
fn passing_tests_are_attached_and_a_resolution_is_suggested() {
    let fixture = TestJournal::new();
    fixture.start_as("host-1");
    fixture.create("goal");
    let response = json!({ "tool_response": { "stdout": "5 passed in 0.1s", "stderr": "", "interrupted": false } });
    let reply = send(&fixture, &bash("PostToolUse", "python -m pytest", &response));
    let text = context(&reply, "PostToolUse").unwrap();
    assert!(text.contains("If that decides your prediction, resolve the entry."), "{text}");
    assert_eq!(fixture.current().unwrap().evidence[0].exit, Some(0));
}

#[test]
fn other_tools_other_commands_and_no_entry_are_passed_over() {
    let fixture = TestJournal::new();
    fixture.start_as("host-1");
    let response = json!({ "tool_response": { "stdout": "5 passed in 0.1s" } });
    assert_eq!(send(&fixture, &bash("PostToolUse", "pytest", &response)).stdout, "{}", "no entry");
    fixture.create("goal");
    let before = fixture.current();
    assert_eq!(send(&fixture, &bash("PostToolUse", "ls", &response)).stdout, "{}");
    let mut edit = event("PostToolUse", "host-1");
    edit["tool_name"] = json!("Edit");
    assert_eq!(send(&fixture, &edit).stdout, "{}");
    assert_eq!(send(&fixture, &event("Stop", "host-1")).stdout, "{}");
    assert_eq!(fixture.current(), before);
}

#[test]
fn an_interrupted_command_decides_nothing() {
    let fixture = TestJournal::new();
    fixture.start_as("host-1");
    let stated = Draft { expectation: Some("pass".parse().unwrap()), ..draft("goal") };
    fixture.journal.create(stated, &fixture.now()).unwrap();
    let failed = json!({ "error": "3 failed in 1.2s", "is_interrupt": true });
    let reply = send(&fixture, &bash("PostToolUseFailure", "pytest", &failed));
    assert!(context(&reply, "PostToolUseFailure").unwrap().contains("decides nothing"));
}

#[test]
fn nonsense_gets_a_valid_answer_and_a_line_in_the_log() {
    let fixture = TestJournal::new();
    for nonsense in ["", "not json", "[1", "\u{0}"] {
        let reply = fixture.journal.hook(nonsense.as_bytes(), Options::default(), &fixture.now());
        assert_eq!(reply.stdout, "{}");
        assert_eq!(reply.log.len(), 1);
    }
    for odd in [
        json!(5),
        json!([]),
        json!({}),
        json!({"hook_event_name": 3}),
        json!({"hook_event_name": "New"}),
    ] {
        assert_eq!(send(&fixture, &odd).stdout, "{}", "{odd}");
    }
    let bad = send(&fixture, &event("SessionStart", "../../x"));
    assert_eq!(bad.stdout, "{}");
    assert!(
        bad.log[0].starts_with("SessionStart: `../../x` cannot be a session id"),
        "{:?}",
        bad.log
    );
}

#[test]
fn a_busy_or_broken_journal_does_not_block_the_hook() {
    let fixture = TestJournal::new();
    fixture.start_as("host-1");
    let lock = std::fs::OpenOptions::new().append(true).open(fixture.path(".lock")).unwrap();
    lock.lock().unwrap();
    let hurried = Journal::at(fixture.dir()).lock_wait(LockWait::Milliseconds(5));
    let tool = bash("PreToolUse", "ls", &json!({})).to_string();
    let reply = hurried.hook(tool.as_bytes(), Options::default(), &fixture.now());
    assert_eq!(reply.stdout, "{}");
    assert!(reply.log[0].contains("is held by another process"), "{:?}", reply.log);
    drop(lock);
    fixture.write(".format", "9");
    let reply = hurried.hook(tool.as_bytes(), Options::default(), &fixture.now());
    assert_eq!((reply.stdout.as_str(), reply.log.len()), ("{}", 1));
}

#[test]
fn a_session_through_hooks_alone_keeps_its_entries() {
    let fixture = TestJournal::new();
    send(&fixture, &event("SessionStart", "host-1"));
    fixture.create("one");
    fixture.resolve(OutcomeStatus::Confirmed);
    send(&fixture, &event("SessionEnd", "host-1"));
    send(&fixture, &event("SessionStart", "host-1"));
    assert_eq!(fixture.journal.session_entries().unwrap().value.len(), 1);
    assert_eq!(fixture.names("archive"), ["20251203_host-1.jsonl"]);
}
