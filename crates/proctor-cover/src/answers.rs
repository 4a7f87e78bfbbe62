//! What stages answer, in the seed's form. Pure.

use serde_json::{Map, Value, json};

use crate::discover::{Discovery, Target};
use crate::metadata::{Metadata, Selected};

/// The answer of discovery: waves, files, the graph of dependencies, a summary.
pub(crate) fn discovery(found: &Discovery) -> Value {
    let waves: Vec<Value> = found
        .waves
        .waves
        .iter()
        .enumerate()
        .map(|(number, ids)| wave(found, number, ids))
        .collect();
    let files: Vec<Value> = found.targets.iter().map(|target| file(found, target)).collect();
    let edges: Vec<Value> = found
        .items
        .iter()
        .flat_map(|item| item.needs.iter().map(|class| json!({ "from": item.id, "to": class })))
        .collect();
    let nodes: Vec<&str> = found.items.iter().map(|item| item.id.as_str()).collect();
    json!({
        "status": "success",
        "method_waves": waves,
        "files": files,
        "dependency_graph": { "nodes": nodes, "edges": edges, "cycles": found.waves.cycles },
        "summary": summary(found),
        "warnings": found.warnings,
    })
}

fn wave(found: &Discovery, number: usize, ids: &[String]) -> Value {
    let name = if number == 0 {
        "Leaf methods".to_owned()
    } else {
        format!("Depends on wave {}", number - 1)
    };
    let items: Vec<Value> = ids.iter().filter_map(|id| item(found, id)).collect();
    json!({ "wave": number, "name": name, "items": items })
}

fn item(found: &Discovery, id: &str) -> Option<Value> {
    let (target, one) = found.targets.iter().find_map(|target| {
        let method = target.methods.iter().find(|one| one.method_id == id)?;
        Some((target, method))
    })?;
    let graph = found.items.iter().find(|item| item.id == id);
    let needs: Vec<Value> =
        graph.iter().flat_map(|item| &item.needs).map(|class| json!({ "class": class })).collect();
    let absorbed: Vec<&String> = graph.iter().flat_map(|item| &item.absorbed).collect();
    Some(json!({
        "method_id": one.method_id, "class_name": one.class_name, "method_name": one.name,
        "source_file": target.source.path, "line_range": one.line_range,
        "method_mode": one.method_mode, "selected": one.selected,
        "cross_class_deps": needs, "absorbed_private_methods": absorbed,
    }))
}

fn file(found: &Discovery, target: &Target) -> Value {
    let wave_of = |one: &Selected| {
        found.waves.waves.iter().position(|ids| ids.contains(&one.method_id)).unwrap_or(target.wave)
    };
    let methods: Vec<Value> = target
        .methods
        .iter()
        .map(|one| {
            let mut entry = Map::new();
            entry.insert("name".to_owned(), json!(one.name));
            entry.insert("method_mode".to_owned(), json!(one.method_mode));
            entry.insert("wave".to_owned(), json!(wave_of(one)));
            entry.insert("selected".to_owned(), json!(one.selected));
            if let Some(reason) = &one.skip_reason {
                entry.insert("skip_reason".to_owned(), json!(reason));
            }
            Value::Object(entry)
        })
        .collect();
    json!({
        "path": target.source.path,
        "class_name": target.source.facts.main_class().map(|class| &class.name),
        "complexity": target.complexity, "spec_path": target.spec_path, "public_methods": methods,
    })
}

fn summary(found: &Discovery) -> Value {
    let zone =
        |name: &str| found.targets.iter().filter(|target| target.complexity.zone == name).count();
    let methods = || found.targets.iter().flat_map(|target| &target.methods);
    json!({
        "total_methods": methods().count(),
        "selected_methods": methods().filter(|one| one.selected).count(),
        "total_files": found.targets.len(),
        "waves_count": found.waves.waves.len(),
        "by_zone": { "green": zone("green"), "yellow": zone("yellow"), "red": zone("red") },
    })
}

/// The answer of a stage that says some of what the metadata hold.
pub(crate) fn part(metadata: &Metadata, keys: &[&str]) -> Value {
    json!({ "status": "success", "data": selected_fields(metadata, keys) })
}

/// The same without the wrapper, as the seed's test architect answers.
pub(crate) fn unwrapped_answer(metadata: &Metadata, keys: &[&str], agent: &str) -> Value {
    let mut answer = Map::new();
    answer.insert("status".to_owned(), json!("success"));
    answer.extend(selected_fields(metadata, keys));
    let marks = metadata.automation.iter().filter(|(key, _)| key.starts_with(agent));
    let marks: Map<String, Value> =
        marks.map(|(key, value)| (key.clone(), value.clone())).collect();
    answer.insert("automation".to_owned(), Value::Object(marks));
    Value::Object(answer)
}

/// The answer of a stage that had nothing to do.
pub(crate) fn skipped(reason: &str) -> Value {
    json!({ "status": "skip", "skip_reason": reason })
}

fn selected_fields(metadata: &Metadata, keys: &[&str]) -> Map<String, Value> {
    let Ok(Value::Object(mut all)) = serde_json::to_value(metadata) else { return Map::new() };
    keys.iter().filter_map(|key| all.remove(*key).map(|value| ((*key).to_owned(), value))).collect()
}
