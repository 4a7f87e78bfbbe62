//! From the description of a model to the model with its layers.

use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;
use std::time::Duration;

use proctor_dialogue::{ModelFields, ScriptRule};
use proctor_endpoint::Forward;
use proctor_llm::wire::Dialect;
use proctor_llm::{
    Budget, Cache, CommandConfig, CommandInput, CommandModel, CommandOutput, Endpoint, HttpModel,
    Jitter, Layers, Limits, Model, PriceTable, RequestLimiter, RetryPolicy,
};
use proctor_process::Guard;
use proctor_redact::{Redactor, Secret};

use super::placeholder_values::PlaceholderValues;
use crate::failure::Failure;
use crate::judge::{Judge, ModelJudge, ScriptedJudge};
use crate::sandbox::{ConfinedProgram, ProgramUse, Sandboxes};
use crate::simulator::{ModelSimulator, ScriptedSimulator, Simulator};

const ANSWER_TIMEOUT: Duration = Duration::from_mins(2);
/// The longest answer in tokens, where the description sets none.
pub(super) const MAX_TOKENS: u32 = 1024;

/// What all models of a run share.
#[derive(Clone)]
pub(super) struct SharedModelParts {
    pub(super) prices: Arc<PriceTable>,
    pub(super) budget: Option<Arc<Budget>>,
    pub(super) cache: Option<Arc<Cache>>,
    pub(super) jitter: Jitter,
    /// Of models that are commands.
    pub(super) guard: Guard,
    pub(super) sandboxes: Sandboxes,
}

/// A model that was made once and is used by many.
#[derive(Clone)]
pub(super) enum MadeModel {
    /// A model to be prompted.
    Model(Arc<dyn Model>, Option<u32>, Option<f64>),
    /// A script of verdicts.
    Verdicts(Arc<ScriptedJudge>),
    /// A script of messages.
    Script(Arc<[ScriptRule]>),
}

impl MadeModel {
    pub(super) fn judge(self, redactor: &Redactor) -> Result<Arc<dyn Judge>, Failure> {
        match self {
            Self::Model(model, max_tokens, temperature) => {
                Ok(Arc::new(ModelJudge::new(model, max_tokens, temperature, redactor.clone())))
            }
            Self::Verdicts(judge) => Ok(judge),
            Self::Script(_) => Err(Failure::harness(
                "the judge's model has a `script`; a scripted judge needs `verdicts`",
            )),
        }
    }

    pub(super) fn simulator(self, redactor: &Redactor) -> Result<Arc<dyn Simulator>, Failure> {
        match self {
            Self::Model(model, max_tokens, temperature) => {
                Ok(Arc::new(ModelSimulator::new(model, max_tokens, temperature, redactor.clone())))
            }
            Self::Script(rules) => Ok(Arc::new(ScriptedSimulator::new(rules))),
            Self::Verdicts(_) => Err(Failure::harness(
                "the simulator's model has `verdicts`; a scripted user needs `script`",
            )),
        }
    }
}

pub(super) fn model(
    fields: &ModelFields,
    name: &str,
    placeholders: &PlaceholderValues,
    common: &SharedModelParts,
) -> Result<MadeModel, Failure> {
    if let Some(problem) = fields.problem() {
        return Err(Failure::harness(format!("the model `{name}`: {problem}")));
    }
    if let Some(rules) = &fields.verdicts {
        return Ok(MadeModel::Verdicts(Arc::new(ScriptedJudge::new(name, rules.clone()))));
    }
    if let Some(rules) = &fields.script {
        return Ok(MadeModel::Script(rules.clone().into()));
    }
    let layers = layers(fields, common);
    let model = match &fields.command {
        Some(_) => layers.wrap(command(fields, name, placeholders, common)?),
        None => layers.wrap(http(fields, placeholders)?),
    };
    let max_tokens = Some(fields.max_tokens.map_or(MAX_TOKENS, NonZeroU32::get));
    Ok(MadeModel::Model(model, max_tokens, fields.temperature))
}

fn layers(fields: &ModelFields, common: &SharedModelParts) -> Layers {
    let limits = Limits {
        requests_per_minute: fields.requests_per_minute.map(NonZeroU64::get),
        tokens_per_minute: fields.tokens_per_minute.map(NonZeroU64::get),
        concurrency: fields.concurrency.map(|count| count.get() as usize),
    };
    let mut policy = RetryPolicy::default();
    if let Some(tries) = fields.tries {
        policy.max_tries = tries.get();
    }
    Layers {
        limiter: (limits != Limits::default()).then(|| Arc::new(RequestLimiter::new(limits))),
        wait: None,
        retry: Some((policy, common.jitter.clone())),
        prices: Some(Arc::clone(&common.prices)),
        budget: common.budget.clone(),
        cache: common.cache.clone(),
        recorder: None,
    }
}

/// The model of this description for calls that an agent writes itself.
pub(super) fn forward(
    fields: &ModelFields,
    placeholders: &PlaceholderValues,
    common: &SharedModelParts,
) -> Result<Arc<Forward>, Failure> {
    if let Some(problem) = fields.problem() {
        return Err(Failure::harness(format!("the model that the agent's calls go to: {problem}")));
    }
    if fields.anthropic.is_none() && fields.openai.is_none() {
        return Err(Failure::harness(
            "the calls of an agent can be forwarded to a model with `openai` or `anthropic` only",
        ));
    }
    let model = Arc::new(http(fields, placeholders)?);
    Ok(Arc::new(Forward::new(model, layers(fields, common))))
}

fn http(fields: &ModelFields, placeholders: &PlaceholderValues) -> Result<HttpModel, Failure> {
    let (dialect, model, usual) = match (&fields.anthropic, &fields.openai) {
        (Some(model), _) => (Dialect::Anthropic, model, "ANTHROPIC_API_KEY"),
        (None, Some(model)) => (Dialect::OpenAi, model, "OPENAI_API_KEY"),
        (None, None) => {
            return Err(Failure::harness("the model has no backend; this is a bug in proctor"));
        }
    };
    let variable = fields.key_env.as_deref().unwrap_or(usual);
    // The provider's usual variable is used for the provider's own endpoint only.
    let wanted = fields.key_env.is_some() || fields.url.is_none();
    let key = wanted.then(|| (placeholders.environment)(variable)).flatten();
    let key = key.map(|value| placeholders.learn_secret(variable, &value));
    let mut endpoint = match dialect {
        Dialect::Anthropic => Endpoint::anthropic(model, key),
        Dialect::OpenAi => Endpoint::openai(model, key),
    };
    endpoint.key_hint = format!("set {variable}");
    if let Some(url) = &fields.url {
        endpoint.url = placeholders.text(url)?;
    }
    for (header, value) in &fields.headers {
        endpoint.headers.push((header.clone(), Secret::new(placeholders.text(value)?)));
    }
    (endpoint.stream, endpoint.extra) = (fields.stream, fields.extra.clone());
    endpoint.timeout = fields.timeout.map_or(ANSWER_TIMEOUT, |span| span.0);
    endpoint.idle_timeout = endpoint.idle_timeout.min(endpoint.timeout);
    Ok(HttpModel::new(dialect, endpoint)?)
}

fn command(
    fields: &ModelFields,
    name: &str,
    placeholders: &PlaceholderValues,
    common: &SharedModelParts,
) -> Result<CommandModel, Failure> {
    let words = placeholders.words(&fields.command.clone().unwrap_or_default())?;
    let mut config = CommandConfig::new(words.argv(), common.guard.clone());
    let program = ConfinedProgram {
        name: format!("the model `{name}`"),
        argv: &config.argv,
        path: None,
        used: ProgramUse::Once,
    };
    let sandbox = fields.sandbox.as_ref();
    config.launcher =
        common.sandboxes.launcher_words(sandbox, &program, placeholders, &common.guard)?;
    config.model = words.0.first().cloned().unwrap_or_default();
    config.folder = Some(placeholders.root.clone());
    let env = placeholders.program_env(&fields.env)?.into_iter();
    config.env = env.map(|(name, value)| (name, Secret::new(value))).collect();
    config.timeout = fields.timeout.map_or(ANSWER_TIMEOUT, |span| span.0);
    if fields.json_input {
        config.input = CommandInput::Json;
    }
    if let Some(pointer) = &fields.answer {
        config.output = CommandOutput::Json(pointer.clone());
    }
    Ok(CommandModel::new(config)?)
}
