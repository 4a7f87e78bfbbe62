//! The crate as others use it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod control;
mod written_at_8d3abcc;
