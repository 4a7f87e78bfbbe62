//! The pipeline: stages in order, metadata between them, waves one after the other.
//!
//! This module decides what runs and owns the metadata of all targets while it does. Stages that only read code are in
//! `stages`, those that execute it in `loading`, `wave`, `filling` and `reviewing`; what a run was is in `outcome`. How work is shown, who runs specs and which
//! model fills gaps comes in from outside as [`Helpers`].

mod factory_files;
mod filling;
mod loading;
mod outcome;
mod prepare;
mod reviewing;
mod stages;
mod wave;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proctor_sandbox::Launcher;
use proctor_text::pluralize;
use serde_json::Value;

use crate::answers;
use crate::choice::Choice;
use crate::discover::{Discovery, Mode, Target, discover};
use crate::fill::Filler;
use crate::metadata::{Metadata, STAGES};
use crate::observation::{Effort, Fault};
use crate::project::Project;
use crate::stop::Stop;

pub use self::factory_files::FactoryFile;
pub use self::outcome::{FileReport, MethodReport, Report};
use self::prepare::PreparedTarget;
pub use self::reviewing::{SpecFailure, SpecRun, SpecRunner};

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
    /// The program that confines Ruby; without it nothing is confined.
    pub launcher: Option<Launcher>,
    /// Whether to stop where Ruby cannot be confined completely.
    pub require_confinement: bool,
    /// How much may be spent.
    pub effort: Effort,
    /// Do the work again even where the cache is valid.
    pub again: bool,
}

/// What the caller provides.
pub struct Helpers<'a> {
    /// Called for every step.
    pub on_step: &'a mut dyn FnMut(Step),
    /// Runs specs for the review; without it the review's own measurement decides.
    pub runner: Option<&'a dyn SpecRunner>,
    /// Fills what is left.
    pub filler: Option<&'a dyn Filler>,
    /// Whether the review repairs what can be repaired safely.
    pub fix: bool,
    /// Whether a stop was requested.
    pub stopped: &'a dyn Fn() -> bool,
}

/// Something that happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A stage begins with a file (`.` stands for the project).
    Begun {
        /// The stage.
        stage: &'static str,
        /// The source.
        file: String,
    },
    /// A stage is done with a file.
    Ended {
        /// The stage.
        stage: &'static str,
        /// The source.
        file: String,
        /// How.
        ending: StageOutcome,
        /// What came of it, or why not.
        message: String,
    },
    /// What is being done within a stage.
    Note {
        /// The stage.
        stage: &'static str,
        /// In words.
        text: String,
    },
}

/// How a stage ended for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StageOutcome {
    /// Its part is in the metadata.
    Done,
    /// There was nothing to do.
    Skipped,
    /// It could not be done.
    Failed,
}

/// The place of a stage; an unknown name is answered with the names there are.
fn stage_index(name: &str) -> Result<usize, Stop> {
    STAGES.iter().position(|(stage, _)| *stage == name).ok_or_else(|| {
        let names: Vec<&str> = STAGES.iter().map(|(stage, _)| *stage).collect();
        Stop::error(
            format!("there is no stage {name}"),
            format!("stages are {}", names.join(", ")),
            "name one of them",
        )
    })
}

/// Runs the stages that were asked for, alone.
pub fn run(options: &Options, on_step: &mut dyn FnMut(Step)) -> Result<Report, Stop> {
    let helpers = Helpers { on_step, runner: None, filler: None, fix: false, stopped: &|| false };
    run_with(options, helpers)
}

/// Runs the stages that were asked for, with help.
pub fn run_with<'a>(options: &'a Options, helpers: Helpers<'a>) -> Result<Report, Stop> {
    let first = options.from.as_deref().map_or(Ok(0), stage_index)?;
    let last = options.to.as_deref().map_or(Ok(STAGES.len() - 1), stage_index)?;
    let mut run = PipelineRun {
        options,
        project: Project::open(&options.root),
        folder: options.root.join("tmp/rspec_metadata"),
        report: Report::default(),
        metadata: BTreeMap::new(),
        unnoticed: Vec::new(),
        factory_files: Vec::new(),
        skipped: Vec::new(),
        helpers,
    };
    let discovery = run.discover(first)?;
    for (path, stop) in &discovery.unreadable {
        run.report.files.push(FileReport {
            source: path.clone(),
            spec: run.project.spec_path(path),
            error: Some(format!("{stop}; {}", stop.suggestion)),
            ..FileReport::default()
        });
    }
    let open = run.prepare_all(&discovery, first)?;
    run.report.answers.insert("discover".to_owned(), answers::discovery(&discovery));
    let wanted = |stage: usize| (first..=last).contains(&stage);
    for (number, stage) in
        [PipelineRun::analyze, PipelineRun::isolate, PipelineRun::architect, PipelineRun::factories]
            .iter()
            .enumerate()
    {
        let targets = if wanted(number + 1) { &open.work } else { &open.behind };
        if wanted(number + 1) || (number + 1 < first && !targets.is_empty()) {
            run.check_stop()?;
            stage(&mut run, targets)?;
        }
    }
    // Whoever stops here finds the outline in the spec, to be filled by the next stage or by hand.
    if (3..5).contains(&last) && wanted(3) {
        run.write_skeletons(&open.work)?;
    }
    if wanted(5) || wanted(6) {
        run.execute(&discovery, &open.work, (wanted(5), wanted(6)))?;
        if wanted(5) {
            run.fill_cached(&open.cached)?;
        }
    }
    run.report.files.sort_by(|a, b| a.source.cmp(&b.source));
    Ok(run.report)
}

/// A run under way.
struct PipelineRun<'a> {
    options: &'a Options,
    project: Project,
    folder: PathBuf,
    report: Report,
    /// By source: where the metadata lie, and what they are.
    metadata: BTreeMap<String, (PathBuf, Metadata)>,
    /// Faults that the specs of their wave did not notice, by wave.
    unnoticed: Vec<Vec<Fault>>,
    /// Factories that were made for this run, and that no spec has used yet.
    factory_files: Vec<FactoryFile>,
    /// Files that have nothing to analyse, with the reason.
    skipped: Vec<(String, &'static str)>,
    helpers: Helpers<'a>,
}

/// Targets by what there is to do.
struct TargetsByWork<'a> {
    work: Vec<&'a Target>,
    /// Those among them for which the stages before the first have not been run.
    behind: Vec<&'a Target>,
    cached: Vec<&'a Target>,
}

impl PipelineRun<'_> {
    fn discover(&mut self, first: usize) -> Result<Discovery, Stop> {
        self.begun("discover", ".");
        match discover(&self.project, &self.options.mode, &self.options.choice) {
            Ok(found) => {
                self.report.warnings.clone_from(&found.warnings);
                let methods = found.targets.iter().flat_map(|target| &target.methods);
                let message = format!(
                    "{} in {}, {}{}",
                    pluralize(methods.filter(|one| one.selected).count(), "method"),
                    pluralize(found.targets.len(), "file"),
                    pluralize(found.waves.waves.len(), "wave"),
                    if first > 0 {
                        format!("; starting with {}", STAGES[first].0)
                    } else {
                        String::new()
                    }
                );
                self.ended("discover", ".", StageOutcome::Done, &message);
                Ok(found)
            }
            Err(stop) => {
                self.ended("discover", ".", StageOutcome::Failed, &stop.to_string());
                Err(stop)
            }
        }
    }

    fn prepare_all<'d>(
        &mut self,
        discovery: &'d Discovery,
        first: usize,
    ) -> Result<TargetsByWork<'d>, Stop> {
        let mut open = TargetsByWork { work: Vec::new(), behind: Vec::new(), cached: Vec::new() };
        for target in &discovery.targets {
            match self.prepare(target, first)? {
                PreparedTarget::Work => open.work.push(target),
                PreparedTarget::Behind => {
                    open.work.push(target);
                    open.behind.push(target);
                }
                PreparedTarget::Cached => open.cached.push(target),
                PreparedTarget::Nothing => {}
            }
        }
        Ok(open)
    }

    fn check_stop(&self) -> Result<(), Stop> {
        if (self.helpers.stopped)() {
            return Err(Stop::cancelled("stopped while it was running; what was finished is kept"));
        }
        Ok(())
    }

    fn begun(&mut self, stage: &'static str, file: &str) {
        (self.helpers.on_step)(Step::Begun { stage, file: file.to_owned() });
    }

    fn ended(&mut self, stage: &'static str, file: &str, ending: StageOutcome, message: &str) {
        let (file, message) = (file.to_owned(), message.to_owned());
        (self.helpers.on_step)(Step::Ended { stage, file, ending, message });
    }

    fn note(&mut self, stage: &'static str, text: impl Into<String>) {
        (self.helpers.on_step)(Step::Note { stage, text: text.into() });
    }

    /// Changes a target's metadata, marks the stage complete and writes them.
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

    /// Adds to the list of a stage's answers.
    fn answered(&mut self, stage: &str, answer: Value) {
        let list =
            self.report.answers.entry(stage.to_owned()).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(list) = list {
            list.push(answer);
        }
    }

    fn root(&self) -> &Path {
        &self.options.root
    }

    fn file_report(target: &Target) -> FileReport {
        let selected = || target.methods.iter().filter(|method| method.selected);
        FileReport {
            source: target.source.path.clone(),
            spec: target.spec_path.clone(),
            wave: target.wave,
            methods: selected().count(),
            by_method: selected()
                .map(|one| MethodReport {
                    id: one.method_id.clone(),
                    mode: one.method_mode.clone(),
                    ..MethodReport::default()
                })
                .collect(),
            ..FileReport::default()
        }
    }
}
