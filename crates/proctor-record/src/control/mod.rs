//! The socket of a live run: `.proctor/runs/<id>/control.sock`.
//!
//! While a run lives, its process answers there; that is how `watch`, `serve` and the tools for agents tell a run that goes on
//! from one that was cut off, and how they stop it. What happened in a run is in its recording, not here.
//!
//! * [`ControlServer`] is the run's side. It owns the socket's file and removes it at its end.
//! * [`query_status`], [`is_live`], [`cancel`], [`kill`] and [`live_runs`] are everybody else's.
//!
//! One line of JSON each way, then the connection is closed; every read and write has a time limit. The folder of runs
//! is its owner's alone (mode 0700), so whoever can connect may. Nothing here knows what a run is made of, or waits for its end.

mod client;
mod server;
mod socket;
mod wire;

pub use client::{AskError, LiveRun, cancel, is_live, kill, live_runs, query_status};
pub use server::{ControlServer, ControlledRun};
pub use socket::SOCKET_NAME;
pub use wire::{State, Status};
