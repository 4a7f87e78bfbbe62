//! The implementation stage without a model: observe, choose, write, verify, until everything that is written holds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use proctor_ruby::spec::{ClassPlan, ExampleBody, MethodPlan, SpecPlan, Style, merge};
use proctor_ruby::underscore;
use serde::{Deserialize, Serialize};

use crate::observation::{Observation, ProjectCopies, first_probe_of};
use crate::project::{LoadMethod, SourceFile, relative_require};
use crate::sandbox::Sandbox;
use crate::select::{WantedMethods, choose, plan};
use crate::spec_style::SpecStyle;
use crate::verify::{
    self, ExampleLocation, RUN_CONDITIONS, RunConditions, VerificationRun,
    conditions_in_other_orders,
};

/// An example that was observed but is not in the spec, since it did not hold there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedExample {
    /// `Class#name`
    pub method: String,
    /// Its description.
    pub description: String,
    /// What happened instead, and under which circumstances.
    pub reason: String,
}

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
    pub dropped: Vec<DroppedExample>,
    /// Lines that load what examples need and the source itself does not load.
    pub added_requires: Vec<String>,
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
    /// How it is written.
    pub style: &'a Style,
    /// Constants of the project, each with the file that defines it, relative to the root.
    pub constants: &'a BTreeMap<String, String>,
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
    wanted: &WantedMethods,
    earlier: &[String],
) -> io::Result<Vec<Written>> {
    let mut drafts: Vec<Draft<'_>> =
        tasks.iter().map(|task| Draft::new(task, observation, wanted)).collect();
    for draft in &mut drafts {
        draft.write(workshop, wanted)?;
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
            draft.write(workshop, wanted)?;
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
        let mut failing_examples = failing_examples(drafts, &verdict);
        let mut bad = false;
        for draft in drafts.iter_mut() {
            draft.changed = draft.require_what_is_missing(&mut failing_examples);
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
                Some(error) if draft.mend_loading(&error) => draft.changed = true,
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

/// The examples that must go, with the reason: those that fail by themselves, and those of ours that make others fail.
fn failing_examples(
    drafts: &[Draft<'_>],
    verdict: &verify::RepeatedRuns,
) -> BTreeMap<ExampleLocation, String> {
    let is_ours = |spot: &ExampleLocation| drafts.iter().any(|draft| draft.unit_at(spot).is_some());
    let reason = |spot: &ExampleLocation| {
        verdict.reason(spot).unwrap_or("fails under plain rspec").to_owned()
    };
    let mut found: BTreeMap<ExampleLocation, String> =
        verdict.failed.iter().map(|spot| (spot.clone(), reason(spot))).collect();
    let mut disturbers: BTreeMap<ExampleLocation, String> = BTreeMap::new();
    for (victim, disturber) in &verdict.disturbed {
        if is_ours(disturber) {
            found.remove(victim);
            let words = format!(
                "{}:{} fails when it runs after this one: {}",
                victim.0,
                victim.1,
                reason(victim)
            );
            disturbers.insert(disturber.clone(), words);
        }
    }
    // Who else fails may be a victim of the same; the next round tells.
    if disturbers.is_empty() { found } else { disturbers }
}

/// Puts the class that a file is named after first: it is found by its name alone, and the others of the file are there with it.
fn begin_with_namesake(classes: &mut Vec<ClassPlan>, file: &SourceFile) {
    let stem = Path::new(&file.path).file_stem().unwrap_or_default().to_string_lossy();
    let is_namesake = |name: &str| underscore(name.rsplit("::").next().unwrap_or(name)) == *stem;
    let Some(main) = file.facts.classes.iter().find(|class| is_namesake(&class.name)) else {
        return;
    };
    let lies_inside = |name: &str| {
        name.strip_prefix(main.name.as_str()).is_some_and(|rest| rest.starts_with("::"))
    };
    if let Some(place) = classes.iter().position(|class| class.name == main.name) {
        classes[..=place].rotate_right(1);
    } else if classes.first().is_some_and(|class| !lies_inside(&class.name)) {
        classes.insert(0, ClassPlan { name: main.name.clone(), methods: Vec::new() });
    }
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
    /// Methods whose examples stand for themselves, since one failed that shares its set-up with others.
    plain: BTreeSet<String>,
    /// What the spec requires because nothing else does.
    added_requires: BTreeSet<String>,
    /// What it cannot require: with these lines it did not load.
    refused_requires: BTreeSet<String>,
    /// Whether nothing may come in any more, only go.
    closing: bool,
    result: Written,
    changed: bool,
}

impl<'a> Draft<'a> {
    fn new(task: &'a Task<'a>, observation: &Observation, wanted: &WantedMethods) -> Self {
        // Constructors are observed whether they are selected or not; only what is selected may stand in the spec.
        let own: BTreeSet<String> = task
            .file
            .facts
            .methods()
            .map(|(class, method)| method.id(&class.name))
            .filter(|id| wanted.selected.contains(id))
            .collect();
        let result = Written {
            source: task.file.path.clone(),
            spec: task.spec.clone(),
            ..Written::default()
        };
        Self {
            task,
            mine: observation_of_methods(observation, &own),
            plain: BTreeSet::new(),
            added_requires: BTreeSet::new(),
            refused_requires: BTreeSet::new(),
            rejected: BTreeSet::new(),
            chosen: BTreeSet::new(),
            lines: BTreeMap::new(),
            units: BTreeMap::new(),
            closing: false,
            result,
            changed: false,
        }
    }

    fn write(&mut self, workshop: &ProjectCopies, wanted: &WantedMethods) -> io::Result<()> {
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
            wanted,
        );
        let says_something = |method: &MethodPlan| {
            method.contexts.iter().any(|context| !context.examples.is_empty())
        };
        classes.retain(|class| class.methods.iter().any(says_something));
        begin_with_namesake(&mut classes, self.task.file);
        let result = &mut self.result;
        let (features, files): (Vec<String>, Vec<String>) = self
            .added_requires
            .iter()
            .cloned()
            .partition(|line| !line.starts_with("require_relative"));
        let own = self.task.way.lines.iter().cloned();
        let style = SpecStyle::of(&workshop.clean, &self.task.spec);
        let requires = style.required(features.into_iter().chain(own).chain(files).collect());
        result.plan = SpecPlan { requires, classes, style: self.task.style.clone() };
        for method in result.plan.classes.iter_mut().flat_map(|class| &mut class.methods) {
            method.plain = self.plain.contains(&method.id);
        }
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
        result.text =
            if self.task.existing.is_none() { style.applied(&merged.text) } else { merged.text };
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

    /// Examples that fail only because nothing loads what they name, be it of Ruby's own library or another file of the
    /// project: the spec requires it instead of losing them.
    fn require_what_is_missing(&mut self, failing: &mut BTreeMap<ExampleLocation, String>) -> bool {
        let ours: Vec<ExampleLocation> =
            failing.keys().filter(|spot| self.unit_at(spot).is_some()).cloned().collect();
        let before = self.added_requires.len();
        for spot in ours {
            let Some(reason) = failing.get(&spot) else { continue };
            let Some(line) = self.missing_require(reason) else { continue };
            if self.added_requires.insert(line.clone()) {
                self.result.added_requires.push(line.clone());
                failing.retain(|spot, reason| {
                    self.unit_at(spot).is_none()
                        || self.missing_require(reason).as_ref() != Some(&line)
                });
            }
        }
        self.added_requires.len() > before
    }

    /// The line that would load what a failure says is not there.
    fn missing_require(&self, reason: &str) -> Option<String> {
        let file = missing_constant(reason).and_then(|name| self.task.constants.get(name));
        let line = match file {
            Some(file) => Some(relative_require(&self.task.spec, file)),
            None => missing_feature(reason).map(|feature| format!("require \"{feature}\"")),
        };
        line.filter(|line| !self.refused_requires.contains(line))
    }

    /// The spec does not load: it requires what is missing, or does without what was added to it. Examples that need that go.
    fn mend_loading(&mut self, error: &str) -> bool {
        if let Some(line) = self.missing_require(error)
            && self.added_requires.insert(line.clone())
        {
            self.result.added_requires.push(line);
            return true;
        }
        let mut added = std::mem::take(&mut self.added_requires);
        let any = !added.is_empty();
        self.result.added_requires.retain(|line| !added.contains(line));
        self.refused_requires.append(&mut added);
        any
    }

    /// Drops these examples; those that share their set-up with others are first written without that.
    fn reject(&mut self, failing: &BTreeMap<ExampleLocation, String>) {
        let tried = self.plain.clone();
        for (spot, reason) in failing {
            let Some(unit) = self.unit_at(spot) else { continue };
            self.changed = true;
            let (method, place) = &self.lines[&spot.1];
            if !tried.contains(method) {
                self.plain.insert(method.clone());
                continue;
            }
            self.rejected.insert(unit);
            let plans = self.result.plan.classes.iter().flat_map(|class| &class.methods);
            let examples = plans
                .filter(|plan| plan.id == *method)
                .flat_map(|plan| plan.contexts.iter().flat_map(|context| &context.examples));
            let description =
                examples.map(|example| example.description.clone()).nth(*place).unwrap_or_default();
            self.result.dropped.push(DroppedExample {
                method: method.clone(),
                description,
                reason: reason.clone(),
            });
        }
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
    Observation { cases, kills, ..Observation::default() }
}

/// Words of an error, and the feature of Ruby's own library that would have prevented it.
const FEATURES: &[(&str, &str)] = &[
    ("undefined method `to_json'", "json"),
    ("undefined method `to_yaml'", "yaml"),
    ("undefined method `to_set'", "set"),
    ("undefined method `to_d'", "bigdecimal/util"),
    ("undefined method `shellsplit'", "shellwords"),
    ("undefined method `shellescape'", "shellwords"),
    ("undefined method `iso8601'", "time"),
    ("undefined method `xmlschema'", "time"),
    ("undefined method `httpdate'", "time"),
    ("undefined method `parse' for Time:Class", "time"),
    ("undefined method `strptime' for Time:Class", "time"),
];

/// Constants of Ruby's own library, with the feature that defines each.
pub(crate) const FEATURES_BY_CONSTANT: &[(&str, &str)] = &[
    ("Base64", "base64"),
    ("Benchmark", "benchmark"),
    ("BigDecimal", "bigdecimal"),
    ("CGI", "cgi"),
    ("CSV", "csv"),
    ("Date", "date"),
    ("DateTime", "date"),
    ("Digest", "digest"),
    ("ERB", "erb"),
    ("Etc", "etc"),
    ("FileUtils", "fileutils"),
    ("Forwardable", "forwardable"),
    ("JSON", "json"),
    ("Logger", "logger"),
    ("Net", "net/http"),
    ("OpenStruct", "ostruct"),
    ("Pathname", "pathname"),
    ("Psych", "yaml"),
    ("SecureRandom", "securerandom"),
    ("Set", "set"),
    ("Shellwords", "shellwords"),
    ("Singleton", "singleton"),
    ("StringIO", "stringio"),
    ("StringScanner", "strscan"),
    ("Tempfile", "tempfile"),
    ("Timeout", "timeout"),
    ("URI", "uri"),
    ("YAML", "yaml"),
    ("Zlib", "zlib"),
];

/// The constant that an error says is not there.
fn missing_constant(reason: &str) -> Option<&str> {
    let (_, rest) = reason.split_once("uninitialized constant ")?;
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    rest.split(|letter: char| !is_part(letter)).next()
}

/// What a failed example lacks, if it is a feature that the spec could require.
fn missing_feature(reason: &str) -> Option<&'static str> {
    if let Some((_, feature)) = FEATURES.iter().find(|(words, _)| reason.contains(words)) {
        return Some(feature);
    }
    let mut parts = missing_constant(reason)?.split("::").filter(|part| !part.is_empty());
    parts.find_map(|part| {
        FEATURES_BY_CONSTANT.iter().find(|(known, _)| *known == part).map(|(_, feature)| *feature)
    })
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
        } else if let (true, Some((id, count))) =
            (line.starts_with("it \"") || line.starts_with("it '"), block.as_mut())
        {
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
