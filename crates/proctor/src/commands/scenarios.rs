//! Scenario files: which ones a command line means, and what they are run with.

use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proctor_converse::{Cassette, Saved, Settings, Shared};
use proctor_llm::ReplayMode;
use proctor_process::{Guard, GuardCommand};
use proctor_runner::{DialogueSuite, ExampleFilter, ScenarioFile, Suite};
use regex::Regex;

use crate::cli::SelectionArguments;
use crate::cli::talk::{ReplayBy, TalkArguments};
use crate::config::Config;
use crate::error::CommandError;

/// How the name of a scenario file ends.
const ENDINGS: [&str; 2] = [".scenario.yaml", ".scenario.yml"];
/// Folders that nobody keeps scenarios in.
const PASSED_OVER: [&str; 3] = ["target", "node_modules", "vendor"];
/// How many conversations are conducted at once unless somebody says otherwise.
const CONCURRENCY: u32 = 64;

/// What paths mean: scenario files, and what is left for others.
#[derive(Debug, Default)]
pub(super) struct Sorted {
    pub(super) files: Vec<ScenarioFile>,
    /// Paths, as they were given, that may hold something else.
    pub(super) rest: Vec<String>,
}

/// Sorts paths as they were typed in the folder `current`.
pub(super) fn sort(paths: &[String], current: &Path) -> Sorted {
    let mut sorted = Sorted::default();
    for path in paths {
        let (plain, lines) = lines(path);
        let full = current.join(plain);
        if is_scenario(plain) {
            sorted.files.push(ScenarioFile { path: full, lines });
            continue;
        }
        let found = if full.is_dir() { below(&full) } else { Vec::new() };
        if found.is_empty() || has_specs(&full) {
            sorted.rest.push(path.clone());
        }
        sorted.files.extend(found.into_iter().map(|path| ScenarioFile { path, lines: Vec::new() }));
    }
    sorted
}

/// All scenario files below a folder, in order of their names.
pub(super) fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    walk(folder, &mut |path| {
        if is_scenario(&path.to_string_lossy()) {
            found.push(path.to_owned());
        }
        false
    });
    found.sort();
    found
}

pub(super) fn has_specs(folder: &Path) -> bool {
    walk(folder, &mut |path| path.to_string_lossy().ends_with("_spec.rb"))
}

/// Looks at every file until one is what is sought. Hidden folders and links to folders are passed over.
pub(super) fn walk(folder: &Path, seek: &mut dyn FnMut(&Path) -> bool) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let Ok(kind) = entry.file_type() else { continue };
        let skipped = name.starts_with('.') || PASSED_OVER.contains(&&*name);
        let path = entry.path();
        let is_file = kind.is_file() || (kind.is_symlink() && path.is_file());
        if (kind.is_dir() && !skipped && walk(&path, seek)) || (is_file && seek(&path)) {
            return true;
        }
    }
    false
}

fn is_scenario(path: &str) -> bool {
    ENDINGS.iter().any(|ending| path.ends_with(ending))
}

/// `FILE:3:7` means lines 3 and 7.
fn lines(path: &str) -> (&str, Vec<u32>) {
    let Some(end) =
        ENDINGS.iter().find_map(|ending| Some(path.rfind(&format!("{ending}:"))? + ending.len()))
    else {
        return (path, Vec::new());
    };
    let numbers = path[end + 1..].split(':').map(str::parse).collect::<Result<Vec<u32>, _>>();
    numbers.map_or((path, Vec::new()), |numbers| (&path[..end], numbers))
}

/// The suite of these files.
pub(super) fn suite(
    files: Vec<ScenarioFile>,
    arguments: &SelectionArguments,
    config: &Config,
    root: &Path,
    guard: GuardCommand,
) -> Result<DialogueSuite, CommandError> {
    let how = &config.talk.how;
    Ok(DialogueSuite {
        files,
        filter: filter(arguments)?,
        settings: settings(arguments.seed, config, root, guard)?,
        concurrency: how.concurrency.unwrap_or(CONCURRENCY).max(1),
    })
}

/// What conversations of this project are conducted with.
pub(super) fn settings(
    seed: Option<u64>,
    config: &Config,
    root: &Path,
    guard: GuardCommand,
) -> Result<Settings, CommandError> {
    if let Some(unknown) =
        config.talk.agent.as_ref().filter(|name| !config.talk.agents.contains_key(*name))
    {
        return Err(CommandError::unusable(format_args!(
            "proctor.toml: agent = {unknown:?}, but there is no [agents.{unknown}]"
        )));
    }
    let bin = Path::new(&guard.program).parent().map_or_else(|| root.to_owned(), Path::to_owned);
    Ok(Settings {
        root: root.to_owned(),
        bin,
        guard: Guard::Program(guard),
        environment: Arc::new(|name| std::env::var(name).ok().filter(|value| !value.is_empty())),
        agents: config.talk.agents.clone(),
        models: config.talk.models.clone(),
        agent: config.talk.agent.clone(),
        agent_for_all: None,
        saved: None,
        cassette: Cassette::Off,
        cache: None,
        budget_usd: config.talk.how.budget_usd,
        seed: seed.unwrap_or_else(hard_to_guess),
        shared: Shared::default(),
    })
}

/// What only a run can be told: flags beat the file.
pub(super) fn apply(
    suites: &mut [Suite],
    talk: &TalkArguments,
    saved: Option<&Arc<Saved>>,
    config: &Config,
    root: &Path,
) -> Result<(), CommandError> {
    // One budget, one cache and one cassette for all of them.
    let shared = Shared::default();
    for suite in suites {
        let settings = match suite {
            Suite::Dialogue(suite) => {
                suite.concurrency = talk.concurrency.unwrap_or(suite.concurrency);
                &mut suite.settings
            }
            Suite::Rspec(suite) => match &mut suite.talk {
                Some(settings) => &mut **settings,
                None => continue,
            },
            _ => continue,
        };
        settings.shared = shared.clone();
        settings.budget_usd = talk.budget.or(settings.budget_usd);
        settings.saved = saved.cloned();
        if let Some(name) = &talk.agent {
            if !settings.agents.contains_key(name) {
                let known: Vec<&str> = settings.agents.keys().map(String::as_str).collect();
                return Err(CommandError::unusable(format_args!(
                    "--agent {name}: there is no [agents.{name}] in proctor.toml"
                ))
                .hint(format!("there are: {}", known.join(", "))));
            }
            settings.agent_for_all = Some(name.clone());
        }
        let cached = talk.cache || (config.talk.how.cache == Some(true) && !talk.no_cache);
        settings.cache = cached.then(|| root.join(".proctor/cache"));
        let by = match talk.replay_by {
            ReplayBy::Sequence => ReplayMode::Sequence,
            ReplayBy::Request => ReplayMode::Keyed,
        };
        settings.cassette = match (&talk.record, &talk.replay) {
            (Some(path), _) => Cassette::Record(path.clone()),
            (None, Some(path)) => Cassette::Replay(path.clone(), by),
            (None, None) => Cassette::Off,
        };
    }
    Ok(())
}

/// Two runs are made at the same time: each conducts half as many conversations at once.
pub(super) fn share_with_another(suite: &mut Suite) {
    if let Suite::Dialogue(suite) = suite {
        suite.concurrency = (suite.concurrency / 2).max(1);
    }
}

/// The standard library seeds its hash tables with what the system calls random.
fn hard_to_guess() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

pub(super) fn filter(arguments: &SelectionArguments) -> Result<ExampleFilter, CommandError> {
    let mut filter = ExampleFilter::default();
    for text in &arguments.example {
        match text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
            Some(pattern) if !pattern.is_empty() => {
                filter.patterns.push(Regex::new(pattern).map_err(|error| {
                    CommandError::unusable(format_args!("--example {text}: {error}"))
                })?);
            }
            _ => filter.texts.push(text.clone()),
        }
    }
    for tag in &arguments.tag {
        match tag.strip_prefix('~') {
            Some(tag) => filter.without_tags.push(tag.to_owned()),
            None => filter.tags.push(tag.clone()),
        }
    }
    Ok(filter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stand_behind_the_name() {
        assert_eq!(lines("a/b.scenario.yaml:3:7"), ("a/b.scenario.yaml", vec![3, 7]));
        assert_eq!(lines("a.scenario.yml"), ("a.scenario.yml", vec![]));
        assert_eq!(lines("a.scenario.yaml:x"), ("a.scenario.yaml:x", vec![]));
        assert_eq!(lines("spec/a_spec.rb:3"), ("spec/a_spec.rb:3", vec![]));
    }

    #[test]
    fn paths_are_sorted_by_what_they_hold() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        };
        for name in [
            "talks/b.scenario.yaml",
            "talks/a.scenario.yml",
            "talks/.x/c.scenario.yaml",
            "both/a.scenario.yaml",
            "both/a_spec.rb",
            "spec/a_spec.rb",
        ] {
            put(name);
        }
        let paths = ["talks", "both", "spec", "talks/b.scenario.yaml:4"].map(str::to_owned);
        let sorted = sort(&paths, folder.path());
        let names: Vec<String> = sorted
            .files
            .iter()
            .map(|file| {
                let path = file.path.strip_prefix(folder.path()).unwrap();
                format!("{} {:?}", path.display(), file.lines)
            })
            .collect();
        assert_eq!(
            names,
            [
                "talks/a.scenario.yml []",
                "talks/b.scenario.yaml []",
                "both/a.scenario.yaml []",
                "talks/b.scenario.yaml [4]"
            ]
        );
        assert_eq!(sorted.rest, ["both", "spec"]);
    }
}
