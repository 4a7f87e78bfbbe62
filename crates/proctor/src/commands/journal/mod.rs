//! `proctor journal`: the GHAP journal from the command line.
//!
//! Each module is a group of subcommands: arguments in, calls of `proctor-journal`, text out. The journal's rules
//! are the library's; here are the clock, the random bits, the environment, the child process and the words.

mod capture;
mod context;
mod create;
mod doctor;
mod edit;
mod entry_filter;
mod entry_text;
mod errors;
mod export_import;
mod git;
pub(crate) mod hook;
mod observed_command;
mod orphan;
mod output_copy;
mod read;
pub(super) mod recorded_runs;
mod reports;
pub(super) mod resolve_from_run;
mod session;
mod values;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use self::context::JournalContext;
pub(super) use self::context::{folder, now};
use self::reports::PageFormat;
use crate::cli::Cli;
use crate::cli::Format;
use crate::commands::journal::capture::CaptureArguments;
use crate::commands::journal::create::CreateArguments;
use crate::commands::journal::doctor::JournalDoctorArguments;
use crate::commands::journal::edit::{
    AbandonArguments, AnnotateArguments, ResolveArguments, UpdateArguments,
};
use crate::commands::journal::export_import::{ExportArguments, ImportArguments};
use crate::commands::journal::hook::HookArguments;
use crate::commands::journal::orphan::OrphanArguments;
use crate::commands::journal::read::{
    CurrentArguments, ListEntriesArguments, SearchArguments, ShowEntryArguments,
};
use crate::commands::journal::reports::{RetroArguments, StatsArguments, TimelineArguments};
use crate::commands::journal::session::SessionArguments;
use crate::error::CommandError;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
#[command(after_help = "\
The loop: say what you believe and what you will see if you are right, then let a command decide.

  proctor journal create --domain debugging --strategy check-assumptions \\
      --goal 'fix the flaky cache test' --hypothesis 'an earlier test leaves its cache behind' \\
      --action 'clear the cache after every test' --prediction 'test_cache passes in random order'
  proctor journal run --expect pass -- rspec --order random
  proctor journal stats

The journal is .claude/journal at the project's root, unless --dir, PROCTOR_JOURNAL_DIR or `[journal] dir` of \
proctor.toml names another folder.")]
pub(crate) struct JournalArguments {
    /// The journal's folder [default: .claude/journal at the project's root]
    #[arg(long, global = true, value_name = "FOLDER")]
    pub(crate) dir: Option<PathBuf>,

    /// The lane: each has its own active entry, so that several agents can work at once
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) lane: Option<String>,

    #[command(subcommand)]
    pub(crate) command: JournalCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum JournalCommand {
    /// Begin an entry: goal, hypothesis, action, prediction
    Create(Box<CreateArguments>),
    /// Change the active entry; a new hypothesis, action or prediction is a new iteration
    Update(Box<UpdateArguments>),
    /// End the active entry: what was predicted happened, or it did not
    Resolve(ResolveArguments),
    /// Give the active entry up
    Abandon(AbandonArguments),
    /// Add surprise, root cause, lesson or a note to any entry
    Annotate(AnnotateArguments),
    /// Show the active entry
    Current(CurrentArguments),
    /// List entries, newest first
    List(ListEntriesArguments),
    /// Show one entry in full
    Show(ShowEntryArguments),
    /// Deal with an entry that an earlier session left active
    Orphan(OrphanArguments),
    /// Start and end sessions; count tool calls
    Session(SessionArguments),
    /// How often predictions come true, with the uncertainty said
    Stats(StatsArguments),
    /// Search entries by words, best match first
    Search(SearchArguments),
    /// Entries day by day
    Timeline(TimelineArguments),
    /// Look back: surprises by cause, lessons, what was wrong more than once
    Retro(RetroArguments),
    /// Write entries as lines of JSON
    Export(ExportArguments),
    /// Add entries of an export, or of another journal's files
    Import(ImportArguments),
    /// Say what is wrong with the journal's files, and repair it on request
    Doctor(JournalDoctorArguments),
    /// Answer an agent's hook: JSON on standard input, JSON on standard output
    Hook(HookArguments),
    /// Run a command and resolve the active entry from what it really did
    Run(CaptureArguments),
}

impl JournalCommand {
    /// Whether the command was asked to print for programs.
    pub(crate) fn prints_json(&self) -> bool {
        let format = match self {
            Self::Create(arguments) => arguments.printed.format,
            Self::Update(arguments) => arguments.printed.format,
            Self::Resolve(arguments) => arguments.printed.format,
            Self::Abandon(arguments) => arguments.printed.format,
            Self::Annotate(arguments) => arguments.printed.format,
            Self::Current(arguments) => arguments.printed.format,
            Self::List(arguments) => arguments.printed.format,
            Self::Show(arguments) => arguments.printed.format,
            Self::Orphan(arguments) => arguments.format,
            Self::Session(arguments) => arguments.format,
            Self::Search(arguments) => arguments.printed.format,
            Self::Import(arguments) => arguments.printed.format,
            Self::Doctor(arguments) => arguments.printed.format,
            Self::Run(arguments) => arguments.format,
            Self::Stats(arguments) => return arguments.page.format == PageFormat::Json,
            Self::Timeline(arguments) => return arguments.page.format == PageFormat::Json,
            Self::Retro(arguments) => return arguments.page.format == PageFormat::Json,
            Self::Export(_) | Self::Hook(_) => return false,
        };
        format == Format::Json
    }
}

pub(crate) fn run(
    arguments: &JournalArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    if let JournalCommand::Hook(hook) = &arguments.command {
        return Ok(hook::run(hook, arguments, cli, terminal));
    }
    let context = JournalContext::open(arguments, cli, terminal)?;
    route(&arguments.command, &context, terminal)
}

fn route(
    command: &JournalCommand,
    context: &JournalContext,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    match command {
        JournalCommand::Create(arguments) => create::run(arguments, context, terminal),
        JournalCommand::Update(arguments) => edit::update(arguments, context, terminal),
        JournalCommand::Resolve(arguments) => edit::resolve(arguments, context, terminal),
        JournalCommand::Abandon(arguments) => edit::abandon(arguments, context, terminal),
        JournalCommand::Annotate(arguments) => edit::annotate(arguments, context, terminal),
        JournalCommand::Current(arguments) => read::current(arguments, context, terminal),
        JournalCommand::List(arguments) => read::list(arguments, context, terminal),
        JournalCommand::Show(arguments) => read::show(arguments, context, terminal),
        JournalCommand::Search(arguments) => read::search(arguments, context, terminal),
        JournalCommand::Orphan(arguments) => orphan::run(arguments, context, terminal),
        JournalCommand::Session(arguments) => session::run(arguments, context, terminal),
        JournalCommand::Stats(arguments) => reports::stats(arguments, context, terminal),
        JournalCommand::Timeline(arguments) => reports::timeline(arguments, context, terminal),
        JournalCommand::Retro(arguments) => reports::retro(arguments, context, terminal),
        JournalCommand::Export(arguments) => export_import::export(arguments, context, terminal),
        JournalCommand::Import(arguments) => export_import::import(arguments, context, terminal),
        JournalCommand::Doctor(arguments) => return doctor::run(arguments, context, terminal),
        JournalCommand::Run(arguments) => return capture::run(arguments, context, terminal),
        // Answered before the journal was looked for: a hook answers whatever is wrong with it.
        JournalCommand::Hook(_) => Ok(()),
    }?;
    Ok(ExitCode::SUCCESS)
}
