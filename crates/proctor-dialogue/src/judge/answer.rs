//! Which answers of a judge count. Strict on purpose: in doubt an answer is unusable.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{JudgeQuestion, JudgeRequest};

/// A usable answer: one entry for every item of the request, by id.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeAnswer {
    /// The answers.
    pub answers: BTreeMap<String, ItemAnswer>,
}

/// The answer to one question.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemAnswer {
    /// Whether it holds; for topics, always true.
    pub satisfied: bool,
    /// Why.
    pub reasoning: String,
    /// How well, between 0 and 1, if the judge says so.
    pub score: Option<f64>,
    /// The chosen topic.
    pub topic: Option<String>,
}

/// Why an answer does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unusable judge answer: {reason}; it said: {excerpt:?}")]
pub struct Unusable {
    /// What is wrong.
    pub reason: String,
    /// The beginning of the answer.
    pub excerpt: String,
}

/// Reads an answer to a request.
pub fn parse_judge_answer(text: &str, request: &JudgeRequest) -> Result<JudgeAnswer, Unusable> {
    read(text, request).map_err(|reason| Unusable { reason, excerpt: excerpt(text) })
}

fn read(text: &str, request: &JudgeRequest) -> Result<JudgeAnswer, String> {
    let object = the_object(text)?;
    let Some(Value::Array(entries)) = object.get("answers") else {
        return Err("`answers` is not a list".into());
    };
    let mut answers = BTreeMap::new();
    for entry in entries {
        let id = entry["id"].as_str().ok_or("an answer has no `id`")?;
        let item = request.items.iter().find(|item| item.id == id);
        let item = item.ok_or_else(|| format!("nobody asked `{id}`"))?;
        let answer = item_answer(entry, &item.question).map_err(|why| format!("`{id}`: {why}"))?;
        if answers.insert(id.to_owned(), answer).is_some() {
            return Err(format!("`{id}` is answered twice"));
        }
    }
    match request.items.iter().find(|item| !answers.contains_key(&item.id)) {
        Some(item) => Err(format!("`{}` is not answered", item.id)),
        None => Ok(JudgeAnswer { answers }),
    }
}

fn item_answer(entry: &Value, question: &JudgeQuestion) -> Result<ItemAnswer, String> {
    let reasoning = entry["reasoning"].as_str().map(str::trim).unwrap_or_default();
    if reasoning.is_empty() {
        return Err("no `reasoning`".into());
    }
    let score = match &entry["score"] {
        Value::Null => None,
        value => Some(
            value
                .as_f64()
                .filter(|score| (0.0..=1.0).contains(score))
                .ok_or("`score` is no number between 0 and 1")?,
        ),
    };
    let (satisfied, topic) = match question {
        JudgeQuestion::Topic(choices) => {
            let topic = entry["topic"].as_str().ok_or("no `topic`")?;
            if !choices.iter().any(|choice| choice.name == topic) {
                return Err(format!("`{topic}` is none of the topics"));
            }
            (true, Some(topic.to_owned()))
        }
        _ => (entry["satisfied"].as_bool().ok_or("`satisfied` is not true or false")?, None),
    };
    Ok(ItemAnswer { satisfied, reasoning: reasoning.to_owned(), score, topic })
}

/// The one JSON object with `answers`, alone, in a fence or in prose. Two of them are one too many: the
/// judge may be quoting the agent.
fn the_object(text: &str) -> Result<Map<String, Value>, String> {
    let mut found: Option<Map<String, Value>> = None;
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        rest = &rest[start..];
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match stream.next() {
            Some(Ok(Value::Object(object))) => {
                rest = &rest[stream.byte_offset()..];
                if object.contains_key("answers") && found.replace(object).is_some() {
                    return Err("more than one JSON object with `answers`".into());
                }
            }
            _ => rest = &rest[1..],
        }
    }
    found.ok_or_else(|| "no JSON object with `answers`".into())
}

fn excerpt(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(120) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
