//! What goes into the app and what comes out of it.

use std::sync::Arc;
use std::time::Duration;

use proctor_events::{ExampleId, Published};

/// An input of the app.
#[derive(Debug, Clone)]
pub enum Input {
    /// An event of the run.
    Event(Arc<Published>),
    /// The source begins anew: its file was replaced, or another run follows in it.
    Restarted,
    /// No further event will come.
    Ended,
    /// How many events were lost on the way because we were too slow.
    Dropped(u64),
    /// A key was pressed.
    Key(KeyPress),
    /// The terminal has this many columns and rows.
    Resize(u16, u16),
    /// The time since the app began. Everything that follows happens at this time.
    Tick(Duration),
}

/// What the app wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Close the screen.
    Quit,
    /// Stop the run as fail-fast does: what runs may finish, nothing new starts.
    StopRun,
    /// Kill the run now.
    KillRun,
    /// Draw everything anew: something else wrote on the screen.
    Redraw,
    /// Put this into the clipboard.
    CopyText(String),
    /// Close the screen and make a run of these examples.
    RunAgain(Vec<ExampleId>),
}

/// A key with its modifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyPress {
    /// The key.
    pub key: Key,
    /// Whether Control was held.
    pub ctrl: bool,
}

impl From<Key> for KeyPress {
    fn from(key: Key) -> Self {
        Self { key, ctrl: false }
    }
}

/// The keys that mean something here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are written on the keyboard")]
pub enum Key {
    Char(char),
    Enter,
    Esc,
    Backspace,
    Tab,
    BackTab,
    Left,
    Right,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
}
