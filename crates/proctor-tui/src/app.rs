//! The state of the screen and its one step: an [`Input`] goes in, [`Command`]s come out.
//!
//! Nothing here reads a clock, a terminal or a file. What events told is in [`Model`]; what the reader
//! does with it is in [`Reader`]; this module only routes between them.

use std::time::Duration;

use proctor_events::{Event, ExampleId, Timestamp};
use proctor_report::Style;
use ratatui::layout::Size;

use crate::control::Control;
use crate::input::{Command, Input, KeyPress};
use crate::keys::{self, Action};
use crate::list::failed_ids;
use crate::model::Model;
use crate::reader::Reader;

/// How long a frame of the spinner is.
const SPINNER_FRAME: Duration = Duration::from_millis(200);

/// How the screen behaves.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    /// Whether to use colours.
    pub style: Style,
    /// Whether `q` stops the run, because it is ours; else it only leaves.
    pub controls_run: bool,
    /// Whether to leave when the run has finished.
    pub exit_when_done: bool,
    /// Whether examples can be run again from here.
    pub can_run_again: CanRunAgain,
    /// The time when the app began.
    pub began: Timestamp,
}

/// Whether the caller of the screen makes another run for [`Command::RunAgain`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum CanRunAgain {
    Yes,
    No,
}

/// The time, as it was passed in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    began: Timestamp,
    pub(crate) now: Duration,
}

impl Clock {
    pub(crate) fn wall(self) -> Timestamp {
        // Beyond the year 9999 the clock stands still.
        self.began.checked_add(self.now).unwrap_or(self.began)
    }

    pub(crate) fn frame(self) -> u64 {
        u64::try_from(self.now.as_millis() / SPINNER_FRAME.as_millis()).unwrap_or_default()
    }
}

/// The interactive screen.
#[derive(Debug)]
pub struct App {
    pub(crate) setup: Setup,
    pub(crate) clock: Clock,
    pub(crate) size: Size,
    pub(crate) model: Model,
    pub(crate) reader: Reader,
    control: Control,
    pub(crate) dropped: u64,
    changed: bool,
}

impl App {
    /// A screen that has seen nothing.
    pub fn new(setup: Setup) -> Self {
        Self {
            setup,
            clock: Clock { began: setup.began, now: Duration::ZERO },
            size: Size::new(80, 24),
            model: Model::default(),
            reader: Reader::default(),
            control: Control::default(),
            dropped: 0,
            changed: true,
        }
    }

    /// Takes one input.
    pub fn update(&mut self, input: Input) -> Vec<Command> {
        match input {
            Input::Event(event) => self.event(&event),
            Input::Restarted => self.restart(),
            Input::Ended => {
                self.changed |= self.model.run.is_live();
                self.model.run.end();
            }
            Input::Dropped(count) => {
                self.changed |= self.dropped != count;
                self.dropped = count;
            }
            Input::Key(press) => return self.key(press).into_iter().collect(),
            Input::Resize(width, height) => {
                self.size = Size::new(width, height);
                self.changed = true;
            }
            Input::Tick(now) => return self.tick(now).into_iter().collect(),
        }
        Vec::new()
    }

    /// Whether the screen looks different from when it was last drawn.
    pub fn has_changed(&self) -> bool {
        self.changed
    }

    /// The screen has been drawn.
    pub fn drawn(&mut self) {
        self.changed = false;
    }

    /// Whether the run has reported its end.
    pub fn is_finished(&self) -> bool {
        self.model.run.is_finished()
    }

    fn event(&mut self, event: &Event) {
        if let Some(tab) = self.model.apply(event, self.clock.now) {
            self.reader.focus.failed(tab);
        }
        self.reader.show_followed_worker(&mut self.model.workers, self.clock.now);
        self.changed = true;
    }

    /// Another run: what the reader had chosen in the last one means nothing in it.
    fn restart(&mut self) {
        self.model = Model::default();
        self.reader = Reader::default();
        self.changed = true;
    }

    fn tick(&mut self, now: Duration) -> Option<Command> {
        let before = self.clock;
        self.clock.now = now;
        let spun = before.frame() != self.clock.frame() && self.model.workers.any_running();
        let second = before.now.as_secs() != now.as_secs() && self.model.run.is_live();
        // Once the run is over nothing calls for attention any more, so the view no longer changes by itself.
        let looked = self.model.run.is_live()
            && self.reader.show_followed_worker(&mut self.model.workers, now);
        self.changed |= spun || second || looked;
        (self.setup.exit_when_done && !self.model.run.is_live()).then_some(Command::Quit)
    }

    fn key(&mut self, press: KeyPress) -> Option<Command> {
        self.changed = true;
        let action = keys::action(press);
        // Ctrl+C works from everywhere, or it could not be trusted.
        if action == Some(Action::Interrupt) {
            return Some(self.leave());
        }
        if self.reader.search.is_editing() {
            self.reader.edit(press, &mut self.model, self.size);
            return None;
        }
        match action? {
            Action::Stop if self.reader.back() => None,
            Action::Stop => Some(self.leave()),
            Action::Redraw => Some(Command::Redraw),
            Action::Copy => self.reader.rerun(&self.model).map(Command::CopyText),
            Action::RunAgain => self.run_again(Reader::chosen_ids),
            Action::RunFailuresAgain => self.run_again(|_, model| failed_ids(model)),
            action => {
                self.reader.apply_action(action, &mut self.model, self.clock.now, self.size);
                None
            }
        }
    }

    /// Asks for another run of some examples, if that can be done now.
    fn run_again(&mut self, ids: impl Fn(&Reader, &Model) -> Vec<ExampleId>) -> Option<Command> {
        let problem = if self.is_stoppable() {
            "the run is still going: q stops it"
        } else if self.setup.can_run_again == CanRunAgain::No {
            "this screen cannot run anything: y copies the command"
        } else {
            let ids = ids(&self.reader, &self.model);
            if !ids.is_empty() {
                return Some(Command::RunAgain(ids));
            }
            "no example is chosen, or none has failed"
        };
        self.reader.notice = Some(problem);
        None
    }

    /// The run is over and everything about it is written: from now on its failures are walked through.
    pub(crate) fn begin_review(&mut self, can_run_again: CanRunAgain) {
        self.setup.controls_run = false;
        self.setup.exit_when_done = false;
        self.setup.can_run_again = can_run_again;
        self.reader.begin_review(&self.model);
        self.changed = true;
    }

    fn leave(&mut self) -> Command {
        self.control.press(self.is_stoppable())
    }

    pub(crate) fn is_stoppable(&self) -> bool {
        self.setup.controls_run && self.model.run.is_live()
    }

    /// What the reader must know about leaving.
    pub(crate) fn notice(&self) -> Option<&'static str> {
        self.control.notice(self.is_stoppable()).or(self.reader.notice)
    }
}

#[cfg(test)]
mod tests;
