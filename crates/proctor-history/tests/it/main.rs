//! The index over real recordings: what it says, and that it can always be made again.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod changes;
mod comparisons;
mod damage;
mod project;
mod queries;
mod search;
mod seeded_damage;
mod written_at_8d3abcc;
