#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
//! The server as clients meet it: real sockets, real files.

mod answers;
mod journal;
mod limits;
mod listing;
mod rows;
mod security;
mod stopping;
mod streams;
mod test_server;
