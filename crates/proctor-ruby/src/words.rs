//! English from identifiers and expressions.

/// `payment_status` to `payment status`, `isValid?` to `is valid`.
#[must_use]
pub fn humanize(name: &str) -> String {
    underscore(name.trim_start_matches(['@', '$', ':']).trim_end_matches(['?', '!', '=']))
        .replace(['_', '/'], " ")
        .trim()
        .to_owned()
}

/// `PaymentStatus` to `payment_status`, `A::B` to `a/b`.
#[must_use]
pub fn underscore(name: &str) -> String {
    if name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_') {
        return name.to_owned();
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
    let mut result = String::new();
    for letter in text.chars() {
        if letter.is_ascii_alphanumeric() {
            result.push(letter.to_ascii_lowercase());
        } else if !result.ends_with('_') && !result.is_empty() {
            result.push('_');
        }
    }
    result.truncate(limit);
    let result = result.trim_end_matches('_');
    let starts_well = result.starts_with(|first: char| first.is_ascii_alphabetic());
    if starts_well {
        result.to_owned()
    } else {
        format!("condition_{result}").trim_end_matches('_').to_owned()
    }
}

/// Code in a description: one line, short.
pub(crate) fn short(code: &str) -> String {
    let mut line = String::new();
    let mut count = 0;
    'all: for (place, word) in code.split_whitespace().enumerate() {
        for letter in (place > 0).then_some(' ').into_iter().chain(word.chars()) {
            line.push(letter);
            count += 1;
            if count > 48 {
                break 'all;
            }
        }
    }
    if count <= 48 {
        return line;
    }
    let cut: String = line.chars().take(45).collect();
    format!("{}...", cut.trim_end())
}

/// The same of a node's code, without copying all of a long one.
pub(crate) fn excerpt(node: &ruby_prism::Node<'_>) -> String {
    let location = node.location();
    let bytes = location.as_slice();
    short(&String::from_utf8_lossy(&bytes[..bytes.len().min(1000)]))
}
