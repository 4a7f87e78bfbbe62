//! The numbers of a `JUnit` XML report, read with `quick-xml`.
//!
//! Test cases are counted by what stands in them, not by the sums in the suite's attributes: those
//! differ from tool to tool. A document that is cut off or not well-formed is no report.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::tally::Tally;

/// The numbers in a report, or `None` if the text is not a whole `JUnit` report.
pub(super) fn read(text: &str) -> Option<Tally> {
    let mut reader = Reader::from_str(text.trim_start_matches('\u{feff}'));
    let mut report = Report::default();
    loop {
        match reader.read_event().ok()? {
            Event::Start(tag) => {
                report.open(&tag);
                report.depth += 1;
            }
            Event::Empty(tag) => {
                report.open(&tag);
                report.close(tag.name().as_ref());
            }
            Event::End(tag) => {
                report.depth = report.depth.checked_sub(1)?;
                report.close(tag.name().as_ref());
            }
            Event::Eof => break,
            _ => {}
        }
    }
    (report.is_junit && report.depth == 0).then_some(report.tally)
}

/// What has been read of a document.
#[derive(Debug, Default)]
struct Report {
    /// How many elements are open.
    depth: usize,
    /// The outermost element is one of `JUnit`'s.
    is_junit: bool,
    /// The test case that is open.
    case: Option<Case>,
    tally: Tally,
}

impl Report {
    fn open(&mut self, tag: &BytesStart<'_>) {
        let name = tag.name();
        self.is_junit |= self.depth == 0 && matches!(name.as_ref(), b"testsuites" | b"testsuite");
        match name.as_ref() {
            b"testcase" => self.case = Some(Case::default()),
            _ => note_child(self.case.as_mut(), tag),
        }
    }

    fn close(&mut self, name: &[u8]) {
        if name == b"testcase" {
            self.tally = self.tally.plus(self.case.take().unwrap_or_default().tally());
        }
    }
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

fn note_child(case: Option<&mut Case>, tag: &BytesStart<'_>) {
    let Some(case) = case else { return };
    let found = match tag.name().as_ref() {
        b"failure" => Case::Failed,
        b"error" if is_collection_failure(tag) => Case::Unloadable,
        b"error" => Case::Error,
        b"skipped" => Case::Skipped,
        _ => Case::Passed,
    };
    *case = found.max(*case);
}

/// Whether pytest could not load the file that the case stands for.
fn is_collection_failure(tag: &BytesStart<'_>) -> bool {
    tag.attributes()
        .flatten()
        .any(|attribute| memchr::memmem::find(&attribute.value, b"collection failure").is_some())
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
    fn a_file_that_pytest_could_not_load_is_no_error_of_a_test() {
        let text = r#"<testsuites><testsuite>
            <testcase name="a"><error message="collection failure">x</error></testcase>
            <testcase name="b"><error message="failed on setup">collection failure</error></testcase>
            </testsuite></testsuites>"#;
        let tally = read(text).unwrap();
        assert_eq!((tally.unloadable, tally.errors), (1, 1));
    }

    #[test]
    fn half_a_report_and_other_documents_are_no_report() {
        assert_eq!(read("<testsuite><testcase/>"), None);
        assert_eq!(read("<testsuite><testcase name=\"x"), None);
        assert_eq!(read("<html></html>"), None);
        assert_eq!(read("2 passed"), None);
        assert_eq!(read(""), None);
        assert_eq!(read("<testsuite><testcase></testsuite></testcase>"), None);
    }
}
