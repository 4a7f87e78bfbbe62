//! Python, Ruby, PHP, Perl, Elixir and shells.

use super::{Tally, group, items, pattern, sum};

pattern!(
    PYTEST,
    r"(?m)^=* ?((?:no tests ran|\d+ (?:failed|passed|skipped|deselected|xfailed|xpassed|errors?|warnings?|rerun)(?:, \d+ [a-z]+(?: [a-z]+)?)*)) in \d+(?:\.\d+)?s(?: \([0-9:]+\))? ?=*\r?$"
);
pattern!(
    RSPEC,
    r"(?m)^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?(?:, (\d+) errors? occurred outside of examples)?\r?$"
);
pattern!(
    MINITEST,
    r"(?m)^(\d+) (?:runs|tests), \d+ assertions, (\d+) failures, (\d+) errors, (\d+) skips"
);
pattern!(
    UNITTEST,
    r"(?m)^Ran (\d+) tests? in [\d.]+s\r?\n(?:\r?\n)*(?:OK|FAILED|NO TESTS RAN)(?: \(([^)]*)\))?\r?$"
);
pattern!(
    UNITTEST_UNLOADABLE,
    r"(?m)^ERROR: .*\(unittest\.loader\.(?:_FailedTest|ModuleImportFailure)"
);
pattern!(KEY, r"([A-Za-z][A-Za-z ]*)[:=] ?(\d+)");
pattern!(
    TEST_UNIT,
    r"(?m)^(\d+) tests, \d+ assertions, (\d+) failures, (\d+) errors, (\d+) pendings, (\d+) omissions,"
);
pattern!(PHPUNIT_OK, r"(?m)^OK \((\d+) tests?, \d+ assertions?\)\r?$");
pattern!(PHPUNIT, r"(?m)^Tests: (\d+), Assertions: \d+((?:, [A-Z][A-Za-z ]*: \d+)*)\.\r?$");
pattern!(
    TESTS_AND_FAILURES,
    r"(?m)^(?:(\d+) doctests?, )?(?:(\d+) propert(?:y|ies), )?(\d+) tests?, (\d+) failures?(?:, (\d+) (?:excluded|not run))?(?:, (\d+) invalid)?(?:, (\d+) skipped)?(?: in .*)?\r?$"
);
pattern!(PROVE, r"(?m)^Files=\d+, Tests=(\d+),");
pattern!(PROVE_RESULT, r"(?m)^Result: (PASS|FAIL|NOTESTS)\r?$");
pattern!(PROVE_FAILED, r"(?m)^\S.* \(Wstat: .* Tests: \d+ Failed: (\d+)\)\r?$");
pattern!(TAP, r"(?m)^(not )?ok\b(?: \d+)?([^\r\n]*)$");
pattern!(TAP_PLAN, r"(?m)^1\.\.(\d+)\b");
pattern!(TAP_BAIL, r"(?m)^Bail out!");

pub(super) fn pytest(text: &str) -> Option<Tally> {
    let mut tally = sum(&PYTEST, text, |found| items(found.get(1).map_or("", |s| s.as_str())))?;
    if text.contains("during collection") {
        tally.unloadable = std::mem::take(&mut tally.errors);
    }
    Some(tally)
}

/// A module that cannot be imported is an error of a test that does not exist.
pub(super) fn unittest(text: &str) -> Option<Tally> {
    let tally = sum(&UNITTEST, text, |found| {
        let mut tally = Tally::default();
        for item in KEY.captures_iter(found.get(2).map_or("", |items| items.as_str())) {
            let number = group(&item, 2);
            match item[1].trim() {
                "failures" | "unexpected successes" => tally.failed += number,
                "errors" => tally.errors += number,
                _ => tally.skipped += number,
            }
        }
        let others = tally.failed + tally.errors + tally.skipped;
        Tally { passed: group(found, 1).saturating_sub(others), ..tally }
    })?;
    let unloadable = (UNITTEST_UNLOADABLE.find_iter(text).count() as u64).min(tally.errors);
    Some(Tally { errors: tally.errors - unloadable, unloadable, ..tally })
}

pub(super) fn rspec(text: &str) -> Option<Tally> {
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

pub(super) fn minitest(text: &str) -> Option<Tally> {
    sum(&MINITEST, text, |found| {
        let (failed, errors, skipped) = (group(found, 2), group(found, 3), group(found, 4));
        let passed = group(found, 1).saturating_sub(failed + errors + skipped);
        Tally { passed, failed, errors, skipped, unloadable: 0 }
    })
}

pub(super) fn test_unit(text: &str) -> Option<Tally> {
    sum(&TEST_UNIT, text, |found| {
        let (failed, errors) = (group(found, 2), group(found, 3));
        let skipped = group(found, 4) + group(found, 5);
        let passed = group(found, 1).saturating_sub(failed + errors + skipped);
        Tally { passed, failed, errors, skipped, unloadable: 0 }
    })
}

/// A warning is a class without tests, a risky test one that checked nothing: neither passed.
pub(super) fn phpunit(text: &str) -> Option<Tally> {
    let fine =
        sum(&PHPUNIT_OK, text, |found| Tally { passed: group(found, 1), ..Tally::default() });
    let others = sum(&PHPUNIT, text, |found| {
        let mut tally = Tally::default();
        for item in KEY.captures_iter(&found[2]) {
            let number = group(&item, 2);
            match item[1].trim() {
                "Failures" => tally.failed += number,
                "Errors" => tally.errors += number,
                "Skipped" | "Incomplete" | "Risky" | "Warnings" => tally.skipped += number,
                _ => {}
            }
        }
        let not_passed = tally.failed + tally.errors + tally.skipped;
        Tally { passed: group(found, 1).saturating_sub(not_passed), ..tally }
    });
    match (fine, others) {
        (Some(fine), Some(others)) => Some(fine.plus(others)),
        (fine, others) => fine.or(others),
    }
}

/// `3 tests, 1 failure, 1 skipped`: Elixir's `ExUnit`, and Bats on a terminal.
pub(super) fn tests_and_failures(text: &str) -> Option<Tally> {
    sum(&TESTS_AND_FAILURES, text, |found| {
        let all = group(found, 1) + group(found, 2) + group(found, 3);
        let (failed, unloadable) = (group(found, 4), group(found, 6));
        let skipped = group(found, 5) + group(found, 7);
        let passed = all.saturating_sub(failed + unloadable + skipped);
        Tally { passed, failed, errors: 0, skipped, unloadable }
    })
}

/// A program that broke off, or kept not to its plan, fails without a failed test.
pub(super) fn prove(text: &str) -> Option<Tally> {
    let result = PROVE_RESULT.captures(text)?;
    let all = PROVE.captures(text).map_or(0, |found| group(&found, 1));
    let failed: u64 = PROVE_FAILED.captures_iter(text).map(|found| group(&found, 1)).sum();
    let unloadable = u64::from(&result[1] == "FAIL" && failed == 0);
    Some(Tally { passed: all.saturating_sub(failed), failed, unloadable, ..Tally::default() })
}

/// Lines of the Test Anything Protocol, which are complete only if there are as many as planned.
pub(super) fn tap(text: &str) -> Option<Tally> {
    let plan = TAP_PLAN.captures(text).map(|found| group(&found, 1))?;
    let mut tally = Tally::default();
    for found in TAP.captures_iter(text) {
        let remark = found[2].to_lowercase();
        match found.get(1) {
            _ if remark.contains("# skip") || remark.contains("# todo") => tally.skipped += 1,
            // Bats could not read the file.
            Some(_) if remark == " setup_file failed" || remark.contains("bats-gather-tests") => {
                tally.unloadable += 1;
            }
            Some(_) => tally.failed += 1,
            None => tally.passed += 1,
        }
    }
    let ran = tally.passed + tally.failed + tally.skipped + tally.unloadable;
    tally.unloadable += plan.saturating_sub(ran) + u64::from(TAP_BAIL.is_match(text));
    Some(tally)
}
