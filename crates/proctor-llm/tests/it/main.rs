//! The backends against real peers: a local model server, broken sockets, child processes.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod agents;
mod commands;
mod failures;
mod models;
mod secrets;
mod server;
mod written_at_8d3abcc;
