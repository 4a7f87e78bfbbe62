//! A run as Markdown, for a pull request's comment and for the summary of a job on GitHub.
//!
//! Worst first, and never longer than a comment may be. Text from tests and agents is untrusted: it can neither become markup, nor
//! mention people, nor end the block it stands in.

use std::fmt::Write as _;

use proctor_record::{Example, RunData};
use proctor_text::{pluralize, printable, shorten, truncate};
use proctor_verdict::{Outcome, Rate, RunState};

use crate::counts::counts;
use crate::failure::{
    Failure, failures, has_failure_to_show, message_of, outside_message, unchecked_examples,
};
use crate::rates::rate_of;
use crate::rerun::RerunCommands;
use crate::style::{Style, duration};

/// How long a report may be: a comment on GitHub holds 65,536 characters.
pub const MARKDOWN_LIMIT: usize = 60_000;

/// How much of one failure is shown.
const MESSAGE_LINES: usize = 30;
const MESSAGE_CHARACTERS: usize = 2_000;

/// The run as Markdown.
pub fn markdown(run: &RunData) -> String {
    let verdict = run.verdict();
    let sign = if verdict.is_passed() { "✅" } else { "❌" };
    let mut text = format!("## {sign} {}\n\n", counts(run, Style { color: false }));
    let mut facts = Vec::new();
    facts.extend(run.duration_ms.map(|taken| format!("took {}", duration(taken))));
    facts.extend(run.seed.map(|seed| format!("seed {seed}")));
    facts.extend(cost(run).map(|cost| format!("models cost ${cost:.4}")));
    facts.extend(run.run_id.as_ref().map(|id| format!("run {}", code(id.as_str()))));
    if verdict.state() != RunState::Finished {
        facts.push(format!("**{}**", verdict.phrase()));
    }
    let _ = writeln!(text, "{}\n", facts.join(" · "));
    text += &outside(run);
    text += &failed(run, MARKDOWN_LIMIT.saturating_sub(text.len() + 8_000));
    text += &repeats(run);
    text += &flaky(run);
    text += &unchecked(run);
    clip(text)
}

fn cost(run: &RunData) -> Option<f64> {
    let inside = run.examples.iter().flat_map(|example| &example.attempts);
    let calls = inside.flat_map(|attempt| &attempt.model_calls).chain(&run.model_calls);
    let costs: Vec<f64> = calls.filter_map(|call| call.cost_usd).collect();
    (!costs.is_empty()).then(|| costs.iter().sum())
}

fn outside(run: &RunData) -> String {
    let mut text = String::new();
    for error in run.errors.iter().take(10) {
        let phase = error.phase.as_deref().unwrap_or("outside examples").replace('_', " ");
        let place = error.place.as_deref().unwrap_or_default();
        let _ = writeln!(text, "### Error: {} {}\n", cell(&phase), cell(place));
        text += &block(&outside_message(error));
    }
    text
}

fn failed(run: &RunData, limit: usize) -> String {
    let mut all = failures(run);
    all.sort_by_key(|failure| failure.verdict.outcome());
    let rerun_commands = RerunCommands::new(run);
    let mut text = String::new();
    for (place, failure) in all.iter().enumerate() {
        let entry = entry(failure, &rerun_commands, place < 3);
        if text.len() + entry.len() > limit {
            let left = pluralize(all.len() - place, "more failure");
            let _ = writeln!(text, "… and {left}.\n");
            break;
        }
        text += &entry;
    }
    text
}

fn entry(failure: &Failure<'_>, rerun_commands: &RerunCommands<'_>, open: bool) -> String {
    let example = failure.example;
    let title = summary_text(&shorten(&example.title(), 200));
    let place = example.location.as_deref().map(code).unwrap_or_default();
    let open = if open { " open" } else { "" };
    let mut text =
        format!("<details{open}><summary>{}: {title}</summary>\n\n", summary_text(failure.word()));
    if !place.is_empty() {
        let _ = writeln!(text, "{place}\n");
    }
    if let Some(reason) = failure.reason() {
        let _ = writeln!(text, "{}\n", cell(&reason));
    }
    if has_failure_to_show(failure.first) {
        text += &block(&message_of(failure.first));
    }
    if let Some(command) = rerun_commands.command(example) {
        let _ = writeln!(text, "Again: {}\n", code(&command));
    }
    text + "</details>\n\n"
}

fn repeats(run: &RunData) -> String {
    let repeated: Vec<(&Example, Rate)> = run
        .examples
        .iter()
        .filter(|example| example.attempts.iter().any(|attempt| attempt.repeat > 1))
        .map(|example| (example, rate_of(example, run)))
        .filter(|(_, rate)| !rate.is_perfect())
        .collect();
    if repeated.is_empty() {
        return String::new();
    }
    let mut text = "| example | passed | of | 95 % interval |\n|---|---|---|---|\n".to_owned();
    for (example, rate) in repeated.iter().take(50) {
        let range = proctor_stats::wilson(rate.passed, rate.valid, proctor_stats::Z95);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {:.0}–{:.0} % |",
            cell(&shorten(&example.title(), 120)),
            rate.passed,
            rate.valid,
            range.low * 100.0,
            range.high * 100.0
        );
    }
    text.push('\n');
    text
}

fn flaky(run: &RunData) -> String {
    let is_flaky = |example: &&Example| example.verdict(run.over).outcome() == Outcome::Flaky;
    let flaky: Vec<&Example> = run.examples.iter().filter(is_flaky).collect();
    if flaky.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "<details><summary>{} passed only after failing</summary>\n\n",
        pluralize(flaky.len(), "example")
    );
    for example in flaky.iter().take(50) {
        let _ = writeln!(text, "- {}", cell(&shorten(&example.title(), 120)));
    }
    text + "\n</details>\n\n"
}

fn unchecked(run: &RunData) -> String {
    let found = unchecked_examples(run);
    if found.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "<details><summary>{} passed without checking anything</summary>\n\n",
        pluralize(found.len(), "example")
    );
    for (example, verdict) in found.iter().take(50) {
        let part = verdict.unchecked_part().map(|part| format!(": {part}")).unwrap_or_default();
        let _ = writeln!(text, "- {}{part}", cell(&shorten(&example.title(), 120)));
    }
    text + "\n</details>\n\n"
}

/// Never longer than a comment may be, cut at a line.
fn clip(text: String) -> String {
    if text.len() <= MARKDOWN_LIMIT {
        return text;
    }
    let end = text.floor_char_boundary(MARKDOWN_LIMIT - 100);
    let end = text[..end].rfind('\n').map_or(end, |place| place + 1);
    format!("{}\n… cut here; the report is longer than a comment may be.\n", &text[..end])
}

/// Text on one line that is shown as it is: no markup, no mention, no end of a table's cell.
pub(crate) fn cell(text: &str) -> String {
    escape(text, |shown, c| {
        shown.push('\\');
        shown.push(c);
    })
}

/// Text inside an HTML element such as `<summary>`, where a backslash is shown as it is. Character references mean the same
/// whether a renderer looks for Markdown there or not.
fn summary_text(text: &str) -> String {
    escape(text, |shown, c| {
        let _ = write!(shown, "&#{};", u32::from(c));
    })
}

/// One line in which nothing becomes markup; `punctuation` writes the characters that Markdown knows.
fn escape(text: &str, punctuation: impl Fn(&mut String, char)) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in shorten(text, 2_000).chars() {
        match c {
            '&' => shown += "&amp;",
            '<' => shown += "&lt;",
            '>' => shown += "&gt;",
            // GitHub looks for mentions and references in what was rendered, so only a mark within breaks them up.
            '@' | '#' => {
                shown.push(c);
                shown.push('\u{200b}');
            }
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '|' | '~' | '!' | '$' => {
                punctuation(&mut shown, c);
            }
            c => shown.push(c),
        }
    }
    // Bare addresses become links.
    shown.replace("://", ":\u{200b}//").replace("www.", "www\u{200b}.")
}

/// Text on one line as code.
pub(crate) fn code(text: &str) -> String {
    let line = shorten(text, 300).replace('|', "\\|");
    let fence = "`".repeat(longest_run(&line) + 1);
    let space = if line.starts_with('`') || line.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{line}{space}{fence}")
}

/// Text as a block of code, which it cannot end.
fn block(text: &str) -> String {
    let text = printable(text.trim_end());
    let mut lines: Vec<String> =
        text.lines().take(MESSAGE_LINES).map(|line| truncate(line, MESSAGE_CHARACTERS)).collect();
    if text.lines().count() > MESSAGE_LINES {
        lines.push("…".to_owned());
    }
    let body = truncate(&lines.join("\n"), MESSAGE_CHARACTERS);
    let fence = "`".repeat(longest_run(&body).max(2) + 1);
    format!("{fence}text\n{body}\n{fence}\n\n")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests;
