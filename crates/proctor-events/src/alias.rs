//! Older names for today's events, understood on input.
//!
//! | on input | becomes |
//! |---|---|
//! | `ExamplePassed`, `ExampleFailed`, `ExamplePending` | `ExampleFinished` with that status |
//! | `id` on example events | `example_id` |
//! | `duration` (seconds) on those | `duration_ms` |
//! | `message`, `backtrace` on `ExampleFailed` | `exception` |
//! | `worker_index` | `worker` |
//! | `type` on `EvaluationRecorded` | `evaluation_type` |
//! | `turn`, `from`, `to` on conversation events | `turn_number`, `from_topic`, `to_topic` |
//! | `{"event": NAME, "data": {…}}` | event `NAME` with those fields (`progress` is `Progress`); `seq` and `run_id` may stand beside them |

use std::borrow::Cow;

use serde_json::value::{RawValue, to_raw_value};

use crate::field::RawFields;
use crate::json::Millis;
use crate::words::Status;

/// Takes the older wire form apart, if it is that.
pub(crate) fn envelope_form<'a>(fields: &mut RawFields<'a>) -> Option<(String, Cow<'a, RawValue>)> {
    let name: String = serde_json::from_str(fields.get("event")?.get()).ok()?;
    let data = fields.remove("data")?;
    Some((if name == "progress" { "Progress".to_owned() } else { name }, data))
}

/// Gives fields their present names and returns the event's present name.
pub(crate) fn normalise(event_type: String, fields: &mut RawFields<'_>) -> String {
    fields.rename("worker_index", "worker");
    match &*event_type {
        "ExampleStarted" | "ExampleFinished" => {
            example(fields);
            event_type
        }
        "ExamplePassed" => finished(&Status::Passed, fields),
        "ExampleFailed" => finished(&Status::Failed, fields),
        "ExamplePending" => finished(&Status::Pending, fields),
        "EvaluationRecorded" => {
            fields.rename("type", "evaluation_type");
            event_type
        }
        "UserMessage" | "AgentResponse" | "ToolCallStarted" | "ToolCallCompleted" => {
            fields.rename("turn", "turn_number");
            event_type
        }
        "TopicChanged" => {
            fields.rename("turn", "turn_number");
            fields.rename("from", "from_topic");
            fields.rename("to", "to_topic");
            event_type
        }
        "InvariantEvaluated" => {
            fields.rename("type", "invariant_type");
            event_type
        }
        _ => event_type,
    }
}

fn finished(status: &Status, fields: &mut RawFields<'_>) -> String {
    example(fields);
    if *status == Status::Failed {
        exception_from_parts(fields);
    }
    set(fields, "status", status);
    "ExampleFinished".to_owned()
}

fn example(fields: &mut RawFields<'_>) {
    fields.rename("id", "example_id");
    if fields.get("duration_ms").is_none()
        && let Some(seconds) = fields.get("duration").and_then(|raw| raw.get().parse().ok())
    {
        fields.remove("duration");
        set(fields, "duration_ms", &Millis::from_seconds(seconds));
    }
}

/// `message` and `backtrace` beside each other are an exception whose class was not sent.
fn exception_from_parts(fields: &mut RawFields<'_>) {
    let is_text = |raw: &RawValue| raw.get().starts_with('"');
    if fields.get("exception").is_some() || !fields.get("message").is_some_and(is_text) {
        return;
    }
    let mut exception = serde_json::Map::new();
    for part in ["message", "backtrace"] {
        if let Some(raw) = fields.remove(part) {
            exception.insert(part.into(), serde_json::from_str(raw.get()).unwrap_or_default());
        }
    }
    set(fields, "exception", &exception);
}

fn set(fields: &mut RawFields<'_>, name: &'static str, value: &impl serde::Serialize) {
    if let Ok(raw) = to_raw_value(value) {
        fields.set(name, Cow::Owned(raw));
    }
}
