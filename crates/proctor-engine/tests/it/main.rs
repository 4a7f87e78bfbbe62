//! The engine against a real NATS server.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod faults;
mod server;
