//! Models that are commands: the prompt goes in on standard input, the answer comes out.
//!
//! The command gets a process group of its own, and the whole group is killed when the answer is
//! there, the time is over or nobody waits any more. What it says on standard error is only shown
//! when it fails.

mod prompt;

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::time::Instant;

use crate::answer::{Answer, Timings, Usage};
use crate::canonical::canonical_request;
use crate::error::{ErrorKind, ModelError, excerpt};
use crate::model::{Asking, Billing, Identity, Model};
use crate::price::Cost;
use crate::request::Request;
use crate::secret::{Redactor, Secret};

/// How much of the end of standard error is kept.
const STDERR_TAIL: usize = 4096;

/// What the command reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommandInput {
    /// The conversation as text.
    #[default]
    Prompt,
    /// The request as one JSON object: the canonical form with `purpose`, `label` and `lane`.
    Json,
}

/// What the command writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CommandOutput {
    /// The answer, as text.
    #[default]
    Text,
    /// JSON, with the answer at this pointer. Token counts and cost are taken from `usage` and
    /// `total_cost_usd` where they are (as `claude -p --output-format json` has them).
    Json(String),
}

/// A command.
#[derive(Clone, Debug)]
pub struct CommandConfig {
    /// The program and its arguments; no shell is involved.
    pub argv: Vec<String>,
    /// The folder it runs in.
    pub folder: Option<PathBuf>,
    /// Variables added to its environment.
    pub env: Vec<(String, Secret)>,
    /// What it reads.
    pub input: CommandInput,
    /// What it writes.
    pub output: CommandOutput,
    /// The longest it may take.
    pub timeout: Duration,
    /// The most it may write, in bytes.
    pub max_bytes: usize,
    /// The model's name, for prices and reports.
    pub model: String,
}

impl CommandConfig {
    /// A command that reads a prompt and writes text, within two minutes and 16 MiB.
    pub fn new<S: Into<String>>(argv: impl IntoIterator<Item = S>) -> Self {
        let argv: Vec<String> = argv.into_iter().map(Into::into).collect();
        Self {
            model: argv.first().cloned().unwrap_or_default(),
            argv,
            folder: None,
            env: Vec::new(),
            input: CommandInput::default(),
            output: CommandOutput::default(),
            timeout: Duration::from_mins(2),
            max_bytes: 16 << 20,
        }
    }
}

/// A model that is a command.
#[derive(Debug)]
pub struct CommandModel {
    config: CommandConfig,
    identity: Identity,
    redactor: Redactor,
}

/// Kills the group of a child, whatever becomes of the future that waits for it.
struct Group {
    child: Child,
    leader: Option<Pid>,
}

impl Group {
    /// Waits for the child, then ends whoever it left behind: they would hold its output open.
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

struct Output {
    status: ExitStatus,
    stdout: String,
    stderr: String,
}

impl CommandModel {
    /// A model that runs this command for every request.
    pub fn new(config: CommandConfig) -> Result<Self, ModelError> {
        if config.argv.first().is_none_or(String::is_empty) {
            return Err(ModelError::new(ErrorKind::Config, "the command of a model is empty"));
        }
        let identity = Identity {
            backend: "command",
            model: config.model.clone(),
            billing: Billing::ByTokens,
        };
        let redactor = Redactor::new(config.env.iter().map(|(_, value)| value.clone()));
        Ok(Self { config, identity, redactor })
    }

    fn error(&self, kind: ErrorKind, words: &str) -> ModelError {
        let message = format!("the command `{}` {words}", self.config.argv[0]);
        ModelError::new(kind, self.redactor.text(&message))
    }

    fn spawn(&self) -> Result<Group, ModelError> {
        let mut command = Command::new(&self.config.argv[0]);
        command
            .args(&self.config.argv[1..])
            .envs(self.config.env.iter().map(|(name, value)| (name, value.reveal())))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if let Some(folder) = &self.config.folder {
            command.current_dir(folder);
        }
        let child = command.spawn().map_err(|problem| {
            self.error(ErrorKind::CommandFailed, &format!("cannot be started: {problem}"))
        })?;
        let leader = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Ok(Group { child, leader })
    }

    fn input(&self, request: &Request) -> String {
        match self.config.input {
            CommandInput::Prompt => prompt::write(request),
            CommandInput::Json => {
                let mut value = canonical_request(request, &self.config.model);
                value["purpose"] = request.purpose.as_str().into();
                value["label"] = request.label.clone().into();
                value["lane"] = request.lane.clone().into();
                format!("{value}\n")
            }
        }
    }

    async fn run(&self, request: &Request) -> Result<Output, ModelError> {
        let mut group = self.spawn()?;
        let child = &mut group.child;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let input = self.input(request);
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
        Ok(Output { status, stdout: text(&stdout), stderr: text(&stderr) })
    }

    fn mute(&self, problem: &std::io::Error) -> ModelError {
        self.error(ErrorKind::CommandFailed, &format!("cannot be spoken to: {problem}"))
    }

    /// Reads to the end, or to the limit.
    async fn head(&self, stream: Option<impl AsyncRead + Unpin>) -> Result<Vec<u8>, ModelError> {
        let mut bytes = Vec::new();
        let Some(stream) = stream else { return Ok(bytes) };
        let limit = self.config.max_bytes;
        let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        stream.take(most).read_to_end(&mut bytes).await.map_err(|problem| self.mute(&problem))?;
        if bytes.len() > limit {
            let words = format!("wrote more than {limit} bytes");
            return Err(self.error(ErrorKind::Malformed, &words));
        }
        Ok(bytes)
    }

    async fn answer(&self, request: &Request) -> Result<Answer, ModelError> {
        let began = Instant::now();
        let limit = self.config.timeout;
        let output = tokio::time::timeout(limit, self.run(request)).await.map_err(|_| {
            let words = format!("did not finish within {} s", limit.as_secs_f64());
            self.error(ErrorKind::Timeout, &words)
        })??;
        if !output.status.success() {
            let said = [&output.stderr, &output.stdout].map(|text| excerpt(last_lines(text), 300));
            let said = said.into_iter().find(|text| !text.is_empty());
            let said = said.map_or_else(|| " and said nothing".into(), |text| format!(": {text}"));
            let words = format!("failed ({}){said}", output.status);
            return Err(self.error(ErrorKind::CommandFailed, &words));
        }
        let mut answer = self.understand(&output.stdout)?;
        answer.model.clone_from(&self.config.model);
        answer.timings = Timings { total: began.elapsed(), first_token: None };
        answer.raw = self.redactor.text(&output.stdout);
        Ok(answer)
    }

    fn understand(&self, stdout: &str) -> Result<Answer, ModelError> {
        let malformed = |words: &str| Err(self.error(ErrorKind::Malformed, words));
        let CommandOutput::Json(pointer) = &self.config.output else {
            let text = stdout.trim_end_matches(['\n', '\r']);
            return if text.trim().is_empty() {
                malformed("answered with nothing")
            } else {
                Ok(Answer::text(text))
            };
        };
        let Ok(value) = serde_json::from_str::<Value>(stdout) else {
            return malformed(&format!(
                "answered with text that is not JSON: {}",
                excerpt(stdout, 120)
            ));
        };
        let Some(text) = value.pointer(pointer).and_then(Value::as_str) else {
            return malformed(&format!("answered without a text at `{pointer}`"));
        };
        if value.get("is_error") == Some(&json!(true)) {
            let words = format!("reported an error: {}", excerpt(text, 300));
            return Err(self.error(ErrorKind::CommandFailed, &words));
        }
        let count = |name: &str| value["usage"].get(name).and_then(Value::as_u64);
        let usage =
            count("input_tokens").zip(count("output_tokens")).map(|(input, output)| Usage {
                input_tokens: input,
                output_tokens: output,
                cache_read_tokens: count("cache_read_input_tokens").unwrap_or_default(),
                cache_write_tokens: count("cache_creation_input_tokens").unwrap_or_default(),
            });
        let cost = value.get("total_cost_usd").and_then(Value::as_f64).map(Cost::from_dollars);
        Ok(Answer { usage, cost, ..Answer::text(text) })
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

impl Model for CommandModel {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        Box::pin(self.answer(request))
    }

    fn identity(&self) -> &Identity {
        &self.identity
    }
}
