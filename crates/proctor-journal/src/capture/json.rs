//! JSON reports: Jest and Vitest, `RSpec`, pytest's report plugin, Mocha, `go test -json`, libtest's JSON.

use serde_json::Value;

use super::Tool;
use super::tally::{Source, Tally, TallyReading};

/// The numbers in a JSON document or in lines of JSON, whatever tool wrote them.
pub(super) fn read(text: &str) -> Option<TallyReading> {
    let text = text.trim();
    if !text.starts_with('{') && !text.contains("\n{") {
        return None;
    }
    match serde_json::from_str::<Value>(text) {
        Ok(report) => document(&report).or_else(|| lines(text)),
        Err(_) => lines(text),
    }
}

fn reading(tools: &'static [Tool], tally: Tally) -> TallyReading {
    TallyReading { tally, source: Source::Json(tools) }
}

fn document(report: &Value) -> Option<TallyReading> {
    jest(report)
        .map(|tally| reading(&[Tool::Jest, Tool::Vitest], tally))
        .or_else(|| rspec(report).map(|tally| reading(&[Tool::Rspec], tally)))
        .or_else(|| {
            pytest(report)
                .map(|tally| reading(&[Tool::Pytest], tally))
                .or_else(|| mocha(report).map(|tally| reading(&[Tool::Mocha], tally)))
        })
}

fn number(value: &Value, name: &str) -> u64 {
    value.get(name).and_then(Value::as_u64).unwrap_or(0)
}

fn jest(report: &Value) -> Option<Tally> {
    report.get("numTotalTests")?.as_u64()?;
    let unloadable = report.get("testResults")?.as_array()?.iter().filter(|file| {
        let failed = file.get("status").and_then(Value::as_str) == Some("failed");
        let tests = file.get("assertionResults").and_then(Value::as_array);
        failed && tests.is_none_or(Vec::is_empty)
    });
    Some(Tally {
        passed: number(report, "numPassedTests"),
        failed: number(report, "numFailedTests"),
        errors: 0,
        skipped: number(report, "numPendingTests") + number(report, "numTodoTests"),
        unloadable: unloadable.count() as u64,
    })
}

fn rspec(report: &Value) -> Option<Tally> {
    let summary = report.get("summary")?;
    let all = summary.get("example_count")?.as_u64()?;
    let failed = number(summary, "failure_count");
    let skipped = number(summary, "pending_count");
    Some(Tally {
        passed: all.saturating_sub(failed + skipped),
        failed,
        errors: 0,
        skipped,
        unloadable: number(summary, "errors_outside_of_examples_count"),
    })
}

fn pytest(report: &Value) -> Option<Tally> {
    let summary = report.get("summary")?;
    let exit = report.get("exitcode")?.as_u64()?;
    Some(Tally {
        passed: number(summary, "passed") + number(summary, "xpassed"),
        failed: number(summary, "failed"),
        errors: number(summary, "error"),
        skipped: number(summary, "skipped") + number(summary, "xfailed"),
        // Interrupted while collecting: the summary does not even mention it.
        unloadable: u64::from(exit == 2),
    })
}

fn mocha(report: &Value) -> Option<Tally> {
    let stats = report.get("stats")?;
    stats.get("tests")?.as_u64()?;
    stats.get("suites")?.as_u64()?;
    Some(Tally {
        passed: number(stats, "passes"),
        failed: number(stats, "failures"),
        skipped: number(stats, "pending"),
        ..Tally::default()
    })
}

fn lines(text: &str) -> Option<TallyReading> {
    let events: Vec<Value> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    go(&events, text)
        .map(|tally| reading(&[Tool::Go], tally))
        .or_else(|| libtest(&events).map(|tally| reading(&[Tool::Cargo, Tool::Nextest], tally)))
}

fn word<'a>(event: &'a Value, name: &str) -> Option<&'a str> {
    event.get(name).and_then(Value::as_str)
}

/// Tests without a slash in their name; subtests are part of their parent.
///
/// A package that could not be built is reported in an event, in a field of one, or outside the JSON,
/// depending on the version of Go.
fn go(events: &[Value], text: &str) -> Option<Tally> {
    events.iter().find(|event| event.get("Action").is_some() && event.get("Package").is_some())?;
    let mut tally = Tally::default();
    let plain_lines = text.lines().filter(|line| is_build_failure_text(line)).count() as u64;
    let named = events.iter().filter(|event| event.get("FailedBuild").is_some()).count() as u64;
    for event in events {
        match (word(event, "Action"), word(event, "Test")) {
            (_, Some(test)) if test.contains('/') => {}
            (Some("pass"), Some(_)) => tally.passed += 1,
            (Some("fail"), Some(_)) => tally.failed += 1,
            (Some("skip"), Some(_)) => tally.skipped += 1,
            (Some("fail"), None) => tally.failed += u64::from(failed_without_test(events, event)),
            (Some("output"), None) => tally.unloadable += u64::from(is_build_failure(event)),
            _ => {}
        }
    }
    tally.unloadable = tally.unloadable.max(named) + plain_lines;
    Some(tally)
}

fn is_build_failure_text(text: &str) -> bool {
    text.starts_with("FAIL\t")
        && (text.contains("[build failed]") || text.contains("[setup failed]"))
}

fn is_build_failure(event: &Value) -> bool {
    event.get("FailedBuild").is_some() || word(event, "Output").is_some_and(is_build_failure_text)
}

/// A package that failed though none of its tests did (it exited or panicked outside of them).
fn failed_without_test(events: &[Value], package: &Value) -> bool {
    let name = word(package, "Package");
    !events.iter().any(|event| {
        word(event, "Package") == name
            && ((event.get("Test").is_some() && word(event, "Action") == Some("fail"))
                || is_build_failure(event))
    })
}

fn libtest(events: &[Value]) -> Option<Tally> {
    events
        .iter()
        .filter(|event| word(event, "type") == Some("suite") && event.get("passed").is_some())
        .map(|event| Tally {
            passed: number(event, "passed"),
            failed: number(event, "failed"),
            errors: 0,
            skipped: number(event, "ignored"),
            unloadable: 0,
        })
        .reduce(Tally::plus)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> (u64, u64, u64) {
        let tally = read(text).unwrap().tally;
        (tally.passed, tally.failed, tally.unloadable)
    }

    #[test]
    fn packages_of_go_that_cannot_be_built_are_told_apart_from_failures() {
        let old = "# x\nx_test.go:5: undefined\n\
            {\"Action\":\"pass\",\"Package\":\"y\",\"Test\":\"TestA\"}\nFAIL\tx [build failed]\n";
        assert_eq!(numbers(old), (1, 0, 1));
        let new = "{\"Action\":\"output\",\"Package\":\"x\",\"Output\":\"FAIL\\tx [build failed]\\n\"}\n\
            {\"Action\":\"fail\",\"Package\":\"x\",\"FailedBuild\":\"x\"}\n";
        assert_eq!(numbers(new), (0, 0, 1));
    }

    #[test]
    fn a_package_that_fails_without_a_test_is_a_failure() {
        let text = "{\"Action\":\"pass\",\"Package\":\"x\",\"Test\":\"TestA\"}\n\
            {\"Action\":\"fail\",\"Package\":\"x\"}\n";
        assert_eq!(numbers(text), (1, 1, 0));
    }

    #[test]
    fn lines_of_libtest_are_added_up() {
        let suite =
            "{\"type\":\"suite\",\"event\":\"ok\",\"passed\":2,\"failed\":0,\"ignored\":1}\n";
        assert_eq!(numbers(&suite.repeat(2)), (4, 0, 0));
        assert_eq!(read("{\"a\":1}"), None);
        assert_eq!(read("{broken"), None);
    }
}
