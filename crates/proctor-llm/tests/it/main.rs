//! The backends against real peers: a local model server, broken sockets, child processes.

mod agents;
mod commands;
mod failures;
mod models;
mod secrets;
mod server;
