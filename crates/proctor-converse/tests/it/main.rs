//! Conversations with real parties: servers, processes, files.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
