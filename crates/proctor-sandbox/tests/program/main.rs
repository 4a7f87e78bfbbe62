//! A launcher and the attempts that it is tested with.
//!
//! `launch …` confines, `guard` guards, `attempt NAME …` tries to escape and says with its exit code whether it did: 0 for an escape, 1 for
//! none. `check NAME …` does something that must work inside, with the same codes turned round.

#![expect(
    unsafe_code,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::print_stdout,
    reason = "a test program that makes system calls which have no safe form, and reports"
)]

mod attempts;
mod checks;
mod facts;
mod raw;

use std::io;
use std::process::ExitCode;

use facts::Facts;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let mode = arguments.next().unwrap_or_default();
    if mode == "launch" {
        return proctor_sandbox::launcher_main(arguments, &|name| std::env::var_os(name));
    }
    if mode == "guard" {
        return proctor_process::guard::main();
    }
    let words: Vec<String> = arguments.map(|word| word.to_string_lossy().into_owned()).collect();
    let outcome = match (mode.to_str(), words.split_first()) {
        (Some("attempt"), Some((name, rest))) => {
            Facts::read(rest).and_then(|facts| attempts::run(name, &facts))
        }
        (Some("check"), Some((name, rest))) => checks::run(name, rest),
        _ => Err(io::Error::other("usage: launch | attempt NAME FACTS | check NAME")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}
