//! From the description of an agent to the agent.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use proctor_dialogue::{
    AgentFields, ChatSpec, HttpSpec, Readiness, Sandbox, SandboxNetwork, ToolCallPlaces,
};
use proctor_llm::wire::Dialect;
use proctor_llm::{
    Endpoint, HttpModel, Jitter, Layers, MappedAgent, Mapping, PriceTable, Request, ToolCallPaths,
    WaitCounts, WaitPolicy,
};
use proctor_process::Guard;
use proctor_redact::Secret;
use proctor_traces::Traces;
use serde_json::Value;

use super::endpoints::EndpointParts;
use super::placeholder_values::PlaceholderValues;
use crate::agent::{
    Agent, AgentOutput, CommandAgent, EndpointAgent, LaunchSpec, MakeClient, ModelAgent, Processes,
    ReadinessCheck, ScriptedAgent, ServedAgent, TraceParts, TracedAgent,
};
use crate::failure::Failure;
use crate::interpreter::{Language, ProjectFiles};
use crate::sandbox::{ConfinedProgram, ProgramUse, Sandboxes};
use crate::shims;

const ANSWER_TIMEOUT: Duration = Duration::from_mins(2);
const READY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the spans of a turn are waited for after its answer.
const SPANS_TIMEOUT: Duration = Duration::from_secs(5);

/// What agents are made with.
#[derive(Clone)]
pub(super) struct AgentParts {
    /// Of agents whose model is behind an endpoint of ours.
    pub(super) endpoint: Option<EndpointParts>,
    pub(super) placeholders: PlaceholderValues,
    pub(super) guard: Guard,
    pub(super) printed: Arc<AgentOutput>,
    pub(super) sandboxes: Sandboxes,
    pub(super) unpacked: PathBuf,
    pub(super) traces: Arc<Traces>,
    pub(super) prices: Arc<PriceTable>,
    pub(super) jitter: Jitter,
    pub(super) waits: Arc<WaitCounts>,
}

impl AgentParts {
    /// The layers over an agent that is spoken to over HTTP.
    fn layers(&self, fields: &AgentFields) -> Layers {
        let policy = WaitPolicy {
            limit: timeout(fields),
            jitter: self.jitter.clone(),
            counts: Arc::clone(&self.waits),
        };
        let prices = Some(Arc::clone(&self.prices));
        Layers { wait: Some(policy), prices, ..Layers::default() }
    }
}

pub(super) fn agent(
    fields: &AgentFields,
    name: &str,
    parts: &Arc<AgentParts>,
) -> Result<Arc<dyn Agent>, Failure> {
    let inner = untraced_agent(fields, name, parts)?;
    let Some(traces) = fields.traces() else { return Ok(inner) };
    let parts = TraceParts {
        traces: Arc::clone(&parts.traces),
        prices: Arc::clone(&parts.prices),
        within: traces.within.map_or(SPANS_TIMEOUT, |span| span.0),
    };
    Ok(Arc::new(TracedAgent { inner, parts }))
}

fn untraced_agent(
    fields: &AgentFields,
    name: &str,
    parts: &Arc<AgentParts>,
) -> Result<Arc<dyn Agent>, Failure> {
    if let Some(problem) = fields.problem() {
        return Err(Failure::harness(format!("the agent `{name}`: {problem}")));
    }
    if let Some(rules) = &fields.script {
        return Ok(Arc::new(ScriptedAgent::new(rules.clone())));
    }
    if let Some(endpoint) = &parts.endpoint {
        return Ok(Arc::new(agent_behind_endpoint(fields, name, parts, endpoint.clone())));
    }
    started_or_reached(fields, name, parts)
}

/// An agent whose program is started for each conversation, with the address of the conversation's model endpoint.
fn agent_behind_endpoint(
    fields: &AgentFields,
    name: &str,
    parts: &Arc<AgentParts>,
    endpoint: EndpointParts,
) -> EndpointAgent {
    let own = AgentFields { process_per_conversation: true, ..fields.clone() };
    let (parts, called) = (Arc::clone(parts), name.to_owned());
    let make_agent = move |address| {
        let placeholders = PlaceholderValues { model: Some(address), ..parts.placeholders.clone() };
        let parts = Arc::new(AgentParts { placeholders, ..AgentParts::clone(&parts) });
        started_or_reached(&own, &called, &parts)
    };
    EndpointAgent {
        name: name.to_owned(),
        make_agent: Arc::new(make_agent),
        make_source: endpoint.make_source,
        faults: endpoint.faults,
        host: endpoint.host,
        notes: endpoint.notes,
    }
}

fn started_or_reached(
    fields: &AgentFields,
    name: &str,
    parts: &Arc<AgentParts>,
) -> Result<Arc<dyn Agent>, Failure> {
    let is_http = fields.chat.is_some() || fields.http.is_some();
    if fields.command.is_some() && is_http {
        let (fields, name, parts) = (fields.clone(), name.to_owned(), Arc::clone(parts));
        let each = fields.process_per_conversation;
        let make: MakeClient = Arc::new(move |port| {
            let placeholders = PlaceholderValues { port: Some(port), ..parts.placeholders.clone() };
            let mut launch = launch(&fields, &name, &placeholders, &parts)?;
            launch.env.entry("PORT".into()).or_insert_with(|| port.to_string());
            let client = client(&fields, &name, &placeholders, &parts.layers(&fields))?;
            Ok((launch, client, ready(fields.ready.as_ref(), port, &placeholders)?))
        });
        return Ok(Arc::new(ServedAgent::new(make, each)));
    }
    if is_http {
        return Ok(Arc::new(client(fields, name, &parts.placeholders, &parts.layers(fields))?));
    }
    let processes = if fields.process_per_conversation {
        Processes::Each
    } else {
        Processes::Shared(fields.processes.map_or(1, NonZeroU32::get) as usize)
    };
    let launch = launch(fields, name, &parts.placeholders, parts)?;
    Ok(Arc::new(CommandAgent::new(launch, processes, timeout(fields))))
}

/// What an agent's program is for.
pub(super) fn program_use(fields: &AgentFields) -> ProgramUse {
    let is_served = fields.chat.is_some() || fields.http.is_some();
    // An agent reaches its model endpoint as a server is reached: over the loopback of this machine.
    if is_served || fields.model.is_some() { ProgramUse::Server } else { ProgramUse::Lasting }
}

fn timeout(fields: &AgentFields) -> Duration {
    fields.timeout.map_or(ANSWER_TIMEOUT, |span| span.0)
}

fn launch(
    fields: &AgentFields,
    name: &str,
    placeholders: &PlaceholderValues,
    parts: &AgentParts,
) -> Result<LaunchSpec, Failure> {
    let mut env = placeholders.program_env(&fields.env)?;
    placeholders.add_model(&mut env);
    let argv = match shim_words(fields, name, placeholders, &env, &parts.unpacked)? {
        Some(words) => words,
        None => placeholders.words(&fields.command.clone().unwrap_or_default())?.argv(),
    };
    let program = ConfinedProgram {
        name: format!("the agent `{name}`"),
        argv: &argv,
        path: env.get("PATH").map(String::as_str),
        used: program_use(fields),
    };
    let sandbox =
        fields.sandbox.as_ref().map(|sandbox| shims::readable(sandbox, fields, &parts.unpacked));
    let sandbox = sandbox.as_ref();
    let is_cut_off = sandbox.and_then(Sandbox::fields).is_some_and(|confined| {
        confined.network != Some(SandboxNetwork::Host) && program_use(fields) == ProgramUse::Lasting
    });
    if fields.traces().is_some() && is_cut_off {
        return Err(Failure::harness(format!(
            "the agent `{name}`: its sandbox has no network, so its spans (`traces`) cannot arrive; say `sandbox: {{network: host}}` for it, or leave out `traces`"
        )));
    }
    let launcher = parts.sandboxes.launcher_words(sandbox, &program, placeholders, &parts.guard)?;
    Ok(LaunchSpec {
        name: name.to_owned(),
        argv,
        launcher,
        env,
        folder: placeholders.root.clone(),
        guard: parts.guard.clone(),
        printed: Arc::clone(&parts.printed),
        traces: fields.traces().map(|_| Arc::clone(&parts.traces)),
    })
}

/// The command line of an agent in Python or JavaScript; `None` for others.
fn shim_words(
    fields: &AgentFields,
    name: &str,
    placeholders: &PlaceholderValues,
    env: &BTreeMap<String, String>,
    unpacked: &Path,
) -> Result<Option<Vec<String>>, Failure> {
    let (language, target) = match (&fields.python, &fields.node) {
        (Some(target), _) => (Language::Python, target),
        (_, Some(target)) => (Language::Node, target),
        (None, None) => return Ok(None),
    };
    let variable = |name: &str| match env.get(name) {
        Some(value) => Some(value.clone()),
        None => (placeholders.environment)(name),
    };
    let project = ProjectFiles { root: &placeholders.root, variable: &variable };
    let mut words = match &fields.interpreter {
        Some(words) => placeholders.words(words)?.argv(),
        None => project.interpreter(language).map_err(|problem| {
            Failure::party("NotStarted", format!("cannot start the agent `{name}`: {problem}"))
        })?,
    };
    let folder = shims::unpack(unpacked).map_err(|error| {
        let place = unpacked.display();
        Failure::harness(format!("cannot unpack what runs agents into {place}: {error}"))
    })?;
    words.push(folder.join(language.program()).to_string_lossy().into_owned());
    words.push(placeholders.text(target)?.trim().to_owned());
    Ok(Some(words))
}

fn ready(
    spec: Option<&Readiness>,
    port: u16,
    placeholders: &PlaceholderValues,
) -> Result<ReadinessCheck, Failure> {
    let within = spec.and_then(|spec| spec.within).map_or(READY_TIMEOUT, |span| span.0);
    let Some(url) = spec.and_then(|spec| spec.url.as_ref()) else {
        return Ok(ReadinessCheck { port, path: None, within });
    };
    let url = placeholders.text(url)?;
    let path =
        url.strip_prefix("http://").and_then(|rest| rest.find('/').map(|at| rest[at..].to_owned()));
    let path = path.or_else(|| url.starts_with('/').then(|| url.clone()));
    Ok(ReadinessCheck { port, path: Some(path.unwrap_or_else(|| "/".into())), within })
}

fn client(
    fields: &AgentFields,
    name: &str,
    placeholders: &PlaceholderValues,
    layers: &Layers,
) -> Result<ModelAgent, Failure> {
    let client = match (&fields.chat, &fields.http) {
        (Some(chat), _) => chat_client(chat, name, timeout(fields), placeholders, layers),
        (None, Some(http)) => mapped_client(http, name, timeout(fields), placeholders, layers),
        (None, None) => Err(Failure::harness(format!("the agent `{name}` has no address"))),
    };
    Ok(client?.with_made_calls(name, fields.made_calls().cloned()))
}

fn chat_client(
    chat: &ChatSpec,
    name: &str,
    timeout: Duration,
    placeholders: &PlaceholderValues,
    layers: &Layers,
) -> Result<ModelAgent, Failure> {
    let model = chat.model.clone().unwrap_or_else(|| name.to_owned());
    let mut endpoint = Endpoint::new(placeholders.text(&chat.url)?, model);
    if let Some(variable) = &chat.key_env {
        endpoint.key = Some(placeholders.learn_secret(variable, &placeholders.variable(variable)?));
        endpoint.key_hint = format!("set {variable}");
    }
    for (header, value) in &chat.headers {
        endpoint.headers.push((header.clone(), Secret::new(placeholders.text(value)?)));
    }
    (endpoint.stream, endpoint.extra) = (chat.stream, chat.extra.clone());
    (endpoint.timeout, endpoint.idle_timeout) = (timeout, timeout);
    let dialect = if chat.anthropic { Dialect::Anthropic } else { Dialect::OpenAi };
    let template = Request {
        system: chat.instructions.clone(),
        max_tokens: chat.max_tokens.map(NonZeroU32::get),
        temperature: chat.temperature,
        ..Request::default()
    };
    let model = layers.clone().wrap(HttpModel::agent(dialect, endpoint)?);
    Ok(ModelAgent::new(model, template))
}

fn mapped_client(
    http: &HttpSpec,
    name: &str,
    timeout: Duration,
    placeholders: &PlaceholderValues,
    layers: &Layers,
) -> Result<ModelAgent, Failure> {
    let mut mapping = Mapping::new(name, String::new());
    let mut secrets = Vec::new();
    let mut fill = |text: &str| {
        named_secrets(&fill_all_but_env(placeholders, text)?, placeholders, &mut secrets)
    };
    mapping.url = fill(&http.url)?;
    let own = http.headers.iter().map(|(name, value)| Ok((name.to_lowercase(), fill(value)?)));
    let own = own.collect::<Result<Vec<_>, Failure>>()?;
    mapping.headers.retain(|(name, _)| !own.iter().any(|(mine, _)| mine == name));
    mapping.headers.extend(own);
    if let Some(body) = &http.body {
        mapping.body = Some(fill_value(body, &mut fill)?);
    }
    mapping.secrets.extend(secrets);
    if let Some(method) = &http.method {
        mapping.method = method.to_uppercase();
        if mapping.method == "GET" && http.body.is_none() {
            mapping.body = None;
        }
    }
    match http.text.as_deref() {
        Some("") => mapping.text = None,
        Some(path) => mapping.text = Some(path.to_owned()),
        None => {}
    }
    mapping.delta.clone_from(&http.delta);
    mapping.tool_calls = http.tool_calls.as_ref().map(tool_call_paths);
    mapping.usage = http.input_tokens.clone().zip(http.output_tokens.clone());
    mapping.error.clone_from(&http.error);
    mapping.remember.clone_from(&http.remember);
    mapping.initially.clone_from(&http.initially);
    mapping.timeout = timeout;
    let agent = Arc::new(MappedAgent::new(mapping)?);
    let model = layers.clone().wrap(Arc::clone(&agent));
    Ok(ModelAgent::new(model, Request::default())
        .on_conversation_end(move |conversation| agent.forget(conversation)))
}

fn tool_call_paths(places: &ToolCallPlaces) -> ToolCallPaths {
    let usual = ToolCallPaths::default();
    let or = |place: &Option<String>, usual: String| place.clone().unwrap_or(usual);
    ToolCallPaths {
        list: or(&places.list, usual.list),
        id: or(&places.id, usual.id),
        name: or(&places.name, usual.name),
        arguments: or(&places.arguments, usual.arguments),
    }
}

/// `${env:NAME}` stays a name here: the mapping fills secrets in itself, and hides them in its messages.
fn named_secrets(
    text: &str,
    placeholders: &PlaceholderValues,
    secrets: &mut Vec<(String, Secret)>,
) -> Result<String, Failure> {
    let mut renamed = text.to_owned();
    while let Some(at) = renamed.find("${env:") {
        let Some(end) = renamed[at..].find('}') else { break };
        let variable = renamed[at + 6..at + end].to_owned();
        let value = placeholders.variable(&variable)?;
        let name = format!("env_{variable}");
        renamed.replace_range(at..=at + end, &format!("${{{name}}}"));
        secrets.push((name, Secret::new(value)));
    }
    Ok(renamed)
}

/// Fills in everything but variables of the environment.
fn fill_all_but_env(placeholders: &PlaceholderValues, text: &str) -> Result<String, Failure> {
    let kept = text.replace("${env:", "${\u{1}env:");
    Ok(placeholders.text(&kept)?.replace("${\u{1}env:", "${env:"))
}

fn fill_value(
    value: &Value,
    fill: &mut impl FnMut(&str) -> Result<String, Failure>,
) -> Result<Value, Failure> {
    Ok(match value {
        Value::String(text) => fill(text)?.into(),
        Value::Array(items) => {
            items.iter().map(|item| fill_value(item, fill)).collect::<Result<_, Failure>>()?
        }
        Value::Object(members) => {
            let mut filled = serde_json::Map::new();
            for (name, inner) in members {
                filled.insert(name.clone(), fill_value(inner, fill)?);
            }
            Value::Object(filled)
        }
        other => other.clone(),
    })
}
