//! A run in one line of numbers.

use proctor_record::RunData;
use proctor_text::{plural, pluralize};
use proctor_verdict::Counts;

use crate::style::{Paint, Style};

/// The numbers count examples by their verdicts; repetitions are named where there are more of them.
pub(crate) fn counts(run: &RunData, style: Style) -> String {
    counts_line(&run.summary(), style)
}

/// The same of counts that were made before.
pub(crate) fn counts_line(counts: &Counts, style: Style) -> String {
    let mut examples = pluralize(counts.examples, "example");
    if counts.repetitions > counts.examples {
        examples += &format!(" ({})", pluralize(counts.repetitions, "repetition"));
    }
    line(&examples, counts, style)
}

fn line(examples: &str, summary: &Counts, style: Style) -> String {
    let errors = plural(summary.errors, "error outside examples", "errors outside examples");
    let all = [
        (summary.passed, "passed", Paint::Good),
        (summary.failed, "failed", Paint::Bad),
        (summary.errored, "errored", Paint::Bad),
        (summary.crashed, "crashed", Paint::Bad),
        (summary.timed_out, "timed out", Paint::Bad),
        (summary.inconclusive, "inconclusive", Paint::Warn),
        (summary.pending, "pending", Paint::Warn),
        (summary.cancelled, "cancelled", Paint::Dim),
        (summary.not_run, "not run", Paint::Dim),
        (summary.running, "unfinished", Paint::Warn),
        (summary.errors, errors, Paint::Bad),
    ];
    let parts: Vec<String> = all
        .iter()
        .filter(|(count, _, _)| *count > 0)
        .map(|(count, word, paint)| {
            let kinds = if *word == "passed" { kinds_of_passes(summary) } else { String::new() };
            style.paint(*paint, format!("{count} {word}{kinds}"))
        })
        .collect();
    if parts.is_empty() { examples.to_owned() } else { format!("{examples}: {}", parts.join(", ")) }
}

/// How some of the passed examples passed: ` (1 flaky, 2 within their pass rate)`.
fn kinds_of_passes(summary: &Counts) -> String {
    let rate = plural(summary.within_rate, "within its pass rate", "within their pass rate");
    let kinds = [
        (summary.flaky, "flaky"),
        (summary.within_rate, rate),
        (summary.unchecked, "checked nothing"),
    ];
    let kinds: Vec<String> = kinds
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) }
}
