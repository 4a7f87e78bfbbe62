//! Programs that are started, read and ended within a time limit, such as `git status` or `ruby --version`, without a runtime.
//!
//! The program runs in a process group of its own. The group is killed when the program has exited or its time is up, and the
//! program is killed when this process dies. A process that leaves the group survives; programs that may do so run under the
//! guard ([`crate::ManagedProcess`]).

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::child_environment::ChildEnvironment;
use crate::sys;

/// How many bytes of each output are kept unless [`ShortCommand::output_limit`] says otherwise.
const OUTPUT_LIMIT: usize = 64 << 20;
/// How long to wait for the end of the outputs after the group was killed: a process that left the group may hold them open.
const DRAIN: Duration = Duration::from_millis(200);

/// A program with a time limit. Its standard input is empty.
#[derive(Debug)]
pub struct ShortCommand {
    program: OsString,
    arguments: Vec<OsString>,
    environment: ChildEnvironment,
    folder: Option<PathBuf>,
    time_limit: Duration,
    output_limit: usize,
}

/// What a program wrote and how it exited.
#[derive(Debug, Clone)]
pub struct ShortOutput {
    /// The exit status; `SIGKILL` if the time limit was reached.
    pub status: ExitStatus,
    /// The beginning of its standard output.
    pub stdout: Vec<u8>,
    /// The beginning of its standard error.
    pub stderr: Vec<u8>,
}

/// Why there is no complete output of a program.
#[derive(Debug, thiserror::Error)]
pub enum ShortCommandError {
    /// The program could not be started.
    #[error("cannot start {program}: {source}")]
    NotStarted {
        /// The program's name or path.
        program: String,
        /// The error of the system call.
        source: io::Error,
    },
    /// The program was killed because it took too long.
    #[error("{program} did not finish within {} s", .limit.as_secs_f64())]
    TimedOut {
        /// The program's name or path.
        program: String,
        /// The time limit.
        limit: Duration,
        /// What it had written until then.
        output: Box<ShortOutput>,
    },
    /// The program's outputs or exit status could not be read. The program was killed.
    #[error("cannot read the output of {program}: {source}")]
    NotRead {
        /// The program's name or path.
        program: String,
        /// The error of the system call.
        source: io::Error,
    },
}

impl From<ShortCommandError> for io::Error {
    fn from(error: ShortCommandError) -> Self {
        let kind = match &error {
            ShortCommandError::NotStarted { source, .. }
            | ShortCommandError::NotRead { source, .. } => source.kind(),
            ShortCommandError::TimedOut { .. } => io::ErrorKind::TimedOut,
        };
        Self::new(kind, error)
    }
}

impl ShortCommand {
    /// A program without arguments, in the current folder.
    pub fn new(
        program: impl AsRef<OsStr>,
        environment: ChildEnvironment,
        time_limit: Duration,
    ) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            arguments: Vec::new(),
            environment,
            folder: None,
            time_limit,
            output_limit: OUTPUT_LIMIT,
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

    /// Keeps at most `bytes` of each output; the rest is read and dropped.
    #[must_use]
    pub fn output_limit(mut self, bytes: usize) -> Self {
        self.output_limit = bytes;
        self
    }

    /// Runs the program to its end. A non-zero exit status is not an error.
    pub fn output(self) -> Result<ShortOutput, ShortCommandError> {
        let program = self.program.to_string_lossy().into_owned();
        let mut child = match self.spawn() {
            Ok(child) => child,
            Err(source) => return Err(ShortCommandError::NotStarted { program, source }),
        };
        let captured = self.capture(&mut child);
        if captured.is_err() {
            kill_group(&child);
        }
        let waited = child.wait();
        let not_read = |source| ShortCommandError::NotRead { program: program.clone(), source };
        let Captured { stdout, stderr, timed_out } = captured.map_err(not_read)?;
        let output = ShortOutput { status: waited.map_err(not_read)?, stdout, stderr };
        if timed_out {
            let (limit, output) = (self.time_limit, Box::new(output));
            return Err(ShortCommandError::TimedOut { program, limit, output });
        }
        Ok(output)
    }

    fn spawn(&self) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        self.environment.apply(&mut command);
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0);
        // This thread waits for the child, so the thread ends before the child only if the process does.
        sys::die_with_this_thread(&mut command);
        command.spawn()
    }

    /// Reads both outputs until the program has exited or its time is up, then kills its group. The child is not reaped.
    fn capture(&self, child: &mut Child) -> io::Result<Captured> {
        let exited = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
        let mut stdout = CapturedPipe::new(child.stdout.take(), self.output_limit);
        let mut stderr = CapturedPipe::new(child.stderr.take(), self.output_limit);
        let deadline = Instant::now() + self.time_limit;
        let mut timed_out = false;
        while !read_ready(Some(&exited), &mut stdout, &mut stderr, deadline)? {
            if Instant::now() >= deadline {
                timed_out = true;
                break;
            }
        }
        // The child is not reaped yet, so its process id still names its group.
        kill_group(child);
        let deadline = Instant::now() + DRAIN;
        while (stdout.is_open() || stderr.is_open()) && Instant::now() < deadline {
            read_ready(None, &mut stdout, &mut stderr, deadline)?;
        }
        Ok(Captured { stdout: stdout.bytes, stderr: stderr.bytes, timed_out })
    }
}

struct Captured {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    timed_out: bool,
}

/// One output of the program.
struct CapturedPipe<P> {
    /// `None` once its end was read.
    pipe: Option<P>,
    bytes: Vec<u8>,
    limit: usize,
}

impl<P: Read + AsFd> CapturedPipe<P> {
    fn new(pipe: Option<P>, limit: usize) -> Self {
        Self { pipe, bytes: Vec::new(), limit }
    }

    fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Reads once. The caller knows that data or the end is there, so this does not block.
    fn read(&mut self) -> io::Result<()> {
        let Some(pipe) = &mut self.pipe else { return Ok(()) };
        let mut chunk = [0; 16 * 1024];
        match pipe.read(&mut chunk) {
            Ok(0) => self.pipe = None,
            Ok(count) => {
                let kept = count.min(self.limit - self.bytes.len());
                self.bytes.extend_from_slice(&chunk[..kept]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Waits for output, the exit or the deadline, and reads the outputs that are ready. Returns whether the program has exited.
fn read_ready(
    exited: Option<&OwnedFd>,
    stdout: &mut CapturedPipe<impl Read + AsFd>,
    stderr: &mut CapturedPipe<impl Read + AsFd>,
    deadline: Instant,
) -> io::Result<bool> {
    let left = deadline.saturating_duration_since(Instant::now());
    let timeout = Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: left.subsec_nanos().into(),
    };
    let (has_exited, stdout_is_ready, stderr_is_ready) = {
        let (out, err) = (stdout.pipe.as_ref(), stderr.pipe.as_ref());
        let fds = [exited.map(AsFd::as_fd), out.map(AsFd::as_fd), err.map(AsFd::as_fd)];
        let mut polled: Vec<PollFd<'_>> =
            fds.iter().flatten().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
        match poll(&mut polled, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut events = polled.iter().map(|fd| !fd.revents().is_empty());
        let mut is_ready = |present: bool| present && events.next() == Some(true);
        (is_ready(fds[0].is_some()), is_ready(fds[1].is_some()), is_ready(fds[2].is_some()))
    };
    if stdout_is_ready {
        stdout.read()?;
    }
    if stderr_is_ready {
        stderr.read()?;
    }
    Ok(has_exited)
}

fn kill_group(child: &Child) {
    // The group is usually empty by now.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    fn shell(script: &str, limit: Duration) -> ShortCommand {
        ShortCommand::new("sh", ChildEnvironment::inherited(), limit).args(["-c", script])
    }

    /// Waits until a process has ended. A killed process stays a zombie until its new parent has read its status.
    fn wait_until_gone(pid: u32) {
        let deadline = Instant::now() + LONG;
        loop {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            if stat.map_or(true, |stat| stat.contains(") Z ")) {
                return;
            }
            assert!(Instant::now() < deadline, "process {pid} is still running");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn outputs_and_status_are_returned() {
        let output = shell("echo out; echo err >&2; exit 3", LONG).output().unwrap();
        assert_eq!((output.stdout, output.stderr), (b"out\n".to_vec(), b"err\n".to_vec()));
        assert_eq!(output.status.code(), Some(3));
    }

    #[test]
    fn an_output_larger_than_a_pipe_does_not_block_the_program() {
        let script = "head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2";
        let output = shell(script, LONG).output().unwrap();
        assert_eq!((output.stdout.len(), output.stderr.len()), (1_000_000, 1_000_000));
    }

    #[test]
    fn output_beyond_the_limit_is_dropped() {
        let output = shell("printf 12345; printf abc >&2", LONG).output_limit(3).output().unwrap();
        assert_eq!((output.stdout, output.stderr), (b"123".to_vec(), b"abc".to_vec()));
        assert!(output.status.success());
    }

    #[test]
    fn a_program_that_takes_too_long_is_killed_and_its_output_kept() {
        let error = shell("echo $$; exec sleep 600", Duration::from_secs(1)).output().unwrap_err();
        assert_eq!(error.to_string(), "sh did not finish within 1 s");
        let ShortCommandError::TimedOut { output, .. } = error else { panic!("{error:?}") };
        let pid = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
        wait_until_gone(pid);
        let error = shell("sleep 600", Duration::from_millis(1)).output().unwrap_err();
        assert_eq!(io::Error::from(error).kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_missing_program_is_named() {
        let missing =
            ShortCommand::new("/no/such/program", ChildEnvironment::inherited(), LONG).output();
        let error = missing.unwrap_err();
        assert!(error.to_string().starts_with("cannot start /no/such/program: "), "{error}");
        assert_eq!(io::Error::from(error).kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn children_left_in_the_group_are_killed() {
        let output = shell("sleep 600 & echo $!", LONG).output().unwrap();
        wait_until_gone(String::from_utf8(output.stdout).unwrap().trim().parse().unwrap());
    }

    #[test]
    fn a_process_that_left_the_group_does_not_hold_up_the_answer() {
        let output = shell("setsid sh -c 'echo $$; exec sleep 600' & sleep 0.2", LONG).output();
        let pid: i32 = String::from_utf8(output.unwrap().stdout).unwrap().trim().parse().unwrap();
        rustix::process::kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    }

    #[test]
    fn the_environment_is_what_the_caller_chose() {
        let environment = ChildEnvironment::empty().set("A", "1").set("B", "2").remove("B");
        let env = ShortCommand::new("/usr/bin/env", environment, LONG);
        assert_eq!(env.output().unwrap().stdout, b"A=1\n");
        let environment = ChildEnvironment::inherited().set_all([("A", "1")]).remove("PATH");
        let env = ShortCommand::new("/usr/bin/env", environment, LONG).output().unwrap();
        let text = String::from_utf8(env.stdout).unwrap();
        assert!(text.lines().any(|line| line == "A=1"), "{text}");
        assert!(!text.lines().any(|line| line.starts_with("PATH=")), "{text}");
    }

    #[test]
    fn the_working_directory_is_the_given_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let output = shell("pwd", LONG).folder(&path).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), path.to_str().unwrap());
    }
}
