//! Summary lines of test runners, read from plain output.
//!
//! Every summary line counts: one run of `cargo test` prints one per binary, and a command may run
//! several tools. Runners print the numbers in whatever order they like, so each number is read
//! with its word.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::Tool;
use super::tally::{Source, Tally, TallyReading};

/// A pattern, compiled when it is first needed. The patterns are constants and tested.
macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: LazyLock<Regex> =
            LazyLock::new(|| Regex::new($text).expect("a constant pattern that is tested"));
    };
}

pattern!(ANSI, r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07");
pattern!(ITEM, r"(\d+) ([a-z]+(?: [a-z]+)*)");
pattern!(
    PYTEST,
    r"(?m)^=* ?((?:no tests ran|\d+ (?:failed|passed|skipped|deselected|xfailed|xpassed|errors?|warnings?|rerun)(?:, \d+ [a-z]+(?: [a-z]+)?)*)) in \d+(?:\.\d+)?s(?: \([0-9:]+\))? ?=*\r?$"
);
pattern!(JEST, r"(?m)^Tests:\s+(.*\b\d+ total)\r?$");
pattern!(JEST_UNLOADABLE, r"(?m)^\s*● .*Test suite failed to run");
pattern!(VITEST, r"(?m)^\s*Tests\s{2,}((?:\d+ [a-z ]+\|? ?)+\(\d+\)|no tests)\r?$");
pattern!(VITEST_FILES, r"(?m)^\s*Test Files\s{2,}(\d+) failed");
pattern!(VITEST_SUITES, r"(?m)Failed Suites (\d+)");
pattern!(CARGO, r"(?m)^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored;");
pattern!(NEXTEST, r"(?m)^\s*Summary \[[^\]]*\]\s+\d+(?:/\d+)? tests? run: (.*)$");
pattern!(
    PROCTOR,
    r"(?m)^(\d+) examples?(?: \(\d+ repetitions?\))?(?:: ([^\n]*?))?, finished in [^\n]*$"
);
pattern!(PROCTOR_OUTSIDE, r"(\d+) errors? outside examples");
pattern!(
    RSPEC,
    r"(?m)^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?(?:, (\d+) errors? occurred outside of examples)?\r?$"
);
pattern!(
    MINITEST,
    r"(?m)^(\d+) (?:runs|tests), \d+ assertions, (\d+) failures, (\d+) errors, (\d+) skips"
);
pattern!(GO_TEST, r"(?m)^--- (PASS|FAIL|SKIP): ");
pattern!(GO_OK, r"(?m)^ok  \t\S+\t[^\n\[]*$");
pattern!(GO_FAIL, r"(?m)^FAIL\t(\S+)(?:\t| )([^\n]*)$");
pattern!(GO_NONE, r"(?m)^(?:\?   \t\S+\t\[no test files\]|ok  \t\S+\t.*\[no tests to run\])\r?$");
pattern!(
    NO_TESTS,
    r"(?m)^(?:No tests found|No test files found|error: no tests to run|no tests ran|No examples found|\?   \t\S+\t\[no test files\])"
);
pattern!(
    COMPILE_ERROR,
    r"(?m)^error(?:\[E\d+\])?: (?:could not compile|aborting due to)|^error\[E\d+\]|\[(?:build|setup) failed\]|Test suite failed to run|\bSyntaxError\b|: syntax errors?[, ]|\berror TS\d+:|errors? during collection|An error occurred while loading|^fatal error: .*file not found|: cannot load such file --"
);

/// The text without terminal colours.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    if text.contains('\u{1b}') { ANSI.replace_all(text, "") } else { Cow::Borrowed(text) }
}

/// Whether the output says that no test was found.
pub(super) fn has_no_tests(text: &str) -> bool {
    NO_TESTS.is_match(&plain(text))
}

/// Whether the output says that something could not be compiled or loaded.
pub(super) fn has_compile_error(text: &str) -> bool {
    COMPILE_ERROR.is_match(&plain(text))
}

/// Reads the numbers of one tool, if its summary lines are there.
type Reader = fn(&str) -> Option<Tally>;

/// Adds up the summary lines of all runners found.
pub(super) fn read(text: &str) -> Option<TallyReading> {
    let text = plain(text);
    let readers: [(Tool, Reader); 9] = [
        (Tool::Pytest, pytest),
        (Tool::Jest, jest),
        (Tool::Vitest, vitest),
        (Tool::Go, go),
        (Tool::Cargo, cargo),
        (Tool::Nextest, nextest),
        (Tool::Rspec, rspec),
        (Tool::Minitest, minitest),
        (Tool::Proctor, proctor),
    ];
    let found: Vec<_> =
        readers.iter().filter_map(|(tool, read)| read(&text).map(|tally| (*tool, tally))).collect();
    let tally = found.iter().map(|(_, tally)| *tally).reduce(Tally::plus)?;
    Some(TallyReading {
        tally,
        source: Source::Text(found.iter().map(|(tool, _)| *tool).collect()),
    })
}

/// The number a group of a pattern caught.
fn group(captures: &regex::Captures<'_>, index: usize) -> u64 {
    captures.get(index).and_then(|text| text.as_str().parse().ok()).unwrap_or(0)
}

/// Adds up what each match of a pattern says.
fn sum(pattern: &Regex, text: &str, of: impl Fn(&regex::Captures<'_>) -> Tally) -> Option<Tally> {
    pattern.captures_iter(text).map(|captures| of(&captures)).reduce(Tally::plus)
}

/// Numbers with their words, as in `1 failed, 2 passed`.
fn items(summary: &str) -> Tally {
    let mut tally = Tally::default();
    for item in ITEM.captures_iter(summary) {
        let number = group(&item, 1);
        match item.get(2).map_or("", |word| word.as_str()) {
            "passed" | "xpassed" => tally.passed += number,
            "failed" | "timed out" | "exec failed" => tally.failed += number,
            "error" | "errors" => tally.errors += number,
            "skipped" | "xfailed" | "todo" | "pending" => tally.skipped += number,
            _ => {}
        }
    }
    tally
}

fn pytest(text: &str) -> Option<Tally> {
    let mut tally = sum(&PYTEST, text, |found| items(found.get(1).map_or("", |s| s.as_str())))?;
    if text.contains("during collection") {
        tally.unloadable = std::mem::take(&mut tally.errors);
    }
    Some(tally)
}

fn jest(text: &str) -> Option<Tally> {
    let tally = sum(&JEST, text, |found| items(found.get(1).map_or("", |s| s.as_str())))?;
    // Each failing suite is reported where it fails, and again in the summary of long runs.
    let unloadable = u64::from(JEST_UNLOADABLE.is_match(text));
    Some(Tally { unloadable, ..tally })
}

fn vitest(text: &str) -> Option<Tally> {
    let tally = sum(&VITEST, text, |found| items(found.get(1).map_or("", |s| s.as_str())))?;
    let suites = sum(&VITEST_SUITES, text, |found| Tally {
        unloadable: group(found, 1),
        ..Tally::default()
    });
    let files =
        sum(&VITEST_FILES, text, |found| Tally { unloadable: group(found, 1), ..Tally::default() });
    let nothing_ran = tally == Tally::default();
    let unloadable = suites.or(files.filter(|_| nothing_ran)).map_or(0, |t| t.unloadable);
    Some(Tally { unloadable, ..tally })
}

fn cargo(text: &str) -> Option<Tally> {
    sum(&CARGO, text, |found| Tally {
        passed: group(found, 1),
        failed: group(found, 2),
        skipped: group(found, 3),
        ..Tally::default()
    })
}

fn nextest(text: &str) -> Option<Tally> {
    sum(&NEXTEST, text, |found| items(found.get(1).map_or("", |s| s.as_str())))
}

fn rspec(text: &str) -> Option<Tally> {
    sum(&RSPEC, text, |found| {
        let (all, failed, skipped) = (group(found, 1), group(found, 2), group(found, 3));
        Tally {
            passed: all.saturating_sub(failed + skipped),
            failed,
            skipped,
            unloadable: group(found, 4),
            errors: 0,
        }
    })
}

/// Our own summary. What stayed inconclusive, was left out or cut short is neither passed nor failed; the exit code then
/// objects.
fn proctor(text: &str) -> Option<Tally> {
    sum(&PROCTOR, text, |found| {
        let items = found.get(2).map_or("", |items| items.as_str());
        let of = |word: &str| -> u64 {
            let words = items.split(", ").filter_map(|item| item.split_once(' '));
            let named = words.filter(|(_, name)| name.split(" (").next() == Some(word));
            named.filter_map(|(number, _)| number.parse::<u64>().ok()).sum()
        };
        let (passed, failed) = (of("passed"), of("failed"));
        let errors = of("errored") + of("crashed") + of("timed out");
        let outside = PROCTOR_OUTSIDE.captures(items).map_or(0, |found| group(&found, 1));
        Tally {
            passed,
            failed,
            errors,
            skipped: group(found, 1).saturating_sub(passed + failed + errors),
            unloadable: outside,
        }
    })
}

fn minitest(text: &str) -> Option<Tally> {
    sum(&MINITEST, text, |found| {
        let (failed, errors, skipped) = (group(found, 2), group(found, 3), group(found, 4));
        let passed = group(found, 1).saturating_sub(failed + errors + skipped);
        Tally { passed, failed, errors, skipped, unloadable: 0 }
    })
}

/// Go prints no numbers. With `-v` every test is told; without, a package that passed counts as
/// one and failed tests are told. A package that failed without a failed test counts as one.
fn go(text: &str) -> Option<Tally> {
    let told =
        |word: &str| GO_TEST.captures_iter(text).filter(|found| &found[1] == word).count() as u64;
    let packages = GO_OK.find_iter(text).count() as u64;
    let failures: Vec<_> = GO_FAIL.captures_iter(text).collect();
    if packages == 0 && failures.is_empty() && !GO_NONE.is_match(text) {
        return None;
    }
    let unloadable = failures.iter().filter(|found| found[2].contains("failed]")).count() as u64;
    let ran_and_failed = failures.len() as u64 - unloadable;
    let (passed, failed) = (told("PASS"), told("FAIL"));
    let verbose = text.contains("=== RUN");
    Some(Tally {
        passed: if verbose { passed } else { packages },
        failed: if failed == 0 { ran_and_failed } else { failed },
        errors: 0,
        skipped: told("SKIP"),
        unloadable,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> (u64, u64, u64, u64) {
        let tally = read(text).unwrap().tally;
        (tally.passed, tally.failed, tally.errors, tally.skipped)
    }

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(read(""), None);
        assert!(!has_no_tests("") && !has_compile_error(""));
        assert_eq!(plain("\u{1b}[31mred\u{1b}[0m"), "red");
    }

    /// V12: our own runs are read like any other.
    #[test]
    fn v12_our_own_summary_is_read() {
        let line = "2 examples: 2 passed (1 flaky), finished in 303 ms (load 29 ms), 4 workers";
        assert_eq!(numbers(line), (2, 0, 0, 0));
        let line = "9 examples (20 repetitions): 3 passed (1 within its pass rate), 1 failed, 1 errored, 1 crashed, 1 timed out, 1 inconclusive, 1 pending, finished in 1 s";
        assert_eq!(numbers(line), (3, 1, 3, 2));
        assert_eq!(numbers("0 examples, finished in 266 ms, found nothing"), (0, 0, 0, 0));
        let outside =
            read("1 example: 1 passed, 2 errors outside examples, finished in 1 s").unwrap();
        assert_eq!(outside.tally.unloadable, 2);
        assert_eq!(read("it took 2 examples: 2 passed, finished in time"), None);
    }

    #[test]
    fn failures_printed_first_are_failures() {
        assert_eq!(numbers("=== 3 failed, 42 passed in 1.20s ==="), (42, 3, 0, 0));
        assert_eq!(numbers("3 failed in 0.10s"), (0, 3, 0, 0));
        assert_eq!(numbers("1 failed, 2 passed in 65.12s (0:01:05)"), (2, 1, 0, 0));
        assert_eq!(numbers("Tests:       1 failed, 2 passed, 3 total"), (2, 1, 0, 0));
        assert_eq!(numbers(" Tests  1 failed | 2 passed (3)"), (2, 1, 0, 0));
    }

    #[test]
    fn every_summary_line_counts() {
        let two = "test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
                   test result: FAILED. 1 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
        assert_eq!(numbers(two), (6, 2, 0, 1));
        assert_eq!(numbers("ok  \ta\t0.1s\nFAIL\tb\t0.1s\n"), (1, 1, 0, 0));
        let mixed = "3 examples, 1 failure\n=== 2 passed in 0.1s ===\n";
        assert_eq!(numbers(mixed), (4, 1, 0, 0));
    }

    #[test]
    fn colours_do_not_hide_numbers() {
        assert_eq!(
            numbers("\u{1b}[31m\u{1b}[1m1 failed\u{1b}[0m, 2 passed in 0.01s"),
            (2, 1, 0, 0)
        );
    }

    #[test]
    fn ordinary_prose_is_not_a_summary() {
        assert_eq!(read("we passed 3 failed 2 things in 5s of work"), None);
    }
}
