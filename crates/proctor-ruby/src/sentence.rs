//! The last resort for descriptions: whatever code is left in them is written as words. Pure.

/// A description without operators, paths, symbols and calls. Quoted texts stay as they are.
pub(crate) fn without_code(sentence: &str) -> String {
    if !has_code(sentence) {
        return sentence.to_owned();
    }
    let negated = sentence.ends_with(" does not hold");
    let plain = sentence.strip_suffix(" holds").or_else(|| sentence.strip_suffix(" does not hold"));
    let words = join(plain.unwrap_or(sentence));
    let parts: Vec<&str> = words.split(" or ").collect();
    match (plain.is_some(), parts.iter().all(|part| part.contains(" is "))) {
        (false, _) | (true, true) if !negated => words,
        (true, true) => {
            let turned: Vec<String> =
                parts.iter().map(|part| part.replacen(" is ", " is not ", 1)).collect();
            turned.join(" and ")
        }
        _ => format!("{words} {}", if negated { "does not hold" } else { "holds" }),
    }
}

fn has_code(sentence: &str) -> bool {
    let mut quoted = false;
    let mut before = ' ';
    for letter in sentence.chars() {
        if letter == '"' {
            quoted = !quoted;
        } else if !quoted {
            let is_code = matches!(
                letter,
                '[' | ']'
                    | '{'
                    | '}'
                    | '('
                    | ')'
                    | '<'
                    | '>'
                    | '='
                    | '&'
                    | '|'
                    | '+'
                    | '*'
                    | '/'
                    | '%'
                    | '@'
                    | '$'
                    | ';'
                    | '~'
                    | '^'
                    | '\\'
                    | '?'
                    | '!'
                    | '_'
                    | ':'
            ) || (before == '.' && !letter.is_ascii_digit());
            if is_code {
                return true;
            }
        }
        before = letter;
    }
    before == '.'
}

/// The words of a text that has code in it.
fn join(text: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for token in tokens(text) {
        for word in token_words(&token).split_whitespace() {
            if words.last().is_none_or(|last| last != word) {
                words.push(word.to_owned());
            }
        }
    }
    words.join(" ")
}

/// Quoted texts as they are, other letters in pieces between spaces and brackets.
fn tokens(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut quoted = false;
    for letter in text.chars() {
        let ends =
            !quoted && (letter.is_whitespace() || matches!(letter, '(' | ')' | '[' | ']' | ','));
        if ends {
            found.push(String::new());
            continue;
        }
        if letter == '"' && !quoted {
            found.push(String::new());
        }
        if let Some(last) = found.last_mut() {
            last.push(letter);
        }
        if letter == '"' {
            if quoted {
                found.push(String::new());
            }
            quoted = !quoted;
        }
    }
    found.retain(|token| !token.is_empty());
    found
}

const OPERATORS: &[(&str, &str)] = &[
    ("||", "or"),
    ("&&", "and"),
    ("==", "is"),
    ("===", "is"),
    ("!=", "is not"),
    ("=~", "matches"),
    ("!~", "does not match"),
    ("<", "is less than"),
    (">", "is greater than"),
    ("<=", "is at most"),
    (">=", "is at least"),
    ("+", "plus"),
    ("-", "minus"),
    ("*", "times"),
    ("/", "divided by"),
    ("%", "modulo"),
    ("=>", "to"),
    ("{}", "an empty hash"),
    ("!", "not"),
    ("=", "is"),
    ("?", ""),
    (":", "or else"),
    ("&", "and"),
    ("|", "or"),
    ("{", ""),
    ("}", ""),
];

fn token_words(token: &str) -> String {
    if token.starts_with('"') {
        return token.to_owned();
    }
    if let Some((_, words)) = OPERATORS.iter().find(|(code, _)| *code == token) {
        return (*words).to_owned();
    }
    if let Some((from, to)) = token.split_once("..").filter(|(from, _)| !from.is_empty()) {
        let to = to.trim_start_matches('.');
        return if to.is_empty() {
            name_words(from)
        } else {
            format!("{} to {}", name_words(from), name_words(to))
        };
    }
    if token.len() > 1 && token.starts_with('/') {
        return "the pattern".to_owned();
    }
    if token.replace('_', "").parse::<f64>().is_ok() {
        return token.replace('_', "");
    }
    let (not, rest) = match token.strip_prefix('!') {
        Some(rest) => ("not ", rest),
        None => ("", token),
    };
    format!("{not}{}", name_words(rest))
}

/// A name, a path or a chain of calls.
fn name_words(code: &str) -> String {
    let last = code.rsplit("::").next().unwrap_or(code);
    let asks = last.ends_with('?');
    let mut parts: Vec<String> = last
        .split('.')
        .filter(|part| !is_conversion(part))
        .map(|part| {
            part.chars()
                .map(|letter| {
                    if letter.is_alphanumeric() || matches!(letter, '-' | '\'') {
                        letter
                    } else {
                        ' '
                    }
                })
                .collect::<String>()
        })
        .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|part| !part.is_empty())
        .map(|part| if is_shouted(&part) { part.to_lowercase() } else { part })
        .collect();
    if asks && parts.len() > 1 {
        let question = parts.pop().unwrap_or_default();
        let verb = if question.ends_with('s') { "" } else { "is " };
        return format!("{} {verb}{question}", parts.join(" "));
    }
    parts.join(" ")
}

fn is_conversion(part: &str) -> bool {
    matches!(
        part,
        "to_s"
            | "to_sym"
            | "to_i"
            | "to_f"
            | "to_a"
            | "to_h"
            | "to_str"
            | "strip"
            | "downcase"
            | "upcase"
    )
}

/// `ABSOLUTE ZERO`, but not `GET` or `URL`.
fn is_shouted(words: &str) -> bool {
    words.contains(' ') && words.chars().all(|letter| !letter.is_lowercase())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn code_becomes_words() {
        let cases = [
            (
                "guest_email.nil? || guest_email.empty? holds",
                "guest email is nil or guest email is empty",
            ),
            ("a.nil? || b.empty? does not hold", "a is not nil and b is not empty"),
            ("response is Net::HTTPNotFound", "response is HTTPNotFound"),
            ("zone is :not_known", "zone is not known"),
            ("degrees is at least ABSOLUTE_ZERO", "degrees is at least absolute zero"),
            ("calls size is at least @limit", "calls size is at least limit"),
            ("11..13 includes number.to_i % 100", "11 to 13 includes number modulo 100"),
            ("section includes token[1]", "section includes token 1"),
            ("amount is at most 10_000", "amount is at most 10000"),
            ("repository exists email: row[\"email\"]", "repository exists email row \"email\""),
            ("ctx is {}", "ctx is an empty hash"),
            ("price is 1.5", "price is 1.5"),
            ("name is \"a_b\"", "name is \"a_b\""),
        ];
        for (code, words) in cases {
            assert_eq!(without_code(code), words);
        }
    }

    proptest! {
        #[test]
        fn no_code_is_left(text in "[a-zA-Z_.:@|&=<>(){}\\[\\]!?0-9 ]{0,60}") {
            let words = without_code(&text);
            prop_assert!(!words.contains(['[', ']', '(', ')', '@', '|', '&', '=', '_', '?']), "{words}");
        }
    }
}
