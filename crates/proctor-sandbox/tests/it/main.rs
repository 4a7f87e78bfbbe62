//! The sandbox with real processes: what must fail inside, what must work, and what the launcher refuses.
//!
//! The program `proctor-test-sandbox` is launcher and escapist in one. Tests that need root for their second user say so and
//! run with one user otherwise.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod escapes;
mod guarded;
mod launching;
mod stage;
mod working;
