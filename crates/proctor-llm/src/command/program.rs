//! Running a program once, under its guard, within a time limit: input in, output out.

use std::path::Path;
use std::time::Duration;

use proctor_process::{
    CaptureError, CapturedOutput, ChildEnvironment, ExitStatus, Guard, ProcessSpec, StartError,
    capture_output,
};
use proctor_redact::Secret;
use proctor_text::shorten;

use crate::error::{ErrorKind, ModelError};

/// A program to be run once.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// The program and its arguments; no shell is involved.
    pub argv: &'a [String],
    /// What starts the program in its place.
    pub launcher: Option<&'a LauncherWords>,
    /// The folder it runs in.
    pub folder: Option<&'a Path>,
    /// Variables added to those that every program under test may have.
    pub env: &'a [(String, Secret)],
    /// What ends it and its children when this process ends.
    pub guard: &'a Guard,
    /// The longest it may take.
    pub timeout: Duration,
    /// The most it may write, in bytes.
    pub max_bytes: usize,
}

/// A command line that is put before another one and runs it, such as a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LauncherWords {
    /// The launcher and its arguments.
    pub words: Vec<String>,
    /// How a line of standard error begins that is the launcher's own. Its exit code is 126 or 127 then.
    pub error_prefix: &'static str,
}

impl LauncherWords {
    /// The whole command line.
    pub fn before(&self, argv: &[String]) -> Vec<String> {
        [&self.words[..], argv].concat()
    }

    /// Why the launcher did not run the program, if it did not.
    fn error<'a>(&self, output: &'a ProgramOutput) -> Option<&'a str> {
        let is_launcher = matches!(output.status.code(), Some(126 | 127));
        let last = output.stderr.lines().last()?;
        last.strip_prefix(self.error_prefix).filter(|_| is_launcher)
    }
}

/// What a program did.
#[derive(Clone, Debug)]
pub struct ProgramOutput {
    /// How it ended.
    pub status: ExitStatus,
    /// What it wrote.
    pub stdout: String,
    /// The end of its standard error.
    pub stderr: String,
}

impl ProgramOutput {
    /// How it failed and its last output, if it failed.
    pub fn failure(&self) -> Option<String> {
        if self.status.success() {
            return None;
        }
        let last_output = self
            .last_output_lines()
            .map_or_else(|| " without output".into(), |text| format!(": {text}"));
        Some(format!("failed ({}){last_output}", self.status))
    }

    /// The last lines of its output; standard error is preferred.
    pub fn last_output_lines(&self) -> Option<String> {
        let outputs = [&self.stderr, &self.stdout].map(|text| shorten(last_lines(text), 300));
        outputs.into_iter().find(|text| !text.is_empty())
    }
}

impl Program<'_> {
    /// Runs it with this on its standard input. Its exit status is for the caller to judge. It is killed with its children when the
    /// time is over or the caller stops waiting.
    pub async fn run(&self, input: &str) -> Result<ProgramOutput, ModelError> {
        if self.argv.is_empty() {
            return Err(ModelError::new(ErrorKind::Config, "the command is empty"));
        }
        let limit = self.timeout;
        let running = capture_output(self.spec(), input.as_bytes(), self.max_bytes);
        let ended = tokio::time::timeout(limit, running).await.map_err(|_| {
            let words = format!("did not finish within {} s", limit.as_secs_f64());
            self.error(ErrorKind::Timeout, &words)
        })?;
        let CapturedOutput { status, stdout, stderr } =
            ended.map_err(|problem| self.capture_error(&problem))?;
        let output = ProgramOutput { status, stdout, stderr };
        if let Some(reason) = self.launcher.and_then(|launcher| launcher.error(&output)) {
            return Err(self.error(ErrorKind::Config, &format!("was not run: {reason}")));
        }
        Ok(output)
    }

    fn spec(&self) -> ProcessSpec {
        let variables = self.env.iter().map(|(name, value)| (name, value.reveal()));
        let environment = ChildEnvironment::allowed().set_all(variables);
        let launched = self.launcher.map(|launcher| launcher.before(self.argv));
        let argv = launched.as_deref().unwrap_or(self.argv);
        let spec = ProcessSpec::new(argv, environment, self.guard.clone());
        match self.folder {
            Some(folder) => spec.cwd(folder),
            None => spec,
        }
    }

    fn error(&self, kind: ErrorKind, words: &str) -> ModelError {
        let program = self.argv.first().map_or("", String::as_str);
        ModelError::new(kind, format!("the command `{program}` {words}"))
    }

    fn capture_error(&self, problem: &CaptureError) -> ModelError {
        match problem {
            CaptureError::NotStarted(StartError::Spawn { error, .. }) => {
                self.error(ErrorKind::CommandFailed, &format!("cannot be started: {error}"))
            }
            CaptureError::NotStarted(problem) => {
                self.error(ErrorKind::CommandFailed, &format!("cannot be started: {problem}"))
            }
            CaptureError::TooMuchOutput { limit } => {
                self.error(ErrorKind::Malformed, &format!("wrote more than {limit} bytes"))
            }
        }
    }
}

/// The last three lines: what a program says before it dies is at the end.
fn last_lines(text: &str) -> &str {
    let text = text.trim_end();
    let start = text.rmatch_indices('\n').nth(2).map_or(0, |(at, _)| at + 1);
    &text[start..]
}
