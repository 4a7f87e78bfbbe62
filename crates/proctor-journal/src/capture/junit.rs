//! A small reader of `JUnit` XML: it knows tags, attributes, comments and CDATA, and no more.
//!
//! Test cases are counted by what stands in them, not by the sums in the suite's attributes: those
//! differ from tool to tool. A document that is cut off is no report.

use super::tally::Tally;

/// A piece of markup.
#[derive(Debug, PartialEq)]
enum Tag<'a> {
    Open { name: &'a str, attributes: &'a str, closed: bool },
    Close { name: &'a str },
}

/// The numbers in a report, or `None` if the text is not a whole `JUnit` report.
pub(super) fn read(text: &str) -> Option<Tally> {
    let mut tags = Tags { rest: text.trim_start_matches('\u{feff}') };
    let mut depth = 0_usize;
    let mut is_junit = false;
    let mut case: Option<Case> = None;
    let mut tally = Tally::default();
    while let Some(tag) = tags.next()? {
        match tag {
            Tag::Open { name, attributes, closed } => {
                is_junit |= depth == 0 && matches!(name, "testsuites" | "testsuite");
                match name {
                    "testcase" => case = Some(Case::default()),
                    _ => note_child(case.as_mut(), name, attributes),
                }
                if closed && name == "testcase" {
                    tally = tally.plus(case.take().unwrap_or_default().tally());
                }
                depth += usize::from(!closed);
            }
            Tag::Close { name } => {
                depth = depth.checked_sub(1)?;
                if name == "testcase" {
                    tally = tally.plus(case.take().unwrap_or_default().tally());
                }
            }
        }
    }
    (is_junit && depth == 0).then_some(tally)
}

/// How a test case ended, by the worst that stands in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Case {
    #[default]
    Passed,
    Skipped,
    Error,
    Failed,
    Unloadable,
}

fn note_child(case: Option<&mut Case>, name: &str, attributes: &str) {
    let Some(case) = case else { return };
    let found = match name {
        "failure" => Case::Failed,
        "error" if attributes.contains("collection failure") => Case::Unloadable,
        "error" => Case::Error,
        "skipped" => Case::Skipped,
        _ => Case::Passed,
    };
    *case = found.max(*case);
}

impl Case {
    fn tally(self) -> Tally {
        let mut tally = Tally::default();
        match self {
            Self::Passed => tally.passed = 1,
            Self::Skipped => tally.skipped = 1,
            Self::Error => tally.errors = 1,
            Self::Failed => tally.failed = 1,
            Self::Unloadable => tally.unloadable = 1,
        }
        tally
    }
}

struct Tags<'a> {
    rest: &'a str,
}

impl<'a> Tags<'a> {
    /// The next tag, `Some(None)` at the end, `None` if the text breaks off inside one.
    #[expect(clippy::option_option, reason = "the outer one carries `?` through the reader")]
    fn next(&mut self) -> Option<Option<Tag<'a>>> {
        loop {
            let Some(start) = self.rest.find('<') else { return Some(None) };
            self.rest = self.rest.get(start + 1..)?;
            let skipped = [("!--", "-->"), ("![CDATA[", "]]>"), ("?", "?>"), ("!", ">")]
                .into_iter()
                .find(|(opening, _)| self.rest.starts_with(opening));
            if let Some((_, ending)) = skipped {
                let end = self.rest.find(ending)?;
                self.rest = self.rest.get(end + ending.len()..)?;
                continue;
            }
            let end = end_of_tag(self.rest)?;
            let inside = self.rest.get(..end)?;
            self.rest = self.rest.get(end + 1..)?;
            return Some(Some(tag(inside)));
        }
    }
}

/// The `>` that ends a tag, which is not one in a quoted attribute.
fn end_of_tag(text: &str) -> Option<usize> {
    let mut quote = None;
    text.char_indices().find_map(|(at, c)| {
        match (quote, c) {
            (None, '>') => return Some(at),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
        None
    })
}

fn tag(inside: &str) -> Tag<'_> {
    if let Some(name) = inside.strip_prefix('/') {
        return Tag::Close { name: name.trim() };
    }
    let closed = inside.ends_with('/');
    let inside = inside.trim_end_matches('/');
    let (name, attributes) = inside.split_once(char::is_whitespace).unwrap_or((inside, ""));
    Tag::Open { name, attributes, closed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_texts_and_attributes_is_not_counted() {
        let text = r#"<?xml version="1.0"?><!-- <testcase/> --><testsuite tests="9">
            <testcase name="a > b &lt;failure/&gt;"/>
            <testcase name="c"><system-out><![CDATA[<failure/>]]></system-out></testcase>
            <testcase name="d"><failure message='x="1" > y'>no</failure></testcase>
            <testcase name="e"><skipped/></testcase></testsuite>"#;
        let tally = read(text).unwrap();
        assert_eq!((tally.passed, tally.failed, tally.skipped), (2, 1, 1));
    }

    #[test]
    fn half_a_report_and_other_documents_are_no_report() {
        assert_eq!(read("<testsuite><testcase/>"), None);
        assert_eq!(read("<testsuite><testcase name=\"x"), None);
        assert_eq!(read("<html></html>"), None);
        assert_eq!(read("2 passed"), None);
        assert_eq!(read(""), None);
    }
}
