//! Changing the free text of an event: what people, agents and tools wrote, and nothing else.
//!
//! Names of fields, numbers and the words of the format (statuses, reasons) stay, so an event stays what it is, whatever
//! the change does.

use std::ops::Range;

use crate::json::{Json, Millis};
use crate::words::{
    EvaluationMode, Fault, InvariantType, MessageSource, OutputStream, RunEnding, Status,
    StopReason, TerminationReason, TopicTrigger,
};

/// Gives the new text, or nothing where a text stays as it is.
pub type TextChange<'a> = dyn FnMut(&str) -> Option<String> + 'a;

/// Something that may hold free text.
pub(crate) trait Texts {
    fn change_texts(&mut self, change: &mut TextChange<'_>);
}

impl Texts for String {
    fn change_texts(&mut self, change: &mut TextChange<'_>) {
        if let Some(new) = change(self) {
            *self = new;
        }
    }
}

impl Texts for Json {
    fn change_texts(&mut self, change: &mut TextChange<'_>) {
        let changed = changed_json(self.text(), change);
        if let Some(json) = changed.and_then(|text| serde_json::from_str(&text).ok()) {
            *self = json;
        }
    }
}

impl<T: Texts> Texts for Option<T> {
    fn change_texts(&mut self, change: &mut TextChange<'_>) {
        if let Some(inner) = self {
            inner.change_texts(change);
        }
    }
}

impl<T: Texts> Texts for Vec<T> {
    fn change_texts(&mut self, change: &mut TextChange<'_>) {
        for inner in self {
            inner.change_texts(change);
        }
    }
}

/// A field of a newer writer: its value.
impl Texts for (Box<str>, Json) {
    fn change_texts(&mut self, change: &mut TextChange<'_>) {
        self.1.change_texts(change);
    }
}

macro_rules! without_texts {
    ($($T:ty),+ $(,)?) => { $(
        impl Texts for $T {
            fn change_texts(&mut self, _: &mut TextChange<'_>) {}
        }
    )+ };
}

without_texts!(bool, u32, u64, i32, f64, Millis, Status, Fault, MessageSource, OutputStream);
without_texts!(TerminationReason, EvaluationMode, TopicTrigger, InvariantType);
without_texts!(RunEnding, StopReason);

/// The JSON text with its strings changed; nothing where none is. A name of a member that looks like a field's stays. A
/// number of which the change leaves nothing becomes a string. Everything else stays digit for digit.
fn changed_json(text: &str, change: &mut TextChange<'_>) -> Option<String> {
    let mut changed = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(token) = next_scalar(text, at) {
        at = token.end;
        if let Some(new) = changed_scalar(&text[token.clone()], &text[token.end..], change) {
            changed.push_str(&text[copied..token.start]);
            changed.push_str(&serde_json::Value::from(new).to_string());
            copied = token.end;
        }
    }
    (copied > 0).then(|| changed + &text[copied..])
}

fn changed_scalar(token: &str, rest: &str, change: &mut TextChange<'_>) -> Option<String> {
    if !token.starts_with('"') {
        return change(token).filter(|new| !new.contains(|letter: char| letter.is_ascii_digit()));
    }
    let content: String = serde_json::from_str(token).ok()?;
    let is_name = rest.trim_start().starts_with(':');
    let like_a_field = content.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    if is_name && like_a_field { None } else { change(&content) }
}

/// The next string or number from a place on; the text is valid JSON.
fn next_scalar(text: &str, from: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let starts = |byte: &u8| matches!(byte, b'"' | b'-' | b'0'..=b'9');
    let start = from + bytes.get(from..)?.iter().position(starts)?;
    let mut end = start + 1;
    if bytes[start] == b'"' {
        while let Some(byte) = bytes.get(end)
            && *byte != b'"'
        {
            end += if *byte == b'\\' { 2 } else { 1 };
        }
        end += 1;
    } else {
        let goes_on = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
        end += bytes[end..].iter().take_while(|byte| goes_on(byte)).count();
    }
    Some(start..end.min(bytes.len()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{AgentResponse, Body, EvaluationRecorded, Event, ExampleFinished, Exception};

    fn mask(secret: &str) -> impl FnMut(&str) -> Option<String> {
        move |text| text.contains(secret).then(|| text.replace(secret, "[…]"))
    }

    #[test]
    fn texts_change_and_the_rest_stays() {
        let mut body = Body::from(AgentResponse {
            text: "metadata: hush".into(),
            tool_calls: vec![Json::from(json!({"arguments": {"hush": ["a hush", 1.50]}}))],
            ..AgentResponse::default()
        });
        body.change_texts(&mut mask("hush"));
        let Body::AgentResponse(response) = &body else { panic!("{body:?}") };
        assert_eq!(response.text, "metadata: […]");
        assert_eq!(response.tool_calls[0].text(), r#"{"arguments":{"hush":["a […]",1.5]}}"#);
        let mut body = Body::from(ExampleFinished {
            status: Status::Failed,
            exception: Some(Exception { message: "failed".into(), ..Exception::default() }),
            ..ExampleFinished::default()
        });
        body.change_texts(&mut mask("failed"));
        let Body::ExampleFinished(finished) = &body else { panic!("{body:?}") };
        assert_eq!(finished.status, Status::Failed);
        assert_eq!(finished.exception.as_ref().unwrap().message, "[…]");
    }

    /// Audit D11: a secret that is the name of a field, or a word of the format, made the event unreadable.
    #[test]
    fn d11_an_event_can_be_read_whatever_word_is_a_secret() {
        let event = || {
            let metadata = Json::from(json!({"votes": {"passed": 1}, "true": [true, null, 5]}));
            Event::from(EvaluationRecorded {
                mode: EvaluationMode::Hard,
                passed: Some(true),
                reasoning: Some("because".into()),
                metadata: Some(metadata),
                ..EvaluationRecorded::default()
            })
        };
        let text = event().to_json();
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        for word in words.filter(|word| !word.is_empty()).chain(["\"", "{", ":", ",", "e"]) {
            let mut changed = event();
            changed.body.change_texts(&mut mask(word));
            let read = Event::from_json(&changed.to_json())
                .unwrap_or_else(|error| panic!("{word}: {error}"));
            let Body::EvaluationRecorded(read) = read.body else { panic!("{word}") };
            assert_eq!((read.mode, read.passed), (EvaluationMode::Hard, Some(true)), "{word}");
        }
    }

    #[test]
    fn json_keeps_its_spelling_but_for_what_changes() {
        let changed = |text: &str, secret: &str| changed_json(text, &mut mask(secret));
        assert_eq!(changed(r#"{"a": 12345678901234567890.10}"#, "x"), None);
        assert_eq!(
            changed(r#"{ "a\u0062c" : "x\n\"y" , "n": 1e400 }"#, "x\n\"").as_deref(),
            Some(r#"{ "a\u0062c" : "[…]y" , "n": 1e400 }"#)
        );
        assert_eq!(
            changed("[1234567, -1234567, 12345678]", "1234567").as_deref(),
            Some(r#"["[…]", "-[…]", 12345678]"#)
        );
        assert_eq!(
            changed(r#"{"Key 1": 0, "key": "key"}"#, "Key 1").as_deref(),
            Some(r#"{"[…]": 0, "key": "key"}"#)
        );
        assert_eq!(changed(r#"{"key": "key"}"#, "key").as_deref(), Some(r#"{"key": "[…]"}"#));
        assert_eq!(changed(r#""""#, "key"), None);
    }
}
