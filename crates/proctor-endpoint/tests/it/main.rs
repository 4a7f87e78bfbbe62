//! The endpoint over real sockets.
#![allow(clippy::unwrap_used, reason = "tests")]

mod client;
mod faults;
mod isolation;
mod recording;
mod requests;
