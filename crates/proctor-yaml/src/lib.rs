//! YAML files as typed values, with the place of every mistake. Pure: reading the file is the caller's job.
//!
//! [`read_yaml`] makes a tree in which every value has its place ([`Node`]); [`read_node`] makes a typed value of it through
//! serde and collects every mistake as a [`Finding`], in one pass over the file; [`Finding::in_file`] turns a finding into what
//! a person is shown ([`FileProblem`]). Checks of the caller add findings of their own.
//!
//! `serde-saphyr` parses. By hand is what it does not offer: reading on after a mistake, suggestions for unknown keys, and
//! numbers beyond 64 bits ([`decimal`]). This crate does not know what a file is about.

mod at;
pub mod decimal;
mod exact_numbers;
mod node;
mod problem;
mod read;

pub use self::at::{At, LIST_MARK};
pub use self::node::{
    BYTE_ORDER_MARK, Key, Kind, MAX_DEPTH, Node, NotYaml, Place, read_yaml, with_deep_stack,
};
pub use self::problem::{FileProblem, Finding, Findings, nearest_or_known};
pub use self::read::{ValueError, read_node, read_value};
