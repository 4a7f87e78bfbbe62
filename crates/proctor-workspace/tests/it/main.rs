//! Integration tests: the real orchestrator, real processes, real kills.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod acceptance;
mod defects;
mod escapes;
mod evidence;
mod files;
mod hazards;
mod mistake_table;
mod mocks;
mod runs;
mod sizes;
mod storms;
mod support;
