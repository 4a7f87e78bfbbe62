//! The model endpoint of an agent under test, as a scenario or `proctor.toml` describes it under `model:`.
//!
//! Pure data. Who serves it is decided elsewhere.

use std::num::NonZeroU32;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer};
use serde_json::{Map, Value, json};

use super::assertion::PromptExpectation;
use super::model::ModelSpec;
use super::schema::{
    above_zero, also, at_most_one, demand, exclude, given, not_blank, pointer, with,
};
use super::shorthand::text_or_mapping;
use super::values::TimeSpan;

/// How long `slow` takes where it does not say.
const SLOW: Duration = Duration::from_secs(2);

/// The model behind the agent under test: a script, a tape, or a real model. The agent is given the address of an endpoint that speaks
/// chat completions, Responses and Messages.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(transform = endpoint_rules)]
pub struct ModelEndpoint {
    /// What the model answers, call by call.
    #[schemars(length(min = 1))]
    pub script: Option<Vec<ModelAnswer>>,
    /// The tape to which calls and answers of a real model are recorded: that of `forward`, or the model called `agent`.
    #[schemars(transform = not_blank)]
    pub record: Option<String>,
    /// The tape that answers.
    #[schemars(transform = not_blank)]
    pub replay: Option<String>,
    /// The real model that answers; beside `replay`, the one that is asked with `--record-tapes`.
    pub forward: Option<ModelSpec>,
    /// What happens to the first calls, one fault for each call.
    pub faults: Vec<EndpointFault>,
    /// For `replay`: what becomes of a call that differs from the recorded one; `fail` when absent.
    pub on_drift: Option<OnDrift>,
    /// For `replay`: places in a request that may differ, as JSON pointers in which `*` is every item or member.
    #[schemars(transform = pointer_items)]
    pub ignore: Vec<String>,
}

/// What becomes of a call that differs from the recorded one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnDrift {
    /// The conversation is errored.
    Fail,
    /// The next recorded answer is given, and the run reports the difference.
    Report,
}

fn pointer_items(schema: &mut Schema) {
    let mut item = json_schema!({"type": "string"});
    pointer(&mut item);
    schema.insert("items".into(), item.to_value());
}

/// The combinations that [`ModelEndpoint::problem`] refuses.
fn endpoint_rules(schema: &mut Schema) {
    let kinds = ["script", "record", "replay", "forward"];
    also(schema, json!({"anyOf": kinds.map(given)}));
    at_most_one(schema, &["script", "record", "replay"]);
    exclude(schema, given("script"), given("forward"));
    demand(schema, given("on_drift"), vec![given("replay")]);
    demand(schema, with("ignore", json!({"minItems": 1})), vec![given("replay")]);
}

impl ModelEndpoint {
    /// What is wrong with it, if anything is.
    pub fn problem(&self) -> Option<&'static str> {
        let is_blank =
            |text: &Option<String>| text.as_ref().is_some_and(|text| text.trim().is_empty());
        let tapes = [self.record.is_some(), self.replay.is_some()];
        let sources =
            tapes.iter().filter(|given| **given).count() + usize::from(self.script.is_some());
        match () {
            () if sources == 0 && self.forward.is_none() => {
                Some("`model` of an agent needs one of `script`, `record`, `replay` and `forward`")
            }
            () if sources > 1 => {
                Some("`script`, `record` and `replay` of `model` exclude each other")
            }
            () if self.script.is_some() && self.forward.is_some() => {
                Some("`script` and `forward` of `model` exclude each other")
            }
            () if is_blank(&self.record) || is_blank(&self.replay) => {
                Some("`record` and `replay` of `model` name a file")
            }
            () if self.on_drift.is_some() && self.replay.is_none() => {
                Some("`on_drift` of `model` is for `replay`")
            }
            () if !self.ignore.is_empty() && self.replay.is_none() => {
                Some("`ignore` of `model` is for `replay`")
            }
            () if self.ignore.iter().any(|place| !place.starts_with('/')) => Some(
                "a place under `ignore` of `model` is not a JSON pointer: it begins with `/`, as in `/metadata`",
            ),
            () => self.script.as_deref().and_then(script_problem),
        }
    }
}

fn script_problem(answers: &[ModelAnswer]) -> Option<&'static str> {
    let mut calls = answers.iter().flat_map(|answer| &answer.tool_calls);
    match () {
        () if answers.is_empty() => {
            Some("`script` of `model` is an empty list: no call would be answered")
        }
        () if calls.any(|call| call.name.trim().is_empty()) => {
            Some("a call in `script` of `model` has an empty `name`")
        }
        () if answers
            .iter()
            .any(|answer| answer.text.is_empty() && answer.tool_calls.is_empty()) =>
        {
            Some("an answer in `script` of `model` has neither `text` nor `tool_calls`")
        }
        () if answers
            .iter()
            .filter_map(|answer| answer.when.as_ref())
            .any(PromptExpectation::is_empty) =>
        {
            Some("`when` in `script` of `model` looks for nothing; write `contains` or `matches`")
        }
        () => None,
    }
}

/// One answer of a scripted model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelAnswer {
    /// The words.
    pub text: String,
    /// Calls of tools that it asks the agent for.
    pub tool_calls: Vec<ModelToolCall>,
    /// The prompts that it answers; all when absent.
    pub when: Option<PromptExpectation>,
    /// How many calls it answers; one when absent.
    pub times: Option<NonZeroU32>,
    /// The tokens that it takes.
    pub usage: Option<ModelUsage>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = answer_rules)]
struct AnswerFields {
    /// The words.
    #[serde(default)]
    text: String,
    /// Calls of tools that the model asks the agent for.
    #[serde(default)]
    tool_calls: Vec<ModelToolCall>,
    /// The prompts that it answers; all when absent.
    #[serde(default)]
    when: Option<PromptExpectation>,
    /// How many calls it answers; one when absent.
    #[serde(default)]
    times: Option<NonZeroU32>,
    /// The tokens that it takes; estimated for the agent, and not recorded, when absent.
    #[serde(default)]
    usage: Option<ModelUsage>,
}

fn answer_rules(schema: &mut Schema) {
    let text = with("text", json!({"minLength": 1}));
    let calls = with("tool_calls", json!({"minItems": 1}));
    also(schema, json!({"anyOf": [text, calls]}));
}

impl From<AnswerFields> for ModelAnswer {
    fn from(fields: AnswerFields) -> Self {
        let AnswerFields { text, tool_calls, when, times, usage } = fields;
        Self { text, tool_calls, when, times, usage }
    }
}

text_or_mapping!(
    ModelAnswer,
    AnswerFields,
    "a text or a mapping with `text` or `tool_calls`",
    text: {"type": "string", "minLength": 1},
    |text| ModelAnswer { text: text.to_owned(), ..ModelAnswer::default() }
);

/// A call of a tool that a scripted model asks for.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelToolCall {
    /// The tool.
    #[schemars(transform = not_blank)]
    pub name: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Map<String, Value>,
    /// Pairs the call with its result; made up when absent.
    #[serde(default)]
    pub id: Option<String>,
}

/// Tokens of one answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelUsage {
    /// Those of the prompt.
    pub input_tokens: u64,
    /// Those of the answer.
    pub output_tokens: u64,
}

/// What happens to a call of the model instead of an answer, or on the way to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EndpointFault {
    /// Nothing: keeps a place in the list.
    None,
    /// It is refused with this HTTP status; the time is what `retry-after` says.
    Status(u16, Option<TimeSpan>),
    /// It is not answered.
    Timeout,
    /// The answer breaks off.
    CutStream,
    /// The answer is not JSON.
    Malformed,
    /// The answer takes this long.
    Slow(TimeSpan),
}

const FAULTS: [&str; 6] = ["timeout", "cut stream", "cut_stream", "malformed", "slow", "none"];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = fault_rules)]
struct FaultFields {
    /// The HTTP status with which the call is refused.
    #[schemars(range(min = 400, max = 599))]
    status: Option<u16>,
    /// When the agent may try again.
    retry_after: Option<TimeSpan>,
    /// How long the answer takes.
    #[schemars(transform = above_zero)]
    slow: Option<TimeSpan>,
}

fn fault_rules(schema: &mut Schema) {
    also(schema, json!({"oneOf": [given("status"), given("slow")]}));
    demand(schema, given("retry_after"), vec![given("status")]);
}

impl EndpointFault {
    fn of_status(status: u64, after: Option<TimeSpan>) -> Result<Self, String> {
        let status = u16::try_from(status).ok().filter(|status| (400..600).contains(status));
        let status = status.ok_or("a fault with a status is one from 400 to 599")?;
        Ok(Self::Status(status, after))
    }

    fn of_word(word: &str) -> Result<Self, String> {
        Ok(match word {
            "timeout" => Self::Timeout,
            "cut stream" | "cut_stream" => Self::CutStream,
            "malformed" => Self::Malformed,
            "slow" => Self::Slow(TimeSpan(SLOW)),
            "none" => Self::None,
            other => {
                return Err(format!(
                    "`{other}` is not a fault; write a status such as 429, `timeout`, `cut stream`, `malformed`, `slow` or `none`"
                ));
            }
        })
    }
}

impl<'de> Deserialize<'de> for EndpointFault {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let fault = match &value {
            Value::String(word) => Self::of_word(word),
            Value::Number(number) => number
                .as_u64()
                .ok_or_else(|| "a fault is not below 0".to_owned())
                .and_then(|status| Self::of_status(status, None)),
            _ => {
                let fields = FaultFields::deserialize(&value).map_err(de::Error::custom)?;
                match (fields.status, fields.slow) {
                    (Some(status), None) => Self::of_status(status.into(), fields.retry_after),
                    (None, Some(slow)) if fields.retry_after.is_none() && !slow.is_zero() => {
                        Ok(Self::Slow(slow))
                    }
                    _ => {
                        Err("a fault has `status`, with `retry_after` if need be, or `slow`".into())
                    }
                }
            }
        };
        fault.map_err(de::Error::custom)
    }
}

impl JsonSchema for EndpointFault {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "EndpointFault".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let fields = generator.subschema_for::<FaultFields>();
        json_schema!({
            "description": "An HTTP status from 400 to 599, timeout, cut stream, malformed, slow, none, or a mapping with status or slow.",
            "anyOf": [
                {"type": "integer", "minimum": 400, "maximum": 599},
                {"enum": FAULTS},
                fields,
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(value: Value) -> ModelEndpoint {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn faults_have_a_short_and_a_long_form() {
        let read = endpoint(
            json!({"script": ["a"], "faults": [429, "timeout", "cut stream", "malformed", "slow", "none", {"status": 503, "retry_after": "1s"}, {"slow": "50ms"}]}),
        );
        let span = |millis| TimeSpan(Duration::from_millis(millis));
        assert_eq!(
            read.faults,
            [
                EndpointFault::Status(429, None),
                EndpointFault::Timeout,
                EndpointFault::CutStream,
                EndpointFault::Malformed,
                EndpointFault::Slow(TimeSpan(SLOW)),
                EndpointFault::None,
                EndpointFault::Status(503, Some(span(1000))),
                EndpointFault::Slow(span(50)),
            ]
        );
        for wrong in [
            json!(200),
            json!("sometimes"),
            json!({}),
            json!({"status": 600}),
            json!({"slow": "0s"}),
            json!({"slow": "1s", "retry_after": "1s"}),
        ] {
            assert!(serde_json::from_value::<EndpointFault>(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_source_is_needed_and_one_is_enough() {
        for right in [
            json!({"script": ["a"]}),
            json!({"record": "a.tape"}),
            json!({"record": "a.tape", "forward": "real"}),
            json!({"replay": "a.tape", "forward": "real", "on_drift": "report", "ignore": ["/metadata"]}),
            json!({"forward": {"openai": "gpt"}}),
        ] {
            assert_eq!(endpoint(right.clone()).problem(), None, "{right}");
        }
        for wrong in [
            json!({}),
            json!({"faults": [429]}),
            json!({"script": []}),
            json!({"script": [{"text": ""}]}),
            json!({"script": [{"text": "a", "when": {}}]}),
            json!({"script": [{"tool_calls": [{"name": " "}]}]}),
            json!({"script": ["a"], "forward": "real"}),
            json!({"script": ["a"], "replay": "a.tape"}),
            json!({"record": "a.tape", "replay": "a.tape"}),
            json!({"record": "a.tape", "on_drift": "fail"}),
            json!({"replay": "a.tape", "ignore": ["metadata"]}),
            json!({"replay": " "}),
        ] {
            assert!(endpoint(wrong.clone()).problem().is_some(), "{wrong}");
        }
    }
}
