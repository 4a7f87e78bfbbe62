//! Words in transcripts.

use proctor_history::{Found, search_recording, search_runs};

use crate::project::Project;

const TALK: &str = r#"{"event_type":"SuiteStarted","run_id":"02"}
{"event_type":"ExampleStarted","example_id":"a","path":["Booking","asks for a date"],"seq":2}
{"event_type":"UserMessage","example_id":"a","turn_number":1,"text":"I need a VENUE in Zürich, please","seq":3}
{"event_type":"AgentResponse","example_id":"a","turn_number":1,"text":"Which \"date\" suits you?","seq":4}
{"event_type":"ToolCallCompleted","example_id":"a","turn_number":1,"tool_name":"find_venue","error":"no room in Z\u00fcrich","seq":5}
{"event_type":"EvaluationRecorded","example_id":"a","mode":"soft","name":"polite","reasoning":"The agent is courteous.","seq":6}
{broken
{"event_type":"WorkerLog","line":"venue cache warm","seq":8}
{"event_type":"ExampleFinished","example_id":"a","status":"failed","exception":{"message":"expected a venue"},"seq":9}
"#;

fn project() -> Project {
    let project = Project::new();
    project.record("01", None, &[("a", &["passed"])]);
    project.record("02", None, &[("a", &["passed"])]);
    std::fs::write(project.path("runs/02/events.jsonl"), TALK).unwrap();
    project
}

#[test]
fn words_are_found_wherever_somebody_said_them() {
    let project = project();
    let path = project.path("runs/02/events.jsonl");
    let searched = search_recording(&path, "venue", 100).unwrap();
    let found: Vec<Found> = searched.hits.iter().map(|hit| hit.found).collect();
    assert_eq!(found, [Found::User, Found::Tool, Found::Output, Found::Failure]);
    let first = &searched.hits[0];
    assert_eq!((first.turn, first.seq, first.run.as_str()), (Some(1), Some(3), "02"));
    assert_eq!(first.title.as_deref(), Some("Booking > asks for a date"));
    assert_eq!(first.excerpt, "I need a VENUE in Zürich, please");
    let one = |query: &str| {
        let hits = search_recording(&path, query, 100).unwrap().hits;
        hits.into_iter().map(|hit| hit.found).collect::<Vec<_>>()
    };
    assert_eq!(one("zürich VENUE"), [Found::User, Found::Tool], "all words, any order, any case");
    assert_eq!(one("\"date\""), [Found::Agent]);
    assert_eq!(one("courteous"), [Found::Evaluation]);
    assert_eq!(one("asks for"), [Found::Title]);
    assert!(one("nobody said this").is_empty() && one("  ").is_empty());
}

#[test]
fn the_history_is_searched_newest_first_up_to_a_limit() {
    let project = project();
    let all = search_runs(&project.store, "a", 100);
    assert_eq!((all.runs, all.truncated), (2, false));
    assert_eq!((all.hits[0].run.as_str(), all.hits.last().unwrap().run.as_str()), ("02", "01"));
    let some = search_runs(&project.store, "a", 2);
    assert_eq!((some.hits.len(), some.truncated), (2, true));
}

#[test]
fn long_texts_are_shown_in_part() {
    let project = Project::new();
    project.record("01", None, &[]);
    let text = format!("{} needle {}", "straw ".repeat(50), "hay ".repeat(50));
    let line = format!(r#"{{"event_type":"AgentResponse","turn_number":1,"text":"{text}"}}"#);
    std::fs::write(project.path("runs/01/events.jsonl"), line + "\n").unwrap();
    let excerpt = search_runs(&project.store, "needle", 9).hits[0].excerpt.clone();
    assert!(excerpt.starts_with('…') && excerpt.ends_with('…') && excerpt.contains("needle"));
    assert!(excerpt.chars().count() < 140, "{excerpt}");
}
