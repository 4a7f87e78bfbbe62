//! Words in transcripts.

use proctor_history::{SearchQuery, SearchResult, TextKind, search_recording};
use proptest::prelude::*;

use crate::project::Project;

fn parsed(query: &str) -> SearchQuery {
    SearchQuery::parse(query).unwrap()
}

fn search_runs(store: &proctor_record::RunStore, query: &str, limit: usize) -> SearchResult {
    proctor_history::search_runs(store, &parsed(query), limit)
}

const CONVERSATION: &str = r#"{"event_type":"SuiteStarted","run_id":"02"}
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
    std::fs::write(project.path("runs/02/events.jsonl"), CONVERSATION).unwrap();
    project
}

#[test]
fn words_are_found_wherever_somebody_said_them() {
    let project = project();
    let path = project.path("runs/02/events.jsonl");
    let searched = search_recording(&path, &parsed("venue"), 100).unwrap();
    let found: Vec<TextKind> = searched.hits.iter().map(|hit| hit.found).collect();
    assert_eq!(found, [TextKind::User, TextKind::Tool, TextKind::Output, TextKind::Failure]);
    let first = &searched.hits[0];
    assert_eq!((first.turn, first.seq, first.run.as_str()), (Some(1), Some(3), "02"));
    assert_eq!(first.title.as_deref(), Some("Booking > asks for a date"));
    assert_eq!(first.excerpt, "I need a VENUE in Zürich, please");
    let one = |query: &str| {
        let hits = search_recording(&path, &parsed(query), 100).unwrap().hits;
        hits.into_iter().map(|hit| hit.found).collect::<Vec<_>>()
    };
    assert_eq!(
        one("zürich VENUE"),
        [TextKind::User, TextKind::Tool],
        "all words, any order, any case"
    );
    assert_eq!(one("\"date\""), [TextKind::Agent]);
    assert_eq!(one("courteous"), [TextKind::Evaluation]);
    assert_eq!(one("asks for"), [TextKind::Title]);
    assert!(one("nobody said this").is_empty() && one("  ").is_empty());
}

#[test]
fn a_phrase_an_expression_and_who_said_it_narrow_what_is_found() {
    let project = project();
    let path = project.path("runs/02/events.jsonl");
    let found = |query: &str| {
        let hits = search_recording(&path, &parsed(query), 100).unwrap().hits;
        hits.into_iter().map(|hit| hit.found).collect::<Vec<_>>()
    };
    assert_eq!(found("\"a venue\""), [TextKind::User, TextKind::Failure]);
    assert!(found("\"venue a\"").is_empty(), "the words of a phrase stand in its order");
    assert_eq!(found("/v.nue in z.rich/"), [TextKind::User]);
    assert_eq!(found("/room in Zürich$/"), [TextKind::Tool], "what a writer escaped is read");
    assert_eq!(found("by:tool,output venue"), [TextKind::Tool, TextKind::Output]);
    assert_eq!(found("by:judge /./"), [TextKind::Evaluation]);
    assert!(found("by:user").is_empty(), "who alone is no question");
    assert!(SearchQuery::parse("by:nobody x").is_err());
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

/// What a search over the parsed events would find, done the slow way.
fn search_all_events(events: &[(String, String)], query: &str) -> Vec<u64> {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let holds = |text: &str| words.iter().all(|word| text.to_lowercase().contains(word));
    let places = (1..).zip(events).filter(|(_, (text, _))| !words.is_empty() && holds(text));
    places.map(|(seq, _)| seq).collect()
}

const PARTS: &[&str] = &[
    "venue",
    "Zürich",
    "ÜBER",
    "\"quoted\"",
    "a/b",
    "tab\t",
    "ß",
    "λόγος",
    "🦀",
    "x\\y",
    " ",
    "\n",
    "7",
];

fn words() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(PARTS), 0..5)
        .prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever was said and however it was written down, what is found is what is there.
    #[test]
    fn nothing_is_missed_and_nothing_made_up(
        said in proptest::collection::vec((words(), proptest::bool::ANY), 0..12),
        query in words(),
        lower in proptest::bool::ANY,
    ) {
        let project = Project::new();
        project.record("01", None, &[]);
        let query = if lower { query.to_lowercase() } else { query };
        let escaped = |text: &str| -> String {
            // As Python writes it: everything beyond ASCII as an escape.
            let units = |c: char| c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect();
            text.chars().map(|c| if c.is_ascii() { c.to_string() } else { units(c) }).collect()
        };
        let lines: Vec<(String, String)> = (1..).zip(&said).map(|(seq, (text, escape))| {
            let json = serde_json::to_string(text).unwrap();
            let json = if *escape { escaped(&json) } else { json };
            (text.clone(), format!(r#"{{"seq":{seq},"event_type":"AgentResponse","turn_number":1,"text":{json}}}"#))
        }).collect();
        let text: String = lines.iter().map(|(_, line)| format!("{line}\n")).collect();
        std::fs::write(project.path("runs/01/events.jsonl"), text).unwrap();
        let found = search_runs(&project.store, &query, 100);
        let seqs: Vec<u64> = found.hits.iter().filter_map(|hit| hit.seq).collect();
        prop_assert_eq!(seqs, search_all_events(&lines, &query));
    }
}

/// Lines longer than what is read at a time, and an end without a line break.
#[test]
fn lines_of_any_length_are_searched() {
    let project = Project::new();
    project.record("01", None, &[]);
    let mut text = String::new();
    for seq in 1..=40_u32 {
        let filling = "straw ".repeat(if seq % 10 == 0 { 400_000 } else { 5000 });
        let word = if seq % 7 == 0 { "needle" } else { "hay" };
        text += &format!(
            "{{\"seq\":{seq},\"event_type\":\"AgentResponse\",\"example_id\":\"e{seq}\",\"turn_number\":1,\"text\":\"{filling}{word}\"}}\n"
        );
    }
    text +=
        r#"{"seq":41,"event_type":"ExampleStarted","example_id":"e7","path":["Late","needle"]}"#;
    std::fs::write(project.path("runs/01/events.jsonl"), text).unwrap();
    let hits = search_runs(&project.store, "NEEDLE", 100).hits;
    assert_eq!(hits.iter().filter_map(|hit| hit.seq).collect::<Vec<_>>(), [7, 14, 21, 28, 35, 41]);
    assert_eq!(hits[0].title.as_deref(), Some("Late > needle"));
    assert_eq!(hits[1].title, None);
}

/// A recording that is read in halves: every hit in order, each with the description of its example, wherever the start of the example stands.
#[test]
fn a_large_recording_is_searched_in_halves() {
    let project = Project::new();
    project.record("01", None, &[]);
    let filling = "straw ".repeat(4000);
    let started = |id: u32, path: &str, name: &str| {
        format!(
            "{{\"event_type\":\"ExampleStarted\",\"example_id\":\"e{id}\",\"path\":[{path}],\"description\":\"{name}\"}}\n"
        )
    };
    let mut text: String =
        (0..50).map(|id| started(id, &format!("\"Far\",\"{id}\""), &id.to_string())).collect();
    for id in 50..500 {
        // Every third gets its name at its end.
        let late = id % 3 == 0;
        let path = if late { "\"Near\"".to_owned() } else { format!("\"Near\",\"{id}\"") };
        text +=
            &started(id, &path, &if late { "example at a:1".to_owned() } else { id.to_string() });
        let user = id - if id % 9 == 0 { 50 } else { 0 };
        text += &format!(
            "{{\"event_type\":\"UserMessage\",\"example_id\":\"e{user}\",\"turn_number\":1,\"seq\":{id},\"text\":\"{filling} needle\"}}\n"
        );
        let name = if late {
            format!(",\"description\":\"{id}\",\"full_description\":\"Near {id}\"")
        } else {
            String::new()
        };
        text += &format!(
            "{{\"event_type\":\"ExampleFinished\",\"example_id\":\"e{id}\",\"status\":\"passed\"{name}}}\n"
        );
    }
    assert!(text.len() > 9 << 20);
    std::fs::write(project.path("runs/01/events.jsonl"), text).unwrap();
    let all = search_runs(&project.store, "needle", 1000);
    let seqs: Vec<u64> = all.hits.iter().filter_map(|hit| hit.seq).collect();
    assert_eq!(seqs, (50..500).collect::<Vec<_>>());
    for hit in &all.hits {
        let id = hit.example_id.as_ref().unwrap().strip_prefix('e').unwrap();
        let group = if id.parse::<u32>().unwrap() < 50 { "Far" } else { "Near" };
        assert_eq!(hit.title.as_deref(), Some(format!("{group} > {id}").as_str()), "{id}");
    }
    for (limit, truncated) in [(449, true), (450, false), (1, true), (230, true)] {
        let some = search_runs(&project.store, "needle", limit);
        assert_eq!((some.hits.len(), some.truncated), (limit, truncated));
        assert_eq!(some.hits, all.hits[..limit]);
    }
}
