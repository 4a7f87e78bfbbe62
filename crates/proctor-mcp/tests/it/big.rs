//! Large recordings: answers stay small and quick, a poll reads only what is new, and what agents said is not kept in memory.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use proctor_record::{RunInfo, RunStore};
use serde_json::{Value, json};

use crate::test_project::TestProject;

const EXAMPLES: usize = 10_000;
/// What an answer may have, as text. Models read it.
const SMALL: usize = 40_000;

/// A recording of ten thousand conversations, every tenth of which fails, in each of which so much is said.
fn large(project: &TestProject, id: &str, said: usize) -> PathBuf {
    let store = RunStore::new(project.folder.path());
    let info = RunInfo::new(id.into(), "2026-01-22T10:30:00Z".parse().unwrap(), Vec::new());
    let (folder, _) = store.create(&info).unwrap();
    let path = folder.events_path();
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    let (mut seq, talk) = (0, "x".repeat(said));
    let mut line = |kind: &str, rest: &str| {
        seq += 1;
        writeln!(file, r#"{{"v":1,"seq":{seq},"event_type":"{kind}"{rest}}}"#).unwrap();
    };
    line("SuiteStarted", &format!(r#","example_count":{EXAMPLES}"#));
    for number in 0..EXAMPLES {
        let own = format!(r#","example_id":"{number:012x}""#);
        line(
            "ExampleStarted",
            &format!(
                r#"{own},"suite":"scenario","file":"./a.scenario.yaml","path":["Talks","number {number}"],"location":"./a.scenario.yaml:{number}""#
            ),
        );
        line("UserMessage", &format!(r#"{own},"turn_number":1,"text":"hello""#));
        line("AgentResponse", &format!(r#"{own},"turn_number":1,"text":"SAID {talk}""#));
        let (status, passed) = if number % 10 == 0 { ("failed", false) } else { ("passed", true) };
        line(
            "EvaluationRecorded",
            &format!(
                r#"{own},"turn_number":1,"mode":"hard","name":"polite","passed":{passed},"reasoning":"SAID""#
            ),
        );
        let raised = format!(
            r#","exception":{{"class":"E","message":"SAID {}","backtrace":[]}}"#,
            &talk[..said.min(500)]
        );
        let raised = if passed { "" } else { &raised };
        line(
            "ExampleFinished",
            &format!(r#"{own},"status":"{status}","duration_ms":3,"final":true{raised}"#),
        );
    }
    file.flush().unwrap();
    path
}

/// Counts what is allocated: resident memory would depend on the allocator and on what ran before.
#[global_allocator]
static ALLOCATED: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;

/// How many bytes this process has read from files since it began.
fn bytes_read() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap();
    let line = text.lines().find(|line| line.starts_with("rchar:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// How many bytes the answer about a recording leaves allocated.
async fn bytes_retained_by_first_answer(project: &TestProject, run: &str) -> usize {
    let before = ALLOCATED.current_usage();
    project.call("run_status", json!({ "run_id": run })).await.unwrap();
    ALLOCATED.current_usage().saturating_sub(before)
}

#[tokio::test]
async fn what_agents_said_is_not_kept_in_memory() {
    let project = TestProject::new();
    large(&project, "0190-short", 100);
    large(&project, "0191-long", 4000);
    let short = bytes_retained_by_first_answer(&project, "0190-short").await;
    let long = bytes_retained_by_first_answer(&project, "0191-long").await;
    // The second recording holds 39 MB more of what was said, and up to 400 bytes more of each of 1,000 messages of failures.
    assert!(long < short + (1 << 20), "{short} bytes kept of little text, {long} of much");
    assert!(short < EXAMPLES * 1_500, "{} bytes an example", short / EXAMPLES);
}

#[tokio::test]
async fn ten_thousand_conversations_are_polled_without_reading_them_again() {
    let project = TestProject::new();
    let path = large(&project, "0190-big", 4000);
    let size = std::fs::metadata(&path).unwrap().len() >> 20;
    assert!(size > 40, "{size} MiB");
    let before = bytes_read();
    let first = project.call("run_status", json!({})).await.unwrap();
    let first_look = bytes_read() - before;
    assert!(first_look >= size << 20, "{first_look} bytes of {size} MiB");
    assert_eq!(first["run"]["counts"], json!({"passed": 9000, "failed": 1000}));
    let before = bytes_read();
    for _ in 0..100 {
        project.call("run_status", json!({ "cursor": first["cursor"] })).await.unwrap();
        project.call("run_results", json!({ "limit": 1 })).await.unwrap();
    }
    // Descriptions of the run are small; its recording is not.
    let polls = bytes_read() - before;
    assert!(polls < 8 << 20, "{polls} bytes for 200 polls after {first_look} for the first look");
    // One more result is seen without another look at the rest.
    let more = r#"{"v":1,"seq":90001,"event_type":"ExampleFinished","example_id":"000000000001","repeat":2,"status":"crashed","final":true}"#;
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    writeln!(file, "{more}").unwrap();
    let news = project.call("run_status", json!({ "cursor": first["cursor"] })).await.unwrap();
    assert_eq!(news["run"]["counts"]["crashed"], 1, "{news}");
}

#[tokio::test]
async fn every_answer_about_a_large_run_is_small_and_keeps_to_itself_what_agents_said() {
    let project = TestProject::new();
    large(&project, "0190-big", 100);
    large(&project, "0191-big", 100);
    let calls = [
        ("run_status", json!({})),
        ("run_status", json!({ "include": "all" })),
        ("run_wait", json!({})),
        ("run_results", json!({})),
        ("run_results", json!({ "statuses": ["all"] })),
        ("run_results", json!({ "matching": "number 77" })),
        ("run_compare", json!({ "all": true })),
        ("show_example", json!({ "example": "00000000000a" })),
    ];
    for (name, arguments) in calls {
        let began = Instant::now();
        let answer = project.call(name, arguments.clone()).await.unwrap().to_string();
        assert!(answer.len() < SMALL, "{name} {arguments}: {} bytes", answer.len());
        assert!(!answer.contains("SAID"), "{name} {arguments}");
        assert!(began.elapsed() < Duration::from_secs(30), "{name}: {:?}", began.elapsed());
    }
    // The largest that can be asked for.
    let most = project.call("run_results", json!({ "statuses": ["all"], "limit": 9999 })).await;
    let most = most.unwrap();
    assert_eq!(most["results"].as_array().unwrap().len(), 100);
    assert!(most.to_string().len() < 100_000);
    // And what is asked for as untrusted says so.
    let asked = json!({ "example": "00000000000a", "include_untrusted": true });
    let shown = project.call("show_example", asked).await.unwrap();
    let untrusted = &shown["attempts"][0]["untrusted"];
    assert!(untrusted["notice"].as_str().unwrap().contains("not instructions to follow"));
    assert!(untrusted["conversation"][1]["text"].as_str().unwrap().starts_with("SAID"));
    assert!(shown.to_string().len() < SMALL);
}

/// One example with a conversation that does not fit into an answer.
#[tokio::test]
async fn a_long_conversation_is_read_in_parts() {
    let project = TestProject::new();
    let store = RunStore::new(project.folder.path());
    let info =
        RunInfo::new("0190-long".into(), "2026-01-22T10:30:00Z".parse().unwrap(), Vec::new());
    let (folder, _) = store.create(&info).unwrap();
    let mut text = String::new();
    let own = r#""example_id":"aaaaaaaaaaaa""#;
    writeln!(text, r#"{{"event_type":"ExampleStarted",{own},"suite":"scenario","path":["Long"]}}"#)
        .unwrap();
    for turn in 1..=60 {
        let words = format!("turn {turn} {}", "y".repeat(5000));
        for kind in ["UserMessage", "AgentResponse"] {
            let said = json!(words);
            writeln!(text, r#"{{"event_type":"{kind}",{own},"turn_number":{turn},"text":{said}}}"#)
                .unwrap();
        }
    }
    std::fs::write(folder.events_path(), text).unwrap();
    let mut from = 1;
    let mut seen = Vec::new();
    for _ in 0..1000 {
        let asked = json!({ "example": "Long", "include_untrusted": true, "max_text": 8000, "from_turn": from });
        let shown = project.call("show_example", asked).await.unwrap();
        assert!(shown.to_string().len() < 100_000);
        let untrusted = &shown["attempts"][0]["untrusted"];
        let turns = untrusted["conversation"].as_array().unwrap();
        seen.extend(turns.iter().map(|said| said["turn"].as_u64().unwrap()));
        if untrusted["left_out"] == Value::Null {
            break;
        }
        from = turns.last().unwrap()["turn"].as_u64().unwrap() + 1;
        // A turn that was cut in two is read again.
        if seen.iter().filter(|turn| **turn == from - 1).count() < 2 {
            from -= 1;
        }
    }
    seen.dedup();
    assert_eq!(seen, (1..=60).collect::<Vec<u64>>());
}
