//! The implementation stage without a model: observe, choose, write, verify, until everything that is written holds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;

use proctor_ruby::spec::{ExampleBody, SpecPlan, merge};

use crate::observation::{Observation, Workshop, base_of};
use crate::project::{SourceFile, Way};
use crate::sandbox::Sandbox;
use crate::select::{choose, plan};
use crate::verify::{self, CIRCUMSTANCES};

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
    /// Examples dropped because they did not hold everywhere.
    pub dropped: usize,
    /// Methods whose blocks were edited by hand and therefore kept.
    pub kept: Vec<String>,
    /// Why nothing could be written.
    pub error: Option<String>,
}

/// Writes the spec of one file into the clean copy, verified.
pub fn implement(
    workshop: &Workshop,
    sandbox: &Sandbox,
    (index, file): (usize, &SourceFile),
    (way, spec): (&Way, &str),
    existing: Option<&str>,
    observation: &Observation,
    selected: &BTreeSet<String>,
) -> io::Result<Written> {
    let own: BTreeSet<String> = file.facts.methods().map(|(class, method)| method.id(&class.name)).collect();
    let mine = only(observation, &own);
    let mut rejected: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut result = Written { source: file.path.clone(), spec: spec.to_owned(), ..Written::default() };
    let path = workshop.clean.join(spec);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    for _round in 0..6 {
        let choice = choose(&mine, &rejected);
        let mut classes = plan(&file.facts, base_of(index), &mine, &choice, selected);
        classes.retain(|class| class.methods.iter().any(|method| method.contexts.iter().any(|context| !context.examples.is_empty())));
        result.plan = SpecPlan { requires: way.lines.clone(), classes };
        let Some(merged) = merge(existing, &result.plan) else {
            result.error = Some(format!("{spec} is not valid Ruby; repair or move it, then run again"));
            return Ok(result);
        };
        result.kept = merged.kept;
        result.text = merged.text;
        fs::write(&path, &result.text)?;
        let lines = example_lines(&result.text);
        let units = units_by_place(&result.plan, &mine);
        let mut bad = BTreeSet::new();
        for how in CIRCUMSTANCES {
            let verdict = verify::run(sandbox, &workshop.programs, &workshop.clean, spec, *how)?;
            if let Some(error) = verdict.error {
                result.error = Some(error);
                return Ok(result);
            }
            result.examples = verdict.passed;
            result.pending = verdict.pending;
            bad.extend(verdict.failed.iter().filter_map(|line| lines.get(line)).filter_map(|place| units.get(place)).copied());
        }
        if bad.is_empty() {
            return Ok(result);
        }
        result.dropped += bad.len();
        rejected.extend(bad);
    }
    Ok(result)
}

/// The part of an observation that concerns some methods.
fn only(observation: &Observation, methods: &BTreeSet<String>) -> Observation {
    let cases: Vec<_> = observation.cases.iter().filter(|case| methods.contains(&case.method)).cloned().collect();
    let numbers: BTreeSet<usize> = cases.iter().map(|case| case.number).collect();
    let kills = observation
        .kills
        .iter()
        .map(|(fault, kills)| (*fault, kills.iter().filter(|unit| numbers.contains(&unit.0)).copied().collect()))
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
                    && case.keys.iter().map(|(key, value)| (key.clone(), value.clone())).eq(observed.keys.iter().cloned());
                let index = same.then(|| {
                    case.observations.iter().position(|sight| {
                        sight.kind == observed.kind && sight.matcher == observed.matcher && sight.index == observed.index
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
