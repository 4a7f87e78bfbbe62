//! A run's result as text, HTML or YAML. Pure.

use std::collections::BTreeMap;

use proctor_text::pluralize;
use serde::Serialize;
use serde_json::Value;

use crate::metadata::STAGES;
use crate::pipeline::{FileReport, MethodReport, Report};
use crate::plain_numbers::PlainNumbers;
use crate::review::Covered;

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "–".to_owned();
    }
    let tenths = (part * 1000 + whole / 2) / whole;
    format!("{}.{} %", tenths / 10, tenths % 10)
}

fn branches(covered: Covered) -> String {
    percent(covered.taken, covered.branches)
}

/// For people.
#[must_use]
pub fn text(report: &Report) -> String {
    let mut text = String::new();
    for file in &report.files {
        text += &format!("{} → {}\n", file.source, file.spec);
        if let Some(error) = &file.error {
            text += &format!("  not covered: {}\n", error.trim().replace('\n', "\n    "));
            continue;
        }
        text += &line(file);
        for remark in remarks(file) {
            text += &format!("  {remark}\n");
        }
    }
    for warning in &report.warnings {
        text += &format!("warning: {warning}\n");
    }
    for error in &report.errors {
        text += &format!("error: {error}\n");
    }
    text + &stages_only(report).unwrap_or_else(|| summary(report))
}

/// Of a run that ended before examples were looked for, there are no figures: what the last stage was, and where its results are.
fn stages_only(report: &Report) -> Option<String> {
    let ran = |stage: &&(&str, &str)| report.answers.contains_key(stage.0);
    let (stage, _) = STAGES.iter().rfind(ran).filter(|_| report.files.is_empty())?;
    let files = report.answers[*stage].as_array().map_or(&[][..], Vec::as_slice);
    let reason = files.first().and_then(|one| one["skip_reason"].as_str());
    if let Some(reason) = reason.filter(|_| files.iter().all(|one| one["status"] == "skip")) {
        return Some(format!("{stage}: skipped: {reason}\n"));
    }
    let done = match files.len() {
        0 => "done".to_owned(),
        count => format!("{} done", pluralize(count, "file")),
    };
    Some(format!("{stage}: {done}; the results are in tmp/rspec_metadata\n"))
}

/// How many dropped examples of a file are shown to people.
const MAX_DROPPED_SHOWN: usize = 10;

/// What is to be said about a file besides its figures.
fn remarks(file: &FileReport) -> Vec<String> {
    let violation = |one: &Value, word: &str| {
        let part = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
        let fix = if word == "rule" { format!("; {}", part("fix")) } else { String::new() };
        format!("{word} {}: {} ({}){fix}", one["rule"], part("description"), part("location"))
    };
    let mut all: Vec<String> = Vec::new();
    all.extend(file.unreached().map(|(id, reason)| format!("no example for {id}: {reason}")));
    all.extend(file.pending.iter().map(|one| format!("pending: {one}")));
    all.extend(file.factories.iter().map(|one| {
        let added: Vec<String> = one
            .factories
            .iter()
            .map(|name| format!("factory :{name}"))
            .chain(one.traits_added.iter().map(|name| format!("trait :{name}")))
            .collect();
        format!("{}: added {}", one.path, added.join(", "))
    }));
    all.extend(file.kept.iter().map(|id| format!("kept: the block of {id} was edited by hand")));
    all.extend(
        file.dropped
            .iter()
            .take(MAX_DROPPED_SHOWN)
            .map(|one| format!("dropped: {} {}: {}", one.method, one.description, one.reason)),
    );
    let more = file.dropped.len().saturating_sub(MAX_DROPPED_SHOWN);
    if more > 0 {
        all.push(format!("dropped: {more} more, listed in the metadata and in --json"));
    }
    all.extend(file.refused.iter().map(|one| format!("not kept: {one}")));
    all.extend(file.fixed.iter().map(|one| violation(one, "repaired: rule")));
    all.extend(file.violations.iter().map(|one| violation(one, "rule")));
    all.extend(file.warnings.iter().map(|one| format!("warning: {one}")));
    all
}

fn line(file: &FileReport) -> String {
    let filled =
        if file.filled > 0 { format!("{} filled in, ", file.filled) } else { String::new() };
    let cached = if file.cached { "unchanged since the last run: " } else { "" };
    format!(
        "  {cached}{} of {} methods, {} ({filled}{} not tied to a fault), {} pending, {} dropped; branches {} → {} ({} of {}); faults noticed {} of {}\n",
        file.methods_covered,
        file.methods,
        pluralize(file.examples, "example"),
        file.unproven,
        file.pending.len(),
        file.dropped.len(),
        branches(file.before),
        branches(file.after),
        file.after.taken,
        file.after.branches,
        file.killed,
        file.faults
    )
}

/// Figures over all files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Files looked at.
    pub files: u64,
    /// Files that could not be covered.
    pub errors: u64,
    /// Methods selected.
    pub methods: u64,
    /// Methods with an example that passes.
    pub methods_covered: u64,
    /// Selected methods without any.
    pub methods_unreached: u64,
    /// Examples that pass.
    pub examples: u64,
    /// Situations left open.
    pub pending: u64,
    /// Branches there are.
    pub branches: u64,
    /// Branches taken before.
    pub taken_before: u64,
    /// Branches taken after.
    pub taken_after: u64,
    /// Faults tried.
    pub faults: u64,
    /// Faults noticed.
    pub killed: u64,
    /// Violated rules.
    pub violations: u64,
}

/// Adds up a run.
#[must_use]
pub fn totals(report: &Report) -> Totals {
    let sum = |value: &dyn Fn(&FileReport) -> u64| report.files.iter().map(value).sum::<u64>();
    Totals {
        files: report.files.len() as u64,
        errors: sum(&|file| u64::from(file.error.is_some())),
        methods: sum(&|file| file.methods as u64),
        methods_covered: sum(&|file| file.methods_covered as u64),
        methods_unreached: sum(&|file| file.unreached().count() as u64),
        examples: sum(&|file| file.examples as u64),
        pending: sum(&|file| file.pending.len() as u64),
        branches: sum(&|file| file.after.branches),
        taken_before: sum(&|file| file.before.taken),
        taken_after: sum(&|file| file.after.taken),
        faults: sum(&|file| file.faults as u64),
        killed: sum(&|file| file.killed as u64),
        violations: sum(&|file| file.violations.len() as u64),
    }
}

fn summary(report: &Report) -> String {
    let all = totals(report);
    let confined = if report.files.iter().all(|file| file.cached) || report.isolated {
        ""
    } else {
        " (network not cut off by the kernel)"
    };
    format!(
        "{}: {} of {} methods, {}, {} pending ({} of all); branches {} → {}; faults noticed {}{confined}\n",
        pluralize(all.files, "file"),
        all.methods_covered,
        all.methods,
        pluralize(all.examples, "example"),
        all.pending,
        percent(all.pending, all.pending + all.examples),
        percent(all.taken_before, all.branches),
        percent(all.taken_after, all.branches),
        percent(all.killed, all.faults)
    )
}

/// The whole as data, with the figures over all files.
#[must_use]
pub fn json(report: &Report) -> Value {
    let mut value = serde_json::to_value(report).unwrap_or_default();
    if let Value::Object(map) = &mut value {
        map.insert("totals".to_owned(), serde_json::to_value(totals(report)).unwrap_or_default());
    }
    value
}

/// As a page of its own.
#[must_use]
pub fn html(report: &Report) -> String {
    let files: String = report.files.iter().map(section).collect();
    let warnings: String = report
        .warnings
        .iter()
        .map(|one| format!("<p class=\"warn\">{}</p>\n", escape(one)))
        .chain(report.errors.iter().map(|one| format!("<p class=\"bad\">{}</p>\n", escape(one))))
        .collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>proctor cover</title>\n<style>{STYLE}</style></head>\n<body>\n<h1>Covered</h1>\n<p>{}</p>\n{warnings}{files}</body>\n</html>\n",
        escape(summary(report).trim())
    )
}

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1a1a1a;background:#fff}\
h2{margin:2rem 0 .3rem;font-size:1.1rem}code{font-size:.95em}table{border-collapse:collapse;margin:.5rem 0}\
th,td{padding:.2rem .9rem .2rem 0;text-align:left;vertical-align:top;border-bottom:1px solid #ddd}td.n{text-align:right}\
.warn{color:#8a4b00}.bad{color:#a00000}meter{width:8rem}\
@media(prefers-color-scheme:dark){body{color:#ddd;background:#161616}th,td{border-color:#444}.warn{color:#e0a050}.bad{color:#ff7b7b}}";

fn section(file: &FileReport) -> String {
    let head = format!(
        "<h2><code>{}</code> → <code>{}</code></h2>\n",
        escape(&file.source),
        escape(&file.spec)
    );
    if let Some(error) = &file.error {
        return format!("{head}<p class=\"bad\">not covered: {}</p>\n", escape(error));
    }
    let rows: String = file.by_method.iter().map(row).collect();
    let remarks: String =
        remarks(file).iter().map(|one| format!("<li>{}</li>", escape(one))).collect();
    format!(
        "{head}<p>{}</p>\n<p>Branches before <meter min=\"0\" max=\"{max}\" value=\"{}\">{}</meter> {} · after <meter min=\"0\" max=\"{max}\" value=\"{}\">{}</meter> {}</p>\n\
         <table><thead><tr><th>Method</th><th>Mode</th><th>Examples</th><th>Pending</th><th>Faults noticed</th></tr></thead><tbody>\n{rows}</tbody></table>\n<ul>{remarks}</ul>\n",
        escape(line(file).trim()),
        file.before.taken,
        branches(file.before),
        branches(file.before),
        file.after.taken,
        branches(file.after),
        branches(file.after),
        max = file.after.branches.max(1),
    )
}

fn row(method: &MethodReport) -> String {
    format!(
        "<tr><td><code>{}</code></td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{} / {}</td></tr>\n",
        escape(&method.id),
        escape(&method.mode),
        method.examples,
        method.pending,
        method.killed,
        method.faults
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The answers of the stages as YAML.
#[must_use]
pub fn answers_yaml(answers: &BTreeMap<String, Value>) -> String {
    let plain: BTreeMap<&str, PlainNumbers<'_>> =
        answers.iter().map(|(stage, answer)| (stage.as_str(), PlainNumbers(answer))).collect();
    yaml(&plain)
}

/// A value without JSON numbers as YAML; see [`answers_yaml`].
pub fn yaml(value: &impl Serialize) -> String {
    serde_saphyr::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let file = FileReport {
            source: "lib/<cart>.rb".to_owned(),
            spec: "spec/cart_spec.rb".to_owned(),
            methods: 2,
            methods_covered: 1,
            by_method: vec![MethodReport {
                id: "Cart#add".to_owned(),
                mode: "new".to_owned(),
                examples: 3,
                pending: 1,
                killed: 4,
                faults: 5,
                missing: None,
            }],
            examples: 3,
            pending: vec!["Cart#add when full: no input was found".to_owned()],
            before: Covered { branches: 8, taken: 2, lines: 10, executed: 4 },
            after: Covered { branches: 8, taken: 7, lines: 10, executed: 10 },
            killed: 4,
            faults: 5,
            ..FileReport::default()
        };
        Report { files: vec![file], isolated: true, ..Report::default() }
    }

    #[test]
    fn every_form_has_the_figures() {
        let report = report();
        insta::assert_snapshot!(text(&report), @r"
        lib/<cart>.rb → spec/cart_spec.rb
          1 of 2 methods, 3 examples (0 not tied to a fault), 1 pending, 0 dropped; branches 25.0 % → 87.5 % (7 of 8); faults noticed 4 of 5
          pending: Cart#add when full: no input was found
        1 file: 1 of 2 methods, 3 examples, 1 pending (25.0 % of all); branches 25.0 % → 87.5 %; faults noticed 80.0 %
        ");
        let data = json(&report);
        assert_eq!(
            (&data["totals"]["taken_before"], &data["totals"]["taken_after"]),
            (&2.into(), &7.into())
        );
        let page = html(&report);
        for part in ["lib/&lt;cart&gt;.rb", "Cart#add", "4 / 5", "87.5 %", "25.0 %", "when full"] {
            assert!(page.contains(part), "{part} in {page}");
        }
    }
}
