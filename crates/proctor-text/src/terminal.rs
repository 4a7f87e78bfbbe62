//! What a text does to a terminal: control characters, and the cells it takes.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use crate::truncate::ELLIPSIS;

/// Text with everything replaced that a terminal would obey rather than show.
///
/// Line feeds and tabs stay. Escape and other control characters become their visible pictures; marks that reorder text
/// become the replacement character.
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_printable = |c: char| matches!(c, '\n' | '\t') || !(c.is_control() || reorders(c));
    if text.chars().all(is_printable) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| match c {
        c if is_printable(c) => c,
        '\x00'..='\x1f' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        '\x7f' => '\u{2421}',
        _ => '\u{fffd}',
    };
    Cow::Owned(text.chars().map(shown).collect())
}

fn reorders(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

/// [`printable`] text on one line: runs of white space become one space, none stands at either end.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&printable(word));
    }
    line
}

/// The cells that a text without line feeds takes.
pub fn display_width(text: &str) -> usize {
    grapheme_widths(text).map(|(_, cells)| cells).sum()
}

/// Byte length and cells of each grapheme: a Chinese character takes two cells, a letter with its accent one.
pub fn grapheme_widths(text: &str) -> impl Iterator<Item = (usize, usize)> {
    // Most text is ASCII, in which a grapheme is a byte.
    let is_ascii = text.is_ascii();
    let bytes = is_ascii.then(|| std::iter::repeat_n((1, 1), text.len()));
    let graphemes = (!is_ascii)
        .then(|| text.graphemes(true).map(|grapheme| (grapheme.len(), grapheme.width())));
    bytes.into_iter().flatten().chain(graphemes.into_iter().flatten())
}

/// A text without line feeds in at most `width` cells, the ellipsis included.
pub fn fit_width(text: &str, width: usize) -> Cow<'_, str> {
    if text.len() <= width && text.is_ascii() || display_width(text) <= width {
        return Cow::Borrowed(text);
    }
    let (mut taken, mut kept) = (display_width(ELLIPSIS), 0);
    if taken > width {
        return Cow::Borrowed("");
    }
    for (length, cells) in grapheme_widths(text) {
        if taken + cells > width {
            break;
        }
        taken += cells;
        kept += length;
    }
    Cow::Owned(format!("{}{ELLIPSIS}", text[..kept].trim_end()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_cannot_drive_the_terminal() {
        assert_eq!(printable("ok\n\tfine ☂"), "ok\n\tfine ☂");
        assert_eq!(printable("\x1b[2J\x07\x7f"), "␛[2J␇␡");
        assert_eq!(printable("a\u{202e}b\u{9b}c"), "a\u{fffd}b\u{fffd}c");
        assert_eq!(one_line(" a\r\n\tb\x1bc "), "a b␛c");
    }

    #[test]
    fn wide_characters_take_two_cells_and_are_never_cut() {
        assert_eq!(display_width("漢e\u{301}"), 3);
        assert_eq!(fit_width("漢字漢字", 6), "漢字…");
        assert_eq!(fit_width("漢字漢字", 8), "漢字漢字");
        assert_eq!(fit_width("short", 6), "short");
        assert_eq!(fit_width("two words", 5), "two…");
        assert_eq!(fit_width("anything", 0), "");
        assert_eq!(fit_width("cafe\u{301}s", 4), "caf…");
    }

    proptest! {
        #[test]
        fn nothing_that_steers_a_terminal_is_left(text in any::<String>()) {
            let shown = printable(&text);
            prop_assert!(!shown.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')));
            prop_assert_eq!(shown.chars().count(), text.chars().count());
            let line = one_line(&text);
            prop_assert!(!line.chars().any(char::is_control));
            prop_assert_eq!(one_line(&line), line.as_str());
        }

        #[test]
        fn a_fitted_text_is_within_its_width_and_begins_as_the_text(
            text in "([a-z ]|漢|e\u{301}|👩‍👩‍👧|ﾊﾞ){0,20}", width in 0_usize..20,
        ) {
            let fitted = fit_width(&text, width);
            prop_assert!(display_width(&fitted) <= width);
            if display_width(&text) <= width {
                prop_assert_eq!(&*fitted, text.as_str());
            } else if width > 0 {
                let kept = fitted.strip_suffix(ELLIPSIS).unwrap();
                prop_assert!(text.starts_with(kept));
                // One more grapheme would not have fitted.
                let rest = text[kept.len()..].trim_start();
                let gap = text[kept.len()..].len() - rest.len();
                let next = grapheme_widths(rest).next().map_or(0, |(_, cells)| cells);
                prop_assert!(display_width(kept) + gap + next + 1 > width);
            }
        }
    }
}
