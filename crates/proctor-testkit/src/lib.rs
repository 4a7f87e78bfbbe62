//! What several test programs and benchmarks share. Never part of the product.

use std::path::Path;

use proctor_events::{Bus, BusConfig, Event, Json, RunId, Timestamp, ToolCallCompleted};

/// A bus on the system clock whose warnings are fatal: in a test nothing may go wrong unnoticed.
pub fn bus(run_id: &str) -> Bus {
    Bus::new(BusConfig {
        run_id: RunId::from(run_id),
        clock: Box::new(now),
        on_warning: Box::new(|warning| panic!("{warning}")),
    })
}

/// The time, in whole milliseconds.
pub fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}

/// An event of ordinary size (about 330 bytes as JSON).
pub fn sample_event(number: u32) -> Event {
    let arguments = serde_json::json!({"city": "Berlin", "people": 50, "date": "2026-05-01"});
    let call = ToolCallCompleted {
        turn_number: number % 20,
        tool_call_id: Some(format!("tc_{number}")),
        tool_name: "search_venues".into(),
        arguments: Some(Json::from(arguments)),
        result: Some(Json::from(serde_json::Value::from("Found 3 venues near the river"))),
        ..ToolCallCompleted::default()
    };
    Event::from(call).about(&"a3f2b1c9d4e5".into()).in_attempt(1, 1).from_worker(0)
}

/// The processes whose command line holds a text, ourselves excluded.
pub fn processes_with(text: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != std::process::id() && command_line(*pid).contains(text))
        .collect()
}

fn command_line(pid: u32) -> String {
    let bytes = std::fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline"));
    String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
}
