//! Removes abandoned workspaces: older than a day and with both locks free.

use std::path::Path;
use std::time::{Duration, SystemTime};

use super::{Place, Record, registry_folders};
use crate::config::Config;
use crate::disk;

/// Removes stale workspaces; says which. What cannot be removed is left for the next time.
pub(crate) fn clean_stale(config: &Config, now: SystemTime) -> Vec<String> {
    let mut removed = Vec::new();
    for home in registry_folders(config) {
        if last_used(&home).is_none_or(|used| age(used, now) < config.limits.stale_after) {
            continue;
        }
        let Ok(Some(record)) = disk::read_json::<Record>(&home.join("workspace.json")) else {
            // Nothing but an empty registration can be without a record.
            let _ = std::fs::remove_file(home.join("lock"));
            let _ = std::fs::remove_dir(&home);
            continue;
        };
        let id = record.id.clone();
        let mut place = Place { home, record };
        let Ok(_held) = place.hold(Duration::ZERO) else { continue };
        let tree_is_gone = place.open_lock("tree.lock").is_ok_and(|lock| lock.try_lock().is_ok());
        if tree_is_gone && place.delete(config, None).is_ok() {
            removed.push(id);
        }
    }
    removed.sort();
    removed
}

/// The latest change in the registry folder itself: records, runs and snapshots are written there.
fn last_used(home: &Path) -> Option<SystemTime> {
    let entries = std::fs::read_dir(home).ok()?.flatten();
    let times = entries.filter_map(|entry| entry.metadata().ok()?.modified().ok());
    times.chain(std::fs::metadata(home).and_then(|about| about.modified()).ok()).max()
}

fn age(used: SystemTime, now: SystemTime) -> Duration {
    now.duration_since(used).unwrap_or_default()
}
