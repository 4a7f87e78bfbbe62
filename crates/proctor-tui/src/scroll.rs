//! Text that may be longer than the screen: the lines that are kept, and the part that is looked at.
//!
//! A position is held by the line, not by a count of rows, so that it stays where the reader is when the
//! window is resized, when lines are added below, and when old ones fall out above.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use ratatui::layout::Size;

use crate::text::TextLine;

/// Lines, numbered from the first that ever was; at most `limit` of them are kept.
#[derive(Debug, Clone)]
pub(crate) struct Ring {
    first: u64,
    lines: VecDeque<Arc<TextLine>>,
    limit: usize,
}

impl Ring {
    pub(crate) fn new(limit: usize) -> Self {
        Self { first: 0, lines: VecDeque::new(), limit }
    }

    pub(crate) fn push(&mut self, line: Arc<TextLine>) {
        if self.lines.len() >= self.limit {
            self.lines.pop_front();
            self.first += 1;
        }
        self.lines.push_back(line);
    }

    /// The lines with their numbers.
    pub(crate) fn numbered(&self) -> impl DoubleEndedIterator<Item = (u64, &TextLine)> {
        let first = self.first;
        self.lines.iter().enumerate().map(move |(place, line)| (first + place as u64, &**line))
    }

    fn rows(&self, width: u16) -> Vec<Row<'_>> {
        self.numbered()
            .flat_map(|(number, line)| {
                let parts = line.wrap(width).into_iter().enumerate();
                parts.map(move |(row, part)| Row { number, line, row, part })
            })
            .collect()
    }
}

impl FromIterator<Arc<TextLine>> for Ring {
    fn from_iter<I: IntoIterator<Item = Arc<TextLine>>>(lines: I) -> Self {
        Self { first: 0, lines: lines.into_iter().collect(), limit: usize::MAX }
    }
}

/// One row on the screen.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    pub(crate) number: u64,
    pub(crate) line: &'a TextLine,
    pub(crate) row: usize,
    pub(crate) part: Range<usize>,
}

/// The rows that can be seen, and how many there are beside them.
#[derive(Debug)]
pub(crate) struct Window<'a> {
    pub(crate) rows: Vec<Row<'a>>,
    pub(crate) above: usize,
    pub(crate) below: usize,
}

/// Where the reader is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Scroll {
    /// At the end, and staying there.
    #[default]
    End,
    /// This row of this line is the first that can be seen.
    At(u64, usize),
}

/// A step of the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Motion {
    Up,
    Down,
    PageUp,
    PageDown,
    Top,
    End,
}

impl Scroll {
    /// At the beginning.
    pub(crate) const TOP: Self = Self::At(0, 0);

    fn top(self, rows: &[Row<'_>], height: usize) -> usize {
        let last = rows.len().saturating_sub(height);
        match self {
            Self::End => last,
            Self::At(number, row) => {
                rows.partition_point(|r| (r.number, r.row) < (number, row)).min(last)
            }
        }
    }

    /// What can be seen from here.
    pub(crate) fn window(self, ring: &Ring, size: Size) -> Window<'_> {
        let mut rows = ring.rows(size.width);
        let height = usize::from(size.height);
        let top = self.top(&rows, height);
        let below = rows.len() - (top + height).min(rows.len());
        let rows = rows.drain(top..rows.len() - below).collect();
        Window { rows, above: top, below }
    }

    /// Takes a step. Whoever reaches the end stays there.
    pub(crate) fn step(&mut self, motion: Motion, ring: &Ring, size: Size) {
        let rows = ring.rows(size.width);
        let height = usize::from(size.height);
        let page = height.saturating_sub(1).max(1);
        let top = self.top(&rows, height);
        let wanted = match motion {
            Motion::Up => top.saturating_sub(1),
            Motion::Down => top + 1,
            Motion::PageUp => top.saturating_sub(page),
            Motion::PageDown => top + page,
            Motion::Top => 0,
            Motion::End => rows.len(),
        };
        *self = Self::from_row(wanted, &rows, height);
    }

    /// Brings a line into view, in the middle if it was not in view before.
    pub(crate) fn show(&mut self, number: u64, ring: &Ring, size: Size) {
        let rows = ring.rows(size.width);
        let height = usize::from(size.height);
        let top = self.top(&rows, height);
        let Some(place) = rows.iter().position(|row| row.number == number) else { return };
        let visible = (top..top + height).contains(&place);
        let wanted = if visible { top } else { place.saturating_sub(height / 2) };
        let wanted = wanted.min(rows.len().saturating_sub(height));
        // Held there even at the end: what was looked for must not scroll away.
        *self = rows.get(wanted).map_or(Self::End, |row| Self::At(row.number, row.row));
    }

    fn from_row(wanted: usize, rows: &[Row<'_>], height: usize) -> Self {
        match rows.get(wanted) {
            Some(row) if wanted < rows.len().saturating_sub(height) => {
                Self::At(row.number, row.row)
            }
            _ => Self::End,
        }
    }

    /// The line at the top of the view.
    pub(crate) fn top_line(self, ring: &Ring, size: Size) -> Option<u64> {
        self.window(ring, size).rows.first().map(|row| row.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { width: 10, height: 3 };

    fn ring(limit: usize, texts: impl IntoIterator<Item = String>) -> Ring {
        let mut ring = Ring::new(limit);
        for text in texts {
            ring.push(Arc::new(TextLine::new(None, &text)));
        }
        ring
    }

    fn numbers(count: usize) -> impl Iterator<Item = String> {
        (0..count).map(|number| number.to_string())
    }

    fn seen(scroll: Scroll, ring: &Ring) -> Vec<String> {
        let window = scroll.window(ring, SIZE);
        window.rows.iter().map(|row| row.line.text()[row.part.clone()].to_owned()).collect()
    }

    #[test]
    fn the_end_stays_the_end() {
        let mut ring = ring(500, numbers(5));
        assert_eq!(seen(Scroll::End, &ring), ["2", "3", "4"]);
        ring.push(Arc::new(TextLine::new(None, "5")));
        assert_eq!(seen(Scroll::End, &ring), ["3", "4", "5"]);
    }

    #[test]
    fn a_reader_who_scrolled_up_stays_on_the_line() {
        let mut ring = ring(6, numbers(6));
        let mut scroll = Scroll::End;
        scroll.step(Motion::Up, &ring, SIZE);
        assert_eq!(seen(scroll, &ring), ["2", "3", "4"]);
        ring.push(Arc::new(TextLine::new(None, "6")));
        ring.push(Arc::new(TextLine::new(None, "7")));
        assert_eq!(seen(scroll, &ring), ["2", "3", "4"], "though two lines fell out above");
        ring.push(Arc::new(TextLine::new(None, "8")));
        assert_eq!(seen(scroll, &ring), ["3", "4", "5"], "until the line itself is gone");
    }

    #[test]
    fn steps_go_to_both_ends_and_no_further() {
        let ring = ring(500, numbers(10));
        let mut scroll = Scroll::End;
        scroll.step(Motion::PageUp, &ring, SIZE);
        assert_eq!(seen(scroll, &ring), ["5", "6", "7"]);
        scroll.step(Motion::Top, &ring, SIZE);
        scroll.step(Motion::Up, &ring, SIZE);
        assert_eq!(seen(scroll, &ring), ["0", "1", "2"]);
        scroll.step(Motion::PageDown, &ring, SIZE);
        scroll.step(Motion::Down, &ring, SIZE);
        assert_eq!(seen(scroll, &ring), ["3", "4", "5"]);
        for _ in 0..10 {
            scroll.step(Motion::Down, &ring, SIZE);
        }
        assert_eq!(scroll, Scroll::End);
    }

    #[test]
    fn a_short_text_and_no_text_at_all() {
        let ring = ring(500, numbers(2));
        let window = Scroll::TOP.window(&ring, SIZE);
        assert_eq!((window.rows.len(), window.above, window.below), (2, 0, 0));
        let empty = Ring::new(500);
        let mut scroll = Scroll::End;
        scroll.step(Motion::PageUp, &empty, SIZE);
        assert!(scroll.window(&empty, SIZE).rows.is_empty());
        assert!(Scroll::End.window(&ring, Size { width: 0, height: 0 }).rows.is_empty());
    }

    #[test]
    fn a_line_is_shown_in_the_middle_unless_it_is_in_view() {
        let ring = ring(500, numbers(10));
        let mut scroll = Scroll::End;
        scroll.show(4, &ring, SIZE);
        assert_eq!(seen(scroll, &ring), ["3", "4", "5"]);
        scroll.show(5, &ring, SIZE);
        assert_eq!(seen(scroll, &ring), ["3", "4", "5"]);
    }

    #[test]
    fn a_resize_keeps_the_line() {
        let ring = ring(500, (0..10).map(|number| format!("{number}abcdefgh xyz")));
        let mut scroll = Scroll::TOP;
        scroll.step(Motion::Down, &ring, SIZE);
        scroll.step(Motion::Down, &ring, SIZE);
        let wide = Size { width: 40, height: 3 };
        assert_eq!(scroll.top_line(&ring, SIZE), Some(1));
        assert_eq!(scroll.top_line(&ring, wide), Some(1));
    }
}
