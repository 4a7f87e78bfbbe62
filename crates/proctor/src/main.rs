//! `proctor`: arguments, environment, exit codes and wiring. All behaviour is in the libraries.
//!
//! This is the only place that reads the process environment and writes to standard output.

mod cli;
mod commands;
mod config;
mod env_vars;
mod error;
mod project;
mod secrets;
mod suggestions;
mod terminal;
mod values;

use std::process::ExitCode;

use clap::Parser as _;

use crate::cli::{Cli, Command};
use crate::error::CommandError;
use crate::terminal::Terminal;

fn main() -> ExitCode {
    // Without it a write beyond the limit ends the process, as it would have anyway.
    let _ = proctor_process::report_file_size_limit_as_error();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return report_usage_error(&suggestions::without_hidden(error)),
    };
    protect_memory(&cli.command);
    let mut terminal = Terminal::new(cli.color, cli.command.prints_json());
    match run(&cli, &mut terminal) {
        Ok(code) if code == ExitCode::SUCCESS && terminal.failure().is_some() => {
            let why = terminal.failure().unwrap_or_default();
            let error =
                CommandError::system(format_args!("cannot write to standard output: {why}"));
            terminal.report(&error);
            error.exit_code()
        }
        Ok(code) => code,
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            terminal.report(&error);
            error.exit_code()
        }
    }
}

/// Keeps programs of the same user, agents under test among them, from reading this process's environment and memory by `/proc`.
/// Processes that set up a namespace must write to their own `/proc` folder; they hold no keys.
fn protect_memory(command: &Command) {
    #[cfg(target_os = "linux")]
    if !matches!(command, Command::Guard | Command::Sandbox(_) | Command::Mock(_)) {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // A kernel that refuses leaves everything as it is on other systems.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = command;
}

/// Prints help or a usage error. A hook must not stop its host even then.
fn report_usage_error(error: &clap::Error) -> ExitCode {
    let is_hook = commands::journal::hook::is_meant(std::env::args_os());
    let text = error.to_string();
    if let std::borrow::Cow::Owned(clean) = secrets::without(&text) {
        // A usage error repeats the argument. Colours are lost, which nobody misses here.
        terminal::print_plain(error.use_stderr(), &clean);
    } else {
        let _ = error.print();
    }
    if is_hook {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
    }
}

fn run(cli: &Cli, terminal: &mut Terminal) -> Result<ExitCode, CommandError> {
    match &cli.command {
        Command::Run(arguments) => commands::run::run(arguments, cli, terminal),
        Command::Bisect(arguments) => commands::bisect::run(arguments, cli, terminal),
        Command::Mutate(arguments) => commands::mutate::run(arguments, cli, terminal),
        Command::List(arguments) => commands::list::run(arguments, cli, terminal),
        Command::Work(arguments) => commands::work::run(arguments, cli, terminal),
        Command::Show(arguments) => commands::show::run(arguments, cli, terminal),
        Command::Serve(arguments) => commands::serve::run(arguments, cli, terminal),
        Command::Watch(arguments) => commands::watch::run(arguments, cli, terminal),
        Command::Runs(arguments) => commands::runs::run(arguments, cli, terminal),
        Command::Compare(arguments) => commands::compare::run(arguments, cli, terminal),
        Command::Baseline(arguments) => commands::baseline::run(arguments, cli, terminal),
        Command::Flaky(arguments) => commands::flaky::run(arguments, cli, terminal),
        Command::History(arguments) => commands::history::run(arguments, cli, terminal),
        Command::Rejudge(arguments) => commands::rejudge::run(arguments, cli, terminal),
        Command::Validate(arguments) => commands::validate::run(arguments, cli, terminal),
        Command::Cover(arguments) => commands::cover::run(arguments, cli, terminal),
        Command::Journal(arguments) => commands::journal::run(arguments, cli, terminal),
        Command::Mcp(arguments) => commands::mcp::run(arguments, cli, terminal),
        Command::Tool(arguments) => commands::tool::run(arguments, cli, terminal),
        Command::Init(arguments) => commands::init::run(arguments, terminal),
        Command::Doctor(arguments) => commands::doctor::run(arguments, cli, terminal),
        Command::Completions(arguments) => commands::completions::run(arguments, terminal),
        Command::Schema(arguments) => commands::schema::run(arguments, terminal),
        Command::Host(arguments) => commands::host::run(arguments, cli, terminal),
        Command::Guard => Ok(commands::guard::run()),
        Command::Sandbox(arguments) => Ok(commands::sandbox::run(&arguments.rest)),
        Command::Mock(arguments) => Ok(commands::workspace_tools::mock(&arguments.rest)),
        Command::Detached(arguments) => {
            commands::workspace_tools::detached(arguments, cli, terminal)
        }
    }
}
