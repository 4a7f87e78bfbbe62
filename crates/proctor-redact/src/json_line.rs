//! JSON text redacted in place: what is not masked keeps its bytes.
//!
//! The text is read by tokens, without recursion and without checking its grammar: valid JSON in gives valid JSON out. A mask replaces whole
//! escapes, so `\n` is never cut between the backslash and the letter.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use proctor_text::MASK;

use crate::matcher::{Matcher, Scope};
use crate::names_a_secret;
use crate::redactor::{masked, redact_bytes, redact_member_name, unused_name};

/// How much of a document there is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Whole,
    /// A part that is cut between members of lists.
    Part,
}

/// Redacts one document. `is_known` says whether a number is a known value.
pub(crate) fn redact_line<'a>(
    matcher: &Matcher,
    line: &'a [u8],
    extent: Extent,
    is_known: &dyn Fn(&str) -> bool,
) -> Cow<'a, [u8]> {
    let findings = matcher.search(line, Scope::All);
    if findings.ranges.is_empty() && !findings.member_names {
        return line.into();
    }
    let read = |text| read_tokens(text, extent);
    let Some(tokens) = std::str::from_utf8(line).ok().and_then(read) else {
        return redact_bytes(matcher, line, Scope::All);
    };
    let mut edits = Vec::new();
    let mut masked_names = false;
    let mut name_says_secret = false;
    for token in &tokens {
        let edit = match token.kind {
            TokenKind::Number => is_known(token.text).then(|| format!("\"{MASK}\"")),
            TokenKind::Name { .. } => {
                let decoded = decoded(token.text);
                name_says_secret = names_a_secret(&decoded);
                let changed = redact_member_name(matcher, &decoded).is_some();
                masked_names |= changed;
                // Names are settled below, when all names of their objects are known.
                continue;
            }
            TokenKind::Text { of_member: true } if name_says_secret => {
                (token.text != MASK).then(|| MASK.to_owned())
            }
            TokenKind::Text { .. } => redact_content(matcher, token.text),
        };
        edits.extend(edit.map(|edit| (token.range(), edit)));
    }
    if masked_names {
        edits.extend(redact_names(matcher, &tokens));
        edits.sort_unstable_by_key(|(range, _)| range.start);
    }
    if edits.is_empty() { line.into() } else { apply(line, &edits).into() }
}

fn apply(line: &[u8], edits: &[(Range<usize>, String)]) -> Vec<u8> {
    let mut clean = Vec::with_capacity(line.len() + edits.len() * MASK.len());
    let mut at = 0;
    for (range, edit) in edits {
        clean.extend_from_slice(&line[at..range.start]);
        clean.extend_from_slice(edit.as_bytes());
        at = range.end;
    }
    clean.extend_from_slice(&line[at..]);
    clean
}

/// New names for members, different from all names of the same object.
fn redact_names(matcher: &Matcher, tokens: &[Token<'_>]) -> Vec<(Range<usize>, String)> {
    let mut objects: Vec<(usize, Cow<'_, str>, &Token<'_>)> = tokens
        .iter()
        .filter_map(|token| match token.kind {
            TokenKind::Name { object } => Some((object, decoded(token.text), token)),
            _ => None,
        })
        .collect();
    objects.sort_by_key(|(object, ..)| *object);
    let mut edits = Vec::new();
    for members in objects.chunk_by(|one, other| one.0 == other.0) {
        let mut taken: BTreeSet<String> =
            members.iter().map(|(_, name, _)| name.to_string()).collect();
        for (_, name, token) in members {
            if let Some(clean) = redact_member_name(matcher, name) {
                let unused = serde_json::Value::from(unused_name(&mut taken, &clean)).to_string();
                edits.push((token.range(), unused[1..unused.len() - 1].to_owned()));
            }
        }
    }
    edits
}

/// The text of a string that stands in JSON like this.
fn decoded(content: &str) -> Cow<'_, str> {
    if !content.contains('\\') {
        return content.into();
    }
    let text = serde_json::from_str::<String>(&format!("\"{content}\""));
    text.map_or(Cow::Borrowed(content), Cow::Owned)
}

/// The content of a string, with its escapes, without secrets; nothing if it has none.
fn redact_content(matcher: &Matcher, content: &str) -> Option<String> {
    let mut clean: Option<String> = None;
    // A mask can make a known value together with its neighbours; more than once only by intent.
    for _ in 0..8 {
        let text = clean.as_deref().unwrap_or(content);
        let mut ranges = matcher.search(text.as_bytes(), Scope::All).ranges;
        if ranges.is_empty() {
            break;
        }
        widen_to_escapes(text, &mut ranges);
        clean = String::from_utf8(masked(text.as_bytes(), &ranges)).ok();
        if !matcher.touches_mask() {
            break;
        }
    }
    clean
}

/// Widens ranges to whole characters and whole escapes of JSON, surrogate pairs together.
fn widen_to_escapes(content: &str, ranges: &mut [Range<usize>]) {
    for range in ranges.iter_mut() {
        *range = content.floor_char_boundary(range.start)..content.ceil_char_boundary(range.end);
    }
    let bytes = content.as_bytes();
    let mut open = 0;
    let mut at = 0;
    while let Some(next) = memchr::memchr(b'\\', &bytes[at..]) {
        let start = at + next;
        let end = escape_end(bytes, start);
        while ranges.get(open).is_some_and(|range| range.end <= start) {
            open += 1;
        }
        for range in ranges.iter_mut().skip(open).take_while(|range| range.start < end) {
            range.start = if range.start > start { start } else { range.start };
            range.end = range.end.max(end);
        }
        at = end;
    }
}

/// The end of the escape that begins here.
fn escape_end(bytes: &[u8], start: usize) -> usize {
    if bytes.get(start + 1) != Some(&b'u') {
        return bytes.len().min(start + 2);
    }
    let is_high = matches!(
        bytes.get(start + 2..start + 4),
        Some([b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B'])
    );
    let is_pair = is_high && bytes.get(start + 6..start + 8) == Some(b"\\u");
    bytes.len().min(start + if is_pair { 12 } else { 6 })
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TokenKind {
    /// Name of a member of the object with this number.
    Name {
        object: usize,
    },
    Text {
        of_member: bool,
    },
    Number,
}

/// A string without its quotes, or a number.
struct Token<'a> {
    kind: TokenKind,
    start: usize,
    text: &'a str,
}

impl Token<'_> {
    fn range(&self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }
}

/// The strings and numbers of a document; nothing if a string does not end, or brackets of a whole document do not match.
///
/// What begins before a part of a document is not known in it: there a string before a colon is the name of a member.
fn read_tokens(text: &str, extent: Extent) -> Option<Vec<Token<'_>>> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    // For each open bracket: the number of the object, or nothing for an array.
    let mut open: Vec<Option<usize>> = Vec::new();
    let (mut objects, mut at, mut name_next) = (0, 0, false);
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'{' => {
                open.push(Some(objects));
                objects += 1;
                name_next = true;
            }
            b'[' => {
                open.push(None);
                name_next = false;
            }
            b'}' | b']' => {
                if open.pop().is_none() && extent == Extent::Whole {
                    return None;
                }
                name_next = false;
            }
            b',' => name_next = matches!(open.last(), Some(Some(_))),
            b':' => name_next = false,
            b'"' => {
                let end = string_end(bytes, at)?;
                let kind = match open.last() {
                    Some(Some(object)) if name_next => TokenKind::Name { object: *object },
                    Some(object) => TokenKind::Text { of_member: object.is_some() },
                    None if extent == Extent::Whole => TokenKind::Text { of_member: false },
                    None if is_name(bytes, end) => TokenKind::Name { object: OUTER_OBJECT },
                    None => TokenKind::Text { of_member: true },
                };
                tokens.push(Token { kind, start: at, text: &text[at..end] });
                at = end + 1;
            }
            b'-' | b'0'..=b'9' => {
                let start = at - 1;
                let is_number =
                    |byte: &&u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                at = start + bytes[start..].iter().take_while(is_number).count();
                tokens.push(Token { kind: TokenKind::Number, start, text: &text[start..at] });
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b't' | b'f' | b'n' => {
                let rest = &bytes[at - 1..];
                let words: [&[u8]; 3] = [b"true", b"false", b"null"];
                at += words.iter().find(|word| rest.starts_with(word))?.len() - 1;
            }
            _ => return None,
        }
    }
    (open.is_empty() || extent == Extent::Part).then_some(tokens)
}

/// The number of the object around a part of a document.
const OUTER_OBJECT: usize = usize::MAX;

/// Whether the string that ends here is followed by a colon.
fn is_name(bytes: &[u8], end: usize) -> bool {
    let after = bytes.get(end + 1..).unwrap_or_default();
    after.trim_ascii_start().first() == Some(&b':')
}

fn string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr2(b'"', b'\\', &bytes[at..])?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        at += 2;
        if at > bytes.len() {
            return None;
        }
    }
}
