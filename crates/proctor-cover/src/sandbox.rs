//! Ruby processes with limits: time, output, no network and a process namespace of their own where the kernel allows, and
//! no changes to files outside of the folder above the one they run in, where the kernel has Landlock.
//!
//! State: what was found out about the kernel, once. It does not know what the processes are for.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use proctor_process::{ChildEnvironment, ShortCommand, ShortCommandError, ShortOutput};

/// How Ruby is started.
#[derive(Debug, Clone)]
pub struct Sandbox {
    ruby: PathBuf,
    wrapper: Vec<String>,
    /// The program that gives up the right to write, where the kernel takes it.
    confine: Option<Arc<tempfile::TempPath>>,
}

/// Loaded into every Ruby before anything else.
const CONFINE: &str = include_str!("../ruby/confine.rb");
/// Names the folder below which files may be changed.
const WRITABLE: &str = "PROCTOR_COVER_WRITABLE";

/// What a process left behind.
#[derive(Debug, Clone)]
pub struct Finished {
    /// Whether it ended by itself with code 0.
    pub success: bool,
    /// Whether it was ended because it took too long.
    pub timed_out: bool,
    /// The beginning of its standard output.
    pub stdout: String,
    /// The beginning of its standard error.
    pub stderr: String,
}

/// How many bytes of each output are kept.
const MAX_OUTPUT_BYTES: usize = 8 << 20;
/// How long a question about the kernel may take.
const PROBE_LIMIT: Duration = Duration::from_secs(30);

impl Sandbox {
    /// Finds out what the kernel allows. `ruby` is the program to run.
    pub fn new(ruby: impl Into<PathBuf>) -> Self {
        let isolate = ["unshare", "--net", "--pid", "--fork", "--kill-child"];
        let as_user = ["unshare", "--map-root-user", "--net", "--pid", "--fork", "--kill-child"];
        let wrapper = first_working_command(&[&isolate[..], &as_user[..]]);
        let ruby = ruby.into();
        let confine = confinement(&ruby).map(Arc::new);
        Self { ruby, wrapper, confine }
    }

    /// Whether the kernel keeps code from changing files outside of its scratch copy.
    #[must_use]
    pub fn confines_writes(&self) -> bool {
        self.confine.is_some()
    }

    /// What the kernel does not help with, for people.
    #[must_use]
    pub fn missing_isolation(&self) -> Vec<String> {
        let mut found = Vec::new();
        if !self.is_isolated() {
            found.push("the kernel allows no namespaces: network and processes are kept off by our guard only".to_owned());
        }
        if !self.confines_writes() {
            found.push("the kernel has no Landlock: code that writes to absolute paths while it is loaded reaches them".to_owned());
        }
        found
    }

    /// Whether network and processes are cut off by the kernel, rather than only by our guard.
    #[must_use]
    pub fn is_isolated(&self) -> bool {
        !self.wrapper.is_empty()
    }

    /// Runs Ruby and waits, at most for `limit`. Nothing of it is left running.
    pub fn run(
        &self,
        arguments: &[OsString],
        folder: &Path,
        variables: &[(&str, &str)],
        limit: Duration,
    ) -> io::Result<Finished> {
        let mut environment = ChildEnvironment::allowed();
        for name in ["RUBYOPT", "RUBYLIB", "BUNDLE_GEMFILE", "SPEC_OPTS"] {
            environment = environment.remove(name);
        }
        environment =
            environment.set("TMPDIR", folder).set("HOME", folder).set("LC_ALL", "C.UTF-8");
        let mut confining: Vec<&OsStr> = Vec::new();
        if let Some(confine) = &self.confine {
            confining.extend([OsStr::new("-r"), confine.as_os_str()]);
            environment = environment.set(WRITABLE, folder.parent().unwrap_or(folder));
        }
        environment = environment.set_all(variables.iter().copied());
        let mut argv = self.wrapper.iter().map(OsStr::new).chain([self.ruby.as_os_str()]);
        let Some(program) = argv.next() else { return Err(io::ErrorKind::InvalidInput.into()) };
        let output = ShortCommand::new(program, environment, limit)
            .args(argv)
            .args(confining)
            .args(arguments)
            .folder(folder)
            .output_limit(MAX_OUTPUT_BYTES)
            .output();
        match output {
            Ok(output) => Ok(Finished::new(&output, false)),
            Err(ShortCommandError::TimedOut { output, .. }) => Ok(Finished::new(&output, true)),
            Err(error) => Err(error.into()),
        }
    }
}

impl Finished {
    fn new(output: &ShortOutput, timed_out: bool) -> Self {
        Self {
            success: output.status.success() && !timed_out,
            timed_out,
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// The first command under which `true` runs; empty if there is none.
pub(crate) fn first_working_command(commands: &[&[&str]]) -> Vec<String> {
    let works = |command: &&&[&str]| {
        ShortCommand::new(command[0], ChildEnvironment::allowed(), PROBE_LIMIT)
            .args(&command[1..])
            .args(["true"])
            .output()
            .is_ok_and(|output| output.status.success())
    };
    let found = commands.iter().find(works).copied().unwrap_or_default();
    found.iter().map(|word| (*word).to_owned()).collect()
}

/// The confining program as a file, if it works with this Ruby and this kernel.
fn confinement(ruby: &Path) -> Option<tempfile::TempPath> {
    let mut file =
        tempfile::Builder::new().prefix("proctor-confine-").suffix(".rb").tempfile().ok()?;
    file.write_all(CONFINE.as_bytes()).ok()?;
    let path = file.into_temp_path();
    let folder = tempfile::tempdir().ok()?;
    let environment = ChildEnvironment::allowed().set(WRITABLE, folder.path());
    let output = ShortCommand::new(ruby, environment, PROBE_LIMIT)
        .args(["--disable-gems".as_ref(), "-r".as_ref(), path.as_os_str()])
        .args(["-e", "exit ProctorConfine.on?"])
        .output();
    output.is_ok_and(|output| output.status.success()).then_some(path)
}
