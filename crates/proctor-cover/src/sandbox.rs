//! Ruby processes with limits: time, output, no network and a process namespace of their own where the kernel allows.
//!
//! State: what was found out about the kernel, once. It does not know what the processes are for.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How Ruby is started.
#[derive(Debug, Clone)]
pub struct Sandbox {
    ruby: PathBuf,
    wrapper: Vec<String>,
}

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
        Self { ruby: ruby.into(), wrapper: wrapper.iter().map(|word| (*word).to_owned()).collect() }
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

fn beginning(file: &mut File) -> io::Result<String> {
    file.seek(SeekFrom::Start(0))?;
    let mut bytes = Vec::new();
    file.take(OUTPUT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
