//! The implementation stage without a model: observe, choose, write, verify, until everything that is written holds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;

use proctor_ruby::spec::{ExampleBody, MethodPlan, SpecPlan, merge};

use crate::observation::{Observation, ProjectCopies, first_probe_of};
use crate::project::{LoadMethod, SourceFile};
use crate::sandbox::Sandbox;
use crate::select::{choose, plan};
use crate::verify::{
    self, ExampleLocation, RUN_CONDITIONS, RunConditions, VerificationRun,
    conditions_in_other_orders,
};

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
    pub way: &'a LoadMethod,
    /// Path of the spec.
    pub spec: String,
    /// The spec as it is now.
    pub existing: Option<String>,
}

/// How often specs are verified at most, and for how many of these times what was dropped may be replaced by something else.
const MAX_ROUNDS: usize = 16;
const REPLACING_ROUNDS: usize = 6;

/// Writes the specs of files into the clean copy and verifies them together with those that were written before, until
/// everything that is left holds: under other clocks and zones, then in more orders and each file alone.
pub fn implement(
    workshop: &ProjectCopies,
    sandbox: &Sandbox,
    tasks: &[Task<'_>],
    observation: &Observation,
    selected: &BTreeSet<String>,
    earlier: &[String],
) -> io::Result<Vec<Written>> {
    let mut drafts: Vec<Draft<'_>> =
        tasks.iter().map(|task| Draft::new(task, observation)).collect();
    for draft in &mut drafts {
        draft.write(workshop, selected)?;
    }
    let place = VerificationSite { workshop, sandbox, earlier };
    let mut calm = false;
    for round in 0..MAX_ROUNDS {
        if !place.verify(&mut drafts, calm)? {
            if calm {
                break;
            }
            calm = true;
            continue;
        }
        calm = false;
        for draft in &mut drafts {
            draft.closing |= round >= REPLACING_ROUNDS;
        }
        for draft in drafts.iter_mut().filter(|draft| draft.changed) {
            draft.write(workshop, selected)?;
        }
    }
    Ok(drafts.into_iter().map(|draft| draft.result).collect())
}

/// Where drafts are verified, and with which specs of earlier waves.
struct VerificationSite<'a> {
    workshop: &'a ProjectCopies,
    sandbox: &'a Sandbox,
    earlier: &'a [String],
}

impl VerificationSite<'_> {
    fn run(&self, rounds: &[VerificationRun], halve: bool) -> io::Result<verify::RepeatedRuns> {
        let ProjectCopies { programs, clean, .. } = self.workshop;
        verify::run(self.sandbox, programs, clean, rounds, halve)
    }

    /// Runs all drafts; whether anything did not hold. When it is calm, in more orders and each alone.
    fn verify(&self, drafts: &mut [Draft<'_>], calm: bool) -> io::Result<bool> {
        let own = specs_of(drafts);
        if own.is_empty() {
            return Ok(false);
        }
        let all: Vec<String> = self.earlier.iter().chain(&own).cloned().collect();
        let mut rounds: Vec<VerificationRun> = if calm {
            conditions_in_other_orders().map(|how| VerificationRun::new(&all, how)).collect()
        } else {
            RUN_CONDITIONS.iter().map(|how| VerificationRun::new(&all, *how)).collect()
        };
        if calm && all.len() > 1 {
            rounds.extend(
                own.iter().map(|spec| {
                    VerificationRun::new(std::slice::from_ref(spec), RUN_CONDITIONS[0])
                }),
            );
        }
        let verdict = self.run(&rounds, true)?;
        if verdict.error().is_some() {
            return self.withdraw_unloadable_drafts(drafts);
        }
        let failing_examples = failing_examples(drafts, &verdict);
        let mut bad = false;
        for draft in drafts.iter_mut() {
            draft.reject(&failing_examples);
            bad |= draft.changed;
        }
        Ok(bad)
    }

    /// Something does not load: each draft alone tells which; then one after the other together with those that do.
    fn withdraw_unloadable_drafts(&self, drafts: &mut [Draft<'_>]) -> io::Result<bool> {
        let how: RunConditions = RUN_CONDITIONS[0];
        let own = specs_of(drafts);
        let rounds: Vec<VerificationRun> =
            own.iter().map(|spec| VerificationRun::new(std::slice::from_ref(spec), how)).collect();
        let alone = self.run(&rounds, false)?;
        let mut good: Vec<String> = self.earlier.to_vec();
        let open = drafts.iter_mut().filter(|draft| draft.result.error.is_none());
        for (place, draft) in open.enumerate() {
            draft.changed = false;
            let mut error = alone.errors.get(place).cloned().flatten();
            if error.is_none() {
                let mut together = good.clone();
                together.push(draft.result.spec.clone());
                let verdict = self.run(&[VerificationRun::new(&together, how)], false)?;
                error = verdict.error().map(str::to_owned);
            }
            match error {
                None => good.push(draft.result.spec.clone()),
                Some(error) => {
                    draft.result.error = Some(error);
                    draft.withdraw(self.workshop)?;
                }
            }
        }
        Ok(true)
    }
}

fn specs_of(drafts: &[Draft<'_>]) -> Vec<String> {
    let open = drafts.iter().filter(|draft| draft.result.error.is_none());
    open.map(|draft| draft.result.spec.clone()).collect()
}

/// The examples that must go: those that fail by themselves, and those of ours that make others fail.
fn failing_examples(
    drafts: &[Draft<'_>],
    verdict: &verify::RepeatedRuns,
) -> BTreeSet<ExampleLocation> {
    let is_ours = |spot: &ExampleLocation| drafts.iter().any(|draft| draft.unit_at(spot).is_some());
    let mut found = verdict.failed.clone();
    let mut disturbers: BTreeSet<ExampleLocation> = BTreeSet::new();
    for (victim, disturber) in &verdict.disturbed {
        if is_ours(disturber) {
            found.remove(victim);
            disturbers.insert(disturber.clone());
        }
    }
    // Who else fails may be a victim of the same; the next round tells.
    if disturbers.is_empty() { found } else { disturbers }
}

/// A file on its way.
struct Draft<'a> {
    task: &'a Task<'a>,
    mine: Observation,
    rejected: BTreeSet<(usize, usize)>,
    /// What was written last.
    chosen: BTreeSet<(usize, usize)>,
    /// Its examples by line, and the units behind them.
    lines: BTreeMap<u64, ExamplePlace>,
    units: BTreeMap<ExamplePlace, (usize, usize)>,
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
            mine: observation_of_methods(observation, &own),
            rejected: BTreeSet::new(),
            chosen: BTreeSet::new(),
            lines: BTreeMap::new(),
            units: BTreeMap::new(),
            closing: false,
            result,
            changed: false,
        }
    }

    fn write(&mut self, workshop: &ProjectCopies, selected: &BTreeSet<String>) -> io::Result<()> {
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
        let mut classes = plan(
            &self.task.file.facts,
            first_probe_of(self.task.index),
            &self.mine,
            &choice,
            selected,
        );
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
        self.lines = example_lines(&self.result.text);
        self.units = units_by_place(&self.result.plan, &self.mine);
        fs::write(&path, &self.result.text)
    }

    /// The observed unit behind an example, if it is one of ours.
    fn unit_at(&self, (spec, line): &ExampleLocation) -> Option<(usize, usize)> {
        if *spec != self.result.spec {
            return None;
        }
        let place = self.lines.get(line)?;
        self.units.get(place).copied()
    }

    /// Drops these examples.
    fn reject(&mut self, locations: &BTreeSet<ExampleLocation>) {
        let bad: Vec<(usize, usize)> =
            locations.iter().filter_map(|spot| self.unit_at(spot)).collect();
        self.changed = !bad.is_empty();
        self.result.dropped += bad.len();
        self.rejected.extend(bad);
    }

    /// Puts the copy back to what it was.
    fn withdraw(&self, workshop: &ProjectCopies) -> io::Result<()> {
        let path = workshop.clean.join(&self.task.spec);
        match &self.task.existing {
            Some(text) => fs::write(path, text),
            None => fs::remove_file(path),
        }
    }
}

/// The part of an observation that concerns some methods.
fn observation_of_methods(observation: &Observation, methods: &BTreeSet<String>) -> Observation {
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
type ExamplePlace = (String, usize);

/// Examples by line: those within managed blocks.
fn example_lines(text: &str) -> BTreeMap<u64, ExamplePlace> {
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
fn units_by_place(
    plan: &SpecPlan,
    observation: &Observation,
) -> BTreeMap<ExamplePlace, (usize, usize)> {
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
