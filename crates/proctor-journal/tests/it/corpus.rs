//! Real outputs of real tools (made by `tests/corpus/make.sh`), read from text and from reports.

use std::path::PathBuf;

use proctor_journal::capture::{
    CapturedOutcome, CommandResult, Expectation, Source, Tool, judge, read_tally,
};

/// Passed, failed, errors, skipped, unloadable.
type Numbers = (u64, u64, u64, u64, u64);

/// What a case says: its numbers in the text, in each report, and what `--expect pass` comes to.
struct Case {
    tool: &'static str,
    name: &'static str,
    text: Option<Numbers>,
    xml: Option<Numbers>,
    json: Option<Numbers>,
    verdict: CapturedOutcome,
}

const NONE: Option<Numbers> = None;

const fn case(
    tool: &'static str,
    name: &'static str,
    text: Option<Numbers>,
    xml: Option<Numbers>,
    json: Option<Numbers>,
    verdict: CapturedOutcome,
) -> Case {
    Case { tool, name, text, xml, json, verdict }
}

use CapturedOutcome::{Confirmed as YES, Falsified as NO, Inconclusive as OPEN};

const ZERO: Option<Numbers> = Some((0, 0, 0, 0, 0));
const LOST: Option<Numbers> = Some((0, 0, 0, 0, 1));

#[expect(clippy::unnecessary_wraps, reason = "it stands in columns of options")]
const fn n(passed: u64, failed: u64, errors: u64, skipped: u64) -> Option<Numbers> {
    Some((passed, failed, errors, skipped, 0))
}

#[rustfmt::skip]
const CASES: &[Case] = &[
    case("pytest", "pass", n(2, 0, 0, 0), n(2, 0, 0, 0), n(2, 0, 0, 0), YES),
    case("pytest", "fail", n(0, 1, 0, 0), n(0, 1, 0, 0), n(0, 1, 0, 0), NO),
    case("pytest", "mixed", n(1, 1, 1, 2), n(1, 1, 1, 2), n(1, 1, 1, 2), NO),
    case("pytest", "none", ZERO, ZERO, ZERO, OPEN),
    case("pytest", "broken", LOST, LOST, LOST, OPEN),
    case("pytest", "quiet_pass", n(2, 0, 0, 0), NONE, NONE, YES),
    case("pytest", "quiet_fail", n(0, 1, 0, 0), NONE, NONE, NO),
    case("pytest", "quiet_mixed", n(1, 1, 1, 2), NONE, NONE, NO),
    case("pytest", "quiet_none", ZERO, NONE, NONE, OPEN),
    case("pytest", "quiet_broken", LOST, NONE, NONE, OPEN),
    case("pytest", "usage", NONE, NONE, NONE, OPEN),
    case("pytest", "filtered", ZERO, NONE, NONE, OPEN),
    case("jest", "pass", n(2, 0, 0, 0), n(2, 0, 0, 0), n(2, 0, 0, 0), YES),
    case("jest", "fail", n(0, 1, 0, 0), n(0, 1, 0, 0), n(0, 1, 0, 0), NO),
    case("jest", "mixed", n(1, 1, 0, 1), n(1, 1, 0, 1), n(1, 1, 0, 1), NO),
    case("jest", "none", NONE, ZERO, ZERO, OPEN),
    // Jest's reporter writes an empty report for a file that could not be loaded.
    case("jest", "broken", LOST, ZERO, LOST, OPEN),
    case("vitest", "pass", n(2, 0, 0, 0), n(2, 0, 0, 0), n(2, 0, 0, 0), YES),
    case("vitest", "fail", n(0, 1, 0, 0), n(0, 1, 0, 0), n(0, 1, 0, 0), NO),
    case("vitest", "mixed", n(1, 1, 0, 1), n(1, 1, 0, 1), n(1, 1, 0, 1), NO),
    case("vitest", "none", NONE, ZERO, ZERO, OPEN),
    // Vitest's report calls a file that could not be loaded a failed test.
    case("vitest", "broken", LOST, n(0, 1, 0, 0), LOST, OPEN),
    case("go", "pass", n(1, 0, 0, 0), NONE, n(2, 0, 0, 0), YES),
    case("go", "fail", n(0, 1, 0, 0), NONE, n(0, 1, 0, 0), NO),
    case("go", "mixed", n(0, 1, 0, 0), NONE, n(1, 1, 0, 1), NO),
    case("go", "none", ZERO, NONE, ZERO, OPEN),
    case("go", "broken", LOST, NONE, LOST, OPEN),
    case("go", "verbose_pass", n(2, 0, 0, 0), NONE, NONE, YES),
    case("go", "verbose_fail", n(0, 1, 0, 0), NONE, NONE, NO),
    case("go", "verbose_mixed", n(1, 1, 0, 1), NONE, NONE, NO),
    case("go", "verbose_none", ZERO, NONE, NONE, OPEN),
    case("go", "verbose_broken", LOST, NONE, NONE, OPEN),
    case("go", "all", n(1, 1, 0, 0), NONE, NONE, NO),
    case("cargo", "pass", n(2, 0, 0, 0), NONE, NONE, YES),
    case("cargo", "fail", n(0, 1, 0, 0), NONE, NONE, NO),
    case("cargo", "mixed", n(2, 1, 0, 1), NONE, NONE, NO),
    case("cargo", "none", ZERO, NONE, NONE, OPEN),
    case("cargo", "filtered", ZERO, NONE, NONE, OPEN),
    case("cargo", "broken", NONE, NONE, NONE, OPEN),
    case("nextest", "pass", n(2, 0, 0, 0), n(2, 0, 0, 0), NONE, YES),
    case("nextest", "fail", n(0, 1, 0, 0), n(0, 1, 0, 0), NONE, NO),
    // Nextest leaves skipped tests out of its report.
    case("nextest", "mixed", n(2, 1, 0, 1), n(2, 1, 0, 0), NONE, NO),
    case("nextest", "none", ZERO, ZERO, NONE, OPEN),
    case("nextest", "broken", NONE, NONE, NONE, OPEN),
    case("rspec", "pass", n(2, 0, 0, 0), NONE, n(2, 0, 0, 0), YES),
    case("rspec", "fail", n(0, 1, 0, 0), NONE, n(0, 1, 0, 0), NO),
    case("rspec", "mixed", n(1, 1, 0, 1), NONE, n(1, 1, 0, 1), NO),
    case("rspec", "none", ZERO, NONE, ZERO, OPEN),
    case("rspec", "broken", LOST, NONE, LOST, OPEN),
    case("minitest", "pass", n(2, 0, 0, 0), NONE, NONE, YES),
    case("minitest", "fail", n(0, 1, 0, 0), NONE, NONE, NO),
    case("minitest", "mixed", n(1, 1, 1, 1), NONE, NONE, NO),
    case("minitest", "none", ZERO, NONE, NONE, OPEN),
    case("minitest", "broken", NONE, NONE, NONE, OPEN),
];

fn corpus() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

fn content(case: &Case, ending: &str) -> Option<String> {
    let path = corpus().join(case.tool).join(format!("{}.{ending}", case.name));
    path.exists().then(|| std::fs::read_to_string(&path).unwrap())
}

/// The exit code and the command of a case.
fn index(case: &Case) -> (i32, Vec<String>) {
    let table = std::fs::read_to_string(corpus().join(case.tool).join("index.tsv")).unwrap();
    let row = table.lines().find(|line| line.split('\t').next() == Some(case.name)).unwrap();
    let columns: Vec<&str> = row.split('\t').collect();
    (columns[1].parse().unwrap(), columns[2].split(' ').map(ToOwned::to_owned).collect())
}

fn run_of(case: &Case) -> CommandResult {
    let (exit, argv) = index(case);
    let output = content(case, "txt").unwrap();
    CommandResult { argv, exit: Some(exit), output, ..CommandResult::default() }
}

fn numbers(run: &CommandResult) -> Option<(Numbers, Source)> {
    read_tally(run).map(|reading| {
        let t = reading.tally;
        ((t.passed, t.failed, t.errors, t.skipped, t.unloadable), reading.source)
    })
}

fn label(case: &Case) -> String {
    format!("{}/{}", case.tool, case.name)
}

#[test]
fn every_text_is_read_right() {
    for case in CASES {
        let found = numbers(&run_of(case)).map(|(numbers, _)| numbers);
        assert_eq!(found, case.text, "{}", label(case));
    }
}

#[test]
fn every_report_is_read_right() {
    for case in CASES {
        for (ending, expected) in [("xml", case.xml), ("json", case.json)] {
            // The report alone, without the text beside it.
            let reports: Vec<String> = content(case, ending).into_iter().collect();
            assert_eq!(reports.is_empty(), expected.is_none(), "{}.{ending}", label(case));
            // Go writes its JSON to standard output, the others to a file.
            let (output, reports) = match (case.tool, reports) {
                ("go", reports) => (reports.concat(), Vec::new()),
                (_, reports) => (String::new(), reports),
            };
            let run = CommandResult { output, reports, ..run_of(case) };
            let found = numbers(&run).map(|(numbers, _)| numbers);
            assert_eq!(found, expected, "{}.{ending}", label(case));
        }
    }
}

#[test]
fn every_verdict_is_right_with_and_without_reports() {
    let now = "2025-12-03T14:30:22Z".parse().unwrap();
    let opposite = |verdict| match verdict {
        YES => NO,
        NO => YES,
        OPEN => OPEN,
    };
    for case in CASES {
        let plain = run_of(case);
        let reports = ["xml", "json"].iter().filter_map(|ending| content(case, ending)).collect();
        let reported = CommandResult { reports, ..plain.clone() };
        for run in [plain, reported] {
            let pass = judge(&Expectation::Pass, true, &run, now);
            assert_eq!(pass.verdict, case.verdict, "{}: {}", label(case), pass.reason);
            let fail = judge(&Expectation::Fail, true, &run, now);
            assert_eq!(fail.verdict, opposite(case.verdict), "{}: {}", label(case), fail.reason);
        }
    }
}

#[test]
fn reports_are_preferred_to_text() {
    let case = CASES.iter().find(|case| label(case) == "pytest/mixed").unwrap();
    let mut run = run_of(case);
    run.reports = vec![content(case, "json").unwrap(), content(case, "xml").unwrap()];
    assert_eq!(numbers(&run).unwrap().1, Source::Junit);
    run.reports.pop();
    assert_eq!(numbers(&run).unwrap().1, Source::Json(&[Tool::Pytest]));
    run.reports.clear();
    assert!(matches!(numbers(&run).unwrap().1, Source::Text(_)));
}

#[test]
fn every_file_of_the_corpus_is_scrubbed() {
    let mut texts = 0;
    for tool in std::fs::read_dir(corpus()).unwrap().map(|entry| entry.unwrap().path()) {
        if !tool.is_dir() {
            continue;
        }
        for path in std::fs::read_dir(&tool).unwrap().map(|entry| entry.unwrap().path()) {
            let content = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            for trace in ["/root", "/tmp/", "/home/user/.", "registry.npmjs", "crates.io", "pypi"] {
                assert!(!content.contains(trace), "{} holds {trace}", path.display());
            }
            texts += usize::from(path.extension().is_some_and(|ending| ending == "txt"));
        }
    }
    assert!(texts >= CASES.len(), "{texts}");
}
