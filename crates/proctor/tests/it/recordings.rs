//! `show`, `watch` and `validate` over real files.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use crate::env::TestEnv;

const FLOW: &str = include_str!("../../../proctor-record/tests/seed_flow.jsonl");

#[test]
fn show_prints_a_transcript() {
    let env = TestEnv::new();
    env.write("events.jsonl", FLOW);
    insta::assert_snapshot!(env.run(&["show", "events.jsonl", "--full"]).terminal());
}

#[test]
fn show_as_json_has_summary_run_and_problems() {
    let env = TestEnv::new();
    env.write("events.jsonl", &format!("{FLOW}oops\n"));
    let ran = env.run(&["show", "events.jsonl", "--format", "json"]);
    let shown: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(shown["summary"]["passed"], 1);
    assert_eq!(
        shown["run"]["examples"][0]["attempts"][0]["conversation"]["turns"][0]["topic"],
        "greeting"
    );
    assert_eq!(
        shown["problems"][0],
        "line 13: not a JSON object: expected value at line 1 column 1"
    );
}

#[test]
fn show_finds_runs_by_name_and_examples_by_text() {
    let env = TestEnv::new();
    env.write(".proctor/runs/0190-aaa/events.jsonl", FLOW);
    assert!(env.run(&["show"]).stdout.contains("BookingAgent > books venue"));
    assert!(env.run(&["show", "0190", "BOOKS"]).stdout.contains("User   Hi, I need a venue"));
    insta::assert_snapshot!(env.run(&["show", "last", "nothing"]).terminal(), @r"
    --- stderr
    error: no example of this run has `nothing` in its description or as its id
     hint: the run has 1 example; leave the name out to see them
    --- exit 2
    ");
    insta::assert_snapshot!(env.run(&["show", "nowhere.jsonl"]).terminal(), @r"
    --- stderr
    error: no recording `nowhere.jsonl`: not a file, not a run id, not a tag, not `last`; newest runs: 0190-aaa
    --- exit 2
    ");
}

#[test]
fn validate_says_what_is_missing() {
    let env = TestEnv::new();
    // The sample shows one of twelve examples; as it stands, eleven are missing.
    env.write("sample.jsonl", FLOW);
    insta::assert_snapshot!(env.run(&["validate", "sample.jsonl"]).terminal(), @r"
    --- stdout
    error: line 12: counts 1 failures, but 0 are recorded
    error: 12 results were announced, 1 are recorded: the run was cut off
    12 events in 1 run: damaged, no digest
    --- exit 1
    ");
    let whole = r#""example_count":1,"failure_count":0"#;
    env.write("good.jsonl", &FLOW.replace(r#""example_count":12,"failure_count":1"#, whole));
    insta::assert_snapshot!(env.run(&["validate", "good.jsonl"]).terminal(), @r"
    --- stdout
    12 events in 1 run: complete, no digest
    --- exit 0
    ");
    let cut: String = FLOW.lines().take(4).map(|line| format!("{line}\n")).collect();
    env.write("cut.jsonl", &format!("{cut}{{\"event_type\":\"Ag"));
    insta::assert_snapshot!(env.run(&["validate", "cut.jsonl"]).terminal(), @r"
    --- stdout
    note: line 5: incomplete: the writer stopped in the middle of the line; it is ignored
    error: the run has no SuiteFinished: it was cut off, with 1 example running
    4 events in 1 run: cut off, no digest
    --- exit 1
    ");
    env.write("empty.jsonl", "");
    assert_eq!(env.run(&["validate", "empty.jsonl"]).code, Some(2));
}

#[test]
fn watch_follows_a_growing_file_to_its_end() {
    let env = TestEnv::new();
    let path = env.write("events.jsonl", "");
    let mut child =
        env.command().args(["watch", "events.jsonl"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut seen = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    let mut shown = Vec::new();
    for (number, line) in FLOW.lines().enumerate() {
        // A line may come in two halves.
        let (first, second) = line.split_at(line.len() / 2);
        file.write_all(first.as_bytes()).unwrap();
        file.write_all(format!("{second}\n").as_bytes()).unwrap();
        if number == 3 {
            // Live: the user's message is printed long before the run ends.
            shown.extend(seen.by_ref().take(3).map(Result::unwrap));
        }
    }
    shown.extend(seen.map(Result::unwrap));
    assert!(child.wait().unwrap().success());
    insta::assert_snapshot!(shown.join("\n"));
}

/// A writer that died before it wrote the last line feed has still finished its run.
#[test]
fn watch_ends_with_a_last_event_without_line_feed() {
    let env = TestEnv::new();
    env.write("events.jsonl", FLOW.trim_end());
    let output = env.run(&["watch", "events.jsonl", "--lines"]);
    assert_eq!(output.code, Some(0));
    let with_line_feed = format!("{}\n", FLOW.trim_end());
    env.write("events.jsonl", &with_line_feed);
    assert_eq!(env.run(&["watch", "events.jsonl", "--lines"]).stdout, output.stdout);
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let env = TestEnv::new();
    let many: String = (0..20_000)
        .map(|n| format!("{{\"event_type\":\"ExampleFinished\",\"example_id\":\"{n}\",\"status\":\"passed\"}}\n"))
        .collect();
    env.write("events.jsonl", &many);
    let mut child = env
        .command()
        .args(["show", "events.jsonl"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}

/// A browser takes long over a large page: what passed is there with its numbers and little text, what failed is whole.
#[test]
fn the_page_of_a_large_recording_is_an_outline_of_what_passed() {
    let env = TestEnv::new();
    let long = "words ".repeat(50_000);
    let example = |id: &str, status: &str| {
        format!(
            r#"{{"event_type":"ExampleStarted","example_id":"{id}","path":["A","{id}"]}}
{{"event_type":"UserMessage","example_id":"{id}","turn_number":1,"text":"Hi"}}
{{"event_type":"AgentResponse","example_id":"{id}","turn_number":1,"text":"{id} says {long}"}}
{{"event_type":"ExampleFinished","example_id":"{id}","status":"{status}","final":true,"checks":1}}
"#
        )
    };
    let page = |count: usize| {
        let passed: String = (0..count).map(|n| example(&format!("good{n}"), "passed")).collect();
        env.write("events.jsonl", &format!("{passed}{}", example("bad", "failed")));
        let ran = env.run(&["show", "events.jsonl", "--html", "out.html"]);
        assert!(ran.code.is_some_and(|code| code < 2), "{}", ran.terminal());
        env.read("out.html")
    };
    let whole = |id: &str| format!("{id} says {}", long.trim_end());
    let small = page(3);
    assert!(small.contains(&whole("good0")) && small.contains(&whole("bad")));
    let large = page(80);
    assert!(large.contains(&whole("bad")), "what failed is whole");
    assert!(!large.contains(&whole("good0")));
    assert_eq!(large.matches("more not in this file)").count(), 80);
    assert_eq!(large.matches(r#""status":"passed""#).count(), 80);
    assert!(large.len() < small.len(), "{} {}", large.len(), small.len());
}
