//! Tests of facts, probes, faults, spec text and rules, each through the public interface.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod constructs;
mod payment;
mod specs;
