//! A model that fills what is left: one of `[models]` in proctor.toml, recorded to or replayed from a cassette.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proctor_cover::{Answer, FillRequest, Filler};
use proctor_dialogue::{ModelFields, ScriptRule, Then};
use proctor_events::{Bus, Event, ModelCall};
use proctor_llm::wire::Dialect;
use proctor_llm::{
    Budget, CommandConfig, CommandInput, CommandModel, CommandOutput, Cost, Endpoint, Gate,
    HttpModel, Jitter, Layers, Limits, Message, Model, ModelError, Player, Price, PriceTable,
    Purpose, Recorder, Redactor, Replay, ReplayMode, Request, RetryPolicy, Rule, ScriptedModel,
    ScriptedReply, Secret, UnknownPrice, WhenSpent,
};
use regex::Regex;

use crate::cli::cover::CoverArguments;
use crate::config::Config;
use crate::error::CommandError;

const ANSWER_WITHIN: Duration = Duration::from_mins(2);
const MAX_TOKENS: u32 = 1024;

const SYSTEM: &str = "\
You complete RSpec examples for Ruby code. You are given one situation of one method: its source, the decisions on the way, and the description of \
the example that is missing. Write the lines between `do` and `end` of that one example: plain setup, one call of the method, one exact expectation.
Rules: use described_class; no describe, context, it, let, before, require, class or def; no any_instance, sleep, present time or random values; stub other \
classes with instance_double or allow(Class).to receive(:method). The example is run: it must pass, take exactly the stated path, and fail when the \
code is slightly changed, so expect exact values.
Answer with one JSON object and nothing else: {\"description\": \"present tense, third person\", \"body\": \"the lines\"}";

/// The model behind `--model`.
pub(super) struct ModelFiller {
    model: Arc<dyn Model>,
    runtime: tokio::runtime::Runtime,
    bus: Bus,
    max_tokens: u32,
    temperature: Option<f64>,
}

impl ModelFiller {
    /// The model that the arguments name.
    pub(super) fn open(
        arguments: &CoverArguments,
        config: &Config,
        root: &Path,
        bus: &Bus,
    ) -> Result<Option<Self>, CommandError> {
        let Some(name) = &arguments.model else {
            if arguments.replay.is_some() || arguments.record.is_some() {
                return Err(CommandError::unusable("--record and --replay are about a model")
                    .hint("name it with --model"));
            }
            return Ok(None);
        };
        let known = &config.talk.models;
        let fields = known.get(name).ok_or_else(|| {
            let names: Vec<&str> = known.keys().map(String::as_str).collect();
            let error = CommandError::unusable(format_args!(
                "--model {name}: there is no [models.{name}] in proctor.toml"
            ));
            if names.is_empty() {
                error.hint("describe one, for example: [models.writer] command = \"claude -p\"")
            } else {
                error.hint(format!("there are: {}", names.join(", ")))
            }
        })?;
        let unusable =
            |problem: String| CommandError::unusable(format_args!("--model {name}: {problem}"));
        let model = match &arguments.replay {
            Some(path) => {
                let player = Player::load(path, ReplayMode::Sequence, Redactor::default())
                    .map_err(|error| unusable(error.message))?;
                Arc::new(Replay::new(Arc::new(player), name.clone())) as Arc<dyn Model>
            }
            None => make(fields, name, root, arguments, config).map_err(unusable)?,
        };
        let runtime = super::super::tools::runtime()?;
        Ok(Some(Self {
            model,
            runtime,
            bus: bus.clone(),
            max_tokens: fields.max_tokens.unwrap_or(MAX_TOKENS),
            temperature: fields.temperature,
        }))
    }
}

fn make(
    fields: &ModelFields,
    name: &str,
    root: &Path,
    arguments: &CoverArguments,
    config: &Config,
) -> Result<Arc<dyn Model>, String> {
    if let Some(problem) = fields.problem() {
        return Err(problem.to_owned());
    }
    let mut secrets = Vec::new();
    let said = |error: ModelError| error.message;
    let backend: Arc<dyn Model> = if let Some(rules) = &fields.script {
        Arc::new(scripted(name, rules)?)
    } else if fields.verdicts.is_some() {
        return Err("it has `verdicts`, which answer a judge's questions; a scripted model for cover needs `script`".to_owned());
    } else if let Some(words) = &fields.command {
        Arc::new(CommandModel::new(command(fields, words, root)).map_err(said)?)
    } else {
        Arc::new(http(fields, &mut secrets)?)
    };
    let layers = layers(fields, arguments, config, Redactor::new(secrets))?;
    Ok(layers.over(backend))
}

fn layers(
    fields: &ModelFields,
    arguments: &CoverArguments,
    config: &Config,
    redactor: Redactor,
) -> Result<Layers, String> {
    let limits = Limits {
        requests_per_minute: fields.requests_per_minute,
        tokens_per_minute: fields.tokens_per_minute,
        concurrency: fields.concurrency.map(|count| count as usize),
    };
    let mut policy = RetryPolicy::default();
    if let Some(tries) = fields.tries {
        policy.max_tries = tries.max(1);
    }
    let named = fields.anthropic.as_ref().or(fields.openai.as_ref());
    let prices = named
        .zip(fields.price)
        .map(|(model, price)| (model.clone(), Price::new(price.input, price.output)));
    let budget = arguments.budget.or(config.talk.how.budget_usd);
    let recorder = arguments
        .record
        .as_ref()
        .map(|path| Recorder::create(path, &serde_json::Map::new(), redactor))
        .transpose()
        .map_err(|error| error.message)?;
    Ok(Layers {
        gate: (limits != Limits::default()).then(|| Arc::new(Gate::new(limits))),
        retry: Some((policy, Jitter::seeded(u64::from(std::process::id())))),
        prices: Some(Arc::new(PriceTable::with_overrides(prices.into_iter().collect()))),
        budget: budget
            .map(|limit| Arc::new(Budget::new(Cost::from_dollars(limit), UnknownPrice::Refuse))),
        cache: None,
        recorder: recorder.map(Arc::new),
    })
}

fn scripted(name: &str, rules: &[ScriptRule]) -> Result<ScriptedModel, String> {
    let rules = rules.iter().map(|rule| {
        let pattern = rule
            .when
            .as_ref()
            .map(|pattern| Regex::new(pattern.source()))
            .transpose()
            .map_err(|error| error.to_string())?;
        let when_spent = match (rule.then, &pattern) {
            (Some(Then::Stop), _) | (None, None) => WhenSpent::Stop,
            (Some(Then::Repeat), _) | (None, Some(_)) => WhenSpent::RepeatLast,
            (Some(Then::Again), _) => WhenSpent::Cycle,
        };
        let replies = rule.say.iter().map(|say| ScriptedReply::text(say.text.clone())).collect();
        Ok(Rule { pattern, replies, when_spent, ..Rule::default() })
    });
    Ok(ScriptedModel::new(name, rules.collect::<Result<_, String>>()?))
}

fn command(fields: &ModelFields, words: &proctor_dialogue::Words, root: &Path) -> CommandConfig {
    let shown = root.to_string_lossy();
    let argv: Vec<String> =
        words.argv().iter().map(|word| word.replace("${root}", &shown)).collect();
    let mut config = CommandConfig::new(argv);
    config.folder = Some(root.to_owned());
    config.timeout = fields.timeout.map_or(ANSWER_WITHIN, |span| span.0);
    if fields.json_input {
        config.input = CommandInput::Json;
    }
    if let Some(pointer) = &fields.answer {
        config.output = CommandOutput::Json(pointer.clone());
    }
    config
}

fn http(fields: &ModelFields, secrets: &mut Vec<Secret>) -> Result<HttpModel, String> {
    let (dialect, model, usual) = match (&fields.anthropic, &fields.openai) {
        (Some(model), _) => (Dialect::Anthropic, model, "ANTHROPIC_API_KEY"),
        (None, Some(model)) => (Dialect::OpenAi, model, "OPENAI_API_KEY"),
        (None, None) => return Err("it has no backend".to_owned()),
    };
    let variable = fields.key_env.as_deref().unwrap_or(usual);
    let wanted = fields.key_env.is_some() || fields.url.is_none();
    let key = wanted.then(|| std::env::var(variable).ok()).flatten().map(Secret::new);
    secrets.extend(key.clone());
    let mut endpoint = match dialect {
        Dialect::Anthropic => Endpoint::anthropic(model, key),
        Dialect::OpenAi => Endpoint::openai(model, key),
    };
    endpoint.key_hint = format!("set {variable}");
    if let Some(url) = &fields.url {
        endpoint.url.clone_from(url);
    }
    for (header, value) in &fields.headers {
        let secret = Secret::new(filled(value)?);
        secrets.push(secret.clone());
        endpoint.headers.push((header.clone(), secret));
    }
    (endpoint.stream, endpoint.extra) = (fields.stream, fields.extra.clone());
    endpoint.timeout = fields.timeout.map_or(ANSWER_WITHIN, |span| span.0);
    endpoint.idle_timeout = endpoint.idle_timeout.min(endpoint.timeout);
    HttpModel::new(dialect, endpoint).map_err(|error| error.message)
}

/// `${env:NAME}` within a header.
fn filled(text: &str) -> Result<String, String> {
    let Some((before, rest)) = text.split_once("${env:") else { return Ok(text.to_owned()) };
    let Some((name, after)) = rest.split_once('}') else { return Ok(text.to_owned()) };
    let value =
        std::env::var(name).map_err(|_| format!("the environment variable {name} is not set"))?;
    Ok(format!("{before}{value}{}", filled(after)?))
}

impl Filler for ModelFiller {
    fn fill(&self, request: &FillRequest<'_>) -> Result<Answer, String> {
        let asked = Request {
            system: Some(SYSTEM.to_owned()),
            messages: messages(request),
            max_tokens: Some(self.max_tokens),
            temperature: self.temperature,
            purpose: Purpose::Other,
            label: "cover".to_owned(),
            lane: request.item.id.clone(),
            ..Request::default()
        };
        let began = Instant::now();
        let outcome = self.runtime.block_on(self.model.ask(&asked));
        self.bus.publish(Event::new(call(&*self.model, &outcome, began.elapsed())));
        outcome.map(|answer| read(&answer.text)).map_err(|error| error.message)
    }

    fn name(&self) -> String {
        self.model.identity().model.clone()
    }
}

fn call(
    model: &dyn Model,
    outcome: &Result<proctor_llm::Answer, ModelError>,
    taken: Duration,
) -> ModelCall {
    let identity = model.identity();
    let mut call = ModelCall {
        backend: Some(identity.backend.to_owned()),
        model: Some(identity.model.clone()),
        purpose: Some("cover".to_owned()),
        duration_ms: Some(taken.into()),
        ..ModelCall::default()
    };
    match outcome {
        Ok(answer) => {
            call.input_tokens = answer.usage.map(|usage| {
                usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
            });
            call.output_tokens = answer.usage.map(|usage| usage.output_tokens);
            call.cost_usd =
                answer.cost.map(|cost| if answer.cached { 0.0 } else { cost.dollars() });
            call.cached = Some(answer.cached);
            call.tries = Some(answer.tries);
        }
        Err(error) => {
            call.tries = Some(error.tries);
            call.error = Some(error.message.clone());
        }
    }
    call
}

/// The question, and after a refusal what was wrong with the answer.
fn messages(request: &FillRequest<'_>) -> Vec<Message> {
    let item = request.item;
    let mut text = format!("Method: {}\nCalled as: {}\n", item.method_id, item.signature);
    if let Some(receiver) = &item.receiver {
        text += &format!("Objects are made as: {receiver}\n");
    }
    text +=
        &format!("Situation: {}\nExample: it {:?}\n", item.contexts.join(", "), item.description);
    for condition in &item.conditions {
        text += &format!(
            "Path: {} must be {} ({}, line {})\n",
            condition.name, condition.value, condition.description, condition.lines
        );
    }
    for external in &item.external {
        text += &format!("Other classes decide here: stub {external}\n");
    }
    for factory in &item.factories {
        text += &format!("A factory exists: {factory}\n");
    }
    text += &format!("Source of {}:\n{}\n", item.file, item.source);
    let loads: Vec<&str> =
        request.spec.lines().filter(|line| line.starts_with("require")).collect();
    text += &format!("The spec loads: {}\n", loads.join("; "));
    let mut messages = vec![Message::user(text)];
    if let Some((answer, refusal)) = request.before {
        messages.push(Message::assistant(
            serde_json::json!({ "description": answer.description, "body": answer.body })
                .to_string(),
        ));
        messages.push(Message::user(format!(
            "{} {}: this was not kept. {}. {}. Answer again in the same form.",
            item.method_id,
            item.contexts.join(", "),
            refusal.message,
            refusal.hint
        )));
    }
    messages
}

/// The answer in what a model said: a JSON object, a fenced block, or everything.
fn read(text: &str) -> Answer {
    let object = text
        .find('{')
        .zip(text.rfind('}'))
        .filter(|(from, to)| from < to)
        .map(|(from, to)| &text[from..=to]);
    if let Some(answer) = object.and_then(|object| serde_json::from_str::<Answer>(object).ok()) {
        return answer;
    }
    let fenced = text
        .split_once("```")
        .and_then(|(_, rest)| rest.split_once('\n'))
        .and_then(|(_, rest)| rest.split_once("```"));
    Answer { description: None, body: fenced.map_or(text, |(body, _)| body).to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_found_in_what_models_say() {
        let answer = read(
            "Here it is:\n```json\n{\"description\": \"returns 1\", \"body\": \"expect(1).to eq(1)\"}\n```",
        );
        assert_eq!(answer.description.as_deref(), Some("returns 1"));
        assert_eq!(read("```ruby\nexpect(a).to eq(1)\n```\nDone.").body, "expect(a).to eq(1)\n");
        assert_eq!(read("expect(a).to eq({})").body, "expect(a).to eq({})");
    }
}
