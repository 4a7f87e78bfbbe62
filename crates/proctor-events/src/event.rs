//! One event: the envelope that all share, around a payload of the catalogue.
//!
//! Reading is tolerant in exactly the ways the format promises (unknown types and fields are kept,
//! envelope fields may be missing, older names are understood) and strict in all others.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::Timestamp;
use crate::alias;
use crate::catalogue::{Body, EventType};
use crate::field::{
    Extra, FieldError, FieldSink, MapSink, RawFields, ScannedFields, TextSink, required_fields,
    scan_word, write_extra,
};
use crate::ids::{ExampleId, RunId};
use crate::written_form::Scanner;

/// The version of the format that this crate writes.
pub const FORMAT_VERSION: u32 = 1;

/// The field in which a file keeps the digest of a line: 16 hexadecimal digits. It vouches for the bytes of that file, so it is no
/// part of the event and is dropped when a line is read.
const DIGEST: &str = "digest";

fn is_digest(json: &str) -> bool {
    let is_hex = |digit: &u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    matches!(json.as_bytes(), [b'"', digits @ .., b'"'] if digits.len() == 16 && digits.iter().all(is_hex))
}

/// One immutable fact of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The format version of its writer; absent on lines without envelope.
    pub v: Option<u32>,
    /// Its place in the run, from 1, without gaps.
    pub seq: Option<u64>,
    /// The run it belongs to.
    pub run_id: Option<RunId>,
    /// When it happened.
    pub time: Option<Timestamp>,
    /// The example it concerns; absent at suite level.
    pub example_id: Option<ExampleId>,
    /// Which repetition (`--repeat`), from 1.
    pub repeat: Option<u32>,
    /// Which attempt (`--retries`), from 1.
    pub attempt: Option<u32>,
    /// The worker it came from, from 0.
    pub worker: Option<u32>,
    /// What happened.
    pub body: Body,
    /// Fields of a newer writer, kept as they came.
    pub extra: Extra,
}

/// The name of an event that this version does not know; its fields are the event's `extra`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownEvent {
    /// The name on the wire.
    pub event_type: Box<str>,
}

/// Why a line is not an event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The text is not a JSON object.
    #[error("not a JSON object: {0}")]
    NotAnObject(String),
    /// Nothing says what kind of event it is.
    #[error("no `event_type`")]
    NoType,
    /// A field is wrong.
    #[error("{event_type}: {source}")]
    Field {
        /// The event's type.
        event_type: String,
        /// What is wrong.
        source: FieldError,
    },
}

impl Event {
    /// An event with an empty envelope; the bus fills in what it owns.
    pub fn new(body: impl Into<Body>) -> Self {
        Self {
            v: None,
            seq: None,
            run_id: None,
            time: None,
            example_id: None,
            repeat: None,
            attempt: None,
            worker: None,
            body: body.into(),
            extra: Vec::new(),
        }
    }

    /// The same event, about this example.
    #[must_use]
    pub fn about(mut self, example_id: &ExampleId) -> Self {
        self.example_id = Some(example_id.clone());
        self
    }

    /// The same event, from this worker.
    #[must_use]
    pub fn from_worker(mut self, worker: u32) -> Self {
        self.worker = Some(worker);
        self
    }

    /// The same event, in this repetition and attempt.
    #[must_use]
    pub fn in_attempt(mut self, repeat: u32, attempt: u32) -> Self {
        self.repeat = Some(repeat);
        self.attempt = Some(attempt);
        self
    }

    /// The name of its kind.
    pub fn type_name(&self) -> &str {
        match &self.body {
            Body::Unknown(unknown) => &unknown.event_type,
            known => known.event_type().map_or("", EventType::name),
        }
    }

    /// Reads one line.
    pub fn from_json(line: &str) -> Result<Self, ReadError> {
        match Self::from_written_form(line) {
            Some(event) => Ok(event),
            None => Self::from_any_form(line),
        }
    }

    /// Reads a line as [`to_json`](Self::to_json) writes it; `None` for every other line.
    fn from_written_form(line: &str) -> Option<Self> {
        let mut scanner = Scanner::new(line)?;
        let mut fields = ScannedFields::new(&mut scanner);
        let (v, seq, run_id) = (fields.take("v")?, fields.take("seq")?, fields.take("run_id")?);
        let time = fields.take::<Option<WireTime>>("time")?.map(|time| time.0);
        if !fields.take_name("event_type") {
            return None;
        }
        let event_type = EventType::from_name(fields.scanner().string()?.text)?;
        fields.end_field()?;
        let event = Self {
            v,
            seq,
            run_id,
            time,
            example_id: fields.take("example_id")?,
            repeat: fields.take("repeat")?,
            attempt: fields.take("attempt")?,
            worker: fields.take("worker")?,
            body: event_type.scan(&mut fields)?,
            extra: Vec::new(),
        };
        if fields.take_name(DIGEST) {
            is_digest(fields.scanner().value()?).then_some(())?;
            fields.end_field()?;
        }
        fields.at_end().then_some(event)
    }

    /// Reads one line, in whatever form it is.
    fn from_any_form(line: &str) -> Result<Self, ReadError> {
        let mut fields = split(line)?;
        if fields.get("event_type").is_none()
            && let Some((name, data)) = alias::envelope_form(&mut fields)
        {
            let mut event = Self::from_payload(&name, data.get())?;
            let beside = |error| field_error(&name, error);
            event.seq = event.seq.or(fields.take("seq").map_err(beside)?);
            event.run_id = event.run_id.or(fields.take("run_id").map_err(beside)?);
            return Ok(event);
        }
        let event_type: String = fields.take("event_type").map_err(|error| {
            if error.problem == "is missing" {
                ReadError::NoType
            } else {
                field_error("event", error)
            }
        })?;
        Self::from_fields(event_type, fields)
    }

    /// Reads an event whose name stands beside its fields, as in a worker's notification.
    pub fn from_payload(event_type: &str, payload: &str) -> Result<Self, ReadError> {
        let mut fields = split(payload)?;
        fields.remove("event_type");
        Self::from_fields(event_type.to_owned(), fields)
    }

    /// Reads an event whose payload was split into fields when the line around it was read.
    pub fn from_raw_fields(
        event_type: &str,
        fields: Vec<(Box<str>, Box<RawValue>)>,
    ) -> Result<Self, ReadError> {
        let mut fields = RawFields::from_owned(fields);
        fields.remove("event_type");
        Self::from_fields(event_type.to_owned(), fields)
    }

    fn from_fields(event_type: String, mut fields: RawFields<'_>) -> Result<Self, ReadError> {
        let event_type = alias::normalise(event_type, &mut fields);
        if fields.get(DIGEST).is_some_and(|value| is_digest(value.get())) {
            fields.remove(DIGEST);
        }
        let read = |fields: &mut RawFields<'_>| -> Result<Self, FieldError> {
            Ok(Self {
                v: fields.take("v")?,
                seq: fields.take("seq")?,
                run_id: fields.take("run_id")?,
                time: fields.take::<Option<WireTime>>("time")?.map(|time| time.0),
                example_id: fields.take("example_id")?,
                repeat: fields.take("repeat")?,
                attempt: fields.take("attempt")?,
                worker: fields.take("worker")?,
                body: match EventType::from_name(&event_type) {
                    Some(known) => known.read(fields)?,
                    None => Body::Unknown(UnknownEvent { event_type: event_type.as_str().into() }),
                },
                extra: Vec::new(),
            })
        };
        let mut event = read(&mut fields).map_err(|error| field_error(&event_type, error))?;
        event.extra = fields.into_extra();
        Ok(event)
    }

    /// Its JSON text, one line without line feed.
    pub fn to_json(&self) -> String {
        let mut line = Vec::with_capacity(512);
        self.append_json(&mut line);
        String::from_utf8(line).unwrap_or_default()
    }

    /// Appends its JSON text to a buffer.
    pub fn append_json(&self, buffer: &mut Vec<u8>) {
        let mut sink = TextSink::open(buffer);
        // Serialising to memory fails only if a payload's own `Serialize` does, and none of ours can.
        let written = self.write(&mut sink);
        sink.close();
        debug_assert!(written.is_ok(), "{written:?}");
    }

    fn write<S: FieldSink>(&self, sink: &mut S) -> Result<(), S::Error> {
        fn optional<S: FieldSink>(
            sink: &mut S,
            name: &'static str,
            value: Option<&impl Serialize>,
        ) -> Result<(), S::Error> {
            value.map_or(Ok(()), |value| sink.field(name, value))
        }

        optional(sink, "v", self.v.as_ref())?;
        optional(sink, "seq", self.seq.as_ref())?;
        optional(sink, "run_id", self.run_id.as_ref())?;
        optional(sink, "time", self.time.map(WireTime).as_ref())?;
        sink.field("event_type", &self.type_name())?;
        optional(sink, "example_id", self.example_id.as_ref())?;
        optional(sink, "repeat", self.repeat.as_ref())?;
        optional(sink, "attempt", self.attempt.as_ref())?;
        optional(sink, "worker", self.worker.as_ref())?;
        self.body.write_fields(sink)?;
        write_extra(&self.extra, sink)
    }
}

/// An event that has been published: immutable, with its JSON text made at most once.
#[derive(Debug)]
pub struct Published {
    event: Event,
    json: OnceLock<Arc<str>>,
}

impl Published {
    /// Wraps an event.
    pub fn new(event: Event) -> Self {
        Self { event, json: OnceLock::new() }
    }

    /// Its JSON text, one line without line feed.
    pub fn json(&self) -> &Arc<str> {
        self.json.get_or_init(|| self.event.to_json().into())
    }

    /// Appends its JSON text to a buffer. A text that was not asked for yet is written there and nowhere else: in most runs the recording
    /// is the only reader.
    pub fn append_json_to(&self, buffer: &mut Vec<u8>) {
        match self.json.get() {
            Some(json) => buffer.extend_from_slice(json.as_bytes()),
            None => self.event.append_json(buffer),
        }
    }
}

impl Deref for Published {
    type Target = Event;

    fn deref(&self) -> &Event {
        &self.event
    }
}

fn split(text: &str) -> Result<RawFields<'_>, ReadError> {
    serde_json::from_str(text).map_err(|error| ReadError::NotAnObject(error.to_string()))
}

fn field_error(event_type: &str, source: FieldError) -> ReadError {
    ReadError::Field { event_type: event_type.to_owned(), source }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.write(&mut MapSink(&mut map))?;
        map.end()
    }
}

/// A time as RFC 3339 in UTC with six fraction digits, so that texts sort as times do. Input may have any number of digits, another
/// offset, or a space instead of `T`; digits beyond the sixth are dropped.
struct WireTime(Timestamp);

impl WireTime {
    /// `None` before the year 0, which no clock shows.
    fn text(&self) -> Option<[u8; 27]> {
        let time = jiff::tz::Offset::UTC.to_datetime(self.0);
        let mut text = *b"0000-00-00T00:00:00.000000Z";
        let mut put = |from: usize, digits: usize, value: i32| {
            let mut left = u32::try_from(value).ok()?;
            for digit in text[from..from + digits].iter_mut().rev() {
                *digit = b"0123456789"[(left % 10) as usize];
                left /= 10;
            }
            Some(())
        };
        put(0, 4, time.year().into())?;
        put(5, 2, time.month().into())?;
        put(8, 2, time.day().into())?;
        put(11, 2, time.hour().into())?;
        put(14, 2, time.minute().into())?;
        put(17, 2, time.second().into())?;
        put(20, 6, time.subsec_nanosecond() / 1000)?;
        Some(text)
    }
}

impl Serialize for WireTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.text();
        match text.as_ref().and_then(|text| std::str::from_utf8(text).ok()) {
            Some(text) => serializer.serialize_str(text),
            None => serializer.collect_str(&self.0),
        }
    }
}

impl<'de> Deserialize<'de> for WireTime {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let parsed = text.parse().or_else(|error| {
            // Ruby's `Time#to_s`: `2026-01-22 10:30:00 +0000`.
            jiff::fmt::strtime::parse("%Y-%m-%d %H:%M:%S %z", &*text)
                .and_then(|broken_down| broken_down.to_timestamp())
                .map_err(|_| error)
        });
        parsed
            .and_then(|time: Timestamp| Timestamp::from_microsecond(time.as_microsecond()))
            .map(Self)
            .map_err(|_| serde::de::Error::custom(format_args!("`{text}` is not an RFC 3339 time")))
    }
}

required_fields!(WireTime; by |scanner| scanner.time().map(WireTime));
required_fields!(RunId, ExampleId; by |scanner| scan_word(scanner));

#[cfg(test)]
mod tests;
#[cfg(test)]
mod written_form_tests;
