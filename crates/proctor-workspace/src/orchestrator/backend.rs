//! Which model answers. An allow-list: a name that is not here is never handed to an orchestrator, because
//! at least one of them takes an unknown name for "the default model, with permissions off".

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::config::Config;
use crate::error::{ErrorKind, ToolError};

/// Programs that are models. In a mock run each is replaced by a stand-in that refuses and takes note.
pub(crate) const MODEL_PROGRAMS: &[&str] =
    &["claude", "kiro-cli", "gemini", "codex", "amp", "copilot", "opencode", "pi", "roo", "aider"];

/// Which model answers the orchestrator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// The scripted mock: no model, no network, no cost.
    #[default]
    Mock,
    /// The real `claude` program; `env` must name its credentials.
    Claude,
    /// The real `kiro-cli` program; `env` must name its credentials.
    Kiro,
    /// The real `gemini` program; `env` must name its credentials.
    Gemini,
}

/// What a real backend needs.
pub(crate) struct Needs {
    /// The name by which the orchestrator knows it.
    pub(crate) name: &'static str,
    pub(crate) program: &'static str,
    /// One of these variables must be given.
    pub(crate) credentials: &'static [&'static str],
}

impl Backend {
    /// What a real backend needs; nothing for the mock.
    pub(crate) fn needs(self) -> Option<Needs> {
        let needs = |name, program, credentials| Some(Needs { name, program, credentials });
        match self {
            Self::Mock => None,
            Self::Claude => needs(
                "claude",
                "claude",
                &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
            ),
            Self::Kiro => needs("kiro", "kiro-cli", &["KIRO_API_KEY"]),
            Self::Gemini => needs("gemini", "gemini", &["GEMINI_API_KEY", "GOOGLE_API_KEY"]),
        }
    }

    /// Finds the program of a real backend and makes sure that its credentials were named.
    pub(crate) fn check<'a>(
        self,
        config: &Config,
        mut given: impl Iterator<Item = &'a str>,
    ) -> Result<Option<PathBuf>, ToolError> {
        let Some(needs) = self.needs() else { return Ok(None) };
        let Needs { name, program, credentials } = needs;
        let Some(path) = config.find_program(program) else {
            let message =
                format!("backend {name:?} needs the program {program:?}, which is not on PATH");
            return Err(ToolError::new(ErrorKind::MissingProgram, message)
                .hint("install it, or use backend \"mock\"")
                .details(json!({"program": program})));
        };
        if !given.any(|variable| credentials.contains(&variable)) {
            let names = credentials.join(" or ");
            let message =
                format!("backend {name:?} has no credentials: runs inherit none by themselves");
            return Err(ToolError::new(ErrorKind::MissingCredentials, message)
                .hint(format!("name {names} in env, with null to pass on the server's own value"))
                .details(json!({"credentials": credentials})));
        }
        Ok(Some(path))
    }
}
