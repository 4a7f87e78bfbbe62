//! The implementation stage without a model: observe, choose, write, verify, until everything that is written holds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;

use proctor_ruby::spec::{ExampleBody, MethodPlan, SpecPlan, merge};

use crate::observation::{Observation, Workshop, base_of};
use crate::project::{SourceFile, Way};
use crate::sandbox::Sandbox;
use crate::select::{choose, plan};
use crate::verify::{self, CIRCUMSTANCES, Circumstances, OTHER_ORDERS};

/// A spec file as it came out.
#[derive(Debug, Clone, Default)]
pub struct Written {
    /// Path of the source.
    pub source: String,
    /// Path of the spec.
    pub spec: String,
    /// Its text.
    pub text: String,
    /// What is in it.
    pub plan: SpecPlan,
    /// Examples that hold.
    pub examples: usize,
    /// Situations left open.
    pub pending: usize,
    /// Examples that no fault was found for.
    pub unproven: usize,
    /// Examples dropped because they did not hold everywhere.
    pub dropped: usize,
    /// Methods whose blocks were edited by hand and therefore kept.
    pub kept: Vec<String>,
    /// Why nothing could be written.
    pub error: Option<String>,
}

/// One file to be written.
pub struct Task<'a> {
    /// Its place among the targets of the observation.
    pub index: usize,
    /// The source.
    pub file: &'a SourceFile,
    /// How it is loaded.
    pub way: &'a Way,
    /// Path of the spec.
    pub spec: String,
    /// The spec as it is now.
    pub existing: Option<String>,
}

/// How often specs are verified at most, and for how many of these times what was dropped may be replaced by something else.
const ROUNDS: usize = 16;
const REPLACED: usize = 6;

/// Writes the specs of files into the clean copy and verifies them together, until everything that is left holds.
pub fn implement(
    workshop: &Workshop,
    sandbox: &Sandbox,
    tasks: &[Task<'_>],
    observation: &Observation,
    selected: &BTreeSet<String>,
) -> io::Result<Vec<Written>> {
    let mut drafts: Vec<Draft<'_>> =
        tasks.iter().map(|task| Draft::new(task, observation)).collect();
    for draft in &mut drafts {
        draft.write(workshop, selected)?;
    }
    let mut calm = false;
    for round in 0..ROUNDS {
        let how = if calm { OTHER_ORDERS } else { CIRCUMSTANCES };
        if !verify_all(workshop, sandbox, &mut drafts, how)? {
            if calm {
                break;
            }
            calm = true;
            continue;
        }
        calm = false;
        for draft in &mut drafts {
            draft.closing |= round >= REPLACED;
        }
        for draft in drafts.iter_mut().filter(|draft| draft.changed) {
            draft.write(workshop, selected)?;
        }
    }
    Ok(drafts.into_iter().map(|draft| draft.result).collect())
}

/// Runs all drafts under these circumstances, at once; whether anything did not hold.
fn verify_all(
    workshop: &Workshop,
    sandbox: &Sandbox,
    drafts: &mut [Draft<'_>],
    circumstances: &[Circumstances],
) -> io::Result<bool> {
    let specs: Vec<String> = drafts
        .iter()
        .filter(|draft| draft.result.error.is_none())
        .map(|draft| draft.result.spec.clone())
        .collect();
    if specs.is_empty() {
        return Ok(false);
    }
    let names: Vec<&str> = specs.iter().map(String::as_str).collect();
    let verdicts: Vec<verify::Verdict> = std::thread::scope(|scope| {
        let runs: Vec<_> = circumstances
            .iter()
            .map(|how| {
                scope.spawn(|| {
                    verify::run(sandbox, &workshop.programs, &workshop.clean, &names, *how)
                })
            })
            .collect();
        runs.into_iter()
            .map(|run| {
                run.join().unwrap_or_else(|_| Err(io::Error::other("a verification ended early")))
            })
            .collect::<io::Result<_>>()
    })?;
    if verdicts.iter().any(|verdict| verdict.error.is_some()) {
        return blame(workshop, sandbox, drafts);
    }
    let mut bad = false;
    for draft in drafts.iter_mut() {
        let mine = verdicts
            .iter()
            .flat_map(|verdict| &verdict.failed)
            .filter(|(spec, _)| *spec == draft.result.spec);
        let lines: BTreeSet<u64> = mine.map(|(_, line)| *line).collect();
        draft.reject(&lines);
        bad |= draft.changed;
    }
    Ok(bad)
}

/// Something does not load: each draft alone tells which.
fn blame(workshop: &Workshop, sandbox: &Sandbox, drafts: &mut [Draft<'_>]) -> io::Result<bool> {
    let mut found = false;
    for draft in drafts.iter_mut().filter(|draft| draft.result.error.is_none()) {
        let spec = draft.result.spec.clone();
        let verdict =
            verify::run(sandbox, &workshop.programs, &workshop.clean, &[&spec], CIRCUMSTANCES[0])?;
        draft.changed = false;
        if let Some(error) = verdict.error {
            draft.result.error = Some(error);
            draft.withdraw(workshop)?;
            found = true;
        }
    }
    if !found {
        // Alone each loads, together they do not: nothing can be said for any of them.
        for draft in drafts.iter_mut().filter(|draft| draft.result.error.is_none()) {
            draft.result.error = Some("the specs cannot be loaded together".to_owned());
            draft.withdraw(workshop)?;
        }
    }
    Ok(found)
}

/// A file on its way.
struct Draft<'a> {
    task: &'a Task<'a>,
    mine: Observation,
    rejected: BTreeSet<(usize, usize)>,
    /// What was written last.
    chosen: BTreeSet<(usize, usize)>,
    /// Whether nothing may come in any more, only go.
    closing: bool,
    result: Written,
    changed: bool,
}

impl<'a> Draft<'a> {
    fn new(task: &'a Task<'a>, observation: &Observation) -> Self {
        let own: BTreeSet<String> =
            task.file.facts.methods().map(|(class, method)| method.id(&class.name)).collect();
        let result = Written {
            source: task.file.path.clone(),
            spec: task.spec.clone(),
            ..Written::default()
        };
        Self {
            task,
            mine: only(observation, &own),
            rejected: BTreeSet::new(),
            chosen: BTreeSet::new(),
            closing: false,
            result,
            changed: false,
        }
    }

    fn write(&mut self, workshop: &Workshop, selected: &BTreeSet<String>) -> io::Result<()> {
        self.changed = false;
        let path = workshop.clean.join(&self.task.spec);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut choice = choose(&self.mine, &self.rejected);
        if self.closing {
            choice.units = self.chosen.difference(&self.rejected).copied().collect();
        }
        self.chosen = choice.units.iter().copied().collect();
        let mut classes =
            plan(&self.task.file.facts, base_of(self.task.index), &self.mine, &choice, selected);
        let says_something = |method: &MethodPlan| {
            method.contexts.iter().any(|context| !context.examples.is_empty())
        };
        classes.retain(|class| class.methods.iter().any(says_something));
        let result = &mut self.result;
        result.plan = SpecPlan { requires: self.task.way.lines.clone(), classes };
        let bodies = || {
            result
                .plan
                .classes
                .iter()
                .flat_map(|class| &class.methods)
                .flat_map(|method| &method.contexts)
                .flat_map(|context| &context.examples)
        };
        result.pending =
            bodies().filter(|example| matches!(example.body, ExampleBody::Pending(_))).count();
        result.examples = bodies().count() - result.pending;
        result.unproven = bodies()
            .filter(|example| !example.kills && !matches!(example.body, ExampleBody::Pending(_)))
            .count();
        let Some(merged) = merge(self.task.existing.as_deref(), &result.plan) else {
            result.error = Some(format!(
                "{} is not valid Ruby; repair or move it, then run again",
                result.spec
            ));
            return Ok(());
        };
        result.kept = merged.kept;
        result.text = merged.text;
        fs::write(&path, &result.text)
    }

    /// Drops the examples on these lines.
    fn reject(&mut self, lines: &BTreeSet<u64>) {
        let places = example_lines(&self.result.text);
        let units = units_by_place(&self.result.plan, &self.mine);
        let bad: Vec<(usize, usize)> = lines
            .iter()
            .filter_map(|line| places.get(line))
            .filter_map(|place| units.get(place))
            .copied()
            .collect();
        self.changed = !bad.is_empty();
        self.result.dropped += bad.len();
        self.rejected.extend(bad);
    }

    /// Puts the copy back to what it was.
    fn withdraw(&self, workshop: &Workshop) -> io::Result<()> {
        let path = workshop.clean.join(&self.task.spec);
        match &self.task.existing {
            Some(text) => fs::write(path, text),
            None => fs::remove_file(path),
        }
    }
}

/// The part of an observation that concerns some methods.
fn only(observation: &Observation, methods: &BTreeSet<String>) -> Observation {
    let cases: Vec<_> =
        observation.cases.iter().filter(|case| methods.contains(&case.method)).cloned().collect();
    let numbers: BTreeSet<usize> = cases.iter().map(|case| case.number).collect();
    let kills = observation
        .kills
        .iter()
        .map(|(fault, kills)| {
            (*fault, kills.iter().filter(|unit| numbers.contains(&unit.0)).copied().collect())
        })
        .collect();
    Observation { cases, kills, blocked: observation.blocked.clone(), trouble: Vec::new() }
}

/// Where an example stands: its method's block and its place in it.
type Place = (String, usize);

/// Examples by line: those within managed blocks.
fn example_lines(text: &str) -> BTreeMap<u64, Place> {
    let mut found = BTreeMap::new();
    let mut block: Option<(String, usize)> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("# proctor:begin ") {
            block = rest.rsplit_once(' ').map(|(id, _)| (id.to_owned(), 0));
        } else if line.starts_with("# proctor:end ") {
            block = None;
        } else if let (true, Some((id, count))) = (line.starts_with("it \""), block.as_mut()) {
            found.insert(number, (id.clone(), *count));
            *count += 1;
        }
    }
    found
}

/// The observed unit behind each place.
fn units_by_place(plan: &SpecPlan, observation: &Observation) -> BTreeMap<Place, (usize, usize)> {
    let mut found = BTreeMap::new();
    for method in plan.classes.iter().flat_map(|class| &class.methods) {
        let examples = method.contexts.iter().flat_map(|context| &context.examples);
        for (place, example) in examples.enumerate() {
            let ExampleBody::Observed(observed) = &example.body else { continue };
            let unit = observation.cases.iter().find_map(|case| {
                let same = case.method == method.id
                    && case.receiver == observed.receiver
                    && case.args == observed.args
                    && case.block == observed.block
                    && case.setup == observed.setup
                    && case
                        .keys
                        .iter()
                        .map(|(key, value)| (key.clone(), value.clone()))
                        .eq(observed.keys.iter().cloned());
                let index = same.then(|| {
                    case.observations.iter().position(|sight| {
                        sight.kind == observed.kind
                            && sight.matcher == observed.matcher
                            && sight.index == observed.index
                    })
                })??;
                Some((case.number, index))
            });
            if let Some(unit) = unit {
                found.insert((method.id.clone(), place), unit);
            }
        }
    }
    found
}
