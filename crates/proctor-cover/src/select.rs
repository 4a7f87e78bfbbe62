//! Which observed calls become examples: few, readable, together covering what was reached and noticing what faults can be noticed.
//! Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use proctor_ruby::spec::{ClassPlan, ContextPlan, ExampleBody, ExamplePlan, MethodPlan, Observed};
use proctor_ruby::{Characteristic, FileFacts, MethodFacts};
use proctor_text::{one_line, truncate_with};

use crate::observation::{CallOutcome, Case, Observation};

/// One possible example: a case and one of its sights.
type Unit = (usize, usize);

/// What an example is chosen for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum ExampleGoal {
    /// A probe's answer.
    Seen(u64),
    /// A fault.
    Fault(usize),
    /// A method, by the number of its first case: each gets an example.
    Method(usize),
    /// A message to a collaborator or to the world outside, by the number of the first case in which its method sends it.
    Message(usize),
}

/// Chosen units, and those among them that notice a fault.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    /// In the order of cases.
    pub(crate) units: Vec<Unit>,
    /// Those that notice a fault.
    pub(crate) kill: BTreeSet<Unit>,
}

/// Chooses greedily, then drops what the others make needless.
pub(crate) fn choose(observation: &Observation, rejected: &BTreeSet<Unit>) -> Choice {
    let mut goals: BTreeMap<Unit, BTreeSet<ExampleGoal>> = BTreeMap::new();
    let cases: HashMap<usize, &Case> =
        observation.cases.iter().map(|case| (case.number, case)).collect();
    for case in &observation.cases {
        for index in &case.stable {
            let unit = (case.number, *index);
            if !rejected.contains(&unit) {
                goals.insert(unit, case.seen.iter().map(|key| ExampleGoal::Seen(*key)).collect());
            }
        }
    }
    let mut first_case: HashMap<&str, usize> = HashMap::new();
    for case in &observation.cases {
        first_case.entry(&case.method).or_insert(case.number);
    }
    let mut first_message: HashMap<(&str, &str), usize> = HashMap::new();
    for (unit, goals) in &mut goals {
        let case = cases[&unit.0];
        goals.insert(ExampleGoal::Method(first_case[case.method.as_str()]));
        if let Some(message) = message_of(&case.observations[unit.1]) {
            let first = *first_message.entry((&case.method, message)).or_insert(case.number);
            goals.insert(ExampleGoal::Message(first));
        }
    }
    for (fault, kills) in &observation.kills {
        for unit in kills {
            // Accidental failures are kept only for what they reach.
            if let Some(goals) = goals.get_mut(unit).filter(|_| !cases[&unit.0].noise) {
                goals.insert(ExampleGoal::Fault(*fault));
            }
        }
    }
    // Goals as numbers: the loop below looks at them very often.
    let numbers: BTreeMap<ExampleGoal, usize> = goals
        .values()
        .flatten()
        .copied()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .enumerate()
        .map(|(number, goal)| (goal, number))
        .collect();
    let weights: Vec<f64> = numbers
        .keys()
        .map(|goal| if matches!(goal, ExampleGoal::Seen(_)) { 1.0 } else { 1.2 })
        .collect();
    let mut wanted: Vec<(Unit, f64, Vec<usize>)> = goals
        .iter()
        .map(|(unit, goals)| {
            (
                *unit,
                unit_score(cases[&unit.0], unit.1),
                goals.iter().map(|goal| numbers[goal]).collect(),
            )
        })
        .collect();
    let mut open = vec![true; numbers.len()];
    let mut units = Vec::new();
    loop {
        let gain = |(_, worth, goals): &(Unit, f64, Vec<usize>)| {
            goals.iter().filter(|goal| open[**goal]).map(|goal| weights[*goal]).sum::<f64>() * worth
        };
        let best = wanted
            .iter()
            .map(|one| (gain(one), one.0))
            .max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(&a.1)));
        let Some((_, unit)) = best.filter(|(gain, _)| *gain > 0.0) else { break };
        if let Some(place) = wanted.iter().position(|one| one.0 == unit) {
            let (_, _, goals) = wanted.swap_remove(place);
            for goal in goals {
                open[goal] = false;
            }
        }
        wanted.retain(|(_, _, goals)| goals.iter().any(|goal| open[*goal]));
        units.push(unit);
    }
    units.sort_unstable();
    let kill =
        observation.kills.values().flatten().copied().filter(|unit| units.contains(unit)).collect();
    Choice { units, kill }
}

/// Receiver and message that a sight expects: `gateway).to have_received(:charge`, without the arguments.
fn message_of(sight: &CallOutcome) -> Option<&str> {
    (sight.kind == "call").then(|| sight.matcher.split(").with(").next()).flatten()
}

/// How welcome a unit is: less for long code and accidental failures.
fn unit_score(case: &Case, index: usize) -> f64 {
    let matcher = case.observations.get(index).map_or(0, |sight| sight.matcher.len());
    #[expect(clippy::cast_precision_loss, reason = "lengths of code are small")]
    let length = (usize::try_from(case.cost).unwrap_or(usize::MAX).saturating_add(matcher)) as f64;
    let vague = case.observations.get(index).is_some_and(|sight| {
        sight.matcher.starts_with("be_an_instance_of(")
            && !sight.matcher.contains("have_attributes")
    });
    1.0 / (1.0 + length / 150.0)
        * if case.noise { 0.15 } else { 1.0 }
        * if vague { 0.5 } else { 1.0 }
}

/// The groups of a file's classes, from the chosen units. `base` is where the file's probes start.
pub(crate) fn plan(
    facts: &FileFacts,
    base: u32,
    observation: &Observation,
    choice: &Choice,
    selected: &BTreeSet<String>,
) -> Vec<ClassPlan> {
    let cases: HashMap<usize, &Case> =
        observation.cases.iter().map(|case| (case.number, case)).collect();
    let seen: BTreeSet<u64> =
        choice.units.iter().flat_map(|(number, _)| cases[number].seen.iter().copied()).collect();
    let mut classes = Vec::new();
    for class in &facts.classes {
        let mut methods = Vec::new();
        for method in
            class.public_methods().filter(|method| selected.contains(&method.id(&class.name)))
        {
            let id = method.id(&class.name);
            let units: Vec<(Unit, &Case)> = choice
                .units
                .iter()
                .map(|unit| (*unit, cases[&unit.0]))
                .filter(|(_, case)| case.method == id)
                .collect();
            let contexts = contexts(method, base, &units, choice, &seen);
            let keeps = units.iter().flat_map(|(_, case)| case.keeps.iter().cloned()).collect();
            methods.push(MethodPlan { id, label: label(method), keeps, contexts });
        }
        if !methods.is_empty() {
            classes.push(ClassPlan { name: class.name.clone(), methods });
        }
    }
    classes
}

fn label(method: &MethodFacts) -> String {
    if method.name == "initialize" {
        ".new".to_owned()
    } else if method.module_function {
        format!(".{}", method.name)
    } else {
        method.label()
    }
}

fn contexts(
    method: &MethodFacts,
    base: u32,
    units: &[(Unit, &Case)],
    choice: &Choice,
    seen: &BTreeSet<u64>,
) -> Vec<ContextPlan> {
    // Terminal situations come after the happy ones; within each, source order.
    let mut found: BTreeMap<(bool, usize), ContextPlan> = BTreeMap::new();
    let mut names: Vec<Option<String>> = Vec::new();
    for (unit, case) in units {
        let (name, terminal) = situation(method, base, case);
        let place = names.iter().position(|other| *other == name).unwrap_or_else(|| {
            names.push(name.clone());
            names.len() - 1
        });
        let terminal = terminal || case.observations[unit.1].kind == "raise";
        let order = if name.is_none() { 0 } else { place + 1 };
        let key = (terminal, order);
        let key = found.keys().find(|(_, other)| *other == order).copied().unwrap_or(key);
        let context =
            found.entry(key).or_insert_with(|| ContextPlan { name, examples: Vec::new() });
        context.examples.push(example(case, unit.1, choice.kill.contains(unit)));
    }
    let mut contexts: Vec<ContextPlan> = found.into_values().collect();
    for context in &mut contexts {
        context.examples.sort_by_key(
            |example| matches!(&example.body, ExampleBody::Observed(one) if one.kind == "raise"),
        );
        distinguish(&mut context.examples);
    }
    contexts.sort_by_key(|context| context.name.is_some());
    contexts.extend(pending(method, base, seen));
    merge_same(contexts)
}

/// Contexts of the same name become one.
fn merge_same(contexts: Vec<ContextPlan>) -> Vec<ContextPlan> {
    let mut result: Vec<ContextPlan> = Vec::new();
    for context in contexts {
        match result.iter_mut().find(|other| other.name == context.name) {
            Some(other) => {
                other.examples.extend(context.examples);
                distinguish(&mut other.examples);
            }
            None => result.push(context),
        }
    }
    result
}

fn example(case: &Case, index: usize, kills: bool) -> ExamplePlan {
    let sight: &CallOutcome = &case.observations[index];
    ExamplePlan {
        description: sight.words.clone(),
        kills,
        body: ExampleBody::Observed(Observed {
            method: case
                .method
                .rsplit(['#', '.'])
                .next()
                .map_or_else(String::new, |_| method_name(&case.method)),
            receiver: case.receiver.clone(),
            args: case.args.clone(),
            keys: case.keys.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
            block: case.block.clone(),
            setup: case.setup.clone(),
            kind: sight.kind.clone(),
            matcher: sight.matcher.clone(),
            index: sight.index,
        }),
    }
}

/// The name in `A::B#name` or `A::B.name`; operators may hold both marks.
fn method_name(id: &str) -> String {
    let constant = id.find(['#', '.']).unwrap_or(0);
    id[constant + 1..].to_owned()
}

/// Makes descriptions different by naming the arguments.
fn distinguish(examples: &mut [ExamplePlan]) {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for example in examples.iter() {
        *counts.entry(example.description.clone()).or_default() += 1;
    }
    let mut used: BTreeSet<String> = BTreeSet::new();
    for example in examples.iter_mut() {
        if counts[&example.description] > 1
            && let ExampleBody::Observed(observed) = &example.body
        {
            let mut inputs = observed.args.clone();
            inputs.extend(observed.keys.iter().map(|(key, value)| format!("{key}: {value}")));
            if inputs.is_empty() {
                inputs.push(observed.receiver.clone());
            }
            let text = truncate_with(&one_line(&inputs.join(", ")), 70, "...");
            example.description = format!("{} for {text}", example.description);
        }
        let plain = example.description.clone();
        let mut number = 2;
        while !used.insert(example.description.clone()) {
            example.description = format!("{plain} ({number})");
            number += 1;
        }
    }
}

fn key(base: u32, probe: u32, answer: bool) -> u64 {
    (u64::from(probe + base) << 1) + u64::from(answer)
}

/// The arm of a characteristic that a case took.
fn arm_taken(characteristic: &Characteristic, base: u32, seen: &BTreeSet<u64>) -> Option<usize> {
    let hits: Vec<usize> = (0..characteristic.arms.len())
        .filter(|index| match characteristic.arms[*index].probe {
            Some((probe, Some(answer))) => {
                seen.contains(&key(base, probe, answer))
                    && !seen.contains(&key(base, probe, !answer))
            }
            Some((probe, None)) => seen.contains(&key(base, probe, true)),
            None => false,
        })
        .collect();
    match hits.as_slice() {
        [only] => Some(*only),
        _ => None,
    }
}

/// The words for where a case went, and whether the method ended early there.
fn situation(method: &MethodFacts, base: u32, case: &Case) -> (Option<String>, bool) {
    let seen: BTreeSet<u64> = case.seen.iter().copied().collect();
    let mut taken: Vec<Option<usize>> = Vec::new();
    let mut deepest: Vec<(usize, usize)> = Vec::new();
    for (index, characteristic) in method.characteristics.iter().enumerate() {
        let arm = arm_taken(characteristic, base, &seen);
        taken.push(arm);
        if let Some(arm) = arm {
            deepest.push((index, arm));
        }
    }
    let arm_of = |(index, arm): (usize, usize)| &method.characteristics[index].arms[arm];
    let last =
        deepest.iter().rev().find(|place| arm_of(**place).terminal).or_else(|| deepest.last());
    let Some(last) = last.copied() else { return (None, false) };
    let mut words = vec![arm_of(last).description.clone()];
    // The decision it stands in, if that is more than a guard that was passed.
    let parent = method.characteristics[last.0].parent;
    if let Some(parent) = parent {
        let guard = method.characteristics[parent].arms.iter().any(|arm| arm.terminal);
        if let (false, Some(arm)) = (guard, taken[parent]) {
            words.insert(0, method.characteristics[parent].arms[arm].description.clone());
        }
    }
    (Some(format!("when {}", words.join(" and "))), arm_of(last).terminal)
}

/// Situations that no chosen example brings about.
fn pending(method: &MethodFacts, base: u32, seen: &BTreeSet<u64>) -> Vec<ContextPlan> {
    let mut found = Vec::new();
    for characteristic in &method.characteristics {
        for arm in &characteristic.arms {
            let (Some((probe, answer)), Some(behavior)) = (arm.probe, &arm.behavior) else {
                continue;
            };
            if seen.contains(&key(base, probe, answer.unwrap_or(true))) {
                continue;
            }
            let (from, to) = characteristic.lines;
            let lines =
                if from == to { format!("line {from}") } else { format!("lines {from}-{to}") };
            found.push(ContextPlan {
                name: Some(format!("when {}", arm.description)),
                examples: vec![ExamplePlan {
                    description: behavior.description.clone(),
                    kills: false,
                    body: ExampleBody::Pending(format!(
                        "no input was found that takes this path ({lines})"
                    )),
                }],
            });
        }
    }
    found
}
