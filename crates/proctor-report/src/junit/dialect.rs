//! Dialects of `JUnit` XML: what a schema does not know is left out of the finished document.
//!
//! The document that [`junit`](super::junit) writes carries properties of cases, times of reruns, files and lines, which most
//! readers take or pass over. Readers that validate refuse them. [`ELEMENTS`] lists what every element may carry in the strict
//! dialects; the rest is dropped, never renamed.

use std::borrow::Cow;

use quick_xml::events::{BytesEnd, BytesStart, BytesText, Event};
use quick_xml::{Reader, Writer};

/// A form of `JUnit` XML.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum JunitDialect {
    /// Everything there is to say.
    #[default]
    Default,
    /// What the schema of Jenkins' `xUnit` plugin allows (`junit-10.xsd`).
    Jenkins,
    /// What Maven Surefire's schema allows: one `testsuite` as the root, and a time on every case.
    Surefire,
}

/// Elements of the strict dialects with their attributes. Elements that are not listed are dropped with all they hold.
const ELEMENTS: &[(&str, &[&str])] = &[
    ("testsuites", &["name", "time", "tests", "failures", "errors"]),
    ("testsuite", &["name", "time", "tests", "failures", "errors", "skipped", "timestamp"]),
    ("testcase", &["name", "classname", "time"]),
    ("failure", &["message", "type"]),
    ("error", &["message", "type"]),
    ("skipped", &["message", "type"]),
    ("rerunFailure", &["message", "type"]),
    ("rerunError", &["message", "type"]),
    ("flakyFailure", &["message", "type"]),
    ("flakyError", &["message", "type"]),
    ("system-out", &[]),
    ("system-err", &[]),
];
/// Attributes of Surefire's root, which is made of the element `testsuites`.
const SUREFIRE_ROOT: &[&str] = &["name", "time", "tests", "failures", "errors", "skipped"];

/// The translation of a document that comes in parts.
pub(super) struct Translation {
    dialect: JunitDialect,
    /// Indentation is written with what follows it, so that it goes with an element that is dropped.
    indentation: Option<BytesText<'static>>,
}

impl Translation {
    pub(super) fn new(dialect: JunitDialect) -> Self {
        Self { dialect, indentation: None }
    }

    /// The part in the dialect. It is cut between elements, before the white space between them.
    pub(super) fn translate<'a>(&mut self, part: &'a str) -> Cow<'a, str> {
        if self.dialect == JunitDialect::Default {
            return part.into();
        }
        // The part was written by this crate a moment ago; if it cannot be read, the whole of it is better than nothing.
        self.strict(part).map_or(Cow::Borrowed(part), Cow::Owned)
    }

    fn strict(&mut self, part: &str) -> Option<String> {
        let dialect = self.dialect;
        let mut reader = Reader::from_str(part);
        // What a part ends may have begun in an earlier one.
        reader.config_mut().allow_unmatched_ends = true;
        let mut writer = Writer::new(Vec::new());
        loop {
            let kept = match reader.read_event().ok()? {
                Event::Eof => break,
                Event::Text(text) if text.iter().all(u8::is_ascii_whitespace) => {
                    self.indentation = Some(text.into_owned());
                    continue;
                }
                Event::Start(tag) => match reduced(&tag, dialect) {
                    ReducedTag::Tag(reduced) => Some(Event::Start(reduced)),
                    ReducedTag::ContentsOnly => None,
                    ReducedTag::Nothing => {
                        let end = tag.to_end().into_owned();
                        reader.read_to_end(end.name()).ok()?;
                        None
                    }
                },
                Event::Empty(tag) => match reduced(&tag, dialect) {
                    ReducedTag::Tag(reduced) => Some(Event::Empty(reduced)),
                    ReducedTag::ContentsOnly | ReducedTag::Nothing => None,
                },
                Event::End(tag) => end(&tag, dialect).map(Event::End),
                other => Some(other.into_owned()),
            };
            let before = self.indentation.take();
            if let Some(kept) = kept {
                if let Some(before) = before {
                    writer.write_event(Event::Text(before)).ok()?;
                }
                writer.write_event(kept).ok()?;
            }
        }
        String::from_utf8(writer.into_inner()).ok()
    }
}

/// What is left of an element.
enum ReducedTag {
    Tag(BytesStart<'static>),
    ContentsOnly,
    Nothing,
}

fn reduced(tag: &BytesStart<'_>, dialect: JunitDialect) -> ReducedTag {
    let name = tag.name();
    let Ok(name) = std::str::from_utf8(name.as_ref()) else { return ReducedTag::Nothing };
    let Some((_, attributes)) = ELEMENTS.iter().find(|(known, _)| *known == name) else {
        return ReducedTag::Nothing;
    };
    let (name, attributes) = match (dialect, name) {
        (JunitDialect::Surefire, "testsuites") => ("testsuite", SUREFIRE_ROOT),
        (JunitDialect::Surefire, "testsuite") => return ReducedTag::ContentsOnly,
        _ => (name, *attributes),
    };
    let mut reduced = BytesStart::new(name.to_owned());
    let given = tag.attributes().filter_map(Result::ok);
    let allowed = |key: &[u8]| attributes.iter().any(|known| known.as_bytes() == key);
    let mut has_time = false;
    for attribute in given.filter(|attribute| allowed(attribute.key.as_ref())) {
        has_time |= attribute.key.as_ref() == b"time";
        reduced.push_attribute(attribute);
    }
    if name == "testcase" && !has_time && dialect == JunitDialect::Surefire {
        reduced.push_attribute(("time", "0.000"));
    }
    ReducedTag::Tag(reduced)
}

fn end(tag: &BytesEnd<'_>, dialect: JunitDialect) -> Option<BytesEnd<'static>> {
    match (dialect, tag.name().as_ref()) {
        (JunitDialect::Surefire, b"testsuites") => Some(BytesEnd::new("testsuite")),
        (JunitDialect::Surefire, b"testsuite") => None,
        _ => Some(tag.to_owned().into_owned()),
    }
}
