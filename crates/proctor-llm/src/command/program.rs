//! Running a program once: input in, output out, no process left behind.
//!
//! The program gets a process group of its own, and the whole group is killed when it has ended, the time is
//! over or the caller stops waiting.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use proctor_text::shorten;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use crate::error::{ErrorKind, ModelError};
use crate::secret::Secret;

/// How much of the end of standard error is kept.
const STDERR_TAIL: usize = 4096;

/// A program to be run once.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// The program and its arguments; no shell is involved.
    pub argv: &'a [String],
    /// The folder it runs in.
    pub folder: Option<&'a Path>,
    /// Variables added to its environment.
    pub env: &'a [(String, Secret)],
    /// The longest it may take.
    pub timeout: Duration,
    /// The most it may write, in bytes.
    pub max_bytes: usize,
}

/// What a program did.
#[derive(Clone, Debug)]
pub struct ProgramOutput {
    /// How it ended.
    pub status: ExitStatus,
    /// What it wrote.
    pub stdout: String,
    /// The end of what it complained about.
    pub stderr: String,
}

impl ProgramOutput {
    /// How it failed and what it said, if it did.
    pub fn failure(&self) -> Option<String> {
        if self.status.success() {
            return None;
        }
        let said = self
            .last_words()
            .map_or_else(|| " and said nothing".into(), |text| format!(": {text}"));
        Some(format!("failed ({}){said}", self.status))
    }

    /// The last lines of what it said, complaints first.
    pub fn last_words(&self) -> Option<String> {
        let said = [&self.stderr, &self.stdout].map(|text| shorten(last_lines(text), 300));
        said.into_iter().find(|text| !text.is_empty())
    }
}

impl Program<'_> {
    /// Runs it with this on its standard input. Its exit status is for the caller to judge.
    pub async fn run(&self, input: &str) -> Result<ProgramOutput, ModelError> {
        let limit = self.timeout;
        tokio::time::timeout(limit, self.run_to_the_end(input)).await.map_err(|_| {
            let words = format!("did not finish within {} s", limit.as_secs_f64());
            self.error(ErrorKind::Timeout, &words)
        })?
    }

    fn error(&self, kind: ErrorKind, words: &str) -> ModelError {
        let program = self.argv.first().map_or("", String::as_str);
        ModelError::new(kind, format!("the command `{program}` {words}"))
    }

    fn mute(&self, problem: &std::io::Error) -> ModelError {
        self.error(ErrorKind::CommandFailed, &format!("cannot be spoken to: {problem}"))
    }

    fn spawn(&self) -> Result<Group, ModelError> {
        let Some((program, arguments)) = self.argv.split_first() else {
            return Err(ModelError::new(ErrorKind::Config, "the command is empty"));
        };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .envs(self.env.iter().map(|(name, value)| (name, value.reveal())))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if let Some(folder) = self.folder {
            command.current_dir(folder);
        }
        let child = command.spawn().map_err(|problem| {
            self.error(ErrorKind::CommandFailed, &format!("cannot be started: {problem}"))
        })?;
        let leader = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Ok(Group { child, leader })
    }

    async fn run_to_the_end(&self, input: &str) -> Result<ProgramOutput, ModelError> {
        let mut group = self.spawn()?;
        let child = &mut group.child;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let write = async move {
            if let Some(mut stdin) = stdin {
                // A command that does not read its input is no failure; its exit code decides.
                let _ = stdin.write_all(input.as_bytes()).await;
            }
            Ok(())
        };
        let ended = async { group.ended().await.map_err(|problem| self.mute(&problem)) };
        // The first failure ends the others: a flood must not wait for a child that waits for us.
        let ((), stdout, stderr, status) =
            tokio::try_join!(write, self.head(stdout), async { Ok(tail(stderr).await) }, ended)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(ProgramOutput { status, stdout: text(&stdout), stderr: text(&stderr) })
    }

    /// Reads to the end, or to the limit.
    async fn head(&self, stream: Option<impl AsyncRead + Unpin>) -> Result<Vec<u8>, ModelError> {
        let mut bytes = Vec::new();
        let Some(stream) = stream else { return Ok(bytes) };
        let limit = self.max_bytes;
        let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        stream.take(most).read_to_end(&mut bytes).await.map_err(|problem| self.mute(&problem))?;
        if bytes.len() > limit {
            let words = format!("wrote more than {limit} bytes");
            return Err(self.error(ErrorKind::Malformed, &words));
        }
        Ok(bytes)
    }
}

/// Kills the group of a child, whatever becomes of the future that waits for it.
struct Group {
    child: Child,
    leader: Option<Pid>,
}

impl Group {
    /// Waits for the child, then ends the processes it left behind: they would hold its output open.
    async fn ended(&mut self) -> std::io::Result<ExitStatus> {
        let status = self.child.wait().await;
        self.end();
        status
    }

    /// Ends the group, once. Later its number might be someone else's.
    fn end(&mut self) {
        if let Some(leader) = self.leader.take() {
            // Gone already is as good.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

/// Reads to the end, keeping the last bytes.
async fn tail(stream: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut kept = Vec::new();
    let Some(mut stream) = stream else { return kept };
    let mut piece = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut piece).await {
        kept.extend_from_slice(&piece[..count]);
        let surplus = kept.len().saturating_sub(STDERR_TAIL);
        kept.drain(..surplus);
    }
    kept
}

/// The last three lines: what a program says before it dies is at the end.
fn last_lines(text: &str) -> &str {
    let text = text.trim_end();
    let start = text.rmatch_indices('\n').nth(2).map_or(0, |(at, _)| at + 1);
    &text[start..]
}
