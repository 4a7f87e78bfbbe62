//! The outline of a spec: contexts by characteristics, the happy path first, ending where the method ends. Pure.

use serde_json::{Map, Value, json};

use crate::metadata::{CharacteristicEntry, EffectEntry, Metadata, MethodEntry, ValueEntry};

/// How many decisions within each other are outlined; a circle of parents would never end.
const MAX_DEPTH: usize = 12;

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
            let outline = Outline { method, words: &words };
            let mut examples: Vec<String> =
                words(method.behavior_id.as_deref()).into_iter().collect();
            if method.characteristics.is_empty() {
                examples.splice(0..0, outline.effects(&[]));
            }
            json!({
                "name": format!("{mark}{}", method.name),
                "contexts": outline.contexts(&mut Vec::new()),
                "examples": examples,
            })
        })
        .collect();
    json!({ "describe": metadata.class_name, "methods": methods })
}

struct Outline<'a> {
    method: &'a MethodEntry,
    words: &'a dyn Fn(Option<&str>) -> Option<String>,
}

/// The values on the way to a context, outermost first: characteristic, value.
type Path = Vec<(String, String)>;

impl Outline<'_> {
    fn contexts(&self, path: &mut Path) -> Vec<Value> {
        if path.len() > MAX_DEPTH {
            return Vec::new();
        }
        let parent = path.last().cloned();
        let parent = parent.as_ref().map(|(name, value)| (name.as_str(), value.as_str()));
        let here = self.method.characteristics.iter().filter(|one| belongs_under(one, parent));
        let mut contexts = Vec::new();
        for one in here {
            let mut values: Vec<&ValueEntry> = one.values.iter().collect();
            values.sort_by_key(|value| value.terminal);
            for value in values {
                path.push((one.name.clone(), plain_value(value)));
                contexts.push(self.context(value, path));
                path.pop();
            }
        }
        contexts
    }

    fn context(&self, value: &ValueEntry, path: &mut Path) -> Value {
        let word = if path.len() == 1 { "when" } else { "with" };
        let mut context = Map::new();
        context.insert("name".to_owned(), json!(format!("{word} {}", value.description)));
        let children = if value.terminal { Vec::new() } else { self.contexts(path) };
        if !children.is_empty() {
            context.insert("children".to_owned(), Value::Array(children));
            return Value::Object(context);
        }
        let mark = if value.terminal { "terminal" } else { "leaf" };
        context.insert(mark.to_owned(), json!(true));
        let mut examples = self.effects(path);
        examples.extend((self.words)(value.behavior_id.as_deref()));
        context.insert("examples".to_owned(), json!(examples));
        Value::Object(context)
    }

    /// What happens besides the result on the way to a context: what always happens, and what its values lead to.
    fn effects(&self, path: &[(String, String)]) -> Vec<String> {
        let happens = |effect: &&EffectEntry| match &effect.depends_on {
            None => true,
            Some(name) => path.iter().any(|(own, value)| {
                own == name && effect.when_parent.iter().flatten().any(|other| other == value)
            }),
        };
        let mut found: Vec<String> = Vec::new();
        for effect in self.method.side_effects.iter().filter(happens) {
            let words = (self.words)(Some(&effect.behavior_id));
            found.extend(words.filter(|words| !found.contains(words)));
        }
        found
    }
}

fn plain_value(value: &ValueEntry) -> String {
    value.value.as_str().map_or_else(|| value.value.to_string(), str::to_owned)
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
