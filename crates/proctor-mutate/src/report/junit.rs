//! A run as JUnit XML: a suite for each file, a case for each mutant. What is alive or not covered is a failure, and what is unknown an error,
//! only if the run failed; else they are skipped, as equivalent and not run always are: readers of JUnit take a failure for a failed run.

use std::collections::BTreeMap;

use super::{Failure, MutantReport, MutantState, MutationReport};

/// What a case is in JUnit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failure,
    Error,
    Skipped,
}

impl Outcome {
    fn of(state: MutantState, is_failed: bool) -> Self {
        match state {
            MutantState::Killed => Self::Passed,
            MutantState::Alive | MutantState::NotCovered if is_failed => Self::Failure,
            MutantState::Unknown if is_failed => Self::Error,
            _ => Self::Skipped,
        }
    }

    fn element(self) -> Option<&'static str> {
        match self {
            Self::Passed => None,
            Self::Failure => Some("failure"),
            Self::Error => Some("error"),
            Self::Skipped => Some("skipped"),
        }
    }
}

/// The XML.
#[must_use]
pub fn in_junit(report: &MutationReport) -> String {
    let mut files: BTreeMap<&str, Vec<&MutantReport>> = BTreeMap::new();
    for mutant in &report.mutants {
        files.entry(&mutant.file).or_default().push(mutant);
    }
    let is_failed = report.failure().is_some();
    let outcome = |mutant: &MutantReport| Outcome::of(mutant.state, is_failed);
    let unreadable = match report.failure() {
        Some(failure @ Failure::Unreadable { file }) => Some((file, failure.to_string())),
        _ => None,
    };
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    let mut all: Vec<Outcome> = report.mutants.iter().map(outcome).collect();
    all.extend(unreadable.iter().map(|_| Outcome::Error));
    text += &format!("<testsuites name=\"proctor mutate\" {}>\n", counts(&all));
    for (file, mutants) in files {
        let outcomes: Vec<Outcome> = mutants.iter().map(|mutant| outcome(mutant)).collect();
        let (name, counts) = (escaped(file), counts(&outcomes));
        text += &format!("  <testsuite name=\"{name}\" {counts}>\n");
        text.extend(mutants.iter().zip(outcomes).map(|(mutant, outcome)| case(mutant, outcome)));
        text += "  </testsuite>\n";
    }
    if let Some((file, why)) = unreadable {
        text += &unreadable_file(&escaped(file), &escaped(&why));
    }
    text + "</testsuites>\n"
}

fn counts(outcomes: &[Outcome]) -> String {
    let count = |wanted| outcomes.iter().filter(|outcome| **outcome == wanted).count();
    format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
        outcomes.len(),
        count(Outcome::Failure),
        count(Outcome::Error),
        count(Outcome::Skipped),
    )
}

fn case(mutant: &MutantReport, outcome: Outcome) -> String {
    let name = escaped(&format!("line {}: {} ({})", mutant.line, mutant.operator, mutant.id));
    let (file, word) = (escaped(&mutant.file), mutant.state.word());
    let body = escaped(&format!("{}\n{}", mutant.diff, mutant.message));
    let inner = match outcome.element() {
        None => String::new(),
        Some("skipped") => format!("\n      <skipped message=\"{word}\">{body}</skipped>\n    "),
        Some(element) => format!(
            "\n      <{element} message=\"{word}\" type=\"mutant\">{body}</{element}>\n    "
        ),
    };
    format!(
        "    <testcase name=\"{name}\" classname=\"{file}\" file=\"{file}\" line=\"{}\">{inner}</testcase>\n",
        mutant.line
    )
}

fn unreadable_file(file: &str, why: &str) -> String {
    format!(
        "  <testsuite name=\"{file}\" {}>\n    <testcase name=\"{file}\" classname=\"{file}\" file=\"{file}\">\n      <error message=\"{why}\" type=\"file\"/>\n    </testcase>\n  </testsuite>\n",
        counts(&[Outcome::Error])
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
        report.judge(Some(50.0), &[]);
        let xml = in_junit(&report);
        assert!(!xml.contains("<script>") && !xml.contains("]]></f") && !xml.contains('\u{1b}'));
        assert!(xml.contains("failures=\"1\""));
        let html = crate::report::in_html(&report);
        assert!(!html.contains("<script>") && !html.contains("<b>&"), "{html}");
    }
    fn report_with(states: &[MutantState]) -> MutationReport {
        let mutant = |state: &MutantState| MutantReport {
            id: "a".into(),
            file: "lib/a.rb".into(),
            line: 1,
            operator: "change string".into(),
            diff: String::new(),
            state: *state,
            killed_by: None,
            example: None,
            message: String::new(),
            looked: Vec::new(),
            mode: None,
        };
        let mutants = states.iter().map(mutant).collect();
        let mut report = MutationReport { mutants, ..MutationReport::default() };
        report.summarize();
        report
    }

    #[test]
    fn a_failure_stands_in_the_file_only_if_the_run_failed() {
        use MutantState::{Alive, Equivalent, Killed, NotCovered, Unknown};
        let every = [Killed, Alive, NotCovered, Unknown, Equivalent];
        for (fail_below, expected) in [
            (None, "tests=\"5\" failures=\"0\" errors=\"0\" skipped=\"4\""),
            (Some(25.0), "tests=\"5\" failures=\"0\" errors=\"0\" skipped=\"4\""),
            (Some(25.1), "tests=\"5\" failures=\"2\" errors=\"1\" skipped=\"1\""),
        ] {
            let mut report = report_with(&every);
            let is_failed = report.judge(fail_below, &[]).failure.is_some();
            let xml = in_junit(&report);
            assert!(xml.contains(expected), "{fail_below:?}: {xml}");
            assert_eq!(is_failed, xml.contains("<failure") || xml.contains("<error"));
        }
    }

    #[test]
    fn what_fails_a_run_without_a_mutant_stands_in_the_file_too() {
        let mut unreadable = report_with(&[MutantState::Killed]);
        unreadable.judge(Some(10.0), &["lib/b.rb".to_owned()]);
        let xml = in_junit(&unreadable);
        assert!(xml.contains("tests=\"2\" failures=\"0\" errors=\"1\""), "{xml}");
        assert!(xml.contains("lib/b.rb is no valid Ruby"), "{xml}");
        let mut undecided = report_with(&[MutantState::Unknown]);
        undecided.judge(None, &[]);
        assert!(in_junit(&undecided).contains("errors=\"1\""));
        let mut ungated = report_with(&[MutantState::Killed]);
        ungated.judge(None, &["lib/b.rb".to_owned()]);
        assert!(!in_junit(&ungated).contains("<error"));
    }
}
