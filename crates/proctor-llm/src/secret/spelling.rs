//! How a secret may be spelled: as it is, or inside a JSON string, or inside JSON in a JSON string, and so on.
//!
//! Each level of JSON doubles backslashes and adds one before quotes; some writers spell further characters as `\uXXXX`
//! or `\/`. So a character is found behind any number of backslashes, which covers every depth and every writer.

use regex::{Regex, RegexBuilder};
use serde_json::Value;

/// The most memory that a compiled pattern may take.
const LARGEST_PATTERN: usize = 32 << 20;
/// The longest text in a pattern, in bytes: to compile one for a longer text takes too long.
const LONGEST_IN_PATTERN: usize = 4096;

/// Whether a text is short enough for a pattern. Of longer ones the usual spellings are sought.
pub(super) fn fits_in_pattern(text: &str) -> bool {
    text.len() <= LONGEST_IN_PATTERN
}

/// A pattern for all spellings of these texts, earlier ones preferred. Nothing for no texts, or if it became too large.
pub(super) fn pattern<'a>(texts: impl Iterator<Item = &'a str>) -> Option<Regex> {
    let alternatives: Vec<String> =
        texts.map(|text| text.chars().map(spellings).collect::<String>()).collect();
    if alternatives.is_empty() {
        return None;
    }
    RegexBuilder::new(&alternatives.join("|")).size_limit(LARGEST_PATTERN).build().ok()
}

/// The text plain, and as a JSON string within up to two others.
pub(super) fn usual_spellings(text: &str) -> [String; 3] {
    let inside = |text: &str| {
        let quoted = Value::from(text).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let once = inside(text);
    let twice = inside(&once);
    // The longest first: where nothing needs escaping, they are all the same.
    [twice, once, text.to_owned()]
}

/// A pattern for one character.
fn spellings(character: char) -> String {
    let plain = regex::escape(character.encode_utf8(&mut [0; 4]));
    let short = match character {
        '"' | '/' => return format!(r"(?:\\*{plain}|{})", unicode_escapes(character)),
        '\\' => return format!(r"(?:\\+|{})", unicode_escapes(character)),
        '\n' => r"|\\+n",
        '\t' => r"|\\+t",
        '\r' => r"|\\+r",
        '\u{8}' => r"|\\+b",
        '\u{c}' => r"|\\+f",
        character if character.is_ascii_alphanumeric() => return plain,
        _ => "",
    };
    format!("(?:{plain}{short}|{})", unicode_escapes(character))
}

/// `\uXXXX`, twice for characters beyond the basic plane.
fn unicode_escapes(character: char) -> String {
    let units = character.encode_utf16(&mut [0; 2]).to_vec();
    units.into_iter().map(|unit| format!(r"\\+u(?i:{unit:04x})")).collect()
}
