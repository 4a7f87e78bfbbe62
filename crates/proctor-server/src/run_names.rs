//! Names of runs as clients give them: an id, the start of one, `last`, `last~2`, or a tag.
//!
//! Unlike on the command line a name is never a path: nothing outside the folder of runs can be named.

use proctor_record::{ResolveError, RunFolder, RunStore};

use crate::error::ApiError;

/// The folder that is meant. Blocks.
pub(crate) fn resolve(name: &str, store: &RunStore) -> Result<RunFolder, ApiError> {
    store.find(name).map_err(to_api_error)
}

pub(crate) fn to_api_error(error: ResolveError) -> ApiError {
    match error {
        ResolveError::NotFound { name, known } => no_such_run(&name, known.first()),
        ResolveError::Ambiguous { name, candidates } => ApiError::bad_request(format_args!(
            "`{name}` matches {} runs; give more of the id",
            candidates.len()
        )),
        ResolveError::Store(error) => ApiError::internal(error),
    }
}

fn no_such_run(name: &str, newest: Option<&String>) -> ApiError {
    let name = proctor_text::truncate(name, 80);
    let newest = newest.map(|run| format!("; the newest is {run}"));
    ApiError::not_found(format_args!(
        "there is no run `{}`{}",
        name.escape_debug(),
        newest.unwrap_or_else(|| "; there are no runs here yet".to_owned())
    ))
}
