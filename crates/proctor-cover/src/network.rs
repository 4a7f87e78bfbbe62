//! Ruby without network, for specs that a runner starts.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::sandbox::first_working_command;

/// The command with which the kernel lets this user cut off the network.
#[derive(Debug, Clone, Default)]
pub struct NetworkIsolation {
    /// Empty if there is none.
    wrapper: Vec<String>,
}

/// The program that starts Ruby without network could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}", .path.display())]
pub struct RubyProgramError {
    path: PathBuf,
    source: io::Error,
}

impl NetworkIsolation {
    /// Tries the commands there are.
    #[must_use]
    pub fn detect() -> Self {
        let commands = [&["unshare", "--net"][..], &["unshare", "--map-root-user", "--net"]];
        Self { wrapper: first_working_command(&commands) }
    }

    /// `ruby`, or a program beside the scratch copy `root` that starts it without network.
    pub fn ruby_program(&self, ruby: &str, root: &Path) -> Result<String, RubyProgramError> {
        if self.wrapper.is_empty() {
            return Ok(ruby.to_owned());
        }
        let path = root.parent().unwrap_or(root).join("ruby-without-network");
        let words = self.wrapper.iter().map(String::as_str).chain([ruby]);
        let quoted: Vec<String> =
            words.map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
        let script = format!("#!/bin/sh\nexec {} \"$@\"\n", quoted.join(" "));
        let written = proctor_files::write_private(&path, script)
            .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(0o700)));
        match written {
            Ok(()) => Ok(path.to_string_lossy().into_owned()),
            Err(source) => Err(RubyProgramError { path, source }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proctor_process::{ChildEnvironment, ShortCommand};

    use super::*;

    #[test]
    fn without_isolation_ruby_is_started_itself() {
        let isolation = NetworkIsolation::default();
        assert_eq!(isolation.ruby_program("ruby", Path::new("/no/such")).unwrap(), "ruby");
    }

    #[test]
    fn the_program_passes_its_arguments_on() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("copy");
        fs::create_dir(&root).unwrap();
        let isolation = NetworkIsolation { wrapper: vec!["env".to_owned(), "A=it's".to_owned()] };
        let program = isolation.ruby_program("sh", &root).unwrap();
        let output =
            ShortCommand::new(program, ChildEnvironment::inherited(), Duration::from_mins(1))
                .args(["-c", "echo $A $1", "sh", "a b"])
                .output()
                .unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "it's a b\n");
        let error = isolation.ruby_program("sh", Path::new("/no/such/folder")).unwrap_err();
        assert!(error.to_string().starts_with("cannot write /no/such/ruby"), "{error}");
    }
}
