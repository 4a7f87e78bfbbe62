//! `proctor __sandbox`: the process that confines a program.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct SandboxArguments {
    /// What the launcher is told
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) rest: Vec<OsString>,
}

pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    proctor_sandbox::launcher_main(arguments.iter().cloned(), &|name| std::env::var_os(name))
}
