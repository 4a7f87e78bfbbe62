//! Ralph's configuration: what the test asked for, and what the harness insists on. Pure.

use serde_json::{Map, Value, json};

use crate::error::ToolError;
use crate::orchestrator::{Backend, Hat, Plan, Topology};

/// Keys that would choose a model, a prompt or a limit behind our back.
const DROPPED: &[&str] =
    &["agent", "agent_priority", "prompt_file", "max_iterations", "max_runtime", "RObot"];
const HOOK_PHASES: &[&str] =
    &["pre.loop.start", "post.iteration.start", "post.loop.complete", "post.loop.error"];

/// The user's file, the overrides over it, and defaults for a mock run.
pub(crate) fn merged(base: Value, user: &Value, backend: Backend) -> Value {
    let mut document = json!({
        "core": {"scratchpad": ".agent/scratchpad.md"},
        "event_loop": {},
    });
    if backend == Backend::Mock {
        let off = json!({"enabled": false});
        overlay(&mut document, json!({"memories": off, "tasks": off, "skills": off}));
        // Ralph's own limit equals the default number of iterations, which would hide it.
        document["event_loop"]["max_consecutive_failures"] = json!(3);
    }
    overlay(&mut document, base);
    overlay(&mut document, user.clone());
    let no_hats = document.get("hats").is_none_or(Value::is_null);
    if backend == Backend::Mock && no_hats {
        document["hats"] = default_hats();
    }
    document
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

/// Adds what the harness insists on: backend, limits, hooks, hats that can be told apart.
pub(crate) fn wired(
    mut document: Value,
    plan: &Plan<'_>,
) -> Result<(Value, Vec<String>), ToolError> {
    let mut warnings = Vec::new();
    let Some(top) = document.as_object_mut() else {
        return Err(ToolError::invalid("config must be a mapping"));
    };
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
    limits.insert("max_iterations".to_owned(), json!(plan.max_iterations));
    limits.insert("max_runtime_seconds".to_owned(), json!(plan.max_runtime_secs));
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
    let words = |value: &Value| -> Vec<String> {
        let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
        list.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect()
    };
    let hats = document["hats"].as_object().into_iter().flatten();
    let hats = hats.map(|(id, hat)| {
        let mut publishes = words(&hat["publishes"]);
        publishes.extend(hat["default_publishes"].as_str().map(str::to_owned));
        Hat { id: id.clone(), triggers: words(&hat["triggers"]), publishes }
    });
    let limits = &document["event_loop"];
    let promise = limits["completion_promise"].as_str().unwrap_or("LOOP_COMPLETE");
    let cancel = limits["cancellation_promise"].as_str().filter(|word| !word.is_empty());
    Topology {
        hats: hats.collect(),
        coordinator: "ralph".to_owned(),
        completion: std::iter::once(promise).chain(cancel).map(str::to_owned).collect(),
    }
}
