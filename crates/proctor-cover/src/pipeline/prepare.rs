//! From old metadata to new: what is cached, what is stale, what a stage needs before it may start.

use std::fs;
use std::path::Path;

use proctor_files::limits;
use serde_json::{Value, json};

use super::{FileReport, PipelineRun};
use crate::discover::Target;
use crate::metadata::{Metadata, STAGES, hash, path_for};
use crate::stop::Stop;

/// The place of the implement stage: it executes code, those before it only read.
pub(super) const FIRST_EXECUTING_STAGE: usize = 5;

/// The reason for skipping a class that has nothing to test, in the document's words.
const NO_METHODS: &str = "No testable methods found";

/// The reason for skipping a file of which nothing was chosen.
const NONE_SELECTED: &str = "no method of this file is selected";

/// What there is to do for a target.
pub(super) enum PreparedTarget {
    /// Its stages run.
    Work,
    /// Its stages run, after those before the first that was asked for.
    Behind,
    /// Nothing changed since a complete run.
    Cached,
    /// None of its methods was selected; its marks say so.
    Nothing,
}

impl PipelineRun<'_> {
    /// Reads or makes a target's metadata and says what there is to do.
    pub(super) fn prepare(
        &mut self,
        target: &Target,
        first: usize,
    ) -> Result<PreparedTarget, Stop> {
        let path = path_for(&self.folder, &target.source.path);
        let old = self.old_metadata(&path, first)?;
        let digest = hash(&target.source.bytes);
        if first > 0 {
            return self.continue_from(target, first, path, old, &digest);
        }
        if let Some(old) = &old {
            if self.is_current(target, old, &digest) && !self.options.again {
                self.report.files.push(cached_report(target, old));
                return Ok(PreparedTarget::Cached);
            }
            if old.source_hash != digest && !old.source_hash.is_empty() {
                self.note(
                    "discover",
                    format!(
                        "{} changed since its metadata were written; they are made again",
                        target.source.path
                    ),
                );
            }
        }
        let mut metadata = self.new_metadata(target, &path, digest, old);
        let selected = target.methods.iter().any(|method| method.selected);
        metadata.complete("discovery_agent");
        if !selected {
            self.skip_all(target, &mut metadata);
        }
        metadata.write(&path)?;
        self.metadata.insert(target.source.path.clone(), (path, metadata));
        Ok(if selected { PreparedTarget::Work } else { PreparedTarget::Nothing })
    }

    /// Marks all stages after discovery as skipped, which is a success, and says why.
    fn skip_all(&mut self, target: &Target, metadata: &mut Metadata) {
        let reason = if target.methods.is_empty() { NO_METHODS } else { NONE_SELECTED };
        for (_, agent) in &STAGES[1..] {
            metadata.skip(agent, reason);
        }
        self.skipped.push((target.source.path.clone(), reason));
    }

    /// What an earlier run left. Damaged metadata are made again, unless a later stage needs them.
    fn old_metadata(&mut self, path: &Path, first: usize) -> Result<Option<Metadata>, Stop> {
        match Metadata::read(path) {
            Ok(Some(old)) => Ok(Some(old)),
            Ok(None) => Ok(None),
            Err(error) if first == 0 => {
                self.report.warnings.push(format!("damaged metadata is created again: {error}"));
                Ok(None)
            }
            Err(error) => Err(Stop::error(
                "damaged metadata".to_owned(),
                error.to_string(),
                "delete the file and start with the first stage",
            )),
        }
    }

    /// The content decides, not the time of its last change.
    fn is_current(&self, target: &Target, old: &Metadata, digest: &str) -> bool {
        let spec = proctor_files::read(&self.root().join(&target.spec_path), limits::RUBY_SOURCE)
            .unwrap_or_default();
        STAGES.iter().all(|(_, agent)| old.is_complete(agent))
            && old.source_hash == digest
            && old.spec_hash == hash(&spec)
            && old.methods_to_analyze == target.methods
    }

    /// A later stage starts only where the one before is complete for this very source.
    fn continue_from(
        &mut self,
        target: &Target,
        first: usize,
        path: std::path::PathBuf,
        old: Option<Metadata>,
        digest: &str,
    ) -> Result<PreparedTarget, Stop> {
        let (stage, before) = (STAGES[first].0, STAGES[first - 1].1);
        let source = &target.source.path;
        let refuse = |details: String, suggestion: &str| {
            Err(Stop::error(format!("{stage} cannot start for {source}"), details, suggestion))
        };
        let current = old.filter(|old| old.is_complete(before) && old.source_hash == digest);
        let Some(old) = current else {
            // Stages that only read code are run first; those that execute it are asked for by name.
            if first <= FIRST_EXECUTING_STAGE {
                let mut metadata = self.new_metadata(target, &path, digest.to_owned(), None);
                metadata.complete("discovery_agent");
                let selected = target.methods.iter().any(|method| method.selected);
                if !selected {
                    self.skip_all(target, &mut metadata);
                }
                metadata.write(&path)?;
                self.metadata.insert(source.clone(), (path, metadata));
                return Ok(if selected { PreparedTarget::Behind } else { PreparedTarget::Nothing });
            }
            return refuse(
                format!(
                    "the previous stage is not complete: {} has no {before}_completed, or was made for another version of the source",
                    path.display()
                ),
                &format!("run `proctor cover {source}` first"),
            );
        };
        if stage == "review" && !self.root().join(&target.spec_path).is_file() {
            return refuse(
                format!("{} does not exist", target.spec_path),
                "run the implement stage first",
            );
        }
        let skipped = old.automation.get(&format!("{before}_skip_reason")).and_then(Value::as_str);
        let nothing = skipped.is_some_and(|reason| [NO_METHODS, NONE_SELECTED].contains(&reason));
        self.metadata.insert(source.clone(), (path, old));
        Ok(if nothing { PreparedTarget::Nothing } else { PreparedTarget::Work })
    }

    /// Metadata with nothing but discovery's part. What people decided about behaviours stays, and so do accepted answers.
    fn new_metadata(
        &self,
        target: &Target,
        path: &Path,
        digest: String,
        old: Option<Metadata>,
    ) -> Metadata {
        let source = &target.source;
        let (behaviors, answers, further) =
            old.map(|old| (old.behaviors, old.answers, old.further)).unwrap_or_default();
        let main = source.facts.main_class().map(|class| class.name.clone()).unwrap_or_default();
        let names = source.facts.classes.iter().map(|class| class.name.clone());
        let mut metadata = Metadata {
            slug: path
                .file_stem()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
            source_file: source.path.clone(),
            source_mtime: mtime(&self.root().join(&source.path)),
            source_hash: digest,
            classes: names.filter(|name| *name != main).collect(),
            class_name: main,
            complexity: target.complexity.clone(),
            project_type: self.project.project_type().to_owned(),
            spec_path: target.spec_path.clone(),
            methods_to_analyze: target.methods.clone(),
            behaviors,
            answers,
            further,
            ..Metadata::default()
        };
        metadata.automation.insert("errors".to_owned(), json!([]));
        metadata.automation.insert("warnings".to_owned(), json!([]));
        metadata
    }
}

/// The report of a file that was left alone, from what its metadata remember.
fn cached_report(target: &Target, old: &Metadata) -> FileReport {
    let review = old.review.clone().unwrap_or_default();
    let number =
        |key: &str| review[key].as_u64().and_then(|value| usize::try_from(value).ok()).unwrap_or(0);
    let mut report = PipelineRun::file_report(target);
    for one in review["unreached"].as_array().into_iter().flatten() {
        let method = report.by_method.iter_mut().find(|method| one["method"] == method.id);
        if let Some(method) = method {
            method.missing = one["reason"].as_str().map(str::to_owned);
        }
    }
    FileReport {
        methods_covered: number("methods_covered"),
        examples: number("examples"),
        killed: number("killed"),
        faults: number("faults"),
        before: serde_json::from_value(review["before"].clone()).unwrap_or_default(),
        after: serde_json::from_value(review["branches"].clone()).unwrap_or_default(),
        pending: serde_json::from_value(review["open"].clone()).unwrap_or_default(),
        cached: true,
        passed: review["tests_passed"].as_bool(),
        ..report
    }
}

fn mtime(path: &Path) -> i64 {
    let changed = fs::metadata(path).and_then(|about| about.modified()).ok();
    let since = changed.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_secs()).ok()).unwrap_or(0)
}
