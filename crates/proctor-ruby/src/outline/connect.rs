//! How parameters are used beyond their own method: through variables of the object, and through methods they are handed on to.

use std::collections::BTreeMap;

use crate::facts::{ClassFacts, FileFacts, Usage};
use crate::source::FastMap;
use crate::usage::{Learned, absorb};

/// Carries what is known about variables back to the parameters they come from, and along calls. `learned` has
/// a list for each class, in the order of its methods.
pub(super) fn connect(facts: &mut FileFacts, learned: Vec<Vec<Learned>>) {
    for (class, learned) in facts.classes.iter_mut().zip(learned) {
        let variables = stored(class, &learned);
        for (method, learned) in class.methods.iter_mut().zip(learned) {
            let mut params = learned.params;
            for place in 0..method.params.len() {
                // Several may have no name; the last of them gets what is known for good.
                let (before, later) = method.params.split_at_mut(place + 1);
                let param = &mut before[place];
                if let Ok(known) = params.binary_search_by(|(name, _)| name.cmp(&param.name)) {
                    let again = later.iter().any(|other| other.name == param.name);
                    let usage = &mut params[known].1;
                    give(
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

fn give(into: &mut Usage, usage: Usage) {
    if *into == Usage::default() {
        *into = usage;
    } else {
        absorb(into, &usage, 0);
    }
}

/// What is known about the variables that some parameter is stored in.
fn stored(class: &ClassFacts, learned: &[Learned]) -> BTreeMap<String, Usage> {
    let mut variables: BTreeMap<String, Usage> = BTreeMap::new();
    for (variable, _) in class.methods.iter().flat_map(|method| &method.stores) {
        if !variables.contains_key(variable) {
            variables.insert(variable.clone(), Usage::default());
        }
    }
    if variables.is_empty() {
        return variables;
    }
    for (variable, usage) in learned.iter().flat_map(|learned| &learned.variables) {
        if let Some(known) = variables.get_mut(variable) {
            absorb(known, usage, 0);
        }
    }
    variables
}

/// A parameter handed on to another method of the class is used as that one uses it; in three steps at most.
fn flow(class: &mut ClassFacts) {
    let mut links = links(class);
    for _ in 0..3 {
        // All of a step see the state before it.
        let found: Vec<(Place, Usage)> = links
            .iter()
            .map(|(to, from)| (*to, class.methods[from.0].params[from.1].usage.clone()))
            .collect();
        let mut news = false;
        for ((method, param), usage) in &found {
            news |= absorb(&mut class.methods[*method].params[*param].usage, usage, 0);
        }
        if !news {
            return;
        }
        links = self::links(class);
    }
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
                if let Some(place) = meant(class, own, target, &by_name).filter(|at| *at != here) {
                    found.push((here, place));
                }
            }
        }
    }
    found
}

/// The parameter that a target (`method:place`, `Class.new:name`) means.
fn meant(
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
