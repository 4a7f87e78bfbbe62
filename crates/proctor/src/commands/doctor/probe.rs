//! Asking programs for their version, with a limit on how long they may take.

use std::path::Path;
use std::time::Duration;

use proctor_process::{ChildEnvironment, ShortCommand, ShortCommandError};
use proctor_record::RunStore;

use super::{Check, CheckResult, check};

/// What came of asking.
pub(super) enum Found {
    /// The first line it printed.
    Version(String),
    /// Why there is none.
    No(String),
}

/// How long a program may take to print its version.
const TIME_LIMIT: Duration = Duration::from_secs(5);

pub(super) fn version(program: &str, arguments: &[&str]) -> Found {
    version_in(program, arguments, Path::new("."))
}

pub(super) fn version_in(program: &str, arguments: &[&str], folder: &Path) -> Found {
    let output = ShortCommand::new(program, ChildEnvironment::inherited(), TIME_LIMIT)
        .args(arguments)
        .folder(folder)
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => return Found::No(reason(&error)),
    };
    if output.status.success() {
        let text = String::from_utf8_lossy(&output.stdout);
        return Found::Version(text.lines().next().unwrap_or("installed").trim().to_owned());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("failed");
    Found::No(line.trim().to_owned())
}

fn reason(error: &ShortCommandError) -> String {
    match error {
        ShortCommandError::NotStarted { source, .. }
            if source.kind() == std::io::ErrorKind::NotFound =>
        {
            "not found".to_owned()
        }
        ShortCommandError::NotStarted { source, .. }
        | ShortCommandError::NotRead { source, .. } => source.to_string(),
        ShortCommandError::TimedOut { limit, .. } => {
            format!("did not answer within {} s", limit.as_secs())
        }
    }
}

/// Whether the first version number in a text is this one or newer.
pub(super) fn at_least(text: &str, wanted: (u32, u32)) -> bool {
    let start = text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len());
    let mut numbers = text[start..].split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    let major = numbers.next().and_then(Result::ok).unwrap_or(0);
    let minor = numbers.next().and_then(Result::ok).unwrap_or(0);
    (major, minor) >= wanted
}

/// Whether recordings can be written.
pub(super) fn writable(root: &Path) -> Check {
    let store = RunStore::new(root);
    if let Err(error) = store.check_owner() {
        return check("recordings", CheckResult::Wrong, error.to_string());
    }
    let folder = store.folder();
    let place = if folder.is_dir() { folder } else { root };
    let probe = place.join(format!(".proctor-doctor-{}", std::process::id()));
    match std::fs::write(&probe, "") {
        Ok(()) => {
            let _ = std::fs::remove_file(&probe);
            check("recordings", CheckResult::Ok, format!("go to {}", folder.join("runs").display()))
        }
        Err(error) => check(
            "recordings",
            CheckResult::Wrong,
            format!("cannot write to {}: {error}", place.display()),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::at_least;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(at_least("ruby 3.1.2p20 (2022-04-12)", (3, 0)));
        assert!(at_least("3.12.0", (3, 10)));
        assert!(!at_least("3.9.3", (3, 10)));
        assert!(!at_least("no number", (1, 0)));
    }
}
