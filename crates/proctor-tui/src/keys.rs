//! Which key does what: one table, from which both the app and its help page are made.

use crate::input::{Key, KeyPress};
use crate::scroll::Motion;

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// The tab of the worker with this number, from 0.
    Tab(u32),
    /// The tab of the conversations.
    ConversationsTab,
    /// The tab of what belongs to no worker and no example.
    RunTab,
    NextTab,
    PreviousTab,
    Move(Motion),
    Follow,
    Rotate,
    Search,
    NextMatch,
    PreviousMatch,
    /// Only the rows in which the search is found; all of them again.
    Narrow,
    Failures,
    Examples,
    Open,
    Back,
    Copy,
    RunAgain,
    RunFailuresAgain,
    NextFailure,
    PreviousFailure,
    Redraw,
    Help,
    Stop,
    Interrupt,
}

struct Binding {
    keys: &'static [Key],
    action: Action,
    /// Empty where another row of the help already says it.
    help: (&'static str, &'static str),
}

const fn bind(keys: &'static [Key], action: Action, help: (&'static str, &'static str)) -> Binding {
    Binding { keys, action, help }
}

const BINDINGS: &[Binding] = &[
    bind(
        &[Key::Right, Key::Char('l'), Key::Tab],
        Action::NextTab,
        ("0-9 c r  h l ← →", "worker; c conversations, r the run itself"),
    ),
    bind(&[Key::Left, Key::Char('h'), Key::BackTab], Action::PreviousTab, ("", "")),
    bind(&[Key::Char('c')], Action::ConversationsTab, ("", "")),
    bind(&[Key::Char('r')], Action::RunTab, ("", "")),
    bind(
        &[Key::Down, Key::Char('j')],
        Action::Move(Motion::Down),
        ("j k ↓ ↑", "scroll, or choose in a list"),
    ),
    bind(&[Key::Up, Key::Char('k')], Action::Move(Motion::Up), ("", "")),
    bind(
        &[Key::PageDown, Key::Char(' ')],
        Action::Move(Motion::PageDown),
        ("PgUp PgDn", "scroll by pages"),
    ),
    bind(&[Key::PageUp], Action::Move(Motion::PageUp), ("", "")),
    bind(
        &[Key::Home, Key::Char('g')],
        Action::Move(Motion::Top),
        ("g G Home End", "first and last line"),
    ),
    bind(&[Key::End, Key::Char('G')], Action::Move(Motion::End), ("", "")),
    bind(&[Key::Char('f')], Action::Follow, ("f", "follow: failures first, else who is active")),
    bind(&[Key::Char('a')], Action::Rotate, ("a", "auto-rotate: every 2 s the next worker")),
    bind(&[Key::Char('/')], Action::Search, ("/ n N", "search, next, previous")),
    bind(&[Key::Char('n')], Action::NextMatch, ("", "")),
    bind(&[Key::Char('N')], Action::PreviousMatch, ("", "")),
    bind(&[Key::Char('t')], Action::Narrow, ("t", "only rows with what was searched; all again")),
    bind(&[Key::Char('F')], Action::Failures, ("F", "failures")),
    bind(&[Key::Char('e')], Action::Examples, ("e", "all examples")),
    bind(&[Key::Enter], Action::Open, ("Enter", "open the chosen example")),
    bind(&[Key::Esc, Key::Backspace], Action::Back, ("Esc", "back; end the search")),
    bind(&[Key::Char('y')], Action::Copy, ("y", "copy the command that runs it again")),
    bind(&[Key::Char(']')], Action::NextFailure, ("] [", "next and previous failure")),
    bind(&[Key::Char('[')], Action::PreviousFailure, ("", "")),
    bind(
        &[Key::Char('x')],
        Action::RunAgain,
        ("x X", "after the run: run this, all failures again"),
    ),
    bind(&[Key::Char('X')], Action::RunFailuresAgain, ("", "")),
    bind(&[Key::Char('?')], Action::Help, ("?", "this page")),
    bind(&[Key::Char('q')], Action::Stop, ("q", "back; stop the run; again: kill it; quit")),
];

/// The help page: keys and what they do.
pub(crate) fn help() -> impl Iterator<Item = (&'static str, &'static str)> {
    let interrupt = ("Ctrl+C", "stop the run from anywhere; again: kill it; quit");
    let redraw = ("Ctrl+L", "draw the screen anew");
    BINDINGS
        .iter()
        .map(|binding| binding.help)
        .chain([redraw, interrupt])
        .filter(|(keys, _)| !keys.is_empty())
}

/// What a key asks for, if anything.
pub(crate) fn action(press: KeyPress) -> Option<Action> {
    if press.ctrl {
        return match press.key {
            Key::Char('c') => Some(Action::Interrupt),
            Key::Char('l') => Some(Action::Redraw),
            Key::Char('f' | 'd') => Some(Action::Move(Motion::PageDown)),
            Key::Char('b' | 'u') => Some(Action::Move(Motion::PageUp)),
            _ => None,
        };
    }
    if let Key::Char(digit) = press.key
        && let Some(number) = digit.to_digit(10)
    {
        return Some(Action::Tab(number));
    }
    BINDINGS.iter().find(|binding| binding.keys.contains(&press.key)).map(|binding| binding.action)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things() {
        let keys: Vec<Key> = BINDINGS.iter().flat_map(|binding| binding.keys).copied().collect();
        for (place, key) in keys.iter().enumerate() {
            assert!(!keys[..place].contains(key), "{key:?}");
        }
    }

    #[test]
    fn digits_are_tabs_and_control_c_interrupts() {
        assert_eq!(action(Key::Char('3').into()), Some(Action::Tab(3)));
        let press = KeyPress { key: Key::Char('c'), ctrl: true };
        assert_eq!(action(press), Some(Action::Interrupt));
        assert_eq!(action(Key::Char('c').into()), Some(Action::ConversationsTab));
    }
}
