//! `proctor work`: offers slots of this machine to runs that are controlled elsewhere.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use proctor_engine::AnnouncedRun;
use proctor_runner::{HostError, HostedRun, MachineSetup, serve_machine};
use proctor_text::printable;
use tokio::sync::watch;

use super::engine::announcement::Announcement;
use super::engine::{EngineArguments, EngineConnection, EngineRuntime, proof};
use super::run::signals::Signals;
use super::{scenarios, suites};
use crate::cli::Cli;
use crate::config::Config;
use crate::error::CommandError;
use crate::project;
use crate::terminal::Terminal;
use crate::values;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor work --engine nats://127.0.0.1:4222 --slots 4     serves one run after another
  proctor work --engine tls://nats.example:4222 --engine-credentials machine.nk --once

The machine has the same checkout as the one that runs `proctor run --engine …`: it opens the same suites itself and shows by
commit, uncommitted changes, lock files, versions and the list of examples that it would run the same thing. Ctrl-C lets it finish
what it runs and leave; a second one ends it at once.
Exit code: 0 it served or left, 2 it could not take part.")]
pub(crate) struct WorkArguments {
    /// How many slots to offer: a number, or `auto` for twice the cores [default: as `run -w`]
    #[arg(long, value_name = "N", value_parser = values::workers)]
    pub(crate) slots: Option<u32>,

    /// What to call this machine in the recording [default: its host name]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// End after one run
    #[arg(long)]
    pub(crate) once: bool,

    /// Serve this run only, and end with it
    #[arg(long = "for", value_name = "RUN")]
    pub(crate) run: Option<String>,

    /// End if no run has wanted this machine for so long
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) wait_limit: Option<u64>,

    #[command(flatten)]
    pub(crate) engine: EngineArguments,
}

/// How often is looked for runs.
const LOOK_EVERY: Duration = Duration::from_millis(200);

pub(crate) fn run(
    arguments: &WorkArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let (root, config) = project::open(cli, terminal)?;
    let Some(engine) = EngineRuntime::connect(&arguments.engine)? else {
        return Err(CommandError::usage("which engine? --engine nats://HOST:PORT names it"));
    };
    let slots = match arguments.slots {
        Some(slots) => slots,
        None => values::workers(&config.workers.value).map_err(CommandError::usage)?,
    };
    // Said at once, not when the first run comes.
    proof::of_checkout(&root, &config)?;
    let (leave, left) = watch::channel(false);
    let _signals = Signals::watch(
        move |_| {
            leave.send_replace(true);
        },
        |_| {},
    )?;
    let mut machine = Machine {
        arguments,
        root: &root,
        engine,
        slots,
        name: arguments.name.clone().unwrap_or_else(host_name),
        left,
        done: BTreeSet::new(),
    };
    terminal.note(&format!(
        "machine {}: {slots} slots for runs at {}",
        printable(&machine.name),
        machine.engine.engine.address()
    ));
    machine.serve_runs(cli, terminal)
}

fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "machine".to_owned() } else { name.to_owned() }
}

struct Machine<'a> {
    arguments: &'a WorkArguments,
    root: &'a Path,
    engine: EngineRuntime,
    slots: u32,
    name: String,
    left: watch::Receiver<bool>,
    /// Runs that need not be looked at again.
    done: BTreeSet<String>,
}

/// What follows for this machine.
enum Next {
    GoOn,
    End(ExitCode),
}

impl Machine<'_> {
    fn serve_runs(&mut self, cli: &Cli, terminal: &mut Terminal) -> Result<ExitCode, CommandError> {
        let mut idle_since = Instant::now();
        let mut engine_is_away = false;
        loop {
            if *self.left.borrow() {
                return Ok(ExitCode::SUCCESS);
            }
            match self.next_run() {
                Ok(Some(announced)) => {
                    engine_is_away = false;
                    if let Next::End(code) = self.serve(&announced, cli, terminal)? {
                        return Ok(code);
                    }
                    idle_since = Instant::now();
                    continue;
                }
                Ok(None) => engine_is_away = false,
                Err(error) => {
                    if !std::mem::replace(&mut engine_is_away, true) {
                        terminal.warn(&format!("{error}; trying again"));
                    }
                }
            }
            if let Some(limit) = self.arguments.wait_limit.map(Duration::from_millis)
                && idle_since.elapsed() > limit
            {
                return Err(CommandError::refused(format_args!(
                    "no run has wanted this machine for {} s",
                    limit.as_secs_f64()
                )));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// A run that this machine may serve, if there is one.
    fn next_run(&self) -> Result<Option<AnnouncedRun>, CommandError> {
        let engine = self.engine.engine.clone();
        let listing = self.engine.handle.wait_for(async move { engine.runs().await });
        let runs = listing.ok_or_else(|| CommandError::bug("the thread of the engine ended"))??;
        let wanted = |run: &AnnouncedRun| {
            !self.done.contains(&run.run)
                && self.arguments.run.as_ref().is_none_or(|only| run.run.starts_with(only.as_str()))
        };
        Ok(runs.into_iter().find(wanted))
    }

    fn serve(
        &mut self,
        announced: &AnnouncedRun,
        cli: &Cli,
        terminal: &mut Terminal,
    ) -> Result<Next, CommandError> {
        let run = &announced.run;
        self.done.insert(run.clone());
        let refused = |why: &str| {
            CommandError::refused(format_args!(
                "machine {} cannot serve run {run}: {why}",
                self.name
            ))
        };
        let announcement = match Announcement::read(&announced.announcement) {
            Ok(announcement) => announcement,
            Err(why) => return self.unusable(refused(&why), terminal),
        };
        let (_, config) = project::open(cli, terminal)?;
        let setup = match self.setup(&announcement, &config, terminal) {
            Ok(setup) => setup,
            Err(error) => return self.unusable(error, terminal),
        };
        terminal.note(&format!("opening the suites of run {run}"));
        let connection = EngineConnection {
            engine: self.engine.engine.clone(),
            handle: self.engine.handle.clone(),
            run: run.clone(),
            leave: self.left.clone(),
        };
        let mut welcomed = || terminal.note(&format!("serving run {run}"));
        let hosted = serve_machine(setup, Box::new(connection), &mut welcomed);
        match hosted {
            Ok(HostedRun::Finished { workers }) => {
                terminal.note(&format!("done with run {run}: {workers} workers were started"));
                Ok(self.after_one())
            }
            Ok(HostedRun::Refused { differences }) => {
                let why = format!("it would not run the same thing: {}", differences.join("; "));
                self.unusable(refused(&why), terminal)
            }
            Ok(HostedRun::Dropped { reason }) => {
                terminal.warn(&format!("out of run {run}: {reason}"));
                if reason == super::engine::RUN_OVER {
                    return Ok(self.after_one());
                }
                // It may join again, as another machine so to speak.
                self.done.remove(run);
                Ok(Next::GoOn)
            }
            // The run may have ended meanwhile.
            Err(HostError::Join(why)) => {
                terminal.warn(&format!("run {run} was not joined: {why}"));
                Ok(Next::GoOn)
            }
            Err(error) => self.unusable(refused(&error.to_string()), terminal),
        }
    }

    /// A run that this machine cannot serve: an error if it was to serve one only.
    fn unusable(&self, error: CommandError, terminal: &mut Terminal) -> Result<Next, CommandError> {
        if self.arguments.once || self.arguments.run.is_some() {
            return Err(error);
        }
        terminal.report(&error);
        Ok(Next::GoOn)
    }

    fn after_one(&self) -> Next {
        let ends = self.arguments.once || self.arguments.run.is_some() || *self.left.borrow();
        if ends { Next::End(ExitCode::SUCCESS) } else { Next::GoOn }
    }

    fn setup(
        &self,
        announcement: &Announcement,
        config: &Config,
        terminal: &mut Terminal,
    ) -> Result<MachineSetup, CommandError> {
        let selection = announcement.selection();
        let mut chosen = suites::choose_from(&selection, config, self.root, self.slots, self.root)?;
        let conversation = announcement.conversation();
        scenarios::apply(&mut chosen.suites, &conversation, None, config, self.root)?;
        scenarios::set_seed(&mut chosen.suites, announcement.conversation_seed());
        chosen.environment.load_notices = terminal.load_notices();
        Ok(MachineSetup {
            name: self.name.clone(),
            suites: chosen.suites,
            environment: chosen.environment,
            proof: proof::of_checkout(self.root, config)?,
        })
    }
}
