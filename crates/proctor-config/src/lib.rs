//! The contents of `proctor.toml`: their types, their schema, and reading them with good errors.
//!
//! Pure: the binary reads the file and layers it with the environment and flags.

use std::collections::BTreeMap;

use proctor_dialogue::{AgentFields, ModelFields};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// The configuration of a project.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Contents {
    /// Where events go besides the recording: paths for JSON lines, or `ws://localhost:PORT`.
    pub events: Option<Vec<String>>,
    /// Programs that Proctor starts.
    pub tools: ToolsSection,
    /// How `proctor run` behaves when its flags do not say.
    pub run: RunSection,
    /// The GHAP journal.
    pub journal: JournalSection,
    /// RSpec suites.
    pub rspec: RubySuites,
    /// Minitest suites.
    pub minitest: RubySuites,
    /// Suites of one's own: programs that speak the worker protocol.
    pub suite: Vec<SuiteSection>,
    /// The agent of scenarios that name none: one of `agents`.
    pub agent: Option<String>,
    /// Agents under test, by name.
    pub agents: BTreeMap<String, AgentFields>,
    /// Models for judge and simulated user, by name; `judge` and `simulator` are used where nothing else is said.
    pub models: BTreeMap<String, ModelFields>,
    /// How conversations are conducted.
    pub conversations: Conversations,
}

/// How conversations are conducted.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Conversations {
    /// How many are conducted at once, in one process; 64 if not given.
    pub concurrency: Option<u32>,
    /// What judge and simulator may cost in one run, in US dollars.
    pub budget_usd: Option<f64>,
    /// Whether answers of judge and simulator are kept between runs.
    pub cache: Option<bool>,
    /// Variables of the environment that agents, tool servers, commands of tools and models, and checks get, if they are set. Without it
    /// they get the allowed ones of docs/environment.md, and what stands under `env` beside their command.
    pub pass_env: Vec<String>,
}

/// How `proctor run` behaves when its flags do not say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Run")]
pub struct RunSection {
    /// What to run: files and folders.
    pub paths: Option<Vec<String>>,
    /// How many workers run at once.
    pub workers: Option<u32>,
    /// End an example that takes longer: `500ms`, `30s`, `2m`.
    pub timeout: Option<String>,
    /// Say so when an example takes longer.
    pub slow: Option<String>,
    /// Try a failed example again, up to so many times.
    pub retries: Option<u32>,
    /// Load the project once and fork, or load it in every worker.
    pub preload: Option<bool>,
}

/// Suites of one test framework of Ruby.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RubySuites {
    /// Whether the same code gives the same result every time, so that one attempt is enough to compare runs. Taken for granted where
    /// no model takes part; `false` for a suite that wavers.
    pub deterministic: Option<bool>,
}

/// The GHAP journal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Journal")]
pub struct JournalSection {
    /// Its folder, relative to this file; `.claude/journal` if not given.
    pub dir: Option<String>,
}

/// A program that speaks the worker protocol.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(rename = "Suite")]
pub struct SuiteSection {
    /// Its name.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// What it is asked to list: paths, filters.
    #[serde(default)]
    pub args: Vec<String>,
    /// Extra environment variables.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Whether the same code gives the same result every time, so that one attempt is enough to compare runs.
    #[serde(default)]
    pub deterministic: Option<bool>,
}

/// Programs that Proctor starts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Tools")]
pub struct ToolsSection {
    /// The Ruby to run suites with: a name on PATH, or a path.
    pub ruby: Option<String>,
    /// The `ralph` to test: a name on PATH, or a path.
    pub ralph: Option<String>,
}

/// The JSON Schema of the file.
pub fn json_schema() -> Value {
    let mut schema = schemars::schema_for!(Contents).to_value();
    if let Some(object) = schema.as_object_mut() {
        object.insert("title".into(), "proctor.toml".into());
    }
    schema
}

/// A file that is not TOML, or holds a value of the wrong type; the message shows the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} cannot be used\n{}", source.to_string().trim_end())]
pub struct ConfigError {
    name: String,
    source: toml::de::Error,
}

/// Reads the text. Returns warnings about keys that mean nothing.
pub fn parse(text: &str, name: &str) -> Result<(Contents, Vec<String>), ConfigError> {
    let failed = |source| ConfigError { name: name.to_owned(), source };
    let table: toml::Table = toml::from_str(text).map_err(failed)?;
    let contents = toml::from_str(text).map_err(failed)?;
    let schema = json_schema();
    let mut warnings = Vec::new();
    find_unknown(&table, &schema, &schema, "", &mut |key, known| {
        let last = key.rsplit('.').next().unwrap_or(key);
        let near = proctor_text::nearest(last, known.iter().copied());
        let hint = near.map(|candidate| format!("; did you mean `{candidate}`?"));
        warnings.push(format!("{name}: unknown key `{key}`{}", hint.unwrap_or_default()));
    });
    Ok((contents, warnings))
}

/// Walks the file and the schema side by side.
fn find_unknown(
    table: &toml::Table,
    schema: &Value,
    root: &Value,
    prefix: &str,
    found: &mut impl FnMut(&str, &[&str]),
) {
    let Some(properties) = resolve(schema, root)["properties"].as_object() else { return };
    let known: Vec<&str> = properties.keys().map(String::as_str).collect();
    for (key, value) in table {
        let path = format!("{prefix}{key}");
        match (properties.get(key), value) {
            (None, _) => found(&path, &known),
            (Some(inner), toml::Value::Table(table)) => {
                find_unknown(table, inner, root, &format!("{path}."), found);
            }
            (Some(inner), toml::Value::Array(items)) => {
                for table in items.iter().filter_map(toml::Value::as_table) {
                    find_unknown(
                        table,
                        &resolve(inner, root)["items"],
                        root,
                        &format!("{path}."),
                        found,
                    );
                }
            }
            _ => {}
        }
    }
}

/// Follows one reference into `$defs`.
fn resolve<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let pointer = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    pointer.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_are_named_with_the_nearest_known_one() {
        let text = "event = [\"a\"]\ncolour = 1\n[tools]\nrubby = \"ruby\"\n";
        let (_, warnings) = parse(text, "proctor.toml").unwrap();
        assert_eq!(
            warnings,
            [
                "proctor.toml: unknown key `colour`",
                "proctor.toml: unknown key `event`; did you mean `events`?",
                "proctor.toml: unknown key `tools.rubby`; did you mean `ruby`?",
            ]
        );
    }

    #[test]
    fn a_wrong_type_is_shown_in_its_place() {
        let error = parse("events = \"a.jsonl\"\n", "proctor.toml").unwrap_err();
        insta::assert_snapshot!(error, @r#"
        proctor.toml cannot be used
        TOML parse error at line 1, column 10
          |
        1 | events = "a.jsonl"
          |          ^^^^^^^^^
        invalid type: string "a.jsonl", expected a sequence
        "#);
    }
}
