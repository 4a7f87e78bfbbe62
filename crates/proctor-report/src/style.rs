//! Colour, shortening, and making foreign text harmless.

use std::borrow::Cow;
use std::fmt;

use proctor_events::{Millis, Status};

/// Whether to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether ANSI colours are wanted.
    pub color: bool,
}

/// The colours that carry meaning. None of them carries it alone: there is always a sign or a word too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// Something good.
    Good,
    /// Something bad.
    Bad,
    /// Something to look at.
    Warn,
    /// Something minor.
    Dim,
    /// A name or heading.
    Bold,
    /// One of six colours that tell workers apart.
    Worker(u32),
}

impl Paint {
    fn code(self) -> &'static str {
        match self {
            Self::Good => "32",
            Self::Bad => "31",
            Self::Warn => "33",
            Self::Dim => "2",
            Self::Bold => "1",
            Self::Worker(number) => ["36", "35", "34", "33", "32", "31"][number as usize % 6],
        }
    }
}

impl Style {
    /// The text, painted if colours are on.
    pub fn paint(self, paint: Paint, text: impl fmt::Display) -> String {
        if self.color { format!("\x1b[{}m{text}\x1b[0m", paint.code()) } else { text.to_string() }
    }

    /// The sign of a status; `None` is still running.
    pub fn mark(self, status: Option<&Status>) -> String {
        let (paint, sign) = match status {
            None => (Paint::Dim, "○"),
            Some(Status::Passed) => (Paint::Good, "✓"),
            Some(Status::Pending) => (Paint::Warn, "⏸"),
            Some(Status::Inconclusive) => (Paint::Warn, "?"),
            Some(Status::NotRun | Status::Cancelled) => (Paint::Dim, "-"),
            Some(_) => (Paint::Bad, "✗"),
        };
        self.paint(paint, sign)
    }
}

/// Text with everything taken out that a terminal would obey rather than show.
///
/// Line feeds and tabs stay. Escape and other control characters become their visible pictures; marks
/// that reorder text become the replacement character.
pub fn plain(text: &str) -> Cow<'_, str> {
    let harmless = |c: char| matches!(c, '\n' | '\t') || !(c.is_control() || reorders(c));
    if text.chars().all(harmless) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| match c {
        c if harmless(c) => c,
        '\x00'..='\x1f' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        '\x7f' => '\u{2421}',
        _ => '\u{fffd}',
    };
    Cow::Owned(text.chars().map(shown).collect())
}

fn reorders(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

/// Text as one line of at most so many characters, white space squeezed.
pub fn shorten(text: &str, limit: usize) -> String {
    let squeezed = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = plain(&squeezed);
    if line.chars().count() <= limit {
        return line.into_owned();
    }
    let kept: String = line.chars().take(limit.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// A line cut after so many characters, as it is otherwise.
pub(crate) fn clipped(line: &str, limit: usize) -> Cow<'_, str> {
    match line.char_indices().nth(limit) {
        Some((end, _)) => Cow::Owned(format!("{}…", &line[..end])),
        None => Cow::Borrowed(line),
    }
}

/// A number with its noun: `1 example`, `2 examples`.
pub fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("{count} {noun}") } else { format!("{count} {noun}s") }
}

/// A duration for people.
pub fn duration(millis: Millis) -> String {
    let ms = millis.get();
    match ms {
        _ if ms < 1.0 => format!("{:.0} µs", ms * 1000.0),
        _ if ms < 10.0 => format!("{ms:.1} ms"),
        _ if ms < 1000.0 => format!("{ms:.0} ms"),
        _ if ms < 60_000.0 => format!("{:.2} s", ms / 1000.0),
        _ => {
            let seconds = (ms / 1000.0).round();
            format!("{:.0} min {:.0} s", (seconds / 60.0).floor(), seconds % 60.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_text_cannot_drive_the_terminal() {
        assert_eq!(plain("ok\n\tfine ☂"), "ok\n\tfine ☂");
        assert_eq!(plain("\x1b[2J\x07\x7f"), "␛[2J␇␡");
        assert_eq!(plain("a\u{202e}b\u{9b}c"), "a\u{fffd}b\u{fffd}c");
    }

    #[test]
    fn shortening_counts_characters_and_squeezes() {
        assert_eq!(shorten("one\n  two", 20), "one two");
        assert_eq!(shorten("höflich und nett", 8), "höflich…");
    }

    #[test]
    fn durations_read_well() {
        let shown = |ms| duration(Millis::new(ms));
        assert_eq!(shown(0.062), "62 µs");
        assert_eq!(shown(2.34), "2.3 ms");
        assert_eq!(shown(234.0), "234 ms");
        assert_eq!(shown(4523.0), "4.52 s");
        assert_eq!(shown(119_800.0), "2 min 0 s");
    }
}
