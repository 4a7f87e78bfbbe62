//! How each method is to be tested: level, what is stubbed, how sure we are, and why. Pure rules.

use crate::metadata::{Isolation, Metadata, MethodEntry, TestConfig};
use proctor_ruby::{FileFacts, SetupKind};

/// Decides for every analysed method.
pub(crate) fn isolate(metadata: &mut Metadata, is_library: bool, facts: &FileFacts) {
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
        let opens = opens_door(facts, method);
        let mut config = choose_isolation(method, loc, opens, (&zone, &source), is_library);
        if uses_tables(facts, method) {
            use_database(&mut config);
        }
        method.test_config = Some(config);
    }
}

/// Marks what a stored class decides by its own columns as set up by a stored object.
pub(crate) fn mark_stored(metadata: &mut Metadata, facts: &FileFacts) {
    for method in metadata.methods.iter_mut().filter(|one| is_stored(facts, &one.class_name)) {
        for one in method.characteristics.iter_mut().filter(|one| one.setup.kind == SetupKind::Data)
        {
            one.setup.kind = SetupKind::Model;
            one.setup.class.get_or_insert_with(|| method.class_name.clone());
        }
    }
}

/// Whether a class inherits from `ActiveRecord::Base` or a base class of the project.
fn is_stored(facts: &FileFacts, class: &str) -> bool {
    let parent = facts.classes.iter().find(|one| one.name == class);
    let parent = parent.and_then(|one| one.superclass.as_deref()).unwrap_or_default();
    parent.trim_start_matches("::") == "ActiveRecord::Base" || parent.ends_with("ApplicationRecord")
}

/// Whether a method belongs to a stored class, or opens a transaction.
fn uses_tables(facts: &FileFacts, method: &MethodEntry) -> bool {
    let class = facts.classes.iter().find(|class| class.name == method.class_name);
    let own = class.and_then(|class| class.methods.iter().find(|one| one.name == method.name));
    let names = own.is_some_and(|one| {
        one.constants.iter().any(|name| name.trim_start_matches("::").starts_with("ActiveRecord"))
    });
    names || is_stored(facts, &method.class_name)
}

/// Rows cannot be stubbed: examples use SQLite in memory and are rolled back.
fn use_database(config: &mut TestConfig) {
    "real".clone_into(&mut config.isolation.db);
    if config.confidence == "high" {
        "medium".clone_into(&mut config.confidence);
    }
    config.decision_trace.push(
        "a stored class or a transaction: a database (SQLite in memory), rolled back after each example; \
         objects are built where nothing is read from tables, else created; confidence at most medium"
            .to_owned(),
    );
}

/// Whether a method, or a private one of its class, calls something that leaves the program: exactly what is never called
/// for real when the method is observed.
fn opens_door(facts: &FileFacts, method: &MethodEntry) -> bool {
    let class = facts.classes.iter().find(|class| class.name == method.class_name);
    class.is_some_and(|class| {
        class
            .methods
            .iter()
            .filter(|one| one.name == method.name || !one.is_testable())
            .any(|one| !one.doors.is_empty())
    })
}

fn choose_isolation(
    method: &MethodEntry,
    loc: u32,
    opens_door: bool,
    (zone, source): (&str, &str),
    is_library: bool,
) -> TestConfig {
    let mut trace = Vec::new();
    let has = |kind: &str| method.side_effects.iter().any(|effect| effect.kind == kind);
    let uses_db =
        has("cache") || method.characteristics.iter().any(|one| one.setup.kind == SetupKind::Model);
    let uses_http = has("external_api") || opens_door;
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
        object_strategy: None,
        confidence: confidence.to_owned(),
        decision_trace: trace,
    }
}
