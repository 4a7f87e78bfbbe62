//! What a span is about: a call of a tool, a question to a model, or an agent's work.
//!
//! The names are those of the `GenAI` conventions of OpenTelemetry, of openinference, of `OpenLLMetry`, of the AI SDK and of older versions
//! of `PydanticAI`. A span that has none of them is other work.

use serde_json::{Map, Value};

use crate::span::Span;

/// What a span is about.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Role {
    /// A call of a tool.
    Tool(ToolSpan),
    /// A question to a model.
    Model(ModelSpan),
    /// The work of an agent, a chain or a graph: who instruments it sees its tools.
    Agent,
    /// Anything else.
    Other,
}

/// A call of a tool, as far as its span tells.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ToolSpan {
    pub(crate) name: String,
    pub(crate) id: Option<String>,
    pub(crate) arguments: Option<Value>,
    pub(crate) result: Option<Value>,
}

/// A question to a model, as far as its span tells.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ModelSpan {
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) input_tokens: Option<u64>,
    pub(crate) output_tokens: Option<u64>,
    pub(crate) cache_read_tokens: Option<u64>,
    pub(crate) cache_write_tokens: Option<u64>,
    pub(crate) cost_usd: Option<f64>,
}

const TOOL_NAME: &[&str] =
    &["gen_ai.tool.name", "tool.name", "tool_call.function.name", "ai.toolCall.name"];
const CALL_ID: &[&str] = &["gen_ai.tool.call.id", "tool_call.id", "tool.id", "ai.toolCall.id"];
/// Attributes that hold the arguments and nothing else.
const ARGUMENTS: &[&str] = &[
    "gen_ai.tool.call.arguments",
    "tool_call.function.arguments",
    "tool_arguments",
    "ai.toolCall.args",
    "ai.toolCall.input",
];
/// Attributes that hold what a function was called with, in a form of the instrumentation's own.
const INPUTS: &[&str] = &["input.value", "traceloop.entity.input", "gen_ai.prompt"];
const RESULTS: &[&str] = &[
    "gen_ai.tool.call.result",
    "tool_response",
    "ai.toolCall.result",
    "ai.toolCall.output",
    "output.value",
    "traceloop.entity.output",
    "gen_ai.completion",
];
const MODEL: &[&str] = &[
    "gen_ai.response.model",
    "gen_ai.request.model",
    "llm.model_name",
    "ai.response.model",
    "ai.model.id",
];
const PROVIDER: &[&str] =
    &["gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider"];
const INPUT_TOKENS: &[&str] = &[
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.token_count.prompt",
    "ai.usage.inputTokens",
    "ai.usage.promptTokens",
];
const OUTPUT_TOKENS: &[&str] = &[
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
    "ai.usage.outputTokens",
    "ai.usage.completionTokens",
];
const CACHE_READ: &[&str] = &[
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.details.cache_read_tokens",
    "llm.token_count.prompt_details.cache_read",
    "ai.usage.cachedInputTokens",
];
const CACHE_WRITE: &[&str] = &[
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.details.cache_write_tokens",
    "llm.token_count.prompt_details.cache_write",
];
const COST: &[&str] = &["llm.cost.total", "gen_ai.usage.cost", "operation.cost"];

/// What the attributes say that a span is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tool,
    Model,
    Agent,
    Other,
}

/// What a span is about.
pub(crate) fn role(span: &Span) -> Role {
    match kind(span) {
        Kind::Tool => Role::Tool(tool(span)),
        Kind::Model => Role::Model(model(span)),
        Kind::Agent => Role::Agent,
        Kind::Other => Role::Other,
    }
}

fn kind(span: &Span) -> Kind {
    let by_operation = span.text(&["gen_ai.operation.name"]).map(of_operation);
    let by_kind = || {
        let words = ["openinference.span.kind", "traceloop.span.kind", "langsmith.span.kind"];
        span.text(&words).map(of_word)
    };
    let named = by_operation.filter(|kind| *kind != Kind::Other).or_else(by_kind);
    if let Some(kind) = named.filter(|kind| *kind != Kind::Other) {
        return kind;
    }
    match span.text(&["ai.operationId"]).unwrap_or(&span.name) {
        "ai.toolCall" => return Kind::Tool,
        name if name.starts_with("ai.") => {
            let asks = name.ends_with(".doGenerate") || name.ends_with(".doStream");
            return if asks { Kind::Model } else { Kind::Agent };
        }
        _ => {}
    }
    let has = |keys: &[&str]| span.attribute(keys).is_some();
    match () {
        () if has(&["gen_ai.tool.name"]) && has(&["gen_ai.tool.call.id", "tool_arguments"]) => {
            Kind::Tool
        }
        () if has(&["llm.request.type"]) || has(INPUT_TOKENS) && has(MODEL) => Kind::Model,
        () if has(&["gen_ai.agent.name", "agent_name"]) => Kind::Agent,
        () => Kind::Other,
    }
}

fn of_operation(name: &str) -> Kind {
    match name {
        "execute_tool" => Kind::Tool,
        "chat" | "text_completion" | "generate_content" => Kind::Model,
        "invoke_agent" | "create_agent" | "invoke_workflow" => Kind::Agent,
        _ => Kind::Other,
    }
}

fn of_word(word: &str) -> Kind {
    match word.to_ascii_lowercase().as_str() {
        "tool" => Kind::Tool,
        "llm" => Kind::Model,
        "agent" | "chain" | "workflow" | "task" => Kind::Agent,
        _ => Kind::Other,
    }
}

fn tool(span: &Span) -> ToolSpan {
    let result = span.attribute(RESULTS).map(decoded);
    let message = result.as_ref().and_then(tool_message);
    let in_result = message.as_ref().map(|(id, _)| id.clone());
    ToolSpan {
        name: tool_name(span),
        id: span.text(CALL_ID).map(str::to_owned).or(in_result),
        arguments: arguments(span),
        result: message.map(|(_, content)| content).or(result),
    }
}

fn tool_name(span: &Span) -> String {
    if let Some(name) = span.text(TOOL_NAME) {
        return name.to_owned();
    }
    let entity = span.text(&["traceloop.entity.name"]);
    let name = entity.unwrap_or(&span.name);
    let prefixes = ["execute_tool ", "running tool: "];
    let rest = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix));
    rest.unwrap_or(name).trim().to_owned()
}

/// The arguments of a call; nothing if they are not known as an object.
fn arguments(span: &Span) -> Option<Value> {
    if let Some(given) = span.attribute(ARGUMENTS) {
        return Some(decoded(given)).filter(Value::is_object);
    }
    match decoded(span.attribute(INPUTS)?) {
        Value::Object(members) => of_function(members),
        _ => None,
    }
}

/// The arguments in what a function was called with. Values without names are not arguments by name.
fn of_function(mut members: Map<String, Value>) -> Option<Value> {
    if let Some(inputs @ Value::Object(_)) = members.remove("inputs") {
        return Some(inputs);
    }
    let is_call = members.contains_key("kwargs")
        && members
            .keys()
            .all(|key| ["args", "kwargs", "sanitize_inputs_outputs"].contains(&&**key));
    if !is_call {
        let foreign = ["input_str", "args", "kwargs", "tags", "metadata"];
        let is_foreign = members.keys().any(|key| foreign.contains(&&**key));
        return (!is_foreign).then_some(Value::Object(members));
    }
    let positional = match members.remove("args") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items,
        Some(_) => return None,
    };
    match (positional.as_slice(), members.remove("kwargs")?) {
        ([], named @ Value::Object(_)) => Some(named),
        ([only @ Value::Object(_)], Value::Object(named)) if named.is_empty() => Some(only.clone()),
        _ => None,
    }
}

/// The id and the content of a tool's message, where a framework's result is one.
fn tool_message(result: &Value) -> Option<(String, Value)> {
    let inner = ["data", "kwargs", "update"].iter().find_map(|name| result.get(*name));
    let fields = inner.filter(|inner| inner.is_object()).unwrap_or(result);
    let message = fields.pointer("/messages/0").unwrap_or(fields);
    let id = message.get("tool_call_id")?.as_str()?;
    Some((id.to_owned(), message.get("content").cloned().unwrap_or_default()))
}

fn model(span: &Span) -> ModelSpan {
    let owned = |keys| span.text(keys).map(str::to_owned);
    ModelSpan {
        provider: owned(PROVIDER),
        model: owned(MODEL),
        input_tokens: span.count(INPUT_TOKENS),
        output_tokens: span.count(OUTPUT_TOKENS),
        cache_read_tokens: span.count(CACHE_READ),
        cache_write_tokens: span.count(CACHE_WRITE),
        cost_usd: span.number(COST),
    }
}

/// A text that holds a JSON object or list is that; everything else is itself.
pub(crate) fn decoded(value: &Value) -> Value {
    let Value::String(text) = value else { return value.clone() };
    let is_json = text.trim_start().starts_with(['{', '[', '"']);
    let read = || serde_json::from_str(text).ok();
    is_json.then(read).flatten().unwrap_or_else(|| value.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn span(name: &str, attributes: &Value) -> Span {
        let attributes = attributes.as_object().unwrap().clone().into_iter().collect();
        Span { name: name.into(), attributes, ..Span::default() }
    }

    #[test]
    fn tools_are_recognised_in_every_convention() {
        let called = |id: Option<&str>| {
            Role::Tool(ToolSpan {
                name: "weather".into(),
                id: id.map(str::to_owned),
                arguments: Some(json!({"city": "Rome"})),
                result: Some(json!("clear")),
            })
        };
        for (name, attributes, id) in [
            (
                "execute_tool weather",
                json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather", "gen_ai.tool.call.id": "c1", "gen_ai.tool.call.arguments": "{\"city\": \"Rome\"}", "gen_ai.tool.call.result": "clear"}),
                Some("c1"),
            ),
            (
                "running tool",
                json!({"gen_ai.tool.name": "weather", "gen_ai.tool.call.id": "c1", "tool_arguments": "{\"city\": \"Rome\"}", "tool_response": "clear"}),
                Some("c1"),
            ),
            (
                "weather",
                json!({"openinference.span.kind": "TOOL", "input.value": "{\"city\": \"Rome\"}", "output.value": "clear"}),
                None,
            ),
            (
                "SimpleTool",
                json!({"openinference.span.kind": "TOOL", "tool.name": "weather", "input.value": "{\"args\": [], \"sanitize_inputs_outputs\": true, \"kwargs\": {\"city\": \"Rome\"}}", "output.value": "clear"}),
                None,
            ),
            (
                "weather.tool",
                json!({"traceloop.span.kind": "tool", "traceloop.entity.name": "weather", "traceloop.entity.input": "{\"input_str\": \"x\", \"inputs\": {\"city\": \"Rome\"}}", "traceloop.entity.output": "clear"}),
                None,
            ),
            (
                "ai.toolCall",
                json!({"ai.operationId": "ai.toolCall", "ai.toolCall.name": "weather", "ai.toolCall.id": "c1", "ai.toolCall.args": "{\"city\":\"Rome\"}", "ai.toolCall.result": "\"clear\""}),
                Some("c1"),
            ),
        ] {
            assert_eq!(role(&span(name, &attributes)), called(id), "{attributes}");
        }
    }

    #[test]
    fn arguments_that_are_not_an_object_by_name_are_unknown() {
        for input in ["{'city': 'Rome'}", "Rome", "[1]", "{\"args\": [\"Rome\"], \"kwargs\": {}}"] {
            let attributes = json!({"openinference.span.kind": "TOOL", "tool.name": "weather", "input.value": input});
            let Role::Tool(tool) = role(&span("weather", &attributes)) else { panic!("{input}") };
            assert_eq!(tool.arguments, None, "{input}");
        }
    }

    #[test]
    fn a_message_of_a_tool_gives_the_id() {
        let fields = json!({"content": "clear", "tool_call_id": "c7"});
        for message in [json!({"type": "tool", "data": fields}), json!({"kwargs": fields}), fields]
        {
            let attributes = json!({"openinference.span.kind": "TOOL", "tool.name": "weather", "input.value": "Rome",
                "output.value": message.to_string()});
            let Role::Tool(tool) = role(&span("weather", &attributes)) else { panic!() };
            assert_eq!((tool.id.as_deref(), tool.result), (Some("c7"), Some(json!("clear"))));
        }
    }

    #[test]
    fn models_and_agents_are_recognised() {
        for attributes in [
            json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 4}),
            json!({"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.token_count.prompt": 3.0, "llm.token_count.completion": 4}),
            json!({"llm.request.type": "chat", "gen_ai.request.model": "m", "gen_ai.usage.prompt_tokens": 3, "gen_ai.usage.completion_tokens": 4}),
            json!({"ai.operationId": "ai.generateText.doGenerate", "ai.model.id": "m", "ai.usage.promptTokens": 3, "ai.usage.completionTokens": 4}),
        ] {
            let Role::Model(model) = role(&span("chat m", &attributes)) else {
                panic!("{attributes}")
            };
            assert_eq!((model.input_tokens, model.output_tokens), (Some(3), Some(4)));
            assert_eq!(model.model.as_deref(), Some("m"), "{attributes}");
        }
        for attributes in [
            json!({"gen_ai.operation.name": "invoke_agent"}),
            json!({"openinference.span.kind": "CHAIN"}),
            json!({"traceloop.span.kind": "workflow"}),
            json!({"ai.operationId": "ai.generateText", "ai.usage.promptTokens": 3, "ai.model.id": "m"}),
        ] {
            assert_eq!(role(&span("run", &attributes)), Role::Agent, "{attributes}");
        }
        assert_eq!(role(&span("GET", &json!({"http.request.method": "GET"}))), Role::Other);
    }
}
