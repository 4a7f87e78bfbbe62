//! Resolving the run that a call names.

use std::time::Duration;

use proctor_record::{ResolveError, RunFolder, RunStore};
use proctor_text::truncate;
use serde_json::json;

use crate::engine::Engine;
use crate::error::{ToolError, kind};

/// How many runs an error names.
const MAX_NAMED_RUNS: usize = 5;

/// How long a call without a run id waits for a run that is being started.
pub(super) const START_TIMEOUT: Duration = Duration::from_secs(5);

/// The run that a client means. Without a name it is the newest that it has started itself, else the newest of all; one that is
/// just being started is waited for.
pub(super) fn resolve_or_newest(
    engine: &Engine,
    name: Option<&str>,
    timeout: Duration,
) -> Result<RunFolder, ToolError> {
    if let Some(name) = name {
        return resolve(&engine.store(), name);
    }
    let own = engine.started().newest(timeout).map_err(|_| {
        ToolError::new(kind::NOT_STARTED, "the run of your run_start is still starting")
            .hint("call again in a moment, or name a run: `last` is the newest recorded run")
    })?;
    let own = own.and_then(|id| resolve(&engine.store(), &id).ok());
    // The run may have been removed since.
    own.map_or_else(|| resolve(&engine.store(), "last"), Ok)
}

/// The run that a name means: an id or the start of one, a tag, `last`, `last~2`. Nothing else: a path is no name.
pub(super) fn resolve(store: &RunStore, name: &str) -> Result<RunFolder, ToolError> {
    store.find(name).map_err(to_tool_error)
}

/// The tool error for a name that resolves to no run.
pub(super) fn to_tool_error(error: ResolveError) -> ToolError {
    match error {
        ResolveError::NotFound { name, known } => no_such_run(&name, &known),
        ResolveError::Ambiguous { name, mut candidates } => {
            let count = candidates.len();
            candidates.truncate(MAX_NAMED_RUNS);
            ToolError::new(
                kind::UNKNOWN_RUN,
                format_args!("`{name}` matches {count} runs: give more of the id"),
            )
            .details(json!({ "candidates": candidates }))
        }
        ResolveError::Store(error) => ToolError::io(error),
    }
}

fn no_such_run(name: &str, known: &[String]) -> ToolError {
    let shown = truncate(name, 200);
    let error = ToolError::new(kind::UNKNOWN_RUN, format_args!("there is no run `{shown}`"));
    let error = if known.is_empty() {
        error.hint("there are no runs in this project yet: run_start makes one")
    } else {
        error.hint(format!("newest runs: {}", known.join(", "))).hint("`last` is the newest")
    };
    error.details(json!({ "known": known }))
}

#[cfg(test)]
mod tests {
    use proctor_record::RunInfo;

    use super::*;

    #[test]
    fn names_mean_runs_and_never_files() {
        let project = tempfile::tempdir().unwrap();
        let store = RunStore::new(project.path());
        let nothing = resolve(&store, "last").unwrap_err();
        assert!(nothing.hints[0].contains("run_start"), "{nothing:?}");
        for id in ["0190-a", "0190-b", "0200-c"] {
            let time = "2026-01-22T10:30:00Z".parse().unwrap();
            let mut info = RunInfo::new(id.into(), time, Vec::new());
            info.tags = vec![format!("tag-{}", &id[5..])];
            store.create(&info).unwrap();
        }
        let found = |name: &str| resolve(&store, name).map(|run| run.name());
        assert_eq!(found("last").unwrap(), "0200-c");
        assert_eq!(found("last~2").unwrap(), "0190-a");
        assert_eq!(found("02").unwrap(), "0200-c");
        assert_eq!(found("tag-b").unwrap(), "0190-b");
        let several = found("0190").unwrap_err();
        assert_eq!(several.details["candidates"], json!(["0190-b", "0190-a"]));
        let path = store.runs_folder().join("0190-a/events.jsonl");
        for name in ["", "../x", "/etc/passwd", path.to_str().unwrap()] {
            let error = found(name).unwrap_err();
            assert_eq!(error.details["known"], json!(["0200-c", "0190-b", "0190-a"]), "{name}");
        }
    }
}
