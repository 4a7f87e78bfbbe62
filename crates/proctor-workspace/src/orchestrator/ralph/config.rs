//! Ralph's configuration: what the test asked for, and what the harness insists on. Pure.

use serde_json::{Map, Value, json};

use crate::error::ToolError;
use crate::limits::GivenLimits;
use crate::orchestrator::{Backend, Hat, Plan, Topology};

/// Keys that would override the model or the prompt of the harness.
const DROPPED: &[&str] = &["agent", "agent_priority", "prompt_file", "RObot"];
/// Limits of the first version of the format; they are resolved into `event_loop`.
const FLAT_LIMITS: &[&str] = &["max_iterations", "max_runtime"];
/// Sections that are read or extended here.
pub(crate) const SECTIONS: &[&str] = &["hats", "event_loop", "hooks", "features"];
/// Topics that ralph 2.10 publishes by itself, whatever is configured.
const OWN_TOPICS: &[&str] = &[
    "task.start",
    "task.resume",
    "loop.terminate",
    "event.malformed",
    "event.orphaned",
    "build.blocked",
    "build.task.abandoned",
    "review.blocked",
    "verify.failed",
    "human.guidance",
    "human.interact",
    "human.response",
    "human.timeout",
];
const HOOK_PHASES: &[&str] =
    &["pre.loop.start", "post.iteration.start", "post.loop.complete", "post.loop.error"];

/// Reads a configuration file of the workspace. An empty file is an empty mapping.
pub(crate) fn read_file(name: &str, text: &str) -> Result<Value, ToolError> {
    let value: Value = serde_saphyr::from_str(text)
        .map_err(|error| ToolError::invalid(format!("{name} in the workspace: {error}")))?;
    if value.is_object() || value.is_null() {
        return Ok(value);
    }
    Err(ToolError::invalid(format!("{name} in the workspace must be a mapping")))
}

/// What the test configured: its file, and the overrides over it. Sections that cannot work are refused.
pub(crate) fn configured(file: Value, overrides: &Value) -> Result<Value, ToolError> {
    if !overrides.is_object() && !overrides.is_null() {
        return Err(ToolError::invalid("config must be a mapping"));
    }
    let mut document = json!({});
    overlay(&mut document, file);
    overlay(&mut document, overrides.clone());
    let not_a_mapping = |value: &Value| !value.is_object() && !value.is_null();
    if let Some(name) = SECTIONS.iter().find(|name| not_a_mapping(&document[**name])) {
        return Err(ToolError::invalid(format!("config.{name} must be a mapping")));
    }
    let hats = document["hats"].as_object();
    if let Some((id, _)) = hats.into_iter().flatten().find(|(_, hat)| !hat.is_object()) {
        return Err(ToolError::invalid(format!("config.hats.{id} must be a mapping")));
    }
    Ok(document)
}

/// The configuration over the defaults of a run.
pub(crate) fn merged(configured: Value, backend: Backend) -> Value {
    let mut document = json!({
        "core": {"scratchpad": ".agent/scratchpad.md"},
        "event_loop": {},
    });
    if backend == Backend::Mock {
        let off = json!({"enabled": false});
        overlay(&mut document, json!({"memories": off, "tasks": off, "skills": off}));
    }
    let no_hats = configured["hats"].is_null();
    overlay(&mut document, configured);
    if backend == Backend::Mock && no_hats {
        document["hats"] = default_hats();
    }
    document
}

/// The limits that are configured, and the default number of failed calls in a row. Ralph's own equals the
/// default number of iterations, which would hide it in a mock run.
pub(crate) fn limits(
    configured: &Value,
    backend: Backend,
) -> Result<(GivenLimits, Option<u64>), ToolError> {
    let number = |value: &Value, name: &str| match value {
        Value::Null => Ok(None),
        value => value.as_u64().map(Some).ok_or_else(|| {
            ToolError::invalid(format!("config.{name} must be a whole number, not {value}"))
        }),
    };
    // Ralph itself lets a flat key of the first version win.
    let either = |flat: &str, name: &str| match number(&configured[flat], flat)? {
        None => number(&configured["event_loop"][name], &format!("event_loop.{name}")),
        found => Ok(found),
    };
    let given = GivenLimits {
        max_iterations: either("max_iterations", "max_iterations")?,
        max_runtime_secs: either("max_runtime", "max_runtime_seconds")?,
        max_consecutive_failures: number(
            &configured["event_loop"]["max_consecutive_failures"],
            "event_loop.max_consecutive_failures",
        )?,
    };
    Ok((given, Some(if backend == Backend::Mock { 3 } else { 5 })))
}

/// Planner and builder: what a mock run gets when nothing else is configured.
fn default_hats() -> Value {
    json!({
        "planner": {
            "name": "Planner",
            "description": "Plans the work and hands out tasks",
            "triggers": ["task.*", "build.done", "build.blocked"],
            "publishes": ["build.task"],
        },
        "builder": {
            "name": "Builder",
            "description": "Does the task it was handed",
            "triggers": ["build.task"],
            "publishes": ["build.done", "build.blocked"],
        },
    })
}

/// Lays a value over another: mappings are merged, everything else is replaced.
fn overlay(document: &mut Value, over: Value) {
    match (document, over) {
        (Value::Object(below), Value::Object(above)) => {
            for (key, value) in above {
                overlay(below.entry(key).or_insert(Value::Null), value);
            }
        }
        (_, Value::Null) => {}
        (below, above) => *below = above,
    }
}

/// Adds what the harness requires: backend, limits, hooks, distinguishable hats.
pub(crate) fn wired(
    mut document: Value,
    plan: &Plan<'_>,
) -> Result<(Value, Vec<String>), ToolError> {
    let mut warnings = Vec::new();
    let Some(top) = document.as_object_mut() else {
        return Err(ToolError::invalid("config must be a mapping"));
    };
    for key in FLAT_LIMITS {
        top.remove(*key);
    }
    for key in DROPPED {
        if top.remove(*key).is_some() {
            warnings.push(format!("config.{key} was left out: the harness decides that"));
        }
    }
    let state = plan.folder.to_string_lossy().into_owned();
    let own_backend = top.get("cli").is_some_and(|cli| !cli["backend"].is_null());
    match plan.backend.needs() {
        None => {
            let mock = &plan.config.mock;
            let words = mock.with(["call", "--state", &state]);
            let cli = json!({
                "backend": "custom", "command": words[0], "args": &words[1..], "prompt_mode": "stdin",
            });
            top.insert("cli".to_owned(), cli);
        }
        // Anything else in the section could name another program.
        Some(needs) => drop(top.insert("cli".to_owned(), json!({"backend": needs.name}))),
    }
    if own_backend {
        warnings
            .push("config.cli was replaced: the backend is chosen by test_run alone".to_owned());
    }
    wire_hats(top, plan.backend, &mut warnings)?;
    wire_limits(top, plan)?;
    wire_hooks(top, plan, &state)?;
    let features = section(top, "features")?;
    features.insert("auto_merge".to_owned(), json!(false));
    Ok((document, warnings))
}

fn section<'a>(
    top: &'a mut Map<String, Value>,
    name: &str,
) -> Result<&'a mut Map<String, Value>, ToolError> {
    let value = top.entry(name).or_insert_with(|| json!({}));
    if value.is_null() {
        *value = json!({});
    }
    value
        .as_object_mut()
        .ok_or_else(|| ToolError::invalid(format!("config.{name} must be a mapping")))
}

/// A hat with a backend of its own would call a real model: no hat keeps one.
fn wire_hats(
    top: &mut Map<String, Value>,
    backend: Backend,
    warnings: &mut Vec<String>,
) -> Result<(), ToolError> {
    for (id, hat) in section(top, "hats")? {
        let Some(hat) = hat.as_object_mut() else {
            return Err(ToolError::invalid(format!("config.hats.{id} must be a mapping")));
        };
        for key in ["backend", "backend_args", "args"] {
            if hat.remove(key).is_some() {
                warnings.push(format!(
                    "config.hats.{id}.{key} was left out: test_run chooses the backend"
                ));
            }
        }
        if backend == Backend::Mock {
            hat.insert("backend_args".to_owned(), json!(["--hat", id]));
        }
        hat.entry("name").or_insert_with(|| json!(id));
        hat.entry("description").or_insert_with(|| json!(format!("The hat {id}")));
    }
    Ok(())
}

fn wire_limits(top: &mut Map<String, Value>, plan: &Plan<'_>) -> Result<(), ToolError> {
    let limits = section(top, "event_loop")?;
    limits.remove("prompt");
    limits.remove("prompt_file");
    limits.insert("max_iterations".to_owned(), json!(plan.limits.max_iterations.value));
    limits.insert("max_runtime_seconds".to_owned(), json!(plan.limits.max_runtime_secs.value));
    if let Some(failures) = plan.limits.max_consecutive_failures {
        limits.insert("max_consecutive_failures".to_owned(), json!(failures.value));
    }
    Ok(())
}

/// Our hooks come before those of the test.
fn wire_hooks(top: &mut Map<String, Value>, plan: &Plan<'_>, state: &str) -> Result<(), ToolError> {
    let hooks = section(top, "hooks")?;
    let theirs = hooks.get("enabled").is_none_or(|enabled| *enabled == json!(true));
    hooks.insert("enabled".to_owned(), json!(true));
    let events = section(hooks, "events")?;
    if !theirs {
        events.clear();
    }
    let command = plan.config.mock.with(["hook", "--state", state]);
    for phase in HOOK_PHASES {
        let ours = json!({"name": "proctor", "command": command, "on_error": "warn"});
        let list = events.entry(*phase).or_insert_with(|| json!([]));
        let Some(list) = list.as_array_mut() else {
            return Err(ToolError::invalid(format!("config.hooks.events.{phase} must be a list")));
        };
        list.insert(0, ours);
    }
    Ok(())
}

/// Where the scratchpad is.
pub(crate) fn scratchpad_path(document: &Value) -> String {
    let value = &document["core"]["scratchpad"];
    let path = value.as_str().or(value["path"].as_str()).unwrap_or(".agent/scratchpad.md");
    path.to_owned()
}

/// Who listens to what.
pub(crate) fn topology(document: &Value) -> Topology {
    let hats = document["hats"].as_object().into_iter().flatten();
    let hats: Vec<Hat> = hats
        .map(|(id, hat)| {
            let mut publishes = words(&hat["publishes"]);
            publishes.extend(hat["default_publishes"].as_str().map(str::to_owned));
            Hat { id: id.clone(), triggers: words(&hat["triggers"]), publishes }
        })
        .collect();
    let limits = &document["event_loop"];
    // Ralph itself lets the flat key of the first version win.
    let promise = document["completion_promise"].as_str().or(limits["completion_promise"].as_str());
    let cancel = limits["cancellation_promise"].as_str().filter(|word| !word.is_empty());
    Topology {
        own: own_topics(document, &hats),
        hats,
        coordinator: "ralph".to_owned(),
        completion: std::iter::once(promise.unwrap_or("LOOP_COMPLETE"))
            .chain(cancel)
            .map(str::to_owned)
            .collect(),
    }
}

fn words(value: &Value) -> Vec<String> {
    let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect()
}

/// Topics beside those of the hats: ralph's own, and what the rest of the configuration names.
fn own_topics(document: &Value, hats: &[Hat]) -> Vec<String> {
    let limits = &document["event_loop"];
    let mut topics: Vec<String> = OWN_TOPICS.iter().map(|&topic| topic.to_owned()).collect();
    topics.extend(limits["starting_event"].as_str().map(str::to_owned));
    topics.extend(words(&limits["required_events"]));
    topics.extend(
        document["events"].as_object().into_iter().flat_map(|events| events.keys().cloned()),
    );
    for hat in hats {
        topics.extend(["exhausted", "scope_violation"].map(|word| format!("{}.{word}", hat.id)));
    }
    topics
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S10: a file that is no mapping panicked.
    #[test]
    fn s10_a_configuration_that_is_no_mapping_is_an_error() {
        for text in ["- a", "5", "just words", "true"] {
            let error = read_file("ralph.yml", text).unwrap_err();
            assert!(
                error.message.contains("ralph.yml in the workspace must be a mapping"),
                "{error}"
            );
        }
        assert_eq!(read_file("ralph.yml", "").unwrap(), Value::Null);
        assert_eq!(configured(Value::Null, &Value::Null).unwrap(), json!({}));
        for bad in
            [json!([1]), json!({"hats": []}), json!({"event_loop": 1}), json!({"hats": {"a": 1}})]
        {
            assert!(configured(Value::Null, &bad).is_err(), "{bad}");
            assert!(configured(bad.clone(), &Value::Null).is_err() || bad.is_array(), "{bad}");
        }
    }

    #[test]
    fn limits_are_read_from_both_versions_of_the_format() {
        let read = |document: Value| limits(&document, Backend::Mock).map(|(given, _)| given);
        let given = read(json!({"event_loop": {"max_iterations": 1, "max_runtime_seconds": 2}}));
        let given = given.unwrap();
        assert_eq!((given.max_iterations, given.max_runtime_secs), (Some(1), Some(2)));
        let flat = json!({"max_iterations": 7, "event_loop": {"max_iterations": 1}});
        assert_eq!(read(flat).unwrap().max_iterations, Some(7));
        assert_eq!(read(json!({})).unwrap(), GivenLimits::default());
        for bad in [json!("1"), json!(-1), json!(1.5), json!([1])] {
            let error = read(json!({"event_loop": {"max_iterations": bad}})).unwrap_err();
            assert!(error.message.contains("config.event_loop.max_iterations"), "{error}");
        }
    }

    #[test]
    fn topics_outside_the_hats_belong_to_the_topology() {
        let document = json!({"completion_promise": "ALL_DONE", "events": {"deploy.ask": {}},
            "event_loop": {"starting_event": "tdd.start", "required_events": ["tests.seen"]},
            "hats": {"a": {"triggers": ["x"]}}});
        let topology = topology(&document);
        assert_eq!(topology.completion, ["ALL_DONE"]);
        for topic in ["tdd.start", "tests.seen", "deploy.ask", "task.start", "a.exhausted"] {
            assert!(topology.own.iter().any(|own| own == topic), "{topic}");
        }
    }
}
