//! How parameters are used beyond their own method: through variables of the object, and through methods they are handed on to.

use std::collections::BTreeMap;

use crate::facts::{ClassFacts, FileFacts, Usage};
use crate::usage::{Learned, merge};

/// Carries what is known about variables back to the parameters they come from, and along calls.
pub(super) fn connect(facts: &mut FileFacts, learned: &BTreeMap<(usize, usize), Learned>) {
    for (class_index, class) in facts.classes.iter_mut().enumerate() {
        let mut variables: BTreeMap<String, Usage> = BTreeMap::new();
        for ((owner, _), learned) in learned {
            if *owner == class_index {
                for (variable, usage) in &learned.variables {
                    merge(variables.entry(variable.clone()).or_default(), usage, 0);
                }
            }
        }
        for (place, method) in class.methods.iter_mut().enumerate() {
            let Some(learned) = learned.get(&(class_index, place)) else { continue };
            for param in &mut method.params {
                if let Some(usage) = learned.params.get(&param.name) {
                    merge(&mut param.usage, usage, 0);
                }
                for (variable, source) in &method.stores {
                    if *source == param.name
                        && let Some(usage) = variables.get(variable)
                    {
                        merge(&mut param.usage, usage, 0);
                    }
                }
            }
        }
        for _ in 0..3 {
            flow(class);
        }
    }
}

/// A parameter handed on to another method of the class is used as that one uses it.
fn flow(class: &mut ClassFacts) {
    let own = class.name.rsplit("::").next().unwrap_or(&class.name).to_owned();
    let mut found: Vec<(usize, usize, Usage)> = Vec::new();
    for (method_index, method) in class.methods.iter().enumerate() {
        for (param_index, param) in method.params.iter().enumerate() {
            for target in &param.usage.flows {
                if let Some(usage) = used_as(class, &own, target) {
                    found.push((method_index, param_index, usage.clone()));
                }
            }
        }
    }
    for (method, param, usage) in found {
        merge(&mut class.methods[method].params[param].usage, &usage, 0);
    }
}

/// How the parameter is used that a target (`method:place`, `Class.new:name`) means.
fn used_as<'a>(class: &'a ClassFacts, own: &str, target: &str) -> Option<&'a Usage> {
    let (called, place) = target.rsplit_once(':')?;
    let called = match called.split_once('.') {
        Some((owner, "new")) if owner == own => "new",
        Some(_) => return None,
        None => called,
    };
    let wanted = if called == "new" { "initialize" } else { called };
    // The last definition of a name counts, as it does when it is called.
    let method = class.methods.iter().rev().find(|method| method.name == wanted)?;
    let param = match place.parse::<usize>() {
        Ok(place) => method.params.get(place),
        Err(_) => method.params.iter().find(|param| param.name == place),
    };
    param.map(|param| &param.usage)
}
