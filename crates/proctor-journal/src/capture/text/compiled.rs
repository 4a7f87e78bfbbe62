//! Rust, Go, Java, C++ and this very program.

use super::{Tally, group, items, pattern, sum};

pattern!(CARGO, r"(?m)^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored;");
pattern!(NEXTEST, r"(?m)^\s*Summary \[[^\]]*\]\s+\d+(?:/\d+)? tests? run: (.*)$");
pattern!(
    PROCTOR,
    r"(?m)^(\d+) examples?(?: \(\d+ repetitions?\))?(?:: ([^\n]*?))?, finished in [^\n]*$"
);
pattern!(PROCTOR_OUTSIDE, r"(\d+) errors? outside examples");
pattern!(GO_TEST, r"(?m)^--- (PASS|FAIL|SKIP): ");
pattern!(GO_OK, r"(?m)^ok  \t\S+\t[^\n\[]*$");
pattern!(GO_FAIL, r"(?m)^FAIL\t(\S+)(?:\t| )([^\n]*)$");
pattern!(GO_NONE, r"(?m)^(?:\?   \t\S+\t\[no test files\]|ok  \t\S+\t.*\[no tests to run\])\r?$");
pattern!(
    SUREFIRE,
    r"(?m)^(?:\[[A-Z]+\] )?Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)(?:, Flakes: \d+)?\r?$"
);
pattern!(CTEST, r"(?m)^\d+% tests passed, (\d+) tests failed out of (\d+)\r?$");
pattern!(CTEST_NOT_RUN, r"(?m)^\s+\d+ - .* \(Not Run\)\r?$");

pub(super) fn cargo(text: &str) -> Option<Tally> {
    sum(&CARGO, text, |found| Tally {
        passed: group(found, 1),
        failed: group(found, 2),
        skipped: group(found, 3),
        ..Tally::default()
    })
}

pub(super) fn nextest(text: &str) -> Option<Tally> {
    sum(&NEXTEST, text, |found| items(found.get(1).map_or("", |s| s.as_str())))
}

/// Our own summary. What stayed inconclusive, was left out or cut short is neither passed nor failed; the exit code then
/// objects.
pub(super) fn proctor(text: &str) -> Option<Tally> {
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

/// Go prints no numbers. With `-v` every test is listed; without, a package that passed counts as
/// one and failed tests are listed. A package that failed without a failed test counts as one.
pub(super) fn go(text: &str) -> Option<Tally> {
    let listed =
        |word: &str| GO_TEST.captures_iter(text).filter(|found| &found[1] == word).count() as u64;
    let packages = GO_OK.find_iter(text).count() as u64;
    let failures: Vec<_> = GO_FAIL.captures_iter(text).collect();
    if packages == 0 && failures.is_empty() && !GO_NONE.is_match(text) {
        return None;
    }
    let unloadable = failures.iter().filter(|found| found[2].contains("failed]")).count() as u64;
    let ran_and_failed = failures.len() as u64 - unloadable;
    let (passed, failed) = (listed("PASS"), listed("FAIL"));
    let verbose = text.contains("=== RUN");
    Some(Tally {
        passed: if verbose { passed } else { packages },
        failed: if failed == 0 { ran_and_failed } else { failed },
        errors: 0,
        skipped: listed("SKIP"),
        unloadable,
    })
}

/// The last lines of each module; those of single classes have a time behind them.
pub(super) fn surefire(text: &str) -> Option<Tally> {
    sum(&SUREFIRE, text, |found| {
        let (failed, errors, skipped) = (group(found, 2), group(found, 3), group(found, 4));
        let passed = group(found, 1).saturating_sub(failed + errors + skipped);
        Tally { passed, failed, errors, skipped, unloadable: 0 }
    })
}

/// A program that is not there counts as failed in the summary, and is listed as not run.
pub(super) fn ctest(text: &str) -> Option<Tally> {
    let tally = sum(&CTEST, text, |found| {
        let (failed, all) = (group(found, 1), group(found, 2));
        Tally { passed: all.saturating_sub(failed), failed, ..Tally::default() }
    })?;
    let unloadable = CTEST_NOT_RUN.find_iter(text).count() as u64;
    Some(Tally { failed: tally.failed.saturating_sub(unloadable), unloadable, ..tally })
}
