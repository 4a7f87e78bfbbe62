use super::*;

fn read_any(text: &str) -> Option<TallyReading> {
    read(text, Tool::ALL)
}

fn numbers(text: &str) -> (u64, u64, u64, u64) {
    let tally = read_any(text).unwrap().tally;
    (tally.passed, tally.failed, tally.errors, tally.skipped)
}

#[test]
fn every_pattern_compiles() {
    assert_eq!(read_any(""), None);
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
        read_any("1 example: 1 passed, 2 errors outside examples, finished in 1 s").unwrap();
    assert_eq!(outside.tally.unloadable, 2);
    assert_eq!(read_any("it took 2 examples: 2 passed, finished in time"), None);
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
    assert_eq!(numbers("\u{1b}[31m\u{1b}[1m1 failed\u{1b}[0m, 2 passed in 0.01s"), (2, 1, 0, 0));
}

#[test]
fn ordinary_prose_is_not_a_summary() {
    assert_eq!(read_any("we passed 3 failed 2 things in 5s of work"), None);
}
