//! What a run sees of the machine: a home of its own, a path, and what the test named. Nothing else.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use crate::config::Config;
use crate::error::{ErrorKind, ToolError};
use crate::registry::Place;

/// Names that hold the isolation up. A test that could set them could take it down.
const RESERVED: &[&str] = &[
    "PATH",
    "HOME",
    "TMPDIR",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_CEILING_DIRECTORIES",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_INDEX_FILE",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "RALPH_CONFIG",
    "RALPH_EVENTS_FILE",
    "RALPH_WORKSPACE_ROOT",
];

/// Checks the names of variables.
pub(crate) fn check(env: &BTreeMap<String, Option<String>>) -> Result<(), ToolError> {
    for (name, value) in env {
        let text = value.as_deref().unwrap_or_default();
        if name.is_empty() || name.contains(['=', '\0']) || text.contains('\0') {
            return Err(ToolError::invalid(format!("env: {name:?} cannot be a variable")));
        }
        if RESERVED.contains(&name.as_str()) || name.starts_with("XDG_") {
            let message = format!("env: {name} is set by the harness: the isolation depends on it");
            return Err(ToolError::new(ErrorKind::NotAllowed, message)
                .hint("leave it out; programs belong on the server's PATH, files into fixtures"));
        }
    }
    Ok(())
}

/// All variables of a run.
pub(crate) fn variables(
    config: &Config,
    place: &Place,
    run: &Path,
    env: &BTreeMap<String, Option<String>>,
) -> Result<Vec<(OsString, OsString)>, ToolError> {
    let home = place.file("home");
    let mut all: Vec<(OsString, OsString)> = Vec::new();
    let mut set = |name: &str, value: OsString| all.push((name.into(), value));
    for (name, folder) in [
        ("XDG_CONFIG_HOME", ".config"),
        ("XDG_DATA_HOME", ".local/share"),
        ("XDG_STATE_HOME", ".local/state"),
        ("XDG_CACHE_HOME", ".cache"),
    ] {
        set(name, home.join(folder).into());
    }
    set("HOME", home.into());
    set("TMPDIR", place.file("tmp").into());
    set("PATH", path(config, run));
    for (name, value) in proctor_process::git::isolated_environment(&place.record.path) {
        set(name, value);
    }
    for (name, value) in [("LANG", "C.UTF-8"), ("TERM", "dumb"), ("NO_COLOR", "1")] {
        set(name, value.into());
    }
    for (name, value) in env {
        let value = match value {
            Some(value) => value.clone(),
            None => inherited(config, name)?,
        };
        all.push((name.into(), value.into()));
    }
    Ok(all)
}

/// Our stand-ins come first: they are what a call of a real model finds.
fn path(config: &Config, run: &Path) -> OsString {
    let folders = std::iter::once(run.join("bin")).chain(std::env::split_paths(&config.path));
    let absolute = folders.filter(|folder| folder.is_absolute());
    std::env::join_paths(absolute).unwrap_or_else(|_| run.join("bin").into())
}

fn inherited(config: &Config, name: &str) -> Result<String, ToolError> {
    config.inheritable.get(name).cloned().ok_or_else(|| {
        let message =
            format!("env: {name} is null, but the server has no such variable to pass on");
        ToolError::new(ErrorKind::MissingCredentials, message)
            .hint("set it where the server is started, or give the value itself")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_the_isolation_up_cannot_be_set() {
        let with = |name: &str| check(&BTreeMap::from([(name.to_owned(), Some("x".to_owned()))]));
        for name in ["HOME", "PATH", "XDG_CONFIG_HOME", "GIT_CEILING_DIRECTORIES", "LD_PRELOAD"] {
            assert_eq!(with(name).unwrap_err().kind, ErrorKind::NotAllowed, "{name}");
        }
        for name in ["", "A=B", "A\0"] {
            assert_eq!(with(name).unwrap_err().kind, ErrorKind::InvalidArgument, "{name:?}");
        }
        assert!(with("ANTHROPIC_API_KEY").is_ok() && with("RALPH_DIAGNOSTICS").is_ok());
    }
}
