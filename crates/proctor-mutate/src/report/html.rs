//! A run as one HTML page without scripts or foreign resources.

use super::junit::escaped;
use super::{Failure, MutantReport, MutantState, MutationReport};

const STYLE: &str = "\
:root{color-scheme:light dark;font:15px/1.5 system-ui,sans-serif}\
body{max-width:70rem;margin:2rem auto;padding:0 1rem}\
table{border-collapse:collapse}td,th{padding:.2rem .8rem;text-align:left;border-bottom:1px solid #8884}\
pre{background:#8881;padding:.6rem;overflow:auto;margin:.4rem 0}\
del{color:#b00;text-decoration:none}ins{color:#070;text-decoration:none}\
@media(prefers-color-scheme:dark){del{color:#f88}ins{color:#8d8}}\
details{margin:.6rem 0;border-left:4px solid #8886;padding-left:.8rem}\
.alive,.not_covered{border-color:#c33}.unknown{border-color:#c90}.killed{border-color:#393}";

/// The page.
#[must_use]
pub fn in_html(report: &MutationReport) -> String {
    let score = report.score.map_or("none".to_owned(), |score| format!("{score:.1} %"));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <title>Mutants</title><style>{STYLE}</style></head><body>\n<h1>Mutants</h1>\n<p>Score: <strong>{score}</strong></p>\n"
    );
    if report.stopped {
        page += "<p><strong>The run was stopped: not every mutant was tried.</strong></p>\n";
    }
    if let Some(failure) = report.failure().filter(|it| **it != Failure::Stopped) {
        page += &format!("<p><strong>Failed: {}</strong></p>\n", escaped(&failure.to_string()));
    }
    page += &counts(report);
    for (state, is_open) in [
        (MutantState::Alive, true),
        (MutantState::NotCovered, false),
        (MutantState::Unknown, true),
        (MutantState::Killed, false),
        (MutantState::Equivalent, false),
        (MutantState::NotRun, false),
    ] {
        let mutants: Vec<&MutantReport> = report.with_state(state).collect();
        if mutants.is_empty() {
            continue;
        }
        page += &format!("<h2>{} ({})</h2>\n", capital(state.word()), mutants.len());
        page.extend(mutants.iter().map(|mutant| details(mutant, is_open)));
    }
    for note in report.notes.iter().chain(&report.excluded).chain(&report.distrusted) {
        page += &format!("<p>{}</p>\n", escaped(note));
    }
    page + "</body></html>\n"
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn counts(report: &MutationReport) -> String {
    let c = report.counts;
    let rows = [
        ("killed", c.killed),
        ("alive", c.alive),
        ("not covered", c.not_covered),
        ("marked as equivalent", c.equivalent),
        ("unknown", c.unknown),
        ("not run", c.not_run),
    ];
    let row = |(word, count): (&str, usize)| format!("<tr><th>{word}</th><td>{count}</td></tr>");
    format!("<table>{}</table>\n", rows.map(row).concat())
}

fn details(mutant: &MutantReport, is_open: bool) -> String {
    let state = serde_json::to_value(mutant.state).unwrap_or_default();
    let class = state.as_str().unwrap_or_default();
    let open = if is_open { " open" } else { "" };
    let (file, operator) = (escaped(&mutant.file), escaped(&mutant.operator));
    let mut text = format!(
        "<details class=\"{class}\" id=\"m-{}\"{open}><summary><code>{file}:{}</code> {operator}</summary>\n<pre>",
        escaped(&mutant.id),
        mutant.line
    );
    for line in mutant.diff.lines().skip(2) {
        let shown = escaped(line);
        text += &match line.chars().next() {
            Some('-') => format!("<del>{shown}</del>\n"),
            Some('+') => format!("<ins>{shown}</ins>\n"),
            _ => format!("{shown}\n"),
        };
    }
    text += "</pre>\n";
    if let Some(example) = &mutant.example {
        text += &format!(
            "<p>Noticed by {} ({})</p>\n",
            escaped(&example.description),
            escaped(&example.location)
        );
    }
    if !mutant.message.is_empty() {
        text += &format!("<pre>{}</pre>\n", escaped(&mutant.message));
    }
    if !mutant.looked.is_empty() {
        let item = |it: &super::LookingExample| {
            format!("<li>{} ({})</li>", escaped(&it.description), escaped(&it.location))
        };
        let items: String = mutant.looked.iter().map(item).collect();
        text += &format!(
            "<details><summary>{} examples looked</summary><ul>{items}</ul></details>\n",
            mutant.looked.len()
        );
    }
    text + "</details>\n"
}
