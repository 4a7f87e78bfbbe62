//! The agent under test as a scenario or `proctor.toml` describes it.
//!
//! Pure data. Texts may hold `${root}`, `${here}`, `${bin}`, `${port}` and `${env:NAME}`; the code that reaches the
//! agent fills them in.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::endpoint::ModelEndpoint;
use super::program::CommandWords;
use super::sandbox::Sandbox;
use super::schema::{
    NOT_BLANK, POINTER, above_zero, also, at_most_one, demand, exclude, given, not_blank,
    or_nothing, pointer, pointers, require, with,
};
use super::script::{self, ScriptRule};
use super::shorthand::text_or_mapping;
use super::traces::{TraceEvidence, TraceFields};
use super::values::TimeSpan;
use crate::capabilities::AgentKind;

/// The agent under test.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentSpec {
    /// One that `proctor.toml` names.
    Named(String),
    /// One that is described where it is used.
    Given(Box<AgentFields>),
}

impl From<AgentFields> for AgentSpec {
    fn from(fields: AgentFields) -> Self {
        Self::Given(Box::new(fields))
    }
}

text_or_mapping!(
    AgentSpec,
    AgentFields,
    "the name of an agent or a mapping with `python`, `node`, `command`, `chat`, `http` or `script`",
    text: {"type": "string", "pattern": NOT_BLANK},
    |text| AgentSpec::Named(text.to_owned())
);

/// How to reach an agent: exactly one of `python`, `node`, `command`, `chat`, `http` and `script`, or a `command` that is
/// started and then spoken to by `chat` or `http`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(transform = agent_rules)]
pub struct AgentFields {
    /// What reports call it.
    pub name: Option<String>,
    /// A program. Alone it speaks the worker protocol; with `chat` or `http` it is the server to wait for.
    pub command: Option<CommandWords>,
    /// A function, class or agent object in Python, as `module:name` or `path/file.py:name`.
    #[schemars(regex(pattern = PYTHON_TARGET))]
    pub python: Option<String>,
    /// A function, class or agent object in JavaScript or TypeScript, as `./file.ts#export`; without `#`, the default export.
    #[schemars(transform = not_blank)]
    pub node: Option<String>,
    /// The interpreter of `python` or `node` with its options; found in the project when absent.
    pub interpreter: Option<CommandWords>,
    /// How many processes share the conversations; 1 when absent.
    pub processes: Option<NonZeroU32>,
    /// Whether each conversation gets a process of its own.
    pub process_per_conversation: bool,
    /// Variables added to the program's environment.
    pub env: BTreeMap<String, String>,
    /// How the program is confined.
    pub sandbox: Option<Sandbox>,
    /// The model behind the agent: the program is given the address of an endpoint that answers, and each conversation has a process of its own.
    pub model: Option<Box<ModelEndpoint>>,
    /// When a started server is ready.
    pub ready: Option<Readiness>,
    /// An endpoint in the shape of chat completions.
    pub chat: Option<ChatSpec>,
    /// An HTTP interface of its own.
    pub http: Option<HttpSpec>,
    /// An agent that follows a script.
    #[schemars(length(min = 1))]
    pub script: Option<Vec<ScriptRule>>,
    /// Where an answer of `chat` or `http` lists the calls that the agent has made itself, as a JSON pointer.
    pub made_calls: Option<MadeCalls>,
    /// Whether the OpenTelemetry spans that the program sends tell its calls of tools and models.
    pub traces: Option<TraceEvidence>,
    /// `none`: the agent has no tools of its own.
    pub tools: Option<OwnTools>,
    /// Whether the agent gives the same answers to the same questions every time, so that one attempt is enough to compare runs.
    pub deterministic: Option<bool>,
    /// How long one answer may take; two minutes when absent.
    #[schemars(transform = above_zero)]
    pub timeout: Option<TimeSpan>,
}

/// When a server that was started can be spoken to.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Readiness {
    /// An address that answers with a status below 400; without it, the agent's port takes connections.
    pub url: Option<String>,
    /// How long it may take; 10 seconds when absent.
    #[schemars(transform = above_zero)]
    pub within: Option<TimeSpan>,
}

/// An endpoint in the shape of chat completions.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(transform = require_url)]
pub struct ChatSpec {
    /// Its address: `http://127.0.0.1:${port}/v1`.
    #[schemars(transform = not_blank)]
    pub url: String,
    /// Whether it speaks Anthropic's messages instead of chat completions.
    pub anthropic: bool,
    /// The model to ask for.
    pub model: Option<String>,
    /// The variable of the environment that holds the key.
    pub key_env: Option<String>,
    /// Further headers; `${env:NAME}` takes a variable of the environment.
    pub headers: BTreeMap<String, String>,
    /// Standing instructions sent with each request.
    pub instructions: Option<String>,
    /// Whether the answer is streamed, which measures the time to the first token.
    pub stream: bool,
    /// Longest answer, in tokens.
    pub max_tokens: Option<NonZeroU32>,
    /// Sampling temperature.
    #[schemars(range(min = 0))]
    pub temperature: Option<f64>,
    /// Further members of each request.
    #[schemars(transform = or_nothing)]
    pub extra: Map<String, Value>,
}

/// An agent with an HTTP interface of its own: how a turn becomes a request, and where the answer stands.
///
/// Texts may use `${message}`, `${messages}`, `${tools}`, `${lane}`, `${turn}`, `${repeat}`, `${env:NAME}` and
/// the names of `remember`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(transform = require_url)]
pub struct HttpSpec {
    /// The address.
    #[schemars(transform = not_blank)]
    pub url: String,
    /// The method; POST when absent.
    #[schemars(regex(pattern = "^[A-Za-z]+$"))]
    pub method: Option<String>,
    /// Headers.
    pub headers: BTreeMap<String, String>,
    /// The body; `{"message": "${message}", "conversation": "${lane}"}` when absent.
    pub body: Option<Value>,
    /// Where the words stand, as a JSON pointer; `/text` when absent, `""` for the whole body.
    #[schemars(transform = pointer)]
    pub text: Option<String>,
    /// Where each event of a streamed answer has its piece of the words.
    #[schemars(transform = pointer)]
    pub delta: Option<String>,
    /// Where tool calls stand that the host is asked to make.
    pub tool_calls: Option<ToolCallPlaces>,
    /// Where calls stand that the agent has made itself; the same as `made_calls` of the agent.
    pub made_calls: Option<MadeCalls>,
    /// Where the count of input tokens stands.
    #[schemars(transform = pointer)]
    pub input_tokens: Option<String>,
    /// Where the count of output tokens stands.
    #[schemars(transform = pointer)]
    pub output_tokens: Option<String>,
    /// Where a message stands if the agent reports failure with status 200.
    #[schemars(transform = pointer)]
    pub error: Option<String>,
    /// Names to take from each answer for later turns: name → pointer.
    #[schemars(transform = pointers)]
    pub remember: BTreeMap<String, String>,
    /// What those names stand for in the first turn.
    pub initially: BTreeMap<String, Value>,
}

impl HttpSpec {
    fn problem(&self) -> Option<&'static str> {
        let calls = self.tool_calls.as_ref();
        let places = [
            self.text.as_deref(),
            self.delta.as_deref(),
            self.input_tokens.as_deref(),
            self.output_tokens.as_deref(),
            self.error.as_deref(),
            calls.and_then(|calls| calls.list.as_deref()),
            calls.and_then(|calls| calls.id.as_deref()),
            calls.and_then(|calls| calls.name.as_deref()),
            calls.and_then(|calls| calls.arguments.as_deref()),
        ];
        let remembered = self.remember.values().map(String::as_str);
        let is_pointer = |text: &str| text.is_empty() || text.starts_with('/');
        if !places.into_iter().flatten().chain(remembered).all(is_pointer) {
            return Some(
                "a place in the answer is not a JSON pointer: it begins with `/`, as in `/reply/text`",
            );
        }
        let is_method = |method: &String| {
            !method.is_empty() && method.chars().all(|letter| letter.is_ascii_alphabetic())
        };
        match &self.method {
            Some(method) if !is_method(method) => {
                Some("`method` is not an HTTP method; write one such as GET or POST")
            }
            _ => None,
        }
    }
}

/// Where tool calls stand in an answer; `id`, `name` and `arguments` are relative to one of the list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ToolCallPlaces {
    /// The list; `/tool_calls` when absent.
    #[schemars(transform = pointer)]
    pub list: Option<String>,
    /// The call's id; `/id` when absent.
    #[schemars(transform = pointer)]
    pub id: Option<String>,
    /// The tool's name; `/name` when absent.
    #[schemars(transform = pointer)]
    pub name: Option<String>,
    /// The arguments; `/arguments` when absent.
    #[schemars(transform = pointer)]
    pub arguments: Option<String>,
}

/// That an agent has no tools of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OwnTools {
    /// It has none.
    None,
}

/// Where an answer lists the calls that the agent has made itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MadeCalls {
    /// A JSON pointer to the list.
    pub list: String,
    /// Whether an answer without the list says that there were no calls.
    pub absent_is_none: bool,
    /// Where the parts of a call stand, if not under their usual names.
    pub places: MadeCallPlaces,
}

/// Where the parts of a call that was made stand: JSON pointers, relative to one of the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field is named after what stands there")]
pub struct MadeCallPlaces {
    pub id: Option<String>,
    pub name: Option<String>,
    pub arguments: Option<String>,
    pub result: Option<String>,
    pub error: Option<String>,
}

impl MadeCallPlaces {
    fn pointers(&self) -> impl Iterator<Item = &str> {
        let all = [&self.id, &self.name, &self.arguments, &self.result, &self.error];
        all.into_iter().filter_map(Option::as_deref)
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MadeCallsFields {
    /// A JSON pointer to the list.
    #[schemars(transform = pointer)]
    list: String,
    /// `none`: an answer without the list says that there were no calls; else it says nothing.
    #[serde(default)]
    absent: Option<OwnTools>,
    /// Where a call has its id; under a usual name when absent.
    #[serde(default)]
    #[schemars(transform = pointer)]
    id: Option<String>,
    /// Where a call has the tool's name; under a usual name when absent.
    #[serde(default)]
    #[schemars(transform = pointer)]
    name: Option<String>,
    /// Where a call has its arguments; under a usual name when absent.
    #[serde(default)]
    #[schemars(transform = pointer)]
    arguments: Option<String>,
    /// Where a call has its result; under a usual name when absent.
    #[serde(default)]
    #[schemars(transform = pointer)]
    result: Option<String>,
    /// Where a call that failed has its error; under `error` when absent.
    #[serde(default)]
    #[schemars(transform = pointer)]
    error: Option<String>,
}

impl From<MadeCallsFields> for MadeCalls {
    fn from(fields: MadeCallsFields) -> Self {
        let MadeCallsFields { list, absent, id, name, arguments, result, error } = fields;
        let places = MadeCallPlaces { id, name, arguments, result, error };
        Self { list, absent_is_none: absent.is_some(), places }
    }
}

text_or_mapping!(
    MadeCalls,
    MadeCallsFields,
    "a JSON pointer or a mapping with `list`",
    text: {"type": "string", "pattern": POINTER},
    |text| MadeCalls { list: text.to_owned(), ..MadeCalls::default() }
);

fn require_url(schema: &mut Schema) {
    require(schema, "url");
}

/// What `python:` may be: something before the last colon, and a name, possibly with dots, after it.
const PYTHON_TARGET: &str = r"^\s*[^\s:][^:]*:\s*[^\W\d]\w*(\.[^\W\d]\w*)*\s*$";

/// The same as [`PYTHON_TARGET`].
fn is_python_target(target: &str) -> bool {
    let is_name = |name: &str| {
        let mut letters = name.chars();
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        letters.next().is_some_and(|first| is_word(first) && !first.is_numeric())
            && letters.all(is_word)
    };
    target.trim().rsplit_once(':').is_some_and(|(module, name)| {
        !module.trim().is_empty()
            && !module.contains(':')
            && name.trim_start().split('.').all(is_name)
    })
}

/// The combinations that [`AgentFields::problem`] refuses.
fn agent_rules(schema: &mut Schema) {
    let kinds = ["command", "python", "node", "chat", "http", "script"];
    also(schema, json!({"anyOf": kinds.map(given)}));
    at_most_one(schema, &["python", "node", "chat", "http", "script"]);
    for other in ["script", "python", "node"] {
        exclude(schema, given("command"), given(other));
    }
    let started = || ["command", "python", "node"].map(given).to_vec();
    demand(schema, given("interpreter"), vec![given("python"), given("node")]);
    let served = || vec![given("chat"), given("http")];
    let each = || with("process_per_conversation", json!({"const": true}));
    let own_made_calls = || with("http", given("made_calls"));
    exclude(schema, given("processes"), each());
    exclude(schema, given("processes"), json!({"anyOf": served()}));
    demand(schema, given("processes"), started());
    demand(schema, each(), started());
    demand(schema, with("env", json!({"minProperties": 1})), started());
    demand(schema, given("sandbox"), started());
    let cut_off = with("sandbox", with("network", json!({"const": "none"})));
    exclude(schema, cut_off, json!({"anyOf": served()}));
    let traced = || with("traces", json!({"not": {"const": false}}));
    demand(schema, traced(), started());
    let cut_off = with("sandbox", with("network", json!({"const": "none"})));
    exclude(schema, cut_off, traced());
    demand(schema, given("model"), started());
    exclude(schema, given("model"), given("processes"));
    exclude(schema, given("model"), with("sandbox", with("network", json!({"const": "none"}))));
    demand(schema, given("ready"), vec![given("command")]);
    demand(schema, given("ready"), served());
    demand(schema, given("made_calls"), served());
    exclude(schema, given("made_calls"), own_made_calls());
    let made_calls = json!({"anyOf": [given("made_calls"), own_made_calls()]});
    exclude(schema, made_calls, given("tools"));
}

impl AgentFields {
    /// How the agent is reached.
    pub fn kind(&self) -> AgentKind {
        match () {
            () if self.chat.is_some() => AgentKind::Chat,
            () if self.http.is_some() => AgentKind::Http,
            () if self.script.is_some() => AgentKind::Script,
            () if self.python.is_some() => AgentKind::Python,
            () if self.node.is_some() => AgentKind::Node,
            () => AgentKind::Command,
        }
    }

    /// Whether a program is started for it.
    pub fn starts_program(&self) -> bool {
        self.command.is_some() || self.python.is_some() || self.node.is_some()
    }

    /// How spans of its program are received, if they are.
    pub fn traces(&self) -> Option<&TraceFields> {
        self.traces.as_ref()?.fields()
    }

    /// Where answers list the calls that the agent has made itself.
    pub fn made_calls(&self) -> Option<&MadeCalls> {
        let inner = || self.http.as_ref()?.made_calls.as_ref();
        self.made_calls.as_ref().or_else(inner)
    }

    fn calls_problem(&self) -> Option<&'static str> {
        let inner = self.http.as_ref().and_then(|http| http.made_calls.as_ref());
        let made = self.made_calls.as_ref().or(inner)?;
        match () {
            () if self.made_calls.is_some() && inner.is_some() => {
                Some("`made_calls` is given in the agent and in `http`: keep one")
            }
            () if self.chat.is_none() && self.http.is_none() => Some(
                "`made_calls` goes with `chat` or `http`; an agent that speaks the worker protocol lists its calls in `tool_calls`",
            ),
            () if self.tools.is_some() => Some("`made_calls` and `tools: none` exclude each other"),
            () if !made.list.is_empty() && !made.list.starts_with('/') => {
                Some("`made_calls` is not a JSON pointer; it begins with `/`")
            }
            () if made
                .places
                .pointers()
                .any(|place| !place.is_empty() && !place.starts_with('/')) =>
            {
                Some(
                    "a place in `made_calls` is not a JSON pointer: it begins with `/`, as in `/tool/name`",
                )
            }
            () => None,
        }
    }

    /// What is wrong with the combination, if anything is.
    pub fn problem(&self) -> Option<&'static str> {
        let in_language = self.python.is_some() || self.node.is_some();
        let kinds = [&self.python, &self.node].map(Option::is_some).into_iter();
        let kinds = kinds.chain([self.chat.is_some(), self.http.is_some(), self.script.is_some()]);
        match (self.command.is_some(), kinds.filter(|kind| *kind).count()) {
            (false, 0) => Some(
                "an agent needs one of `python`, `node`, `command`, `chat`, `http` and `script`",
            ),
            (true, 1) if self.script.is_some() => Some("`command` and `script` exclude each other"),
            (true, 1) if in_language => Some(
                "`python` and `node` start a program themselves and exclude `command`; `interpreter:` says which",
            ),
            (_, 2..) => Some("`python`, `node`, `chat`, `http` and `script` exclude each other"),
            _ => self
                .target_problem()
                .or_else(|| self.model_problem())
                .or_else(|| self.program_problem())
                .or_else(|| self.answers_problem())
                .or_else(|| self.calls_problem()),
        }
    }

    /// What would keep the model endpoint from working.
    fn model_problem(&self) -> Option<&'static str> {
        let model = self.model.as_ref()?;
        match () {
            () if !self.starts_program() => Some(
                "`model` is for agents whose program Proctor starts (`python`, `node`, `command`): it is given the address of the model",
            ),
            () if self.processes.is_some() => Some(
                "`processes` and `model` exclude each other: with `model`, each conversation has a process of its own, which knows the address of its model",
            ),
            () if self.sandbox.as_ref().is_some_and(Sandbox::has_no_network) => Some(
                "`network: none` of `sandbox` would cut the agent off from its model endpoint; leave it out, or write `network: host`",
            ),
            () => model.problem(),
        }
    }

    /// What would keep the agent in Python or JavaScript from being found.
    fn target_problem(&self) -> Option<&'static str> {
        match (&self.python, &self.node) {
            (Some(target), _) if !is_python_target(target) => Some(
                "`python` names a module or file and what is in it, as in `app:agent` or `src/app.py:agent`",
            ),
            (_, Some(target)) if target.trim().is_empty() => {
                Some("`node` names a file and what it exports, as in `./agent.ts#agent`")
            }
            (None, None) if self.interpreter.is_some() => {
                Some("`interpreter` is for `python` and `node`")
            }
            _ => None,
        }
    }

    /// Settings of a program that this agent does not start, or that have no effect on it.
    fn program_problem(&self) -> Option<&'static str> {
        let is_served = self.chat.is_some() || self.http.is_some();
        let is_started = self.starts_program();
        match () {
            () if self.processes.is_some() && self.process_per_conversation => {
                Some("`processes` and `process_per_conversation` exclude each other")
            }
            () if self.processes.is_some() && (is_served || !is_started) => {
                Some("`processes` is for a `command` that speaks the worker protocol")
            }
            () if self.process_per_conversation && !is_started => {
                Some("`process_per_conversation` is for a `command`")
            }
            () if !self.env.is_empty() && !is_started => Some("`env` is for a `command`"),
            () if self.sandbox.is_some() && !is_started => Some("`sandbox` is for a `command`"),
            () if self.traces().is_some() && !is_started => Some(
                "`traces` is for a program that is started (`command`, `python`, `node`): it is told where its spans go",
            ),
            () if self.traces().and_then(|traces| traces.within).is_some_and(TimeSpan::is_zero) => {
                Some("`within` of `traces` is 0: no span would ever be in time")
            }
            () if self.traces().is_some()
                && self.sandbox.as_ref().is_some_and(Sandbox::has_no_network) =>
            {
                Some("`network: none` of `sandbox` would keep the spans of `traces` from arriving")
            }
            () if self.ready.is_some() && !(self.command.is_some() && is_served) => {
                Some("`ready` is for a `command` that is spoken to by `chat` or `http`")
            }
            () => self.sandbox.as_ref().and_then(|sandbox| {
                let server_problem = is_served.then(|| sandbox.server_problem()).flatten();
                server_problem.or_else(|| sandbox.problem())
            }),
        }
    }

    /// What would keep every answer from arriving or from being found.
    fn answers_problem(&self) -> Option<&'static str> {
        let chat_url = self.chat.as_ref().map(|chat| chat.url.as_str());
        let url = chat_url.or_else(|| self.http.as_ref().map(|http| http.url.as_str()));
        let within = self.ready.as_ref().and_then(|ready| ready.within);
        match () {
            () if url.is_some_and(|url| url.trim().is_empty()) => {
                Some("`url` of `chat` or `http` is missing")
            }
            () if self.timeout.is_some_and(TimeSpan::is_zero) => {
                Some("`timeout` is 0: no answer would ever be in time")
            }
            () if within.is_some_and(TimeSpan::is_zero) => {
                Some("`within` of `ready` is 0: the server would never be ready in time")
            }
            () if self.temperature().is_some_and(|temperature| temperature < 0.0) => {
                Some("`temperature` is below 0")
            }
            () => self
                .http
                .as_ref()
                .and_then(HttpSpec::problem)
                .or_else(|| self.script.as_deref().and_then(script::rules_problem)),
        }
    }

    fn temperature(&self) -> Option<f64> {
        self.chat.as_ref()?.temperature
    }
}
