//! The vocabulary of a run: what can happen, how it is named, and how it reaches those who watch.
//!
//! * [`Event`] is one immutable fact. Its payloads are defined once, in `catalogue.rs`; names, JSON,
//!   JSON Schema and the hooks of [`Observer`] all derive from that one definition.
//! * [`StableIds`] gives examples names that survive edits.
//! * [`Bus`] numbers events and hands them to subscribers without letting any of them slow or break
//!   the publisher.
//! * [`Translator`] renders the stream in the older `{event, data}` form.
//!
//! This crate does no I/O, knows no async runtime and reads no clock: time and run ids are passed in.

mod alias;
mod bus;
mod catalogue;
mod define;
mod event;
mod field;
mod ids;
mod json;
mod naming;
mod schema;
mod texts;
mod translate;
mod words;
mod written_form;

pub use bus::{
    BoxedError, Bus, BusConfig, BusReport, BusWarning, DEFAULT_QUEUE, Filter, ObserverReport,
    Recorder, Subscription, TextFilter, TimedOut,
};
pub use catalogue::*;
pub use event::{Event, FORMAT_VERSION, Published, ReadError, UnknownEvent};
pub use field::{Extra, FieldError};
pub use ids::{Collision, ExampleId, RunId, StableId, StableIds, stable_id_text};
pub use json::{Json, Millis};
pub use schema::json_schema;
pub use texts::TextChange;
pub use translate::Translator;
pub use words::{
    EvaluationMode, Fault, InvariantType, MessageSource, OutputStream, RunEnding, Status,
    StopReason, TerminationReason, TopicTrigger,
};

/// The timestamp type of every event: an instant, written as RFC 3339 in UTC.
pub type Timestamp = jiff::Timestamp;
