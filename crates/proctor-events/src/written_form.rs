//! Reading the one form in which events are written, in a single pass over the line.
//!
//! [`Event::to_json`](crate::Event::to_json) writes fields in the order of the catalogue, without white space and each once. Nearly every line that
//! is ever read has this form, so it is read directly: the next bytes are compared with the name of the field that may follow, and the
//! value is made from the text that stands there. Nothing is decided about other lines: whatever differs in any way (an older name, an unknown
//! field, another order, white space, a wrong value, an unusual number) gives `None`, and the complete reader of `event.rs` reads the
//! line from its start. A line is therefore never accepted here that the complete reader refuses, nor read as another event; a
//! property test in `event/written_form_tests.rs` holds both against each other.

use serde::de::DeserializeOwned;

use crate::Timestamp;

/// How deep values of other programs may be nested.
const MAX_DEPTH: u32 = 32;

/// The longest number that is read here: a float holds 15 digits of any number.
const MAX_DIGITS: usize = 15;

/// A position in a line.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

/// A string as it stands in a line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScannedText<'a> {
    /// The text between the quotation marks.
    pub(crate) text: &'a str,
    /// Whether it contains escapes.
    pub(crate) escaped: bool,
    /// Whether there is an escape with a number among them.
    numbered: bool,
}

impl<'a> Scanner<'a> {
    /// Begins at the first field of an object.
    pub(crate) fn new(text: &'a str) -> Option<Self> {
        let mut scanner = Self { text, at: 0 };
        scanner.take(b'{').then_some(scanner)
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Takes this byte, if it comes next.
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.rest().starts_with(word.as_bytes());
        if found {
            self.at += word.len();
        }
        found
    }

    /// Takes the name of a field, if it comes next.
    pub(crate) fn take_name(&mut self, name: &str) -> bool {
        let rest = self.rest();
        let end = name.len() + 1;
        let found = rest.len() > end + 1
            && rest[0] == b'"'
            && rest[end] == b'"'
            && rest[end + 1] == b':'
            && rest[1..end] == *name.as_bytes();
        if found {
            self.at += end + 2;
        }
        found
    }

    /// Whether a field follows; takes the comma before it.
    pub(crate) fn next_field(&mut self) -> Option<bool> {
        if self.take(b',') {
            // A comma before the closing brace is an error, which the complete reader reports.
            return (self.peek() == Some(b'"')).then_some(true);
        }
        (self.peek() == Some(b'}')).then_some(false)
    }

    /// Whether the object and the line end here.
    pub(crate) fn at_end(&self) -> bool {
        self.rest() == b"}"
    }

    pub(crate) fn take_null(&mut self) -> bool {
        self.take_word("null")
    }

    pub(crate) fn boolean(&mut self) -> Option<bool> {
        if self.take_word("true") {
            return Some(true);
        }
        self.take_word("false").then_some(false)
    }

    /// A string. Whether its numbered escapes stand for characters is not known yet.
    pub(crate) fn string(&mut self) -> Option<ScannedText<'a>> {
        if !self.take(b'"') {
            return None;
        }
        let start = self.at;
        let (mut escaped, mut numbered) = (false, false);
        loop {
            self.at += plain_length(self.rest());
            match self.peek()? {
                b'"' => break,
                b'\\' => {
                    escaped = true;
                    numbered |= self.escape()?;
                }
                _ => return None,
            }
        }
        let text = self.text.get(start..self.at)?;
        self.at += 1;
        Some(ScannedText { text, escaped, numbered })
    }

    /// Takes an escape; whether it is one with a number.
    fn escape(&mut self) -> Option<bool> {
        let rest = self.rest();
        let (length, numbered) = match rest.get(1)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => (2, false),
            b'u' if rest.get(2..6)?.iter().all(u8::is_ascii_hexdigit) => (6, true),
            _ => return None,
        };
        self.at += length;
        Some(numbered)
    }

    /// The text of a number: an optional sign, digits without leading zero, and perhaps a fraction.
    fn number(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let sign = usize::from(rest.first() == Some(&b'-'));
        let whole = digits(&rest[sign..]);
        let mut length = sign + whole;
        if whole == 0 || (whole > 1 && rest[sign] == b'0') {
            return None;
        }
        if rest.get(length) == Some(&b'.') {
            let fraction = digits(&rest[length + 1..]);
            if fraction == 0 {
                return None;
            }
            length += 1 + fraction;
        }
        // An exponent belongs to the number as well.
        if length > MAX_DIGITS || !matches!(rest.get(length), Some(b',' | b'}' | b']')) {
            return None;
        }
        let text = self.text.get(self.at..self.at + length)?;
        self.at += length;
        Some(text)
    }

    /// A whole number without sign.
    pub(crate) fn whole_number(&mut self) -> Option<u64> {
        self.number()?.parse().ok()
    }

    /// Any number.
    pub(crate) fn float(&mut self) -> Option<f64> {
        self.number()?.parse().ok()
    }

    /// The text of any value.
    pub(crate) fn value(&mut self) -> Option<&'a str> {
        let start = self.at;
        self.skip_value(0)?;
        self.text.get(start..self.at)
    }

    /// Any value, made by the same reader as in the complete form.
    pub(crate) fn parsed<T: DeserializeOwned>(&mut self) -> Option<T> {
        serde_json::from_str(self.value()?).ok()
    }

    fn skip_value(&mut self, depth: u32) -> Option<()> {
        match self.peek()? {
            b'"' => self.string().map(drop),
            b'{' if depth < MAX_DEPTH => self.skip_members(b'}', depth, |scanner| {
                scanner.string()?;
                scanner.take(b':').then_some(())
            }),
            b'[' if depth < MAX_DEPTH => self.skip_members(b']', depth, |_| Some(())),
            b't' | b'f' => self.boolean().map(drop),
            b'n' => self.take_null().then_some(()),
            _ => self.number().map(drop),
        }
    }

    fn skip_members(
        &mut self,
        end: u8,
        depth: u32,
        name: impl Fn(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.at += 1;
        if self.take(end) {
            return Some(());
        }
        loop {
            name(self)?;
            self.skip_value(depth + 1)?;
            if !self.take(b',') {
                return self.take(end).then_some(());
            }
        }
    }

    /// A time as Proctor writes it: UTC, with three or six digits of a second's fraction.
    pub(crate) fn time(&mut self) -> Option<Timestamp> {
        timestamp(self.string()?.text.as_bytes())
    }
}

impl ScannedText<'_> {
    /// The string that it stands for, if there is one.
    pub(crate) fn unescaped(self) -> Option<String> {
        if !self.escaped {
            return Some(self.text.to_owned());
        }
        if self.numbered {
            return serde_json::from_str(&format!("\"{}\"", self.text)).ok();
        }
        let mut made = String::with_capacity(self.text.len());
        let mut rest = self.text;
        while let Some((before, after)) = rest.split_once('\\') {
            made.push_str(before);
            let mut characters = after.chars();
            made.extend(characters.next().map(escaped_character));
            rest = characters.as_str();
        }
        made.push_str(rest);
        Some(made)
    }
}

fn escaped_character(kind: char) -> char {
    match kind {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        other => other,
    }
}

fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// How many bytes come before the next quotation mark, backslash or control character.
fn plain_length(bytes: &[u8]) -> usize {
    let mut length = 0;
    for word in bytes.as_chunks::<8>().0 {
        let ends = string_ends(u64::from_le_bytes(*word));
        if ends != 0 {
            return length + (ends.trailing_zeros() / 8) as usize;
        }
        length += 8;
    }
    let is_plain = |byte: &&u8| !matches!(**byte, b'"' | b'\\' | 0..0x20);
    length + bytes[length..].iter().take_while(is_plain).count()
}

/// The highest bit of each byte that may not stand in a string; bytes above the lowest of them may be marked wrongly.
fn string_ends(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let zero_bytes = |word: u64| word.wrapping_sub(ONES) & !word;
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let quote = zero_bytes(word ^ (ONES * u64::from(b'"')));
    let backslash = zero_bytes(word ^ (ONES * u64::from(b'\\')));
    (control | quote | backslash) & HIGH
}

/// `2026-01-22T10:30:00.000137Z`, or with three digits after the point.
fn timestamp(text: &[u8]) -> Option<Timestamp> {
    let (head, fraction) = text.split_at_checked(20)?;
    let fraction = fraction.strip_suffix(b"Z")?;
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'.')];
    if marks.iter().any(|(place, mark)| head[*place] != *mark) {
        return None;
    }
    let part = |from: usize, to: usize| decimal(&head[from..to]);
    let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
    let (hour, minute, second) = (part(11, 13)?, part(14, 16)?, part(17, 19)?);
    let micros = match fraction.len() {
        3 => decimal(fraction)? * 1000,
        6 => decimal(fraction)?,
        _ => return None,
    };
    // A leap second and days that do not exist are left to the complete reader.
    if year == 0 || !(1..=12).contains(&month) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    if day == 0 || day > days_in_month(year, month) {
        return None;
    }
    let seconds = days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    Timestamp::from_microsecond(seconds * 1_000_000 + micros).ok()
}

fn decimal(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |number, digit| {
        digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0'))
    })
}

fn is_leap_year(year: i64) -> bool {
    (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap_year(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    const BEFORE_MONTH: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    const BEFORE_1970: i64 = 719_162;
    let before = year - 1;
    let leap_days = before / 4 - before / 100 + before / 400;
    let month_index = usize::try_from(month - 1).unwrap_or_default();
    let leap_day = i64::from(month > 2 && is_leap_year(year));
    before * 365 + leap_days + BEFORE_MONTH[month_index] + leap_day + day - 1 - BEFORE_1970
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn plain_text_ends_where_a_slow_search_says(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let slow = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20));
            prop_assert_eq!(plain_length(&bytes), slow.unwrap_or(bytes.len()));
        }

        #[test]
        fn a_time_is_the_one_that_jiff_reads(
            year in 0_u32..=9999, month in 0_u32..=13, day in 0_u32..=32,
            clock in "(([01][0-9]|2[0-4]):[0-6][0-9]:[0-6][0-9])",
            fraction in "[0-9]{3}|[0-9]{6}",
        ) {
            let text = format!("{year:04}-{month:02}-{day:02}T{clock}.{fraction}Z");
            if let Some(time) = timestamp(text.as_bytes()) {
                let expected: Timestamp = text.parse().unwrap();
                prop_assert_eq!(time, expected);
            }
        }

        #[test]
        fn numbers_are_those_that_serde_reads(text in "-?[0-9]{1,16}(\\.[0-9]{0,12})?([eE][0-9])?") {
            let line = format!("{text}}}");
            let scanner = || Scanner { text: &line, at: 0 };
            if let Some(number) = scanner().float() {
                let expected: f64 = serde_json::from_str(&text).unwrap();
                prop_assert_eq!(number.to_bits(), expected.to_bits());
            }
            if let Some(number) = scanner().whole_number() {
                prop_assert_eq!(number, serde_json::from_str::<u64>(&text).unwrap());
            }
        }

        #[test]
        fn strings_are_those_that_serde_reads(text in "(\\\\[\"\\\\/bfnrtux]|\\\\u00e[0-9a-g]|\\\\ud8[0-9]{2}|[a\u{e9}\"\u{1}\u{1f600} ]){0,12}") {
            let line = format!("\"{text}\"}}");
            let mut scanner = Scanner { text: &line, at: 0 };
            if let Some(found) = scanner.string() {
                let quoted = &line[..scanner.at];
                prop_assert_eq!(found.unescaped(), serde_json::from_str::<String>(quoted).ok());
            }
        }
    }

    #[test]
    fn times_of_every_day_of_five_centuries() {
        let first = jiff::civil::date(1700, 1, 1);
        for day in 0..180_000 {
            let date = first.checked_add(jiff::Span::new().days(day)).unwrap();
            let text = format!("{date}T23:59:59.999999Z");
            let expected: Timestamp = text.parse().unwrap();
            assert_eq!(timestamp(text.as_bytes()), Some(expected), "{text}");
        }
    }
}
