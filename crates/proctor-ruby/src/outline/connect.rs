//! How parameters are used beyond their own method: through variables of the object, and through methods they are handed on to.

use crate::facts::{ClassFacts, FileFacts, Usage, Uses};
use crate::source::{FastMap, FastSet};
use crate::usage::{DELEGATED, MethodUsage, absorb};

/// Carries what is known about variables back to the parameters they come from, and along calls. `learned` has
/// a list for each class, in the order of its methods.
pub(super) fn connect(facts: &mut FileFacts, learned: Vec<Vec<MethodUsage>>) {
    for (class, learned) in facts.classes.iter_mut().zip(learned) {
        let variables = stored(class, &learned);
        class.delegated = delegated(class, &learned);
        class.attributes = attributes(class, &learned);
        for (method, learned) in class.methods.iter_mut().zip(learned) {
            let mut values = learned.values;
            for place in 0..method.params.len() {
                // Several may have no name; the last of them gets what is known for good.
                let (before, later) = method.params.split_at_mut(place + 1);
                let param = &mut before[place];
                if let Ok(known) = values.binary_search_by(|(name, _)| name.cmp(&param.name)) {
                    let again = later.iter().any(|other| other.name == param.name);
                    let usage = &mut values[known].1;
                    add_usage(
                        &mut param.usage,
                        if again { usage.clone() } else { std::mem::take(usage) },
                    );
                }
                for (variable, source) in &method.stores {
                    if *source == param.name
                        && let Some(usage) = variables.get(variable.as_str())
                    {
                        absorb(&mut param.usage, usage, 0);
                    }
                }
            }
        }
        flow(class);
    }
}

fn add_usage(into: &mut Usage, usage: Usage) {
    if *into == Usage::default() {
        *into = usage;
    } else {
        absorb(into, &usage, 0);
    }
}

/// How attributes are used whose values may be assigned from outside.
fn attributes(class: &ClassFacts, learned: &[MethodUsage]) -> Uses {
    let mut all = Uses::default();
    if class.readers.is_empty() {
        return all;
    }
    for (name, usage) in learned.iter().flat_map(|learned| &learned.values) {
        let Some(reader) = name.strip_prefix('@') else { continue };
        if class.readers.iter().any(|known| known == reader) && *usage != Usage::default() {
            all.add_name(reader);
            if let Some(known) = all.get_mut(reader) {
                absorb(known, usage, 0);
            }
        }
    }
    all
}

/// What is asked of the object that a delegator stands for: calls of methods that the class does not define.
fn delegated(class: &ClassFacts, learned: &[MethodUsage]) -> Usage {
    let mut all = Usage::default();
    if !class.may_delegate() {
        return all;
    }
    for (name, usage) in learned.iter().flat_map(|learned| &learned.values) {
        if name == DELEGATED {
            absorb(&mut all, usage, 0);
        }
    }
    let is_own = |name: &str| class.methods.iter().any(|method| method.name == name);
    let calls = all.calls.iter().filter(|(name, _)| !is_own(name));
    Usage {
        calls: calls.map(|(name, usage)| (name.to_owned(), usage.clone())).collect(),
        ..Usage::default()
    }
}

/// What is known about the variables that some parameter is stored in.
fn stored(class: &ClassFacts, learned: &[MethodUsage]) -> Uses {
    let mut variables = Uses::default();
    for (variable, _) in class.methods.iter().flat_map(|method| &method.stores) {
        variables.add_name(variable);
    }
    if variables.is_empty() {
        return variables;
    }
    for (value, usage) in learned.iter().flat_map(|learned| &learned.values) {
        if let Some(known) = variables.get_mut(value) {
            absorb(known, usage, 0);
        }
    }
    variables
}

/// A parameter handed on to another method of the class is used as that one uses it; in three steps at most.
fn flow(class: &mut ClassFacts) {
    let mut links = links(class);
    for _ in 0..3 {
        // All of a step see the state before it, so what changes in it is copied first.
        let changing: FastSet<Place> = links.iter().map(|(to, _)| *to).collect();
        let before: FastMap<Place, Usage> = links
            .iter()
            .filter(|(_, from)| changing.contains(from))
            .map(|(_, from)| (*from, usage_at(class, *from).clone()))
            .collect();
        let mut news = false;
        for (to, from) in links {
            if let Some(usage) = before.get(&from) {
                news |= absorb(usage_at(class, to), usage, 0);
            } else {
                let usage = std::mem::take(usage_at(class, from));
                news |= absorb(usage_at(class, to), &usage, 0);
                *usage_at(class, from) = usage;
            }
        }
        if !news {
            return;
        }
        links = self::links(class);
    }
}

fn usage_at(class: &mut ClassFacts, (method, param): Place) -> &mut Usage {
    &mut class.methods[method].params[param].usage
}

/// Method and parameter.
type Place = (usize, usize);

/// Which parameter is used as which other one.
fn links(class: &ClassFacts) -> Vec<(Place, Place)> {
    let mut params = class.methods.iter().flat_map(|method| &method.params);
    if params.all(|param| param.usage.flows.is_empty()) {
        return Vec::new();
    }
    let own = class.name.rsplit("::").next().unwrap_or(&class.name);
    // The last definition of a name counts, as it does when it is called.
    let by_name: FastMap<&str, usize> = class
        .methods
        .iter()
        .enumerate()
        .map(|(place, method)| (method.name.as_str(), place))
        .collect();
    let mut found = Vec::new();
    for (method_index, method) in class.methods.iter().enumerate() {
        for (param_index, param) in method.params.iter().enumerate() {
            for target in &param.usage.flows {
                let here = (method_index, param_index);
                if let Some(place) =
                    target_parameter(class, own, target, &by_name).filter(|at| *at != here)
                {
                    found.push((here, place));
                }
            }
        }
    }
    found
}

/// The parameter that a target (`method:place`, `Class.new:name`) means.
fn target_parameter(
    class: &ClassFacts,
    own: &str,
    target: &str,
    by_name: &FastMap<&str, usize>,
) -> Option<Place> {
    let (called, place) = target.rsplit_once(':')?;
    let called = match called.split_once('.') {
        Some((owner, "new")) if owner == own => "new",
        Some(_) => return None,
        None => called,
    };
    let wanted = if called == "new" { "initialize" } else { called };
    let index = *by_name.get(wanted)?;
    let params = &class.methods[index].params;
    let param = match place.parse::<usize>() {
        Ok(place) => (place < params.len()).then_some(place),
        Err(_) => params.iter().position(|param| param.name == place),
    };
    Some((index, param?))
}
