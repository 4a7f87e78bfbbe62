//! Names of runs as people and programs give them: one rule for the terminal, the server and the tools of agents.
//!
//! `last`, `last~2`, a whole id, a tag (its newest run), or the start of one id, in this order. A name is never a path here;
//! [`RunStore::resolve`](crate::RunStore::resolve) adds files and folders for the command line.

use crate::store::{RunFolder, StoreError};

/// How many known runs an error names.
const NAMED: usize = 5;

/// Why a name means no run.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// There is nothing of that name.
    #[error(
        "no recording `{}`: not a file, not a run id, not a tag, not `last`{}",
        name.escape_debug(),
        listed(known)
    )]
    NotFound {
        /// As it was given, cut where it is long.
        name: String,
        /// The newest runs there are.
        known: Vec<String>,
    },
    /// There are several.
    #[error("`{name}` matches {}", listing(candidates))]
    Ambiguous {
        /// As it was given.
        name: String,
        /// What it could mean, newest first.
        candidates: Vec<String>,
    },
    /// The runs cannot be listed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn listed(known: &[String]) -> String {
    if known.is_empty() {
        "; there are no runs here yet".to_owned()
    } else {
        format!("; newest runs: {}", known.join(", "))
    }
}

fn listing(candidates: &[String]) -> String {
    let more = candidates.len().saturating_sub(NAMED);
    let named = candidates[..candidates.len() - more].join(", ");
    if more > 0 { format!("{named} and {more} more") } else { named }
}

/// The run among these, oldest first, that a name means.
pub(crate) fn find(name: &str, runs: &[RunFolder]) -> Result<RunFolder, ResolveError> {
    if let Some(back) = steps_back(name) {
        let place = runs.len().checked_sub(back.saturating_add(1));
        return place.map(|place| runs[place].clone()).ok_or_else(|| not_found(name, runs));
    }
    if name.is_empty() {
        return Err(not_found(name, runs));
    }
    let whole = runs.iter().find(|run| run.name() == name);
    let begun: Vec<&RunFolder> = runs.iter().filter(|run| run.name().starts_with(name)).collect();
    match (whole.or_else(|| tagged(name, runs)), &*begun) {
        (Some(run), _) => Ok(run.clone()),
        (None, [one]) => Ok((*one).clone()),
        (None, []) => Err(not_found(name, runs)),
        (None, several) => Err(ResolveError::Ambiguous {
            name: name.to_owned(),
            candidates: several.iter().rev().map(|run| run.name()).collect(),
        }),
    }
}

/// The newest run with this tag.
fn tagged<'a>(name: &str, runs: &'a [RunFolder]) -> Option<&'a RunFolder> {
    let has_tag =
        |run: &&RunFolder| run.info().is_ok_and(|info| info.tags.iter().any(|tag| tag == name));
    runs.iter().rev().find(has_tag)
}

/// `last` is 0 steps back, `last~2` two.
fn steps_back(name: &str) -> Option<usize> {
    match name.strip_prefix("last")? {
        "" => Some(0),
        rest => rest.strip_prefix('~')?.parse().ok(),
    }
}

fn not_found(name: &str, runs: &[RunFolder]) -> ResolveError {
    let known = runs.iter().rev().take(NAMED).map(RunFolder::name).collect();
    ResolveError::NotFound { name: proctor_text::truncate(name, 200), known }
}
