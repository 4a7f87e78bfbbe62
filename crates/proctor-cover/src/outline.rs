//! The outline of a spec: contexts by characteristics, the happy path first, ending where the method ends. Pure.

use serde_json::{Map, Value, json};

use crate::metadata::{CharacteristicEntry, Metadata, MethodEntry, ValueEntry};

/// How many decisions within each other are outlined; a circle of parents would never end.
const MAX_DEPTH: u32 = 12;

/// The structure of the spec, in the seed's form.
pub(crate) fn outline(metadata: &Metadata) -> Value {
    let words = |id: Option<&str>| {
        let entry = id.and_then(|id| metadata.behaviors.iter().find(|one| one.id == id));
        entry.filter(|one| one.enabled).map(|one| one.description.clone())
    };
    let methods: Vec<Value> = metadata
        .methods
        .iter()
        .map(|method| {
            let mark = if method.kind == "class" { "." } else { "#" };
            let effects = method.side_effects.iter();
            let effects: Vec<String> =
                effects.filter_map(|effect| words(Some(&effect.behavior_id))).collect();
            let examples: Vec<String> = words(method.behavior_id.as_deref()).into_iter().collect();
            let outline = Outline { method, words: &words, effects: &effects };
            json!({
                "name": format!("{mark}{}", method.name),
                "contexts": outline.contexts(None, 0),
                "examples": examples,
            })
        })
        .collect();
    json!({ "describe": metadata.class_name, "methods": methods })
}

struct Outline<'a> {
    method: &'a MethodEntry,
    words: &'a dyn Fn(Option<&str>) -> Option<String>,
    effects: &'a [String],
}

impl Outline<'_> {
    fn contexts(&self, parent: Option<(&str, &str)>, depth: u32) -> Vec<Value> {
        if depth > MAX_DEPTH {
            return Vec::new();
        }
        let here = self.method.characteristics.iter().filter(|one| belongs_under(one, parent));
        here.flat_map(|one| {
            let mut values: Vec<&ValueEntry> = one.values.iter().collect();
            values.sort_by_key(|value| value.terminal);
            values.into_iter().map(|value| self.context(one, value, depth)).collect::<Vec<_>>()
        })
        .collect()
    }

    fn context(&self, one: &CharacteristicEntry, value: &ValueEntry, depth: u32) -> Value {
        let plain = value.value.as_str().map_or_else(|| value.value.to_string(), str::to_owned);
        let word = if depth == 0 { "when" } else { "with" };
        let mut context = Map::new();
        context.insert("name".to_owned(), json!(format!("{word} {}", value.description)));
        if value.terminal {
            context.insert("terminal".to_owned(), json!(true));
            context.insert("examples".to_owned(), json!(self.examples(value)));
            return Value::Object(context);
        }
        let children = self.contexts(Some((&one.name, &plain)), depth + 1);
        if children.is_empty() {
            context.insert("leaf".to_owned(), json!(true));
            let mut examples = self.effects.to_vec();
            examples.extend(self.examples(value));
            context.insert("examples".to_owned(), json!(examples));
        } else {
            context.insert("children".to_owned(), Value::Array(children));
        }
        Value::Object(context)
    }

    fn examples(&self, value: &ValueEntry) -> Vec<String> {
        (self.words)(value.behavior_id.as_deref()).into_iter().collect()
    }
}

/// Whether a characteristic belongs under this value of its parent, or at the top.
fn belongs_under(one: &CharacteristicEntry, parent: Option<(&str, &str)>) -> bool {
    match (parent, &one.depends_on) {
        (None, None) => true,
        (Some((name, value)), Some(depends_on)) => {
            let mut values = one.when_parent.iter().flatten();
            name == depends_on && values.any(|other| other == value)
        }
        _ => false,
    }
}
