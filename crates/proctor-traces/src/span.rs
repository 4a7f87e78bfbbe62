//! A span as it is kept here: what evidence and the viewer need, and no more than the limits allow.

use std::fmt::Write;

use serde_json::Value;

/// The id of a trace.
pub type TraceId = [u8; 16];
/// The id of a span.
pub type SpanId = [u8; 8];

/// What a span is in a distributed system.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SpanKind {
    /// Work inside a program.
    #[default]
    Internal,
    /// The handling of a request.
    Server,
    /// A request to another program.
    Client,
}

/// A span that has ended; others are not sent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Span {
    /// The trace it belongs to.
    pub trace_id: TraceId,
    /// Its own id.
    pub span_id: SpanId,
    /// The span it is a part of.
    pub parent: Option<SpanId>,
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: SpanKind,
    /// When it began, in nanoseconds since 1970.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// Its attributes, in their order.
    pub attributes: Vec<(String, Value)>,
    /// What went wrong, if its status is an error.
    pub error: Option<String>,
    /// The instrumentation that made it.
    pub scope: String,
}

impl Span {
    /// The first of these attributes that it has.
    pub(crate) fn attribute(&self, keys: &[&str]) -> Option<&Value> {
        keys.iter().find_map(|key| {
            let found = self.attributes.iter().find(|(name, _)| name == key);
            found.map(|(_, value)| value).filter(|value| !value.is_null())
        })
    }

    /// The first of these attributes that is a text with something in it.
    pub(crate) fn text(&self, keys: &[&str]) -> Option<&str> {
        let texts = keys.iter().filter_map(|key| self.attribute(&[*key])?.as_str());
        texts.map(str::trim).find(|text| !text.is_empty())
    }

    /// The first of these attributes that is a whole number.
    pub(crate) fn count(&self, keys: &[&str]) -> Option<u64> {
        keys.iter().find_map(|key| {
            let value = self.attribute(&[*key])?;
            // Some instrumentations count in floating point.
            let rounded = || value.as_f64().filter(|number| number.fract() == 0.0);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the cast saturates, and negative counts are left out"
            )]
            let count = || rounded().filter(|number| *number >= 0.0).map(|number| number as u64);
            value.as_u64().or_else(count)
        })
    }

    /// The first of these attributes that is a number from 0 on.
    pub(crate) fn number(&self, keys: &[&str]) -> Option<f64> {
        let numbers = keys.iter().filter_map(|key| self.attribute(&[*key])?.as_f64());
        numbers.into_iter().find(|number| number.is_finite() && *number >= 0.0)
    }

    /// How long it took, in milliseconds.
    pub fn duration_ms(&self) -> f64 {
        milliseconds(self.start_ns, self.end_ns)
    }
}

/// The milliseconds between two times; none if the clock went backwards.
pub(crate) fn milliseconds(start_ns: u64, end_ns: u64) -> f64 {
    std::time::Duration::from_nanos(end_ns.saturating_sub(start_ns)).as_secs_f64() * 1000.0
}

/// An id as texts have it.
pub(crate) fn hex(id: &[u8]) -> String {
    let mut text = String::with_capacity(id.len() * 2);
    for byte in id {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
