//! Programs that go on when this process ends, such as a run in the background.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::child_environment::ChildEnvironment;

/// A program that may outlive this process. Its standard input is empty.
#[derive(Debug)]
pub struct DetachedCommand {
    program: OsString,
    arguments: Vec<OsString>,
    environment: ChildEnvironment,
    folder: Option<PathBuf>,
    output: Option<File>,
}

impl DetachedCommand {
    /// A program without arguments, in the current folder, whose outputs are dropped.
    pub fn new(program: impl AsRef<OsStr>, environment: ChildEnvironment) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            arguments: Vec::new(),
            environment,
            folder: None,
            output: None,
        }
    }

    /// Appends arguments.
    #[must_use]
    pub fn args(mut self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn folder(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    /// Writes standard output and error to this file.
    #[must_use]
    pub fn output(mut self, file: File) -> Self {
        self.output = Some(file);
        self
    }

    /// Starts the program. While this process lives, a thread reaps it.
    pub fn start(self) -> io::Result<DetachedProcess> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        self.environment.apply(&mut command);
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        let (stdout, stderr) = match self.output {
            Some(file) => (Stdio::from(file.try_clone()?), Stdio::from(file)),
            None => (Stdio::null(), Stdio::null()),
        };
        command.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
        let mut child = command.spawn()?;
        let pid = child.id();
        // Opened before the child can be reaped, so it names this process and no later one.
        let opened = pidfd_open(Pid::from_child(&child), PidfdFlags::empty());
        let wait = move || drop(child.wait());
        std::thread::Builder::new().name("reap-detached".to_owned()).spawn(wait)?;
        Ok(DetachedProcess { pid, pidfd: opened? })
    }
}

/// A detached program. Dropping the handle does not end it.
#[derive(Debug)]
pub struct DetachedProcess {
    pid: u32,
    pidfd: OwnedFd,
}

impl DetachedProcess {
    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether the program has ended.
    pub fn has_ended(&self) -> io::Result<bool> {
        self.poll(Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))
    }

    /// Kills the program itself, not its children, and waits until it has ended. Blocks.
    pub fn kill(&self) -> io::Result<()> {
        match pidfd_send_signal(self.pidfd.as_fd(), Signal::KILL) {
            Ok(()) => while !self.poll(None)? {},
            Err(rustix::io::Errno::SRCH) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn poll(&self, timeout: Option<&Timespec>) -> io::Result<bool> {
        match poll(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], timeout) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::{Duration, Instant};

    use super::*;

    fn shell(script: &str, environment: ChildEnvironment) -> DetachedCommand {
        DetachedCommand::new("/bin/sh", environment).args(["-c", script])
    }

    fn wait_until(what: &str, condition: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_mins(1);
        while !condition() {
            assert!(Instant::now() < deadline, "waited in vain: {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_detached_program_runs_with_its_environment_and_is_reaped() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let script = "read line || echo no input, $WORD; pwd >&2";
        let process = shell(script, ChildEnvironment::empty().set("WORD", "word"))
            .folder(folder.path())
            .output(File::create(&log).unwrap())
            .start()
            .unwrap();
        let proc = format!("/proc/{}", process.pid());
        wait_until("the program is reaped", || !Path::new(&proc).exists());
        assert!(process.has_ended().unwrap());
        let place = folder.path().canonicalize().unwrap();
        let written = std::fs::read_to_string(&log).unwrap();
        assert_eq!(written, format!("no input, word\n{}\n", place.display()));
    }

    #[test]
    fn a_detached_program_can_be_killed() {
        let process = shell("exec sleep 600", ChildEnvironment::inherited()).start().unwrap();
        assert!(!process.has_ended().unwrap());
        process.kill().unwrap();
        assert!(process.has_ended().unwrap());
        process.kill().unwrap();
    }

    #[test]
    fn a_missing_program_is_an_error() {
        let missing = DetachedCommand::new("/no/such/program", ChildEnvironment::empty()).start();
        assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
