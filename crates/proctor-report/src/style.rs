//! Colour, shortening, and making foreign text harmless.

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

/// A duration for people.
pub fn duration(millis: Millis) -> String {
    let ms = millis.get();
    // The limits are those at which the number would be rounded up to the next unit.
    match ms {
        _ if ms < 0.9995 => format!("{:.0} µs", ms * 1000.0),
        _ if ms < 9.95 => format!("{ms:.1} ms"),
        _ if ms < 999.5 => format!("{ms:.0} ms"),
        _ if ms < 59_995.0 => format!("{:.2} s", ms / 1000.0),
        _ if ms < 3_599_500.0 => {
            let seconds = (ms / 1000.0).round();
            format!("{:.0} min {:.0} s", (seconds / 60.0).floor(), seconds % 60.0)
        }
        _ => {
            let minutes = (ms / 60_000.0).round();
            format!("{:.0} h {:.0} min", (minutes / 60.0).floor(), minutes % 60.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        let shown = |ms| duration(Millis::new(ms));
        assert_eq!(shown(0.062), "62 µs");
        assert_eq!(shown(2.34), "2.3 ms");
        assert_eq!(shown(234.0), "234 ms");
        assert_eq!(shown(4523.0), "4.52 s");
        assert_eq!(shown(119_800.0), "2 min 0 s");
        assert_eq!(shown(7_500_000.0), "2 h 5 min");
        // Never ten of one unit where the next is meant.
        assert_eq!((shown(0.9999), shown(9.97)), ("1.0 ms".into(), "10 ms".into()));
        assert_eq!((shown(999.7), shown(59_999.0)), ("1.00 s".into(), "1 min 0 s".into()));
        assert_eq!(shown(3_599_900.0), "1 h 0 min");
    }
}
