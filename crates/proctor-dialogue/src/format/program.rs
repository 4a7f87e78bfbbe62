//! Programs that a scenario starts: their words, their surroundings, and tool servers.

use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize as DeserializeDerive, Serialize};
use serde_json::json;

use super::sandbox::Sandbox;
use super::schema::{NOT_BLANK, above_zero, exactly_one, exclude, given, not_blank, with};
use super::values::TimeSpan;

/// A program and its arguments; a single text with blanks in it is for a shell.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CommandWords(pub Vec<String>);

impl CommandWords {
    /// What is to be executed.
    pub fn argv(&self) -> Vec<String> {
        match self.0.as_slice() {
            [line] if line.contains(char::is_whitespace) => {
                vec!["sh".into(), "-c".into(), line.clone()]
            }
            words => words.to_vec(),
        }
    }

    /// The same words, each changed.
    pub fn map<E>(&self, change: impl Fn(&str) -> Result<String, E>) -> Result<Self, E> {
        self.0.iter().map(|word| change(word)).collect::<Result<_, E>>().map(Self)
    }
}

impl<'de> Deserialize<'de> for CommandWords {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueVisitor;
        impl<'de> Visitor<'de> for ValueVisitor {
            type Value = CommandWords;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a command line or a list of words")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<CommandWords, E> {
                if text.trim().is_empty() {
                    return Err(E::custom("the command is empty"));
                }
                Ok(CommandWords(vec![text.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<CommandWords, A::Error> {
                let mut words: Vec<String> = Vec::new();
                while let Some(word) = items.next_element()? {
                    words.push(word);
                }
                if words.first().is_none_or(|program| program.trim().is_empty()) {
                    return Err(de::Error::custom("the command is empty"));
                }
                Ok(CommandWords(words))
            }
        }
        deserializer.deserialize_any(ValueVisitor)
    }
}

impl JsonSchema for CommandWords {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Words".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [
            {"type": "string", "pattern": NOT_BLANK, "description": "a program, or a line for the shell if it has blanks"},
            {
                "type": "array", "items": {"type": "string"}, "minItems": 1, "prefixItems": [{"type": "string", "pattern": NOT_BLANK}],
                "description": "a program and its arguments",
            },
        ]})
    }
}

/// A server of tools that speaks the Model Context Protocol: a program, on its standard input and output, or an address.
///
/// `${root}`, `${here}`, `${bin}` and `${env:NAME}` stand for the project's root, the scenario's folder, the
/// folder of the `proctor` program, and a variable of the environment.
#[derive(Debug, Clone, Default, PartialEq, DeserializeDerive, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(transform = server_rules)]
pub struct ServerSpec {
    /// The program and its arguments.
    pub command: Option<CommandWords>,
    /// Variables added to its environment.
    pub env: BTreeMap<String, String>,
    /// How the program is confined.
    pub sandbox: Option<Sandbox>,
    /// Its address, where it runs by itself and speaks streamable HTTP.
    #[schemars(transform = not_blank)]
    pub url: Option<String>,
    /// Headers for the address; `${env:NAME}` takes a variable of the environment.
    pub headers: BTreeMap<String, String>,
    /// How long one call may take; 30 seconds when absent.
    #[schemars(transform = above_zero)]
    pub timeout: Option<TimeSpan>,
    /// Only these of its tools are offered to the agent; all when absent.
    #[schemars(length(min = 1))]
    pub only: Option<Vec<String>>,
}

fn server_rules(schema: &mut Schema) {
    exactly_one(schema, &["command", "url"]);
    let some = |key| with(key, json!({"minProperties": 1}));
    exclude(schema, given("command"), some("headers"));
    exclude(schema, given("url"), some("env"));
    exclude(schema, given("url"), given("sandbox"));
}

impl ServerSpec {
    /// What is wrong with the combination, if anything is.
    pub fn problem(&self) -> Option<&'static str> {
        match (&self.command, &self.url) {
            (None, None) => Some("a tool server needs `command` or `url`"),
            (Some(_), Some(_)) => Some("`command` and `url` exclude each other"),
            (Some(_), None) if !self.headers.is_empty() => Some("`headers` are for a `url`"),
            (None, Some(_)) if !self.env.is_empty() => Some("`env` is for a `command`"),
            (None, Some(url)) if url.trim().is_empty() => Some("`url` is empty"),
            (None, Some(_)) if self.sandbox.is_some() => Some("`sandbox` is for a `command`"),
            _ if self.timeout.is_some_and(TimeSpan::is_zero) => {
                Some("`timeout` is 0: no call would ever be answered in time")
            }
            _ if self.only.as_ref().is_some_and(Vec::is_empty) => Some(
                "`only` is an empty list: no tool of the server would be offered; leave out `only` or the server",
            ),
            _ => self.sandbox.as_ref().and_then(Sandbox::problem),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_for_the_shell_and_words_are_not() {
        let words =
            |json: &str| serde_json::from_str::<CommandWords>(json).map(|words| words.argv());
        assert_eq!(words(r#""./agent""#).unwrap(), ["./agent"]);
        assert_eq!(words(r#""./agent --fast""#).unwrap(), ["sh", "-c", "./agent --fast"]);
        assert_eq!(words(r#"["a b", "c"]"#).unwrap(), ["a b", "c"]);
        assert!(words("[]").is_err() && words(r#""  ""#).is_err());
    }
}
