//! Where a model is and how to speak to it: configuration only.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use proctor_redact::Secret;
use serde_json::{Map, Value};

use super::transport::without_user;
use crate::wire::Dialect;

/// Where the time of day comes from: only dates in `RetryingModel-After` need it.
#[derive(Clone)]
pub struct WallClock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl WallClock {
    /// A clock of one's own.
    pub fn new(clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(clock))
    }

    pub(crate) fn now(&self) -> SystemTime {
        (self.0)()
    }
}

impl Default for WallClock {
    fn default() -> Self {
        Self::new(SystemTime::now)
    }
}

impl fmt::Debug for WallClock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WallClock")
    }
}

/// Where a model is and how to speak to it.
#[derive(Clone)]
pub struct Endpoint {
    /// The base address (`https://api.anthropic.com`, `http://localhost:11434/v1`) or the full one.
    pub url: String,
    /// The model.
    pub model: String,
    /// The key, where one is needed.
    pub key: Option<Secret>,
    /// How a person gives the key; named when it is missing or refused.
    pub key_hint: String,
    /// Further headers.
    pub headers: Vec<(String, Secret)>,
    /// Further members of the body.
    pub extra: Map<String, Value>,
    /// Whether to stream, which measures the time to the first token.
    pub stream: bool,
    /// Longest whole answer.
    pub timeout: Duration,
    /// Longest silence within an answer.
    pub idle_timeout: Duration,
    /// Largest answer, in bytes.
    pub max_bytes: usize,
    /// An HTTP proxy; the environment is not looked at.
    pub proxy: Option<Secret>,
    /// The time of day.
    pub clock: WallClock,
}

impl Endpoint {
    /// An endpoint with the usual limits: two minutes, one minute of silence, 16 MiB.
    pub fn new(url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            model: model.into(),
            key: None,
            key_hint: String::new(),
            headers: Vec::new(),
            extra: Map::new(),
            stream: false,
            timeout: Duration::from_mins(2),
            idle_timeout: Duration::from_mins(1),
            max_bytes: 16 << 20,
            proxy: None,
            clock: WallClock::default(),
        }
    }

    /// Anthropic's own service.
    pub fn anthropic(model: impl Into<String>, key: Option<Secret>) -> Self {
        let key_hint = "set ANTHROPIC_API_KEY".into();
        Self { key, key_hint, ..Self::new("https://api.anthropic.com", model) }
    }

    /// `OpenAI`'s own service.
    pub fn openai(model: impl Into<String>, key: Option<Secret>) -> Self {
        let key_hint = "set OPENAI_API_KEY".into();
        Self { key, key_hint, ..Self::new("https://api.openai.com/v1", model) }
    }

    pub(super) fn address(&self, dialect: Dialect) -> String {
        let (base, query) = match self.url.split_once('?') {
            Some((base, query)) => (base, format!("?{query}")),
            None => (self.url.as_str(), String::new()),
        };
        let base = base.trim_end_matches('/');
        let tail = match dialect {
            Dialect::Anthropic if base.ends_with("/v1") => "/messages",
            Dialect::Anthropic => "/v1/messages",
            Dialect::OpenAi => "/chat/completions",
        };
        let tail = if base.ends_with(tail) { "" } else { tail };
        format!("{base}{tail}{query}")
    }

    /// The providers' own services require a key; others may not.
    pub(super) fn needs_key(&self) -> bool {
        ["api.anthropic.com", "api.openai.com"].iter().any(|host| self.url.contains(host))
    }
}

impl fmt::Debug for Endpoint {
    /// Addresses may hold keys too, so only what is shown in messages is shown here.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Endpoint")
            .field("url", &without_user(&self.url))
            .field("model", &self.model)
            .field("key", &self.key)
            .field("headers", &self.headers)
            .field("stream", &self.stream)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_and_full_addresses_both_do() {
        let address = |dialect, url: &str| Endpoint::new(url, "m").address(dialect);
        let full = "http://h/v1/messages";
        for url in ["http://h", "http://h/", "http://h/v1", "http://h/v1/", full] {
            assert_eq!(address(Dialect::Anthropic, url), full);
        }
        let full = "http://h/v1/chat/completions";
        for url in ["http://h/v1", "http://h/v1/", full] {
            assert_eq!(address(Dialect::OpenAi, url), full);
        }
        assert_eq!(address(Dialect::OpenAi, "http://h/v1?v=2"), format!("{full}?v=2"));
    }
}
