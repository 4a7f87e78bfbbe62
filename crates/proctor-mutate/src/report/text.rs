//! A run in words, for a terminal.

use proctor_text::printable;

use super::{Counts, MutantReport, MutantState, MutationReport, diff};
use crate::campaign::KilledBy;
use crate::plan::MutationPlan;

/// How many looking examples are named.
const NAMED: usize = 3;

/// The mutants that somebody should look at, then the score. `paint` colours removed (`-`) and added (`+`) lines.
#[must_use]
pub fn in_words(report: &MutationReport, paint: impl Fn(char, &str) -> String) -> String {
    let mut text = String::new();
    for (state, title) in [
        (MutantState::Alive, "Alive: every example that looks at these passed"),
        (MutantState::NotCovered, "Not covered: no example reaches these"),
        (MutantState::Unknown, "Unknown: nothing can be said about these"),
    ] {
        let mutants: Vec<&MutantReport> = report.with_state(state).collect();
        if mutants.is_empty() {
            continue;
        }
        text += &format!("{title}\n\n");
        for mutant in mutants {
            text += &in_detail(mutant, &paint);
        }
    }
    text + &summary(report)
}

fn in_detail(mutant: &MutantReport, paint: &impl Fn(char, &str) -> String) -> String {
    let mut text = format!("{}:{} {} ({})\n", mutant.file, mutant.line, mutant.operator, mutant.id);
    for line in mutant.diff.lines().skip(2) {
        let shown = printable(line);
        let sign = line.chars().next().unwrap_or(' ');
        text += &format!(
            "    {}\n",
            if "+-".contains(sign) { paint(sign, &shown) } else { shown.into_owned() }
        );
    }
    if !mutant.message.is_empty() {
        text += &format!("    {}\n", first_line(&mutant.message));
    }
    let named = mutant.looked.iter().take(NAMED).map(|it| {
        format!("    looked: {} ({})\n", printable(&it.description), printable(&it.location))
    });
    text.extend(named);
    if mutant.looked.len() > NAMED {
        text += &format!("    and {} more\n", mutant.looked.len() - NAMED);
    }
    text + "\n"
}

pub(super) fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    printable(line).into_owned()
}

/// Counts, in one line each.
fn summary(report: &MutationReport) -> String {
    let Counts { killed, alive, not_covered, equivalent, unknown, not_run } = report.counts;
    let by =
        |by: KilledBy| report.mutants.iter().filter(|mutant| mutant.killed_by == Some(by)).count();
    let ways: Vec<String> = [
        (by(KilledBy::TimeOut), "by time-out"),
        (by(KilledBy::Crash), "by crash"),
        (by(KilledBy::LoadError), "by an error while loading"),
        (by(KilledBy::OutsideError), "by an error outside of examples"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, way)| format!("{count} {way}"))
    .collect();
    let ways = if ways.is_empty() { String::new() } else { format!(" ({})", ways.join(", ")) };
    let mut text =
        format!("{} mutants: {killed} killed{ways}, {alive} alive", report.mutants.len());
    for (count, word) in [
        (not_covered, "not covered"),
        (equivalent, "marked as equivalent"),
        (unknown, "unknown"),
        (not_run, "not run"),
    ] {
        if count > 0 {
            text += &format!(", {count} {word}");
        }
    }
    text += "\n";
    text += &match (report.score, report.lowest_score) {
        (Some(score), Some(lowest)) if score > lowest => {
            format!("score: {score:.1} % ({lowest:.1} % if what is unknown is alive)\n")
        }
        (Some(score), _) => format!("score: {score:.1} %\n"),
        _ => "score: none, since no mutant counts\n".to_owned(),
    };
    if report.reused > 0 {
        text +=
            &format!("{} verdicts are from an earlier run with the same files\n", report.reused);
    }
    if report.left_out > 0 {
        text += &format!("{} mutants were left out\n", report.left_out);
    }
    for example in &report.excluded {
        text += &format!("left out, fails without a mutant: {}\n", printable(example));
    }
    for example in &report.distrusted {
        text += &format!(
            "not trusted, fails now and then with the code unchanged: {}\n",
            printable(example)
        );
    }
    text
}

/// The mutants of a plan, each with its diff.
#[must_use]
pub fn list_in_words(plan: &MutationPlan, paint: impl Fn(char, &str) -> String) -> String {
    let mut text = String::new();
    for mutant in &plan.mutants {
        let file = &plan.files[mutant.file];
        let mark = mutant.change.equivalent.as_ref().map(|it| format!(" (equivalent: {it})"));
        let (line, operator) = (mutant.change.line, &mutant.change.operator);
        text += &format!(
            "{}:{line} {operator} ({}){}\n",
            file.name,
            mutant.id,
            mark.unwrap_or_default()
        );
        for line in diff(mutant, file).lines().skip(3) {
            let sign = line.chars().next().unwrap_or(' ');
            text += &format!("    {}\n", paint(sign, &printable(line)));
        }
    }
    text + &format!("{} mutants in {} files\n", plan.mutants.len(), plan.files.len())
}
