//! A line of a pane: what it says, how it is painted, how it wraps.
//!
//! Widths are those of the terminal's cells, counted by grapheme: a Chinese character takes two, a letter
//! with its accent one. Foreign text is made harmless when a line is made, so nothing behind this module
//! can drive the terminal.

use std::ops::Range;

use proctor_report::Paint;
use proctor_text::{display_width, fit_width, grapheme_widths, printable, truncate};
use ratatui::text::{Line, Span};

use crate::theme::Theme;

/// The longest text of one line; more of it is what `proctor show` is for.
const LONGEST: usize = 4000;
/// The most lines one text may become.
const MOST_LINES: usize = 200;

/// One line, before it is wrapped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TextLine {
    /// What stands before the text; further rows are indented by its width.
    lead: String,
    lead_paint: Option<Paint>,
    text: String,
    paint: Option<Paint>,
}

impl TextLine {
    /// A line with nothing before it.
    pub(crate) fn new(paint: Option<Paint>, text: &str) -> Self {
        Self::led("", None, paint, text)
    }

    /// A line that begins with a sign or a name; further rows are indented by its width.
    pub(crate) fn led(
        lead: &str,
        lead_paint: Option<Paint>,
        paint: Option<Paint>,
        text: &str,
    ) -> Self {
        Self {
            lead: without_line_breaks(lead),
            lead_paint,
            text: truncate(&without_line_breaks(text), LONGEST),
            paint,
        }
    }

    /// As many lines as the text has; the lead stands before the first.
    pub(crate) fn block(
        lead: &str,
        lead_paint: Option<Paint>,
        paint: Option<Paint>,
        text: &str,
    ) -> Vec<Self> {
        let indent = " ".repeat(display_width(lead));
        let all = text.trim_end().split('\n');
        let mut lines: Vec<Self> = all
            .clone()
            .take(MOST_LINES)
            .enumerate()
            .map(|(number, line)| {
                let lead = if number == 0 { lead } else { &indent };
                Self::led(lead, lead_paint, paint, line)
            })
            .collect();
        let left_out = all.count() - lines.len();
        if left_out > 0 {
            let note = format!("… {left_out} more lines; `proctor show` has them all");
            lines.push(Self::led(&indent, None, Some(Paint::Dim), &note));
        }
        lines
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Lead and text without indentation, for a place of one row.
    pub(crate) fn brief(&self) -> String {
        let lead: Vec<&str> = self.lead.split_whitespace().collect();
        format!("{} {}", lead.join(" "), self.text).trim_start().to_owned()
    }

    /// The rows it takes at this width, each as a range of its text. Never none.
    pub(crate) fn wrap(&self, width: u16) -> Vec<Range<usize>> {
        wrap(&self.text, usize::from(width).saturating_sub(display_width(&self.lead)).max(8))
    }

    /// One row of it, with what was found in it standing out.
    pub(crate) fn row(
        &self,
        row: usize,
        part: Range<usize>,
        found: &[Range<usize>],
        theme: Theme,
    ) -> Line<'_> {
        let lead = if row == 0 {
            Span::styled(self.lead.as_str(), theme.style(self.lead_paint))
        } else {
            Span::raw(" ".repeat(display_width(&self.lead)))
        };
        let mut spans = vec![lead];
        let style = theme.style(self.paint);
        let mut at = part.start;
        for hit in found.iter().filter(|hit| hit.start < part.end && hit.end > part.start) {
            let (start, end) = (hit.start.max(at), hit.end.min(part.end));
            spans.push(Span::styled(&self.text[at..start], style));
            spans.push(Span::styled(&self.text[start..end], theme.found()));
            at = end;
        }
        spans.push(Span::styled(&self.text[at..part.end], style));
        Line::from(spans)
    }

    /// Lead and text, for tests and the clipboard.
    #[cfg(test)]
    pub(crate) fn shown(&self) -> String {
        format!("{}{}", self.lead, self.text)
    }
}

/// Harmless, without tabs and line feeds.
fn without_line_breaks(text: &str) -> String {
    printable(text.trim_end_matches('\r')).replace('\t', "    ").replace('\n', " ")
}

/// The text in at most so many cells, with an ellipsis where something is missing.
pub(crate) fn fit(text: &str, width: usize) -> String {
    fit_width(&without_line_breaks(text), width).into_owned()
}

/// Breaks after white space where it can, inside a word where it must.
fn wrap(text: &str, width: usize) -> Vec<Range<usize>> {
    let mut rows = Vec::new();
    let (mut start, mut cells, mut at) = (0, 0, 0);
    // After the last white space of this row, and the cells up to there.
    let mut gap: Option<(usize, usize)> = None;
    for (length, wide) in grapheme_widths(text) {
        if cells + wide > width && at > start {
            let (end, used) = gap.filter(|(end, _)| *end > start).unwrap_or((at, cells));
            rows.push(start..end);
            start = end;
            cells -= used;
            gap = None;
        }
        cells += wide;
        at += length;
        if text[..at].ends_with(' ') {
            gap = Some((at, cells));
        }
    }
    rows.push(start..text.len());
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(text: &str, width: u16) -> Vec<String> {
        let line = TextLine::new(None, text);
        line.wrap(width).into_iter().map(|part| line.text()[part].to_owned()).collect()
    }

    #[test]
    fn lines_break_after_words_and_inside_long_ones() {
        assert_eq!(wrapped("one two three", 9), ["one two ", "three"]);
        assert_eq!(wrapped("abcdefghijklmnop", 8), ["abcdefgh", "ijklmnop"]);
        assert_eq!(wrapped("", 8), [""]);
        assert_eq!(wrapped("fits it!", 8), ["fits it!"]);
    }

    #[test]
    fn wide_characters_take_two_cells_and_are_never_cut() {
        assert_eq!(wrapped("漢字漢字漢字", 9), ["漢字漢字", "漢字"]);
        assert_eq!(display_width("漢e\u{301}"), 3);
        assert_eq!(fit("漢字漢字", 6), "漢字…");
        assert_eq!(fit("short", 6), "short");
        assert_eq!(fit("anything", 0), "");
    }

    /// The measure of this crate's lines is the one by which ratatui fills its cells.
    #[test]
    fn widths_are_those_of_ratatui() {
        for text in ["plain", "漢字", "e\u{301}", "👩‍👩‍👧", "🇩🇪", "ﾊﾞﾟ", "a\u{200b}b", "☂️", "…–"]
        {
            assert_eq!(display_width(text), Line::raw(text).width(), "{text}");
        }
    }

    #[test]
    fn a_line_cannot_drive_the_terminal() {
        let line = TextLine::led("\x1b[2J", None, None, "a\x1b]0;title\x07\tb\r");
        assert_eq!(line.shown(), "␛[2Ja␛]0;title␇    b");
    }

    #[test]
    fn a_huge_text_is_cut() {
        assert_eq!(TextLine::new(None, &"x".repeat(5000)).text().chars().count(), 4000);
        let lines = TextLine::block("User ", None, None, &"x\n".repeat(300));
        assert_eq!(lines.len(), 201);
        assert_eq!(lines[200].shown(), "     … 100 more lines; `proctor show` has them all");
    }

    #[test]
    fn what_was_found_stands_out_across_rows() {
        let line = TextLine::led("> ", None, None, "one two three");
        let parts = line.wrap(10);
        let theme = Theme::new(proctor_report::Style { color: false });
        let found = [4..8, 8..9];
        let texts = |row: usize| -> Vec<String> {
            let shown = line.row(row, parts[row].clone(), &found, theme);
            shown.spans.iter().map(|span| span.content.to_string()).collect()
        };
        assert_eq!(texts(0), ["> ", "one ", "two ", ""]);
        assert_eq!(texts(1), ["  ", "", "t", "hree"]);
    }
}
