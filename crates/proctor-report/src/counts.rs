//! A run in one line of numbers.

use proctor_record::Summary;

use crate::style::{Paint, Style, counted};

pub(crate) fn counts(summary: &Summary, style: Style) -> String {
    let examples = counted(summary.examples, "example");
    let errors =
        if summary.errors == 1 { "error outside examples" } else { "errors outside examples" };
    let all = [
        (summary.passed, "passed", Paint::Good),
        (summary.failed, "failed", Paint::Bad),
        (summary.errored, "errored", Paint::Bad),
        (summary.crashed, "crashed", Paint::Bad),
        (summary.timed_out, "timed out", Paint::Bad),
        (summary.inconclusive, "inconclusive", Paint::Warn),
        (summary.other, "of unknown outcome", Paint::Warn),
        (summary.pending, "pending", Paint::Warn),
        (summary.cancelled, "cancelled", Paint::Dim),
        (summary.not_run, "not run", Paint::Dim),
        (summary.running, "unfinished", Paint::Warn),
        (summary.flaky, "flaky", Paint::Warn),
        (summary.errors, errors, Paint::Bad),
    ];
    let parts: Vec<String> = all
        .iter()
        .filter(|(count, _, _)| *count > 0)
        .map(|(count, word, paint)| style.paint(*paint, format!("{count} {word}")))
        .collect();
    if parts.is_empty() { examples } else { format!("{examples}: {}", parts.join(", ")) }
}
