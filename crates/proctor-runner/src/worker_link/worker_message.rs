//! Reads the notifications of worker processes as reports.
//!
//! The channel has split an event into its fields while it read the line; here each field is interpreted once. What a field is
//! called and what a status means stands in `docs/protocol.md`.

use proctor_events::{Body, Event, ExampleFinished, Extra, Json, ReadError};
use proctor_process::protocol::{EventFields, Notification, kind};
use serde::Deserialize;

use super::reports::{Report, first};
use crate::example::Listed;

/// Why a notification is no report.
#[derive(Debug, thiserror::Error)]
enum MessageError {
    #[error("an event without `event_type` or without an object as `payload`")]
    NoEvent,
    #[error(transparent)]
    Event(#[from] ReadError),
    #[error("ExampleStarted: {0}")]
    Started(serde_json::Error),
    #[error("{0} without `key`")]
    NoKey(&'static str),
    #[error("{0}")]
    Log(serde_json::Error),
    #[error("late examples that cannot be read: {0}")]
    LateExamples(serde_json::Error),
    #[error("a notification of type `{0}`")]
    UnknownKind(Box<str>),
    /// The channel itself could not read the line.
    #[error("{0}")]
    Line(String),
}

/// Tells about traced lines or the state of a mutant.
const MUTATION: &str = "mutation";
/// Announces examples that were defined while others ran.
const LATE_EXAMPLES: &str = "late_examples";

#[derive(Deserialize)]
struct LateExamples {
    examples: Vec<Listed>,
}

#[derive(Deserialize)]
struct LogLine {
    #[serde(default)]
    level: String,
    #[serde(default)]
    message: String,
}

/// The report that a notification makes; [`Report::Unreadable`] where it makes none.
pub(crate) fn read_notification(notification: Notification) -> Report {
    let Notification { kind, body, event } = notification;
    let read = match &*kind {
        kind::EVENT => event.ok_or(MessageError::NoEvent).and_then(read_event),
        kind::LOG => serde_json::from_str(body.as_str())
            .map(|LogLine { level, message }| Report::Log { level, message })
            .map_err(MessageError::Log),
        LATE_EXAMPLES => serde_json::from_str(body.as_str())
            .map(|LateExamples { examples }| Report::LateExamples { examples })
            .map_err(MessageError::LateExamples),
        MUTATION => serde_json::from_str(body.as_str())
            .map(|notice| Report::Mutation { notice })
            .map_err(MessageError::Log),
        kind::UNREADABLE => Err(MessageError::Line(unreadable_line(body.as_str()))),
        _ => Err(MessageError::UnknownKind(kind)),
    };
    read.unwrap_or_else(|error| Report::Unreadable { message: error.to_string() })
}

/// What the channel says about a malformed line.
fn unreadable_line(body: &str) -> String {
    let log: Result<LogLine, _> = serde_json::from_str(body);
    log.map_or_else(|_| "a line could not be read".to_owned(), |log| log.message)
}

fn read_event(event: EventFields) -> Result<Report, MessageError> {
    // The most frequent one takes the shortest way.
    if &*event.event_type == "ExampleStarted" {
        return read_start(&event);
    }
    let mut event = Event::from_raw_fields(&event.event_type, event.fields)?;
    let key = take_text(&mut event.extra, "key")
        .or_else(|| event.example_id.as_ref().map(ToString::to_string));
    let repeat = event.repeat.unwrap_or(1);
    if let Body::ExampleFinished(finished) = event.body {
        let key = key.ok_or(MessageError::NoKey("ExampleFinished"))?;
        let outcome = Box::new(add_details(finished, event.extra));
        return Ok(Report::Finished { key, repeat, outcome });
    }
    Ok(Report::Event { key, event: Box::new(event) })
}

fn read_start(event: &EventFields) -> Result<Report, MessageError> {
    let mut key = None;
    let mut repeat = first();
    for (name, value) in &event.fields {
        match &**name {
            "key" => key = Some(serde_json::from_str(value.get()).map_err(MessageError::Started)?),
            // The older name, where there is no key.
            "example_id" if key.is_none() => {
                key = Some(serde_json::from_str(value.get()).map_err(MessageError::Started)?);
            }
            "repeat" => {
                repeat = serde_json::from_str(value.get()).map_err(MessageError::Started)?;
            }
            _ => {}
        }
    }
    Ok(Report::Started { key: key.ok_or(MessageError::NoKey("ExampleStarted"))?, repeat })
}

/// Moves details that workers report beside the fields of the event into those fields.
fn add_details(mut finished: ExampleFinished, mut extra: Extra) -> ExampleFinished {
    if finished.message.is_none() {
        let message = take_text(&mut extra, "pending_message");
        finished.message = message.or_else(|| take_text(&mut extra, "reason"));
    }
    if let Some(exception) = &mut finished.exception {
        for name in ["failures", "fixed"] {
            if let Some(value) = take_field(&mut extra, name) {
                exception.extra.push((name.into(), value));
            }
        }
    }
    finished
}

fn take_field(extra: &mut Extra, name: &str) -> Option<Json> {
    let place = extra.iter().position(|(key, _)| &**key == name)?;
    Some(extra.remove(place).1)
}

fn take_text(extra: &mut Extra, name: &str) -> Option<String> {
    serde_json::from_str(take_field(extra, name)?.text()).ok()
}

#[cfg(test)]
mod tests {
    use proctor_events::Status;
    use proctor_process::protocol::{Message, classify};

    use super::*;

    /// Reads a line as the channel and this module do.
    fn read(line: &str) -> Report {
        let Message::Notification { kind, event } = classify(line).unwrap() else { panic!() };
        read_notification(Notification { kind: kind.into(), body: line.into(), event })
    }

    #[test]
    fn starts_and_results_name_their_example_by_key() {
        let started = r#"{"type":"event","event_type":"ExampleStarted","payload":{"key":"./a[1:1]","repeat":2,"attempt":1}}"#;
        let expected = Report::Started { key: "./a[1:1]".to_owned(), repeat: 2 };
        assert_eq!(read(started), expected);
        let finished = r#"{"type":"event","event_type":"ExampleFinished","payload":{"key":"./a[1:1]","status":"pending","pending_message":"later","duration_ms":0.1}}"#;
        let Report::Finished { outcome, repeat, .. } = read(finished) else { panic!() };
        assert_eq!(
            (&outcome.status, outcome.message.as_deref(), repeat),
            (&Status::Pending, Some("later"), 1)
        );
    }

    #[test]
    fn workers_of_the_older_form_are_understood() {
        let started =
            r#"{"type":"event","event_type":"ExampleStarted","payload":{"example_id":"x"}}"#;
        assert_eq!(read(started), Report::Started { key: "x".to_owned(), repeat: 1 });
        let failed = r#"{"type":"event","event_type":"ExampleFailed","payload":{"example_id":"x","duration":0.5,"message":"no","backtrace":["a:1"]}}"#;
        let Report::Finished { key, outcome, .. } = read(failed) else { panic!() };
        assert_eq!((key.as_str(), &outcome.status), ("x", &Status::Failed));
    }

    #[test]
    fn what_is_no_report_is_named() {
        let lines = [
            (r#"{"type":"event"}"#, "event_type"),
            (r#"{"type":"event","event_type":"ExampleStarted","payload":{}}"#, "`key`"),
            (
                r#"{"type":"event","event_type":"ExampleStarted","payload":{"key":1}}"#,
                "invalid type",
            ),
            (
                r#"{"type":"event","event_type":"ExampleFinished","payload":{"status":"passed"}}"#,
                "`key`",
            ),
            (r#"{"type":"gossip"}"#, "gossip"),
            (r#"{"type":"late_examples","examples":[{"file":"./a"}]}"#, "late examples"),
            (r#"{"type":"unreadable_line","message":"cut off"}"#, "cut off"),
        ];
        for (line, expected) in lines {
            let Report::Unreadable { message } = read(line) else { panic!("{line}") };
            assert!(message.contains(expected), "{line}: {message}");
        }
    }
}
