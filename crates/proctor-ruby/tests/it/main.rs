//! Tests of facts, probes, faults and spec text, each through the public interface.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod constructs;
mod document;
mod oracle;
mod payment;
mod robust;
mod specs;
