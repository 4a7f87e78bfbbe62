//! Annotations for GitHub Actions: workflow commands on standard output.

use std::fmt::Write as _;

use proctor_record::{OutsideError, RunData};
use proctor_text::{pluralize, printable, shorten};
use proctor_verdict::Outcome;

use crate::failure::{Failure, failures, file_and_line, outside_message, project_line};

/// How many annotations of a kind a step may have; Actions drops the others without a word.
pub const ANNOTATION_LIMIT: usize = 10;

/// The longest message worth showing beside a line of code.
const MESSAGE_LINES: usize = 20;

struct Annotation {
    rank: u8,
    file: Option<String>,
    line: Option<u32>,
    title: String,
    message: String,
}

/// One `::error` line per failure, worst first, at most `limit`.
pub fn github_annotations(run: &RunData, limit: usize) -> String {
    let mut all: Vec<Annotation> = run.errors.iter().map(of_outside_error).collect();
    all.extend(failures(run).iter().map(of_failure));
    all.sort_by_key(|annotation| annotation.rank);
    let mut text: String = all.iter().take(limit).map(Annotation::command).collect();
    if all.len() > limit {
        let more = pluralize(all.len() - limit, "more failure");
        let _ = writeln!(text, "::notice title=proctor::{more} without annotation, see the log");
    }
    text
}

/// Text for a log that Actions reads, with everything taken out that it would obey rather than show.
///
/// Only needed for text that goes to standard output in Actions: a line that an agent wrote and that
/// begins with `::` would be a command there. An invisible mark breaks it up.
pub fn without_workflow_commands(text: &str) -> String {
    let broken = text.replace("##[", "#\u{200b}#[");
    let lines = broken.split('\n').map(|line| {
        let start = line.len() - line.trim_start().len();
        match line[start..].strip_prefix("::") {
            Some(rest) => format!("{}:\u{200b}:{rest}", &line[..start]),
            None => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn of_outside_error(error: &OutsideError) -> Annotation {
    let line = error.exception.as_ref().and_then(project_line);
    let (file, line) = line.as_deref().map_or((None, None), split_place);
    let phase = error.phase.as_deref().unwrap_or("outside examples").replace('_', " ");
    Annotation {
        rank: 0,
        file: file.or_else(|| error.place.clone().filter(|place| place.starts_with("./"))),
        line,
        title: format!("error: {phase}"),
        message: outside_message(error),
    }
}

fn of_failure(failure: &Failure<'_>) -> Annotation {
    let (file, line) = file_and_line(failure.example);
    Annotation {
        rank: 1 + failure.verdict.outcome() as u8,
        file: file.map(ToOwned::to_owned),
        line,
        title: match failure.verdict.outcome() {
            Outcome::Failed => failure.example.title(),
            _ => format!(
                "{} ({})",
                failure.example.title(),
                failure.verdict.word().replace('_', " ")
            ),
        },
        message: failure.message(),
    }
}

/// `./lib/x.rb:12:in …` as file and line.
fn split_place(line: &str) -> (Option<String>, Option<u32>) {
    let mut parts = line.splitn(3, ':');
    match (parts.next(), parts.next().and_then(|number| number.parse().ok())) {
        (Some(file), Some(number)) => (Some(file.to_owned()), Some(number)),
        _ => (None, None),
    }
}

impl Annotation {
    fn command(&self) -> String {
        let mut properties = Vec::new();
        let file = self.file.as_deref().map(|file| file.strip_prefix("./").unwrap_or(file));
        properties.extend(file.map(|file| format!("file={}", escaped_property(file))));
        properties.extend(self.line.map(|line| format!("line={line}")));
        properties.push(format!("title={}", escaped_property(&shorten(&self.title, 200))));
        let message: Vec<&str> = self.message.trim().lines().take(MESSAGE_LINES).collect();
        format!("::error {}::{}\n", properties.join(","), escaped(&message.join("\n")))
    }
}

/// `plain` comes first: what it leaves of the control characters is line feed and tab.
fn escaped(text: &str) -> String {
    printable(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn escaped_property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests;
