//! The strip of tabs: one per worker, scrolled so that the shown one is in sight.

use std::ops::Range;

use proctor_report::Paint;
use proctor_text::display_width;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::text::fit;
use crate::theme::{Theme, chosen, paint_of, sign_of};
use crate::workers::{Tab, Worker, Workers};

/// The widest and the narrowest a tab gets.
const WIDEST: usize = 26;
const NARROWEST: usize = 9;

/// The frames of the spinner, 200 ms each.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The sign that turns while something runs.
pub(crate) fn spinner(frame: u64) -> &'static str {
    SPINNER[usize::try_from(frame % 10).unwrap_or_default()]
}

/// Draws the strip.
pub(crate) fn draw(workers: &Workers, frame: u64, theme: Theme, area: Rect, buffer: &mut Buffer) {
    let all = workers.all();
    if all.is_empty() || area.height == 0 {
        let note = Line::styled(" no worker yet", theme.style(Some(Paint::Dim)));
        buffer.set_line(area.x, area.y, &note, area.width);
        return;
    }
    let (range, width) = visible(all.len(), workers.shown_index(), area.width.into());
    let mut spans = Vec::new();
    if range.start > 0 {
        spans.push(Span::raw("‹"));
    }
    for place in range.clone() {
        let shown = place == workers.shown_index();
        spans.extend(tab(&all[place], shown, width, frame, theme));
    }
    if range.end < all.len() {
        spans.push(Span::raw("›"));
    }
    buffer.set_line(area.x, area.y, &Line::from(spans), area.width);
}

/// Which tabs can be seen, and how wide each is.
fn visible(count: usize, shown: usize, space: usize) -> (Range<usize>, usize) {
    let width = (space / count).clamp(NARROWEST, WIDEST);
    if width * count <= space {
        return (0..count, width);
    }
    // A cell at each end for the signs that there is more.
    let fitting = (space.saturating_sub(2) / NARROWEST).max(1);
    let start = shown.saturating_sub(fitting / 2).min(count - fitting.min(count));
    (start..(start + fitting).min(count), NARROWEST)
}

fn tab(worker: &Worker, shown: bool, width: usize, frame: u64, theme: Theme) -> Vec<Span<'static>> {
    let (sign, paint) = state(worker, frame);
    let label = worker.label();
    // " 1 ⠋ title "
    let space = width.saturating_sub(display_width(&label) + 5);
    let words = fit(&words(worker, space), space);
    let padding = " ".repeat(space.saturating_sub(display_width(&words)));
    // Brackets, because on some terminals nothing else tells the shown tab from the others.
    let (open, close) = if shown { ("[", "]") } else { (" ", " ") };
    let base = if shown { chosen() } else { ratatui::style::Style::new() };
    let name = theme.style(Some(match worker.tab {
        Tab::Worker(number) => Paint::Worker(number),
        Tab::Conversations | Tab::Run => Paint::Bold,
    }));
    vec![
        Span::styled(format!("{open}{label} "), base.patch(name)),
        Span::styled(sign, base.patch(theme.style(Some(paint)))),
        Span::styled(format!(" {words}{padding}{close}"), base),
    ]
}

fn state(worker: &Worker, frame: u64) -> (String, Paint) {
    if worker.is_running() {
        return (spinner(frame).to_owned(), Paint::Bold);
    }
    match &worker.last {
        Some(status) => (sign_of(Some(status)), paint_of(Some(status))),
        None => ("·".to_owned(), Paint::Dim),
    }
}

/// What it does; a word that says nothing is left out where there is no room for it.
fn words(worker: &Worker, space: usize) -> String {
    let words = match worker.title() {
        Some(_) if worker.tab == Tab::Conversations => {
            return format!("{} running", worker.running_examples());
        }
        Some(title) => title.rsplit(" > ").next().unwrap_or(title),
        None if space < 5 => "",
        None if worker.exited => "ended",
        None => "idle",
    };
    words.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shown_tab_is_always_in_sight() {
        for count in 1..40 {
            for space in [24, 30, 80, 120] {
                for shown in 0..count {
                    let (range, width) = visible(count, shown, space);
                    assert!(range.contains(&shown), "{count} {space} {shown}: {range:?}");
                    let signs = usize::from(range.start > 0) + usize::from(range.end < count);
                    assert!(range.len() * width + signs <= space, "{count} {space} {shown}");
                }
            }
        }
    }

    #[test]
    fn few_tabs_are_wide_and_many_scroll() {
        assert_eq!(visible(2, 0, 80), (0..2, WIDEST));
        assert_eq!(visible(4, 0, 80), (0..4, 20));
        assert_eq!(visible(12, 11, 80), (4..12, NARROWEST));
    }
}
