//! The spec file as the architect leaves it: every context and example of the outline, with placeholders for set-up and
//! expectation. The implementer replaces its blocks. Pure.

use proctor_ruby::spec::{
    ClassPlan, ContextPlan, ExampleBody, ExamplePlan, MethodPlan, SpecPlan, Style, merge, restyled,
};
use serde_json::Value;

use crate::metadata::Metadata;

/// What the implementer fills in. The example is pending until then.
const PLACEHOLDERS: [&str; 2] = ["# {SETUP_CODE}", "skip \"{EXPECTATION}\""];

/// The text of the spec with a block of placeholders for every method that has no block yet; `None` if there is nothing to
/// add, or the existing text is not Ruby.
pub(crate) fn skeleton(
    metadata: &Metadata,
    requires: Vec<String>,
    existing: Option<&str>,
    style: &Style,
) -> Option<String> {
    let outlines = metadata.structure.as_ref()?["methods"].as_array()?;
    let mut classes: Vec<ClassPlan> = Vec::new();
    for (method, outline) in metadata.methods.iter().zip(outlines) {
        let label = outline["name"].as_str()?.to_owned();
        let id = format!("{}{label}", method.class_name);
        if existing.is_some_and(|text| text.contains(&format!("# proctor:begin {id} "))) {
            continue;
        }
        let mut contexts = Vec::new();
        add_context("", outline, style, &mut contexts);
        let plan = MethodPlan { id, label, contexts, ..MethodPlan::default() };
        match classes.iter_mut().find(|class| class.name == method.class_name) {
            Some(class) => class.methods.push(plan),
            None => {
                classes.push(ClassPlan { name: method.class_name.clone(), methods: vec![plan] });
            }
        }
    }
    classes.retain(|class| class.methods.iter().any(|one| !one.contexts.is_empty()));
    if classes.is_empty() {
        return None;
    }
    merge(existing, &SpecPlan { requires, classes, style: style.clone() }).map(|merged| merged.text)
}

/// Adds the examples of a context, then those of the contexts within it.
fn add_context(name: &str, outline: &Value, style: &Style, found: &mut Vec<ContextPlan>) {
    let examples = outline["examples"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let examples: Vec<ExamplePlan> = examples
        .map(|description| ExamplePlan {
            description: description.to_owned(),
            body: ExampleBody::Lines(PLACEHOLDERS.map(|line| restyled(line, style, None)).to_vec()),
            kills: true,
        })
        .collect();
    if !examples.is_empty() {
        let name = (!name.is_empty()).then(|| name.to_owned());
        found.push(ContextPlan { name, examples });
    }
    for key in ["contexts", "children"] {
        for inner in outline[key].as_array().into_iter().flatten() {
            let own = inner["name"].as_str().unwrap_or_default();
            add_context(&joined(name, own), inner, style, found);
        }
    }
}

/// A situation within another one as one sentence.
fn joined(outer: &str, inner: &str) -> String {
    if outer.is_empty() {
        return inner.to_owned();
    }
    let words = ["with ", "but ", "and "];
    let rest = words.iter().find_map(|word| inner.strip_prefix(word)).unwrap_or(inner);
    format!("{outer} and {rest}")
}
