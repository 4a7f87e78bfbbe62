//! A run as Markdown, for a pull request's comment and for the summary of a job on GitHub.
//!
//! Worst first, and never longer than a comment may be. Text from tests and agents is untrusted: it can neither become markup, nor
//! mention people, nor end the block it stands in.

use std::collections::BinaryHeap;
use std::fmt::Write as _;
use std::io;

use proctor_record::{Example, ExampleSource, ModelUse, RunData};
use proctor_text::{pluralize, printable, shorten, truncate};
use proctor_verdict::{Counts, Outcome, Rate, RunState};

use crate::counts::counts_line;
use crate::failure::{
    Failure, failure_of, has_failure_to_show, message_of, outside_message, place_of,
};
use crate::rerun::RerunCommands;
use crate::style::{Style, duration};

/// How long a report may be: a comment on GitHub holds 65,536 characters.
pub const MARKDOWN_LIMIT: usize = 60_000;

/// How much of one failure is shown.
const MESSAGE_LINES: usize = 30;
const MESSAGE_CHARACTERS: usize = 2_000;

/// More failures than the shortest that fit into a report.
const MOST_FAILURES: usize = 2_000;

/// How many rows the other lists have.
const LIST_ROWS: usize = 50;

/// The run as Markdown.
pub fn markdown(run: &RunData) -> String {
    // A run in memory can be read.
    markdown_of(run, &run.summary()).unwrap_or_default()
}

/// The same of a run with these counts. Every example is visited once, those that are told of twice.
pub fn markdown_of(source: &dyn ExampleSource, counts: &Counts) -> io::Result<String> {
    let run = source.run();
    let mut found = Findings::default();
    let mut place = 0;
    source.for_each_example(&mut |example| {
        found.add(example, place, run);
        place += 1;
    })?;
    run.model_calls.iter().for_each(|call| found.add_cost(call));
    let verdict = run.verdict();
    let sign = if verdict.is_passed() { "✅" } else { "❌" };
    let mut text = format!("## {sign} {}\n\n", counts_line(counts, Style { color: false }));
    let mut facts = Vec::new();
    facts.extend(run.duration_ms.map(|taken| format!("took {}", duration(taken))));
    facts.extend(run.seed.map(|seed| format!("seed {seed}")));
    facts.extend(found.cost.map(|cost| format!("models cost ${cost:.4}")));
    facts.extend(run.run_id.as_ref().map(|id| format!("run {}", code(id.as_str()))));
    if verdict.state() != RunState::Finished {
        facts.push(format!("**{}**", verdict.phrase()));
    }
    let _ = writeln!(text, "{}\n", facts.join(" · "));
    text += &outside(run);
    text += &failed(source, &found, MARKDOWN_LIMIT.saturating_sub(text.len() + 8_000))?;
    text += &found.rates.table();
    text += &found.flaky.folded("passed only after failing");
    text += &found.unchecked.folded("passed without checking anything");
    Ok(clip(text))
}

/// Where a failure stands in the report: worst first, then by file and line. The last is the place of its example.
type FailureOrder = (Outcome, (String, u32, String), usize);

/// What a report tells of the examples.
#[derive(Default)]
struct Findings {
    cost: Option<f64>,
    /// The first in the report, at most [`MOST_FAILURES`].
    failures: BinaryHeap<FailureOrder>,
    failure_count: usize,
    rerun_commands: RerunCommands,
    rates: Rows,
    flaky: Rows,
    unchecked: Rows,
}

impl Findings {
    fn add(&mut self, example: &Example, place: usize, run: &RunData) {
        let calls = example.attempts.iter().flat_map(|attempt| &attempt.model_calls);
        calls.for_each(|call| self.add_cost(call));
        self.rerun_commands.add(example);
        let verdict = example.verdict(run.over);
        if failure_of(example, run).is_some() {
            self.failure_count += 1;
            self.failures.push((verdict.outcome(), place_of(example), place));
            if self.failures.len() > MOST_FAILURES {
                self.failures.pop();
            }
        }
        let is_repeated = example.attempts.iter().any(|attempt| attempt.repeat > 1);
        if is_repeated && !verdict.rate().is_perfect() {
            self.rates.add(|| rate_row(example, verdict.rate()));
        }
        if verdict.outcome() == Outcome::Flaky {
            self.flaky.add(|| item(example, ""));
        }
        if verdict.is_unchecked() {
            let part = verdict.unchecked_part().map(|part| format!(": {part}"));
            self.unchecked.add(|| item(example, &part.unwrap_or_default()));
        }
    }

    fn add_cost(&mut self, call: &ModelUse) {
        if let Some(cost) = call.cost_usd {
            self.cost = Some(self.cost.map_or(cost, |sum| sum + cost));
        }
    }
}

/// The first rows of a list, and how many there are.
#[derive(Default)]
struct Rows {
    text: String,
    count: usize,
}

impl Rows {
    fn add(&mut self, row: impl FnOnce() -> String) {
        if self.count < LIST_ROWS {
            self.text += &row();
        }
        self.count += 1;
    }

    /// As a table of rates.
    fn table(&self) -> String {
        if self.count == 0 {
            return String::new();
        }
        format!("| example | passed | of | 95 % interval |\n|---|---|---|---|\n{}\n", self.text)
    }

    /// As a list that is folded up.
    fn folded(&self, title: &str) -> String {
        if self.count == 0 {
            return String::new();
        }
        let examples = pluralize(self.count, "example");
        let text = &self.text;
        format!("<details><summary>{examples} {title}</summary>\n\n{text}\n</details>\n\n")
    }
}

fn rate_row(example: &Example, rate: Rate) -> String {
    let range = proctor_stats::wilson(rate.passed, rate.valid, proctor_stats::Z95);
    format!(
        "| {} | {} | {} | {:.0}–{:.0} % |\n",
        cell(&shorten(&example.title(), 120)),
        rate.passed,
        rate.valid,
        range.low * 100.0,
        range.high * 100.0
    )
}

fn item(example: &Example, note: &str) -> String {
    format!("- {}{note}\n", cell(&shorten(&example.title(), 120)))
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

fn failed(source: &dyn ExampleSource, found: &Findings, limit: usize) -> io::Result<String> {
    let (run, mut text, mut shown) = (source.run(), String::new(), 0);
    for (_, _, place) in found.failures.clone().into_sorted_vec() {
        let mut told = String::new();
        source.with_example(place, &mut |example| {
            let failure = failure_of(example, run);
            told = failure.map_or_else(String::new, |failure| {
                entry(&failure, &found.rerun_commands, shown < 3)
            });
        })?;
        if text.len() + told.len() > limit {
            break;
        }
        text += &told;
        shown += 1;
    }
    if shown < found.failure_count {
        let left = pluralize(found.failure_count - shown, "more failure");
        let _ = writeln!(text, "… and {left}.\n");
    }
    Ok(text)
}

fn entry(failure: &Failure<'_>, rerun_commands: &RerunCommands, open: bool) -> String {
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
