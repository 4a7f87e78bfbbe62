//! The planner of repetitions, by simulation.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod repeat_auto;
mod simulate;
