//! How examples of a method make stored objects: `build_stubbed` where nothing asks the database, `build` where an object is only
//! validated, `create` where it is stored or queried. Decided by the calls that a method and its private helpers make; what the
//! examples really needed is noted afterwards. Pure.

use std::collections::{BTreeMap, BTreeSet};

use proctor_ruby::spec::{ExampleBody, MethodPlan};
use proctor_ruby::{ClassFacts, MethodFacts, underscore};
use ruby_prism::{CallNode, Visit};

use crate::metadata::{Metadata, MethodEntry};
use crate::project::SourceFile;
use crate::syntax::name;

/// Calls that store or query objects.
const STORING: &[&str] = &[
    "create",
    "create!",
    "decrement!",
    "delete_all",
    "destroy",
    "destroy!",
    "destroy_all",
    "exists?",
    "find",
    "find_by",
    "find_by!",
    "find_each",
    "find_or_create_by",
    "find_or_create_by!",
    "increment!",
    "joins",
    "lock!",
    "pluck",
    "reload",
    "save",
    "save!",
    "toggle!",
    "touch",
    "transaction",
    "update",
    "update!",
    "update_all",
    "update_attribute",
    "update_column",
    "update_columns",
    "where",
    "with_lock",
];
/// Calls that validate objects.
const VALIDATING: &[&str] = &["errors", "invalid?", "valid?", "validate", "validate!"];
/// From the lightest to the heaviest.
const STRATEGIES: &[&str] = &["build_stubbed", "build", "create"];

/// Decides for every analysed method that uses stored objects, and says why.
pub(crate) fn decide(metadata: &mut Metadata, source: &SourceFile, models: &BTreeSet<String>) {
    let calls = calls_by_place(&source.bytes);
    for entry in &mut metadata.methods {
        let class = source.facts.classes.iter().find(|class| class.name == entry.class_name);
        let Some(class) = class else { continue };
        let Some(method) = class.methods.iter().find(|one| one.name == entry.name) else {
            continue;
        };
        if !uses_models(entry, class, method, models) {
            continue;
        }
        let made = calls_of(class, method, &calls);
        let first = |words: &[&str]| made.iter().find(|name| words.contains(&name.as_str()));
        let (strategy, reason) = if let Some(call) = first(STORING) {
            ("create", format!("calls {call}, which asks the database"))
        } else if let Some(call) = first(VALIDATING) {
            ("build", format!("calls {call}, and nothing asks the database"))
        } else {
            ("build_stubbed", "nothing is seen to ask the database".to_owned())
        };
        set(entry, strategy, &format!("objects by {strategy}: {reason}"));
    }
}

/// Notes what the examples that hold really use.
pub(crate) fn note_used(metadata: &mut Metadata, plan: &MethodPlan) {
    let used = strategies_of(plan);
    let Some(strongest) = STRATEGIES.iter().rev().find(|one| used.contains(**one)) else { return };
    let is_it = |entry: &&mut MethodEntry| {
        let mark = if entry.kind == "class" { "." } else { "#" };
        format!("{}{mark}{}", entry.class_name, entry.name) == plan.id
    };
    let Some(entry) = metadata.methods.iter_mut().find(is_it) else { return };
    let decided = entry.test_config.as_ref().and_then(|config| config.object_strategy.clone());
    if decided.as_deref() == Some(*strongest) {
        return;
    }
    let why = match *strongest {
        "create" => "calls asked the database",
        "build" => "calls validated objects without asking the database",
        _ => "no call asked the database",
    };
    set(entry, strongest, &format!("objects by {strongest}, as observed: {why}"));
}

fn set(entry: &mut MethodEntry, strategy: &str, reason: &str) {
    if let Some(config) = &mut entry.test_config {
        config.object_strategy = Some(strategy.to_owned());
        config.decision_trace.push(reason.to_owned());
    }
}

/// Whether a method is one of a model, mentions one, or is given one by its name.
fn uses_models(
    entry: &MethodEntry,
    class: &ClassFacts,
    method: &MethodFacts,
    models: &BTreeSet<String>,
) -> bool {
    let last = |name: &str| name.rsplit("::").next().unwrap_or(name).to_owned();
    let given = |model: &String| {
        let word = underscore(&last(model));
        method.params.iter().any(|param| param.name.trim_end_matches("_id") == word)
    };
    models.contains(&class.name)
        || models.iter().any(|model| {
            given(model)
                || entry.dependencies.iter().any(|name| last(name) == last(model))
                || method.constants.iter().any(|name| last(name) == last(model))
        })
}

/// Names of calls by their place in the source.
fn calls_by_place(source: &[u8]) -> BTreeMap<u32, String> {
    #[derive(Default)]
    struct Calls(BTreeMap<u32, String>);
    impl<'pr> Visit<'pr> for Calls {
        fn visit_call_node(&mut self, node: &CallNode<'pr>) {
            let place = node.message_loc().map_or(node.location().start(), |one| one.start());
            self.0.insert(place, name(node));
            ruby_prism::visit_call_node(self, node);
        }
    }
    let mut calls = Calls::default();
    calls.visit(&ruby_prism::parse(source).node());
    calls.0
}

/// Calls of a method and of those of its class that it calls, in the order of the source.
fn calls_of(
    class: &ClassFacts,
    method: &MethodFacts,
    calls: &BTreeMap<u32, String>,
) -> Vec<String> {
    let mut seen: BTreeSet<&str> = BTreeSet::from([method.name.as_str()]);
    let mut open = vec![method];
    let mut found = Vec::new();
    while let Some(next) = open.pop() {
        found.extend(calls.range(next.span.0..next.span.1).map(|(_, name)| name.clone()));
        let called = class.methods.iter().filter(|one| next.self_calls.contains(&one.name));
        open.extend(called.filter(|one| seen.insert(one.name.as_str())));
    }
    found
}

fn strategies_of(plan: &MethodPlan) -> BTreeSet<&'static str> {
    let examples = plan.contexts.iter().flat_map(|context| &context.examples);
    let mut found = BTreeSet::new();
    for example in examples {
        let ExampleBody::Observed(one) = &example.body else { continue };
        let codes = one.setup.iter().chain(&one.args).chain([&one.receiver]);
        for code in codes.chain(one.keys.iter().map(|(_, code)| code)) {
            found.extend(STRATEGIES.iter().filter(|one| is_used(code, one)));
        }
    }
    found
}

/// Whether a code makes an object with this strategy.
fn is_used(code: &str, strategy: &str) -> bool {
    code.match_indices(&format!("{strategy}(:")).any(|(place, _)| {
        let before = code[..place].chars().next_back();
        !before.is_some_and(|one| one.is_alphanumeric() || one == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strategies_are_whole_words() {
        assert!(is_used("order = create(:order)", "create"));
        assert!(is_used("FactoryBot.build(:order)", "build"));
        assert!(!is_used("recreate(:order)", "create"));
        assert!(!is_used("build_stubbed(:order)", "build"));
        assert!(!is_used("create!(:order)", "create"));
    }
}
