//! The spans of agents under test as evidence.
//!
//! * [`Traces`] belongs to a run: a receiver of OTLP over HTTP on loopback, and the turns that spans are awaited for;
//! * [`OpenTurn`] is one question to an agent with a trace of its own, so that spans can belong to no other;
//! * [`Evidence`] is what the spans of a turn say: calls of tools and models, times, and what is missing.
//!
//! Knows nothing of conversations, of agents, and of what is decided by the evidence.

mod evidence;
mod genai;
mod json;
mod otlp;
mod receiver;
mod requested_calls;
mod span;
mod store;

pub use evidence::{Evidence, Gap, SeenCall, SeenModelCall};
pub use otlp::{DecodeError, decode_json, decode_protobuf};
pub use receiver::Traces;
pub use span::{Span, SpanId, SpanKind, TraceId};
pub use store::{Arrival, OpenTurn, SpanCounts, TurnSpans};
