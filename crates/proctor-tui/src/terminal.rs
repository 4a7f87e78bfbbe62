//! The terminal, borrowed: taken over when the screen opens, given back on every way out.

use std::io::{self, IsTerminal as _, Stdout, Write as _, stdout};
use std::panic::{self, PanicHookInfo};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::app::App;
use crate::draw::draw;
use crate::input::{Input, Key, KeyPress};

/// Whether the terminal is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputState {
    Open,
    HungUp,
}

/// Waits until there is input, or the time is over. crossterm itself never returns from a terminal that was closed: it reads its end
/// again and again.
pub(crate) fn wait_for_input(wait: Duration) -> io::Result<InputState> {
    let input = io::stdin();
    if !input.is_terminal() {
        // Keys come from the controlling terminal, which crossterm opens itself.
        return event::poll(wait).map(|_| InputState::Open);
    }
    let mut descriptors = [PollFd::new(&input, PollFlags::IN)];
    let wait = Timespec::try_from(wait).unwrap_or_default();
    match poll(&mut descriptors, Some(&wait)) {
        // A signal: the size of the window may have changed.
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let gone = descriptors[0].revents().intersects(PollFlags::HUP | PollFlags::ERR);
    Ok(if gone { InputState::HungUp } else { InputState::Open })
}

/// The terminal while we have it. Dropping it gives it back.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    lease: TerminalLease,
    panics: Panics,
}

impl Screen {
    pub(crate) fn open() -> io::Result<Self> {
        // From here on every early return gives the terminal back.
        let lease = TerminalLease::default();
        let panics = Panics::catch(&lease);
        let incomplete = ReleaseOnDrop(lease.clone());
        enable_raw_mode()?;
        execute!(stdout(), EnterAlternateScreen)?;
        let mut terminal = Terminal::new(CrosstermBackend::new(stdout()))?;
        terminal.clear()?;
        std::mem::forget(incomplete);
        Ok(Self { terminal, lease, panics })
    }

    pub(crate) fn size(&self) -> io::Result<Input> {
        self.terminal.size().map(|size| Input::Resize(size.width, size.height))
    }

    pub(crate) fn draw(&mut self, app: &App) -> io::Result<()> {
        self.terminal.draw(|frame| draw(app, frame)).map(|_| ())
    }

    /// Forgets what is on the screen, so that all of it is drawn again.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        self.terminal.clear()
    }

    /// Sends a sequence that shows nothing.
    pub(crate) fn send(&mut self, sequence: &str) -> io::Result<()> {
        let backend = self.terminal.backend_mut();
        backend.write_all(sequence.as_bytes())?;
        io::Write::flush(backend)
    }

    /// Panics of other threads since the screen opened; shown at once they would have spoiled it.
    pub(crate) fn panics(&self) -> Vec<String> {
        std::mem::take(&mut self.panics.texts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Before the fields go, so that nothing of theirs is written to the shell's screen.
        self.lease.release();
    }
}

/// The terminal is given back exactly once: a second time would move the cursor over what the shell, or a
/// panic, has written since.
#[derive(Clone, Default)]
struct TerminalLease {
    returned: Arc<AtomicBool>,
}

impl TerminalLease {
    fn release(&self) {
        if !self.returned.swap(true, Ordering::Relaxed) {
            // Errors are ignored: without a terminal they cannot be shown.
            let _ = disable_raw_mode();
            let _ = execute!(stdout(), LeaveAlternateScreen, Show);
        }
    }
}

/// Gives the terminal back if it could not be taken over completely.
struct ReleaseOnDrop(TerminalLease);

impl Drop for ReleaseOnDrop {
    fn drop(&mut self) {
        self.0.release();
    }
}

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

/// Keeps panics off the screen: our own gives the terminal back first, those of others are kept for later.
struct Panics {
    texts: Arc<Mutex<Vec<String>>>,
    active: Arc<AtomicBool>,
    previous: Arc<Hook>,
}

impl Panics {
    fn catch(lease: &TerminalLease) -> Self {
        let caught = Self {
            texts: Arc::default(),
            active: Arc::new(AtomicBool::new(true)),
            previous: Arc::new(panic::take_hook()),
        };
        let ours = thread::current().id();
        let (texts, active) = (Arc::clone(&caught.texts), Arc::clone(&caught.active));
        let (previous, lease) = (Arc::clone(&caught.previous), lease.clone());
        panic::set_hook(Box::new(move |info| {
            if active.load(Ordering::Relaxed) && thread::current().id() != ours {
                texts.lock().unwrap_or_else(PoisonError::into_inner).push(info.to_string());
                return;
            }
            if active.load(Ordering::Relaxed) {
                lease.release();
            }
            previous(info);
        }));
        caught
    }
}

impl Drop for Panics {
    fn drop(&mut self) {
        self.active.store(false, Ordering::Relaxed);
        // A panicking thread may not change the hook; ours then only passes on to the previous one.
        if !thread::panicking() {
            let previous = Arc::clone(&self.previous);
            panic::set_hook(Box::new(move |info| previous(info)));
        }
    }
}

/// A terminal event as an input of the app.
pub(crate) fn input(event: &Event) -> Option<Input> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => press(key).map(Input::Key),
        Event::Resize(width, height) => Some(Input::Resize(*width, *height)),
        _ => None,
    }
}

fn press(event: &KeyEvent) -> Option<KeyPress> {
    let key = match event.code {
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Esc,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        _ => return None,
    };
    if event.modifiers.contains(KeyModifiers::ALT) {
        return None;
    }
    Some(KeyPress { key, ctrl: event.modifiers.contains(KeyModifiers::CONTROL) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_presses_with_or_without_control() {
        let pressed = |code, modifiers| match input(&Event::Key(KeyEvent::new(code, modifiers))) {
            Some(Input::Key(press)) => Some(press),
            _ => None,
        };
        let none = KeyModifiers::NONE;
        assert_eq!(pressed(KeyCode::Char('N'), KeyModifiers::SHIFT), Some(Key::Char('N').into()));
        assert_eq!(
            pressed(KeyCode::Char('c'), KeyModifiers::CONTROL),
            Some(KeyPress { key: Key::Char('c'), ctrl: true })
        );
        assert_eq!(pressed(KeyCode::PageUp, none), Some(Key::PageUp.into()));
        assert_eq!(pressed(KeyCode::F(1), none), None);
        assert_eq!(pressed(KeyCode::Char('q'), KeyModifiers::ALT), None);
    }

    #[test]
    fn panics_of_other_threads_are_kept_for_later() {
        let lease = TerminalLease { returned: Arc::new(AtomicBool::new(true)) };
        let panics = Panics::catch(&lease);
        let joined = thread::spawn(|| panic!("elsewhere")).join();
        assert!(joined.is_err());
        let texts = panics.texts.lock().unwrap().clone();
        // Other tests of this process may panic meanwhile; ours is among what was caught.
        assert!(texts.iter().any(|text| text.contains("elsewhere")), "{texts:?}");
    }
}
