//! What a model is told about a situation that no example covers, and how its answer is read. Pure: whoever has a model sends the
//! messages.

use super::{Answer, FillRequest};

/// The instructions, the same for every situation.
pub const SYSTEM_PROMPT: &str = "\
You complete RSpec examples for Ruby code. You are given one situation of one method: its source, the decisions on the way, and the description of \
the example that is missing. Write the lines between `do` and `end` of that one example: plain setup, one call of the method, one exact expectation.
Rules: use described_class; no describe, context, it, let, before, require, class or def; no any_instance, sleep, present time or random values; stub other \
classes with instance_double or allow(Class).to receive(:method). The example is run: it must pass, take exactly the stated path, and fail when the \
code is slightly changed, so expect exact values.
Answer with one JSON object and nothing else: {\"description\": \"present tense, third person\", \"body\": \"the lines\"}. Where values alone bring the situation about, \
give them instead of the body, one Ruby expression for each name: {\"description\": \"…\", \"values\": {\"amount\": \"12\"}}; the call is made with them and what it does is expected.";

/// One message of the exchange with a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptMessage {
    /// From us.
    User(String),
    /// The model's earlier answer.
    Model(String),
}

/// The messages to send: the question, and after a refusal the answer that was refused and the reason.
#[must_use]
pub fn prompt_messages(request: &FillRequest<'_>) -> Vec<PromptMessage> {
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
    text += &format!("Missing: {}\n", item.missing);
    let (required, optional) = item.call.names();
    if !required.is_empty() || !optional.is_empty() {
        text += &format!("Values can be given for: {}", required.join(", "));
        if !optional.is_empty() {
            text += &format!(" (optional: {})", optional.join(", "));
        }
        text.push('\n');
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
    let mut messages = vec![PromptMessage::User(text)];
    if let Some((answer, refusal)) = request.before {
        messages.push(PromptMessage::Model(serde_json::to_string(answer).unwrap_or_default()));
        messages.push(PromptMessage::User(format!(
            "{} {}: this was not kept. {}. {}. Answer again in the same form.",
            item.method_id,
            item.contexts.join(", "),
            refusal.message,
            refusal.hint
        )));
    }
    messages
}

/// The example in what a model wrote: a JSON object, else a fenced block, else the whole text.
#[must_use]
pub fn read_model_answer(text: &str) -> Answer {
    let object = text
        .find('{')
        .zip(text.rfind('}'))
        .filter(|(from, to)| from < to)
        .map(|(from, to)| &text[from..=to]);
    let read = object.and_then(|object| serde_json::from_str::<Answer>(object).ok());
    if let Some(answer) = read.filter(|read| !read.body.is_empty() || !read.values.is_empty()) {
        return answer;
    }
    let fenced = text
        .split_once("```")
        .and_then(|(_, rest)| rest.split_once('\n'))
        .and_then(|(_, rest)| rest.split_once("```"));
    Answer::body(fenced.map_or(text, |(body, _)| body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_found_in_what_models_say() {
        let answer = read_model_answer(
            "Here it is:\n```json\n{\"description\": \"returns 1\", \"body\": \"expect(1).to eq(1)\"}\n```",
        );
        assert_eq!(answer.description.as_deref(), Some("returns 1"));
        assert_eq!(
            read_model_answer("```ruby\nexpect(a).to eq(1)\n```\nDone.").body,
            "expect(a).to eq(1)\n"
        );
        assert_eq!(read_model_answer("expect(a).to eq({})").body, "expect(a).to eq({})");
    }
}
