//! What each kind of suite can report, as one table. What a suite cannot report is unknown, and is said to be where
//! somebody asks for it.

/// A kind of suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuiteKind {
    /// RSpec, preloaded or not, and plain `rspec` with the library.
    Rspec,
    /// A program that speaks the worker protocol.
    Program,
    /// Conversations.
    Scenario,
    /// Tests of an orchestrator.
    Workspace,
}

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
    pub kind: SuiteKind,
    pub name: &'static str,
    pub names: Reported,
    pub durations: Reported,
    /// What an example prints, told apart from what others print.
    pub output: Reported,
    /// How many checks decided an attempt.
    pub checks: Reported,
}

use Reported::{Always, IfSaid, Never};

/// The table. `docs/running.md` shows it to users.
pub const SUITE_CAPABILITIES: [SuiteCapabilities; 4] = [
    SuiteCapabilities {
        kind: SuiteKind::Rspec,
        name: "RSpec",
        names: Always,
        durations: Always,
        output: Always,
        checks: Never,
    },
    SuiteCapabilities {
        kind: SuiteKind::Program,
        name: "program",
        names: Always,
        durations: IfSaid("measured from outside"),
        output: IfSaid("its worker's"),
        checks: IfSaid("unknown"),
    },
    SuiteCapabilities {
        kind: SuiteKind::Scenario,
        name: "scenario",
        names: Always,
        durations: Always,
        output: Always,
        checks: Always,
    },
    SuiteCapabilities {
        kind: SuiteKind::Workspace,
        name: "workspace",
        names: Always,
        durations: Always,
        output: Never,
        checks: Always,
    },
];

impl SuiteKind {
    /// Its row of the table.
    pub fn capabilities(self) -> SuiteCapabilities {
        let row = SUITE_CAPABILITIES.iter().find(|row| row.kind == self);
        *row.unwrap_or_else(|| unreachable!("every kind has a row; the test below counts them"))
    }
}

/// What is to be said of a suite whose examples shall not pass unchecked and who does not tell what they check.
pub(crate) fn unchecked_is_unknown(kind: SuiteKind, name: &str) -> Option<String> {
    match kind.capabilities().checks {
        Always => None,
        IfSaid(_) => Some(format!(
            "--unchecked fail says nothing about examples of `{name}` that do not report how many checks they made"
        )),
        Never => Some(format!(
            "--unchecked fail says nothing about `{name}`: it does not tell whether an example checked anything"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_row() {
        for kind in
            [SuiteKind::Rspec, SuiteKind::Program, SuiteKind::Scenario, SuiteKind::Workspace]
        {
            assert_eq!(kind.capabilities().kind, kind);
        }
    }
}
