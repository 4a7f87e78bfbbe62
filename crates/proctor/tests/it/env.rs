//! A sealed place to run the binary in: its own home, its own project, nothing inherited.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::recorded::Recorded;

pub(crate) struct TestEnv {
    home: tempfile::TempDir,
    pub(crate) project: PathBuf,
}

/// What a command printed and how it exited, in the form of a terminal.
#[must_use = "a command whose outcome is not looked at shows nothing"]
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

    /// A project that is a copy of one of the suites in `ruby/spec/fixtures`.
    pub(crate) fn with_fixture(name: &str) -> Self {
        let env = Self::new();
        copy_tree(&repository().join("ruby/spec/fixtures").join(name), &env.project);
        env
    }

    /// Puts a copy of a folder of the repository into the project.
    pub(crate) fn copy(&self, folder: &str) {
        copy_tree(&repository().join(folder), &self.project.join(folder));
    }

    /// A project with one spec file.
    pub(crate) fn with_spec(text: &str) -> Self {
        let env = Self::new();
        env.write("spec/a_spec.rb", text);
        env
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.project.join(name)).unwrap_or_default()
    }

    /// The newest recording.
    pub(crate) fn recorded(&self) -> Recorded {
        Recorded::open(&self.events_path().expect("a recording"))
    }

    /// Where the newest run records, once it does.
    pub(crate) fn events_path(&self) -> Option<PathBuf> {
        let runs = std::fs::read_dir(self.project.join(".proctor/runs")).ok()?;
        let newest = runs.flatten().map(|entry| entry.path()).max()?;
        Some(newest.join("events.jsonl"))
    }

    /// Starts the binary and does not wait.
    pub(crate) fn spawn(&self, arguments: &[&str]) -> Child {
        self.command()
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Waits until the newest recording has this.
    pub(crate) fn wait_for(&self, what: &str, seen: impl Fn(&Recorded) -> bool) -> Recorded {
        let mut found = None;
        wait_until(what, || {
            let Some(path) = self.events_path().filter(|path| path.exists()) else { return false };
            let recorded = Recorded::open(&path);
            let enough = seen(&recorded);
            found = Some(recorded);
            enough
        });
        found.unwrap()
    }

    /// Processes that were started in this home, whoever their parent is now: pid and command line.
    pub(crate) fn processes(&self) -> Vec<(i32, String)> {
        let home = self.home.path().to_string_lossy().into_owned();
        let mark = format!("HOME={home}\0");
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse() else { continue };
            let Ok(variables) = std::fs::read(entry.path().join("environ")) else { continue };
            if String::from_utf8_lossy(&variables).contains(&mark) {
                let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
                let command = String::from_utf8_lossy(&command).replace('\0', " ");
                found.push((pid, command));
            }
        }
        found
    }

    /// Fails unless every process of this home is gone very soon.
    pub(crate) fn assert_no_process_left(&self) {
        let deadline = Instant::now() + Duration::from_secs(5);
        while Instant::now() < deadline && !self.processes().is_empty() {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(self.processes(), []);
    }

    /// `validate last` must find nothing wrong: everything is there, and as it was written.
    pub(crate) fn assert_complete(&self) {
        let ran = self.run(&["validate", "last"]);
        assert_eq!(ran.code, Some(0), "{}", ran.terminal());
        let states = [": complete, digest matches", ": interrupted, digest matches"];
        let whole = states.iter().any(|state| ran.stdout.contains(state));
        assert!(whole, "{}", ran.terminal());
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

    /// The terminal after a command, without what differs from run to run: paths, ids, times, commits.
    #[must_use]
    pub(crate) fn screen(&self, arguments: &[&str]) -> String {
        let mut text = self.run(arguments).terminal();
        for (pattern, stands_for) in [
            (r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?(\.\d+)?Z?", "[DATE]"),
            (r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b", "[RUN]"),
            (r"\b[0-9a-f]{8}-[0-9a-f]{4}\b", "[RUN]"),
            (r"\b(ghap|session)_\d{8}_\d{6}_[0-9a-z]{6}\b", "[ENTRY]"),
            (r"(?m)^[0-9a-f]{8}  ", "[RUN]  "),
            (r"\b\d+(\.\d+)? (µs|ms|s|min)\b", "[TIME]"),
            (r"typically × [0-9.]+", "typically × [FACTOR]"),
            (r"(?m) +$", ""),
        ] {
            text = regex::Regex::new(pattern).unwrap().replace_all(&text, stands_for).into_owned();
        }
        text
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

/// Waits for a condition, with a deadline that only a hang can miss.
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(40);
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn kill(pid: i32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    // It may have ended by itself.
    let _ = rustix::process::kill_process(pid, signal);
}

/// Sends a signal to a child of ours.
pub(crate) fn signal(child: &Child, signal: rustix::process::Signal) {
    kill(i32::try_from(child.id()).unwrap(), signal);
}

fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

pub(crate) fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[track_caller]
pub(crate) fn assert_code(ran: &Ran, code: i32) {
    assert_eq!(ran.code, Some(code), "{}", ran.terminal());
}
