//! Whole runs over a scripted worker, and the planner of repetitions by simulation.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod harness;
mod options;
mod repeat_auto;
mod runs;
mod simulate;
