//! What a meaning looks like. Colour never carries it alone: there is always a sign or a word too.

use proctor_events::Status;
use proctor_report::{Paint, Style as Report};
use ratatui::style::{Color, Modifier, Style};

/// Turns the report's paints into styles of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Theme {
    color: bool,
}

/// The colours that tell workers apart, in the order that the report has them.
const WORKERS: [Color; 6] =
    [Color::Cyan, Color::Magenta, Color::Blue, Color::Yellow, Color::Green, Color::Red];

impl Theme {
    pub(crate) fn new(style: Report) -> Self {
        Self { color: style.color }
    }

    /// The style of a paint; `None` is ordinary text.
    pub(crate) fn style(self, paint: Option<Paint>) -> Style {
        let Some(paint) = paint else { return Style::new() };
        let style = match paint {
            Paint::Dim => Style::new().add_modifier(Modifier::DIM),
            Paint::Bold => Style::new().add_modifier(Modifier::BOLD),
            Paint::Good => Style::new().fg(Color::Green),
            Paint::Bad => Style::new().fg(Color::Red).add_modifier(Modifier::BOLD),
            Paint::Warn => Style::new().fg(Color::Yellow),
            Paint::Worker(number) => Style::new().fg(WORKERS[number as usize % WORKERS.len()]),
        };
        if self.color { style } else { Style { fg: None, ..style } }
    }

    /// A match of the search.
    pub(crate) fn found(self) -> Style {
        let style = Style::new().add_modifier(Modifier::REVERSED);
        if self.color { style.fg(Color::Yellow) } else { style }
    }
}

/// Where the eye should be: the tab or item that is chosen.
pub(crate) fn chosen() -> Style {
    Style::new().add_modifier(Modifier::REVERSED)
}

/// The paint of a status; `None` is still running.
pub(crate) fn paint_of(status: Option<&Status>) -> Paint {
    match status {
        None | Some(Status::NotRun | Status::Cancelled) => Paint::Dim,
        Some(Status::Passed) => Paint::Good,
        Some(Status::Pending | Status::Inconclusive) => Paint::Warn,
        Some(_) => Paint::Bad,
    }
}

/// The sign of a status; `None` is still running.
pub(crate) fn sign_of(status: Option<&Status>) -> String {
    Report { color: false }.mark(status)
}

/// The word of a status, for people.
pub(crate) fn word_of(status: &Status) -> String {
    proctor_text::printable(status.as_str()).replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colour_there_is_still_weight() {
        let theme = Theme::new(Report { color: false });
        for paint in [Paint::Good, Paint::Bad, Paint::Warn, Paint::Worker(3)] {
            assert_eq!(theme.style(Some(paint)).fg, None);
        }
        assert!(theme.style(Some(Paint::Bad)).add_modifier.contains(Modifier::BOLD));
        assert_eq!(theme.found().fg, None);
    }
}
