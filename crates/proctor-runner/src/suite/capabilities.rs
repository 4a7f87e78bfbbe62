//! What each kind of suite can report, as one table. What a suite cannot report is unknown, and is said to be where
//! somebody asks for it.

use super::Suite;

/// Whether a suite reports something of its examples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reported {
    /// Always.
    Always,
    /// If its program does; what it means where it does not stands beside it.
    IfSaid(&'static str),
    /// Never.
    Never,
}

/// What one kind of suite can report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field is named after what is reported")]
pub struct SuiteCapabilities {
    /// What the kind is called on the pages; no two kinds share it.
    pub name: &'static str,
    pub names: Reported,
    pub durations: Reported,
    /// What an example prints, told apart from what others print.
    pub output: Reported,
    /// How many checks decided an attempt.
    pub checks: Reported,
}

/// The kinds of suites there are. `docs/running.md` shows the table to users.
pub const SUITE_CAPABILITIES: [&SuiteCapabilities; 5] = [
    &super::rspec::CAPABILITIES,
    &super::minitest::CAPABILITIES,
    &super::command::CAPABILITIES,
    &super::dialogue::CAPABILITIES,
    &super::workspace::CAPABILITIES,
];

/// What is to be said of a suite whose examples shall not pass unchecked and who does not tell what they check.
pub(crate) fn unchecked_is_unknown(suite: &Suite) -> Option<String> {
    let name = suite.name();
    match suite.capabilities().checks {
        Reported::Always => None,
        Reported::IfSaid(_) => Some(format!(
            "--unchecked fail says nothing about examples of `{name}` that do not report how many checks they made"
        )),
        Reported::Never => Some(format!(
            "--unchecked fail says nothing about `{name}`: it does not tell whether an example checked anything"
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_kind_is_registered_once() {
        let names: BTreeSet<&str> = SUITE_CAPABILITIES.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), SUITE_CAPABILITIES.len());
        let folders = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/suite")).unwrap();
        let implemented = folders
            .flatten()
            .map(|entry| entry.path())
            .map(|path| if path.is_dir() { path.join("mod.rs") } else { path })
            .filter(|file| {
                std::fs::read_to_string(file)
                    .is_ok_and(|text| text.contains("\nimpl SuiteKind for "))
            });
        assert_eq!(implemented.count(), SUITE_CAPABILITIES.len(), "a kind without a row");
    }
}
