//! Tests of the whole foundation with real processes and real kills.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod kill;
