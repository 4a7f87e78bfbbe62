//! What conversations are conducted with: from configuration and flags to the settings of the library.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::Arc;

use proctor_converse::{Cassette, Environment, SavedConversations, Settings, SharedResources};
use proctor_llm::ReplayMode;
use proctor_process::{Guard, GuardCommand};
use proctor_runner::{DialogueSuite, ExampleFilter, ScenarioFile, Suite};

use crate::commands::run::conversations::{ConversationArguments, ReplayBy};
use crate::config::Config;
use crate::error::CommandError;
use crate::secrets;

/// Default number of conversations at once.
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
    let how = &config.conversations.how;
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
    if let Some(unknown) = config
        .conversations
        .agent
        .as_ref()
        .filter(|name| !config.conversations.agents.contains_key(*name))
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
        unpacked: super::suites::cache_folder(),
        environment: environment(),
        pass_env: config.conversations.how.pass_env.clone(),
        agents: config.conversations.agents.clone(),
        models: config.conversations.models.clone(),
        agent: config.conversations.agent.clone(),
        agent_for_all: None,
        saved: None,
        cassette: Cassette::Off,
        cache: None,
        budget_usd: config.conversations.how.budget_usd,
        record_tapes: false,
        seed: seed.unwrap_or_else(hard_to_guess),
        shared: SharedResources::with_redactor(secrets::redactor().clone()),
    })
}

/// Looks up variables that are set and not empty.
pub(super) fn environment() -> Environment {
    Arc::new(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

/// Settings that only a run has: flags beat the file.
pub(super) fn apply(
    suites: &mut [Suite],
    conversation: &ConversationArguments,
    saved: Option<&Arc<SavedConversations>>,
    config: &Config,
    root: &Path,
) -> Result<(), CommandError> {
    // One budget, one cache and one cassette for all of them.
    let shared = SharedResources::with_redactor(secrets::redactor().clone());
    for suite in suites {
        if let Some(concurrency) = suite.concurrency() {
            *concurrency = conversation.concurrency.unwrap_or(*concurrency);
        }
        let Some(settings) = suite.conversation_settings() else { continue };
        settings.shared = shared.clone();
        settings.budget_usd = conversation.budget.or(settings.budget_usd);
        settings.saved = saved.cloned();
        settings.record_tapes = conversation.record_tapes;
        if let Some(name) = &conversation.agent {
            if !settings.agents.contains_key(name) {
                let known: Vec<&str> = settings.agents.keys().map(String::as_str).collect();
                return Err(CommandError::usage(format_args!(
                    "--agent {name}: there is no [agents.{name}] in proctor.toml"
                ))
                .hint(format!("there are: {}", known.join(", "))));
            }
            settings.agent_for_all = Some(name.clone());
        }
        let cached = conversation.cache
            || (config.conversations.how.cache == Some(true) && !conversation.no_cache);
        settings.cache = cached.then(|| root.join(".proctor/cache"));
        let by = match conversation.replay_by {
            ReplayBy::Sequence => ReplayMode::Sequence,
            ReplayBy::Request => ReplayMode::Keyed,
        };
        settings.cassette = match (&conversation.record, &conversation.replay) {
            (Some(path), _) => Cassette::Record(path.clone()),
            (None, Some(path)) => Cassette::Replay(path.clone(), by),
            (None, None) => Cassette::Off,
        };
    }
    Ok(())
}

/// Seeds the parties of conversations.
pub(super) fn set_seed(suites: &mut [Suite], seed: Option<u64>) {
    for settings in suites.iter_mut().filter_map(Suite::conversation_settings) {
        settings.seed = seed.unwrap_or(settings.seed);
    }
}

/// What the parties of conversations are seeded with: the same in all suites, from now on.
pub(super) fn share_seed(suites: &mut [Suite]) -> Option<u64> {
    let seed = suites.iter_mut().find_map(Suite::conversation_settings)?.seed;
    set_seed(suites, Some(seed));
    Some(seed)
}

/// Two runs are made at the same time: each conducts half as many conversations at once.
pub(super) fn share_with_another(suite: &mut Suite) {
    if let Some(concurrency) = suite.concurrency() {
        *concurrency = (*concurrency / 2).max(1);
    }
}

/// The standard library seeds its hash tables with what the system calls random.
fn hard_to_guess() -> u64 {
    RandomState::new().hash_one(std::process::id())
}
