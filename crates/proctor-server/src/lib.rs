//! The recordings of a project over HTTP and WebSocket, with the web viewer.
//!
//! [`Server::start`] listens on a thread of its own. Everything it shows comes from recordings: a run of this process, a run of
//! another one and a finished run are the same to it, because each is a file of events (`open_runs` follows those
//! that grow). Runs are started through a [`Launcher`], which the binary supplies.
//!
//! [`html_report`] is the same viewer as one file that needs no server.
//!
//! It knows no workers and no terminal, keeps no results of its own, and never prints.

mod access;
mod api;
mod assets;
mod connections;
mod error;
mod event_stream;
mod launcher;
mod mcp_service;
mod open_runs;
mod recorded_end;
mod report;
mod rows;
mod run_names;
mod server;

pub use error::ApiError;
pub use launcher::{LaunchError, LaunchProgress, Launcher, RunRequest};
pub use mcp_service::McpService;
pub use report::html_report;
pub use rows::{ErrorRow, Header, Row, WorkerRow, rows};
pub use server::{Limits, Server, ServerConfig};

/// The description of the HTTP interface (`OpenAPI` 3.1).
pub const OPENAPI: &str = include_str!("../openapi.json");
