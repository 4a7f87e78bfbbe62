//! A run's result as text, HTML or YAML. Pure.

use serde::Serialize;

use crate::pipeline::{FileReport, Report};

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "–".to_owned();
    }
    let tenths = (part * 1000 + whole / 2) / whole;
    format!("{}.{} %", tenths / 10, tenths % 10)
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
        for situation in &file.pending {
            text += &format!("  pending: {situation}\n");
        }
        for id in &file.kept {
            text += &format!("  kept: the block of {id} was edited by hand\n");
        }
        for violation in &file.violations {
            text += &format!(
                "  rule {}: {} ({})\n",
                violation["rule"],
                violation["description"].as_str().unwrap_or_default(),
                violation["location"].as_str().unwrap_or_default()
            );
        }
        for warning in &file.warnings {
            text += &format!("  warning: {warning}\n");
        }
    }
    for warning in &report.warnings {
        text += &format!("warning: {warning}\n");
    }
    text + &summary(report)
}

fn line(file: &FileReport) -> String {
    if file.cached {
        return "  unchanged since the last run\n".to_owned();
    }
    format!(
        "  {} of {} methods, {} examples ({} not tied to a fault), {} pending, {} dropped; branches {} → {} ({} of {}); faults noticed {} of {}\n",
        file.methods_covered,
        file.methods,
        file.examples,
        file.unproven,
        file.pending.len(),
        file.dropped,
        percent(file.before.taken, file.before.branches),
        percent(file.after.taken, file.after.branches),
        file.after.taken,
        file.after.branches,
        file.killed,
        file.faults
    )
}

fn summary(report: &Report) -> String {
    let sum = |value: &dyn Fn(&FileReport) -> u64| report.files.iter().map(value).sum::<u64>();
    let (taken, branches) = (sum(&|file| file.after.taken), sum(&|file| file.after.branches));
    let (killed, faults) = (sum(&|file| file.killed as u64), sum(&|file| file.faults as u64));
    let (examples, pending) =
        (sum(&|file| file.examples as u64), sum(&|file| file.pending.len() as u64));
    let confined = if report.files.iter().all(|file| file.cached) || report.isolated {
        ""
    } else {
        " (network not cut off by the kernel)"
    };
    format!(
        "{} files: {examples} examples, {pending} pending; branches {}; faults noticed {}{confined}\n",
        report.files.len(),
        percent(taken, branches),
        percent(killed, faults)
    )
}

/// As a page of its own.
#[must_use]
pub fn html(report: &Report) -> String {
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let rows: String = report
        .files
        .iter()
        .map(|file| {
            let open: String = file.pending.iter().map(|one| format!("<li>{}</li>", escape(one))).collect();
            format!(
                "<tr><td><code>{}</code></td><td>{} / {}</td><td>{}</td><td>{}</td><td>{} → {}</td><td>{} / {}</td><td><ul>{open}</ul>{}</td></tr>\n",
                escape(&file.source), file.methods_covered, file.methods, file.examples, file.pending.len(),
                percent(file.before.taken, file.before.branches), percent(file.after.taken, file.after.branches),
                file.killed, file.faults, escape(file.error.as_deref().unwrap_or_default())
            )
        })
        .collect();
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>proctor cover</title>\
         <style>body{{font:16px/1.5 system-ui;margin:2rem}}td,th{{padding:.3rem .8rem;text-align:left;vertical-align:top}}</style>\
         <h1>Covered</h1><p>{}</p><table><thead><tr><th>File</th><th>Methods</th><th>Examples</th><th>Pending</th><th>Branches</th>\
         <th>Faults noticed</th><th>Open</th></tr></thead><tbody>\n{rows}</tbody></table></html>\n",
        escape(summary(report).trim())
    )
}

/// Any answer as YAML.
pub fn yaml(value: &impl Serialize) -> String {
    serde_saphyr::to_string(value).unwrap_or_default()
}
