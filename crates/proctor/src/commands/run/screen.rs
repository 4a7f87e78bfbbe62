//! The interactive screen around a run, the summary after it, and the screen again to walk through what failed.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use proctor_events::{EventType, Filter, Subscription};
use proctor_report::summary;
use proctor_runner::Controller;
use proctor_tui::{Command, ScreenOptions};
use proctor_verdict::{RunState, RunVerdict, StopCause};

use super::Shown;
use super::recording::Recording;
use super::view::{Printer, never_began, summary_options};
use crate::commands::run::arguments::RunArguments;
use crate::error::CommandError;
use crate::terminal::Terminal;

/// How long the last state of a run is shown before the screen closes.
const FINAL_FRAME_TIME: Duration = Duration::from_millis(300);

pub(super) fn show(
    arguments: &RunArguments,
    controller: &Controller,
    recording: &Recording,
    subscription: Subscription,
    terminal: &mut Terminal,
) -> Result<Shown, CommandError> {
    let starts = Filter::Types(vec![EventType::SuiteStarted]);
    let start = recording.bus.subscribe("summary", starts, 4);
    let options = ScreenOptions {
        style: terminal.style(),
        controls_run: true,
        // The run is finished first, reports and all; then the screen opens again (`review`).
        exit_when_done: true,
        stop: Arc::default(),
    };
    let outcome = std::thread::scope(|scope| {
        let stop = Arc::clone(&options.stop);
        scope.spawn(move || {
            controller.wait();
            std::thread::sleep(FINAL_FRAME_TIME);
            stop.store(true, Ordering::SeqCst);
        });
        let outcome = proctor_tui::run(subscription, &options, |command| match command {
            Command::StopRun => controller.cancel(StopCause::Request),
            Command::KillRun => controller.kill(StopCause::Request),
            _ => {}
        });
        // Left before the end, or never shown.
        if controller.result().is_none() {
            controller.kill(StopCause::Request);
        }
        outcome
    });
    let result = controller.wait();
    let outcome = outcome?;
    for panic in outcome.panics {
        terminal.warn(&panic);
    }
    let run = recording.take_run();
    let mut shown = summary_options(arguments);
    let start = start.try_recv();
    if let Some(event) = &start {
        shown.read_event(event);
    }
    let style = terminal.style();
    let mut printer = Printer::new(terminal);
    printer.notes(&result.notes);
    printer.repeats(result.repeats.as_ref());
    // Why a run could not begin is said by the error of the command.
    if result.problem.is_none() || !start.is_some_and(|event| never_began(&event)) {
        printer.print(&summary(&run, &shown, style));
    }
    Ok(Shown { result, run, screen: outcome.closed })
}

/// Whether there is something to walk through, or the user asked for the screen; a run that was stopped is left.
pub(super) fn stays(arguments: &RunArguments, verdict: &RunVerdict) -> bool {
    let failed = !verdict.is_passed() && verdict.state() == RunState::Finished;
    failed || (arguments.ui.is_some() && verdict.state() != RunState::Stopped)
}
