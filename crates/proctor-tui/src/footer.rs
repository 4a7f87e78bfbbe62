//! The last row: what the screen is doing, and the keys that matter now.

use proctor_report::Paint;
use proctor_text::{display_width, pluralize};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::canvas::put;
use crate::focus::Mode;
use crate::search::Search;
use crate::text::fit;
use crate::theme::Theme;

/// What the footer shows.
pub(crate) struct Footer<'a> {
    /// Something the reader must know; it stands before all else.
    pub(crate) notice: Option<&'a str>,
    pub(crate) search: &'a Search,
    pub(crate) filter: &'a Search,
    /// How often the search was found, while there is one.
    pub(crate) found: usize,
    /// Who chooses the worker, while the run goes on.
    pub(crate) mode: Option<Mode>,
    pub(crate) scrolled: bool,
    pub(crate) dropped: u64,
    /// The keys that matter, most important first.
    pub(crate) hints: Vec<String>,
    pub(crate) theme: Theme,
}

impl Footer<'_> {
    pub(crate) fn draw(&self, area: Rect, buffer: &mut Buffer) {
        let width = usize::from(area.width);
        let (paint, left) = self.left();
        let left = fit(&left, width.saturating_sub(1));
        let space = width.saturating_sub(display_width(&left) + 4);
        let right = self.right(space);
        let gap = width.saturating_sub(display_width(&left) + display_width(&right) + 2);
        let spans = vec![
            Span::raw(" "),
            Span::styled(left, self.theme.style(paint)),
            Span::raw(" ".repeat(gap)),
            Span::styled(right, self.theme.style(Some(Paint::Dim))),
        ];
        put(buffer, area, 0, &Line::from(spans));
    }

    fn left(&self) -> (Option<Paint>, String) {
        if self.search.is_editing() {
            return (Some(Paint::Bold), format!("/{}▏", self.search.query()));
        }
        if let Some(notice) = self.notice {
            return (Some(Paint::Warn), notice.to_owned());
        }
        let mut parts = Vec::new();
        if self.dropped > 0 {
            parts.push(format!("! {} missed", pluralize(self.dropped, "event")));
        }
        if self.filter.is_active() {
            parts.push(format!("only rows with “{}”", self.filter.query()));
        }
        if self.search.is_active() {
            parts.push(format!("/{}: on {}", self.search.query(), pluralize(self.found, "line")));
        }
        parts.push(self.mode_words().to_owned());
        (None, parts.join(" · "))
    }

    fn mode_words(&self) -> &'static str {
        let Some(mode) = self.mode else { return "the run is over" };
        match (mode, self.scrolled) {
            (Mode::Manual, false) => "staying here",
            (Mode::Manual, true) => "scrolled up: G to the end",
            (Mode::Follow, false) => "following",
            (Mode::Follow, true) => "scrolled up, following waits: G to the end",
            (Mode::Rotate, false) => "rotating",
            (Mode::Rotate, true) => "scrolled up, rotating waits: G to the end",
        }
    }

    /// As many hints as fit.
    fn right(&self, space: usize) -> String {
        let mut text = String::new();
        for hint in &self.hints {
            let longer = if text.is_empty() { hint.clone() } else { format!("{text}  {hint}") };
            if display_width(&longer) > space {
                break;
            }
            text = longer;
        }
        text
    }
}
