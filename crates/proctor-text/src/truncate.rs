//! Limits on the size of a text, counted in characters.

use unicode_segmentation::UnicodeSegmentation as _;

use crate::terminal::one_line;

/// What stands for the part that was cut.
pub const ELLIPSIS: &str = "…";

/// The first `limit` characters, without a mark and without regard to graphemes.
fn first_characters(text: &str, limit: usize) -> &str {
    match text.char_indices().nth(limit) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// A text of at most `limit` characters, the ellipsis included. Lines stay lines.
pub fn truncate(text: &str, limit: usize) -> String {
    truncate_with(text, limit, ELLIPSIS)
}

/// [`truncate`] with another mark than the ellipsis. White space before the mark is cut too.
pub fn truncate_with(text: &str, limit: usize, mark: &str) -> String {
    // No text has more characters than bytes.
    if text.len() <= limit || text.char_indices().nth(limit).is_none() {
        return text.to_owned();
    }
    let Some(kept) = limit.checked_sub(mark.chars().count()) else {
        return first_characters(mark, limit).to_owned();
    };
    format!("{}{mark}", first_graphemes(text, kept).trim_end())
}

/// One line of at most `limit` characters that is safe to print: [`one_line`], then [`truncate`].
pub fn shorten(text: &str, limit: usize) -> String {
    // White space is squeezed, so more than the limit may be needed; of an endless text a part is enough.
    const READ_AHEAD: usize = 16;
    let enough = limit.saturating_add(1).saturating_mul(READ_AHEAD);
    let part = &text[..text.floor_char_boundary(enough)];
    let line = one_line(part);
    let is_whole = part.len() == text.len() || text[part.len()..].trim_start().is_empty();
    if is_whole || line.chars().count() > limit {
        truncate(&line, limit)
    } else {
        truncate(&one_line(text), limit)
    }
}

/// The whole graphemes among the first `limit` characters. A first grapheme that is longer is cut between characters.
fn first_graphemes(text: &str, limit: usize) -> &str {
    let part = first_characters(text, limit);
    if part.len() == text.len() || part.is_ascii() && text[part.len()..].starts_with(is_ascii) {
        return part;
    }
    let end = text
        .grapheme_indices(true)
        .map(|(start, _)| start)
        .take_while(|start| *start <= part.len())
        .last()
        .unwrap_or_default();
    if end == 0 { part } else { &text[..end] }
}

fn is_ascii(c: char) -> bool {
    c.is_ascii()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_limit_includes_the_mark() {
        assert_eq!(truncate("höflich", 7), "höflich");
        assert_eq!(truncate("höflich und nett", 8), "höflich…");
        assert_eq!(truncate("höflich und nett", 9), "höflich…", "no white space before the mark");
        assert_eq!(truncate("abc", 1), "…");
        assert_eq!(truncate("abc", 0), "");
        assert_eq!(truncate_with("abcdefgh", 6, "..."), "abc...");
        assert_eq!(truncate_with("abcdefgh", 2, "..."), "..");
    }

    #[test]
    fn a_letter_keeps_its_accent() {
        let text = "cafe\u{301} au lait";
        assert_eq!(truncate(text, 5), "caf…");
        assert_eq!(truncate(text, 6), "cafe\u{301}…");
        assert_eq!(truncate("👩‍👩‍👧 family", 4), "👩‍👩…", "a grapheme longer than the limit is cut");
    }

    #[test]
    fn shortening_makes_one_harmless_line() {
        assert_eq!(shorten("one\n  two", 20), "one two");
        assert_eq!(shorten("a \x1b[2J b", 20), "a ␛[2J b");
        assert_eq!(shorten(&format!("{}a{}b", " ".repeat(9000), " ".repeat(9000)), 3), "a b");
        assert_eq!(shorten(&format!("ab{}", " ".repeat(9000)), 2), "ab");
        assert_eq!(shorten(&format!("ab{}c", " ".repeat(9000)), 2), "a…");
    }

    fn texts() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            any::<char>().prop_map(String::from),
            "[a-z ]{1,4}",
            Just("e\u{301}".to_owned()),
            Just("漢".to_owned()),
            Just("👩‍👩‍👧".to_owned()),
            Just("🇩🇪".to_owned()),
            Just("\r\n".to_owned()),
            Just("\x1b[2J".to_owned()),
        ];
        proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn a_cut_text_is_within_its_limit_and_begins_as_the_text(text in texts(), limit in 0_usize..20) {
            let cut = truncate(&text, limit);
            prop_assert!(cut.chars().count() <= limit);
            if text.chars().count() <= limit {
                prop_assert_eq!(cut, text);
            } else if limit > 0 {
                let kept = cut.strip_suffix(ELLIPSIS).unwrap();
                prop_assert!(text.starts_with(kept));
                prop_assert_eq!(kept, kept.trim_end());
            }
        }

        /// Whatever is kept ends where a grapheme ends, unless the first grapheme alone is over the limit.
        #[test]
        fn graphemes_stay_whole(text in texts(), limit in 2_usize..20) {
            let cut = truncate(&text, limit);
            if let Some(kept) = cut.strip_suffix(ELLIPSIS).filter(|kept| *kept != text) {
                let ends: Vec<usize> = text.grapheme_indices(true).map(|(start, it)| start + it.len()).collect();
                let first_fits = ends.first().is_some_and(|end| text[..*end].chars().count() < limit);
                let is_end = |at: usize| ends.contains(&at);
                let gap = text[kept.len()..].len() - text[kept.len()..].trim_start().len();
                let at_end = kept.is_empty() || (0..=gap).any(|more| is_end(kept.len() + more));
                prop_assert!(!first_fits || at_end, "{:?} of {:?}", kept, text);
            }
        }

        /// Cutting again with the same limit changes nothing.
        #[test]
        fn cutting_twice_is_cutting_once(text in texts(), limit in 0_usize..20) {
            let once = truncate(&text, limit);
            prop_assert_eq!(truncate(&once, limit), once.as_str());
            let once = shorten(&text, limit);
            prop_assert_eq!(shorten(&once, limit), once.as_str());
        }

        /// The quick way for long texts says the same as the definition.
        #[test]
        fn shortening_is_one_line_then_cutting(
            text in texts(), gap in 0_usize..400, limit in 0_usize..20,
        ) {
            let text = format!("{text}{}{text}", " ".repeat(gap));
            let expected = truncate(&one_line(&text), limit);
            prop_assert_eq!(shorten(&text, limit), expected);
        }
    }
}
