//! Ruby processes with limits: time, output, no network and a process namespace of their own where the kernel allows, and
//! no changes to files outside of the folder above the one they run in, where the kernel has Landlock.
//!
//! State: what was found out about the kernel, once. It does not know what the processes are for.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

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

/// How much output is kept of a process.
const OUTPUT: u64 = 8 << 20;

impl Sandbox {
    /// Finds out what the kernel allows. `ruby` is the program to run.
    pub fn new(ruby: impl Into<PathBuf>) -> Self {
        let isolate = ["unshare", "--net", "--pid", "--fork", "--kill-child"];
        let as_user = ["unshare", "--map-root-user", "--net", "--pid", "--fork", "--kill-child"];
        let allowed = |wrapper: &&[&str]| {
            let mut command = Command::new(wrapper[0]);
            command.args(&wrapper[1..]).arg("true");
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        let wrapper = [&isolate[..], &as_user[..]].into_iter().find(allowed).unwrap_or(&[]);
        let ruby = ruby.into();
        let confine = confinement(&ruby).map(Arc::new);
        let wrapper = wrapper.iter().map(|word| (*word).to_owned()).collect();
        Self { ruby, wrapper, confine }
    }

    /// Whether the kernel keeps code from changing files outside of its scratch copy.
    #[must_use]
    pub fn confines_writes(&self) -> bool {
        self.confine.is_some()
    }

    /// What the kernel does not help with, for people.
    #[must_use]
    pub fn shortcomings(&self) -> Vec<String> {
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
        environment: &[(&str, &str)],
        limit: Duration,
    ) -> io::Result<Finished> {
        let mut command = match self.wrapper.split_first() {
            Some((program, rest)) => {
                let mut command = Command::new(program);
                command.args(rest).arg(&self.ruby);
                command
            }
            None => Command::new(&self.ruby),
        };
        let (mut stdout, mut stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
        if let Some(confine) = &self.confine {
            command.arg("-r").arg(confine.as_os_str());
            command.env(WRITABLE, folder.parent().unwrap_or(folder));
        }
        command.args(arguments).current_dir(folder).stdin(Stdio::null());
        command.stdout(Stdio::from(stdout.try_clone()?)).stderr(Stdio::from(stderr.try_clone()?));
        for name in ["RUBYOPT", "RUBYLIB", "BUNDLE_GEMFILE", "SPEC_OPTS"] {
            command.env_remove(name);
        }
        command.env("TMPDIR", folder).env("HOME", folder).env("LC_ALL", "C.UTF-8");
        command.envs(environment.iter().copied());
        command.process_group(0);
        let mut child = command.spawn()?;
        let deadline = Instant::now() + limit;
        let mut timed_out = false;
        let mut pause = Duration::from_millis(2);
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if Instant::now() > deadline {
                timed_out = true;
                break child.kill().and_then(|()| child.wait())?;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        };
        // Without a namespace, what it started may still be there; it shares the group unless it left it.
        if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw)
        {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        Ok(Finished {
            success: status.success() && !timed_out,
            timed_out,
            stdout: beginning(&mut stdout)?,
            stderr: beginning(&mut stderr)?,
        })
    }
}

/// The confining program as a file, if it works with this Ruby and this kernel.
fn confinement(ruby: &Path) -> Option<tempfile::TempPath> {
    let mut file =
        tempfile::Builder::new().prefix("proctor-confine-").suffix(".rb").tempfile().ok()?;
    file.write_all(CONFINE.as_bytes()).ok()?;
    let path = file.into_temp_path();
    let folder = tempfile::tempdir().ok()?;
    let mut command = Command::new(ruby);
    command.arg("--disable-gems").arg("-r").arg(&*path).arg("-e").arg("exit ProctorConfine.on?");
    command.env(WRITABLE, folder.path()).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success()).then_some(path)
}

fn beginning(file: &mut File) -> io::Result<String> {
    file.seek(SeekFrom::Start(0))?;
    let mut bytes = Vec::new();
    file.take(OUTPUT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
