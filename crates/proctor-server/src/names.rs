//! Names of runs as clients give them: an id, the start of one, `last`, `last~2`, or a tag.
//!
//! Unlike on the command line a name is never a path: nothing outside the folder of runs can be named.

use proctor_record::RunFolder;

use crate::error::ApiError;

/// The folder that is meant.
pub(crate) fn resolve(name: &str, runs: &[RunFolder]) -> Result<RunFolder, ApiError> {
    if let Some(exact) = runs.iter().find(|run| run.name() == name) {
        return Ok(exact.clone());
    }
    if let Some(back) = steps_back(name) {
        let wanted =
            runs.len().checked_sub(back.saturating_add(1)).and_then(|place| runs.get(place));
        return wanted.cloned().ok_or_else(|| missing(name, runs));
    }
    let beginning: Vec<&RunFolder> =
        runs.iter().filter(|run| !name.is_empty() && run.name().starts_with(name)).collect();
    match &*beginning {
        [one] => Ok((*one).clone()),
        [] => tagged(name, runs).ok_or_else(|| missing(name, runs)),
        several => Err(ApiError::bad_request(format_args!(
            "`{name}` could be any of {} runs; give more of the id",
            several.len()
        ))),
    }
}

/// The newest run with this tag.
fn tagged(name: &str, runs: &[RunFolder]) -> Option<RunFolder> {
    let has_tag = |run: &&RunFolder| {
        !name.is_empty() && run.info().is_ok_and(|info| info.tags.iter().any(|tag| tag == name))
    };
    runs.iter().rev().find(has_tag).cloned()
}

fn steps_back(name: &str) -> Option<usize> {
    match name.strip_prefix("last")? {
        "" => Some(0),
        rest => rest.strip_prefix('~')?.parse().ok(),
    }
}

fn missing(name: &str, runs: &[RunFolder]) -> ApiError {
    let name: String = name.chars().take(80).collect();
    let newest = runs.last().map(|run| format!("; the newest is {}", run.name()));
    ApiError::not_found(format_args!(
        "there is no run `{}`{}",
        name.escape_debug(),
        newest.unwrap_or_else(|| "; there are no runs here yet".to_owned())
    ))
}
