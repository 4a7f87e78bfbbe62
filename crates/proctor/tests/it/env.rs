//! A sealed place to run the binary in: its own home, its own project, nothing inherited.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) struct TestEnv {
    home: tempfile::TempDir,
    pub(crate) project: PathBuf,
}

/// What a command printed and how it exited, in the form of a terminal.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl TestEnv {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join("project");
        std::fs::create_dir(&project).unwrap();
        std::fs::write(project.join("proctor.toml"), "").unwrap();
        Self { home, project }
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.project.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_proctor"));
        command
            .current_dir(&self.project)
            .env_clear()
            .env("HOME", self.home.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdin(std::process::Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.ran(&self.command().args(arguments).output().unwrap())
    }

    pub(crate) fn ran(&self, output: &Output) -> Ran {
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            text.replace(&*self.home.path().to_string_lossy(), "[HOME]")
        };
        Ran {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }
}

impl Ran {
    /// Everything at once, for snapshots.
    pub(crate) fn terminal(&self) -> String {
        let code = self.code.map_or_else(|| "killed".to_owned(), |code| format!("exit {code}"));
        let part = |name: &str, text: &str| {
            if text.is_empty() { String::new() } else { format!("--- {name}\n{text}") }
        };
        format!("{}{}--- {code}", part("stdout", &self.stdout), part("stderr", &self.stderr))
    }
}

pub(crate) fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
