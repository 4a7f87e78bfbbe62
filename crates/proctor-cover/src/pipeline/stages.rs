//! The stages that only read code: analysis, isolation, architecture, factories. Files are worked on in parallel.

use std::collections::BTreeSet;

use super::{PipelineRun, StageOutcome};
use crate::answers;
use crate::discover::Target;
use crate::factories;
use crate::isolate::{isolate, mark_stored};
use crate::metadata::Metadata;
use crate::object_strategy;
use crate::outline::outline;
use crate::project::Layout;
use crate::skeleton::skeleton;
use crate::stop::Stop;
use crate::style::project_style;

/// How many files are worked on at once.
const MAX_PARALLEL_FILES: usize = 4;

impl PipelineRun<'_> {
    pub(super) fn analyze(&mut self, open: &[&Target]) -> Result<(), Stop> {
        let models = self.models();
        let keys =
            ["slug", "source_file", "source_mtime", "class_name", "behaviors", "methods", "limits"];
        self.for_each_target("analyze", "code_analyzer", open, &|target, metadata| {
            metadata.analyze(&target.source.facts, &|class| models.contains(class));
            mark_stored(metadata, &target.source.facts);
            let characteristics: usize =
                metadata.methods.iter().map(|one| one.characteristics.len()).sum();
            let limits = metadata.limits.len();
            let open = if limits > 0 {
                format!(", {limits} places that cannot be analysed")
            } else {
                String::new()
            };
            StageResult::Done(format!(
                "{} methods, {characteristics} characteristics, {} behaviours{open}",
                metadata.methods.len(),
                metadata.behaviors.len()
            ))
        })?;
        self.answer_for_each_target("analyze", open, |metadata| answers::part(metadata, &keys));
        for (file, reason) in std::mem::take(&mut self.skipped) {
            self.begun("analyze", &file);
            self.ended("analyze", &file, StageOutcome::Skipped, reason);
            self.answered("analyze", answers::skipped(reason));
        }
        Ok(())
    }

    pub(super) fn isolate(&mut self, open: &[&Target]) -> Result<(), Stop> {
        let library = self.project.layout != Layout::Rails;
        let models = self.models();
        self.for_each_target("isolate", "isolation_decider", open, &|target, metadata| {
            isolate(metadata, library, &target.source.facts);
            object_strategy::decide(metadata, &target.source, &models);
            let low = metadata.methods.iter().filter_map(|one| one.test_config.as_ref());
            let low = low.filter(|config| config.confidence == "low").count();
            StageResult::Done(if low > 0 {
                format!("{low} decisions with low confidence")
            } else {
                "decided".to_owned()
            })
        })?;
        self.answer_for_each_target("isolate", open, |metadata| {
            answers::part(metadata, &["slug", "methods"])
        });
        Ok(())
    }

    pub(super) fn architect(&mut self, open: &[&Target]) -> Result<(), Stop> {
        self.for_each_target("architect", "test_architect", open, &|_, metadata| {
            metadata.structure = Some(outline(metadata));
            metadata.spec_file = Some(metadata.spec_path.clone());
            StageResult::Done(metadata.spec_path.clone())
        })?;
        self.answer_for_each_target("architect", open, |metadata| {
            answers::unwrapped_answer(metadata, &["spec_file", "structure"], "test_architect")
        });
        Ok(())
    }

    /// Writes the outline into the specs, with placeholders.
    pub(super) fn write_skeletons(&mut self, open: &[&Target]) -> Result<(), Stop> {
        let style = project_style(self.root());
        for target in open {
            let Some((_, metadata)) = self.metadata.get(&target.source.path) else { continue };
            let existing = proctor_files::read_text(
                &self.root().join(&target.spec_path),
                proctor_files::limits::RUBY_SOURCE,
            )
            .ok();
            let (path, spec) = (&target.source.path, &target.spec_path);
            let ways = self.project.load_methods(path, spec, self.root(), &[]);
            let lines = ways.last().map(|way| way.lines.clone()).unwrap_or_default();
            if let Some(text) = skeleton(metadata, lines, existing.as_deref(), &style) {
                self.write_spec(&target.spec_path, &text)?;
            }
        }
        Ok(())
    }

    pub(super) fn factories(&mut self, open: &[&Target]) -> Result<(), Stop> {
        let known = factories::read(self.root());
        self.report.warnings.extend(known.trouble.iter().cloned());
        self.for_each_target("factories", "factory_agent", open, &|_, metadata| {
            metadata.factories = factories::propose(metadata, &known);
            if metadata.factories.is_empty() {
                return StageResult::Skipped("plain objects need no factories".to_owned());
            }
            let missing: BTreeSet<String> = metadata
                .factories
                .iter()
                .filter(|one| !one.exists)
                .map(|one| one.factory.clone())
                .collect();
            for name in &missing {
                metadata.note(
                    "warnings",
                    format!("factory_agent: Factory :{name} not found; one is proposed"),
                );
            }
            let lacking: Vec<String> = metadata
                .factories
                .iter()
                .filter(|one| one.exists && one.missing_trait.is_some())
                .map(|one| {
                    format!(
                        "factory_agent: Factory trait :{} of :{} not found",
                        one.missing_trait.as_deref().unwrap_or_default(),
                        one.factory
                    )
                })
                .collect();
            for warning in lacking {
                metadata.note("warnings", warning);
            }
            let used = metadata.factories.iter().filter(|one| one.exists).count();
            StageResult::Done(format!(
                "{used} proposals with factories that exist, {} factories proposed",
                missing.len()
            ))
        })?;
        let summary = known.summary();
        self.answer_for_each_target("factories", open, |metadata| {
            factories::answer(metadata, &summary)
        });
        Ok(())
    }

    /// Classes that are stored objects: those of `app/models`.
    pub(super) fn models(&self) -> BTreeSet<String> {
        let files = self.project.files().into_iter();
        files
            .filter_map(|path| {
                let name = path.strip_prefix("app/models/")?.trim_end_matches(".rb");
                let parts: Vec<String> = name.split('/').map(proctor_ruby::constant_for).collect();
                Some(parts.join("::"))
            })
            .collect()
    }

    /// Does the work of a stage for every target, some at once, and writes what came of it.
    fn for_each_target(
        &mut self,
        stage: &'static str,
        agent: &str,
        open: &[&Target],
        work: &(dyn Fn(&Target, &mut Metadata) -> StageResult + Sync),
    ) -> Result<(), Stop> {
        for chunk in open.chunks(MAX_PARALLEL_FILES) {
            let mut taken = Vec::new();
            for target in chunk {
                self.begun(stage, &target.source.path);
                if let Some((path, metadata)) = self.metadata.remove(&target.source.path) {
                    taken.push((*target, path, metadata));
                }
            }
            let done: Vec<_> = std::thread::scope(|scope| {
                let lanes: Vec<_> = taken
                    .into_iter()
                    .map(|(target, path, mut metadata)| {
                        scope.spawn(move || {
                            let part = work(target, &mut metadata);
                            match &part {
                                StageResult::Done(_) => metadata.complete(agent),
                                StageResult::Skipped(reason) => metadata.skip(agent, reason),
                            }
                            let written = metadata.write(&path);
                            (target, path, metadata, part, written)
                        })
                    })
                    .collect();
                lanes.into_iter().filter_map(|lane| lane.join().ok()).collect()
            });
            for (target, path, metadata, part, written) in done {
                let file = target.source.path.clone();
                self.metadata.insert(file.clone(), (path, metadata));
                if let Err(error) = written {
                    self.ended(stage, &file, StageOutcome::Failed, &error.to_string());
                    return Err(error.into());
                }
                let (ending, message) = match part {
                    StageResult::Done(message) => (StageOutcome::Done, message),
                    StageResult::Skipped(reason) => (StageOutcome::Skipped, reason),
                };
                self.ended(stage, &file, ending, &message);
            }
            if let Some(lost) =
                chunk.iter().find(|target| !self.metadata.contains_key(&target.source.path))
            {
                return Err(Stop::error(
                    format!("{stage} failed for {}", lost.source.path),
                    "a background task failed; this is a bug in proctor".to_owned(),
                    "report it with the file",
                ));
            }
        }
        Ok(())
    }

    fn answer_for_each_target(
        &mut self,
        stage: &str,
        open: &[&Target],
        answer: impl Fn(&Metadata) -> serde_json::Value,
    ) {
        for target in open {
            if let Some((_, metadata)) = self.metadata.get(&target.source.path) {
                let answer = answer(metadata);
                self.answered(stage, answer);
            }
        }
    }
}

/// What a stage did with a file, in words.
enum StageResult {
    Done(String),
    Skipped(String),
}
