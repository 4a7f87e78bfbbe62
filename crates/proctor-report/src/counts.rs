//! A run in one line of numbers.

use proctor_events::Status;
use proctor_record::{Example, RunData, Summary};

use crate::rates::gate;
use crate::style::{Paint, Style, counted};

/// The numbers count repetitions; failures that a pass rate allows are named as such.
pub(crate) fn counts(run: &RunData, style: Style) -> String {
    let summary = run.summary();
    let known = run.examples.len() as u64;
    let examples = if known == 0 || known >= summary.examples {
        counted(summary.examples, "example")
    } else {
        format!("{} run {} times in all", counted(known, "example"), summary.examples)
    };
    let mut text = line(&examples, &summary, style);
    let allowed = allowed_failures(run);
    if allowed > 0 {
        let allowed = format!(" ({} allowed by a pass rate)", counted(allowed, "failure"));
        text.push_str(&style.paint(Paint::Dim, allowed));
    }
    text
}

/// How many failed repetitions belong to examples that reached the pass rate they demand of themselves.
pub(crate) fn allowed_failures(run: &RunData) -> u64 {
    let held = run.examples.iter().filter(|example| gate(example) == Some(true));
    let failed = held
        .flat_map(Example::deciding_attempts)
        .filter(|attempt| attempt.status.as_ref().is_some_and(Status::is_failure));
    failed.count() as u64
}

fn line(examples: &str, summary: &Summary, style: Style) -> String {
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
    if parts.is_empty() { examples.to_owned() } else { format!("{examples}: {}", parts.join(", ")) }
}
