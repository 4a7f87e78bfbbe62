//! Custom checks: commands that read a conversation and accept or reject it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use proctor_dialogue::CommandWords;
use proctor_llm::Program;
use proctor_process::Guard;
use serde_json::Value;

use crate::BoxFuture;
use crate::failure::Failure;
use crate::tools::{ConfineCommand, FillPlaceholders, ProgramEnv};

/// How long a check may take.
const CHECK_TIMEOUT: Duration = Duration::from_mins(1);
const MAX_BYTES: usize = 1 << 20;
/// Exit codes by which a shell says that it could not run a program.
const NOT_RUN_EXIT_CODES: [i32; 2] = [126, 127];

/// What a check found: whether it holds, and what was said about it.
pub(crate) type CheckResult = (bool, Option<String>);

/// Commands that look at conversations.
pub trait Checks: Send + Sync {
    /// Gives the conversation to a command; its exit code is the answer.
    fn run<'a>(
        &'a self,
        command: &'a [String],
        conversation: &'a Value,
    ) -> BoxFuture<'a, Result<CheckResult, Failure>>;
}

/// Checks as programs in a folder.
#[derive(Clone)]
pub struct CommandChecks {
    folder: PathBuf,
    guard: Guard,
    fill: Option<FillPlaceholders>,
    env: ProgramEnv,
    confine: Option<ConfineCommand>,
}

impl CommandChecks {
    /// Checks are run in this folder and under this guard.
    pub fn new(folder: impl Into<PathBuf>, guard: Guard) -> Self {
        Self { folder: folder.into(), guard, fill: None, env: Arc::default(), confine: None }
    }

    /// The same, with variables that the checks get.
    pub(crate) fn with_env(mut self, env: ProgramEnv) -> Self {
        self.env = env;
        self
    }

    /// The same, with the placeholders of their commands filled in.
    pub(crate) fn with_placeholders(mut self, fill: FillPlaceholders) -> Self {
        self.fill = Some(fill);
        self
    }

    /// The same, with their commands confined.
    pub(crate) fn with_sandbox(mut self, confine: ConfineCommand) -> Self {
        self.confine = Some(confine);
        self
    }

    async fn run_command(
        &self,
        command: &[String],
        conversation: &Value,
    ) -> Result<CheckResult, Failure> {
        let words = CommandWords(command.to_vec());
        let words = self.fill.as_ref().map_or_else(|| Ok(words.clone()), |fill| fill(&words))?;
        let argv = words.argv();
        let name = format!("the check `{}`", command.join(" "));
        let launcher = self.confine.as_ref().map(|confine| confine(None, name, &argv));
        let launcher = launcher.transpose()?.flatten();
        let program = Program {
            argv: &argv,
            launcher: launcher.as_ref(),
            folder: Some(&self.folder),
            env: &self.env,
            guard: &self.guard,
            timeout: CHECK_TIMEOUT,
            max_bytes: MAX_BYTES,
        };
        let output = program.run(&conversation.to_string()).await?;
        let output_lines = output.last_output_lines();
        match output.status.code() {
            Some(0) => Ok((true, output_lines)),
            Some(code) if !NOT_RUN_EXIT_CODES.contains(&code) => {
                Ok((false, output_lines.or_else(|| Some(format!("exit code {code}")))))
            }
            _ => Err(Failure::harness(format!(
                "the check `{}` {}",
                command.join(" "),
                output.failure().unwrap_or_default()
            ))),
        }
    }
}

impl Checks for CommandChecks {
    fn run<'a>(
        &'a self,
        command: &'a [String],
        conversation: &'a Value,
    ) -> BoxFuture<'a, Result<CheckResult, Failure>> {
        Box::pin(self.run_command(command, conversation))
    }
}
