//! Conversations with real parties: servers, processes, files.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agents;
mod cassettes;
mod endings;
mod frameworks;
mod in_language;
mod judged;
mod live_calls;
mod many;
mod model_endpoint;
mod models;
mod reports;
mod saved;
mod server;
mod table;
mod tools;
mod traces;
mod waits;
mod worker_host;
mod world;
