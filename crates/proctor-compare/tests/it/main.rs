//! Comparisons of runs as they are recorded, and of simulated runs.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod false_alarms;
mod page;
mod recorded;
mod simulate;
