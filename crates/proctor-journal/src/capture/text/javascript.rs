//! JavaScript.

use super::{Tally, group, items, pattern, sum};

pattern!(JEST, r"(?m)^Tests:\s+(.*\b\d+ total)\r?$");
pattern!(JEST_UNLOADABLE, r"(?m)^\s*● .*Test suite failed to run");
pattern!(VITEST, r"(?m)^\s*Tests\s{2,}((?:\d+ [a-z ]+\|? ?)+\(\d+\)|no tests)\r?$");
pattern!(VITEST_FILES, r"(?m)^\s*Test Files\s{2,}(\d+) failed");
pattern!(VITEST_SUITES, r"(?m)Failed Suites (\d+)");
pattern!(JEST_SUITES, r"(?m)^Test Suites:\s+(\d+) failed,");
pattern!(VITEST_ERRORS, r"(?m)^\s*Errors\s{2,}(\d+) errors?\r?$");
pattern!(MOCHA, r"(?m)^\s+(\d+) passing \([\d.]+(?:ms|s|m|h)\)\r?$");
pattern!(MOCHA_OTHER, r"(?m)^\s+(\d+) (pending|failing)\r?$");
pattern!(NODE, r"(?m)^(?:#|ℹ) (pass|fail|cancelled|skipped|todo) (\d+)\r?$");
pattern!(
    NODE_FILE,
    r"(?m)^(?:(ok|not ok) \d+ - \S+\.[cm]?[jt]sx?|(✔|✖) \S+\.[cm]?[jt]sx? \([\d.]+ms\))\r?$"
);
pattern!(
    PLAYWRIGHT,
    r"(?m)^ {2}(\d+) (failed|flaky|skipped|interrupted|did not run|passed)(?: \([\d.]+(?:ms|s|m|h)\))?\r?$"
);
pattern!(PLAYWRIGHT_ERRORS, r"(?m)^ {2}(\d+) errors? (?:was|were) not a part of any test");
pattern!(
    AVA,
    r"(?m)^ {2}(\d+) (?:tests? (passed|failed|skipped|todo)|(uncaught exception|unhandled rejection)s?)\r?$"
);
pattern!(BUN_END, r"(?m)^Ran \d+ tests? across \d+ files?\.");
pattern!(BUN, r"(?m)^ *(\d+) (pass|fail|skip|todo|errors?)\r?$");
pattern!(
    DENO,
    r"(?m)^(?:ok|FAILED) \| (\d+) passed(?: \([^)]*\))? \| (\d+) failed(?: \(\d+ steps?\))?(?: \| (\d+) ignored)?"
);

pub(super) fn jest(text: &str) -> Option<Tally> {
    let tally = sum(&JEST, text, |found| items(found.get(1).map_or("", |s| s.as_str())))?;
    // Each failing suite is reported where it fails, and again in the summary of long runs.
    let suites = JEST_SUITES.captures(text).map_or(0, |found| group(&found, 1));
    let unloadable = if JEST_UNLOADABLE.is_match(text) || tally.failed == 0 { suites } else { 0 };
    Some(Tally { unloadable, ..tally })
}

pub(super) fn vitest(text: &str) -> Option<Tally> {
    let tally = sum(&VITEST, text, |found| items(found.get(1).map_or("", |s| s.as_str())))?;
    let suites = sum(&VITEST_SUITES, text, |found| Tally {
        unloadable: group(found, 1),
        ..Tally::default()
    });
    let files =
        sum(&VITEST_FILES, text, |found| Tally { unloadable: group(found, 1), ..Tally::default() });
    let nothing_ran = tally == Tally::default();
    let outside = VITEST_ERRORS.captures(text).map_or(0, |found| group(&found, 1));
    let unloadable = suites.or(files.filter(|_| nothing_ran)).map_or(0, |t| t.unloadable) + outside;
    Some(Tally { unloadable, ..tally })
}

pub(super) fn mocha(text: &str) -> Option<Tally> {
    let passed = sum(&MOCHA, text, |found| Tally { passed: group(found, 1), ..Tally::default() })?;
    let others = sum(&MOCHA_OTHER, text, |found| match &found[2] {
        "failing" => Tally { failed: group(found, 1), ..Tally::default() },
        _ => Tally { skipped: group(found, 1), ..Tally::default() },
    });
    Some(passed.plus(others.unwrap_or_default()))
}

/// A file without tests counts as a test that passed, and one that cannot be loaded as one that failed; both are
/// listed by the name of the file.
pub(super) fn node(text: &str) -> Option<Tally> {
    let all = sum(&NODE, text, |found| {
        let number = group(found, 2);
        match &found[1] {
            "pass" => Tally { passed: number, ..Tally::default() },
            "fail" | "cancelled" => Tally { failed: number, ..Tally::default() },
            _ => Tally { skipped: number, ..Tally::default() },
        }
    })?;
    let files = |marks: [&str; 2]| {
        let found = NODE_FILE.captures_iter(text);
        let of = |found: &regex::Captures<'_>| {
            found.get(1).or(found.get(2)).is_some_and(|mark| marks.contains(&mark.as_str()))
        };
        found.filter(of).count() as u64
    };
    let unloadable = files(["not ok", "✖"]).min(all.failed);
    Some(Tally {
        passed: all.passed.saturating_sub(files(["ok", "✔"])),
        failed: all.failed - unloadable,
        unloadable,
        ..all
    })
}

pub(super) fn playwright(text: &str) -> Option<Tally> {
    let tally = sum(&PLAYWRIGHT, text, |found| {
        let number = group(found, 1);
        match &found[2] {
            "passed" | "flaky" => Tally { passed: number, ..Tally::default() },
            "failed" => Tally { failed: number, ..Tally::default() },
            _ => Tally { skipped: number, ..Tally::default() },
        }
    })?;
    let unloadable = PLAYWRIGHT_ERRORS.captures(text).map_or(0, |found| group(&found, 1));
    Some(Tally { unloadable, ..tally })
}

pub(super) fn ava(text: &str) -> Option<Tally> {
    sum(&AVA, text, |found| {
        let number = group(found, 1);
        match found.get(2).map(|word| word.as_str()) {
            Some("passed") => Tally { passed: number, ..Tally::default() },
            Some("failed") => Tally { failed: number, ..Tally::default() },
            Some(_) => Tally { skipped: number, ..Tally::default() },
            None => Tally { unloadable: number, ..Tally::default() },
        }
    })
}

/// An error outside tests counts as failed too.
pub(super) fn bun(text: &str) -> Option<Tally> {
    BUN_END.find(text)?;
    let tally = sum(&BUN, text, |found| {
        let number = group(found, 1);
        match &found[2] {
            "pass" => Tally { passed: number, ..Tally::default() },
            "fail" => Tally { failed: number, ..Tally::default() },
            "skip" | "todo" => Tally { skipped: number, ..Tally::default() },
            _ => Tally { unloadable: number, ..Tally::default() },
        }
    })?;
    Some(Tally { failed: tally.failed.saturating_sub(tally.unloadable), ..tally })
}

pub(super) fn deno(text: &str) -> Option<Tally> {
    sum(&DENO, text, |found| Tally {
        passed: group(found, 1),
        failed: group(found, 2),
        skipped: group(found, 3),
        ..Tally::default()
    })
}
