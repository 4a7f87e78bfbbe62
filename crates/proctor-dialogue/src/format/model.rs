//! The models behind judge and simulated user, as a scenario or `proctor.toml` describes them.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};

use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::program::CommandWords;
use super::sandbox::Sandbox;
use super::schema::{
    NOT_BLANK, above_zero, demand, exactly_one, given, not_blank, or_nothing, pointer, with,
};
use super::script::{self, ScriptRule, VerdictRule};
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
    text: {"type": "string", "pattern": NOT_BLANK},
    |text| ModelSpec::Named(text.to_owned())
);

/// How to reach a model: exactly one of `anthropic`, `openai`, `command`, `script` and `verdicts`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(transform = model_rules)]
pub struct ModelFields {
    /// A model of Anthropic's messages interface, by name.
    #[schemars(transform = not_blank)]
    pub anthropic: Option<String>,
    /// A model of an OpenAI-compatible chat interface, by name.
    #[schemars(transform = not_blank)]
    pub openai: Option<String>,
    /// A command that reads the prompt and writes the answer, such as `claude -p`.
    pub command: Option<CommandWords>,
    /// For a command: variables added to its environment; `${env:NAME}` takes a variable of the environment.
    pub env: BTreeMap<String, String>,
    /// How the command is confined.
    pub sandbox: Option<Sandbox>,
    /// What a simulated user says, one after the other, or by rule.
    #[schemars(length(min = 1))]
    pub script: Option<Vec<ScriptRule>>,
    /// What a scripted judge answers.
    #[schemars(length(min = 1))]
    pub verdicts: Option<Vec<VerdictRule>>,
    /// The address, where it is not the provider's own.
    pub url: Option<String>,
    /// The variable of the environment that holds the key; the provider's usual one when absent.
    pub key_env: Option<String>,
    /// Further headers; `${env:NAME}` takes a variable of the environment.
    pub headers: BTreeMap<String, String>,
    /// Further members of each request.
    #[schemars(transform = or_nothing)]
    pub extra: Map<String, Value>,
    /// Longest answer, in tokens; 1024 when absent.
    pub max_tokens: Option<NonZeroU32>,
    /// Sampling temperature.
    #[schemars(range(min = 0))]
    pub temperature: Option<f64>,
    /// How long one answer may take; two minutes when absent.
    #[schemars(transform = above_zero)]
    pub timeout: Option<TimeSpan>,
    /// Whether the answer is streamed.
    pub stream: bool,
    /// How often a failing call is tried in all; 4 when absent.
    pub tries: Option<NonZeroU32>,
    /// Requests a minute, for everything that uses this model together.
    pub requests_per_minute: Option<NonZeroU64>,
    /// Tokens a minute, input and output together.
    pub tokens_per_minute: Option<NonZeroU64>,
    /// Requests at the same time.
    pub concurrency: Option<NonZeroU32>,
    /// The price in US dollars for a million tokens, where the built-in table does not know it.
    pub price: Option<PriceSpec>,
    /// For a command: the JSON pointer at which its output has the answer; plain text when absent.
    #[schemars(transform = pointer)]
    pub answer: Option<String>,
    /// For a command: whether it reads the request as JSON instead of a prompt.
    pub json_input: bool,
}

/// A price in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceSpec {
    /// Input.
    #[schemars(range(min = 0))]
    pub input: f64,
    /// Output.
    #[schemars(range(min = 0))]
    pub output: f64,
}

/// The combinations that [`ModelFields::problem`] refuses.
fn model_rules(schema: &mut Schema) {
    exactly_one(schema, &["anthropic", "openai", "command", "script", "verdicts"]);
    demand(schema, with("env", json!({"minProperties": 1})), vec![given("command")]);
    demand(schema, given("answer"), vec![given("command")]);
    demand(schema, given("sandbox"), vec![given("command")]);
    demand(schema, with("json_input", json!({"const": true})), vec![given("command")]);
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
            1 => self.settings_problem(),
            0 => Some(
                "a model needs one of `anthropic`, `openai`, `command`, `script` and `verdicts`",
            ),
            _ => {
                Some("`anthropic`, `openai`, `command`, `script` and `verdicts` exclude each other")
            }
        }
    }

    fn settings_problem(&self) -> Option<&'static str> {
        let name = self.anthropic.as_deref().or(self.openai.as_deref());
        let is_command = self.command.is_some();
        match () {
            () if name.is_some_and(|name| name.trim().is_empty()) => {
                Some("the name of the model is empty")
            }
            () if self.timeout.is_some_and(TimeSpan::is_zero) => {
                Some("`timeout` is 0: no answer would ever be in time")
            }
            () if self.temperature.is_some_and(|temperature| temperature < 0.0) => {
                Some("`temperature` is below 0")
            }
            () if self.price.is_some_and(|price| price.input < 0.0 || price.output < 0.0) => {
                Some("`price` is below 0")
            }
            () if !self.env.is_empty() && !is_command => Some("`env` is for a `command`"),
            () if (self.answer.is_some() || self.json_input) && !is_command => {
                Some("`answer` and `json_input` are for a `command`")
            }
            () if self
                .answer
                .as_ref()
                .is_some_and(|place| !place.is_empty() && !place.starts_with('/')) =>
            {
                Some("`answer` is not a JSON pointer; it begins with `/`")
            }
            () if self.sandbox.is_some() && !is_command => Some("`sandbox` is for a `command`"),
            () => self
                .sandbox
                .as_ref()
                .and_then(Sandbox::problem)
                .or_else(|| self.script.as_deref().and_then(script::rules_problem))
                .or_else(|| self.verdicts.as_deref().and_then(script::verdicts_problem)),
        }
    }
}
