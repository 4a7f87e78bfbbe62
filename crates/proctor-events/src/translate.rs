//! The older form of the stream: `{"event": NAME, "data": {…}}`, a translation rather than a wrapper.
//!
//! Differences from the flat form: results are `ExamplePassed`, `ExampleFailed` or `ExamplePending` with
//! `duration` in seconds, `message` and `backtrace`; progress is lower case; envelope fields are left
//! out but for `example_id`, and `time` below example level; paths lose their leading `./`. `seq` and `run_id`
//! stand beside `event`, so that a client can resume; a result that another attempt follows has `"final": false`.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::catalogue::{Body, ExampleFinished, ExampleStarted, Progress, WorkerLog};
use crate::event::Event;
use crate::ids::ExampleId;
use crate::words::Status;

/// Translates a stream, remembering the descriptions that result messages repeat.
#[derive(Debug, Default)]
pub struct Translator {
    descriptions: HashMap<ExampleId, Described>,
}

#[derive(Debug, Clone, Default)]
struct Described {
    description: Option<String>,
    full_description: Option<String>,
    location: Option<String>,
}

impl Translator {
    /// One event in the older form.
    pub fn translate(&mut self, event: &Event) -> Value {
        let mut message = self.message_of(event);
        if let Some(seq) = event.seq {
            message["seq"] = seq.into();
        }
        if let Some(run_id) = &event.run_id {
            message["run_id"] = run_id.as_str().into();
        }
        message
    }

    fn message_of(&mut self, event: &Event) -> Value {
        match &event.body {
            Body::Progress(progress) => message("progress", progress_data(progress)),
            Body::ExampleStarted(started) => self.started(event, started),
            Body::ExampleFinished(finished) => self.finished(event, finished),
            Body::WorkerLog(log) => message("WorkerLog", log_data(event, log)),
            _ => message(event.type_name(), other_data(event)),
        }
    }

    fn started(&mut self, event: &Event, started: &ExampleStarted) -> Value {
        let described = describe(started);
        let mut data = identified(event);
        described.write(&mut data);
        if let Some(id) = &event.example_id {
            self.descriptions.insert(id.clone(), described);
        }
        message("ExampleStarted", data)
    }

    fn finished(&mut self, event: &Event, finished: &ExampleFinished) -> Value {
        let known = event.example_id.as_ref().and_then(|id| {
            if finished.r#final == Some(false) {
                self.descriptions.get(id).cloned()
            } else {
                self.descriptions.remove(id)
            }
        });
        let mut data = identified(event);
        let known = known.unwrap_or_default();
        let full_description = finished.full_description.clone();
        let location = finished.location.as_deref().map(|location| plain(location).to_owned());
        let described = Described {
            description: finished.description.clone().or(known.description),
            full_description: full_description.or(known.full_description),
            location: location.or(known.location),
        };
        described.write(&mut data);
        if finished.r#final == Some(false) {
            data.insert("final".into(), false.into());
        }
        if let Some(duration) = finished.duration_ms {
            // Whole microseconds, so that no digits come from the division.
            let seconds = (duration.get() * 1000.0).round() / 1_000_000.0;
            data.insert("duration".into(), json!(seconds));
        }
        let name = match &finished.status {
            Status::Passed => "ExamplePassed",
            Status::Pending => "ExamplePending",
            other => {
                if *other != Status::Failed {
                    put(&mut data, "status", Some(other.as_str()));
                }
                "ExampleFailed"
            }
        };
        write_outcome(finished, &mut data);
        message(name, data)
    }
}

fn message(name: &str, data: Map<String, Value>) -> Value {
    json!({"event": name, "data": Value::Object(data)})
}

fn put(data: &mut Map<String, Value>, name: &str, text: Option<&str>) {
    if let Some(text) = text {
        data.insert(name.into(), text.into());
    }
}

fn identified(event: &Event) -> Map<String, Value> {
    let mut data = Map::new();
    put(&mut data, "example_id", event.example_id.as_ref().map(ExampleId::as_str));
    data
}

fn plain(path: &str) -> &str {
    path.strip_prefix("./").unwrap_or(path)
}

fn describe(started: &ExampleStarted) -> Described {
    let joined = || (!started.path.is_empty()).then(|| started.path.join(" "));
    Described {
        description: started.description.clone().or_else(|| started.path.last().cloned()),
        full_description: started.full_description.clone().or_else(joined),
        location: started.location.as_deref().map(|location| plain(location).to_owned()),
    }
}

impl Described {
    fn write(&self, data: &mut Map<String, Value>) {
        put(data, "description", self.description.as_deref());
        put(data, "full_description", self.full_description.as_deref());
        put(data, "location", self.location.as_deref());
    }
}

fn write_outcome(finished: &ExampleFinished, data: &mut Map<String, Value>) {
    let exception = finished.exception.as_ref();
    let text = exception.map(|exception| exception.message.as_str());
    put(data, "message", text.or(finished.message.as_deref()));
    if let Some(exception) = exception {
        let lines: Vec<&str> = exception.backtrace.iter().map(|line| plain(line)).collect();
        data.insert("backtrace".into(), lines.into());
    }
}

fn progress_data(progress: &Progress) -> Map<String, Value> {
    let Progress { completed, total, failures } = progress;
    [("completed", completed), ("total", total), ("failures", failures)]
        .into_iter()
        .map(|(name, count)| (name.into(), (*count).into()))
        .collect()
}

fn log_data(event: &Event, log: &WorkerLog) -> Map<String, Value> {
    let mut data = Map::new();
    if let Some(worker) = event.worker {
        data.insert("worker_index".into(), worker.into());
    }
    put(&mut data, "line", Some(&log.line));
    put(&mut data, "stream", log.stream.as_ref().map(crate::OutputStream::as_str));
    data
}

/// Fields that make no sense outside the flat form, or that would be new to an older client.
const LEFT_OUT: [&str; 7] = ["v", "seq", "run_id", "event_type", "repeat", "attempt", "worker"];

fn other_data(event: &Event) -> Map<String, Value> {
    let mut data = match serde_json::to_value(event) {
        Ok(Value::Object(data)) => data,
        _ => Map::new(),
    };
    data.retain(|name, value| {
        let empty_list = name == "pending_tool_calls" && value == &json!([]);
        !LEFT_OUT.contains(&name.as_str()) && !empty_list
    });
    data
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AgentResponse, Exception, Millis, UserMessage};

    /// The sample, with what stands beside it.
    fn golden(event: &Event, expected: &Value) {
        let mut expected = expected.clone();
        expected["seq"] = 17.into();
        expected["run_id"] = "r1".into();
        assert_eq!(Translator::default().translate(event), expected);
        let read = Event::from_json(&expected.to_string()).unwrap();
        assert_eq!((read.seq, &read.run_id), (event.seq, &event.run_id), "and it can be read");
    }

    fn at(mut event: Event, time: &str) -> Event {
        event.time = Some(time.parse().unwrap());
        (event.v, event.seq, event.worker) = (Some(1), Some(17), Some(0));
        event.run_id = Some("r1".into());
        (event.repeat, event.attempt) = (Some(1), Some(1));
        event.about(&"a3f2b1c9".into())
    }

    #[test]
    fn progress_sample() {
        let event =
            at(Progress { completed: 5, total: 20, failures: 1 }.into(), "2026-01-23T10:30:00Z");
        golden(
            &event,
            &json!({"event": "progress", "data": {"completed": 5, "total": 20, "failures": 1}}),
        );
    }

    #[test]
    fn example_started_sample() {
        let event = at(
            ExampleStarted {
                file: Some("./spec/booking_spec.rb".into()),
                path: vec!["BookingAgent".into(), "greeting".into(), "welcomes user".into()],
                location: Some("./spec/booking_spec.rb:42".into()),
                ..ExampleStarted::default()
            }
            .into(),
            "2026-01-23T10:30:00Z",
        );
        golden(
            &event,
            &json!({"event": "ExampleStarted", "data": {
                "example_id": "a3f2b1c9",
                "description": "welcomes user",
                "full_description": "BookingAgent greeting welcomes user",
                "location": "spec/booking_spec.rb:42",
            }}),
        );
    }

    #[test]
    fn user_message_sample() {
        let event = at(
            UserMessage {
                turn_number: 1,
                text: "Hi, I need to book a venue".into(),
                ..UserMessage::default()
            }
            .into(),
            "2026-01-23T10:30:00Z",
        );
        golden(
            &event,
            &json!({"event": "UserMessage", "data": {
                "example_id": "a3f2b1c9",
                "turn_number": 1,
                "text": "Hi, I need to book a venue",
                "time": "2026-01-23T10:30:00.000000Z",
            }}),
        );
    }

    #[test]
    fn agent_response_sample() {
        let event = at(
            AgentResponse {
                turn_number: 1,
                text: "Hello! I'd be happy to help you find a venue.".into(),
                ..AgentResponse::default()
            }
            .into(),
            "2026-01-23T10:30:01Z",
        );
        golden(
            &event,
            &json!({"event": "AgentResponse", "data": {
                "example_id": "a3f2b1c9",
                "turn_number": 1,
                "text": "Hello! I'd be happy to help you find a venue.",
                "tool_calls": [],
                "time": "2026-01-23T10:30:01.000000Z",
            }}),
        );
    }

    #[test]
    fn example_failed_sample_takes_its_description_from_the_start() {
        let mut translator = Translator::default();
        let started = ExampleStarted {
            path: vec!["Agent".into(), "welcomes user".into()],
            location: Some("./spec/booking_spec.rb:42".into()),
            ..Default::default()
        };
        translator.translate(&at(started.into(), "2026-01-23T10:30:00Z"));
        let finished = ExampleFinished {
            status: Status::Failed,
            duration_ms: Some(Millis::new(2340.0)),
            exception: Some(Exception {
                class: Some("RSpec::Expectations::ExpectationNotMetError".into()),
                message: "Expected friendly response but got...".into(),
                backtrace: vec!["./spec/booking_spec.rb:45".into()],
                ..Exception::default()
            }),
            ..Default::default()
        };
        assert_eq!(
            translator.translate(&at(finished.into(), "2026-01-23T10:30:02Z")),
            json!({"event": "ExampleFailed", "seq": 17, "run_id": "r1", "data": {
                "example_id": "a3f2b1c9",
                "description": "welcomes user",
                "full_description": "Agent welcomes user",
                "location": "spec/booking_spec.rb:42",
                "duration": 2.34,
                "message": "Expected friendly response but got...",
                "backtrace": ["spec/booking_spec.rb:45"],
            }}),
        );
        assert!(translator.descriptions.is_empty(), "a finished example is forgotten");
    }

    #[test]
    fn a_crash_is_a_failure_that_names_itself() {
        let finished = ExampleFinished {
            status: Status::Crashed,
            message: Some("worker 0 was killed by signal 9".into()),
            ..Default::default()
        };
        golden(
            &at(finished.into(), "2026-01-23T10:30:02Z"),
            &json!({"event": "ExampleFailed", "data": {
                "example_id": "a3f2b1c9",
                "status": "crashed",
                "message": "worker 0 was killed by signal 9",
            }}),
        );
    }
}
