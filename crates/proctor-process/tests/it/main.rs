//! Integration tests: real workers, real guards, real signals.
//!
//! Nothing here sleeps and hopes: every wait is for a condition, with a deadline far above what it takes.
#![expect(clippy::unwrap_used, reason = "test helpers may panic like tests do")]

mod captures;
mod corpus;
mod defects;
mod files;
mod guards;
mod listening;
mod outputs;
mod page;
mod processes;
mod rpc;
mod rpc_hostile;
mod short_command;
mod support;
mod workers;
