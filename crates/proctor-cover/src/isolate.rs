//! How each method is to be tested: level, what is stubbed, how sure we are, and why. Pure rules.

use crate::metadata::{Isolation, Metadata, MethodEntry, TestConfig};
use proctor_ruby::SetupKind;

/// Decides for every analysed method.
pub(crate) fn isolate(metadata: &mut Metadata, is_library: bool) {
    let zone = metadata.complexity.zone.clone();
    let source = metadata.source_file.clone();
    let sizes: Vec<u32> = metadata
        .methods
        .iter()
        .map(|method| {
            let choice = metadata.methods_to_analyze.iter().find(|choice| {
                choice.name == method.name && choice.class_name == method.class_name
            });
            choice.map_or(0, |choice| choice.line_range[1] - choice.line_range[0] + 1)
        })
        .collect();
    for (method, loc) in metadata.methods.iter_mut().zip(sizes) {
        method.test_config = Some(choose_isolation(method, loc, &zone, &source, is_library));
    }
}

fn choose_isolation(
    method: &MethodEntry,
    loc: u32,
    zone: &str,
    source: &str,
    is_library: bool,
) -> TestConfig {
    let mut trace = Vec::new();
    let has = |kind: &str| method.side_effects.iter().any(|effect| effect.kind == kind);
    let uses_db =
        has("cache") || method.characteristics.iter().any(|one| one.setup.kind == SetupKind::Model);
    let uses_http =
        has("external_api") || method.characteristics.iter().any(|one| one.source.is_some());
    let uses_queue = has("event") || has("webhook") || has("email");
    let level = if is_library {
        trace.push("a library: unit".to_owned());
        "unit"
    } else if source.contains("controllers/") {
        trace.push("a controller: request".to_owned());
        "request"
    } else if source.contains("jobs/") || source.contains("workers/") {
        trace.push("a job: integration".to_owned());
        "integration"
    } else if uses_db && (loc > 20 || zone != "green" || method.dependencies.len() > 1) {
        trace.push(format!(
            "uses stored objects and is large or connected ({loc} lines, zone {zone}): integration"
        ));
        "integration"
    } else {
        trace.push(
            if uses_db { "uses stored objects, small: unit" } else { "no stored objects: unit" }
                .to_owned(),
        );
        "unit"
    };
    let db = if !uses_db {
        "none"
    } else if level == "integration" || level == "request" {
        "real"
    } else {
        "stubbed"
    };
    let outside = |used: bool| if used { "stubbed" } else { "none" };
    let confidence = if zone == "red" {
        "low"
    } else if zone == "yellow" || (uses_db && uses_http) || (15..=25).contains(&loc) {
        "medium"
    } else {
        "high"
    };
    trace.push(format!("zone {zone}, {loc} lines: confidence {confidence}"));
    TestConfig {
        test_level: level.to_owned(),
        isolation: Isolation {
            db: db.to_owned(),
            external_http: outside(uses_http).to_owned(),
            queue: outside(uses_queue).to_owned(),
        },
        confidence: confidence.to_owned(),
        decision_trace: trace,
    }
}
