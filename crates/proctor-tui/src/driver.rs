//! The edge: a loop on the calling thread between the terminal, a source of events, and the app.
//!
//! One thread is enough: keys wake it at once, events are looked for every frame, and nothing is drawn
//! unless something changed.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use proctor_events::{ExampleId, Timestamp};
use proctor_report::Style;
use ratatui::crossterm::event;

use crate::app::{App, CanRunAgain, Setup};
use crate::clipboard::copy_sequence;
use crate::input::{Command, Input};
use crate::source::{EventList, EventSource, SourcePoll};
use crate::terminal::{InputState, Screen, input, wait_for_input};

/// The time between two drawings: 20 a second.
const FRAME: Duration = Duration::from_millis(50);
/// How long events are taken in before keys and the screen get their turn.
const EVENT_TIME_SLICE: Duration = Duration::from_millis(30);

/// How to show a run.
#[derive(Debug, Clone)]
pub struct ScreenOptions {
    /// Whether to use colours.
    pub style: Style,
    /// Whether the run is ours: `q` then stops it, and leaves only when it is over.
    pub controls_run: bool,
    /// Whether to leave when the run has finished; else the screen stays until `q`. [`review`] opens it again.
    pub exit_when_done: bool,
    /// Leaves as soon as this is set, for a caller that is being ended.
    pub stop: Arc<AtomicBool>,
}

/// How it ended.
#[derive(Debug)]
pub struct ScreenOutcome {
    /// Whether the run had finished when the screen closed.
    pub finished: bool,
    /// The screen as it was, for [`review`]; absent where the user left it.
    pub closed: Option<ClosedScreen>,
    /// How many events were never shown.
    pub dropped: u64,
    /// Panics of other threads that were kept off the screen, for the caller to print.
    pub panics: Vec<String>,
}

/// A screen that has closed by itself, with all that it knows of its run.
#[derive(Debug)]
pub struct ClosedScreen(App);

/// Why the screen could not be shown, or not any longer.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    /// There is no screen to draw on.
    #[error("standard output is not a terminal; choose another --ui")]
    NotATerminal,
    /// The terminal does not do what it should.
    #[error("the terminal failed: {0}")]
    Terminal(#[source] io::Error),
    /// The source of events failed.
    #[error("cannot read the run's events: {0}")]
    Source(#[source] io::Error),
}

/// Columns and rows of the terminal on standard output, if there is one.
pub fn terminal_size() -> Option<(u16, u16)> {
    if !io::stdout().is_terminal() {
        return None;
    }
    ratatui::crossterm::terminal::size().ok()
}

/// Shows a run until the reader leaves, on the calling thread.
///
/// `on_command` is called with every command on this thread and must not block: the screen is not drawn while
/// it works. `StopRun` and `KillRun` are for the
/// caller to do; the others have been done.
pub fn run(
    source: impl EventSource,
    options: &ScreenOptions,
    on_command: impl FnMut(&Command),
) -> Result<ScreenOutcome, TuiError> {
    if !io::stdout().is_terminal() {
        return Err(TuiError::NotATerminal);
    }
    let screen = Screen::open().map_err(TuiError::Terminal)?;
    let app = App::new(Setup {
        style: options.style,
        controls_run: options.controls_run,
        exit_when_done: options.exit_when_done,
        can_run_again: CanRunAgain::No,
        began: Timestamp::now(),
    });
    let began = Instant::now();
    let mut driver =
        Driver { screen, app, source, on_command, began, ended: false, quit: false, left: false };
    driver.run(|| options.stop.load(Ordering::Relaxed))?;
    let Driver { screen, app, source, left, .. } = driver;
    Ok(ScreenOutcome {
        finished: app.is_finished(),
        dropped: source.dropped(),
        panics: screen.panics(),
        closed: (!left).then_some(ClosedScreen(app)),
    })
}

/// Opens the screen of a finished run again, at its failures, until the reader leaves or `stop` says so: a terminal that is gone
/// has nobody who could leave. Returns the examples that are to be run again.
pub fn review(
    closed: ClosedScreen,
    can_run_again: CanRunAgain,
    stop: impl Fn() -> bool,
) -> Result<Vec<ExampleId>, TuiError> {
    let screen = Screen::open().map_err(TuiError::Terminal)?;
    let ClosedScreen(mut app) = closed;
    app.begin_review(can_run_again);
    let mut wanted = Vec::new();
    let on_command = |command: &Command| {
        if let Command::RunAgain(ids) = command {
            wanted.clone_from(ids);
        }
    };
    let (source, began) = (EventList(std::iter::empty()), Instant::now());
    let mut driver =
        Driver { screen, app, source, on_command, began, ended: true, quit: false, left: false };
    driver.run(stop)?;
    drop(driver);
    Ok(wanted)
}

struct Driver<S, F> {
    screen: Screen,
    app: App,
    source: S,
    on_command: F,
    began: Instant,
    ended: bool,
    quit: bool,
    /// Whether it was the user who left.
    left: bool,
}

impl<S: EventSource, F: FnMut(&Command)> Driver<S, F> {
    fn run(&mut self, stop: impl Fn() -> bool) -> Result<(), TuiError> {
        let size = self.screen.size().map_err(TuiError::Terminal)?;
        self.update(size)?;
        let mut last_drawn: Option<Instant> = None;
        while !self.quit && !stop() {
            self.update(Input::Tick(self.began.elapsed()))?;
            let behind = self.take_events()?;
            let wait = FRAME.saturating_sub(last_drawn.map_or(FRAME, |drawn| drawn.elapsed()));
            if self.app.has_changed() && wait.is_zero() {
                self.screen.draw(&self.app).map_err(TuiError::Terminal)?;
                self.app.drawn();
                last_drawn = Some(Instant::now());
            }
            let wait = match (behind, self.app.has_changed()) {
                (true, _) => Duration::ZERO,
                (false, true) => wait,
                (false, false) => FRAME,
            };
            self.take_keys(wait)?;
        }
        Ok(())
    }

    /// Waits for keys, but not longer than this, and takes all there are.
    fn take_keys(&mut self, wait: Duration) -> Result<(), TuiError> {
        if wait_for_input(wait).map_err(TuiError::Terminal)? == InputState::HungUp {
            self.quit = true;
            self.left = true;
            return Ok(());
        }
        while event::poll(Duration::ZERO).map_err(TuiError::Terminal)? && !self.quit {
            if let Some(input) = input(&event::read().map_err(TuiError::Terminal)?) {
                self.update(input)?;
            }
        }
        Ok(())
    }

    /// Takes what events there are; says whether there may be more already.
    fn take_events(&mut self) -> Result<bool, TuiError> {
        let started = Instant::now();
        while !self.ended && started.elapsed() < EVENT_TIME_SLICE {
            let input = match self.source.poll().map_err(TuiError::Source)? {
                SourcePoll::Event(event) => Input::Event(event),
                SourcePoll::Restarted => Input::Restarted,
                SourcePoll::Nothing => break,
                SourcePoll::Ended => {
                    self.ended = true;
                    Input::Ended
                }
            };
            self.update(input)?;
        }
        self.update(Input::Dropped(self.source.dropped()))?;
        Ok(!self.ended && started.elapsed() >= EVENT_TIME_SLICE)
    }

    fn update(&mut self, input: Input) -> Result<(), TuiError> {
        let is_key = matches!(input, Input::Key(_));
        for command in self.app.update(input) {
            match &command {
                Command::Quit | Command::RunAgain(_) => {
                    self.quit = true;
                    self.left |= is_key;
                }
                Command::Redraw => self.screen.clear().map_err(TuiError::Terminal)?,
                Command::CopyText(text) => {
                    self.screen.send(&copy_sequence(text)).map_err(TuiError::Terminal)?;
                }
                Command::StopRun | Command::KillRun => {}
            }
            (self.on_command)(&command);
        }
        Ok(())
    }
}
