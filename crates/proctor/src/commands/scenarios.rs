//! What conversations are conducted with: from configuration and flags to the settings of the library.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::Arc;

use proctor_converse::{Cassette, Environment, SavedConversations, Settings, SharedResources};
use proctor_llm::ReplayMode;
use proctor_process::{Guard, GuardCommand};
use proctor_runner::{DialogueSuite, ExampleFilter, ScenarioFile, Suite};

use crate::commands::run::conversations::{ReplayBy, TalkArguments};
use crate::config::Config;
use crate::error::CommandError;

/// How many conversations are conducted at once unless somebody says otherwise.
const CONCURRENCY: u32 = 64;

/// The suite of these files.
pub(super) fn suite(
    files: Vec<ScenarioFile>,
    filter: ExampleFilter,
    seed: Option<u64>,
    config: &Config,
    root: &Path,
    guard: GuardCommand,
) -> Result<DialogueSuite, CommandError> {
    let how = &config.talk.how;
    Ok(DialogueSuite {
        files,
        filter,
        settings: settings(seed, config, root, guard)?,
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
        return Err(CommandError::configuration(format_args!(
            "proctor.toml: agent = {unknown:?}, but there is no [agents.{unknown}]"
        )));
    }
    let bin = Path::new(&guard.program).parent().map_or_else(|| root.to_owned(), Path::to_owned);
    Ok(Settings {
        root: root.to_owned(),
        bin,
        guard: Guard::Program(guard),
        environment: environment(),
        agents: config.talk.agents.clone(),
        models: config.talk.models.clone(),
        agent: config.talk.agent.clone(),
        agent_for_all: None,
        saved: None,
        cassette: Cassette::Off,
        cache: None,
        budget_usd: config.talk.how.budget_usd,
        seed: seed.unwrap_or_else(hard_to_guess),
        shared: SharedResources::default(),
    })
}

/// Looks up variables that are set and not empty.
pub(super) fn environment() -> Environment {
    Arc::new(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

/// What only a run can be told: flags beat the file.
pub(super) fn apply(
    suites: &mut [Suite],
    talk: &TalkArguments,
    saved: Option<&Arc<SavedConversations>>,
    config: &Config,
    root: &Path,
) -> Result<(), CommandError> {
    // One budget, one cache and one cassette for all of them.
    let shared = SharedResources::default();
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
                return Err(CommandError::usage(format_args!(
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
