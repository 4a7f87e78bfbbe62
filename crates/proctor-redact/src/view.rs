//! Texts with their escapes decoded, and the way back to the place in the source.
//!
//! JSON doubles backslashes and adds some at each level; writers differ in what they spell as `\uXXXX`; URLs spell any byte
//! as `%XX`. Instead of seeking every spelling, text and secrets are decoded by one lossy function that has the same result
//! at every depth: backslashes are dropped, a line feed and `\n` both become `n` (likewise tab, carriage return, backspace
//! and form feed), `\uXXXX` becomes its character, `%XX` and `%2525XX` their byte. Two texts that decode to the same bytes differ at
//! most in such characters, so a false alarm takes a text that is the secret but for those.

use memchr::{memchr, memchr2};

/// Which escapes a view decodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decoding {
    /// Backslash escapes at any depth.
    Backslashes,
    /// Backslash escapes and percent encoding.
    BackslashesAndPercent,
}

/// A decoded text. Only the places where it departs from its source are stored.
pub(crate) struct View {
    pub(crate) bytes: Vec<u8>,
    /// (place in `bytes`, place in the source), ascending; between two entries both advance alike.
    anchors: Vec<(usize, usize)>,
    /// Places in `bytes` that came from an escape, ascending.
    escaped: Vec<usize>,
}

impl View {
    /// The place in the source of a place in the decoded text.
    pub(crate) fn source_of(&self, place: usize) -> usize {
        let next = self.anchors.partition_point(|anchor| anchor.0 <= place);
        match next.checked_sub(1).map(|index| self.anchors[index]) {
            Some((decoded, source)) => source + (place - decoded),
            None => place,
        }
    }

    /// The place in the source behind a range that ends here. Differs from [`View::source_of`] if an escape that decodes to
    /// nothing follows.
    pub(crate) fn source_end(&self, place: usize) -> usize {
        let first = self.anchors.partition_point(|anchor| anchor.0 < place);
        match self.anchors.get(first) {
            Some(&(decoded, source)) if decoded == place => source,
            _ => self.source_of(place),
        }
    }

    /// Whether the byte came from an escape: `\n` is a boundary of words although it decodes to a letter.
    pub(crate) fn is_escaped(&self, place: usize) -> bool {
        self.escaped.binary_search(&place).is_ok()
    }
}

/// Decodes a text.
pub(crate) fn decode(source: &[u8], decoding: Decoding) -> View {
    let mut view =
        View { bytes: Vec::with_capacity(source.len()), anchors: Vec::new(), escaped: Vec::new() };
    let mut at = 0;
    while at < source.len() {
        let rest = &source[at..];
        let next = match decoding {
            Decoding::Backslashes => memchr(b'\\', rest),
            Decoding::BackslashesAndPercent => memchr2(b'\\', b'%', rest),
        };
        let plain = next.unwrap_or(rest.len());
        view.bytes.extend(rest[..plain].iter().map(|byte| fold_control(*byte)));
        at += plain;
        if at == source.len() {
            break;
        }
        let escape = read_escape(&source[at..]);
        view.anchors.push((view.bytes.len(), at));
        // A backslash is dropped however it is spelled.
        for byte in escape.decoded[..escape.decoded_length].iter().filter(|byte| **byte != b'\\') {
            view.escaped.push(view.bytes.len());
            view.bytes.push(fold_control(*byte));
        }
        at += escape.source_length;
        view.anchors.push((view.bytes.len(), at));
    }
    view
}

/// Control characters with a short escape become its letter.
fn fold_control(byte: u8) -> u8 {
    match byte {
        b'\n' => b'n',
        b'\t' => b't',
        b'\r' => b'r',
        0x08 => b'b',
        0x0c => b'f',
        other => other,
    }
}

/// What an escape decodes to, and how long it is in the source.
struct Escape {
    decoded: [u8; 4],
    decoded_length: usize,
    source_length: usize,
}

impl Escape {
    fn byte(byte: u8, source_length: usize) -> Self {
        Self { decoded: [byte, 0, 0, 0], decoded_length: 1, source_length }
    }
}

/// Reads what begins with a backslash or a percent sign.
fn read_escape(source: &[u8]) -> Escape {
    if source[0] == b'%' {
        return match percent_byte(source) {
            Some((byte, length)) => Escape::byte(byte, length),
            None => Escape::byte(b'%', 1),
        };
    }
    let run = backslashes(source);
    let Some(&letter) = source.get(run) else {
        return Escape { decoded: [0; 4], decoded_length: 0, source_length: run };
    };
    if letter == b'u'
        && let Some((character, length)) = unicode_character(source, run)
    {
        let mut decoded = [0; 4];
        let decoded_length = character.encode_utf8(&mut decoded).len();
        return Escape { decoded, decoded_length, source_length: length };
    }
    if letter == b'%' || !letter.is_ascii() {
        // The backslashes mean nothing here; what follows is read on its own.
        return Escape { decoded: [0; 4], decoded_length: 0, source_length: run };
    }
    Escape::byte(letter, run + 1)
}

fn backslashes(source: &[u8]) -> usize {
    source.iter().take_while(|byte| **byte == b'\\').count()
}

/// The character of `\uXXXX`, or of two of them, and the length of all. `run` backslashes come first.
fn unicode_character(source: &[u8], run: usize) -> Option<(char, usize)> {
    let first = hex_unit(source.get(run + 1..)?)?;
    let end = run + 5;
    if !(0xd800..0xdc00).contains(&first) {
        let character = char::from_u32(u32::from(first)).unwrap_or(char::REPLACEMENT_CHARACTER);
        return Some((character, end));
    }
    let rest = &source[end..];
    let second_run = backslashes(rest);
    let second = (second_run > 0 && rest.get(second_run) == Some(&b'u'))
        .then(|| hex_unit(&rest[second_run + 1..]))
        .flatten();
    let pair = second.and_then(|second| char::decode_utf16([first, second]).next()?.ok());
    match pair {
        Some(character) => Some((character, end + second_run + 5)),
        None => Some((char::REPLACEMENT_CHARACTER, end)),
    }
}

fn hex_unit(source: &[u8]) -> Option<u16> {
    let digits = source.get(..4)?;
    digits.iter().try_fold(0_u16, |unit, digit| Some(unit << 4 | u16::from(hex_digit(*digit)?)))
}

fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// The byte of `%XX`, `%25XX`, `%2525XX` and so on, with its length.
fn percent_byte(source: &[u8]) -> Option<(u8, usize)> {
    let mut at = 1;
    loop {
        let high = hex_digit(*source.get(at)?);
        let low = source.get(at + 1).copied().and_then(hex_digit);
        let (Some(high), Some(low)) = (high, low) else {
            // `%25` and then no digits: a percent sign.
            return (at > 1).then_some((b'%', at));
        };
        at += 2;
        let byte = high << 4 | low;
        let more = source.get(at).copied().and_then(hex_digit).is_some()
            && source.get(at + 1).copied().and_then(hex_digit).is_some();
        if byte != b'%' || !more {
            return Some((byte, at));
        }
    }
}

/// Which decodings a text needs so that nothing known is overlooked in it.
pub(crate) fn decodings(
    source: &[u8],
    secrets_with_escapes: bool,
    secrets_with_backslashes: bool,
) -> impl Iterator<Item = Decoding> + use<> {
    let percent = has_percent_escape(source);
    let backslashes = has_backslash_escape(source, secrets_with_escapes)
        || secrets_with_backslashes && source.iter().any(|byte| fold_control(*byte) != *byte);
    let backslashes = backslashes.then_some(Decoding::Backslashes);
    backslashes.into_iter().chain(percent.then_some(Decoding::BackslashesAndPercent))
}

fn has_percent_escape(source: &[u8]) -> bool {
    memchr::memchr_iter(b'%', source).any(|at| percent_byte(&source[at..]).is_some())
}

/// Whether a backslash could hide something. `\"` and `\n` alone hide no secret that has neither quotes nor control
/// characters, and most lines of a recording have only those. Before other punctuation backslashes stand in regular expressions
/// and words of a shell: `sk\-proj\-4f`.
fn has_backslash_escape(source: &[u8], secrets_with_escapes: bool) -> bool {
    if secrets_with_escapes {
        return memchr(b'\\', source).is_some();
    }
    memchr::memchr_iter(b'\\', source).any(|at| match source.get(at + 1) {
        Some(b'u') => match source.get(at + 2..at + 5) {
            // Printable ASCII, or an ellipsis: everything else neither stands in a secret here nor marks a cut.
            Some([b'0', b'0', b'2'..=b'7'] | b"202") => true,
            _ => false,
        },
        Some(b'"' | b'\\') | None => false,
        Some(other) => other.is_ascii_punctuation() || *other == b' ',
    })
}

/// Where an escape begins that the end of the text cuts off.
pub(crate) fn unfinished_escape(source: &[u8]) -> Option<usize> {
    let from = source.len().saturating_sub(9);
    let percent = memchr::memrchr(b'%', &source[from..]).map(|at| from + at);
    let percent = percent.filter(|at| is_unfinished_percent(&source[at + 1..]));
    let digits = source.iter().rev().take(4).take_while(|byte| byte.is_ascii_hexdigit()).count();
    let before_digits = source.len() - digits;
    let surrogate = digits == 4 && matches!(source[before_digits], b'd' | b'D');
    let backslash =
        if before_digits > 0 && source[before_digits - 1] == b'u' && (digits < 4 || surrogate) {
            backslash_run_before(source, before_digits - 1)
        } else {
            backslash_run_before(source, source.len())
        };
    match (percent, backslash) {
        (Some(percent), Some(backslash)) => Some(percent.min(backslash)),
        (percent, backslash) => percent.or(backslash),
    }
}

/// Whether what follows a percent sign is `25` any number of times and then at most one digit.
fn is_unfinished_percent(mut digits: &[u8]) -> bool {
    while let Some(rest) = digits.strip_prefix(b"25") {
        digits = rest;
    }
    digits.len() < 2 && digits.iter().all(u8::is_ascii_hexdigit)
}

fn backslash_run_before(source: &[u8], end: usize) -> Option<usize> {
    let run = source[..end].iter().rev().take_while(|byte| **byte == b'\\').count();
    (run > 0).then_some(end - run)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str, decoding: Decoding) -> String {
        String::from_utf8_lossy(&decode(text.as_bytes(), decoding).bytes).into_owned()
    }

    #[test]
    fn every_depth_decodes_to_the_same() {
        let mut text = "a\"b\\c\td\ne/é🦀%".to_owned();
        let expected = decoded(&text, Decoding::Backslashes);
        assert_eq!(expected, "a\"bctdne/é🦀%");
        for _ in 0..6 {
            let quoted = serde_json::Value::from(text).to_string();
            text = quoted[1..quoted.len() - 1].to_owned();
            assert_eq!(decoded(&text, Decoding::Backslashes), expected, "{text}");
        }
        assert_eq!(
            decoded(r"\u0061\\u00e9\\\ud83e\\\udd80\ud83e!", Decoding::Backslashes),
            "aé🦀\u{fffd}!"
        );
    }

    #[test]
    fn percent_signs_collapse() {
        for text in ["a b%", "a%20b%25", "a%2520b%2525", "%61%2520%62%25"] {
            assert_eq!(decoded(text, Decoding::BackslashesAndPercent), "a b%", "{text}");
        }
        assert_eq!(decoded("100%, %zz, %4", Decoding::BackslashesAndPercent), "100%, %zz, %4");
    }

    #[test]
    fn places_lead_back_to_the_source() {
        let source = br#"x\\\"abc\u0064 y"#;
        let view = decode(source, Decoding::Backslashes);
        assert_eq!(view.bytes, b"x\"abcd y");
        assert_eq!((view.source_of(1), view.source_end(2)), (1, 5));
        assert_eq!((view.source_of(2), view.source_end(6)), (5, 14));
        assert!(view.is_escaped(1) && !view.is_escaped(2) && view.is_escaped(5));
    }

    #[test]
    fn unfinished_escapes_are_seen() {
        for (text, expected) in [
            ("abc", None),
            ("abc\\", Some(3)),
            ("ab\\\\\\", Some(2)),
            ("abc\\u", Some(3)),
            ("abc\\u00e", Some(3)),
            ("abc\\u00e9", None),
            ("abc\\ud83e", Some(3)),
            ("abc%", Some(3)),
            ("abc%4", Some(3)),
            ("ab%25", Some(2)),
            ("ab%252", Some(2)),
            ("abc%20", None),
            ("100% so", None),
        ] {
            assert_eq!(unfinished_escape(text.as_bytes()), expected, "{text}");
        }
    }
}
