//! Which answers of a judge count. Strict on purpose: in doubt an answer is unusable.

use std::collections::BTreeMap;

use proctor_text::truncate;
use serde_json::{Map, Value};

use super::{JudgeQuestion, JudgeRequest};

/// The most characters of a text that a message quotes.
const EXCERPT: usize = 120;

/// A usable answer: one entry for every item of the request, by id.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeAnswer {
    /// By the id of the question.
    pub answers: BTreeMap<String, ItemAnswer>,
}

/// The answer to one question.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemAnswer {
    /// Whether it holds; for topics, always true.
    pub satisfied: bool,
    /// The reason that the judge gives; may be empty.
    pub reasoning: String,
    /// How well, between 0 and 1, if the judge says so.
    pub score: Option<f64>,
    /// The chosen topic.
    pub topic: Option<String>,
}

/// Why an answer does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unusable judge answer: {reason}; it said: {excerpt:?}")]
pub struct UnusableAnswer {
    /// What is wrong.
    pub reason: String,
    /// The beginning of the answer.
    pub excerpt: String,
}

/// Reads an answer to a request.
pub fn parse_judge_answer(
    text: &str,
    request: &JudgeRequest,
) -> Result<JudgeAnswer, UnusableAnswer> {
    read(text, request)
        .map_err(|reason| UnusableAnswer { reason, excerpt: truncate(text.trim(), EXCERPT) })
}

fn read(text: &str, request: &JudgeRequest) -> Result<JudgeAnswer, String> {
    let object = marked_object(text, &request.mark)?;
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
                return Err(format!("`{topic}` is not one of the topics"));
            }
            (true, Some(topic.to_owned()))
        }
        _ => (entry["satisfied"].as_bool().ok_or("`satisfied` is not true or false")?, None),
    };
    // The ends of the scale say the same as `satisfied`, or the answer contradicts itself.
    let contradicts = |score: f64| if satisfied { score <= 0.0 } else { score >= 1.0 };
    if topic.is_none() && score.is_some_and(contradicts) {
        return Err("`satisfied` and `score` contradict each other".into());
    }
    Ok(ItemAnswer { satisfied, reasoning: reasoning.to_owned(), score, topic })
}

/// The one JSON object with `answers` and the mark, alone, in a fence or in prose. Objects without the mark are what the
/// judge quotes of others; two with it are one too many.
fn marked_object(text: &str, mark: &str) -> Result<Map<String, Value>, String> {
    let (marked, other): (Vec<_>, Vec<_>) = objects_with_answers(text)
        .into_iter()
        .partition(|object| object.get("mark").and_then(Value::as_str) == Some(mark));
    match (<[_; 1]>::try_from(marked), other.is_empty()) {
        (Ok([object]), _) => Ok(object),
        (Err(marked), _) if !marked.is_empty() => {
            Err("more than one JSON object with `answers` and the mark".into())
        }
        (Err(_), false) => Err("its `answers` do not carry the mark of the question".into()),
        (Err(_), true) => Err("no JSON object with `answers`".into()),
    }
}

fn objects_with_answers(text: &str) -> Vec<Map<String, Value>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        rest = &rest[start..];
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match stream.next() {
            Some(Ok(Value::Object(object))) => {
                rest = &rest[stream.byte_offset()..];
                if object.contains_key("answers") {
                    found.push(object);
                }
            }
            _ => rest = &rest[1..],
        }
    }
    found
}

/// The answer of a recording that was made before answers carried marks, with the mark of this request added to its one
/// JSON object with `answers`. Any other text is left as it is. Never to be used on what a judge says now: then an answer
/// without the mark may be a quotation.
pub fn add_mark_to_recorded_answer(text: &str, mark: &str) -> String {
    match <[_; 1]>::try_from(objects_with_answers(text)) {
        Ok([mut object]) => {
            object.insert("mark".into(), mark.into());
            Value::Object(object).to_string()
        }
        Err(_) => text.to_owned(),
    }
}
