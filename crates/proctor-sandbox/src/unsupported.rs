//! Systems without a sandbox: nothing can be had, and nothing is run.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use crate::abilities::Abilities;
use crate::launcher::PROBE;

const REASON: &str = "the sandbox needs Linux";

/// Says that nothing can be had; refuses to run anything.
pub fn launcher_main(
    arguments: impl IntoIterator<Item = OsString>,
    _variable: &dyn Fn(&str) -> Option<OsString>,
) -> ExitCode {
    if arguments.into_iter().next().is_some_and(|mode| mode == PROBE) {
        let text = serde_json::to_vec(&Abilities::none(REASON)).unwrap_or_default();
        return match std::io::stdout().write_all(&text) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    // The reader may be gone; the exit code says it too.
    let _ = writeln!(std::io::stderr(), "{}{REASON}", crate::ERROR_PREFIX);
    ExitCode::from(crate::NOT_CONFINED)
}
