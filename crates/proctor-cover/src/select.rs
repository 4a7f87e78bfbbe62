//! Which observed calls become examples: few, readable, together covering what was reached and noticing what faults can be noticed.
//! Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use proctor_ruby::spec::{ClassPlan, ContextPlan, ExampleBody, ExamplePlan, MethodPlan, Observed};
use proctor_ruby::{Arm, Characteristic, Ending, FileFacts, MethodFacts};

use crate::observation::{CallOutcome, Case, Observation};
use crate::titles::{InputNames, distinguish};

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
    /// An answer of a method that asks a question, numbered in the order of their first cases: yes and no are both shown.
    Answer(usize),
    /// A message to a collaborator or to the world outside that a method sends, numbered in the order of their first cases.
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
    let cases: HashMap<usize, &Case> =
        observation.cases.iter().map(|case| (case.number, case)).collect();
    let goals = goals_by_unit(observation, &cases, rejected);
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
        // A call that has an example already needs no further set-up.
        let known = |unit: &Unit| units.iter().any(|(number, _)| *number == unit.0);
        let best = wanted
            .iter()
            .map(|one| (gain(one) * if known(&one.0) { 1.3 } else { 1.0 }, one.0))
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
    leave_out_needless(&mut units, &goals);
    add_results(&mut units, &cases, rejected);
    leave_out_plain_constructors(&mut units, &cases, &goals);
    units.sort_unstable();
    // The message of a rule is gone when the rule is: a fault that is not tried, since rules stand outside of methods.
    let is_rule = |unit: &Unit| is_rule(&cases[&unit.0].observations[unit.1]);
    let shows_rule: Vec<Unit> = units.iter().copied().filter(is_rule).collect();
    let found = observation.kills.values().flatten().copied();
    let kill = found.chain(shows_rule).filter(|unit| units.contains(unit)).collect();
    Choice { units, kill }
}

/// Drops what the others make needless: all that it was chosen for, others that were chosen show as well.
fn leave_out_needless(units: &mut Vec<Unit>, goals: &BTreeMap<Unit, BTreeSet<ExampleGoal>>) {
    let mut place = 0;
    while place < units.len() {
        let own = &goals[&units[place]];
        let others = || units.iter().enumerate().filter(|(other, _)| *other != place);
        let shown = own.iter().all(|goal| others().any(|(_, unit)| goals[unit].contains(goal)));
        if shown {
            units.remove(place);
        } else {
            place += 1;
        }
    }
}

/// An example that only says that `new` makes an object shows nothing if other examples make one.
fn leave_out_plain_constructors(
    units: &mut Vec<Unit>,
    cases: &HashMap<usize, &Case>,
    goals: &BTreeMap<Unit, BTreeSet<ExampleGoal>>,
) {
    let class =
        |unit: &Unit| cases[&unit.0].method.split('#').next().unwrap_or_default().to_owned();
    let is_constructor = |unit: &Unit| cases[&unit.0].method.ends_with("#initialize");
    let used: BTreeSet<String> = units
        .iter()
        .filter(|unit| !is_constructor(unit) && cases[&unit.0].method.contains('#'))
        .map(class)
        .collect();
    let notices =
        |unit: &Unit| goals[unit].iter().any(|goal| matches!(goal, ExampleGoal::Fault(_)));
    let many = |unit: &Unit| units_of(units, cases, &cases[&unit.0].method) > 1;
    let needless: BTreeSet<Unit> = units
        .iter()
        .filter(|unit| {
            is_constructor(unit) && !notices(unit) && !many(unit) && used.contains(&class(unit))
        })
        .copied()
        .collect();
    units.retain(|unit| !needless.contains(unit));
}

fn units_of(units: &[Unit], cases: &HashMap<usize, &Case>, method: &str) -> usize {
    units.iter().filter(|unit| cases[&unit.0].method == method).count()
}

/// What each usable unit could be chosen for.
fn goals_by_unit(
    observation: &Observation,
    cases: &HashMap<usize, &Case>,
    rejected: &BTreeSet<Unit>,
) -> BTreeMap<Unit, BTreeSet<ExampleGoal>> {
    let mut goals: BTreeMap<Unit, BTreeSet<ExampleGoal>> = BTreeMap::new();
    // What fails by accident, on input that nobody would give, shows nothing that is meant.
    for case in observation.cases.iter().filter(|case| !case.noise) {
        let units = || case.stable.iter().map(|index| (case.number, *index));
        let usable = |unit: &Unit| !rejected.contains(unit);
        let is_message = |unit: &Unit| message_of(&case.observations[unit.1]).is_some();
        let has_result = units().filter(usable).any(|unit| !is_message(&unit));
        for unit in units().filter(usable) {
            // That a message was sent is shown beside the result, never instead of it.
            let seen = case.seen.iter().filter(|_| !(has_result && is_message(&unit)));
            goals.insert(unit, seen.map(|key| ExampleGoal::Seen(*key)).collect());
        }
    }
    let mut first_case: HashMap<&str, usize> = HashMap::new();
    for case in &observation.cases {
        first_case.entry(&case.method).or_insert(case.number);
    }
    let killing: BTreeSet<Unit> = observation.kills.values().flatten().copied().collect();
    let mut first_message: HashMap<(&str, &str), usize> = HashMap::new();
    let mut first_answer: HashMap<(&str, &str), usize> = HashMap::new();
    for (unit, goals) in &mut goals {
        let case = cases[&unit.0];
        let message = message_of(&case.observations[unit.1]);
        if message.is_none() {
            goals.insert(ExampleGoal::Method(first_case[case.method.as_str()]));
        }
        let answer = &case.observations[unit.1].matcher;
        if case.method.ends_with('?') && matches!(answer.as_str(), "be(true)" | "be(false)") {
            let number = first_answer.len();
            let number = *first_answer.entry((&case.method, answer)).or_insert(number);
            goals.insert(ExampleGoal::Answer(number));
        }
        // A message that no fault takes away shows nothing; what is stored or sent does.
        let lasting = case.observations[unit.1].kind != "call";
        if let Some(message) = message.filter(|_| lasting || killing.contains(unit)) {
            let number = first_message.len();
            let number = *first_message.entry((&case.method, message)).or_insert(number);
            goals.insert(ExampleGoal::Message(number));
        }
    }
    for (fault, kills) in &observation.kills {
        for unit in kills {
            if let Some(goals) = goals.get_mut(unit) {
                goals.insert(ExampleGoal::Fault(*fault));
            }
        }
    }
    goals
}

/// Where only a message is expected of a way through a method, what comes of it is expected as well.
fn add_results(units: &mut Vec<Unit>, cases: &HashMap<usize, &Case>, rejected: &BTreeSet<Unit>) {
    let is_message = |unit: &Unit| message_of(&cases[&unit.0].observations[unit.1]).is_some();
    let way = |unit: &Unit| (&cases[&unit.0].method, &cases[&unit.0].seen);
    let messages: Vec<Unit> = units.iter().copied().filter(is_message).collect();
    for message in messages {
        if units.iter().any(|unit| !is_message(unit) && way(unit) == way(&message)) {
            continue;
        }
        let case = cases[&message.0];
        let mut results = case.stable.iter().map(|index| (case.number, *index));
        let result = results.find(|unit| !is_message(unit) && !rejected.contains(unit));
        units.extend(result);
    }
}

/// What a sight expects beside a result: a message (`gateway).to have_received(:charge`, without the arguments), or what is stored
/// or sent.
fn message_of(sight: &CallOutcome) -> Option<&str> {
    let stored = matches!(sight.kind.as_str(), "effect" | "change" | "record") && !is_rule(sight);
    (stored || sight.kind == "call").then(|| sight.matcher.split(").with(").next()).flatten()
}

/// Whether a sight expects what the rules of a stored object say.
fn is_rule(sight: &CallOutcome) -> bool {
    sight.kind == "record" && sight.matcher.contains(".errors[")
}

/// How welcome a unit is: less for long code.
fn unit_score(case: &Case, index: usize) -> f64 {
    let matcher = case.observations.get(index).map_or(0, |sight| sight.matcher.len());
    #[expect(clippy::cast_precision_loss, reason = "lengths of code are small")]
    let length = (usize::try_from(case.cost).unwrap_or(usize::MAX).saturating_add(matcher)) as f64;
    let vague = case.observations.get(index).is_some_and(|sight| {
        sight.matcher.starts_with("be_an_instance_of(")
            && !sight.matcher.contains("have_attributes")
    });
    1.0 / (1.0 + length / 150.0) * if vague { 0.5 } else { 1.0 }
}

/// The groups of a file's classes, from the chosen units. `base` is where the file's probes start.
pub(crate) fn plan(
    facts: &FileFacts,
    base: u32,
    observation: &Observation,
    choice: &Choice,
    wanted: &WantedMethods,
) -> Vec<ClassPlan> {
    let cases: HashMap<usize, &Case> =
        observation.cases.iter().map(|case| (case.number, case)).collect();
    let seen: BTreeSet<u64> =
        choice.units.iter().flat_map(|(number, _)| cases[number].seen.iter().copied()).collect();
    let mut classes = Vec::new();
    for class in &facts.classes {
        let mut methods = Vec::new();
        let made = class.methods.iter().find(|method| method.name == "initialize");
        let constructor = made.map_or(&[][..], |method| &method.params);
        for method in class
            .public_methods()
            .filter(|method| wanted.selected.contains(&method.id(&class.name)))
        {
            let id = method.id(&class.name);
            let units: Vec<(Unit, &Case)> = choice
                .units
                .iter()
                .map(|unit| (*unit, cases[&unit.0]))
                .filter(|(_, case)| case.method == id)
                .filter(|(_, case)| !wanted.is_disabled(behavior_of(method, base, case)))
                .collect();
            let names = InputNames { method: &method.params, constructor };
            let mut contexts = contexts(method, base, &units, choice, &seen, &names);
            contexts.retain(|context| {
                context.examples.iter().all(|example| {
                    !matches!(example.body, ExampleBody::Pending(_))
                        || !wanted.is_disabled(&example.description)
                })
            });
            let keeps = units.iter().flat_map(|(_, case)| case.keeps.iter().cloned()).collect();
            methods.push(MethodPlan { id, label: label(method), keeps, contexts, plain: false });
        }
        if !methods.is_empty() {
            classes.push(ClassPlan { name: class.name.clone(), methods });
        }
    }
    classes
}

/// What is to be written: the selected methods, without behaviours that somebody switched off.
#[derive(Debug, Clone, Default)]
pub struct WantedMethods {
    /// Selected methods, as `Class#name`.
    pub selected: BTreeSet<String>,
    /// Descriptions of behaviours that are not enabled.
    pub disabled: BTreeSet<String>,
}

impl WantedMethods {
    fn is_disabled(&self, behavior: &str) -> bool {
        self.disabled.contains(behavior)
    }
}

/// What the method does on the way that a case took, as the bank of behaviours has it.
fn behavior_of<'m>(method: &'m MethodFacts, base: u32, case: &Case) -> &'m str {
    let seen: BTreeSet<u64> = case.seen.iter().copied().collect();
    let arms = method.characteristics.iter().filter_map(|characteristic| {
        arm_taken(characteristic, base, &seen).map(|arm| &characteristic.arms[arm])
    });
    let mut with_behavior = arms.filter(|arm| arm.behavior.is_some()).collect::<Vec<_>>();
    with_behavior.sort_by_key(|arm| !arm.terminal);
    let behavior = with_behavior.first().and_then(|arm| arm.behavior.as_ref());
    behavior.map_or(method.outcome.description.as_str(), |one| one.description.as_str())
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
    names: &InputNames<'_>,
) -> Vec<ContextPlan> {
    // Terminal situations come after the happy ones; within each, source order.
    let mut found: BTreeMap<(bool, usize), ContextPlan> = BTreeMap::new();
    let mut situations: Vec<Option<String>> = Vec::new();
    for (unit, case) in units {
        let (name, terminal) = situation(method, base, case);
        let place = situations.iter().position(|other| *other == name).unwrap_or_else(|| {
            situations.push(name.clone());
            situations.len() - 1
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
        distinguish(&mut context.examples, names);
    }
    contexts.sort_by_key(|context| context.name.is_some());
    contexts.extend(pending(method, base, seen));
    merge_same(contexts, names)
}

/// Contexts of the same name become one.
fn merge_same(contexts: Vec<ContextPlan>, names: &InputNames<'_>) -> Vec<ContextPlan> {
    let mut result: Vec<ContextPlan> = Vec::new();
    for context in contexts {
        match result.iter_mut().find(|other| other.name == context.name) {
            Some(other) => {
                other.examples.extend(context.examples);
                distinguish(&mut other.examples, names);
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
        let leaves = |arm: &Arm| matches!(arm.ending, Ending::Exit | Ending::Raise | Ending::Next);
        let guard = method.characteristics[parent].arms.iter().any(leaves);
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
                        "no input was found for which {} ({lines})",
                        arm.description
                    )),
                }],
            });
        }
    }
    found
}
