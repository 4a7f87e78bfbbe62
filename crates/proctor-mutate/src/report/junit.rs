//! A run as JUnit XML: a suite for each file, a case for each mutant. Alive and not covered are failures, unknown is an error,
//! equivalent and not run are skipped.

use std::collections::BTreeMap;

use super::{MutantReport, MutantState, MutationReport};

/// The XML.
#[must_use]
pub fn in_junit(report: &MutationReport) -> String {
    let mut files: BTreeMap<&str, Vec<&MutantReport>> = BTreeMap::new();
    for mutant in &report.mutants {
        files.entry(&mutant.file).or_default().push(mutant);
    }
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    let all: Vec<&MutantReport> = report.mutants.iter().collect();
    text += &format!("<testsuites name=\"proctor mutate\" {}>\n", counts(&all));
    for (file, mutants) in files {
        text += &format!("  <testsuite name=\"{}\" {}>\n", escaped(file), counts(&mutants));
        text.extend(mutants.iter().map(|mutant| case(mutant)));
        text += "  </testsuite>\n";
    }
    text + "</testsuites>\n"
}

fn counts(mutants: &[&MutantReport]) -> String {
    let count = |states: &[MutantState]| {
        mutants.iter().filter(|mutant| states.contains(&mutant.state)).count()
    };
    format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
        mutants.len(),
        count(&[MutantState::Alive, MutantState::NotCovered]),
        count(&[MutantState::Unknown]),
        count(&[MutantState::Equivalent, MutantState::NotRun]),
    )
}

fn case(mutant: &MutantReport) -> String {
    let name = format!("line {}: {} ({})", mutant.line, mutant.operator, mutant.id);
    let (file, word) = (escaped(&mutant.file), mutant.state.word());
    let body = format!("{}\n{}", mutant.diff, mutant.message);
    let body = escaped(&body);
    let inner = match mutant.state {
        MutantState::Killed => String::new(),
        MutantState::Alive | MutantState::NotCovered => {
            format!("\n      <failure message=\"{word}\" type=\"mutant\">{body}</failure>\n    ")
        }
        MutantState::Unknown => {
            format!("\n      <error message=\"{word}\" type=\"mutant\">{body}</error>\n    ")
        }
        MutantState::Equivalent | MutantState::NotRun => {
            format!("\n      <skipped message=\"{word}\"/>\n    ")
        }
    };
    let name = escaped(&name);
    format!(
        "    <testcase name=\"{name}\" classname=\"{file}\" file=\"{file}\" line=\"{}\">{inner}</testcase>\n",
        mutant.line
    )
}

/// Text for XML; what XML cannot hold becomes `?`.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            '\n' | '\t' => out.push(c),
            '\u{fffe}' | '\u{ffff}' => out.push('?'),
            c if c.is_control() => out.push('?'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_stays_text() {
        let mutant = MutantReport {
            id: "a".into(),
            file: "lib/\"><script>.rb".into(),
            line: 1,
            operator: "change string".into(),
            diff: "-]]></failure>\u{0}\u{1b}[31m\n".into(),
            state: MutantState::Alive,
            killed_by: None,
            example: None,
            message: "<b>&".into(),
            looked: Vec::new(),
            mode: None,
        };
        let mut report = MutationReport { mutants: vec![mutant], ..MutationReport::default() };
        report.summarize();
        let xml = in_junit(&report);
        assert!(!xml.contains("<script>") && !xml.contains("]]></f") && !xml.contains('\u{1b}'));
        assert!(xml.contains("failures=\"1\""));
        let html = crate::report::in_html(&report);
        assert!(!html.contains("<script>") && !html.contains("<b>&"), "{html}");
    }
}
