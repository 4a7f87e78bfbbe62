//! Errors of HTTP requests, with messages for people and without keys.

use std::time::{Duration, SystemTime};

use proctor_redact::Redactor;
use proctor_text::shorten;
use serde_json::Value;

use super::WallClock;
use crate::error::{ErrorKind, ModelError};
use crate::wire::{WireFault, error_text};

/// The other side, as far as messages about it are concerned.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// Its address without query and user.
    pub(crate) name: String,
    pub(crate) redactor: Redactor,
    pub(crate) has_key: bool,
    pub(crate) key_hint: String,
    pub(crate) clock: WallClock,
}

impl Peer {
    fn error(&self, kind: ErrorKind, words: impl AsRef<str>) -> ModelError {
        ModelError::new(
            kind,
            self.redactor.redact_text(&format!("{} {}", self.name, words.as_ref())).into_owned(),
        )
    }

    pub(crate) fn missing_key_error(&self) -> ModelError {
        let hint = self.hint();
        self.error(ErrorKind::NoKey, format!("needs an API key, and none is set{hint}"))
    }

    pub(crate) fn timeout_error(&self, limit: Duration) -> ModelError {
        let words = format!("did not finish its answer within {}", seconds(limit));
        self.error(ErrorKind::Timeout, words)
    }

    pub(crate) fn idle_error(&self, limit: Duration) -> ModelError {
        self.error(ErrorKind::Timeout, format!("sent nothing for {}", seconds(limit)))
    }

    pub(crate) fn too_large_error(&self, limit: usize) -> ModelError {
        self.error(ErrorKind::Malformed, format!("sent more than {limit} bytes"))
    }

    pub(crate) fn fault(&self, fault: WireFault) -> ModelError {
        self.error(fault.kind, fault.message)
    }

    /// A body as JSON.
    pub(crate) fn json(&self, text: &str, content_type: &str) -> Result<Value, ModelError> {
        serde_json::from_str(text).map_err(|problem| {
            let shown = shorten(text, 120);
            let words = if text.trim().is_empty() {
                "answered with an empty body".to_owned()
            } else if problem.is_eof() {
                format!("sent an incomplete answer: {shown}")
            } else {
                format!("answered with {content_type} that is not JSON ({problem}): {shown}")
            };
            let eof = problem.is_eof() && !text.trim().is_empty();
            self.error(if eof { ErrorKind::Truncated } else { ErrorKind::Malformed }, words)
        })
    }

    /// A request that got no answer.
    pub(crate) fn unreachable_error(&self, problem: reqwest::Error) -> ModelError {
        // Addresses may hold keys, so the error must not show its own.
        let problem = problem.without_url();
        let cause = root_cause(&problem);
        if problem.is_timeout() {
            return self.error(ErrorKind::Timeout, "did not answer in time");
        }
        if problem.is_builder() {
            return self.error(ErrorKind::Config, format!("cannot be sent the request: {cause}"));
        }
        if problem.is_connect() {
            let words = format!(
                "cannot be reached: {cause}; check that it is running and that the address is right"
            );
            return self.error(ErrorKind::Unreachable, words);
        }
        self.error(
            ErrorKind::Unreachable,
            format!("closed the connection without an answer: {cause}"),
        )
    }

    /// An answer that broke off.
    pub(crate) fn truncated_error(&self, problem: reqwest::Error) -> ModelError {
        let cause = root_cause(&problem.without_url());
        self.error(
            ErrorKind::Truncated,
            format!("closed the connection in the middle of its answer: {cause}"),
        )
    }

    /// An answer that is no success.
    pub(crate) fn status(
        &self,
        status: u16,
        headers: &reqwest::header::HeaderMap,
        body: &str,
    ) -> ModelError {
        let value: Value = serde_json::from_str(body).unwrap_or_default();
        let error_message = error_text(&value).unwrap_or_else(|| shorten(body, 200));
        let error_message =
            if error_message.is_empty() { error_message } else { format!(": {error_message}") };
        let (kind, words) = self.classify(status, &value);
        let retry_after = retry_after(headers, self.clock.now());
        let error = self.error(kind, format!("{words} (HTTP {status}){error_message}"));
        ModelError { status: Some(status), retry_after, ..error }
    }

    fn classify(&self, status: u16, body: &Value) -> (ErrorKind, String) {
        let code = body.pointer("/error/code").and_then(Value::as_str).unwrap_or_default();
        let plain = |kind, words: &str| (kind, words.to_owned());
        match status {
            401 if !self.has_key => {
                (ErrorKind::Refused, format!("needs an API key, and none is set{}", self.hint()))
            }
            401 => (ErrorKind::Refused, format!("rejected the API key{}", self.hint())),
            403 => plain(ErrorKind::Refused, "does not allow this request with this API key"),
            402 => plain(ErrorKind::QuotaExhausted, "requires payment"),
            429 if code == "insufficient_quota" => {
                plain(ErrorKind::QuotaExhausted, "says that the account's quota is used up")
            }
            429 => plain(ErrorKind::RateLimited, "says that requests come too fast"),
            404 => plain(ErrorKind::NotFound, "knows no such address or model"),
            300..=399 => plain(ErrorKind::NotFound, "points to another address; use that one"),
            408 => plain(ErrorKind::Timeout, "gave up waiting for the request"),
            529 | 503 => plain(ErrorKind::Overloaded, "is overloaded"),
            500..=599 => plain(ErrorKind::Overloaded, "failed on its side"),
            _ => plain(ErrorKind::BadRequest, "does not accept the request"),
        }
    }

    fn hint(&self) -> String {
        let hint = &self.key_hint;
        if hint.is_empty() { String::new() } else { format!("; {hint}") }
    }
}

fn seconds(limit: Duration) -> String {
    format!("{} s", limit.as_secs_f64())
}

/// The innermost cause: the outer ones say «error sending request» and the like.
fn root_cause(problem: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = problem;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

fn retry_after(headers: &reqwest::header::HeaderMap, now: SystemTime) -> Option<Duration> {
    let read = |name| {
        headers.get(name).and_then(|value: &reqwest::header::HeaderValue| value.to_str().ok())
    };
    let milliseconds = read("retry-after-ms").and_then(|text| text.trim().parse().ok());
    milliseconds
        .map(Duration::from_millis)
        .or_else(|| read("retry-after").and_then(|text| parse_retry_after(text, now)))
}

/// The wait that a `RetryingModel-After` header asks for: seconds, or a date (one that has passed asks for
/// none).
pub fn parse_retry_after(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let parse = |text| parse_retry_after(text, now);
        assert_eq!(parse(" 7 "), Some(Duration::from_secs(7)));
        assert_eq!(parse("0.5"), Some(Duration::from_millis(500)));
        assert_eq!(parse("Sun, 06 Nov 1994 08:50:07 GMT"), Some(Duration::from_secs(30)));
        assert_eq!(parse("Sunday, 06-Nov-94 08:50:07 GMT"), Some(Duration::from_secs(30)));
        assert_eq!(parse("Sun, 06 Nov 1994 08:00:00 GMT"), Some(Duration::ZERO));
        assert_eq!(parse("-3"), None);
        assert_eq!(parse("soon"), None);
        assert_eq!(parse("NaN"), None);
    }
}
