//! Observation: builds the job for the Ruby side, runs it confined, reads what it found.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proctor_files::limits;
use proctor_redact::{Redactor, Secret};
use proctor_ruby::spec::Keep;
use proctor_ruby::{
    ClassFacts, FoundLiterals, MethodFacts, Mutant, Scope, Visibility, collect_literals,
    collect_usage_literals, instrument, mutants,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::load_methods::load_paths_at;
use crate::project::{LoadMethod, Project, SourceFile};
use crate::sandbox::Sandbox;
use crate::scratch;
use crate::spec_style::SpecStyle;

/// Probe numbers of a file start at its index times this.
const STRIDE: u32 = 100_000;

/// How much may be spent.
#[derive(Debug, Clone)]
pub struct Effort {
    /// Calls tried per method.
    pub tries: u32,
    /// Seconds for exploring everything.
    pub seconds: f64,
    /// Seconds for trying faults.
    pub mutation_seconds: f64,
    /// Children at once.
    pub jobs: u32,
    /// Bytes of memory per child.
    pub memory: u64,
}

impl Default for Effort {
    fn default() -> Self {
        Self { tries: 1500, seconds: 30.0, mutation_seconds: 60.0, jobs: 2, memory: 3 << 30 }
    }
}

/// An observed result of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallOutcome {
    /// return, listing, raise, state, argument, output, yield, call
    pub kind: String,
    /// RSpec matcher.
    pub matcher: String,
    /// Words for a description.
    pub words: String,
    /// The argument, for `argument`.
    #[serde(default)]
    pub index: Option<usize>,
}

/// A call that was tried and is worth keeping.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// Number in this observation.
    pub number: usize,
    /// `Class#method`
    pub method: String,
    /// Code of the receiver.
    pub receiver: String,
    /// Positional arguments.
    pub args: Vec<String>,
    /// Keyword arguments.
    pub keys: BTreeMap<String, String>,
    /// The block.
    pub block: Option<String>,
    /// Lines before the call: what the world outside answers.
    #[serde(default)]
    pub setup: Vec<String>,
    /// Settings that it changes, and that are put back after it.
    #[serde(default)]
    pub keeps: BTreeSet<Keep>,
    /// Probe answers: twice the probe, plus one for yes.
    pub seen: Vec<u64>,
    /// What was seen.
    pub observations: Vec<CallOutcome>,
    /// Which of them are the same every time.
    #[serde(default)]
    pub stable: Vec<usize>,
    /// Whether it failed by accident rather than on purpose.
    pub noise: bool,
    /// Length of its code.
    pub cost: u64,
}

/// A fault with the code that brings it about.
#[derive(Debug, Clone, Serialize)]
pub struct Fault {
    /// Number in this observation.
    pub id: usize,
    /// The file.
    pub file: String,
    /// The line on which the method begins.
    pub line: u32,
    /// The line on which the method is defined, as Ruby reports calls.
    pub def_line: u32,
    /// The probe at the method's entry.
    pub entry: u64,
    /// Code that reopens the class with the faulty method.
    pub code: String,
    /// What the fault replaces.
    pub original: String,
    /// The fault itself.
    #[serde(skip)]
    pub mutant: Mutant,
    /// `Class#method`
    #[serde(skip)]
    pub method: String,
}

/// What came of observing.
#[derive(Debug, Default)]
pub struct Observation {
    /// Calls worth keeping.
    pub cases: Vec<Case>,
    /// By fault: the case and sight that notice it.
    pub kills: BTreeMap<usize, Vec<(usize, usize)>>,
    /// Methods that no call was found for that could be shown, with what was missing.
    pub unreached: BTreeMap<String, String>,
    /// What went wrong on the Ruby side.
    pub trouble: Vec<String>,
    /// Why the observation as a whole ended early: what it says is incomplete.
    pub broken: Option<String>,
}

/// Prepared copies of a project.
pub struct ProjectCopies {
    /// Everything lies here.
    pub folder: tempfile::TempDir,
    /// The Ruby programs.
    pub programs: PathBuf,
    /// The copy with probes.
    pub probed: PathBuf,
    /// The copy as it is.
    pub clean: PathBuf,
}

impl ProjectCopies {
    /// Copies a project twice.
    pub fn new(project: &Project) -> io::Result<Self> {
        let folder = scratch::private_folder("proctor-cover-", None)?;
        let base = folder.path().canonicalize()?;
        let programs = scratch::unpack(&base.join("programs"))?;
        let (probed, clean) = (base.join("probed"), base.join("clean-copy"));
        scratch::copy(&project.root, &probed)?;
        scratch::copy(&project.root, &clean)?;
        Ok(Self { folder, programs, probed, clean })
    }

    /// Writes a file into both copies, or removes it.
    pub(crate) fn write_both(&self, path: &str, text: Option<&str>) -> io::Result<()> {
        for root in [&self.probed, &self.clean] {
            let path = root.join(path);
            match (text, path.parent()) {
                (Some(text), Some(folder)) => {
                    fs::create_dir_all(folder)?;
                    fs::write(&path, text)?;
                }
                _ => fs::remove_file(&path)?,
            }
        }
        Ok(())
    }

    /// Takes the probes out again.
    pub fn restore(&self, targets: &[SourceFile]) -> io::Result<()> {
        for file in targets {
            fs::write(self.probed.join(&file.path), &file.bytes)?;
        }
        Ok(())
    }

    /// Puts probes into the targets of the first copy.
    pub fn probe(&self, targets: &[SourceFile]) -> io::Result<()> {
        for (index, file) in targets.iter().enumerate() {
            fs::write(
                self.probed.join(&file.path),
                instrument(&file.bytes, first_probe_of(index)),
            )?;
        }
        Ok(())
    }
}

pub(crate) fn first_probe_of(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(0).saturating_mul(STRIDE)
}

/// The faults of the targets, with code to bring each about.
#[must_use]
pub fn faults(targets: &[SourceFile], per_file: usize) -> Vec<Fault> {
    let mut found = Vec::new();
    for (index, file) in targets.iter().enumerate() {
        let mut list = Vec::new();
        for mutant in mutants(&file.bytes) {
            let owner = file.facts.methods().find(|(_, method)| method.span == mutant.method);
            let Some((class, method)) = owner else { continue };
            let Some(entry) = method.entry_probe.filter(|_| !class.nesting.is_empty()) else {
                continue;
            };
            list.push(Fault {
                id: 0,
                file: file.path.clone(),
                line: method.lines.0,
                def_line: method.lines.0,
                entry: u64::from(entry) + u64::from(first_probe_of(index)),
                code: reopened_class(&file.bytes, class, method, &mutant),
                original: String::from_utf8_lossy(
                    &file.bytes[mutant.start as usize..mutant.end as usize],
                )
                .into_owned(),
                method: method.id(&class.name),
                mutant,
            });
        }
        // A spread over the whole file rather than its beginning.
        let step = list.len().div_ceil(per_file.max(1)).max(1);
        found.extend(list.into_iter().step_by(step));
    }
    for (id, fault) in found.iter_mut().enumerate() {
        fault.id = id;
    }
    found
}

/// The class reopened with the same constant lookup, and the method with its fault.
fn reopened_class(
    bytes: &[u8],
    class: &ClassFacts,
    method: &MethodFacts,
    mutant: &Mutant,
) -> String {
    let text = |from: u32, to: u32| {
        String::from_utf8_lossy(&bytes[from as usize..to as usize]).into_owned()
    };
    let mut code: String =
        class.nesting.iter().map(|level| format!("{} {};", level.keyword, level.name)).collect();
    if method.in_singleton {
        code += "class << self;";
    }
    code += &text(method.span.0, mutant.start);
    code += &mutant.replacement;
    code += &text(mutant.end, method.span.1);
    code += "\n";
    if method.module_function {
        code += &format!("module_function {:?}\n", method.name);
    } else if method.scope == Scope::Instance && method.visibility == Visibility::Private {
        code += &format!("private {:?}\n", method.name);
    }
    let levels = class.nesting.len() + usize::from(method.in_singleton);
    code + &"end;".repeat(levels)
}

/// Runs the observation.
#[expect(clippy::too_many_arguments, reason = "everything an observation needs, once")]
pub fn observe(
    project: &Project,
    workshop: &ProjectCopies,
    sandbox: &Sandbox,
    (targets, all): (&[SourceFile], &[SourceFile]),
    selected: &BTreeSet<String>,
    ways: &[LoadMethod],
    faults: &[Fault],
    effort: &Effort,
) -> io::Result<Observation> {
    let root = &workshop.probed;
    let mut requires: Vec<String> = Vec::new();
    for path in ways.iter().flat_map(|way| &way.requires) {
        let path = path.replacen(&*workshop.clean.to_string_lossy(), &root.to_string_lossy(), 1);
        if !requires.contains(&path) {
            requires.push(path);
        }
    }
    let target_paths: BTreeSet<&str> = targets.iter().map(|file| file.path.as_str()).collect();
    let mut classes = Vec::new();
    for (index, file) in targets.iter().enumerate() {
        classes.extend(file.facts.classes.iter().map(|class| {
            class_job(class, &file.facts.place_probes, first_probe_of(index), Some(selected))
        }));
    }
    for file in all.iter().filter(|file| !target_paths.contains(file.path.as_str())).take(150) {
        classes.extend(file.facts.classes.iter().map(|class| class_job(class, &[], 0, None)));
    }
    let raise_lines: BTreeMap<&str, Vec<u32>> = all
        .iter()
        .map(|file| {
            (
                file.path.as_str(),
                file.facts.methods().flat_map(|(_, method)| method.raise_lines.clone()).collect(),
            )
        })
        .collect();
    // On a machine that is not busy a run takes a fraction of this.
    let wall = effort.seconds * 6.0 + effort.mutation_seconds + 60.0;
    let job = json!({
        "root": root, "load_paths": load_paths_at(project, root), "requires": requires, "late": [], "classes": classes,
        "raise_lines": raise_lines, "pool": literal_pool(project, targets, all), "mutants": faults,
        "seconds": effort.seconds, "tries": effort.tries, "mutation_seconds": effort.mutation_seconds, "jobs": effort.jobs,
        "memory": effort.memory, "wall": wall, "spec": targets.first().map(|file| project.spec_path(&file.path)),
        "spec_type": targets.first().and_then(|file| SpecStyle::of(&project.root, &project.spec_path(&file.path)).kind),
    });
    let path = workshop.folder.path().join("observe.json");
    let result = workshop.folder.path().join("observed.ndjson");
    proctor_files::write_private(&path, job.to_string())?;
    let arguments =
        [workshop.programs.join("observe.rb").into(), path.into(), result.clone().into()];
    let limit = Duration::from_secs_f64(wall + 150.0);
    let finished = sandbox.run(&arguments, root, &[], limit)?;
    let mut observation = read(&result)?;
    leave_out_environment(&mut observation, root, all);
    if !finished.success || observation.broken.is_some() {
        let mut message = if finished.timed_out {
            "observation took too long".to_owned()
        } else {
            "observation ended early".to_owned()
        };
        if let Some(line) = finished.stderr.lines().find(|line| !line.trim().is_empty()) {
            message += &format!(": {}", line.replace(&format!("{}/", root.to_string_lossy()), ""));
        }
        observation.broken = Some(message);
    }
    Ok(observation)
}

/// Literals and examples: those of specs, tests and documentation for all, and for each class those of its own file and of the
/// files that it has to do with. What other files say has no meaning for it.
fn literal_pool(project: &Project, targets: &[SourceFile], all: &[SourceFile]) -> Value {
    let mut common = FoundLiterals::default();
    for path in usage_files(&project.root) {
        // What we wrote ourselves says nothing new, and must not change what a second run finds.
        if let Ok(text) = proctor_files::read_text(&path, limits::RUBY_SOURCE)
            && !text.contains("proctor:begin")
        {
            add_literals(&mut common, collect_usage_literals(text.as_bytes()));
        }
    }
    for name in ["README.md", "README.rdoc", "README"] {
        if let Ok(text) = proctor_files::read_text(&project.root.join(name), limits::RUBY_SOURCE) {
            // Every line as a comment: what parses is code.
            let commented: String =
                text.lines().take(2000).map(|line| format!("# {line}\n")).collect();
            add_literals(&mut common, collect_literals(commented.as_bytes()));
        }
    }
    let by_file: Vec<(&SourceFile, FoundLiterals)> =
        all.iter().map(|file| (file, collect_literals(&file.bytes))).collect();
    let mut calls = FoundLiterals::default();
    let mut by_class = serde_json::Map::new();
    for file in targets {
        let mut pool = collect_literals(&file.bytes);
        calls.calls.append(&mut pool.calls);
        let related = by_file.iter().filter(|(other, _)| are_related(file, other));
        for (_, found) in related.clone() {
            add_literals(&mut pool, found.clone());
        }
        add_literals(&mut pool, common.clone());
        let words = json!({ "literals": pool.literals, "patterns": pool.patterns });
        by_class.extend(file.facts.classes.iter().map(|class| (class.name.clone(), words.clone())));
    }
    for (_, found) in &by_file {
        let more = FoundLiterals { calls: found.calls.clone(), ..FoundLiterals::default() };
        add_literals(&mut calls, more);
    }
    let more = FoundLiterals { calls: common.calls.clone(), ..FoundLiterals::default() };
    add_literals(&mut calls, more);
    json!({
        "literals": common.literals, "patterns": common.patterns, "calls": calls.calls, "by_class": by_class,
    })
}

fn add_literals(pool: &mut FoundLiterals, more: FoundLiterals) {
    for (list, found) in [
        (&mut pool.literals, more.literals),
        (&mut pool.patterns, more.patterns),
        (&mut pool.calls, more.calls),
    ] {
        for item in found {
            if list.len() < 400 && !list.contains(&item) {
                list.push(item);
            }
        }
    }
}

/// Whether two files share a namespace, or one names a class of the other.
fn are_related(one: &SourceFile, other: &SourceFile) -> bool {
    let spaces = |file: &SourceFile| -> BTreeSet<String> {
        let names = file.facts.classes.iter().map(|class| class.name.split_once("::"));
        names.flatten().map(|(space, _)| space.to_owned()).collect()
    };
    let names = |file: &SourceFile, other: &SourceFile| {
        other.facts.classes.iter().any(|class| {
            let last = class.name.rsplit("::").next().unwrap_or_default();
            file.facts.mentions.iter().any(|name| *name == class.name || name == last)
        })
    };
    !spaces(one).is_disjoint(&spaces(other)) || names(one, other) || names(other, one)
}

/// Specs and tests that people wrote, sorted: they show how the code is used.
fn usage_files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> =
        ["spec", "test", "examples"].iter().map(|name| root.join(name)).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rb") {
                found.push(path);
            }
        }
    }
    found.sort();
    found.truncate(60);
    found
}

/// Whether a method changes something by calling others of its class.
fn acts_through_others(class: &ClassFacts, method: &MethodFacts) -> bool {
    let mut seen: BTreeSet<&str> = BTreeSet::from([method.name.as_str()]);
    let mut open: Vec<&MethodFacts> = vec![method];
    while let Some(next) = open.pop() {
        let called = class.methods.iter().filter(|one| next.self_calls.contains(&one.name));
        for one in called.filter(|one| seen.insert(one.name.as_str())) {
            if one.acts || one.name.ends_with(['=', '!']) {
                return true;
            }
            open.push(one);
        }
    }
    false
}

fn class_job(
    class: &ClassFacts,
    places: &[u32],
    base: u32,
    selected: Option<&BTreeSet<String>>,
) -> Value {
    let methods: Vec<Value> = class
        .methods
        .iter()
        .map(|method| {
            let id = method.id(&class.name);
            // Objects are built whatever was selected.
            let constructs = method.name == "initialize";
            let chosen = selected.is_some_and(|selected| selected.contains(&id));
            let testable = constructs || (method.is_testable() && chosen);
            let shift = |(from, to): (u32, u32)| [from + base, to + base];
            json!({
                "id": id, "name": method.name, "scope": method.scope, "module_function": method.module_function,
                "params": method.params, "yields": method.yields, "probes": if selected.is_some() { shift(method.probes) } else { [0, 0] },
                "plain": places.iter().filter(|id| (method.probes.0..method.probes.1).contains(id)).map(|id| id + base).collect::<Vec<_>>(), "testable": testable,
                "selected": chosen, "rescues": method.rescues, "doors": method.doors, "base": base, "constants": method.constants,
            })
        })
        .collect();
    let queries: Vec<&str> = class
        .methods
        .iter()
        .filter(|method| method.is_query && !acts_through_others(class, method))
        .map(|method| method.name.as_str())
        .collect();
    json!({
        "name": class.name, "kind": class.kind, "readers": class.readers, "members": class.members,
        "queries": queries, "methods": methods, "delegated": class.delegated,
        "attributes": class.attributes,
    })
}

/// Leaves out what was seen of the environment's values: a spec would carry them to other people. Values that stand in
/// the project's own code are no secret there. Files outside of the copy are refused by `ruby/guard.rb`.
fn leave_out_environment(observation: &mut Observation, folder: &Path, all: &[SourceFile]) {
    let sources: Vec<Cow<'_, str>> =
        all.iter().map(|file| String::from_utf8_lossy(&file.bytes)).collect();
    let in_code = |value: &str| sources.iter().any(|source| source.contains(value));
    let variables = crate::sandbox::environment(folder).variables();
    let values = variables.values().filter_map(|value| value.to_str());
    let values = Redactor::new(values.filter(|value| !in_code(value)).map(Secret::new));
    let is_foreign = |outcome: &CallOutcome| {
        let texts = [&outcome.matcher, &outcome.words];
        texts.into_iter().any(|text| values.without_known(text).is_some())
    };
    let mut left_out = 0;
    for case in &mut observation.cases {
        // Only what is the same every time is written down.
        let outcomes = &case.observations;
        let before = case.stable.len();
        case.stable.retain(|index| !outcomes.get(*index).is_some_and(is_foreign));
        left_out += before - case.stable.len();
    }
    observation.cases.retain(|case| {
        let parts = case.args.iter().chain(case.keys.values()).chain(&case.setup);
        !parts.chain([&case.receiver]).any(|code| values.without_known(code).is_some())
    });
    if left_out > 0 {
        observation.trouble.push(format!(
            "{} not written down: the value comes from the environment",
            proctor_text::pluralize(left_out, "observed result")
        ));
    }
}

fn read(path: &Path) -> io::Result<Observation> {
    let text = match proctor_files::read_text(path, limits::PROGRAM_OUTPUT) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    let mut observation =
        Observation { broken: Some("it wrote no ending".to_owned()), ..Observation::default() };
    for line in text.lines() {
        let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
        match value["type"].as_str() {
            Some("case") => observation.cases.extend(serde_json::from_value::<Case>(value)),
            Some("mutant") => {
                let kills = serde_json::from_value(value["kills"].clone()).unwrap_or_default();
                if let Some(id) = value["mutant"].as_u64() {
                    let known: &mut Vec<_> =
                        observation.kills.entry(usize::try_from(id).unwrap_or(0)).or_default();
                    known.extend::<Vec<(usize, usize)>>(kills);
                }
            }
            Some("unreached") => {
                if let (Some(method), Some(reason)) =
                    (value["method"].as_str(), value["reason"].as_str())
                {
                    observation.unreached.insert(method.to_owned(), reason.to_owned());
                }
            }
            Some("done") => observation.broken = None,
            Some("trouble") => {
                observation.trouble.extend(value["message"].as_str().map(str::to_owned));
            }
            _ => {}
        }
    }
    Ok(observation)
}
