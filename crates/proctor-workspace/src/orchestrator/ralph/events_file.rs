//! What ralph writes: rows of the events file, times, reasons. Pure.

use serde_json::Value;

use crate::orchestrator::Collected;
use crate::session::merge::{Begin, EventsFileLine};

/// Milliseconds of an RFC 3339 time.
pub(crate) fn time(text: &str) -> Option<u64> {
    let stamp: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(stamp.as_millisecond()).ok()
}

/// A payload as text; objects become JSON.
pub(crate) fn text_of(payload: &Value) -> String {
    match payload {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Reads one row. What ends the loop is noted, not returned.
pub(crate) fn read(line: &[u8], collected: &mut Collected) -> Option<EventsFileLine> {
    let malformed =
        || Some(EventsFileLine::Malformed { text: String::from_utf8_lossy(line).into_owned() });
    let Ok(value) = serde_json::from_slice::<Value>(line) else { return malformed() };
    let Some(topic) = value["topic"].as_str() else { return malformed() };
    let ts = value["ts"].as_str().and_then(time).unwrap_or_default();
    let payload = text_of(&value["payload"]);
    let iteration = value["iteration"].as_u64();
    // Rows of the loop itself carry this name in the place of a hat; rows of agents carry none.
    let by_loop = value["hat"] == "loop";
    match topic {
        "iteration.summary" if by_loop => {
            let figures = serde_json::from_str(&payload).unwrap_or_default();
            Some(EventsFileLine::IterationEnd { ts, n: iteration.unwrap_or_default(), figures })
        }
        "loop.terminate" if by_loop => {
            if collected.reason.is_none() {
                termination(&payload, "events", collected);
            }
            None
        }
        _ if by_loop && iteration == Some(0) => {
            let triggered = value["triggered"].as_str().map(str::to_owned);
            Some(EventsFileLine::Start { ts, topic: topic.to_owned(), payload, triggered })
        }
        _ => Some(EventsFileLine::Emitted { ts, topic: topic.to_owned(), payload }),
    }
}

/// Reads the text in which ralph says why it ended.
pub(crate) fn termination(payload: &str, origin: &'static str, collected: &mut Collected) {
    let mut lines = payload.lines().map(str::trim);
    let word = lines.by_ref().skip_while(|line| *line != "## Reason").nth(1);
    if let Some(word) = word.filter(|word| !word.is_empty()) {
        collected.reason = Some(reason(word));
        collected.reason_origin = origin;
    }
    let iterations = payload.lines().find_map(|line| line.trim().strip_prefix("- Iterations: "));
    if let Some(count) = iterations.and_then(|text| text.trim().parse().ok()) {
        collected.iterations = count;
    }
}

/// Ralph's word for a reason in the words of the test tools.
pub(crate) fn reason(word: &str) -> String {
    if word == "completed" {
        return "CompletionPromise".to_owned();
    }
    let capital = |part: &str| {
        let mut letters = part.chars();
        letters
            .next()
            .map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    };
    word.split('_').map(capital).collect()
}

/// Every reason ralph can give, in the words of the test tools.
pub(crate) const REASONS: &[&str] = &[
    "CompletionPromise",
    "Cancelled",
    "MaxIterations",
    "MaxRuntime",
    "MaxCost",
    "ConsecutiveFailures",
    "LoopStale",
    "LoopThrashing",
    "ValidationFailure",
    "Stopped",
    "WorkspaceGone",
    "RestartRequested",
    "Interrupted",
];

/// Iterations by their ends, where the hooks said nothing.
pub(crate) fn begins_from_ends(collected: &mut Collected) {
    let begins: Vec<Begin> = collected
        .sources
        .rows
        .iter()
        .filter_map(|row| match row {
            EventsFileLine::IterationEnd { ts, n, figures } => Some(Begin {
                ts: ts.saturating_sub(
                    figures.get("duration_ms").and_then(Value::as_u64).unwrap_or_default(),
                ),
                n: *n,
                hat: None,
                origin: "events",
            }),
            _ => None,
        })
        .collect();
    collected.sources.begins = begins;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_one(line: &str) -> (Option<EventsFileLine>, Collected) {
        let mut collected = Collected::default();
        (read(line.as_bytes(), &mut collected), collected)
    }

    #[test]
    fn rows_of_the_loop_and_of_agents_differ() {
        let start = r#"{"ts":"2026-11-16T00:47:01.5+00:00","iteration":0,"hat":"loop","topic":"task.start","triggered":"planner","payload":"x"}"#;
        let (Some(EventsFileLine::Start { ts, triggered, .. }), _) = read_one(start) else {
            panic!()
        };
        assert_eq!((ts % 1000, triggered.as_deref()), (500, Some("planner")));
        let agent = r#"{"topic":"iteration.summary","payload":{"a":1},"ts":"nonsense"}"#;
        let (Some(EventsFileLine::Emitted { ts, payload, .. }), _) = read_one(agent) else {
            panic!()
        };
        assert_eq!((ts, &*payload), (0, "{\"a\":1}"));
        assert!(matches!(read_one("{not json").0, Some(EventsFileLine::Malformed { .. })));
        assert!(matches!(read_one("{\"payload\":1}").0, Some(EventsFileLine::Malformed { .. })));
        let summary = r#"{"hat":"loop","topic":"iteration.summary","iteration":3,"payload":"\"no figures\""}"#;
        let (Some(EventsFileLine::IterationEnd { n, figures, .. }), _) = read_one(summary) else {
            panic!()
        };
        assert!(n == 3 && figures.is_empty());
    }

    #[test]
    fn an_agent_cannot_end_the_loop_on_paper() {
        let forged = "{\"topic\":\"loop.terminate\",\"payload\":\"## Reason\\ncompleted\"}";
        let (row, collected) = read_one(forged);
        assert!(matches!(row, Some(EventsFileLine::Emitted { .. })) && collected.reason.is_none());
    }

    #[test]
    fn reasons_are_translated() {
        let mut collected = Collected::default();
        let payload = "## Reason\nmax_iterations\n\n## Summary\n- Iterations: 7\n- Exit code: 2";
        termination(payload, "events", &mut collected);
        assert_eq!((collected.reason.as_deref(), collected.iterations), (Some("MaxIterations"), 7));
        assert_eq!(reason("completed"), "CompletionPromise");
        assert_eq!(reason("loop_stale"), "LoopStale");
    }
}
