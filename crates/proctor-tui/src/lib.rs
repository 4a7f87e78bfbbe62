//! The interactive terminal: watching a run live, or looking at a recording.
//!
//! * [`App`] is the state of the screen. [`App::update`] takes an [`Input`] and gives [`Command`]s;
//!   [`draw`] shows it. Both are pure: time, size, keys and events are passed in.
//! * [`run`] is the edge: it owns the terminal, pulls events from an [`EventSource`], and gives the
//!   terminal back on every way out, a panic included.
//!
//! The screen is a view like any other: it consumes events and changes nothing. What it wants done to the
//! run it says by a command. Text that agents and tests produced cannot drive the terminal.

mod app;
mod canvas;
mod clipboard;
mod control;
mod conversation_list;
mod conversations;
mod detail;
mod draw;
mod driver;
mod event_lines;
mod focus;
mod footer;
mod header;
mod help;
mod input;
mod keys;
mod layout;
mod list;
mod model;
mod reader;
mod run_view;
mod scroll;
mod search;
mod source;
mod tabs;
mod terminal;
mod text;
mod theme;
mod workers;

pub use app::{App, CanRunAgain, Setup};
pub use draw::draw;
pub use driver::{
    ClosedScreen, ScreenOptions, ScreenOutcome, TuiError, review, run, terminal_size,
};
pub use input::{Command, Input, Key, KeyPress};
pub use source::{EventList, EventSource, FollowedFile, SourcePoll};
