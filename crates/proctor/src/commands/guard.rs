//! `proctor __guard`: the process that stands between us and a tree of children.

use std::process::ExitCode;

pub(crate) fn run() -> ExitCode {
    proctor_process::guard::main()
}
