//! A value that no `Debug` output shows.

use std::fmt;
use std::sync::Arc;

/// How many characters a value has at least to be filtered. To mask every `on` would destroy texts and protect nothing.
pub const SHORTEST_SECRET: usize = 6;

/// A value that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Wraps a value. White space around it, as files and shells leave it, is dropped.
    pub fn new(value: impl AsRef<str>) -> Self {
        Self(value.as_ref().trim().into())
    }

    /// The value itself, for the one place that must send it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret([redacted])")
    }
}

impl From<&str> for Secret {
    fn from(value: &str) -> Self {
        Self::new(value)
    }
}
