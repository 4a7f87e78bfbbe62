//! The desk over a real socket: this side plays the worker, line by line.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod conversations;
mod peer;
