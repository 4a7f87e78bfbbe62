//! One model of the project, outside of any conversation: for commands that ask a model themselves.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proctor_dialogue::{ModelFields, ScriptRule, Then};
use proctor_llm::{
    Budget, Cost, Jitter, Layers, Model, Player, PriceTable, Recorder, ReplayMode, ReplayedModel,
    Rule, ScriptedModel, ScriptedReply, UnknownPrice, WhenSpent,
};
use proctor_process::Guard;
use proctor_redact::Redactor;

use super::models::{self, MAX_TOKENS, MadeModel, SharedModelParts};
use super::placeholder_values::{Environment, PlaceholderValues};
use super::{Cassette, price};
use crate::failure::Failure;
use crate::sandbox::Sandboxes;

/// What a single model is made with.
pub struct SingleModelSetup {
    /// The project's root: `${root}` and `${here}`, and the folder in which a model's command runs.
    pub root: PathBuf,
    /// The folder of the programs that come with Proctor: `${bin}`.
    pub bin: PathBuf,
    /// What ends a model's command when this process ends.
    pub guard: Guard,
    /// Looks up variables of the environment.
    pub environment: Environment,
    /// Variables that a model's command gets, if they are set.
    pub pass_env: Vec<String>,
    /// What the model may cost in all, in US dollars.
    pub budget_usd: Option<f64>,
    /// Records the model's answers, or takes them from a cassette instead of asking.
    pub cassette: Cassette,
    /// Filters what is recorded.
    pub redactor: Redactor,
    /// Seeds the pauses between tries.
    pub seed: u64,
}

/// A model with its layers, and how it is to be asked.
pub struct SingleModel {
    /// The model.
    pub model: Arc<dyn Model>,
    /// The longest answer, in tokens.
    pub max_tokens: u32,
    /// The temperature that the description states.
    pub temperature: Option<f64>,
}

impl SingleModel {
    /// Makes the model of this name and description.
    pub fn open(
        name: &str,
        fields: &ModelFields,
        setup: SingleModelSetup,
    ) -> Result<Self, Failure> {
        let max_tokens = fields.max_tokens.map_or(MAX_TOKENS, NonZeroU32::get);
        let temperature = fields.temperature;
        let model = match &setup.cassette {
            Cassette::Replay(path, mode) => replay(name, path, *mode, setup.redactor.clone())?,
            Cassette::Off | Cassette::Record(_) => make(name, fields, setup)?,
        };
        Ok(Self { model, max_tokens, temperature })
    }
}

fn replay(
    name: &str,
    path: &Path,
    mode: ReplayMode,
    redactor: Redactor,
) -> Result<Arc<dyn Model>, Failure> {
    let player = Player::load(path, mode, redactor)?;
    Ok(Arc::new(ReplayedModel::new(Arc::new(player), name.to_owned())))
}

fn make(
    name: &str,
    fields: &ModelFields,
    setup: SingleModelSetup,
) -> Result<Arc<dyn Model>, Failure> {
    let redactor = setup.redactor;
    let placeholders = PlaceholderValues {
        here: setup.root.clone(),
        root: setup.root,
        bin: setup.bin,
        port: None,
        model: None,
        environment: setup.environment,
        pass_env: setup.pass_env,
        redactor: redactor.clone(),
        short_secrets: Arc::default(),
    };
    let budget = setup.budget_usd.map(Cost::from_dollars);
    let common = SharedModelParts {
        prices: Arc::new(PriceTable::with_overrides(price(fields).into_iter().collect())),
        budget: budget.map(|limit| Arc::new(Budget::new(limit, UnknownPrice::Refuse))),
        cache: None,
        jitter: Jitter::seeded(setup.seed),
        guard: setup.guard,
        sandboxes: Sandboxes::default(),
    };
    let model = match models::model(fields, name, &placeholders, &common)? {
        MadeModel::Model(model, _, _) => model,
        MadeModel::Script(rules) => Arc::new(scripted(name, &rules)?) as Arc<dyn Model>,
        MadeModel::Verdicts(_) => {
            return Err(Failure::harness(format!(
                "the model `{name}` has `verdicts`, which answer a judge's questions; a scripted model that writes needs `script`"
            )));
        }
    };
    let Cassette::Record(path) = setup.cassette else { return Ok(model) };
    let recorder = Recorder::create(&path, &serde_json::Map::new(), redactor)?;
    Ok(Layers { recorder: Some(Arc::new(recorder)), ..Layers::default() }.wrap(model))
}

/// A model that answers by rules: a rule without `when` is used once, one with it as often as it matches, unless `then` says
/// otherwise.
fn scripted(name: &str, rules: &[ScriptRule]) -> Result<ScriptedModel, Failure> {
    let rules = rules.iter().map(|rule| {
        let pattern = rule.when.as_ref().map(|pattern| regex::Regex::new(pattern.source()));
        let pattern = pattern
            .transpose()
            .map_err(|error| Failure::harness(format!("the model `{name}`: {error}")))?;
        let when_spent = match (rule.then, &pattern) {
            (Some(Then::Stop), _) | (None, None) => WhenSpent::Stop,
            (Some(Then::Repeat), _) | (None, Some(_)) => WhenSpent::RepeatLast,
            (Some(Then::Again), _) => WhenSpent::Cycle,
        };
        let replies = rule.say.iter().map(|say| ScriptedReply::text(say.text.clone())).collect();
        Ok(Rule { pattern, replies, when_spent, ..Rule::default() })
    });
    Ok(ScriptedModel::new(name, rules.collect::<Result<_, Failure>>()?))
}
