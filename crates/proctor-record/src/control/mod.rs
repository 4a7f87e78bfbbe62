//! The socket of a live run: `.proctor/runs/<id>/control.sock`.
//!
//! The process of a run replies to requests on this socket. `watch`, `serve` and the tools for agents use it to tell a live run from one that
//! died, and to stop a run. Results are in the recording, not here.
//!
//! * [`ControlServer`] serves the socket of a run. It owns the socket's file and removes it when it is dropped.
//! * [`query_status`], [`is_live`], [`cancel`], [`kill`] and [`live_runs`] are the client.
//!
//! One line of JSON each way, then the connection is closed; every read and write has a time limit. The folder of runs
//! has mode 0700, so no other check of the client is made. This module does not know examples and does not wait for the end of a run.

mod client;
mod server;
mod socket;
mod wire;

pub use client::{ControlError, LiveRun, cancel, is_live, kill, live_runs, query_status};
pub use server::{ControlServer, ControlledRun};
pub use socket::SOCKET_NAME;
pub use wire::{State, Status};
