//! The worker that the tests run: well-behaved and badly behaved, by its first argument.
//!
//! `serve` speaks the protocol through the crate's own helper. The other modes are raw programs that do
//! one thing, most of them wrong. Every mode ends by itself within a minute.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::exit,
    clippy::unwrap_used,
    reason = "a test program that talks on its standard streams and crashes on purpose"
)]

mod bench;
mod host;
mod raw;
mod serve;

use std::time::Duration;

/// Longest life of anything started by a test.
const LIFE: Duration = Duration::from_mins(1);

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["serve", threads] => serve::run(threads.parse().unwrap()),
        ["host", token, guard] => host::run(token, guard),
        ["cycles", guard] => host::cycles(guard),
        ["bench", count, guard] => bench::run(count.parse().unwrap(), guard),
        ["bench-echo"] => raw::echo_lines(),
        other => raw::run(other),
    }
}
