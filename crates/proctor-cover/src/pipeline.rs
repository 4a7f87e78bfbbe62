//! The pipeline: stages in order, metadata between them, waves one after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proctor_ruby::spec::{ExampleBody, SpecPlan};
use serde::Serialize;
use serde_json::{Value, json};

use crate::discover::{Choice, Discovery, Mode, Target, discover};
use crate::implement::{Task, Written, implement};
use crate::isolate::isolate;
use crate::metadata::{Metadata, STAGES, hash, path_for};
use crate::observation::{Effort, Workshop, faults, find_ways, observe};
use crate::project::{Layout, Project, SourceFile};
use crate::review::{Covered, measure};
use crate::sandbox::Sandbox;
use crate::stop::Stop;

/// What to do.
#[derive(Debug, Clone)]
pub struct Options {
    /// The project's folder.
    pub root: PathBuf,
    /// What to look at.
    pub mode: Mode,
    /// Which methods.
    pub choice: Choice,
    /// The first stage to run, by name.
    pub from: Option<String>,
    /// The last stage to run, by name.
    pub to: Option<String>,
    /// Ruby's program.
    pub ruby: PathBuf,
    /// How much may be spent.
    pub effort: Effort,
    /// Do the work again even where the cache is valid.
    pub again: bool,
}

/// The result for one file.
#[derive(Debug, Clone, Default, Serialize)]
pub struct FileReport {
    /// The source.
    pub source: String,
    /// The spec.
    pub spec: String,
    /// Methods selected.
    pub methods: usize,
    /// Methods with at least one example that passes.
    pub methods_covered: usize,
    /// Examples that pass.
    pub examples: usize,
    /// Situations left open, with the reason.
    pub pending: Vec<String>,
    /// Examples that were dropped because they did not hold everywhere.
    pub dropped: usize,
    /// Examples that no fault was found for.
    pub unproven: usize,
    /// Branches before.
    pub before: Covered,
    /// Branches after.
    pub after: Covered,
    /// Faults noticed.
    pub killed: usize,
    /// Faults tried.
    pub faults: usize,
    /// Blocks that were edited by hand and kept.
    pub kept: Vec<String>,
    /// Violated rules.
    pub violations: Vec<Value>,
    /// What is worth saying.
    pub warnings: Vec<String>,
    /// Why nothing was written.
    pub error: Option<String>,
    /// Whether nothing had to be done.
    pub cached: bool,
}

/// The result of a run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// File by file.
    pub files: Vec<FileReport>,
    /// What each stage answered, in the seed's form.
    pub answers: BTreeMap<String, Value>,
    /// What is worth saying.
    pub warnings: Vec<String>,
    /// Whether the kernel cut off network and processes.
    pub isolated: bool,
}

impl Report {
    /// Whether everything that was asked for was done.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.files.iter().all(|file| file.error.is_none())
    }
}

/// Something that is being done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The stage.
    pub stage: &'static str,
    /// What about.
    pub what: String,
}

fn place(name: &str) -> Result<usize, Stop> {
    STAGES.iter().position(|(stage, _)| *stage == name).ok_or_else(|| {
        let names: Vec<&str> = STAGES.iter().map(|(stage, _)| *stage).collect();
        Stop::error(
            format!("there is no stage {name}"),
            format!("stages are {}", names.join(", ")),
            "name one of them",
        )
    })
}

/// Runs the stages that were asked for.
pub fn run(options: &Options, progress: &mut dyn FnMut(Progress)) -> Result<Report, Stop> {
    let first = options.from.as_deref().map_or(Ok(0), place)?;
    let last = options.to.as_deref().map_or(Ok(STAGES.len() - 1), place)?;
    let project = Project::open(&options.root);
    let folder = options.root.join("tmp/rspec_metadata");
    progress(Progress { stage: "discover", what: "looking for files and methods".to_owned() });
    let discovery = discover(&project, &options.mode, &options.choice)?;
    let mut run =
        Run { options, project, folder, report: Report::default(), metadata: BTreeMap::new() };
    run.report.warnings.clone_from(&discovery.warnings);
    let mut open = Vec::new();
    for target in &discovery.targets {
        if run.prepare(target, first)? {
            open.push(target);
        }
    }
    run.report.answers.insert("discover".to_owned(), discovery_answer(&discovery));
    let wanted = |stage: usize| (first..=last).contains(&stage);
    if wanted(1) {
        run.analyze(&open, progress)?;
    }
    if wanted(2) {
        run.isolate(&open, progress)?;
    }
    if wanted(3) {
        run.architect(&open, progress)?;
    }
    if wanted(4) {
        run.factories(&open, progress)?;
    }
    if wanted(5) || wanted(6) {
        run.execute(&discovery, &open, (wanted(5), wanted(6)), progress)?;
    }
    run.report.files.sort_by(|a, b| a.source.cmp(&b.source));
    Ok(run.report)
}

struct Run<'a> {
    options: &'a Options,
    project: Project,
    folder: PathBuf,
    report: Report,
    metadata: BTreeMap<String, (PathBuf, Metadata)>,
}

impl Run<'_> {
    #[expect(clippy::too_many_lines, reason = "one decision table from old metadata to new")]
    /// Reads or makes a target's metadata; whether there is anything to do.
    fn prepare(&mut self, target: &Target, first: usize) -> Result<bool, Stop> {
        let source = &target.source;
        let path = path_for(&self.folder, &source.path);
        let old = match Metadata::read(&path) {
            Ok(old) => old,
            Err(error) if first == 0 => {
                self.report.warnings.push(format!("damaged metadata is made again: {error}"));
                None
            }
            Err(error) => {
                return Err(Stop::error(
                    "damaged metadata".to_owned(),
                    error,
                    "delete the file and start with the first stage",
                ));
            }
        };
        let digest = hash(&source.bytes);
        let spec = fs::read(self.options.root.join(&target.spec_path)).unwrap_or_default();
        if let Some(old) = &old {
            let complete = STAGES.iter().all(|(_, agent)| old.is_complete(agent));
            let same = old.source_hash == digest
                && old.spec_hash == hash(&spec)
                && old.methods_to_analyze == target.methods;
            if complete && same && first == 0 && !self.options.again {
                self.report.files.push(cached(target, old));
                return Ok(false);
            }
        }
        if first > 0 {
            let (_, before) = STAGES[first - 1];
            let ready = old
                .as_ref()
                .is_some_and(|old| old.is_complete(before) && old.source_hash == digest);
            if !ready {
                return Err(Stop::error(
                    format!(
                        "the stage before {} is not complete for {}",
                        STAGES[first].0, source.path
                    ),
                    format!(
                        "{} has no {before}_completed for this version of the source",
                        path.display()
                    ),
                    "run without --from first",
                ));
            }
            if let Some(old) = old {
                self.metadata.insert(source.path.clone(), (path, old));
            }
            return Ok(true);
        }
        let behaviors = old.map(|old| old.behaviors).unwrap_or_default();
        let main = source.facts.main_class().map(|class| class.name.clone()).unwrap_or_default();
        let mut metadata = Metadata {
            slug: path
                .file_stem()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
            source_file: source.path.clone(),
            source_mtime: mtime(&self.options.root.join(&source.path)),
            source_hash: digest,
            classes: source
                .facts
                .classes
                .iter()
                .map(|class| class.name.clone())
                .filter(|name| *name != main)
                .collect(),
            class_name: main,
            complexity: target.complexity.clone(),
            spec_path: target.spec_path.clone(),
            methods_to_analyze: target.methods.clone(),
            behaviors,
            ..Metadata::default()
        };
        metadata.automation.insert("errors".to_owned(), json!([]));
        metadata.automation.insert("warnings".to_owned(), json!([]));
        metadata.complete("discovery_agent");
        metadata.write(&path)?;
        self.metadata.insert(source.path.clone(), (path, metadata));
        Ok(true)
    }

    fn update(
        &mut self,
        source: &str,
        agent: &str,
        change: impl FnOnce(&mut Metadata),
    ) -> Result<(), Stop> {
        if let Some((path, metadata)) = self.metadata.get_mut(source) {
            change(metadata);
            metadata.complete(agent);
            metadata.write(path)?;
        }
        Ok(())
    }

    fn analyze(
        &mut self,
        open: &[&Target],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), Stop> {
        let models: BTreeSet<String> = self
            .project
            .files()
            .into_iter()
            .filter_map(|path| {
                path.strip_prefix("app/models/")
                    .map(|name| constant_of(name.trim_end_matches(".rb")))
            })
            .collect();
        let mut answers = Vec::new();
        for target in open {
            progress(Progress { stage: "analyze", what: target.source.path.clone() });
            self.update(&target.source.path, "code_analyzer", |metadata| {
                metadata.analyze(&target.source.facts, &|class| models.contains(class));
            })?;
            answers.push(self.answer(
                target,
                &[
                    "slug",
                    "source_file",
                    "source_mtime",
                    "class_name",
                    "behaviors",
                    "methods",
                    "limits",
                ],
            ));
        }
        self.report.answers.insert("analyze".to_owned(), Value::Array(answers));
        Ok(())
    }

    fn isolate(
        &mut self,
        open: &[&Target],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), Stop> {
        let library = self.project.layout != Layout::Rails;
        let mut answers = Vec::new();
        for target in open {
            progress(Progress { stage: "isolate", what: target.source.path.clone() });
            self.update(&target.source.path, "isolation_decider", |metadata| {
                isolate(metadata, library);
            })?;
            answers.push(self.answer(target, &["slug", "methods"]));
        }
        self.report.answers.insert("isolate".to_owned(), Value::Array(answers));
        Ok(())
    }

    fn architect(
        &mut self,
        open: &[&Target],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), Stop> {
        let mut answers = Vec::new();
        for target in open {
            progress(Progress { stage: "architect", what: target.source.path.clone() });
            self.update(&target.source.path, "test_architect", |metadata| {
                metadata.structure = Some(outline(metadata));
                metadata.spec_file = Some(metadata.spec_path.clone());
            })?;
            answers.push(self.answer(target, &["spec_file", "structure"]));
        }
        self.report.answers.insert("architect".to_owned(), Value::Array(answers));
        Ok(())
    }

    fn factories(
        &mut self,
        open: &[&Target],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), Stop> {
        let known = factories(&self.options.root);
        for target in open {
            progress(Progress { stage: "factories", what: target.source.path.clone() });
            let Some((path, metadata)) = self.metadata.get_mut(&target.source.path) else {
                continue;
            };
            let models: BTreeSet<String> = metadata
                .methods
                .iter()
                .flat_map(|method| &method.characteristics)
                .filter_map(|one| {
                    one.setup
                        .class
                        .clone()
                        .filter(|_| one.setup.kind == proctor_ruby::SetupKind::Model)
                })
                .collect();
            if models.is_empty() {
                metadata.skip("factory_agent", "plain objects need no factories");
            } else {
                for model in models {
                    let name = proctor_ruby::underscore(&model);
                    let word =
                        if known.contains_key(&name) { "is used" } else { "is missing; proposed" };
                    metadata.note("warnings", format!("factory_agent: factory :{name} {word}"));
                }
                metadata.complete("factory_agent");
            }
            metadata.write(path)?;
        }
        self.report.answers.insert(
            "factories".to_owned(),
            json!({ "status": "success", "data": { "known": known } }),
        );
        Ok(())
    }

    fn answer(&self, target: &Target, keys: &[&str]) -> Value {
        let metadata = self
            .metadata
            .get(&target.source.path)
            .and_then(|(_, metadata)| serde_json::to_value(metadata).ok());
        let mut data = serde_json::Map::new();
        for key in keys {
            if let Some(value) = metadata.as_ref().and_then(|metadata| metadata.get(*key)) {
                data.insert((*key).to_owned(), value.clone());
            }
        }
        json!({ "status": "success", "data": data })
    }

    /// Implementation and review, wave by wave.
    fn execute(
        &mut self,
        discovery: &Discovery,
        open: &[&Target],
        (write, review): (bool, bool),
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), Stop> {
        if open.is_empty() {
            return Ok(());
        }
        let sandbox = Sandbox::new(&self.options.ruby);
        self.report.isolated = sandbox.is_isolated();
        let workshop = Workshop::new(&self.project)?;
        // A few waves keep the order of dependencies; more would only start Ruby more often.
        let methods: usize = open.iter().map(|target| target.methods.len()).sum();
        let most = if methods <= 300 { 0 } else { 2 };
        let wave_of = |target: &Target| target.wave.min(most);
        let mut waves: BTreeMap<usize, Vec<&Target>> = BTreeMap::new();
        for target in open {
            waves.entry(wave_of(target)).or_default().push(target);
        }
        for (wave, targets) in waves {
            progress(Progress {
                stage: "implement",
                what: format!("wave {wave}: {} files", targets.len()),
            });
            self.wave(discovery, &targets, (&workshop, &sandbox), (write, review), progress)?;
        }
        Ok(())
    }

    #[expect(clippy::too_many_lines, reason = "one wave from loading to report, in order")]
    fn wave(
        &mut self,
        discovery: &Discovery,
        targets: &[&Target],
        (workshop, sandbox): (&Workshop, &Sandbox),
        (write, review): (bool, bool),
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), Stop> {
        let sources: Vec<SourceFile> = targets.iter().map(|target| target.source.clone()).collect();
        let ways = find_ways(&self.project, workshop, sandbox, &sources, &discovery.all)?;
        let (mut usable, mut good_ways, mut good) = (Vec::new(), Vec::new(), Vec::new());
        for ((target, source), way) in targets.iter().zip(sources).zip(ways) {
            match way {
                Ok(way) => {
                    usable.push(source);
                    good_ways.push(way);
                    good.push(*target);
                }
                Err(error) => {
                    let error = format!("cannot be loaded: {error}");
                    self.update(&target.source.path, "discovery_agent", |metadata| {
                        metadata.note("errors", error.clone());
                    })?;
                    let mut file = Self::file_report(target);
                    file.error = Some(error);
                    self.report.files.push(file);
                }
            }
        }
        if usable.is_empty() {
            return Ok(());
        }
        let specs: Vec<String> = good.iter().map(|target| target.spec_path.clone()).collect();
        let files: Vec<String> = usable.iter().map(|file| file.path.clone()).collect();
        let existing: Vec<Option<String>> = specs
            .iter()
            .map(|spec| {
                fs::read(self.options.root.join(spec))
                    .ok()
                    .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            })
            .collect();
        let old: Vec<String> = specs
            .iter()
            .zip(&existing)
            .filter(|(_, text)| text.is_some())
            .map(|(spec, _)| spec.clone())
            .collect();
        let before = if old.is_empty() {
            BTreeMap::new()
        } else {
            measure(&self.project, workshop, sandbox, (&old, &files), &[], &self.options.effort)?
                .coverage
        };
        let selected: BTreeSet<String> = good
            .iter()
            .flat_map(|target| {
                target
                    .methods
                    .iter()
                    .filter(|method| method.selected)
                    .map(|method| method.method_id.clone())
            })
            .collect();
        let list = faults(&usable, 150);
        let mut written: Vec<Written> = Vec::new();
        if write {
            workshop.probe(&usable)?;
            progress(Progress {
                stage: "implement",
                what: format!("observing {} methods", selected.len()),
            });
            let observation = observe(
                &self.project,
                workshop,
                sandbox,
                (&usable, &discovery.all),
                &selected,
                &good_ways,
                &list,
                &self.options.effort,
            )?;
            self.report.warnings.extend(observation.trouble.iter().take(3).cloned());
            let tasks: Vec<Task<'_>> = usable
                .iter()
                .enumerate()
                .map(|(index, file)| Task {
                    index,
                    file,
                    way: &good_ways[index],
                    spec: specs[index].clone(),
                    existing: existing[index].clone(),
                })
                .collect();
            progress(Progress {
                stage: "implement",
                what: "writing and verifying specs".to_owned(),
            });
            written = implement(workshop, sandbox, &tasks, &observation, &selected)?;
            workshop.restore(&usable)?;
            for one in &written {
                self.keep(one)?;
            }
        }
        let present: Vec<String> =
            specs.iter().filter(|spec| workshop.clean.join(spec).exists()).cloned().collect();
        progress(Progress {
            stage: "review",
            what: format!("running specs against {} faults", list.len()),
        });
        let measured = if review && !present.is_empty() {
            measure(
                &self.project,
                workshop,
                sandbox,
                (&present, &files),
                &list,
                &self.options.effort,
            )?
        } else {
            crate::review::Measured::default()
        };
        for (index, target) in good.iter().enumerate() {
            let mut file = Self::file_report(target);
            if let Some(one) = written.get(index) {
                fill(&mut file, one);
            }
            file.before = before.get(&target.source.path).copied().unwrap_or_default();
            file.after = measured.coverage.get(&target.source.path).copied().unwrap_or_default();
            let mine = |id: &&usize| list[**id].file == target.source.path;
            file.killed = measured.killed.iter().filter(mine).count();
            file.faults = file.killed + measured.survived.iter().filter(mine).count();
            if review {
                self.review(target, &mut file, &measured)?;
            }
            self.report.files.push(file);
        }
        Ok(())
    }

    /// Puts a finished spec into the project and its marks into the metadata.
    fn keep(&mut self, one: &Written) -> Result<(), Stop> {
        if one.error.is_none() && one.examples + one.pending > 0 {
            let path = self.options.root.join(&one.spec);
            if fs::read(&path).ok().as_deref() != Some(one.text.as_bytes()) {
                if let Some(folder) = path.parent() {
                    fs::create_dir_all(folder)?;
                }
                fs::write(&path, &one.text)?;
            }
        }
        self.update(&one.source, "test_implementer", |metadata| {
            metadata.spec_hash = hash(one.text.as_bytes());
            for id in &one.kept {
                metadata.note(
                    "warnings",
                    format!("test_implementer: the block of {id} was edited by hand and kept"),
                );
            }
            if let Some(error) = &one.error {
                metadata.note("errors", format!("test_implementer: {error}"));
            }
        })
    }

    fn review(
        &mut self,
        target: &Target,
        file: &mut FileReport,
        measured: &crate::review::Measured,
    ) -> Result<(), Stop> {
        let text =
            fs::read_to_string(self.options.root.join(&target.spec_path)).unwrap_or_default();
        for finding in proctor_ruby::rules::check(&text) {
            file.violations.push(json!({
                "rule": finding.rule, "description": finding.message,
                "location": format!("{}:{}", target.spec_path, finding.line), "fix": finding.fix,
            }));
        }
        let failed = measured.failed.len();
        let violations = file.violations.clone();
        let summary = json!({
            "tests_passed": failed == 0 && measured.error.is_none(), "violations": violations,
            "examples": file.examples, "pending": file.pending.len(), "branches": file.after, "killed": file.killed, "faults": file.faults,
        });
        if let Some(error) = &measured.error {
            file.warnings.push(format!("review: {error}"));
        }
        self.update(&target.source.path, "test_reviewer", |metadata| {
            metadata.review = Some(summary.clone());
            for violation in &violations {
                metadata.note(
                    "errors",
                    format!(
                        "test_reviewer: rule {} at {}",
                        violation["rule"],
                        violation["location"].as_str().unwrap_or_default()
                    ),
                );
            }
        })?;
        let answers = self.report.answers.entry("review".to_owned()).or_insert_with(|| json!([]));
        if let Value::Array(list) = answers {
            list.push(json!({ "status": "success", "data": summary }));
        }
        Ok(())
    }

    fn file_report(target: &Target) -> FileReport {
        FileReport {
            source: target.source.path.clone(),
            spec: target.spec_path.clone(),
            methods: target.methods.iter().filter(|method| method.selected).count(),
            ..FileReport::default()
        }
    }
}

fn fill(file: &mut FileReport, one: &Written) {
    file.examples = one.examples;
    file.dropped = one.dropped;
    file.unproven = one.unproven;
    file.kept.clone_from(&one.kept);
    file.error.clone_from(&one.error);
    file.pending = open_situations(&one.plan);
    file.methods_covered = one
        .plan
        .classes
        .iter()
        .flat_map(|class| &class.methods)
        .filter(|method| {
            method
                .contexts
                .iter()
                .flat_map(|context| &context.examples)
                .any(|example| !matches!(example.body, ExampleBody::Pending(_)))
        })
        .count();
}

fn open_situations(plan: &SpecPlan) -> Vec<String> {
    let mut found = Vec::new();
    for method in plan.classes.iter().flat_map(|class| &class.methods) {
        for context in &method.contexts {
            for example in &context.examples {
                if let ExampleBody::Pending(reason) = &example.body {
                    found.push(format!(
                        "{} {}: {reason}",
                        method.id,
                        context.name.as_deref().unwrap_or_default()
                    ));
                }
            }
        }
    }
    found
}

fn cached(target: &Target, old: &Metadata) -> FileReport {
    let number = |key: &str| {
        old.review
            .as_ref()
            .and_then(|review| review[key].as_u64())
            .and_then(|value| usize::try_from(value).ok())
            .unwrap_or(0)
    };
    FileReport {
        source: target.source.path.clone(),
        spec: target.spec_path.clone(),
        methods: target.methods.iter().filter(|method| method.selected).count(),
        examples: number("examples"),
        killed: number("killed"),
        faults: number("faults"),
        cached: true,
        ..FileReport::default()
    }
}

fn mtime(path: &Path) -> i64 {
    let changed = fs::metadata(path).and_then(|about| about.modified()).ok();
    let since = changed.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_secs()).ok()).unwrap_or(0)
}

fn constant_of(path: &str) -> String {
    path.split('/').map(proctor_ruby::constant_for).collect::<Vec<_>>().join("::")
}

/// Names of FactoryBot factories and where they are.
fn factories(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for folder in ["spec/factories", "test/factories"] {
        let Ok(entries) = fs::read_dir(root.join(folder)) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            let text = fs::read_to_string(&path).unwrap_or_default();
            for line in text.lines() {
                if let Some(name) = line.trim().strip_prefix("factory :") {
                    let name: String = name
                        .chars()
                        .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
                        .collect();
                    found.insert(
                        name,
                        format!(
                            "{folder}/{}",
                            path.file_name().unwrap_or_default().to_string_lossy()
                        ),
                    );
                }
            }
        }
    }
    found
}

/// The outline of a spec: contexts by characteristics, the happy path first, ending where the method ends.
fn outline(metadata: &Metadata) -> Value {
    let text = |id: &Option<String>| {
        let entry = id
            .as_ref()
            .and_then(|id| metadata.behaviors.iter().find(|one| one.id == *id && one.enabled));
        entry.map(|one| one.description.clone())
    };
    let methods: Vec<Value> = metadata
        .methods
        .iter()
        .map(|method| {
            let mark = if method.kind == "class" { "." } else { "#" };
            let effects: Vec<String> = method.side_effects.iter().filter_map(|effect| text(&Some(effect.behavior_id.clone()))).collect();
            let examples: Vec<String> = text(&method.behavior_id).into_iter().collect();
            json!({
                "name": format!("{mark}{}", method.name), "contexts": contexts(method, None, &text, &effects, 0), "examples": examples,
            })
        })
        .collect();
    json!({ "describe": metadata.class_name, "methods": methods })
}

fn contexts(
    method: &crate::metadata::MethodEntry,
    parent: Option<(&str, &str)>,
    text: &dyn Fn(&Option<String>) -> Option<String>,
    effects: &[String],
    depth: u32,
) -> Vec<Value> {
    let mut found = Vec::new();
    if depth > 12 {
        return found;
    }
    for one in &method.characteristics {
        let here = match (parent, &one.depends_on) {
            (None, None) => true,
            (Some((name, value)), Some(depends_on)) => {
                name == depends_on
                    && one
                        .when_parent
                        .as_ref()
                        .is_some_and(|values| values.iter().any(|other| other == value))
            }
            _ => false,
        };
        if !here {
            continue;
        }
        let mut values: Vec<_> = one.values.iter().collect();
        values.sort_by_key(|value| value.terminal);
        for value in values {
            let plain = value.value.as_str().map_or_else(|| value.value.to_string(), str::to_owned);
            let word = if depth == 0 { "when" } else { "with" };
            let mut context = serde_json::Map::new();
            context.insert("name".to_owned(), json!(format!("{word} {}", value.description)));
            let children = if value.terminal {
                Vec::new()
            } else {
                contexts(method, Some((&one.name, &plain)), text, effects, depth + 1)
            };
            if value.terminal {
                context.insert("terminal".to_owned(), json!(true));
            }
            if children.is_empty() {
                let mut examples: Vec<String> =
                    if value.terminal { Vec::new() } else { effects.to_vec() };
                examples.extend(text(&value.behavior_id));
                if !value.terminal {
                    context.insert("leaf".to_owned(), json!(true));
                }
                context.insert("examples".to_owned(), json!(examples));
            } else {
                context.insert("children".to_owned(), Value::Array(children));
            }
            found.push(Value::Object(context));
        }
    }
    found
}

fn discovery_answer(discovery: &Discovery) -> Value {
    let method = |id: &str| {
        discovery.targets.iter().find_map(|target| {
            target.methods.iter().find(|one| one.method_id == id).map(|one| (target, one))
        })
    };
    let waves: Vec<Value> = discovery
        .waves
        .waves
        .iter()
        .enumerate()
        .map(|(number, ids)| {
            let name = if number == 0 { "Leaf methods".to_owned() } else { format!("Depends on wave {}", number - 1) };
            let items: Vec<Value> = ids
                .iter()
                .filter_map(|id| method(id))
                .map(|(target, one)| json!({
                    "method_id": one.method_id, "class_name": one.class_name, "method_name": one.name,
                    "source_file": target.source.path, "line_range": one.line_range, "method_mode": one.method_mode, "selected": one.selected,
                }))
                .collect();
            json!({ "wave": number, "name": name, "items": items })
        })
        .collect();
    let files: Vec<Value> = discovery
        .targets
        .iter()
        .map(|target| json!({
            "path": target.source.path, "class_name": target.source.facts.main_class().map(|class| &class.name),
            "complexity": target.complexity, "spec_path": target.spec_path,
            "public_methods": target.methods.iter().map(|one| json!({
                "name": one.name, "method_mode": one.method_mode, "wave": target.wave, "selected": one.selected, "skip_reason": one.skip_reason,
            })).collect::<Vec<_>>(),
        }))
        .collect();
    let zone = |name: &str| {
        discovery.targets.iter().filter(|target| target.complexity.zone == name).count()
    };
    let total: usize = discovery.targets.iter().map(|target| target.methods.len()).sum();
    let chosen: usize = discovery
        .targets
        .iter()
        .map(|target| target.methods.iter().filter(|one| one.selected).count())
        .sum();
    json!({
        "status": "success", "method_waves": waves, "files": files, "warnings": discovery.warnings,
        "summary": {
            "total_methods": total, "selected_methods": chosen, "total_files": discovery.targets.len(), "waves_count": discovery.waves.waves.len(),
            "by_zone": { "green": zone("green"), "yellow": zone("yellow"), "red": zone("red") },
        },
    })
}
