//! English from identifiers and expressions.

use std::borrow::Cow;

/// `payment_status` to `payment status`, `isValid?` to `is valid`.
#[must_use]
pub fn humanize(name: &str) -> String {
    let own = name.trim_start_matches(['@', '$', ':']).trim_end_matches(['?', '!', '=']);
    let is_plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b' ');
    let mut words = if own.bytes().all(is_plain) {
        own.replace('_', " ")
    } else if own.is_ascii() {
        lower_ascii(own.as_bytes(), [' ', ' '])
    } else {
        underscore(own).replace(['_', '/'], " ")
    };
    words.truncate(words.trim_end().len());
    words.drain(..words.len() - words.trim_start().len());
    words
}

/// `PaymentStatus` to `payment_status`, `A::B` to `a/b`.
#[must_use]
pub fn underscore(name: &str) -> String {
    if name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_') {
        return name.to_owned();
    }
    if name.is_ascii() {
        return lower_ascii(name.as_bytes(), ['_', '/']);
    }
    let letters: Vec<char> = name.replace("::", "/").chars().collect();
    let mut result = String::new();
    for (place, letter) in letters.iter().enumerate() {
        let before = place.checked_sub(1).map(|before| letters[before]);
        let after = letters.get(place + 1);
        let starts_word = letter.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || before.is_ascii_digit()
                    || (before.is_uppercase() && after.is_some_and(|after| after.is_lowercase()))
            });
        if starts_word {
            result.push('_');
        }
        result.extend(letter.to_lowercase());
    }
    result
}

/// Words in lower case, with what stands between them: between words, and between names.
fn lower_ascii(name: &[u8], [between, slash]: [char; 2]) -> String {
    let mut result = String::with_capacity(name.len() + 4);
    let mut place = 0;
    let mut before = 0;
    while let Some(byte) = name.get(place).copied() {
        let after = name.get(place + 1).copied().unwrap_or_default();
        if byte == b':' && after == b':' {
            result.push(slash);
            (place, before) = (place + 2, b'/');
            continue;
        }
        let starts_word = byte.is_ascii_uppercase()
            && (before.is_ascii_lowercase()
                || before.is_ascii_digit()
                || (before.is_ascii_uppercase() && after.is_ascii_lowercase()));
        if starts_word {
            result.push(between);
        }
        result.push(match byte {
            b'_' => between,
            b'/' => slash,
            _ => char::from(byte.to_ascii_lowercase()),
        });
        (place, before) = (place + 1, byte);
    }
    result
}

/// `payment_gateway` to `PaymentGateway`.
#[must_use]
pub fn constant_for(name: &str) -> String {
    name.split('_')
        .map(|word| {
            let mut letters = word.chars();
            letters
                .next()
                .map(|first| first.to_uppercase().chain(letters).collect::<String>())
                .unwrap_or_default()
        })
        .collect()
}

/// An identifier made of any text: lower case words joined by `_`, at most `limit` letters.
pub(crate) fn identifier(text: &str, limit: usize) -> String {
    let mut result = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_ascii_alphanumeric() {
            result.push(letter.to_ascii_lowercase());
        } else if !result.ends_with('_') && !result.is_empty() {
            result.push('_');
        }
    }
    result.truncate(limit);
    result.truncate(result.trim_end_matches('_').len());
    let starts_well = result.starts_with(|first: char| first.is_ascii_alphabetic());
    if starts_well {
        result
    } else {
        format!("condition_{result}").trim_end_matches('_').to_owned()
    }
}

/// How long code in a description may be.
const SHORT: usize = 48;

/// Code in a description: one line, short. Not `proctor_text::shorten`: descriptions go into Ruby source, so the mark is
/// ASCII, and every branch of a file asks, so short code is not copied.
pub(crate) fn short(code: &str) -> Cow<'_, str> {
    if is_short(code) {
        return Cow::Borrowed(code);
    }
    let mut line = String::with_capacity(SHORT + 4);
    let (mut count, mut after_gap) = (0, false);
    for letter in code.chars() {
        if letter.is_whitespace() {
            after_gap = count > 0;
            continue;
        }
        if std::mem::take(&mut after_gap) {
            line.push(' ');
            count += 1;
        }
        line.push(letter);
        count += 1;
        if count > SHORT {
            break;
        }
    }
    if count <= SHORT {
        return Cow::Owned(line);
    }
    let end = line.char_indices().nth(SHORT - 3).map_or(line.len(), |(end, _)| end);
    line.truncate(end);
    line.truncate(line.trim_end().len());
    Cow::Owned(line + "...")
}

/// Whether code is short as it is: few letters, and single spaces between them. Most code is.
fn is_short(code: &str) -> bool {
    let mut after_gap = true;
    code.len() <= SHORT
        && code.bytes().all(|byte| {
            let is_gap = byte == b' ';
            let fits = byte.is_ascii_graphic() || (is_gap && !after_gap);
            after_gap = is_gap;
            fits
        })
        && !after_gap
}

/// The same of a node's code, without copying all of a long one.
pub(crate) fn excerpt<'pr>(node: &ruby_prism::Node<'pr>) -> Cow<'pr, str> {
    let location = node.location();
    let bytes = location.as_slice();
    match crate::source::name(&bytes[..bytes.len().min(1000)]) {
        Cow::Borrowed(code) => short(code),
        Cow::Owned(code) => Cow::Owned(short(&code).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The quick ways say the same as the plain definition.
        #[test]
        fn short_code_is_its_words_in_one_line(code in "[a-z.(é \\n\\t\u{a0}]{0,70}") {
            let line = code.split_whitespace().collect::<Vec<_>>().join(" ");
            let expected = if line.chars().count() <= SHORT {
                line
            } else {
                let start: String = line.chars().take(SHORT - 3).collect();
                start.trim_end().to_owned() + "..."
            };
            prop_assert_eq!(short(&code), expected);
        }

        #[test]
        fn humanized_names_are_words_without_gaps_around(name in "[@_a-zA-Z0-9é:/ ?]{0,20}") {
            let own = name.trim_start_matches(['@', '$', ':']).trim_end_matches(['?', '!', '=']);
            let words = underscore(own).replace(['_', '/'], " ");
            prop_assert_eq!(humanize(&name), words.trim());
        }
    }
}
