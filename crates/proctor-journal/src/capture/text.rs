//! Summary lines of test runners, read from plain output.
//!
//! Every summary line counts: one run of `cargo test` prints one per binary, and a command may run
//! several tools. Runners print the numbers in whatever order they like, so each number is read
//! with its word. Load errors are counted apart from failures.

mod compiled;
mod javascript;
mod scripts;

use std::borrow::Cow;

use regex::Regex;

use super::Tool;
use super::tally::{Source, Tally, TallyReading};

/// A pattern, compiled when it is first needed. The patterns are constants and tested.
macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: std::sync::LazyLock<regex::Regex> = std::sync::LazyLock::new(|| {
            regex::Regex::new($text).expect("a constant pattern that is tested")
        });
    };
}
use pattern;

pattern!(ANSI, r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07");
pattern!(ITEM, r"(\d+) ([a-z]+(?: [a-z]+)*)");
pattern!(
    NO_TESTS,
    r"(?m)^(?:No tests found|No test files found|error: no tests to run|no tests ran|No examples found|\?   \t\S+\t\[no test files\]|No tests executed!|No tests were found!!!|NO TESTS RAN|Result: NOTESTS|Error: No tests found|There are no tests to run|\[INFO\] No tests to run)"
);
pattern!(
    COMPILE_ERROR,
    r"(?m)^error(?:\[E\d+\])?: (?:could not compile|aborting due to)|^error\[E\d+\]|\[(?:build|setup) failed\]|Test suite failed to run|\bSyntaxError\b|: syntax errors?[, ]|\berror TS\d+:|errors? during collection|An error occurred while loading|^fatal error: .*file not found|: cannot load such file --|^Error: Cannot find module|COMPILATION ERROR|^== Compilation error|PHP (?:Parse|Fatal) error|error: Type checking failed|ModuleNotFoundError:|^BUILD FAILED"
);
pattern!(
    NOT_RUN,
    r#"(?mx)
    ^ERROR:\ file\ or\ directory\ not\ found:
    | ^(?:\S*g?make(?:\[\d+\])?:\ )\*\*\*\ No\ (?:rule\ to\ make\ target|targets)
    | ^npm\ (?:error|ERR!)\ Missing\ script:
    | ^npm\ (?:error|ERR!)\ enoent
    | ^error\ Command\ ".*"\ not\ found
    | ERR_PNPM_NO_SCRIPT
    | ^(?:error:\ )?Script\ not\ found\ "
    | ^Error:\ No\ test\ files\ found
    | Couldn.t\ find\ any\ files\ to\ test
    | ^Could\ not\ find\ '
    | ^Test\ filter\ ".*"\ had\ no\ matches
    | ^(?:\S*ruby[\d.]*:\ )?No\ such\ file\ or\ directory\ --
    | :\ can't\ open\ file\ '
    | ^(?:\S*sh|/bin/\S+):\ (?:line\ )?(?:\d+:\ )?.*(?:[Cc]an't\ open|[Cc]annot\ open|No\ such\ file\ or\ directory)
    | :\ No\ module\ named\ \w+$
    | ^error:\ no\ (?:test|bin|example)\ target\ named
    | ^error:\ no\ such\ (?:command|subcommand):
    | ^error:\ could\ not\ find\ `Cargo\.toml`
    | ^Don't\ know\ how\ to\ build\ task
    | ^rake\ aborted!
    | ^error:\ Justfile\ does\ not\ contain\ recipe
    | ^(?:Test\ file\ ".*"\ not\ found|Cannot\ open\ file\ ".*")
    | ^No\ test\ configuration\ file\ found!
    | ^Cannot\ find\ test\ directory
    | ^Failed\ to\ change\ working\ directory
    | there\ is\ no\ POM\ in\ this\ directory
    | ^Test\ file\ ".*"\ does\ not\ exist
    | ^no\ Go\ files\ in
    | ^error:.*Import\ '.*'\ failed,\ not\ found
    | ^stat\ .*:\ no\ such\ file\ or\ directory
    | ^ERROR:\ unknown\ environment
    "#
);

pattern!(PYTEST_FAILED, r"(?m)^FAILED \S+::\S+");
pattern!(UNITTEST_FAILED, r"(?m)^FAIL: \w+ \(");
pattern!(RSPEC_FAILED, r"(?m)^rspec '?\S+(?::\d+|\[[\d:]+\])'? # ");
pattern!(CARGO_FAILED, r"(?m)^test \S+ \.\.\. FAILED\r?$");
pattern!(GO_FAILED, r"(?m)^\s*--- FAIL: ");
pattern!(CTEST_FAILED, r"(?m)^\s+\d+ - .* \((?:Failed|Timeout|SEGFAULT|Subprocess aborted)\)\r?$");
pattern!(TAP_FAILED, r"(?m)^not ok \d+(?: -)? (?:[^#\r\n]*[^#\s])?\r?$");

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

/// The line that says that a file, target or script is missing.
pub(super) fn missing(text: &str) -> Option<String> {
    let text = plain(text);
    let found = NOT_RUN.find(&text)?;
    let start = text.get(..found.end())?.rfind('\n').map_or(0, |end| end + 1);
    text.get(start..)?.lines().next().map(|line| line.trim().to_owned())
}

/// Reads the numbers of one tool, if its summary lines are there.
fn tally_of(tool: Tool, text: &str) -> Option<Tally> {
    match tool {
        Tool::Pytest => scripts::pytest(text),
        Tool::Unittest => scripts::unittest(text),
        Tool::Rspec => scripts::rspec(text),
        Tool::Minitest => scripts::minitest(text),
        Tool::TestUnit => scripts::test_unit(text),
        Tool::Phpunit => scripts::phpunit(text),
        Tool::ExUnit | Tool::Bats => scripts::tests_and_failures(text),
        Tool::Prove => scripts::prove(text),
        Tool::Tap => scripts::tap(text),
        Tool::Jest => javascript::jest(text),
        Tool::Vitest => javascript::vitest(text),
        Tool::Mocha => javascript::mocha(text),
        Tool::Node => javascript::node(text),
        Tool::Playwright => javascript::playwright(text),
        Tool::Ava => javascript::ava(text),
        Tool::Bun => javascript::bun(text),
        Tool::Deno => javascript::deno(text),
        Tool::Go => compiled::go(text),
        Tool::Cargo => compiled::cargo(text),
        Tool::Nextest => compiled::nextest(text),
        Tool::Surefire => compiled::surefire(text),
        Tool::Ctest => compiled::ctest(text),
        Tool::Proctor => compiled::proctor(text),
    }
}

/// Failed tests that are listed by name, where the summary is cut off. They show that tests failed, not how many.
fn listed_failures(tool: Tool, text: &str) -> Option<Tally> {
    let pattern = match tool {
        Tool::Pytest => &PYTEST_FAILED,
        Tool::Unittest => &UNITTEST_FAILED,
        Tool::Rspec => &RSPEC_FAILED,
        Tool::Cargo => &CARGO_FAILED,
        Tool::Go => &GO_FAILED,
        Tool::Ctest => &CTEST_FAILED,
        Tool::Tap => &TAP_FAILED,
        _ => return None,
    };
    // Bats could not read the file.
    let is_test = |found: &regex::Match<'_>| !found.as_str().ends_with("setup_file failed");
    let failed = pattern.find_iter(text).filter(is_test).count() as u64;
    (failed > 0).then(|| Tally { failed, ..Tally::default() })
}

/// Adds up the summary lines of these tools. Where two of them understand the same lines, the first one counts.
pub(super) fn read(text: &str, tools: &[Tool]) -> Option<TallyReading> {
    let text = plain(text);
    let mut found: Vec<(Tool, Tally)> = Vec::new();
    for tool in Tool::ALL.iter().copied().filter(|tool| tools.contains(tool)) {
        let is_taken = match tool {
            Tool::Bats => found.iter().any(|(tool, _)| *tool == Tool::ExUnit),
            // Other runners print their results as TAP lines too.
            Tool::Tap => !found.is_empty(),
            _ => false,
        };
        let tally = || tally_of(tool, &text).or_else(|| listed_failures(tool, &text));
        if let Some(tally) = (!is_taken).then(tally).flatten() {
            found.push((tool, tally));
        }
    }
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

#[cfg(test)]
mod tests;
