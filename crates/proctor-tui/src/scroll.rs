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
pub(crate) struct LineBuffer {
    first: u64,
    lines: VecDeque<Arc<TextLine>>,
    limit: usize,
}

impl LineBuffer {
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

    fn line(&self, number: u64) -> Option<&TextLine> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.lines.get(place).map(|line| &**line)
    }

    /// The rows from a place on. Lines are wrapped only as they are reached.
    fn rows_from(&self, place: Place, width: u16) -> impl Iterator<Item = Row<'_>> {
        let from = usize::try_from(place.0.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let lines = self.numbered().skip(from);
        lines
            .flat_map(move |(number, line)| {
                let parts = line.wrap(width).into_iter().enumerate();
                parts.map(move |(row, part)| Row { number, line, row, part })
            })
            .skip_while(move |row| (row.number, row.row) < place)
    }

    /// The place so many rows before another, or the first there is.
    fn back(&self, from: Place, rows: usize, width: u16) -> Place {
        let (mut number, mut row) = from;
        let mut left = rows;
        while row < left {
            let Some(line) = number.checked_sub(1).and_then(|before| self.line(before)) else {
                return (self.first, 0);
            };
            left -= row;
            row = line.wrap(width).len();
            number -= 1;
        }
        (number, row - left)
    }

    /// The place just behind the last line.
    fn end(&self) -> Place {
        (self.first + self.lines.len() as u64, 0)
    }
}

/// A row, by the number of its line and its place in it.
type Place = (u64, usize);

impl FromIterator<Arc<TextLine>> for LineBuffer {
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

/// The rows that can be seen, and how many lines there are beside them.
#[derive(Debug)]
pub(crate) struct Window<'a> {
    pub(crate) rows: Vec<Row<'a>>,
    pub(crate) above: u64,
    pub(crate) below: u64,
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

impl Motion {
    /// Where a choice in a list goes from a place; places behind the end mean the last.
    pub(crate) fn apply_to_place(self, place: usize, height: u16) -> usize {
        let page = usize::from(height).saturating_sub(1).max(1);
        match self {
            Self::Up => place.saturating_sub(1),
            Self::Down => place + 1,
            Self::PageUp => place.saturating_sub(page),
            Self::PageDown => place + page,
            Self::Top => 0,
            Self::End => usize::MAX,
        }
    }
}

impl Scroll {
    /// At the beginning.
    pub(crate) const TOP: Self = Self::At(0, 0);

    /// The first row that can be seen: never so late that room would be left at the end.
    fn top(self, line_buffer: &LineBuffer, size: Size) -> Place {
        let last = line_buffer.back(line_buffer.end(), size.height.into(), size.width);
        match self {
            Self::End => last,
            Self::At(number, row) => (number, row).min(last).max((line_buffer.first, 0)),
        }
    }

    /// What can be seen from here.
    pub(crate) fn window(self, line_buffer: &LineBuffer, size: Size) -> Window<'_> {
        let top = self.top(line_buffer, size);
        let rows: Vec<Row<'_>> =
            line_buffer.rows_from(top, size.width).take(size.height.into()).collect();
        let below = rows.last().map_or(0, |row| line_buffer.end().0 - row.number - 1);
        Window { rows, above: top.0 - line_buffer.first, below }
    }

    /// Applies a motion. A view that reaches the end keeps following it.
    pub(crate) fn step(&mut self, motion: Motion, line_buffer: &LineBuffer, size: Size) {
        let page = usize::from(size.height).saturating_sub(1).max(1);
        let top = self.top(line_buffer, size);
        *self = match motion {
            Motion::Up => Self::at(line_buffer.back(top, 1, size.width), line_buffer, size),
            Motion::PageUp => Self::at(line_buffer.back(top, page, size.width), line_buffer, size),
            Motion::Down => Self::forward(top, 1, line_buffer, size),
            Motion::PageDown => Self::forward(top, page, line_buffer, size),
            Motion::Top => Self::at((line_buffer.first, 0), line_buffer, size),
            Motion::End => Self::End,
        };
    }

    /// Brings a line into view, in the middle if it was not in view before.
    pub(crate) fn show(&mut self, number: u64, line_buffer: &LineBuffer, size: Size) {
        let in_view = self.window(line_buffer, size).rows.iter().any(|row| row.number == number);
        let top = if in_view {
            self.top(line_buffer, size)
        } else {
            line_buffer.back((number, 0), usize::from(size.height) / 2, size.width)
        };
        // Held there even at the end: what was looked for must not scroll away.
        *self = Self::At(top.0, top.1);
    }

    fn forward(from: Place, rows: usize, line_buffer: &LineBuffer, size: Size) -> Self {
        let row = line_buffer.rows_from(from, size.width).nth(rows);
        row.map_or(Self::End, |row| Self::at((row.number, row.row), line_buffer, size))
    }

    fn at(place: Place, line_buffer: &LineBuffer, size: Size) -> Self {
        if place < Self::End.top(line_buffer, size) {
            Self::At(place.0, place.1)
        } else {
            Self::End
        }
    }

    /// The line at the top of the view.
    pub(crate) fn top_line(self, line_buffer: &LineBuffer, size: Size) -> Option<u64> {
        self.window(line_buffer, size).rows.first().map(|row| row.number)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SIZE: Size = Size { width: 10, height: 3 };

    fn line_buffer(limit: usize, texts: impl IntoIterator<Item = String>) -> LineBuffer {
        let mut line_buffer = LineBuffer::new(limit);
        for text in texts {
            line_buffer.push(Arc::new(TextLine::new(None, &text)));
        }
        line_buffer
    }

    fn numbers(count: usize) -> impl Iterator<Item = String> {
        (0..count).map(|number| number.to_string())
    }

    fn seen(scroll: Scroll, line_buffer: &LineBuffer) -> Vec<String> {
        let window = scroll.window(line_buffer, SIZE);
        window.rows.iter().map(|row| row.line.text()[row.part.clone()].to_owned()).collect()
    }

    #[test]
    fn the_end_stays_the_end() {
        let mut line_buffer = line_buffer(500, numbers(5));
        assert_eq!(seen(Scroll::End, &line_buffer), ["2", "3", "4"]);
        line_buffer.push(Arc::new(TextLine::new(None, "5")));
        assert_eq!(seen(Scroll::End, &line_buffer), ["3", "4", "5"]);
    }

    #[test]
    fn a_reader_who_scrolled_up_stays_on_the_line() {
        let mut line_buffer = line_buffer(6, numbers(6));
        let mut scroll = Scroll::End;
        scroll.step(Motion::Up, &line_buffer, SIZE);
        assert_eq!(seen(scroll, &line_buffer), ["2", "3", "4"]);
        line_buffer.push(Arc::new(TextLine::new(None, "6")));
        line_buffer.push(Arc::new(TextLine::new(None, "7")));
        assert_eq!(seen(scroll, &line_buffer), ["2", "3", "4"], "though two lines fell out above");
        line_buffer.push(Arc::new(TextLine::new(None, "8")));
        assert_eq!(seen(scroll, &line_buffer), ["3", "4", "5"], "until the line itself is gone");
    }

    #[test]
    fn steps_go_to_both_ends_and_no_further() {
        let line_buffer = line_buffer(500, numbers(10));
        let mut scroll = Scroll::End;
        scroll.step(Motion::PageUp, &line_buffer, SIZE);
        assert_eq!(seen(scroll, &line_buffer), ["5", "6", "7"]);
        scroll.step(Motion::Top, &line_buffer, SIZE);
        scroll.step(Motion::Up, &line_buffer, SIZE);
        assert_eq!(seen(scroll, &line_buffer), ["0", "1", "2"]);
        scroll.step(Motion::PageDown, &line_buffer, SIZE);
        scroll.step(Motion::Down, &line_buffer, SIZE);
        assert_eq!(seen(scroll, &line_buffer), ["3", "4", "5"]);
        for _ in 0..10 {
            scroll.step(Motion::Down, &line_buffer, SIZE);
        }
        assert_eq!(scroll, Scroll::End);
    }

    #[test]
    fn a_short_text_and_no_text_at_all() {
        let line_buffer = line_buffer(500, numbers(2));
        let window = Scroll::TOP.window(&line_buffer, SIZE);
        assert_eq!((window.rows.len(), window.above, window.below), (2, 0, 0));
        let empty = LineBuffer::new(500);
        let mut scroll = Scroll::End;
        scroll.step(Motion::PageUp, &empty, SIZE);
        assert!(scroll.window(&empty, SIZE).rows.is_empty());
        assert!(Scroll::End.window(&line_buffer, Size { width: 0, height: 0 }).rows.is_empty());
    }

    #[test]
    fn a_line_is_shown_in_the_middle_unless_it_is_in_view() {
        let line_buffer = line_buffer(500, numbers(10));
        let mut scroll = Scroll::End;
        scroll.show(4, &line_buffer, SIZE);
        assert_eq!(seen(scroll, &line_buffer), ["3", "4", "5"]);
        scroll.show(5, &line_buffer, SIZE);
        assert_eq!(seen(scroll, &line_buffer), ["3", "4", "5"]);
    }

    #[test]
    fn a_resize_keeps_the_line() {
        let line_buffer = line_buffer(500, (0..10).map(|number| format!("{number}abcdefgh xyz")));
        let mut scroll = Scroll::TOP;
        scroll.step(Motion::Down, &line_buffer, SIZE);
        scroll.step(Motion::Down, &line_buffer, SIZE);
        let wide = Size { width: 40, height: 3 };
        assert_eq!(scroll.top_line(&line_buffer, SIZE), Some(1));
        assert_eq!(scroll.top_line(&line_buffer, wide), Some(1));
    }

    /// The same, the slow way: every line is wrapped, and a place is a count of rows.
    fn naive_step(top: Option<usize>, motion: Motion, rows: usize, height: usize) -> Option<usize> {
        let last = rows.saturating_sub(height);
        let now = top.unwrap_or(last);
        let page = height.saturating_sub(1).max(1);
        let wanted = match motion {
            Motion::Up => now.saturating_sub(1),
            Motion::Down => now + 1,
            Motion::PageUp => now.saturating_sub(page),
            Motion::PageDown => now + page,
            Motion::Top => 0,
            Motion::End => rows,
        };
        (wanted < last).then_some(wanted)
    }

    fn motion() -> impl Strategy<Value = Motion> {
        use Motion::{Down, End, PageDown, PageUp, Top, Up};
        prop::sample::select(vec![Up, Down, PageUp, PageDown, Top, End])
    }

    proptest! {
        #[test]
        fn scrolling_is_as_if_every_line_were_wrapped(
            lengths in prop::collection::vec(0..60_usize, 0..30),
            limit in 1..40_usize,
            width in 1..30_u16,
            height in 1..12_u16,
            motions in prop::collection::vec(motion(), 0..20),
        ) {
            let line_buffer = line_buffer(limit, lengths.iter().map(|length| "ab c".repeat(*length)));
            let size = Size { width, height };
            let all: Vec<Place> =
                line_buffer.rows_from((0, 0), width).map(|row| (row.number, row.row)).collect();
            let (mut scroll, mut top) = (Scroll::End, None);
            for motion in motions {
                scroll.step(motion, &line_buffer, size);
                top = naive_step(top, motion, all.len(), height.into());
                let window = scroll.window(&line_buffer, size);
                let seen: Vec<Place> =
                    window.rows.iter().map(|row| (row.number, row.row)).collect();
                let from = top.unwrap_or(all.len().saturating_sub(height.into()));
                let until = all.len().min(from + usize::from(height));
                prop_assert_eq!(seen, &all[from..until]);
                prop_assert_eq!(scroll == Scroll::End, top.is_none());
            }
        }
    }
}
