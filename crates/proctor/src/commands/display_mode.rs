//! The view that suits the terminal.

use std::collections::BTreeSet;
use std::io::IsTerminal as _;

use proctor_report::{Mode, TerminalProperties, auto_mode};

use crate::env_vars;

/// The view to use if no option names one.
pub(super) fn detect() -> Mode {
    let variables: BTreeSet<String> = std::env::vars_os()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, _)| name.to_string_lossy().into_owned())
        .collect();
    auto_mode(&TerminalProperties {
        is_terminal: std::io::stdout().is_terminal(),
        size: proctor_tui::terminal_size(),
        term: env_vars::TERM.get(),
        variables,
    })
}
