//! The models behind judge and simulated user, as a scenario or `proctor.toml` describes them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::program::Words;
use super::script::{ScriptRule, VerdictRule};
use super::shorthand::text_or_mapping;
use super::values::TimeSpan;

/// A model.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelSpec {
    /// One that `models` names, here or in `proctor.toml`.
    Named(String),
    /// One that is described where it is used.
    Given(Box<ModelFields>),
}

impl From<ModelFields> for ModelSpec {
    fn from(fields: ModelFields) -> Self {
        Self::Given(Box::new(fields))
    }
}

text_or_mapping!(
    ModelSpec,
    ModelFields,
    "the name of a model or a mapping with `anthropic`, `openai`, `command`, `script` or `verdicts`",
    |text| ModelSpec::Named(text.to_owned())
);

/// How to reach a model: exactly one of `anthropic`, `openai`, `command`, `script` and `verdicts`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ModelFields {
    /// A model of Anthropic's messages interface, by name.
    pub anthropic: Option<String>,
    /// A model of an OpenAI-compatible chat interface, by name.
    pub openai: Option<String>,
    /// A command that reads the prompt and writes the answer, such as `claude -p`.
    pub command: Option<Words>,
    /// What a simulated user says, one after the other, or by rule.
    pub script: Option<Vec<ScriptRule>>,
    /// What a scripted judge answers.
    pub verdicts: Option<Vec<VerdictRule>>,
    /// The address, where it is not the provider's own.
    pub url: Option<String>,
    /// The variable of the environment that holds the key; the provider's usual one when absent.
    pub key_env: Option<String>,
    /// Further headers; `${env:NAME}` takes a variable of the environment.
    pub headers: BTreeMap<String, String>,
    /// Further members of each request.
    pub extra: Map<String, Value>,
    /// Longest answer, in tokens; 1024 when absent.
    pub max_tokens: Option<u32>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// How long one answer may take; two minutes when absent.
    pub timeout: Option<TimeSpan>,
    /// Whether the answer is streamed.
    pub stream: bool,
    /// How often a failing call is tried in all; 4 when absent.
    pub tries: Option<u32>,
    /// Requests a minute, for everything that uses this model together.
    pub requests_per_minute: Option<u64>,
    /// Tokens a minute, input and output together.
    pub tokens_per_minute: Option<u64>,
    /// Requests at the same time.
    pub concurrency: Option<u32>,
    /// The price in US dollars for a million tokens, where the built-in table does not know it.
    pub price: Option<PriceSpec>,
    /// For a command: the JSON pointer at which its output has the answer; plain text when absent.
    pub answer: Option<String>,
    /// For a command: whether it reads the request as JSON instead of a prompt.
    pub json_input: bool,
}

/// A price in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceSpec {
    /// Input.
    pub input: f64,
    /// Output.
    pub output: f64,
}

impl ModelFields {
    /// What is wrong with the combination, if anything is.
    pub fn problem(&self) -> Option<&'static str> {
        let kinds = [
            self.anthropic.is_some(),
            self.openai.is_some(),
            self.command.is_some(),
            self.script.is_some(),
            self.verdicts.is_some(),
        ];
        match kinds.iter().filter(|kind| **kind).count() {
            1 => None,
            0 => Some(
                "a model needs one of `anthropic`, `openai`, `command`, `script` and `verdicts`",
            ),
            _ => {
                Some("`anthropic`, `openai`, `command`, `script` and `verdicts` exclude each other")
            }
        }
    }
}
