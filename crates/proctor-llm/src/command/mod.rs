//! Models that are commands: the prompt goes in on standard input, the answer comes out.
//!
//! How a program is run is in [`Program`]; this file knows what a model reads and writes.

mod program;
mod prompt;

use std::path::{Path, PathBuf};
use std::time::Duration;

use proctor_process::Guard;
use proctor_redact::{Redactor, Secret};
use proctor_text::shorten;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::answer::{Answer, Timings, Usage};
use crate::canonical::{canonical_request, digest, request_hash, sorted};
use crate::error::{ErrorKind, ModelError};
use crate::model::{Billing, Identity, Model, ModelFuture};
use crate::price::Cost;
use crate::request::Request;

pub use self::program::{LauncherWords, Program, ProgramOutput};

/// Files up to this many bytes are looked into for the fingerprint of a command.
const MAX_HASHED_FILE_BYTES: u64 = 1 << 20;

/// What the command reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommandInput {
    /// The conversation as text.
    #[default]
    Prompt,
    /// The request as one JSON object: the canonical form with `purpose`, `label`, `lane` and, for a judge, `mark`.
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
    /// What starts the program in its place; it has no part in the fingerprint.
    pub launcher: Option<LauncherWords>,
    /// The folder it runs in.
    pub folder: Option<PathBuf>,
    /// Variables added to its environment.
    pub env: Vec<(String, Secret)>,
    /// What ends it and its children when this process ends.
    pub guard: Guard,
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
    pub fn new<S: Into<String>>(argv: impl IntoIterator<Item = S>, guard: Guard) -> Self {
        let argv: Vec<String> = argv.into_iter().map(Into::into).collect();
        Self {
            model: argv.first().cloned().unwrap_or_default(),
            argv,
            launcher: None,
            folder: None,
            env: Vec::new(),
            guard,
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
            fingerprint: fingerprint(&config),
        };
        let redactor = Redactor::new(config.env.iter().map(|(_, value)| value.clone()));
        Ok(Self { config, identity, redactor })
    }

    fn error(&self, kind: ErrorKind, words: &str) -> ModelError {
        let message = format!("the command `{}` {words}", self.config.argv[0]);
        ModelError::new(kind, self.redactor.redact_text(&message).into_owned())
    }

    fn input(&self, request: &Request) -> String {
        match self.config.input {
            CommandInput::Prompt => prompt::write(request),
            CommandInput::Json => {
                let mut value = canonical_request(request, &self.config.model);
                value["purpose"] = request.purpose.as_str().into();
                value["label"] = request.label.clone().into();
                value["lane"] = request.conversation.clone().into();
                if let Some(mark) = &request.mark {
                    value["mark"] = mark.clone().into();
                }
                format!("{value}\n")
            }
        }
    }

    async fn answer(&self, request: &Request) -> Result<Answer, ModelError> {
        let began = Instant::now();
        let program = Program {
            argv: &self.config.argv,
            launcher: self.config.launcher.as_ref(),
            folder: self.config.folder.as_deref(),
            env: &self.config.env,
            guard: &self.config.guard,
            timeout: self.config.timeout,
            max_bytes: self.config.max_bytes,
        };
        let clean = |error: ModelError| ModelError {
            message: self.redactor.redact_text(&error.message).into_owned(),
            ..error
        };
        let output = program.run(&self.input(request)).await.map_err(clean)?;
        if let Some(words) = output.failure() {
            return Err(self.error(ErrorKind::CommandFailed, &words));
        }
        let mut answer = self.parse_answer(&output.stdout)?;
        answer.model.clone_from(&self.config.model);
        answer.timings = Timings { total: began.elapsed(), first_token: None };
        answer.raw = self.redactor.redact_text(&output.stdout).into_owned();
        Ok(answer)
    }

    fn parse_answer(&self, stdout: &str) -> Result<Answer, ModelError> {
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
                shorten(stdout, 120)
            ));
        };
        let Some(text) = value.pointer(pointer).and_then(Value::as_str) else {
            return malformed(&format!("answered without a text at `{pointer}`"));
        };
        if value.get("is_error") == Some(&json!(true)) {
            let words = format!("reported an error: {}", shorten(text, 300));
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

/// The command as it will be run. Words that name small files count with what is in them: a judge that is a script is
/// another judge when the script has changed.
fn fingerprint(config: &CommandConfig) -> String {
    let env: Vec<_> = config.env.iter().map(|(name, value)| (name, value.reveal())).collect();
    let folder = config.folder.as_deref();
    let files: Vec<Option<String>> =
        config.argv.iter().map(|word| file_digest(word, folder)).collect();
    let output = match &config.output {
        CommandOutput::Text => None,
        CommandOutput::Json(pointer) => Some(pointer),
    };
    let json_input = config.input == CommandInput::Json;
    let all = json!({
        "argv": config.argv, "files": files, "folder": folder, "env": env,
        "json_input": json_input, "output": output,
    });
    request_hash(&sorted(&all))
}

fn file_digest(word: &str, folder: Option<&Path>) -> Option<String> {
    let path = folder.map_or_else(|| PathBuf::from(word), |folder| folder.join(word));
    proctor_files::read(&path, MAX_HASHED_FILE_BYTES).ok().map(|bytes| digest(&bytes))
}

impl Model for CommandModel {
    fn ask<'a>(&'a self, request: &'a Request) -> ModelFuture<'a> {
        Box::pin(self.answer(request))
    }

    fn identity(&self) -> &Identity {
        &self.identity
    }
}
