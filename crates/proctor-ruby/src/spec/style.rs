//! How specs are written: what `RuboCop` and `rubocop-rspec` ask for by default, or what the project asks for instead.

use serde::{Deserialize, Serialize};

/// Quotes, widths and limits of a project's specs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of one cop")]
pub struct Style {
    /// Whether texts without escapes stand in single quotes.
    pub single_quotes: bool,
    /// Longest line.
    pub width: usize,
    /// Whether files begin with the comment that freezes texts.
    pub frozen_comment: bool,
    /// Whether `{ a: 1 }` has spaces inside of its braces.
    pub spaces_in_braces: bool,
    /// Whether `[ 1 ]` has spaces inside of its brackets.
    pub spaces_in_brackets: bool,
    /// From how many words on a list of texts is `%w[…]`; `None` if never.
    pub word_arrays_from: Option<usize>,
    /// The same for `%i[…]`.
    pub symbol_arrays_from: Option<usize>,
    /// From how many digits on numbers have underscores; `None` if never.
    pub underscores_from: Option<usize>,
    /// Where a comma follows the last element of a list over several lines.
    pub trailing_commas: TrailingCommas,
    /// Most lines of an example.
    pub example_lines: usize,
    /// Most `let` that an example sees.
    pub helpers: usize,
    /// Whether the class is `described_class` in its group.
    pub described_class: bool,
}

/// When a comma follows the last element of a list over several lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TrailingComma {
    /// Never.
    #[default]
    Never,
    /// If each element has a line of its own.
    IfApart,
    /// Always.
    Always,
}

/// Trailing commas by the kind of list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each is the rule of the lists of that name")]
pub struct TrailingCommas {
    pub arguments: TrailingComma,
    pub arrays: TrailingComma,
    pub hashes: TrailingComma,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            single_quotes: true,
            width: 120,
            frozen_comment: true,
            spaces_in_braces: true,
            spaces_in_brackets: false,
            word_arrays_from: Some(2),
            symbol_arrays_from: Some(2),
            underscores_from: Some(5),
            trailing_commas: TrailingCommas::default(),
            example_lines: 5,
            helpers: 5,
            described_class: true,
        }
    }
}

impl Style {
    /// Texts in double quotes.
    #[must_use]
    pub fn double_quotes() -> Self {
        Self { single_quotes: false, ..Self::default() }
    }

    /// A text as code.
    pub(super) fn text(&self, text: &str) -> String {
        self.quoted(&crate::source::string_code(text))
    }

    /// A text in double quotes, in the quotes of this style.
    pub(super) fn quoted(&self, code: &str) -> String {
        let inner = code.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        match inner.filter(|inner| self.single_quotes && needs_no_double_quotes(inner)) {
            Some(inner) => format!("'{}'", inner.replace("\\\"", "\"")),
            None => code.to_owned(),
        }
    }
}

/// Whether the text between double quotes means the same between single ones.
fn needs_no_double_quotes(inner: &str) -> bool {
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        let fits = match letter {
            '\'' => false,
            '\\' => matches!(letters.next(), Some('\\' | '"')),
            _ => true,
        };
        if !fits {
            return false;
        }
    }
    !inner.contains("#{")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_follow_the_text() {
        let style = Style::default();
        let cases = [
            ("plain", "'plain'"),
            ("a \"b\"", "'a \"b\"'"),
            ("it's", "\"it's\""),
            ("a\nb", "\"a\\nb\""),
            ("a\\b", "'a\\\\b'"),
            ("#{x}", "\"\\#{x}\""),
            ("", "''"),
        ];
        for (text, code) in cases {
            assert_eq!(style.text(text), code);
        }
        assert_eq!(Style::double_quotes().text("a \"b\""), "\"a \\\"b\\\"\"");
    }
}
