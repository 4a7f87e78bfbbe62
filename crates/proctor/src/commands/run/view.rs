//! Showing a run while it goes on.

use std::time::{Duration, Instant};

use proctor_events::{Body, Event, Filter, Subscription, Timestamp};
use proctor_report::{
    AgentLines, Grouped, Interleaved, Mode, Quiet, Reporter, SummaryOptions, Terse,
    without_workflow_commands,
};
use proctor_runner::{Controller, RepeatReport};

use super::recording::Recording;
use super::{Prepared, Shown, formatters, screen};
use crate::commands::display_mode;
use crate::commands::run::arguments::{RunArguments, UiChoice};
use crate::env_vars;
use crate::error::CommandError;
use crate::terminal::Terminal;

/// Lines on a terminal may wait for a slow reader; beyond this they are dropped, and that is said.
const QUEUE: usize = 1 << 17;

const POLL_INTERVAL: Duration = Duration::from_millis(10);
const TICK: Duration = Duration::from_millis(100);

/// Everything that happens from now on, for a terminal.
pub(super) fn subscribe(recording: &Recording) -> Subscription {
    recording.bus.subscribe("terminal", Filter::All, QUEUE)
}

/// Shows a run that was started, to its end; returns the result and the whole run.
pub(super) fn show(
    arguments: &RunArguments,
    run: &Prepared,
    events: Subscription,
    terminal: &mut Terminal,
) -> Result<Shown, CommandError> {
    let Prepared { controller, recording, .. } = run;
    let mode = mode(arguments);
    if mode == Mode::Interactive {
        return screen::show(arguments, controller, recording, events, terminal);
    }
    let mut reporter = reporter(mode, arguments, terminal);
    let mut printer = Printer::new(terminal);
    printer.on_stderr = formatters::take_stdout(&arguments.selection.rspec);
    follow(&events, controller, &mut *reporter, &mut printer);
    let result = controller.wait();
    drain(&events, &mut *reporter, &mut printer);
    let run = recording.take_run();
    printer.notes(&result.notes);
    printer.repeats(result.repeats.as_ref());
    // Of a run that could not even begin there is one thing to say, and the error of the command says it.
    if !(printer.holds_back() && result.problem.is_some()) {
        printer.release();
        printer.print(&reporter.finish(&run));
    }
    if events.dropped() > 0 {
        let lost = events.dropped();
        printer.terminal.warn(&format!("{lost} events were not shown: this terminal is too slow"));
    }
    Ok(Shown { result, run, screen: None })
}

/// Whether the run is shown on a screen, where nothing else may print.
pub(super) fn has_screen(arguments: &RunArguments) -> bool {
    mode(arguments) == Mode::Interactive
}

fn mode(arguments: &RunArguments) -> Mode {
    match arguments.ui {
        Some(UiChoice::Interactive) => Mode::Interactive,
        Some(UiChoice::Interleaved) => Mode::Interleaved,
        Some(UiChoice::Grouped) => Mode::Grouped,
        Some(UiChoice::Quiet) => Mode::Quiet,
        Some(UiChoice::Terse) => Mode::Terse,
        Some(UiChoice::Agent) => Mode::AgentLines,
        // Standard output is for the formatters of RSpec: progress on standard error is enough.
        None if formatters::take_stdout(&arguments.selection.rspec) => Mode::Quiet,
        None => display_mode::detect(),
    }
}

/// What the summary shall show.
pub(super) fn summary_options(arguments: &RunArguments) -> SummaryOptions {
    SummaryOptions {
        full_backtrace: arguments.backtrace,
        profile: arguments.profile,
        ..SummaryOptions::default()
    }
}

fn reporter(mode: Mode, arguments: &RunArguments, terminal: &Terminal) -> Box<dyn Reporter> {
    let options = summary_options(arguments);
    let style = terminal.style();
    match mode {
        Mode::Quiet => Box::new(Quiet::new(style, options, Quiet::DEFAULT_WIDTH)),
        Mode::Grouped => Box::new(Grouped::new(style, options)),
        Mode::Terse => Box::new(Terse::new(style, options)),
        Mode::AgentLines => Box::new(AgentLines::new()),
        Mode::ByConversation => {
            Box::new(Interleaved::by_conversation(style, options, arguments.verbose))
        }
        Mode::Interleaved | Mode::Interactive => {
            Box::new(Interleaved::new(style, options, arguments.verbose))
        }
    }
}

/// Prints until standard output is closed; the run itself goes on.
pub(super) struct Printer<'a> {
    pub(super) terminal: &'a mut Terminal,
    muted: bool,
    filter: bool,
    /// Whether standard output belongs to somebody else.
    on_stderr: bool,
    /// Whether the last line has no end yet.
    in_line: bool,
    /// The end of a run that may have no examples.
    held: Option<String>,
}

impl<'a> Printer<'a> {
    pub(super) fn new(terminal: &'a mut Terminal) -> Self {
        let filter = env_vars::GITHUB_ACTIONS.get().is_some();
        Self { terminal, muted: false, filter, on_stderr: false, in_line: false, held: None }
    }

    /// Whether the run ended before its examples were known.
    fn holds_back(&self) -> bool {
        self.held.is_some()
    }

    fn release(&mut self) {
        if let Some(text) = self.held.take() {
            self.print(&text);
        }
    }

    pub(super) fn print(&mut self, text: &str) {
        if self.muted || text.is_empty() {
            return;
        }
        let text = if self.filter { without_workflow_commands(text) } else { text.into() };
        let outcome = if self.on_stderr {
            self.terminal.print_to_stderr(&text)
        } else {
            self.terminal.print(&text)
        };
        self.muted = outcome.is_err();
        self.in_line = !text.ends_with('\n');
    }

    /// What the suites had to say besides results. It comes before the summary, which is the last word.
    pub(super) fn notes(&mut self, notes: &[String]) {
        if self.in_line && !notes.is_empty() {
            self.print("\n");
        }
        for note in notes {
            self.terminal.warn(note);
        }
    }
}

impl Printer<'_> {
    /// Where repetitions went, if results decided on them.
    pub(super) fn repeats(&mut self, report: Option<&RepeatReport>) {
        let Some(report) = report else { return };
        if self.in_line {
            self.print("\n");
        }
        self.print(&format!("{report}\n"));
    }
}

/// Whether this is the start of a run without known examples: its suites could not be used, or it was stopped before.
pub(super) fn never_began(event: &Event) -> bool {
    matches!(&event.body, Body::SuiteStarted(start) if start.example_count.is_none())
}

/// Shows what has come, then rests a moment: an eye needs no more, and waking up for every event would
/// cost the tests their cores.
fn follow(
    subscription: &Subscription,
    controller: &Controller,
    reporter: &mut dyn Reporter,
    printer: &mut Printer<'_>,
) {
    let mut quiet_since = Instant::now();
    while controller.wait_timeout(POLL_INTERVAL).is_none() {
        if drain(subscription, reporter, printer) {
            quiet_since = Instant::now();
        } else if quiet_since.elapsed() >= TICK {
            quiet_since = Instant::now();
            printer.print(&reporter.tick(Timestamp::now()));
        }
    }
}

/// Shows everything that waits; false if there was nothing.
fn drain(
    subscription: &Subscription,
    reporter: &mut dyn Reporter,
    printer: &mut Printer<'_>,
) -> bool {
    let mut text = String::new();
    let mut any = false;
    while let Some(event) = subscription.try_recv() {
        any = true;
        if never_began(&event) {
            printer.held.get_or_insert_default();
        }
        text += &reporter.event(&event);
    }
    match &mut printer.held {
        Some(held) => held.push_str(&text),
        None => printer.print(&text),
    }
    any
}
