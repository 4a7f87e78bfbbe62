//! `proctor __guard`: the process that stands between us and a tree of children.

use std::process::ExitCode;

use crate::cli::GuardArguments;

pub(crate) fn run(_arguments: &GuardArguments) -> ExitCode {
    ExitCode::from(2)
}
