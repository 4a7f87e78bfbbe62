//! Observation: builds the job for the Ruby side, runs it confined, reads what it found.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proctor_files::limits;
use proctor_ruby::spec::Keep;
use proctor_ruby::{
    ClassFacts, FoundLiterals, MethodFacts, Mutant, Scope, Visibility, collect_literals,
    collect_usage_literals, instrument, mutants,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::project::{LoadMethod, Project, SourceFile, constant_index};
use crate::sandbox::Sandbox;
use crate::scratch;

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
    /// Why calls of a method were not kept, by method.
    pub blocked: BTreeMap<String, String>,
    /// What went wrong on the Ruby side.
    pub trouble: Vec<String>,
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

/// Why a file cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum LoadError {
    #[error("Ruby did not answer: {stderr}")]
    NoAnswer { stderr: String },
    /// Loading raised an exception; `place` is relative to the project.
    #[error("{error} ({place})")]
    Raised { error: String, place: String },
    #[error("the file cannot be loaded")]
    NoWay,
}

/// The best method to load each file, or the reason why it cannot be loaded.
pub fn find_load_methods(
    project: &Project,
    workshop: &ProjectCopies,
    sandbox: &Sandbox,
    files: &[SourceFile],
    all: &[SourceFile],
) -> io::Result<Vec<Result<LoadMethod, LoadError>>> {
    let at = &workshop.clean;
    let ways: Vec<Vec<LoadMethod>> = files
        .iter()
        .map(|file| project.load_methods(&file.path, &project.spec_path(&file.path), at))
        .collect();
    let jobs: Vec<Value> = files
        .iter()
        .zip(&ways)
        .map(|(file, ways)| {
            let classes = file.facts.classes.iter().filter(|class| !class.methods.is_empty());
            json!({ "ways": ways, "classes": classes.map(|class| class.name.as_str()).collect::<Vec<_>>() })
        })
        .collect();
    let job = json!({
        "root": at, "load_paths": absolute(project, at), "files": jobs, "constants": constant_index(all, at), "seconds": 15,
    });
    let path = workshop.folder.path().join("load.json");
    proctor_files::write_private(&path, job.to_string())?;
    let arguments = [workshop.programs.join("load.rb").into(), path.into()];
    let limit = Duration::from_secs(60 + 20 * files.len() as u64);
    let finished = sandbox.run(&arguments, at, &[], limit)?;
    let last = finished.stdout.lines().last().unwrap_or_default();
    let Ok(answers) = serde_json::from_str::<Vec<Vec<Value>>>(last) else {
        let error = LoadError::NoAnswer { stderr: finished.stderr.trim().to_owned() };
        return Ok(files.iter().map(|_| Err(error.clone())).collect());
    };
    let found = files.iter().zip(ways).zip(answers).map(|((file, ways), answers)| {
        best_load_method(&ways, &answers, at, &project.spec_path(&file.path))
    });
    Ok(found.collect())
}

fn best_load_method(
    ways: &[LoadMethod],
    answers: &[Value],
    at: &Path,
    spec: &str,
) -> Result<LoadMethod, LoadError> {
    let complete = |answer: &Value| {
        answer["loaded"] == true && answer["missing"].as_array().is_some_and(Vec::is_empty)
    };
    let chosen = answers
        .iter()
        .position(complete)
        .or_else(|| answers.iter().position(|answer| answer["loaded"] == true));
    let Some(place) = chosen else {
        let raised = answers.first().map(|answer| LoadError::Raised {
            place: answer["place"].as_str().unwrap_or("?").replace(&*at.to_string_lossy(), "."),
            error: answer["error"].as_str().unwrap_or("unknown error").to_owned(),
        });
        return Err(raised.unwrap_or(LoadError::NoWay));
    };
    let mut way = ways[place].clone();
    // What had to be loaded first was found last-needed first.
    for path in answers[place]["extra"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let relative = Path::new(path)
            .strip_prefix(at)
            .map(|path| path.to_string_lossy().into_owned())
            .unwrap_or_default();
        way.lines.insert(0, crate::project::relative_require(spec, &relative));
        way.requires.insert(0, path.to_owned());
    }
    Ok(way)
}

fn absolute(project: &Project, at: &Path) -> Vec<PathBuf> {
    project.load_paths().iter().map(|path| at.join(path)).collect()
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
        "root": root, "load_paths": absolute(project, root), "requires": requires, "late": [], "classes": classes,
        "raise_lines": raise_lines, "pool": literal_pool(project, targets, all), "mutants": faults,
        "seconds": effort.seconds, "tries": effort.tries, "mutation_seconds": effort.mutation_seconds, "jobs": effort.jobs,
        "memory": effort.memory, "wall": wall,
    });
    let path = workshop.folder.path().join("observe.json");
    let result = workshop.folder.path().join("observed.ndjson");
    proctor_files::write_private(&path, job.to_string())?;
    let arguments =
        [workshop.programs.join("observe.rb").into(), path.into(), result.clone().into()];
    let limit = Duration::from_secs_f64(wall + 150.0);
    let finished = sandbox.run(&arguments, root, &[], limit)?;
    let mut observation = read(&result)?;
    if !finished.success {
        let mut message = if finished.timed_out {
            "observation took too long".to_owned()
        } else {
            "observation ended early".to_owned()
        };
        if let Some(line) = finished.stderr.lines().find(|line| !line.trim().is_empty()) {
            message += &format!(": {line}");
        }
        observation.trouble.push(message);
    }
    Ok(observation)
}

/// Literals and examples from the targets first, then from the rest of the project and its documentation.
fn literal_pool(project: &Project, targets: &[SourceFile], all: &[SourceFile]) -> FoundLiterals {
    let mut pool = FoundLiterals::default();
    let mut add = |more: FoundLiterals| {
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
    };
    for file in targets.iter().chain(all) {
        add(collect_literals(&file.bytes));
    }
    for path in usage_files(&project.root) {
        // What we wrote ourselves says nothing new, and must not change what a second run finds.
        if let Ok(text) = proctor_files::read_text(&path, limits::RUBY_SOURCE)
            && !text.contains("proctor:begin")
        {
            add(collect_usage_literals(text.as_bytes()));
        }
    }
    for name in ["README.md", "README.rdoc", "README"] {
        if let Ok(text) = proctor_files::read_text(&project.root.join(name), limits::RUBY_SOURCE) {
            // Every line as a comment: what parses is code.
            let commented: String =
                text.lines().take(2000).map(|line| format!("# {line}\n")).collect();
            add(collect_literals(commented.as_bytes()));
        }
    }
    pool
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
            let testable = match selected {
                Some(selected) => method.is_testable() && selected.contains(&id),
                None => method.name == "initialize",
            };
            let shift = |(from, to): (u32, u32)| [from + base, to + base];
            json!({
                "id": id, "name": method.name, "scope": method.scope, "module_function": method.module_function,
                "params": method.params, "yields": method.yields, "probes": if selected.is_some() { shift(method.probes) } else { [0, 0] },
                "plain": places.iter().filter(|id| (method.probes.0..method.probes.1).contains(id)).map(|id| id + base).collect::<Vec<_>>(), "testable": testable,
            })
        })
        .collect();
    let queries: Vec<&str> = class
        .methods
        .iter()
        .filter(|method| method.is_query)
        .map(|method| method.name.as_str())
        .collect();
    json!({
        "name": class.name, "kind": class.kind, "readers": class.readers, "members": class.members,
        "queries": queries, "methods": methods,
    })
}

fn read(path: &Path) -> io::Result<Observation> {
    let text = match proctor_files::read_text(path, limits::PROGRAM_OUTPUT) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Observation::default()),
        Err(error) => return Err(error),
    };
    let mut observation = Observation::default();
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
            Some("explored") => {
                if let (Some(method), Some(reason)) =
                    (value["method"].as_str(), value["blocked"].as_str())
                {
                    observation.blocked.insert(method.to_owned(), reason.to_owned());
                }
            }
            Some("trouble") => {
                observation.trouble.extend(value["message"].as_str().map(str::to_owned));
            }
            _ => {}
        }
    }
    Ok(observation)
}
