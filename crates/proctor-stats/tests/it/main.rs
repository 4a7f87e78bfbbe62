//! The statistics against reference implementations, and the laws they must keep.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod laws;
mod reference;
mod sequential;
