//! The crate from outside: the schema that is checked in, and a whole conversation by the public names.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod conversation;
mod mistake_table;
mod mistakes;
mod schema;
