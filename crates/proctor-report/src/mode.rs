//! Which view suits the place a run is started from.

use std::collections::BTreeSet;

/// A way to show a run while it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The full-screen view.
    Interactive,
    /// Lines as things happen, each with its worker or conversation: for pipes.
    Interleaved,
    /// The same, but the lines of a conversation stand together when it has ended: for CI.
    ByConversation,
    /// One block per example, when it has finished.
    Grouped,
    /// A character per example, failures at the end.
    Quiet,
    /// Failures and one line, as short as can be: for coding agents.
    Terse,
    /// A JSON line per failure and one for the run: for programs.
    AgentLines,
}

/// Properties of the terminal and of the environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TerminalProperties {
    /// Whether standard output is a terminal.
    pub is_terminal: bool,
    /// Its size, if it is one: columns and rows.
    pub size: Option<(u16, u16)>,
    /// The value of `TERM`.
    pub term: Option<String>,
    /// The names of all environment variables that are set and not empty.
    pub variables: BTreeSet<String>,
}

/// Variables that say a continuous-integration service runs us.
pub const CI_VARIABLES: &[&str] = &["CI", "CONTINUOUS_INTEGRATION", "GITHUB_ACTIONS"];

/// Variables that coding agents set for the commands they run.
pub const AGENT_VARIABLES: &[&str] = &[
    "AGENT",
    "AI_AGENT",
    "ANTIGRAVITY_AGENT",
    "AUGMENT_AGENT",
    "CLAUDECODE",
    "CLAUDE_CODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLINE_ACTIVE",
    "CODEX_CI",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID",
    "CURSOR_AGENT",
    "GEMINI_CLI",
    "GOOSE_TERMINAL",
    "OPENCODE",
    "OPENCODE_CLIENT",
];

/// Beginnings of variables that agents set, but people too: for settings in a profile, or because their
/// editor's terminal has them. They count only where output is not a terminal.
pub const AGENT_HINTS: &[&str] = &["AIDER_", "AMP_", "COPILOT_AGENT", "CURSOR_TRACE_ID"];

/// The smallest terminal that the full-screen view is made for.
const MIN_INTERACTIVE_SIZE: (u16, u16) = (80, 24);

/// The view to use when the user did not ask for one.
pub fn auto_mode(terminal: &TerminalProperties) -> Mode {
    if run_by_agent(terminal) {
        Mode::Terse
    } else if is_ci(terminal) {
        Mode::ByConversation
    } else if !can_draw(terminal) {
        Mode::Interleaved
    } else {
        Mode::Interactive
    }
}

fn run_by_agent(terminal: &TerminalProperties) -> bool {
    let hinted = |name: &String| AGENT_HINTS.iter().any(|start| name.starts_with(start));
    AGENT_VARIABLES.iter().any(|name| terminal.variables.contains(*name))
        || (!terminal.is_terminal && terminal.variables.iter().any(hinted))
}

fn is_ci(terminal: &TerminalProperties) -> bool {
    CI_VARIABLES.iter().any(|name| terminal.variables.contains(*name))
}

fn can_draw(terminal: &TerminalProperties) -> bool {
    let large = terminal.size.is_some_and(|(columns, rows)| {
        columns >= MIN_INTERACTIVE_SIZE.0 && rows >= MIN_INTERACTIVE_SIZE.1
    });
    terminal.is_terminal && large && terminal.term.as_deref() != Some("dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(is_terminal: bool, size: (u16, u16), term: &str, variables: &[&str]) -> Mode {
        auto_mode(&TerminalProperties {
            is_terminal,
            size: is_terminal.then_some(size),
            term: Some(term.to_owned()),
            variables: variables.iter().map(ToString::to_string).collect(),
        })
    }

    #[test]
    fn the_table_of_choices() {
        let (tty, pipe, big, xterm) = (true, false, (120, 40), "xterm-256color");
        let table = [
            (tty, big, xterm, &[][..], Mode::Interactive),
            (tty, (80, 24), xterm, &["HOME", "EDITOR"], Mode::Interactive),
            (tty, (79, 24), xterm, &[], Mode::Interleaved),
            (tty, (80, 23), xterm, &[], Mode::Interleaved),
            (tty, big, "dumb", &[], Mode::Interleaved),
            (pipe, big, xterm, &[], Mode::Interleaved),
            (tty, big, xterm, &["CI"], Mode::ByConversation),
            (tty, big, xterm, &["CONTINUOUS_INTEGRATION"], Mode::ByConversation),
            (pipe, big, xterm, &["GITHUB_ACTIONS", "CI"], Mode::ByConversation),
            (pipe, big, xterm, &["CLAUDECODE"], Mode::Terse),
            (tty, big, xterm, &["CURSOR_AGENT", "CURSOR_TRACE_ID"], Mode::Terse),
            (pipe, big, xterm, &["CI", "CODEX_CI"], Mode::Terse),
            (pipe, big, xterm, &["GITHUB_ACTIONS", "COPILOT_AGENT_JOB_ID"], Mode::Terse),
            (pipe, big, xterm, &["AIDER_MODEL"], Mode::Terse),
            // A person in an editor's terminal, or with settings in a profile.
            (tty, big, xterm, &["CURSOR_TRACE_ID"], Mode::Interactive),
            (tty, big, xterm, &["AIDER_MODEL", "AMP_API_KEY"], Mode::Interactive),
            // Names that only look alike.
            (tty, big, xterm, &["SSH_AGENT_PID", "AGENT_ID", "CIRCLE"], Mode::Interactive),
        ];
        for (is_terminal, size, term, variables, expected) in table {
            let mode = chosen(is_terminal, size, term, variables);
            assert_eq!(mode, expected, "{is_terminal} {size:?} {term} {variables:?}");
        }
    }

    #[test]
    fn every_known_agent_gets_few_words() {
        for name in AGENT_VARIABLES {
            assert_eq!(chosen(true, (120, 40), "xterm", &[name]), Mode::Terse, "{name}");
        }
    }

    #[test]
    fn a_terminal_of_unknown_size_is_not_drawn_on() {
        let terminal = TerminalProperties { is_terminal: true, ..TerminalProperties::default() };
        assert_eq!(auto_mode(&terminal), Mode::Interleaved);
    }
}
