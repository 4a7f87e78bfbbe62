//! What beside a question decides the answer, as cassettes keep it: portable, readable in a difference, without secrets.
//!
//! Values that may hold a secret (headers, command lines, bodies) are written as digests. Headers that only say who
//! asks are left out, as keys are: a cassette is replayed by others than those who recorded it.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use proctor_dialogue::{
    AgentFields, ChatSpec, CommandWords, HttpSpec, ModelFields, PartySpecs, Pattern, QuestionKind,
    Say, ScriptRule, ScriptedCall, ServerSpec, Then, ToolStub, VerdictRule,
};
use proctor_llm::request_hash;
use proctor_redact::names_a_secret;
use serde_json::{Map, Value, json};

use super::endpoints;
use super::models::MAX_TOKENS;
use super::placeholder_values::PlaceholderValues;
use crate::tools::stub_spec;

/// Of a judge or a simulated user.
pub(super) fn of_model(fields: &ModelFields, placeholders: &PlaceholderValues) -> Value {
    let model = fields.anthropic.as_ref().or(fields.openai.as_ref());
    let is_asked = model.is_some() || fields.command.is_some();
    without_empty_members(json!({
        "backend": backend(fields),
        "model": model,
        "url": fields.url.as_ref().map(|url| filled(url, placeholders)),
        "max_tokens": is_asked.then(|| fields.max_tokens.map_or(MAX_TOKENS, NonZeroU32::get)),
        "temperature": fields.temperature,
        "extra": fields.extra,
        "headers": headers(&fields.headers, placeholders),
        "command": fields.command.as_ref().map(words),
        "env": (!fields.env.is_empty()).then(|| digest(&json!(fields.env))),
        "json_input": fields.json_input.then_some(true),
        "answer": fields.answer,
        "script": fields.script.as_deref().map(script),
        "verdicts": fields.verdicts.as_deref().map(verdicts),
    }))
}

/// Of an agent, with the tools it is offered.
pub(super) fn of_agent(
    name: &str,
    fields: &AgentFields,
    specs: &PartySpecs,
    placeholders: &PlaceholderValues,
) -> Value {
    without_empty_members(json!({
        "name": name,
        "command": fields.command.as_ref().map(words),
        "python": fields.python,
        "node": fields.node,
        "env": (!fields.env.is_empty()).then(|| digest(&json!(fields.env))),
        "chat": fields.chat.as_ref().map(|chat| of_chat(chat, placeholders)),
        "http": fields.http.as_ref().map(|http| of_http(http, placeholders)),
        "script": fields.script.as_deref().map(script),
        "model": fields.model.as_deref().map(|model| digest(&endpoints::described(model))),
        "tools": tools(&specs.tools.iter().map(|(name, stubs)| (name.as_str(), &stubs.0[..])).collect()),
        "servers": servers(specs),
    }))
}

fn backend(fields: &ModelFields) -> &'static str {
    match fields {
        ModelFields { anthropic: Some(_), .. } => "anthropic",
        ModelFields { openai: Some(_), .. } => "openai",
        ModelFields { command: Some(_), .. } => "command",
        _ => "scripted",
    }
}

fn of_chat(chat: &ChatSpec, placeholders: &PlaceholderValues) -> Value {
    without_empty_members(json!({
        "anthropic": chat.anthropic.then_some(true),
        "model": chat.model,
        "instructions": chat.instructions,
        "max_tokens": chat.max_tokens,
        "temperature": chat.temperature,
        "extra": chat.extra,
        "headers": headers(&chat.headers, placeholders),
    }))
}

fn of_http(http: &HttpSpec, placeholders: &PlaceholderValues) -> Value {
    without_empty_members(json!({
        "method": http.method,
        "body": http.body.as_ref().map(digest),
        "headers": headers(&http.headers, placeholders),
    }))
}

fn tools(tools: &BTreeMap<&str, &[ToolStub]>) -> Value {
    tools.iter().map(|(name, stubs)| json!(stub_spec(name, stubs))).collect()
}

fn servers(specs: &PartySpecs) -> Value {
    let servers = specs.mcp.iter().map(|(name, spec)| (name.clone(), of_server(&spec.value)));
    Value::Object(servers.collect())
}

fn of_server(spec: &ServerSpec) -> Value {
    without_empty_members(json!({
        "command": spec.command.as_ref().map(words),
        "url": spec.url.as_ref().map(|url| digest(&json!(url))),
        "only": spec.only,
    }))
}

/// As it will be used; where a variable is missing, which a replay does not need, as it is written.
fn filled(text: &str, placeholders: &PlaceholderValues) -> String {
    placeholders.text(text).unwrap_or_else(|_| text.to_owned())
}

fn headers(headers: &BTreeMap<String, String>, placeholders: &PlaceholderValues) -> Value {
    let notes_given = headers.iter().filter(|(name, _)| !names_a_secret(name));
    let notes_given = notes_given
        .map(|(name, value)| (name.to_lowercase(), digest(&json!(filled(value, placeholders)))));
    Value::Object(notes_given.collect())
}

/// A command by its name and a digest of all its words, as they are written: folders differ between machines.
fn words(words: &CommandWords) -> Value {
    let first = words.0.first().and_then(|line| line.split_whitespace().next());
    json!({"program": first, "words": digest(&json!(words.0))})
}

fn digest(value: &Value) -> Value {
    request_hash(value)[..16].into()
}

fn script(rules: &[ScriptRule]) -> Value {
    let rules = rules.iter().map(|rule| {
        let then = rule.then.map(|then| match then {
            Then::Stop => "stop",
            Then::Repeat => "repeat",
            Then::Again => "again",
        });
        let when = rule.when.as_ref().map(Pattern::source);
        let say: Vec<Value> = rule.say.iter().map(say).collect();
        without_empty_members(json!({"when": when, "say": say, "then": then}))
    });
    digest(&rules.collect())
}

fn say(say: &Say) -> Value {
    let calls = |calls: &[ScriptedCall]| -> Value {
        let call =
            |call: &ScriptedCall| json!([call.tool, call.arguments, call.result, call.error]);
        calls.iter().map(call).collect()
    };
    json!([say.text, calls(&say.call), calls(&say.called), say.fail, say.cost_usd, say.metadata])
}

fn verdicts(rules: &[VerdictRule]) -> Value {
    let rules = rules.iter().map(|rule| {
        let about = rule.about.map(QuestionKind::as_str);
        let patterns = [&rule.asked, &rule.seen, &rule.unseen];
        let patterns = patterns.map(|pattern| pattern.as_ref().map(Pattern::source));
        json!([about, patterns, rule.satisfied, rule.topic, rule.score, rule.because])
    });
    digest(&rules.collect())
}

/// The object without members that say nothing, so that a member added later changes no key.
fn without_empty_members(value: Value) -> Value {
    let Value::Object(members) = value else { return value };
    let is_filled = |value: &Value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => true,
    };
    members.into_iter().filter(|(_, value)| is_filled(value)).collect::<Map<_, _>>().into()
}
