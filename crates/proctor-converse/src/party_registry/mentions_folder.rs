//! Whether a description depends on the scenario's folder: `${here}` stands in one of the texts that are filled in.
//!
//! Every field of a description is named here, so a new field does not compile before it is decided whether placeholders are filled in.

use std::collections::BTreeMap;

use proctor_dialogue::{
    AgentFields, ChatSpec, CommandWords, HttpSpec, ModelEndpoint, ModelFields, ModelSpec,
    Readiness, Sandbox, ServerSpec,
};
use serde_json::Value;

pub(super) trait MentionsFolder {
    fn mentions_folder(&self) -> bool;
}

impl MentionsFolder for str {
    fn mentions_folder(&self) -> bool {
        self.contains("${here}")
    }
}

impl<T: MentionsFolder> MentionsFolder for Option<T> {
    fn mentions_folder(&self) -> bool {
        self.as_ref().is_some_and(T::mentions_folder)
    }
}

impl MentionsFolder for String {
    fn mentions_folder(&self) -> bool {
        self.as_str().mentions_folder()
    }
}

impl MentionsFolder for CommandWords {
    fn mentions_folder(&self) -> bool {
        self.0.iter().any(String::mentions_folder)
    }
}

/// Names are not filled in.
impl<T: MentionsFolder> MentionsFolder for BTreeMap<String, T> {
    fn mentions_folder(&self) -> bool {
        self.values().any(T::mentions_folder)
    }
}

impl MentionsFolder for Value {
    fn mentions_folder(&self) -> bool {
        match self {
            Self::String(text) => text.mentions_folder(),
            Self::Array(items) => items.iter().any(Self::mentions_folder),
            Self::Object(members) => members.values().any(Self::mentions_folder),
            Self::Null | Self::Bool(_) | Self::Number(_) => false,
        }
    }
}

impl MentionsFolder for AgentFields {
    fn mentions_folder(&self) -> bool {
        let Self {
            command,
            python,
            node,
            interpreter,
            env,
            sandbox,
            model,
            ready,
            chat,
            http,
            name: _,
            processes: _,
            process_per_conversation: _,
            script: _,
            made_calls: _,
            tools: _,
            deterministic: _,
            timeout: _,
            traces: _,
        } = self;
        command.mentions_folder()
            || python.mentions_folder()
            || node.mentions_folder()
            || interpreter.mentions_folder()
            || env.mentions_folder()
            || sandbox.mentions_folder()
            || model.as_deref().is_some_and(ModelEndpoint::mentions_folder)
            || ready.mentions_folder()
            || chat.mentions_folder()
            || http.mentions_folder()
    }
}

impl MentionsFolder for Sandbox {
    fn mentions_folder(&self) -> bool {
        let Some(fields) = self.fields() else { return false };
        fields.read.iter().chain(&fields.write).any(String::mentions_folder)
    }
}

impl MentionsFolder for ModelEndpoint {
    fn mentions_folder(&self) -> bool {
        let Self { record, replay, forward, script: _, faults: _, on_drift: _, ignore: _ } = self;
        let forward = match forward {
            Some(ModelSpec::Given(fields)) => fields.mentions_folder(),
            Some(ModelSpec::Named(_)) | None => false,
        };
        record.mentions_folder() || replay.mentions_folder() || forward
    }
}

impl MentionsFolder for Readiness {
    fn mentions_folder(&self) -> bool {
        let Self { url, within: _ } = self;
        url.mentions_folder()
    }
}

impl MentionsFolder for ChatSpec {
    fn mentions_folder(&self) -> bool {
        let Self {
            url,
            headers,
            anthropic: _,
            model: _,
            key_env: _,
            instructions: _,
            stream: _,
            max_tokens: _,
            temperature: _,
            extra: _,
        } = self;
        url.mentions_folder() || headers.mentions_folder()
    }
}

impl MentionsFolder for HttpSpec {
    fn mentions_folder(&self) -> bool {
        let Self {
            url,
            headers,
            body,
            initially,
            method: _,
            text: _,
            delta: _,
            tool_calls: _,
            made_calls: _,
            input_tokens: _,
            output_tokens: _,
            error: _,
            remember: _,
        } = self;
        url.mentions_folder()
            || headers.mentions_folder()
            || body.mentions_folder()
            || initially.mentions_folder()
    }
}

impl MentionsFolder for ModelFields {
    fn mentions_folder(&self) -> bool {
        let Self {
            command,
            env,
            sandbox,
            url,
            headers,
            anthropic: _,
            openai: _,
            script: _,
            verdicts: _,
            key_env: _,
            extra: _,
            max_tokens: _,
            temperature: _,
            timeout: _,
            stream: _,
            tries: _,
            requests_per_minute: _,
            tokens_per_minute: _,
            concurrency: _,
            price: _,
            answer: _,
            json_input: _,
        } = self;
        command.mentions_folder()
            || env.mentions_folder()
            || sandbox.mentions_folder()
            || url.mentions_folder()
            || headers.mentions_folder()
    }
}

impl MentionsFolder for ServerSpec {
    fn mentions_folder(&self) -> bool {
        let Self { command, env, sandbox, url, headers, timeout: _, only: _ } = self;
        command.mentions_folder()
            || sandbox.mentions_folder()
            || env.mentions_folder()
            || url.mentions_folder()
            || headers.mentions_folder()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(text: &str) -> AgentFields {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn texts_that_are_filled_in_count_wherever_they_stand() {
        for text in [
            r#"{"command": ["python", "${here}/agent.py"]}"#,
            r#"{"command": ["agent"], "env": {"HOME": "${here}"}}"#,
            r#"{"command": ["agent"], "ready": {"url": "file://${here}/ready"}}"#,
            r#"{"chat": {"url": "http://x", "headers": {"from": "${here}"}}}"#,
            r#"{"http": {"url": "http://x", "body": {"files": [{"path": "${here}/a"}]}}}"#,
        ] {
            assert!(agent(text).mentions_folder(), "{text}");
        }
    }

    #[test]
    fn texts_that_are_sent_as_they_are_do_not_count() {
        for text in [
            r#"{"script": ["put it into ${here}"]}"#,
            r#"{"chat": {"url": "http://x", "instructions": "about ${here}"}}"#,
            r#"{"command": ["agent"], "env": {"${here}": "1"}}"#,
        ] {
            assert!(!agent(text).mentions_folder(), "{text}");
        }
    }
}
