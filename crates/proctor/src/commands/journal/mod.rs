//! `proctor journal`: the GHAP journal from the command line.
//!
//! Each module is a group of subcommands: arguments in, calls of `proctor-journal`, text out. The journal's rules
//! are the library's; here are the clock, the random bits, the environment, the child process and the words.

mod capture;
mod child;
mod desk;
mod doctor;
mod errors;
mod exchange;
mod filter;
mod git;
pub(crate) mod hook;
mod orphan;
mod pages;
mod read;
pub(super) mod resolving;
mod session;
mod show;
mod tee;
mod write;

use std::process::ExitCode;

use self::desk::Desk;
pub(super) use self::desk::{folder, now};
use crate::cli::Cli;
use crate::cli::journal::{JournalArguments, JournalCommand};
use crate::error::CommandError;
use crate::terminal::Terminal;

pub(crate) fn run(
    arguments: &JournalArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    if let JournalCommand::Hook(hook) = &arguments.command {
        return Ok(hook::run(hook, arguments, cli, terminal));
    }
    let desk = Desk::open(arguments, cli, terminal)?;
    route(&arguments.command, &desk, terminal)
}

fn route(
    command: &JournalCommand,
    desk: &Desk,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    match command {
        JournalCommand::Create(arguments) => write::create(arguments, desk, terminal),
        JournalCommand::Update(arguments) => write::update(arguments, desk, terminal),
        JournalCommand::Resolve(arguments) => write::resolve(arguments, desk, terminal),
        JournalCommand::Abandon(arguments) => write::abandon(arguments, desk, terminal),
        JournalCommand::Annotate(arguments) => write::annotate(arguments, desk, terminal),
        JournalCommand::Current(arguments) => read::current(arguments, desk, terminal),
        JournalCommand::List(arguments) => read::list(arguments, desk, terminal),
        JournalCommand::Show(arguments) => read::show(arguments, desk, terminal),
        JournalCommand::Search(arguments) => read::search(arguments, desk, terminal),
        JournalCommand::Orphan(arguments) => orphan::run(arguments, desk, terminal),
        JournalCommand::Session(arguments) => session::run(arguments, desk, terminal),
        JournalCommand::Stats(arguments) => pages::stats(arguments, desk, terminal),
        JournalCommand::Timeline(arguments) => pages::timeline(arguments, desk, terminal),
        JournalCommand::Retro(arguments) => pages::retro(arguments, desk, terminal),
        JournalCommand::Export(arguments) => exchange::export(arguments, desk, terminal),
        JournalCommand::Import(arguments) => exchange::import(arguments, desk, terminal),
        JournalCommand::Doctor(arguments) => return doctor::run(arguments, desk, terminal),
        JournalCommand::Run(arguments) => return capture::run(arguments, desk, terminal),
        // Answered before the journal was looked for: a hook answers whatever is wrong with it.
        JournalCommand::Hook(_) => Ok(()),
    }?;
    Ok(ExitCode::SUCCESS)
}
