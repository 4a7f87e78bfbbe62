//! `proctor.toml` and how it is layered: defaults, then the file, then the environment, then flags.
//!
//! Every setting remembers where its value came from. Unknown keys are warned about, never ignored in
//! silence and never fatal; a value of the wrong type is fatal and shown in its place.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use proctor_config as file;
use proctor_dialogue::{AgentFields, ModelFields};

use crate::env_vars::{self, Variable};
use crate::error::CommandError;
pub(crate) use file::json_schema;

/// The file's name, at the project's root.
pub(crate) const FILE_NAME: &str = "proctor.toml";

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Default,
    File,
    Environment(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File => f.write_str(FILE_NAME),
            Self::Environment(name) => f.write_str(name),
        }
    }
}

/// A value and its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting<T> {
    pub(crate) value: T,
    pub(crate) origin: Origin,
}

/// The configuration in force, flags not yet considered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Config {
    /// The file, if there is one.
    pub(crate) path: Option<PathBuf>,
    /// Extra destinations for events, as they were written.
    pub(crate) events: Setting<Option<String>>,
    /// The Ruby to run suites with.
    pub(crate) ruby: Setting<String>,
    /// The `ralph` to test.
    pub(crate) ralph: Setting<String>,
    /// How many workers run at once, as it was written.
    pub(crate) workers: Setting<String>,
    /// The journal's folder, as it was written: in the file relative to the root, else to the current folder.
    pub(crate) journal_dir: Setting<Option<String>>,
    /// The rest of `[run]`.
    pub(crate) run: file::RunSection,
    /// Suites besides RSpec.
    pub(crate) suites: Vec<file::SuiteSection>,
    /// RSpec suites.
    pub(crate) rspec: file::RubySuites,
    /// Minitest suites.
    pub(crate) minitest: file::RubySuites,
    /// Agents, models and how conversations are conducted.
    pub(crate) conversations: ConversationSettings,
}

/// What the file says about conversations.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ConversationSettings {
    /// The agent of scenarios that name none.
    pub(crate) agent: Option<String>,
    /// Agents by name.
    pub(crate) agents: BTreeMap<String, AgentFields>,
    /// Models by name.
    pub(crate) models: BTreeMap<String, ModelFields>,
    /// The rest.
    pub(crate) how: file::Conversations,
}

/// Reads the project's file and the environment. Warnings are for people.
pub(crate) fn load(root: &Path) -> Result<(Config, Vec<String>), CommandError> {
    let path = root.join(FILE_NAME);
    if !path.exists() {
        return Ok((layer(None, Variable::get), Vec::new()));
    }
    load_file(&path)
}

/// Reads this file and the environment.
pub(crate) fn load_file(path: &Path) -> Result<(Config, Vec<String>), CommandError> {
    let text = proctor_files::read_text(path, proctor_files::limits::CONFIGURATION)
        .map_err(|error| CommandError::io("read", path, error))?;
    let (contents, warnings) =
        file::parse(&text, &path.display().to_string()).map_err(|error| {
            CommandError::configuration(error)
                .hint("`proctor schema config` prints what it may hold")
        })?;
    Ok((layer(Some((path.to_owned(), contents)), Variable::get), warnings))
}

/// The layering itself, with the environment passed in.
fn layer(
    file: Option<(PathBuf, file::Contents)>,
    environment: impl Fn(Variable) -> Option<String>,
) -> Config {
    let (path, contents) = file.map_or_else(Default::default, |(path, all)| (Some(path), all));
    let from_environment = |variables: &[Variable]| {
        variables.iter().find_map(|variable| {
            let value = environment(*variable)?;
            Some(Setting { value, origin: Origin::Environment(variable.name) })
        })
    };
    let text = |variable: Variable, in_file: Option<String>, default: &str| {
        from_environment(&[variable]).unwrap_or_else(|| match in_file {
            Some(value) => Setting { value, origin: Origin::File },
            None => Setting { value: default.to_owned(), origin: Origin::Default },
        })
    };
    let some = |variables: &[Variable], in_file: Option<String>| {
        let found = from_environment(variables)
            .map(|setting| Setting { value: Some(setting.value), origin: setting.origin });
        found.unwrap_or_else(|| {
            let origin = if in_file.is_some() { Origin::File } else { Origin::Default };
            Setting { value: in_file, origin }
        })
    };
    let in_file = contents.events.filter(|list| !list.is_empty()).map(|list| list.join(","));
    Config {
        path,
        events: sum_of_events(&environment, in_file),
        ruby: text(env_vars::PROCTOR_RUBY, contents.tools.ruby, "ruby"),
        ralph: text(env_vars::PROCTOR_RALPH, contents.tools.ralph, "ralph"),
        workers: text(env_vars::PROCTOR_WORKERS, contents.run.workers.map(|n| n.to_string()), "4"),
        journal_dir: some(&[env_vars::PROCTOR_JOURNAL_DIR], contents.journal.dir),
        run: contents.run,
        suites: contents.suite,
        rspec: contents.rspec,
        minitest: contents.minitest,
        conversations: ConversationSettings {
            agent: contents.agent,
            agents: contents.agents,
            models: contents.models,
            how: contents.conversations,
        },
    }
}

/// Destinations of events add up, in this order.
fn sum_of_events(
    environment: impl Fn(Variable) -> Option<String>,
    in_file: Option<String>,
) -> Setting<Option<String>> {
    let variables = [env_vars::PROCTOR_EVENTS, env_vars::RSPEC_AGENTS_EVENTS];
    let from_environment = variables.into_iter().filter_map(|variable| {
        let value = environment(variable)?;
        Some((value, Origin::Environment(variable.name)))
    });
    let all: Vec<(String, Origin)> =
        from_environment.chain(in_file.map(|list| (list, Origin::File))).collect();
    let origin = all.first().map_or(Origin::Default, |(_, origin)| origin.clone());
    let lists: Vec<String> = all.into_iter().map(|(list, _)| list).collect();
    Setting { value: (!lists.is_empty()).then(|| lists.join(",")), origin }
}

impl Config {
    /// Where events go besides the recording: what the command line says, then the environment, then the file.
    pub(crate) fn all_events(&self, on_command_line: Option<&str>) -> Option<String> {
        let lists = [on_command_line, self.events.value.as_deref()];
        let lists: Vec<&str> = lists.into_iter().flatten().collect();
        (!lists.is_empty()).then(|| lists.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layered(file: &str, environment: &[(&str, &str)]) -> Config {
        let (contents, warnings) = file::parse(file, FILE_NAME).unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        layer(Some((FILE_NAME.into(), contents)), |variable| {
            let found = environment.iter().find(|(name, _)| *name == variable.name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn defaults_then_file_then_environment() {
        let file = "events = [\"a.jsonl\"]\n[tools]\nruby = \"ruby3.2\"";
        let config = layered(file, &[("PROCTOR_RALPH", "/opt/ralph")]);
        assert_eq!(config.events, Setting { value: Some("a.jsonl".into()), origin: Origin::File });
        assert_eq!(config.ruby, Setting { value: "ruby3.2".into(), origin: Origin::File });
        assert_eq!(config.ralph.origin, Origin::Environment("PROCTOR_RALPH"));
        assert_eq!(config.journal_dir, Setting { value: None, origin: Origin::Default });
        let file = "[journal]\ndir = \"notes\"";
        assert_eq!(layered(file, &[]).journal_dir.origin, Origin::File);
        let beaten = layered(file, &[("PROCTOR_JOURNAL_DIR", "/j")]);
        assert_eq!(beaten.journal_dir.value.as_deref(), Some("/j"));
        assert_eq!(
            layered("", &[]).ruby,
            Setting { value: "ruby".into(), origin: Origin::Default }
        );
    }

    #[test]
    fn destinations_of_events_add_up() {
        let both = [("RSPEC_AGENTS_EVENTS", "old"), ("PROCTOR_EVENTS", "new")];
        let config = layered("events = [\"a.jsonl\", \"b.jsonl\"]", &both);
        assert_eq!(config.events.value.as_deref(), Some("new,old,a.jsonl,b.jsonl"));
        assert_eq!(config.events.origin, Origin::Environment("PROCTOR_EVENTS"));
        assert_eq!(config.all_events(Some("c")).unwrap(), "c,new,old,a.jsonl,b.jsonl");
        assert_eq!(layered("events = []", &[]).all_events(None), None);
        assert_eq!(
            layered("", &both[..1]).events.origin,
            Origin::Environment("RSPEC_AGENTS_EVENTS")
        );
    }
}
