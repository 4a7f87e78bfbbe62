//! Integration tests of the journal, in one binary.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod acceptance;
mod annotations;
mod capturing;
mod commands;
mod corpus;
mod crash;
mod defects;
mod doctoring;
mod evidence;
mod exchanging;
mod hooks;
mod interop;
mod mem_disk;
mod model;
mod outputs;
mod reading;
mod scanning;
mod state_table;
mod stress;
mod support;
mod written_at_8d3abcc;
