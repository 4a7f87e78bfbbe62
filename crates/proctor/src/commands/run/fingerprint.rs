//! What a run was configured with, as one short word.
//!
//! Two runs of the same clean commit with the same fingerprint are the same thing done twice: only then does a changed outcome show
//! that a test is flaky. So everything counts that can change a result, and nothing else: not which examples are chosen,
//! how many run at once, or where events go.

use proctor_files::limits;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::commands::run::arguments::RunArguments;
use crate::config::Config;

/// Keys of proctor.toml that change no result, by table; `run.timeout` is taken together with its flag.
const WITHOUT_EFFECT: &[(&str, &[&str])] = &[
    ("", &["events", "journal", "tools"]),
    ("run", &["paths", "workers", "slow", "retries", "timeout"]),
    ("conversations", &["concurrency", "budget_usd", "cache"]),
];

/// The fingerprint of a run with these flags under this configuration.
pub(super) fn of(arguments: &RunArguments, config: &Config) -> String {
    let in_file = config
        .path
        .as_ref()
        .and_then(|path| proctor_files::read_text(path, limits::CONFIGURATION).ok());
    let timeout = match arguments.timeout {
        Some(limit) => Some(limit),
        None => config.run.timeout.as_deref().and_then(|text| crate::values::duration(text).ok()),
    };
    let conversation = &arguments.conversation;
    hash(&json!({
        "file": effective(in_file.as_deref().unwrap_or_default()),
        "ruby": config.ruby.value,
        "ralph": config.ralph.value,
        "timeout_ms": timeout,
        "agent": conversation.agent,
        "replay": conversation.replay,
        "preload": !arguments.selection.no_preload,
        "rspec": arguments.selection.rspec,
    }))
}

/// The same for the configuration file alone, which every machine of a run has.
pub(in crate::commands) fn of_configuration(config: &Config) -> String {
    let in_file = config
        .path
        .as_ref()
        .and_then(|path| proctor_files::read_text(path, limits::CONFIGURATION).ok());
    hash(&effective(in_file.as_deref().unwrap_or_default()))
}

fn hash(settled: &Value) -> String {
    let digest = Sha256::digest(settled.to_string());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// What the file says that matters, whatever its order and comments.
fn effective(text: &str) -> Value {
    let table: toml::Table = text.parse().unwrap_or_default();
    let mut value = serde_json::to_value(table).unwrap_or_default();
    for (table, keys) in WITHOUT_EFFECT {
        let place = if table.is_empty() { Some(&mut value) } else { value.get_mut(*table) };
        if let Some(object) = place.and_then(Value::as_object_mut) {
            for key in *keys {
                object.remove(*key);
            }
        }
    }
    // A table in which nothing is left says nothing.
    if let Some(object) = value.as_object_mut() {
        object.retain(|_, inner| !inner.as_object().is_some_and(serde_json::Map::is_empty));
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(a: &str, b: &str) -> bool {
        hash(&effective(a)) == hash(&effective(b))
    }

    #[test]
    fn only_what_changes_results_counts() {
        let plain = "[models.judge]\nkind = \"scripted\"\n[agents.a]\ncommand = [\"x\"]\n";
        let turned =
            "# said otherwise\n[agents.a]\ncommand = ['x']\n\n[models.judge]\nkind = 'scripted'\n";
        assert!(same(plain, turned));
        assert!(same(plain, &format!("events = ['a.jsonl']\n{plain}[run]\nworkers = 8\n")));
        assert!(!same(plain, &plain.replace("scripted", "anthropic")));
        assert!(!same(plain, &plain.replace("\"x\"", "\"y\"")));
        assert!(!same("", "[run]\npreload = false\n"));
    }
}
