//! The review: what running the specs measures, and the guide's rules that a program can check.
//!
//! [`branches`] compares them with the analysis; [`measure`] runs specs with branch coverage and against faults; [`rules`] reads them; [`fix`] repairs what can be
//! repaired without changing what a spec says about the code.

pub mod branches;
pub mod fix;
mod measure;
pub mod rules;
mod tree;

pub(crate) use measure::measure_at;
pub use measure::{Covered, Measured, measure};
