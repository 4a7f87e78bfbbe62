//! Whether the engine of runs over several machines can be used.

use super::{Check, CheckResult, Section, check};
use crate::commands::engine::{EngineArguments, EngineRuntime};

/// What is to be said of the engine that the arguments name.
pub(super) fn section(arguments: &EngineArguments) -> Option<Section> {
    let address = arguments.engine.as_ref()?;
    let checks = match EngineRuntime::connect(arguments) {
        Ok(None) => return None,
        Ok(Some(engine)) => usable(&engine),
        Err(error) => {
            let wrong = check(&address.to_string(), CheckResult::Wrong, error.to_string());
            let hints = error.hints().join("; ");
            vec![if hints.is_empty() { wrong } else { wrong.way_out(hints) }]
        }
    };
    Some(Section { title: "Engine", checks })
}

fn usable(runtime: &EngineRuntime) -> Vec<Check> {
    let facts = runtime.engine.facts();
    let place = runtime.engine.address();
    let server = check(
        &place.to_string(),
        CheckResult::Ok,
        format!(
            "NATS {} with JetStream; messages up to {} bytes",
            facts.version, facts.max_payload
        ),
    );
    let lease =
        format!("a machine that is silent for {} s is taken for lost", facts.lease.as_secs_f64());
    let lease = check("lease", CheckResult::Ok, lease);
    let engine = runtime.engine.clone();
    let runs = match runtime.handle.wait_for(async move { engine.runs().await }) {
        Some(Ok(runs)) => {
            let ids: Vec<String> = runs.into_iter().map(|run| run.run).collect();
            let found = if ids.is_empty() { "none".to_owned() } else { ids.join(", ") };
            check("runs that want machines", CheckResult::Ok, found)
        }
        Some(Err(error)) => check("runs that want machines", CheckResult::Wrong, error.to_string()),
        None => check("runs that want machines", CheckResult::Wrong, "no answer"),
    };
    vec![server, lease, runs]
}
