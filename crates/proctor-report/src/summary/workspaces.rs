//! What the workspace examples of a run reached together: topics, hats, endings, and assertions that changed their mind.

use proctor_record::{CoveredSet, RunData, WorkspaceWarning};
use proctor_text::{printable, shorten};

use crate::page::TextPage;
use crate::style::Paint;

/// How many names are listed.
const MAX_NAMES: usize = 8;
/// How many flaky assertions are listed.
const MAX_FLAKY: usize = 5;
/// How many warnings are listed.
const MAX_WARNINGS: usize = 10;

impl TextPage {
    pub(super) fn workspaces(&mut self, run: &RunData) {
        let Some(coverage) = run.workspace_coverage() else { return };
        self.workspace_warnings(&coverage.warnings);
        let sets = [
            ("topics", &coverage.topics),
            ("hats", &coverage.hats),
            ("endings", &coverage.terminations),
        ];
        let lines: Vec<String> =
            sets.into_iter().filter_map(|(name, reached)| line(name, reached)).collect();
        if lines.is_empty() && coverage.flaky_assertions.is_empty() {
            return;
        }
        self.title(Paint::Bold, "Workspaces reached:");
        for line in &lines {
            self.line(2, line);
        }
        for flaky in coverage.flaky_assertions.iter().take(MAX_FLAKY) {
            let title = shorten(&flaky.assertion, 120);
            let times = flaky.passed + flaky.failed;
            let text = format!("~ {title}: held {} of {times} times", flaky.passed);
            let text = self.style.paint(Paint::Warn, text);
            self.line(2, &text);
        }
        self.line(0, "");
    }

    fn workspace_warnings(&mut self, warnings: &[WorkspaceWarning]) {
        if warnings.is_empty() {
            return;
        }
        self.title(Paint::Warn, "Workspace warnings:");
        for one in warnings.iter().take(MAX_WARNINGS) {
            let often = match one.examples.len() {
                1 => String::new(),
                count => format!(" ({count} examples)"),
            };
            let text = format!("! {}{often}", shorten(&printable(&one.warning), 400));
            let text = self.style.paint(Paint::Warn, text);
            self.line(2, &text);
        }
        if warnings.len() > MAX_WARNINGS {
            self.line(2, &format!("… and {} more", warnings.len() - MAX_WARNINGS));
        }
        self.line(0, "");
    }
}

fn line(name: &str, reached: &CoveredSet) -> Option<String> {
    let total = reached.covered.len() + reached.missing.len();
    if total == 0 {
        return None;
    }
    let mut missing =
        reached.missing.iter().take(MAX_NAMES).cloned().collect::<Vec<_>>().join(", ");
    if reached.missing.len() > MAX_NAMES {
        missing.push_str(", …");
    }
    let never = if missing.is_empty() { String::new() } else { format!(", never: {missing}") };
    Some(shorten(&format!("{name} {} of {total}{never}", reached.covered.len()), 240))
}
