//! `proctor host`: conducts conversations for a run that `rspec` makes, and records it.
//!
//! Started by the Ruby library, with a socket whose number is in `RPC_SOCKET_FD`. It ends when the other side does.

use std::os::fd::OwnedFd;
use std::process::ExitCode;

use clap::Args;
use proctor_converse::worker_host::ConversationHost;

use super::run::recording::Recording;
use super::{scenarios, suites};
use crate::cli::Cli;
use crate::error::CommandError;
use crate::terminal::Terminal;
use crate::{env_vars, project};

#[derive(Debug, Args)]
pub(crate) struct HostArguments {
    /// Send events here too: a path for JSON lines, or ws://localhost:PORT; several with commas
    #[arg(long, value_name = "DEST")]
    pub(crate) events: Option<String>,
}

pub(crate) fn run(
    arguments: &HostArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let socket = socket()?;
    let (root, config) = project::open(cli, terminal)?;
    let environment = suites::environment(&root, 1)?;
    let settings = scenarios::settings(None, &config, &root, environment.guard)?;
    let events = config.all_events(arguments.events.as_deref()).unwrap_or_default();
    let mut recording =
        Recording::start_external(vec!["rspec".to_owned()], &root, &events, terminal)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
            CommandError::system(format_args!("cannot start: {error}")).with_source(error)
        })?;
    let bus = recording.bus.clone();
    let attended = runtime.block_on(proctor_runner::follow_external_run(
        "rspec",
        socket,
        ConversationHost::new(settings),
        bus,
        recording.outputs(),
    ));
    runtime.shutdown_background();
    if attended.as_ref().is_ok_and(|run| run.interrupted) {
        recording.interrupted();
    }
    let failures = recording.finish(terminal);
    let attended = attended.map_err(|error| {
        CommandError::system(format_args!("the socket cannot be used: {error}")).with_source(error)
    })?;
    for note in attended.notes {
        terminal.warn(&note);
    }
    Ok(if failures == 0 { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

/// The inherited socket.
fn socket() -> Result<OwnedFd, CommandError> {
    let missing = || {
        CommandError::usage("`proctor host` talks over a socket, and RPC_SOCKET_FD names none")
            .hint("it is started by `require \"proctor/rspec\"`; there is no need to start it by hand")
    };
    let text = env_vars::RPC_SOCKET_FD.get().ok_or_else(missing)?;
    let number: i32 = text.parse().map_err(|_| missing())?;
    proctor_process::adopt_inherited_socket(number).map_err(|error| {
        CommandError::usage(format_args!(
            "RPC_SOCKET_FD is {number}, which cannot be used: {error}"
        ))
        .with_source(error)
    })
}
