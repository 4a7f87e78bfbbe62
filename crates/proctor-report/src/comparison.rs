//! A comparison as text for a terminal and as Markdown for a pull request: the same rows in both.
//!
//! Regressions, improvements and what cannot be told are listed; what shows no change is counted, unless everything is wanted.
//! Titles come from tests and may hold anything: they are made harmless for where they go.

use std::fmt::Write as _;

use proctor_compare::{
    Assessment, Change, Comparison, CriterionChange, ExampleChange, Gap, SideInfo, Tally,
    UsageChange,
};
use proctor_events::Millis;
use proctor_text::{pluralize, printable, shorten};

use crate::markdown::{cell, code};
use crate::style::{Paint, Style, duration};

/// How many rows of one kind are listed before the rest is counted.
const MAX_ROWS: usize = 50;

/// A difference may then have two causes.
const DIFFERENT_CONFIGURATIONS: &str =
    "The two ran with different configurations: differences may come from there.";

/// The comparison for a terminal.
pub fn comparison_text(comparison: &Comparison, everything: bool, style: Style) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "before  {}", side(&comparison.before));
    let _ = writeln!(text, "after   {}", side(&comparison.after));
    if comparison.config_changed == Some(true) {
        let _ = writeln!(text, "{}", style.paint(Paint::Warn, DIFFERENT_CONFIGURATIONS));
    }
    text.push('\n');
    if let Some(why) = &comparison.not_comparable {
        let _ = writeln!(
            text,
            "{}\n",
            style.paint(Paint::Bad, format!("Not comparable: {}", printable(why)))
        );
    }
    for verdict in Assessment::ALL {
        if verdict != Assessment::NoChangeSeen || everything {
            text += &section(comparison, verdict, everything, style);
        }
    }
    text += &gaps(comparison, everything, style);
    text += &criteria(comparison, everything, style);
    for line in usage_lines(comparison) {
        let _ = writeln!(text, "{line}");
    }
    let _ = writeln!(text, "{}", suite_line(comparison));
    let (paint, sign) = paint(comparison.verdict);
    let verdict = style.paint(paint, format!("{sign} {}", comparison.verdict.words()));
    let _ = writeln!(text, "{verdict}: {}", counts_line(comparison));
    for line in gate_lines(comparison) {
        let _ = writeln!(text, "{}", printable(&line));
    }
    text
}

/// The comparison as Markdown.
pub fn comparison_markdown(comparison: &Comparison, everything: bool) -> String {
    let (_, sign) = paint(comparison.verdict);
    let mut text = format!(
        "## {sign} {}: {}\n\n",
        capitalized(comparison.verdict.words()),
        counts_line(comparison)
    );
    let _ = writeln!(
        text,
        "Before: {}  \nAfter: {}\n",
        cell(&side(&comparison.before)),
        cell(&side(&comparison.after))
    );
    if comparison.config_changed == Some(true) {
        let _ = writeln!(text, "**{DIFFERENT_CONFIGURATIONS}**\n");
    }
    let shown: Vec<&ExampleChange> = comparison
        .examples
        .iter()
        .filter(|change| change.verdict != Assessment::NoChangeSeen || everything)
        .collect();
    if !shown.is_empty() {
        text += "| verdict | example | before | after | why |\n|---|---|---|---|---|\n";
        for change in shown.iter().take(MAX_ROWS) {
            let _ = writeln!(
                text,
                "| {} {} | {} | {} | {} | {} |",
                paint(change.verdict).1,
                change.verdict.words(),
                cell(&shorten(&title(change), 200)),
                rate(&change.before),
                rate(&change.after),
                cell(&change.why)
            );
        }
        text += &more_line(shown.len(), "\n");
        text.push('\n');
    }
    text += &criteria_markdown(comparison);
    text += &gaps_markdown(comparison);
    for line in usage_lines(comparison) {
        let _ = writeln!(text, "{line}  ");
    }
    let _ = writeln!(text, "{}\n", suite_line(comparison).replace('\n', "  \n"));
    for line in gate_lines(comparison) {
        let _ = writeln!(text, "{}  ", cell(&line));
    }
    text
}

fn paint(verdict: Assessment) -> (Paint, &'static str) {
    match verdict {
        Assessment::NotComparable => (Paint::Bad, "!"),
        Assessment::Regression => (Paint::Bad, "✗"),
        Assessment::CannotTell => (Paint::Warn, "?"),
        Assessment::Improvement => (Paint::Good, "▲"),
        Assessment::NoChangeSeen | Assessment::Unchanged => (Paint::Dim, "="),
    }
}

/// What a gate decides, and why.
fn gate_lines(comparison: &Comparison) -> Vec<String> {
    let gate = &comparison.gate;
    let decision = format!("Gate: {} (exit code {})", gate.decision.words(), gate.exit_code);
    match &*gate.reasons {
        [] => vec![decision],
        [one] => vec![format!("{decision}: {one}")],
        more => std::iter::once(format!("{decision}:"))
            .chain(more.iter().map(|reason| format!("  {reason}")))
            .collect(),
    }
}

fn side(info: &SideInfo) -> String {
    let mut parts = vec![printable(&info.label).into_owned()];
    parts
        .extend(info.run_id.as_ref().filter(|id| **id != info.label).map(|id| format!("run {id}")));
    parts.extend(info.started_at.clone());
    let commit = info.commit.as_ref().map(|commit| commit.chars().take(10).collect::<String>());
    parts.extend(commit.map(|commit| format!("commit {commit}")));
    parts.push(pluralize(info.examples, "example"));
    if !info.complete {
        parts.push("not finished".to_owned());
    }
    if info.errors > 0 {
        parts.push(format!("{} outside examples", pluralize(info.errors, "error")));
    }
    parts.join(", ")
}

fn section(comparison: &Comparison, verdict: Assessment, everything: bool, style: Style) -> String {
    let changes: Vec<&ExampleChange> =
        comparison.examples.iter().filter(|change| change.verdict == verdict).collect();
    if changes.is_empty() {
        return String::new();
    }
    let (colour, sign) = paint(verdict);
    let heading = format!("{} ({})", capitalized(verdict.words()), changes.len());
    let mut text = format!("{}\n", style.paint(Paint::Bold, heading));
    let limit = if everything { usize::MAX } else { MAX_ROWS };
    for change in changes.iter().take(limit) {
        let _ = writeln!(
            text,
            "  {} {}  {} → {}",
            style.paint(colour, sign),
            shorten(&title(change), 300),
            rate(&change.before),
            rate(&change.after)
        );
        let _ = writeln!(text, "      {}", style.paint(Paint::Dim, printable(&change.why)));
    }
    if !everything {
        text += &more_line(changes.len(), "  ");
    }
    text.push('\n');
    text
}

fn title(change: &ExampleChange) -> String {
    match &change.moved_from {
        Some(from) => format!("{} (moved from {from})", change.title),
        None => change.title.clone(),
    }
}

/// `4/10, 17–69 %`: a rate is never shown without the number it rests on.
fn rate(tally: &Tally) -> String {
    let counts = format!("{}/{}", tally.passed, tally.attempts);
    if tally.attempts < 2 {
        return counts;
    }
    format!("{counts}, {:.0}–{:.0} %", tally.range.low * 100.0, tally.range.high * 100.0)
}

fn more_line(count: usize, indent: &str) -> String {
    if count > MAX_ROWS {
        format!("{indent}… and {} more\n", count - MAX_ROWS)
    } else {
        String::new()
    }
}

fn gaps(comparison: &Comparison, everything: bool, style: Style) -> String {
    if comparison.gaps.is_empty() {
        return String::new();
    }
    let heading =
        format!("Coverage gaps ({}): examples without a result on one side", comparison.gaps.len());
    let mut text = format!("{}\n", style.paint(Paint::Bold, heading));
    let limit = if everything { usize::MAX } else { 20 };
    for gap in comparison.gaps.iter().take(limit) {
        let _ = writeln!(text, "  {}", gap_line(gap));
    }
    if comparison.gaps.len() > limit {
        let _ = writeln!(text, "  … and {} more", comparison.gaps.len() - limit);
    }
    text.push('\n');
    text
}

fn gap_line(gap: &Gap) -> String {
    let when = if gap.missing_after { "after" } else { "before" };
    format!("{when}: {}  {}", gap.reason, shorten(&gap.title, 200))
}

fn gaps_markdown(comparison: &Comparison) -> String {
    if comparison.gaps.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "<details><summary>{}: examples without a result on one side</summary>\n\n",
        pluralize(comparison.gaps.len(), "coverage gap")
    );
    for gap in comparison.gaps.iter().take(MAX_ROWS) {
        let _ = writeln!(text, "- {}", cell(&gap_line(gap)));
    }
    text += &more_line(comparison.gaps.len(), "- ");
    text + "\n</details>\n\n"
}

fn criteria(comparison: &Comparison, everything: bool, style: Style) -> String {
    let shown: Vec<&CriterionChange> = comparison.criteria.iter().collect();
    if shown.is_empty() {
        return String::new();
    }
    let mut text = format!("{}\n", style.paint(Paint::Bold, "Criteria"));
    let limit = if everything { usize::MAX } else { MAX_ROWS };
    for change in shown.iter().take(limit) {
        let (colour, sign) = paint(change.verdict);
        let _ = writeln!(
            text,
            "  {} {}  {} → {}{}",
            style.paint(colour, sign),
            shorten(&change.name, 120),
            rate(&change.before),
            rate(&change.after),
            scores(change)
        );
    }
    text.push('\n');
    text
}

fn scores(change: &CriterionChange) -> String {
    match (change.score_before, change.score_after) {
        (Some(before), Some(after)) => format!(", score {before:.2} → {after:.2}"),
        _ => String::new(),
    }
}

fn criteria_markdown(comparison: &Comparison) -> String {
    if comparison.criteria.is_empty() {
        return String::new();
    }
    let mut text = "| criterion | before | after | change | |\n|---|---|---|---|---|\n".to_owned();
    for change in comparison.criteria.iter().take(MAX_ROWS) {
        let shown = change.change.or(change.score_change);
        let _ = writeln!(
            text,
            "| {} | {} | {}{} | {} | {} {} |",
            code(&shorten(&change.name, 120)),
            rate(&change.before),
            rate(&change.after),
            scores(change),
            shown.map_or_else(String::new, |change| points(&change)),
            paint(change.verdict).1,
            change.verdict.words()
        );
    }
    text.push('\n');
    text
}

/// `−20 points (−35 to −5)`.
fn points(change: &Change) -> String {
    let range = change.range.map_or_else(String::new, |range| {
        format!(" ({} to {})", signed(range.low), signed(range.high))
    });
    format!("{} points{range}", signed(change.estimate))
}

/// Percentage points with a sign; nothing has none.
fn signed(share: f64) -> String {
    let value = (share * 1000.0).round() / 10.0;
    match value {
        value if value > 0.0 => format!("+{value}"),
        value if value < 0.0 => format!("−{}", -value),
        _ => "0".to_owned(),
    }
}

fn usage_lines(comparison: &Comparison) -> Vec<String> {
    let time = |ms: f64| duration(Millis::new(ms));
    let dollars = |cost: f64| format!("${cost:.4}");
    let line = |name: &str, change: &UsageChange, shown: &dyn Fn(f64) -> String| {
        let sums = format!("{name}: {} → {}", shown(change.before), shown(change.after));
        let Some(ratio) = change.ratio else { return sums };
        let range = change
            .ratio_range
            .map_or_else(String::new, |range| format!(", {:.2} to {:.2}", range.low, range.high));
        let word = match change.clear {
            Some(true) => "",
            Some(false) => ", no more than runs vary by",
            None => "; how much runs vary is known from three earlier runs on",
        };
        format!("{sums}, typically × {ratio:.2}{range}{word}")
    };
    let mut lines = Vec::new();
    lines.extend(comparison.duration.as_ref().map(|change| line("Duration", change, &time)));
    lines.extend(comparison.cost.as_ref().map(|change| line("Cost", change, &dollars)));
    lines
}

fn suite_line(comparison: &Comparison) -> String {
    let suite = &comparison.suite;
    let mut line = "Suite: ".to_owned();
    if let (Some(before), Some(after), Some(change)) =
        (suite.rate_before, suite.rate_after, &suite.change)
    {
        let _ =
            write!(line, "{:.1} % → {:.1} %, {}; ", before * 100.0, after * 100.0, points(change));
    }
    let _ = write!(
        line,
        "{} pass less often, {} more often ({}: worse p = {:.3}, better p = {:.3}): {}",
        suite.worse,
        suite.better,
        suite.test.words(),
        suite.p_worse,
        suite.p_better,
        suite.verdict.words()
    );
    if let (Some(before), Some(after)) = (suite.pass_hat_k_before, suite.pass_hat_k_after)
        && suite.k > 1
    {
        let _ = write!(line, "; pass^{} {:.1} % → {:.1} %", suite.k, before * 100.0, after * 100.0);
    }
    if let Some(note) = days(comparison) {
        let _ = write!(line, "\n{note}");
    }
    line
}

/// What is known of good and bad days, where a model takes part.
fn days(comparison: &Comparison) -> Option<String> {
    let suite = &comparison.suite;
    if suite.paired == suite.deterministic {
        return None;
    }
    Some(match suite.earlier_runs {
        Some(runs) if suite.runs_vary => {
            format!("Days: {runs} earlier runs differ by more than chance; that is allowed for.")
        }
        Some(runs) => format!("Days: {runs} earlier runs differ by no more than chance."),
        None => "Days: fewer than three earlier runs; a bad day of the model would look like a regression."
            .to_owned(),
    })
}

fn counts_line(comparison: &Comparison) -> String {
    let counts = &comparison.counts;
    let mut parts = vec![
        pluralize(counts.regressions, "regression"),
        pluralize(counts.improvements, "improvement"),
        format!("{} cannot be told", counts.cannot_tell),
        format!("{} without a change", counts.no_change_seen),
    ];
    let gaps = counts.missing_after + counts.missing_before;
    if gaps > 0 {
        parts.push(pluralize(gaps, "coverage gap"));
    }
    if counts.moved > 0 {
        parts.push(format!("{} moved", counts.moved));
    }
    parts.join(", ")
}

fn capitalized(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests;
