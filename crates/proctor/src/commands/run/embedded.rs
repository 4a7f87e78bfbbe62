//! A run inside another program: the same suites, options and recording, without a terminal.

use std::path::Path;
use std::sync::Arc;

use proctor_record::{load_timings, save_timings};
use proctor_runner::{Controller, RunResult, RunSetup, RunStatus};

use super::fingerprint;
use super::live::Live;
use super::recording::Recording;
use crate::commands::run::arguments::RunArguments;
use crate::commands::{scenarios, suites};
use crate::config;
use crate::error::CommandError;
use crate::terminal::Terminal;

/// A run that goes on beside us.
pub(crate) struct Embedded {
    /// Its id.
    pub(crate) run_id: String,
    /// What leads it.
    pub(crate) controller: Controller,
    ending: Option<std::thread::JoinHandle<()>>,
}

impl Embedded {
    /// Starts a run and returns once its recording exists.
    pub(crate) fn start(
        arguments: &RunArguments,
        argv: Vec<String>,
        root: &Path,
        terminal: &mut Terminal,
    ) -> Result<Self, CommandError> {
        let (config, _) = config::load(root)?;
        let workers = super::workers(arguments, &config)?;
        let mut chosen = suites::choose(&arguments.selection, &config, root, workers)?;
        scenarios::apply(&mut chosen.suites, &arguments.conversation, None, &config, root)?;
        let adaptive = super::repeat::adaptive(arguments, root, terminal)?;
        let events = config.events.value.as_deref();
        let fingerprint = Some(fingerprint::of(arguments, &config));
        let mut recording = Recording::start_as(argv, fingerprint, root, events, terminal)?;
        let timings = root.join(".proctor/timings.json");
        let mut options = super::options(arguments, &config, workers)?;
        options.adaptive = adaptive;
        options.selection = chosen.selection;
        options.estimates = Arc::new(load_timings(&timings));
        let known = Arc::clone(&options.estimates);
        let controller = Controller::new(RunSetup {
            suites: chosen.suites,
            environment: chosen.environment,
            options,
            bus: recording.bus.clone(),
        });
        let run_id = recording.run_id();
        let asked = &arguments.detached;
        let alive = Live::start(&controller, recording.folder(), asked, arguments.grace, terminal);
        controller.start()?;
        let (waited, color) = (controller.clone(), terminal.color());
        let ending =
            std::thread::Builder::new().name("end of run".to_owned()).spawn(move || {
                let mut terminal = Terminal::new(Some(color), false);
                let result: Arc<RunResult> = waited.wait();
                if result.status == RunStatus::Cancelled {
                    recording.interrupted();
                }
                recording.finish(&mut terminal);
                alive.finish(&mut terminal);
                if let Err(error) =
                    save_timings(&timings, Arc::unwrap_or_clone(known), &result.durations)
                {
                    terminal.warn(&format!("cannot write {}: {error}", timings.display()));
                }
            })?;
        Ok(Self { run_id, controller, ending: Some(ending) })
    }

    /// The thread that ends when its recording is complete; the caller joins it.
    pub(crate) fn ending(&mut self) -> Option<std::thread::JoinHandle<()>> {
        self.ending.take()
    }
}
