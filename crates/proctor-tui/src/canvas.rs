//! Writing to the screen without ever leaving an area.

use proctor_report::Paint;
use proctor_text::{display_width, pluralize};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::scroll::Window;
use crate::search::Search;
use crate::text::fit;
use crate::theme::Theme;

/// Writes a line on a row of an area; what does not fit is not written.
pub(crate) fn put(buffer: &mut Buffer, area: Rect, row: u16, line: &Line<'_>) {
    let area = area.intersection(buffer.area);
    if row < area.height && area.width > 0 {
        buffer.set_line(area.x, area.y + row, line, area.width);
    }
}

/// A rule with a title in it, and a note at its right end.
pub(crate) fn rule(buffer: &mut Buffer, area: Rect, theme: Theme, title: &str, note: &str) {
    let width = usize::from(area.width);
    let note = if note.is_empty() { String::new() } else { format!(" {note} ─") };
    let note = if display_width(&note) + 12 > width { String::new() } else { note };
    let title = fit(title, width.saturating_sub(display_width(&note) + 4));
    let line = width.saturating_sub(display_width(&title) + display_width(&note) + 3);
    let dim = theme.style(Some(Paint::Dim));
    let spans = vec![
        Span::styled("─ ", dim),
        Span::styled(title, theme.style(Some(Paint::Bold))),
        Span::raw(" "),
        Span::styled("─".repeat(line), dim),
        Span::styled(note, dim),
    ];
    put(buffer, area, 0, &Line::from(spans));
}

/// The rows of a text, with what was searched for standing out.
pub(crate) fn rows(
    buffer: &mut Buffer,
    area: Rect,
    theme: Theme,
    window: &Window<'_>,
    search: &Search,
) {
    for (place, row) in (0..area.height).zip(&window.rows) {
        let found = search.found_in(row.line.text());
        put(buffer, area, place, &row.line.row(row.row, row.part.clone(), &found, theme));
    }
}

/// How many lines of a text are out of sight.
pub(crate) fn out_of_sight(window: &Window<'_>) -> String {
    match (window.above, window.below) {
        (0, 0) => String::new(),
        (above, 0) => format!("▲ {}", pluralize(above, "line")),
        (0, below) => format!("▼ {}", pluralize(below, "line")),
        (above, below) => format!("▲ {above} ▼ {}", pluralize(below, "line")),
    }
}
