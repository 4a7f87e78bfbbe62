//! The byte strings by which a known value is found: as it is, decoded as [`crate::view`] decodes texts, in hexadecimal and in base64.

use crate::view::{Decoding, decode};

/// Values longer than this are sought in pieces of this size: every piece is masked wherever it stands.
const LONGEST_PIECE: usize = 1024;
/// Of values longer than this neither base64 nor hexadecimal is sought: the automaton would take megabytes.
const LONGEST_ENCODED: usize = 16 * 1024;
/// To which depth of JSON in JSON a value is sought that is little but backslashes.
const DEPTHS_OF_BACKSLASHES: usize = 4;
/// Shorter byte strings are not sought.
const SHORTEST_NEEDLE: usize = 5;

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// What is sought for all known values.
#[derive(Default)]
pub(crate) struct Spellings {
    /// In lower case; found in any case.
    pub(crate) folded: Vec<Vec<u8>>,
    /// Base64: found in this case only, with a neighbour on each side that may hold bits of the value.
    pub(crate) base64: Vec<Vec<u8>>,
    /// Whether a value has characters that JSON or a URL spells with escapes.
    pub(crate) with_escapes: bool,
    /// Whether a value has a backslash, which a shell's `echo` takes for the beginning of an escape.
    pub(crate) with_backslashes: bool,
}

impl Spellings {
    pub(crate) fn of<'a>(values: impl Iterator<Item = &'a str>) -> Self {
        let mut all = Self::default();
        for value in values {
            all.with_escapes |= value
                .bytes()
                .any(|byte| !matches!(byte, b' '..=b'~') || b"\"\\/<>&'".contains(&byte));
            all.with_backslashes |= value.contains('\\');
            all.add_value(value);
        }
        for needles in [&mut all.folded, &mut all.base64] {
            needles.retain(|needle| needle.len() >= SHORTEST_NEEDLE);
            needles.sort_unstable();
            needles.dedup();
        }
        all
    }

    fn add_value(&mut self, value: &str) {
        let mut cases = vec![value.to_owned()];
        if !value.is_ascii() {
            cases.extend([value.to_uppercase(), value.to_lowercase()]);
        }
        if value.contains(' ') {
            cases.push(value.replace(' ', "+"));
        }
        if value.contains('\'') {
            // How a shell's word in single quotes spells one: `'\''`, or `'"'"'` as Python has it.
            cases.extend([value.replace('\'', "'\\''"), value.replace('\'', "'\"'\"'")]);
        }
        if value.contains(['&', '<', '>', '"', '\'']) {
            cases.extend(xml_spellings(value));
        }
        for case in &cases {
            self.add_text(case);
        }
        if value.len() > LONGEST_ENCODED {
            return;
        }
        self.add_encoded(value.as_bytes());
        let inside = quoted(value);
        if inside != value {
            self.add_encoded(inside.as_bytes());
        }
    }

    /// The text as it is and in both decodings.
    fn add_text(&mut self, text: &str) {
        let kept = without_open_escape(text);
        let mut forms = vec![
            text.as_bytes().to_vec(),
            decode(kept.as_bytes(), Decoding::Backslashes).bytes,
            decode(kept.as_bytes(), Decoding::BackslashesAndPercent).bytes,
        ];
        if text.starts_with(['u', 'U']) {
            // Behind a foreign backslash the beginning reads as an escape.
            forms.push(decode(format!("\\{kept}").as_bytes(), Decoding::Backslashes).bytes);
        }
        if forms[1].len() < SHORTEST_NEEDLE {
            // Little but backslashes: decoded it says too little, so the usual depths are sought as they are.
            let depths = std::iter::successors(Some(quoted(text)), |inner| Some(quoted(inner)));
            forms.extend(depths.take(DEPTHS_OF_BACKSLASHES).map(String::into_bytes));
        }
        for form in forms {
            for piece in pieces(&form) {
                self.folded.push(piece.to_ascii_lowercase());
            }
        }
    }

    fn add_encoded(&mut self, bytes: &[u8]) {
        for piece in pieces(bytes) {
            self.folded.push(
                piece.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(hex_digit).collect(),
            );
            for alphabet in [STANDARD, URL_SAFE] {
                for offset in 0..3 {
                    self.base64.push(base64_core(piece, offset, alphabet));
                }
            }
        }
    }
}

/// The text as XML and HTML have it: in attributes, in content, and with numbers for quotes.
fn xml_spellings(text: &str) -> [String; 4] {
    let content = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let quotes = |double, single| content.replace('"', double).replace('\'', single);
    [
        quotes("&quot;", "&apos;"),
        quotes("&quot;", "&#39;"),
        quotes("&#34;", "&#39;"),
        quotes("\"", "'"),
    ]
}

/// The text as it stands in a JSON string.
fn quoted(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn hex_digit(value: u8) -> u8 {
    b"0123456789abcdef"[usize::from(value)]
}

/// A value without an escape that it begins and its surroundings could end: `…%`, `…\u00`.
fn without_open_escape(text: &str) -> &str {
    let cut = crate::view::unfinished_escape(text.as_bytes()).unwrap_or(text.len());
    if cut < SHORTEST_NEEDLE { text } else { &text[..cut] }
}

/// The bytes in pieces of bounded size; the last one overlaps rather than being short.
fn pieces(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let last = bytes.len().saturating_sub(LONGEST_PIECE);
    let starts = (0..bytes.len()).step_by(LONGEST_PIECE).map(move |start| start.min(last));
    starts.map(|start| &bytes[start..bytes.len().min(start + LONGEST_PIECE)])
}

/// The characters of base64 that depend on these bytes alone, if `offset` bytes stand before them.
fn base64_core(bytes: &[u8], offset: usize, alphabet: &[u8; 64]) -> Vec<u8> {
    let first = (offset * 8).div_ceil(6);
    let end = (offset + bytes.len()) * 8 / 6;
    let bit = |index: usize| {
        let byte = bytes[index / 8 - offset];
        byte >> (7 - index % 8) & 1
    };
    let sextet = |index: usize| (0..6).fold(0, |value, place| value << 1 | bit(index * 6 + place));
    (first..end).map(|index| alphabet[usize::from(sextet(index))]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_in_each_alignment() {
        let core = |offset| String::from_utf8(base64_core(b"hunter2", offset, STANDARD)).unwrap();
        // aHVudGVyMg==, YWh1bnRlcjI=, YWFodW50ZXIy
        assert_eq!([core(0), core(1), core(2)], ["aHVudGVyM", "h1bnRlcj", "odW50ZXIy"]);
    }

    #[test]
    fn long_values_are_cut_into_pieces_that_cover_them() {
        let bytes = vec![7_u8; LONGEST_PIECE * 2 + 3];
        let lengths: Vec<usize> = pieces(&bytes).map(<[u8]>::len).collect();
        assert_eq!(lengths, [LONGEST_PIECE; 3]);
    }
}
