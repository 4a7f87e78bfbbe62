//! Which factory and trait makes which value. Pure.

use std::collections::BTreeMap;

use proctor_ruby::{SetupKind, underscore};
use serde_json::Value;

use super::Proposal;
use super::read::{Factories, Factory};
use crate::metadata::{CharacteristicEntry, Metadata, MethodEntry};

/// Proposals for every value of a characteristic that a stored object decides. Plain objects need none.
pub(crate) fn propose(metadata: &Metadata, known: &Factories) -> Vec<Proposal> {
    let mut found = Vec::new();
    for method in &metadata.methods {
        for one in &method.characteristics {
            let stored = one.setup.kind == SetupKind::Model && one.source.is_none();
            let Some(class) = one.setup.class.as_ref().filter(|_| stored) else { continue };
            for value in &one.values {
                found.push(proposal(method, one, &value.value, class, known));
            }
        }
    }
    found
}

fn proposal(
    method: &MethodEntry,
    one: &CharacteristicEntry,
    value: &Value,
    class: &str,
    known: &Factories,
) -> Proposal {
    let plain = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let own = underscore(class.rsplit("::").next().unwrap_or(class));
    let attribute = attribute_of(class, &one.name);
    let mark = if method.kind == "class" { "." } else { "#" };
    let base = Proposal {
        method: format!("{}{mark}{}", method.class_name, method.name),
        characteristic: one.name.clone(),
        value: plain.clone(),
        class: class.to_owned(),
        ..Proposal::default()
    };
    let strategy = strategy(method);
    match known.of_class(class) {
        Some(factory) => existing(base, factory, known, strategy, (&attribute, &plain)),
        None => missing(base, &own, strategy, (&attribute, &plain), one),
    }
}

/// What the isolation stage decided; objects that are only looked at need no database.
fn strategy(method: &MethodEntry) -> &'static str {
    let config = method.test_config.as_ref();
    match config.and_then(|config| config.object_strategy.as_deref()) {
        Some("create") => "create",
        Some("build") => "build",
        None if config.is_some_and(|config| config.isolation.db == "real") => "create",
        _ => "build_stubbed",
    }
}

fn existing(
    base: Proposal,
    factory: &Factory,
    known: &Factories,
    strategy: &str,
    (attribute, value): (&str, &str),
) -> Proposal {
    let traits = known.traits(factory);
    let attributes = known.attributes(factory);
    let name = &factory.name;
    let found = fitting_trait(&traits, attribute, value);
    let (code, missing_trait) = if let Some(found) = &found {
        (format!("{strategy}(:{name}, :{found})"), None)
    } else if attributes.get(attribute).is_some_and(|code| same_value(code, value)) {
        (format!("{strategy}(:{name})"), None)
    } else if attributes.contains_key(attribute) || is_boolean(value) {
        (format!("{strategy}(:{name}, {attribute}: {})", literal(value)), None)
    } else {
        (
            format!("{strategy}(:{name}, {attribute}: {})", literal(value)),
            Some(trait_name(attribute, value)),
        )
    };
    let file = factory.place.rsplit_once(':').map(|(file, _)| file.to_owned());
    Proposal {
        factory: name.clone(),
        exists: true,
        file,
        trait_name: found,
        missing_trait,
        code,
        ..base
    }
}

/// A trait that is named after the value, or that sets the attribute to it.
fn fitting_trait(
    traits: &BTreeMap<String, BTreeMap<String, String>>,
    attribute: &str,
    value: &str,
) -> Option<String> {
    let named = trait_name(attribute, value);
    if traits.contains_key(&named) {
        return Some(named);
    }
    let sets = |set: &BTreeMap<String, String>| {
        set.get(attribute).is_some_and(|code| same_value(code, value))
    };
    traits.iter().find(|(_, set)| sets(set)).map(|(name, _)| name.clone())
}

/// The attribute of a class that a characteristic is about.
pub(crate) fn attribute_of(class: &str, characteristic: &str) -> String {
    let own = underscore(class.rsplit("::").next().unwrap_or(class));
    characteristic.strip_prefix(&format!("{own}_")).unwrap_or(characteristic).to_owned()
}

/// The name of the trait for a value of an attribute.
pub(crate) fn trait_name(attribute: &str, value: &str) -> String {
    match value {
        "true" => attribute.to_owned(),
        "false" => format!("not_{attribute}"),
        "present" => format!("with_{attribute}"),
        "nil" | "empty" | "blank" => format!("without_{attribute}"),
        other => other
            .chars()
            .map(|letter| if letter.is_alphanumeric() { letter.to_ascii_lowercase() } else { '_' })
            .collect(),
    }
}

fn same_value(code: &str, value: &str) -> bool {
    code == value || code.trim_start_matches(':').trim_matches(['"', '\'']) == value
}

fn is_boolean(value: &str) -> bool {
    matches!(value, "true" | "false")
}

fn literal(value: &str) -> String {
    let plain = value.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && value.starts_with(|first: char| first.is_ascii_alphabetic());
    match value {
        "true" | "false" | "nil" => value.to_owned(),
        _ if value.parse::<f64>().is_ok() => value.to_owned(),
        _ if plain => format!(":{value}"),
        _ => proctor_ruby::string_code(value),
    }
}

fn missing(
    base: Proposal,
    own: &str,
    strategy: &str,
    (attribute, value): (&str, &str),
    one: &CharacteristicEntry,
) -> Proposal {
    let named = trait_name(attribute, value);
    let mut sketch = format!("FactoryBot.define do\n  factory :{own} do\n");
    for value in &one.values {
        let plain = value.value.as_str().map_or_else(|| value.value.to_string(), str::to_owned);
        sketch += &format!(
            "    trait(:{}) {{ {attribute} {{ {} }} }}\n",
            trait_name(attribute, &plain),
            literal(&plain)
        );
    }
    sketch += "  end\nend\n";
    Proposal {
        factory: own.to_owned(),
        exists: false,
        code: format!("{strategy}(:{own}, :{named})"),
        missing_trait: Some(named),
        sketch: Some(sketch),
        ..base
    }
}
