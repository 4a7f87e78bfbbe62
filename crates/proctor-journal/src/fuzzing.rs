//! Entry points of fuzz targets. Not part of the public interface.

use crate::capture::{CommandReading, CommandResult, Expectation, judge, read_tally};
use crate::time::UtcTime;
use crate::{decode, exchange, hook};

/// Reads the entries of a file; every line that is not blank is an entry or is counted as none.
pub fn entries(data: &[u8]) {
    let (good, bad) = decode::entries(data);
    assert_eq!(good.len() + bad.len(), decode::lines(data).count());
    for line in decode::lines(data) {
        let _ = decode::identity(line.bytes);
    }
}

/// Reads an export.
pub fn journal_import(data: &[u8]) {
    drop(exchange::read_lines(data, &mut exchange::ImportResult::default()));
}

/// Reads a command line of a shell. One that certainly runs no tests starts no runner.
pub fn command_line(data: &[u8]) {
    let Ok(line) = std::str::from_utf8(data) else { return };
    let reading = CommandReading::of_line(line);
    if reading.runs_no_tests() {
        assert_eq!(reading.runners().count(), 0);
    }
    drop(reading.unknown());
    let _ = reading.exit_code_covers_all();
}

/// Reads the input of a hook, and judges the tests that it reports.
pub fn hook_input(data: &[u8]) {
    let Ok(input) = hook::read_input(data) else { return };
    drop(hook::folder_of(&input));
    if let hook::HookAction::Tests(run) = hook::plan(&input) {
        judge_all(&run);
    }
}

/// Reads what a program printed as the output of every test runner.
pub fn test_output(data: &[u8]) {
    let run = CommandResult {
        argv: vec!["./a-program-that-is-not-known".to_owned()],
        exit: Some(0),
        output: String::from_utf8_lossy(data).into_owned(),
        ..CommandResult::default()
    };
    judge_all(&run);
}

/// Reads a report file: `JUnit` XML or JSON.
pub fn test_report(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let run = CommandResult { reports: vec![text.to_owned()], ..CommandResult::default() };
    drop(read_tally(&run));
}

/// A run says the same of `pass` and of `fail` only where it says nothing.
fn judge_all(run: &CommandResult) {
    let now = UtcTime::new(jiff::Timestamp::UNIX_EPOCH);
    let pass = judge(&Expectation::Pass, true, run, now);
    let fail = judge(&Expectation::Fail, true, run, now);
    assert!(
        pass.verdict != fail.verdict || pass.resolution().is_none(),
        "both expectations are {}",
        pass.verdict.as_str()
    );
}
