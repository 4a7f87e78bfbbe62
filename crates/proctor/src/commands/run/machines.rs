//! A run whose slots other machines serve (`proctor run --engine`).

use std::path::Path;
use std::time::Duration;

use proctor_runner::{CodeProof, MachineOptions, Suite};

use super::arguments::{RunArguments, ScheduleChoice};
use crate::commands::engine::announcement::Announcement;
use crate::commands::engine::{EngineRuntime, EngineTransport, proof};
use crate::commands::scenarios;
use crate::config::Config;
use crate::error::CommandError;

/// The machines that a run wants.
pub(super) struct WantedMachines {
    engine: EngineRuntime,
    announcement: Announcement,
    proof: CodeProof,
}

impl WantedMachines {
    /// Connects to the engine that the arguments name, if they name one; there is no run without it then.
    pub(super) fn connect(
        arguments: &RunArguments,
        suites: &mut [Suite],
        root: &Path,
        config: &Config,
    ) -> Result<Option<Self>, CommandError> {
        if arguments.machines.engine.engine.is_none() {
            return Ok(None);
        }
        if let Some(what) = not_over_machines(arguments, config) {
            return Err(CommandError::usage(format_args!(
                "{what} cannot be had with --engine: it would hold for each machine instead of for the run"
            )));
        }
        let proof = proof::of_checkout(root, config)?;
        let from = std::env::current_dir().unwrap_or_else(|_| root.to_owned());
        let seed = scenarios::share_seed(suites);
        let announcement = Announcement::of(arguments, seed, &from, root)?;
        let connected = EngineRuntime::connect(&arguments.machines.engine)?;
        Ok(connected.map(|engine| Self { engine, announcement, proof }))
    }

    /// How the run uses them.
    pub(super) fn options(&self, run: &str, arguments: &RunArguments) -> MachineOptions {
        let transport = EngineTransport {
            engine: self.engine.engine.clone(),
            handle: self.engine.handle.clone(),
            run: run.to_owned(),
            announcement: self.announcement.clone(),
        };
        MachineOptions {
            transport: Box::new(transport),
            proof: self.proof.clone(),
            most_slots: arguments.workers,
            wait_for: arguments.machines.wait_for.unwrap_or(1),
            patience: Duration::from_millis(arguments.machines.wait_limit),
        }
    }
}

/// What a run asks for that only one machine can give.
fn not_over_machines(arguments: &RunArguments, config: &Config) -> Option<&'static str> {
    let conversation = &arguments.conversation;
    let limits_model = config.conversations.models.values().any(|model| {
        model.requests_per_minute.is_some()
            || model.tokens_per_minute.is_some()
            || model.concurrency.is_some()
    });
    let cases = [
        (conversation.budget.or(config.conversations.how.budget_usd).is_some(), "a budget"),
        (limits_model, "a limit on the requests to a model"),
        (conversation.record.is_some() || conversation.replay.is_some(), "a cassette"),
        (conversation.record_tapes, "the recording of tapes"),
        (conversation.ab.is_some(), "a second configuration (--ab)"),
        (arguments.schedule == ScheduleChoice::RoundRobin, "a fixed order of workers"),
    ];
    cases.into_iter().find(|(asked, _)| *asked).map(|(_, what)| what)
}
