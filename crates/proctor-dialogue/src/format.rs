//! The scenario file as it is written: pure data, read by [`parse`](crate::parse), owned by the caller.
//!
//! Nothing here is inherited or expanded yet; [`ScenarioFile::examples`](crate::ScenarioFile::examples)
//! does that. The JSON Schema in `schema/scenario.schema.json` is made from these types.

mod agent;
mod assertion;
mod block;
mod endpoint;
mod expression_names;
mod host_tools;
mod matcher;
mod model;
mod program;
mod sandbox;
mod schema;
mod script;
mod shorthand;
mod simulator;
mod traces;
mod values;

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub use self::agent::{
    AgentFields, AgentSpec, ChatSpec, HttpSpec, MadeCallPlaces, MadeCalls, OwnTools, Readiness,
    ToolCallPlaces,
};
pub use self::assertion::{
    Assertion, EmptyAssertion, Goal, Grounding, Intent, PromptExpectation, ToolExpectation,
};
pub use self::block::{Block, BlockKind};
pub use self::endpoint::{
    EndpointFault, ModelAnswer, ModelEndpoint, ModelToolCall, ModelUsage, OnDrift,
};
pub use self::host_tools::HostTools;
pub use self::matcher::{Condition, Matcher, MatcherError, NumberMatcher};
pub use self::model::{ModelFields, ModelSpec, PriceSpec};
pub use self::program::{CommandWords, ServerSpec};
pub use self::sandbox::{Sandbox, SandboxFields, SandboxNetwork};
use self::schema::{
    ExampleTemplate, at_most_one, demand, exactly_one, exclude, given, no_blank_items, not_blank,
    or_nothing, require, with,
};
pub use self::script::{QuestionKind, Say, ScriptRule, ScriptedCall, Then, VerdictRule};
pub use self::shorthand::{
    Expression, ExpressionError, OneOrMany, Ordered, Pattern, PatternError, UnknownName,
};
pub use self::simulator::{
    EveryTurn, OnMaxTurns, Rules, Simulate, Simulator, StopWhen, TopicManner,
};
pub use self::traces::{TraceEvidence, TraceFields};
pub use self::values::{Notes, TimeSpan};
use proctor_yaml::{At, Node};
pub(crate) use schema::whole_number_ranges;
pub(crate) use shorthand::text_or_mapping;
pub(crate) use simulator::inside;

/// A group of examples: the file itself, or a context in it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(transform = group_rules)]
pub struct Group {
    /// What the group is about.
    #[schemars(transform = not_blank)]
    pub describe: At<String>,
    /// Tags of all examples inside.
    #[schemars(transform = no_blank_items)]
    pub tags: Vec<String>,
    /// Why none of the examples inside is run.
    #[schemars(transform = not_blank)]
    pub skip: Option<String>,
    /// How often each example is run.
    pub repeat: Option<NonZeroU32>,
    /// The share of repeats that must pass: above 0, at most 1.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub pass_rate: Option<At<f64>>,
    /// The agent under test.
    pub agent: Option<At<AgentSpec>>,
    /// The model behind the agent, in place of the one that the agent's description names.
    pub model: Option<At<ModelEndpoint>>,
    /// Models that `judge` and `simulator` can name; those called `judge` and `simulator` are used by default.
    pub models: BTreeMap<String, At<ModelSpec>>,
    /// How the judge is asked.
    pub judge: Option<JudgeSettings>,
    /// Tools that the agent can ask the host to call, and what they answer; `none`: there are no tools at all.
    pub tools: HostTools,
    /// Servers of further tools.
    pub mcp: BTreeMap<String, At<ServerSpec>>,
    /// How the programs of the group are confined: agent, tools, tool servers, checks and models that are commands. What one of them
    /// says itself comes first.
    pub sandbox: Option<At<Sandbox>>,
    /// The simulated user.
    pub simulator: Simulator,
    /// Criteria that assertions can name.
    pub criteria: Ordered<Criterion>,
    /// What the conversation can be about. The first is where it begins.
    pub topics: Ordered<Topic>,
    /// Examples that are run once for each row of data.
    pub sets: Vec<ScenarioSet>,
    /// Examples.
    pub examples: Vec<At<ExampleSpec>>,
    /// Groups inside.
    pub contexts: Vec<Group>,
}

/// One example as it is written.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(transform = example_rules)]
pub struct ExampleSpec {
    /// What the agent is expected to do.
    #[schemars(transform = not_blank)]
    pub it: At<String>,
    /// Its tags.
    #[schemars(transform = no_blank_items)]
    pub tags: Vec<String>,
    /// Why it is not run.
    #[schemars(transform = not_blank)]
    pub skip: Option<String>,
    /// Why it is expected not to work yet; it is not run either.
    #[schemars(transform = not_blank)]
    pub pending: Option<String>,
    /// How often it is run.
    pub repeat: Option<NonZeroU32>,
    /// The share of repeats that must pass: above 0, at most 1.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub pass_rate: Option<At<f64>>,
    /// The topics it uses, the first being where it begins; all that are defined when absent.
    #[schemars(extend("uniqueItems" = true))]
    pub topics: Option<Vec<At<String>>>,
    /// The model behind the agent, in place of the one that the group or the agent's description names.
    pub model: Option<At<ModelEndpoint>>,
    /// The conversation.
    pub steps: Vec<At<Step>>,
    /// Assertions about the whole conversation that decide.
    pub expect: Vec<At<Assertion>>,
    /// Assertions about the whole conversation that are recorded as quality.
    pub evaluate: Vec<At<Assertion>>,
}

/// One step of a conversation: a scripted turn or a simulation.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(transform = step_rules)]
pub struct Step {
    /// What the user says.
    pub user: Option<String>,
    /// Whatever else goes with the message.
    pub metadata: Option<Value>,
    /// A model plays the user.
    pub simulate: Option<Simulate>,
    /// Assertions that decide: about the turn, or about the conversation after a simulation.
    pub expect: Vec<At<Assertion>>,
    /// Assertions that are recorded as quality.
    pub evaluate: Vec<At<Assertion>>,
}

/// How the judge is asked.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct JudgeSettings {
    /// How many votes a failing judgement gets, an odd number; 1 when absent.
    #[schemars(extend("not" = {"type": "integer", "multipleOf": 2}))]
    pub votes: Option<At<NonZeroU32>>,
    /// How often an unusable answer is asked for again; 2 when absent.
    pub retries: Option<u32>,
    /// The model.
    pub model: Option<At<ModelSpec>>,
}

/// What a tool is and what it answers.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(transform = stub_rules)]
pub struct ToolStub {
    /// What the tool does, told to agents that are given a list of tools.
    pub description: Option<String>,
    /// The JSON Schema of its arguments, told likewise.
    #[schemars(extend("type" = ["object", "null"]))]
    pub parameters: Option<Value>,
    /// The arguments for which this answer holds; all when empty.
    pub with: BTreeMap<String, Matcher>,
    /// The result.
    pub result: Option<Value>,
    /// The error, in place of a result.
    pub error: Option<String>,
    /// A command that is given `{"tool", "arguments"}` as JSON and prints the result, in place of both.
    pub command: Option<CommandWords>,
    /// How the command is confined.
    pub sandbox: Option<Sandbox>,
    /// How long to take.
    pub delay: Option<TimeSpan>,
}

impl ToolStub {
    /// Whether this answer holds for these arguments.
    pub fn applies(&self, arguments: &Value) -> bool {
        self.with.iter().all(|(name, matcher)| matcher.accepts(arguments.get(name)))
    }
}

/// A quality the judge can look for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Criterion {
    /// What must hold.
    pub description: String,
    /// Answers that satisfy it.
    pub good: Vec<CalibrationExample>,
    /// Answers that do not.
    pub bad: Vec<CalibrationExample>,
    /// Answers near the border, each with its verdict.
    pub edge: Vec<CalibrationExample>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CriterionFields {
    /// What must hold.
    #[schemars(transform = not_blank)]
    description: String,
    /// Answers that satisfy it.
    #[serde(default)]
    #[schemars(transform = not_unsatisfied)]
    good: Vec<CalibrationExample>,
    /// Answers that do not.
    #[serde(default)]
    #[schemars(transform = not_satisfied)]
    bad: Vec<CalibrationExample>,
    /// Answers near the border, each with its verdict.
    #[serde(default)]
    #[schemars(transform = decided)]
    edge: Vec<CalibrationExample>,
}

impl From<CriterionFields> for Criterion {
    fn from(fields: CriterionFields) -> Self {
        let CriterionFields { description, good, bad, edge } = fields;
        Self { description, good, bad, edge }
    }
}

text_or_mapping!(
    Criterion,
    CriterionFields,
    "a text or a mapping with `description`",
    text: {"type": "string", "pattern": schema::NOT_BLANK},
    |text| Criterion { description: text.to_owned(), ..Criterion::default() }
);

/// An answer that shows the judge what a criterion means.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CalibrationExample {
    /// The answer.
    pub text: String,
    /// Why it is good, bad or on the border.
    pub why: Option<String>,
    /// For the border: whether it satisfies the criterion.
    pub satisfied: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CalibrationFields {
    /// The answer.
    #[schemars(transform = not_blank)]
    text: String,
    /// Why.
    why: Option<String>,
    /// For the border: whether it satisfies the criterion.
    satisfied: Option<bool>,
}

impl From<CalibrationFields> for CalibrationExample {
    fn from(fields: CalibrationFields) -> Self {
        Self { text: fields.text, why: fields.why, satisfied: fields.satisfied }
    }
}

text_or_mapping!(
    CalibrationExample,
    CalibrationFields,
    "a text or a mapping with `text`",
    text: {"type": "string", "pattern": schema::NOT_BLANK},
    |text| CalibrationExample { text: text.to_owned(), ..CalibrationExample::default() }
);

/// Something the conversation can be about.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(transform = or_nothing)]
pub struct Topic {
    /// How to recognise it; without this the judge never chooses it.
    pub characteristic: Option<String>,
    /// What the agent wants in it.
    pub agent_intent: Option<String>,
    /// Where the conversation can go from here.
    pub next: OneOrMany<At<String>>,
    /// What shows without a judge that the conversation is here.
    pub triggers: Vec<Trigger>,
    /// What must hold in all turns spent here.
    pub expect: Vec<At<Assertion>>,
    /// What is recorded as quality.
    pub evaluate: Vec<At<Assertion>>,
}

/// What shows that a turn belongs to a topic.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// A tool was called in the turn.
    CallTool(ToolExpectation),
    /// A pattern occurs in the agent's answer.
    Response(#[schemars(transform = not_blank)] Pattern),
    /// A pattern occurs in the user's message.
    User(#[schemars(transform = not_blank)] Pattern),
    /// So many turns have been spent in a topic.
    TurnsIn(TurnsIn),
    /// A CEL expression is true.
    Condition(Expression),
    /// A block outside says so. Not for files.
    #[serde(rename = "$block")]
    #[schemars(skip)]
    Block(Block),
}

/// So many turns in a topic.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TurnsIn {
    /// The topic.
    pub topic: At<String>,
    /// At least so many turns.
    pub count: NonZeroU32,
}

/// Examples that are run once for each row.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(transform = set_rules)]
pub struct ScenarioSet {
    /// The set's name; it stands in the chain of descriptions.
    pub name: At<String>,
    /// The rows.
    #[schemars(length(min = 1))]
    pub rows: Option<Vec<Map<String, Value>>>,
    /// A JSON, YAML or CSV file with the rows, read by the caller.
    #[schemars(regex(pattern = r"\.([jJ][sS][oO][nN]|[yY][aA]?[mM][lL]|[cC][sS][vV])$"))]
    pub file: Option<At<String>>,
    /// Examples in which `{{key}}` stands for the row's value.
    #[schemars(with = "Vec<ExampleTemplate>", length(min = 1))]
    pub examples: Vec<Node>,
}

/// A group holds examples, in one of three ways.
fn group_rules(schema: &mut Schema) {
    require(schema, "describe");
    let some = |key| with(key, json!({"type": "array", "minItems": 1}));
    schema::also(schema, json!({"anyOf": [some("examples"), some("sets"), some("contexts")]}));
    let no_tools = with("tools", json!({"const": "none"}));
    exclude(schema, no_tools, with("mcp", json!({"minProperties": 1})));
}

/// An example that is run has steps.
fn example_rules(schema: &mut Schema) {
    require(schema, "it");
    let steps = with("steps", json!({"minItems": 1}));
    schema::also(schema, json!({"anyOf": [steps, given("skip"), given("pending")]}));
}

fn step_rules(schema: &mut Schema) {
    exactly_one(schema, &["user", "simulate"]);
    demand(schema, given("metadata"), vec![given("user")]);
}

fn set_rules(schema: &mut Schema) {
    require(schema, "examples");
    exactly_one(schema, &["rows", "file"]);
}

fn stub_rules(schema: &mut Schema) {
    or_nothing(schema);
    at_most_one(schema, &["result", "error", "command"]);
    demand(schema, given("sandbox"), vec![given("command")]);
}

fn not_unsatisfied(schema: &mut Schema) {
    each_item_also(schema, &json!({"properties": {"satisfied": {"not": {"const": false}}}}));
}

fn not_satisfied(schema: &mut Schema) {
    each_item_also(schema, &json!({"properties": {"satisfied": {"not": {"const": true}}}}));
}

/// Answers near the border have to say on which side they are.
fn decided(schema: &mut Schema) {
    let mut decided = with("satisfied", json!({"type": "boolean"}));
    decided["type"] = json!("object");
    each_item_also(schema, &decided);
}

fn each_item_also(schema: &mut Schema, condition: &Value) {
    let items = schema.remove("items").unwrap_or(Value::Bool(true));
    schema.insert("items".into(), json!({"allOf": [items, condition]}));
}
