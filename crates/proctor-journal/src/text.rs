//! Text limits: every text field holds at most 10,000 characters (Unicode scalar values).

use std::borrow::Cow;

use proctor_text::ELLIPSIS;

use crate::warning::Warning;

/// The most characters a text field may hold.
pub const LIMIT: usize = 10_000;

/// Text from bytes of unknown origin: what is not UTF-8 becomes U+FFFD.
pub fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// Cuts a text at the limit, with a warning for the caller when something was cut. The last character is an ellipsis then, so that what
/// the cut leaves of a secret is found.
pub(crate) fn truncate_field(
    field: &'static str,
    text: String,
    warnings: &mut Vec<Warning>,
) -> String {
    let Some((cut, _)) = cut_point(&text) else { return text };
    let had = text.chars().count();
    warnings.push(Warning::Truncated { field, had, kept: LIMIT });
    let mut text = text;
    let last = text[..cut].char_indices().next_back().map_or(0, |(at, _)| at);
    text.truncate(last);
    text.push_str(ELLIPSIS);
    text
}

/// [`truncate_field`] for a field that may be absent.
pub(crate) fn truncate_optional_field(
    field: &'static str,
    text: Option<String>,
    warnings: &mut Vec<Warning>,
) -> Option<String> {
    text.map(|text| truncate_field(field, text, warnings))
}

/// The byte at which the first character over the limit starts.
fn cut_point(text: &str) -> Option<(usize, char)> {
    if text.len() <= LIMIT { None } else { text.char_indices().nth(LIMIT) }
}

/// The last bytes of a text, starting at a character; of more than `limit`, an ellipsis stands for the rest and counts.
pub(crate) fn tail(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit {
        return text.into();
    }
    let kept = limit.saturating_sub(ELLIPSIS.len());
    let tail = &text[text.ceil_char_boundary(text.len() - kept)..];
    format!("{ELLIPSIS}{tail}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_limit_is_kept_without_a_warning() {
        let mut warnings = Vec::new();
        let text = "é".repeat(LIMIT);
        assert_eq!(truncate_field("goal", text.clone(), &mut warnings), text);
        assert!(warnings.is_empty());
    }

    #[test]
    fn characters_are_counted_not_bytes() {
        let mut warnings = Vec::new();
        let kept = truncate_field("goal", "é".repeat(LIMIT + 3), &mut warnings);
        assert_eq!(kept.chars().count(), LIMIT);
        assert!(kept.ends_with("é…"), "the cut is marked");
        assert_eq!(
            warnings[0].to_string(),
            "goal had 10003 characters and was cut to the first 10000"
        );
    }

    #[test]
    fn tail_starts_at_a_character() {
        assert_eq!(tail("aaaéb", 5), "…b");
        assert_eq!(tail("ab", 9), "ab");
    }
}
