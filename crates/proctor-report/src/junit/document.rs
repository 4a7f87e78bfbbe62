//! The parts of a `JUnit` document, which `quick-junit` writes only as a whole.
//!
//! Each part is taken from a small document that has nothing else in it, so that all of them together are the document that it would write.
//! A part begins with the line feed before it. No attribute has a line feed (they hold one line), so lines can be counted.

use quick_junit::{Report, TestCase, TestSuite};

/// The end of every document.
pub(super) const END: &str = "\n</testsuites>\n";
const SUITE_END: &str = "\n    </testsuite>";

/// The document up to the suites that are still to come.
pub(super) fn before_suites(report: &Report) -> String {
    let mut text = written(report);
    text.truncate(text.len() - if text.ends_with(END) { END.len() } else { 0 });
    text
}

/// The tag that begins a suite, or is all of one without cases.
pub(super) fn suite_start(suite: &TestSuite) -> String {
    let mut report = Report::unnamed();
    report.test_suites.push(suite.clone());
    let text = written(&report);
    let tag = part(&text, 1, END);
    if suite.tests == 0 { tag.to_owned() } else { format!("{}>", tag.trim_end_matches("/>")) }
}

/// The tag that ends it.
pub(super) fn suite_end(suite: &TestSuite) -> &'static str {
    if suite.tests == 0 { "" } else { SUITE_END }
}

/// One case.
pub(super) fn case(case: TestCase) -> String {
    let mut suite = TestSuite::new("");
    suite.test_cases.push(case);
    let mut report = Report::unnamed();
    report.test_suites.push(suite);
    let text = written(&report);
    let case = part(&text, 2, END);
    case.strip_suffix(SUITE_END).unwrap_or(case).to_owned()
}

fn written(report: &Report) -> String {
    // Writing to memory fails only if the writer itself is broken; every string was made fit before.
    report.to_string().unwrap_or_default()
}

/// The text behind the declaration and this number of further lines, without its end.
fn part<'a>(text: &'a str, lines: usize, end: &str) -> &'a str {
    let start = text.match_indices('\n').nth(lines).map_or(text.len(), |(place, _)| place);
    let rest = &text[start..];
    rest.strip_suffix(end).unwrap_or(rest)
}
