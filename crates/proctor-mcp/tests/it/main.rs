//! The table of tools and the protocol around it, with a real journal and real streams.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod big;
mod live;
mod mistakes;
mod protocol;
mod table;
mod test_project;
