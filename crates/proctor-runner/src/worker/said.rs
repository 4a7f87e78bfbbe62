//! Understanding what workers say: notifications become inputs of the dispatcher or events of the run.

use std::borrow::Cow;

use proctor_events::{Body, Event, ExampleFinished, Extra, Json};
use proctor_process::protocol::kind;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A notification, understood.
#[derive(Debug)]
pub(crate) enum Said {
    /// An example is about to run.
    Started { key: String, repeat: u32 },
    /// An example has run.
    Finished { key: String, repeat: u32, outcome: Box<ExampleFinished> },
    /// Something else happened; to be published as it is.
    Event { key: Option<String>, event: Box<Event> },
    /// A remark about the worker itself.
    Log { level: String, message: String },
    /// Not understood: it may have been anything, a result too.
    Unreadable(String),
}

#[derive(Deserialize)]
struct EventLine<'a> {
    #[serde(borrow)]
    event_type: Cow<'a, str>,
    #[serde(borrow)]
    payload: &'a RawValue,
}

#[derive(Deserialize)]
struct StartedPayload<'a> {
    #[serde(borrow, alias = "example_id")]
    key: Cow<'a, str>,
    #[serde(default = "one")]
    repeat: u32,
}

fn one() -> u32 {
    1
}

#[derive(Deserialize)]
struct LogLine {
    #[serde(default)]
    level: String,
    #[serde(default)]
    message: String,
}

/// Interprets one notification.
pub(crate) fn understand(kind: &str, body: &str) -> Said {
    let understood = match kind {
        "event" => event(body),
        "log" => serde_json::from_str(body)
            .map(|LogLine { level, message }| Said::Log { level, message })
            .map_err(|error| error.to_string()),
        kind::UNREADABLE => Err(unreadable(body)),
        other => Err(format!("a notification of type `{other}`")),
    };
    understood.unwrap_or_else(Said::Unreadable)
}

/// What the channel says about a line that is no message.
fn unreadable(body: &str) -> String {
    let log: Result<LogLine, _> = serde_json::from_str(body);
    log.map_or_else(|_| "a line could not be read".to_owned(), |log| log.message)
}

fn event(body: &str) -> Result<Said, String> {
    let line: EventLine<'_> = serde_json::from_str(body).map_err(|error| error.to_string())?;
    // The most frequent one takes the shortest way.
    if line.event_type == "ExampleStarted" {
        let started: StartedPayload<'_> =
            serde_json::from_str(line.payload.get()).map_err(|error| error.to_string())?;
        return Ok(Said::Started { key: started.key.into_owned(), repeat: started.repeat });
    }
    let mut event = Event::from_payload(&line.event_type, line.payload.get())
        .map_err(|error| error.to_string())?;
    let key = take_text(&mut event.extra, "key")
        .or_else(|| event.example_id.as_ref().map(ToString::to_string));
    let repeat = event.repeat.unwrap_or(1);
    if let Body::ExampleFinished(finished) = event.body {
        let key = key.ok_or("ExampleFinished without `key`")?;
        let outcome = Box::new(complete(finished, event.extra));
        return Ok(Said::Finished { key, repeat, outcome });
    }
    Ok(Said::Event { key, event: Box::new(event) })
}

/// What RSpec tells beyond the fields of the event finds its place in them.
fn complete(mut finished: ExampleFinished, mut extra: Extra) -> ExampleFinished {
    if finished.message.is_none() {
        let message = take_text(&mut extra, "pending_message");
        finished.message = message.or_else(|| take_text(&mut extra, "reason"));
    }
    if let Some(exception) = &mut finished.exception {
        for name in ["failures", "fixed"] {
            if let Some(value) = take(&mut extra, name) {
                exception.extra.push((name.into(), value));
            }
        }
    }
    finished
}

fn take(extra: &mut Extra, name: &str) -> Option<Json> {
    let place = extra.iter().position(|(key, _)| &**key == name)?;
    Some(extra.remove(place).1)
}

fn take_text(extra: &mut Extra, name: &str) -> Option<String> {
    serde_json::from_str(take(extra, name)?.text()).ok()
}

#[cfg(test)]
mod tests {
    use proctor_events::Status;

    use super::*;

    #[test]
    fn starts_and_results_name_their_example_by_key() {
        let started = r#"{"type":"event","event_type":"ExampleStarted","payload":{"key":"./a[1:1]","repeat":2,"attempt":1}}"#;
        assert!(
            matches!(understand("event", started), Said::Started { key, repeat: 2 } if key == "./a[1:1]")
        );
        let finished = r#"{"type":"event","event_type":"ExampleFinished","payload":{"key":"./a[1:1]","status":"pending","pending_message":"later","duration_ms":0.1}}"#;
        let Said::Finished { outcome, .. } = understand("event", finished) else { panic!() };
        assert_eq!(
            (&outcome.status, outcome.message.as_deref()),
            (&Status::Pending, Some("later"))
        );
    }

    #[test]
    fn workers_of_the_older_form_are_understood() {
        let failed = r#"{"type":"event","event_type":"ExampleFailed","payload":{"example_id":"x","duration":0.5,"message":"no","backtrace":["a:1"]}}"#;
        let Said::Finished { key, outcome, .. } = understand("event", failed) else { panic!() };
        assert_eq!((key.as_str(), &outcome.status), ("x", &Status::Failed));
    }

    #[test]
    fn nonsense_is_named() {
        assert!(
            matches!(understand("event", "{}"), Said::Unreadable(text) if text.contains("event_type"))
        );
        assert!(
            matches!(understand("gossip", "{}"), Said::Unreadable(text) if text.contains("gossip"))
        );
    }
}
