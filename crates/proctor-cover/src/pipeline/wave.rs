//! The stages that execute code, wave by wave: calls are observed for several waves together, but specs are written for one
//! wave only when those of the wave before pass.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use proctor_files::limits;
use proctor_ruby::spec::{ExampleBody, SpecPlan};
use proctor_text::pluralize;
use serde_json::json;

use super::{FactoryFile, FileReport, PipelineRun, StageOutcome};
use crate::discover::{Discovery, Target};
use crate::implement::{Task, Written, implement};
use crate::metadata::hash;
use crate::object_strategy;
use crate::observation::{Effort, Fault, Observation, ProjectCopies, faults, observe};
use crate::project::{LoadMethod, SourceFile, constant_index};
use crate::record_support::SUPPORT_LINES;
use crate::review::{Covered, measure};
use crate::sandbox::Sandbox;
use crate::select::WantedMethods;
use crate::stop::Stop;
use crate::style::project_style;

/// Where code is executed, and how much may be spent.
pub(super) struct ExecutionSite {
    pub(super) workshop: ProjectCopies,
    pub(super) sandbox: Sandbox,
    pub(super) effort: Effort,
}

/// How many methods are observed together.
const MAX_METHODS_PER_BATCH: usize = 300;

/// What observing a batch gave.
struct BatchObservation {
    observation: Observation,
    /// Constants of the project by the file that defines them.
    constants: BTreeMap<String, String>,
    selected: BTreeSet<String>,
}

/// A target that can be loaded, on its way through the wave.
pub(super) struct LoadedTarget<'a> {
    /// Its place in the observation.
    pub(super) index: usize,
    pub(super) target: &'a Target,
    pub(super) way: LoadMethod,
    /// The spec as it was.
    pub(super) existing: Option<String>,
    pub(super) report: FileReport,
}

impl PipelineRun<'_> {
    /// Implementation and review, wave by wave.
    pub(super) fn execute(
        &mut self,
        discovery: &Discovery,
        open: &[&Target],
        wanted: (bool, bool),
    ) -> Result<(), Stop> {
        if open.is_empty() {
            return Ok(());
        }
        let site = self.execution_site()?;
        let mut broken: Option<String> = None;
        for batch in batches(open) {
            match &broken {
                Some(reason) => self.leave_out(&batch, reason),
                None => broken = self.batch(discovery, &batch, &site, wanted)?,
            }
        }
        if wanted.1 { self.measure_all_specs(&site) } else { Ok(()) }
    }

    /// What all specs reach together: those of a later wave go through files of the waves before.
    fn measure_all_specs(&mut self, site: &ExecutionSite) -> Result<(), Stop> {
        let here = |spec: &String| site.workshop.clean.join(spec).is_file();
        let written = self.report.files.iter().filter(|file| file.error.is_none());
        let specs: Vec<String> = written.map(|file| file.spec.clone()).filter(here).collect();
        // One wave was measured as a whole.
        if specs.len() < 2 || self.unnoticed.len() < 2 {
            return Ok(());
        }
        let files: Vec<String> = self.report.files.iter().map(|file| file.source.clone()).collect();
        // After the last wave nothing comes that could notice more.
        self.unnoticed.pop();
        let mut faults: Vec<Fault> =
            std::mem::take(&mut self.unnoticed).into_iter().flatten().collect();
        for (id, fault) in faults.iter_mut().enumerate() {
            fault.id = id;
        }
        let measured = measure(
            &self.project,
            &site.workshop,
            &site.sandbox,
            (&specs, &files),
            &faults,
            &site.effort,
        )?;
        for file in &mut self.report.files {
            let found = covered(&measured.coverage, &file.source);
            if found.taken > file.after.taken {
                file.after = found;
            }
            for fault in measured.killed.iter().map(|id| &faults[*id]) {
                file.killed += usize::from(fault.file == file.source);
                for method in file.by_method.iter_mut().filter(|_| fault.file == file.source) {
                    method.killed += usize::from(fault.method == method.id);
                }
            }
        }
        Ok(())
    }

    /// Loads and observes some waves together, which is cheap, and then covers one after the other.
    fn batch(
        &mut self,
        discovery: &Discovery,
        targets: &[&Target],
        site: &ExecutionSite,
        (write, review): (bool, bool),
    ) -> Result<Option<String>, Stop> {
        self.check_stop()?;
        let parts = self.load(discovery, targets, site)?;
        if write {
            self.prepare_factories(&parts, site)?;
        }
        let seen = if write && !parts.is_empty() {
            Some(self.observe(discovery, &parts, site)?)
        } else {
            None
        };
        let mut waves: BTreeMap<usize, Vec<LoadedTarget<'_>>> = BTreeMap::new();
        for part in parts {
            waves.entry(part.target.wave).or_default().push(part);
        }
        let mut broken: Option<String> = None;
        for (wave, mut parts) in waves {
            self.check_stop()?;
            if let Some(reason) = &broken {
                let targets: Vec<&Target> = parts.iter().map(|part| part.target).collect();
                self.leave_out(&targets, reason);
                continue;
            }
            self.note("implement", format!("wave {wave}: {}", pluralize(parts.len(), "file")));
            let failed = self.wave(&mut parts, seen.as_ref(), site, review)?;
            broken = failed.map(|failed| format!("wave {wave} did not pass: {failed}"));
            self.report.files.extend(parts.into_iter().map(|part| part.report));
        }
        Ok(broken)
    }

    pub(super) fn execution_site(&mut self) -> Result<ExecutionSite, Stop> {
        let sandbox = Sandbox::new(&self.options.ruby, self.options.launcher.clone());
        self.report.isolated = sandbox.is_isolated();
        let missing = sandbox.missing_isolation();
        if self.options.require_confinement && !missing.is_empty() {
            return Err(Stop::not_confined(&missing));
        }
        self.report.warnings.extend(missing);
        let workshop = ProjectCopies::new(&self.project)?;
        Ok(ExecutionSite { workshop, sandbox, effort: self.options.effort.clone() })
    }

    /// Files of later waves, after a wave whose specs fail.
    fn leave_out(&mut self, targets: &[&Target], reason: &str) {
        for target in targets {
            let file = &target.source.path;
            self.begun("implement", file);
            self.ended("implement", file, StageOutcome::Skipped, reason);
            let mut report = Self::file_report(target);
            report.error = Some(format!("not started: {reason}"));
            self.report.files.push(report);
        }
    }

    /// One wave; gives back which specs fail, if any do.
    fn wave(
        &mut self,
        parts: &mut [LoadedTarget<'_>],
        seen: Option<&BatchObservation>,
        site: &ExecutionSite,
        review: bool,
    ) -> Result<Option<String>, Stop> {
        self.measure_existing_specs(parts, site)?;
        if let Some(seen) = seen {
            for part in parts.iter() {
                self.begun("implement", &part.target.source.path);
            }
            self.write(parts, seen, site)?;
            self.fill(parts, site)?;
            for part in parts.iter() {
                self.implemented(part);
            }
        }
        if review { self.review(parts, site) } else { Ok(None) }
    }

    /// What the specs that are there reach already.
    fn measure_existing_specs(
        &mut self,
        parts: &mut [LoadedTarget<'_>],
        site: &ExecutionSite,
    ) -> Result<(), Stop> {
        let old: Vec<String> = parts
            .iter()
            .filter(|part| part.existing.is_some())
            .map(|part| part.target.spec_path.clone())
            .collect();
        if old.is_empty() {
            return Ok(());
        }
        let files = files(parts);
        let measured = measure(
            &self.project,
            &site.workshop,
            &site.sandbox,
            (&old, &files),
            &[],
            &site.effort,
        )?;
        for part in parts {
            part.report.before = covered(&measured.coverage, &part.target.source.path);
        }
        Ok(())
    }

    /// Tries calls of all selected methods.
    fn observe(
        &mut self,
        discovery: &Discovery,
        parts: &[LoadedTarget<'_>],
        site: &ExecutionSite,
    ) -> Result<BatchObservation, Stop> {
        let sources: Vec<SourceFile> =
            parts.iter().map(|part| part.target.source.clone()).collect();
        let ways: Vec<LoadMethod> = parts.iter().map(|part| part.way.clone()).collect();
        let selected = selected(parts);
        let list = faults(&sources, 300);
        self.note("implement", format!("observing {}", pluralize(selected.len(), "method")));
        site.workshop.probe(&sources)?;
        let observation = observe(
            &self.project,
            &site.workshop,
            &site.sandbox,
            (&sources, &discovery.all),
            &selected,
            &ways,
            &list,
            &site.effort,
        )?;
        site.workshop.restore(&sources)?;
        self.report.warnings.extend(observation.trouble.iter().take(3).cloned());
        self.report.errors.extend(observation.broken.clone());
        let constants = constant_index(&discovery.all, Path::new(""));
        Ok(BatchObservation { observation, constants, selected })
    }

    /// Chooses, writes and verifies the specs of a wave.
    fn write(
        &mut self,
        parts: &mut [LoadedTarget<'_>],
        seen: &BatchObservation,
        site: &ExecutionSite,
    ) -> Result<(), Stop> {
        self.note("implement", "writing and verifying specs");
        let style = project_style(self.root());
        let tasks: Vec<Task<'_>> = parts
            .iter()
            .map(|part| Task {
                index: part.index,
                file: &part.target.source,
                way: &part.way,
                spec: part.target.spec_path.clone(),
                existing: part.existing.clone(),
                style: &style,
                constants: &seen.constants,
            })
            .collect();
        let earlier: Vec<String> = self
            .report
            .files
            .iter()
            .filter(|file| file.error.is_none())
            .map(|file| file.spec.clone())
            .filter(|spec| site.workshop.clean.join(spec).is_file())
            .collect();
        let wanted =
            WantedMethods { selected: seen.selected.clone(), disabled: self.disabled(parts) };
        let written =
            implement(&site.workshop, &site.sandbox, &tasks, &seen.observation, &wanted, &earlier)?;
        drop(tasks);
        for (part, one) in parts.iter_mut().zip(&written) {
            update_report(&mut part.report, one, &seen.observation, &wanted);
            self.keep_spec(one, &part.report, site)?;
            if one.error.is_none() && one.examples > 0 {
                part.report.factories = self.deliver_factories(&one.text)?;
                self.remember_factories(&one.source, &part.report.factories)?;
            }
        }
        Ok(())
    }

    /// Behaviours of these files that somebody switched off in the metadata.
    pub(super) fn disabled(&self, parts: &[LoadedTarget<'_>]) -> BTreeSet<String> {
        parts
            .iter()
            .filter_map(|part| self.metadata.get(&part.target.source.path))
            .flat_map(|(_, metadata)| &metadata.behaviors)
            .filter(|behavior| !behavior.enabled)
            .map(|behavior| behavior.description.clone())
            .collect()
    }

    /// Puts a finished spec into the project and its marks into the metadata.
    fn keep_spec(
        &mut self,
        one: &Written,
        report: &FileReport,
        site: &ExecutionSite,
    ) -> Result<(), Stop> {
        if one.error.is_none() && one.examples + one.pending > 0 {
            self.write_spec(&one.spec, &one.text)?;
            self.write_support_files(&one.text, site)?;
        }
        self.update(&one.source, "test_implementer", |metadata| {
            metadata.spec_hash = hash(one.text.as_bytes());
            for method in one.plan.classes.iter().flat_map(|class| &class.methods) {
                object_strategy::note_used(metadata, method);
            }
            for id in &one.kept {
                metadata.note(
                    "warnings",
                    format!("test_implementer: the block of {id} was edited by hand and kept"),
                );
            }
            for (id, reason) in report.unreached() {
                metadata.note("errors", format!("test_implementer: no example for {id}: {reason}"));
            }
            for drop in &one.dropped {
                metadata.note(
                    "warnings",
                    format!(
                        "test_implementer: dropped {} {}: {}",
                        drop.method, drop.description, drop.reason
                    ),
                );
            }
            if let Some(error) = &one.error {
                metadata.note("errors", format!("test_implementer: {error}"));
            }
        })
    }

    /// Puts what a spec requires of `spec/support/` beside it, as it was verified; what is there already stays as it is.
    fn write_support_files(&mut self, text: &str, site: &ExecutionSite) -> Result<(), Stop> {
        // The project's quotes may be others.
        let lines = || text.lines().map(|line| line.trim().replace('\'', "\""));
        for (_, path) in SUPPORT_LINES.iter().filter(|(line, _)| lines().any(|own| own == *line)) {
            if self.root().join(path).exists() {
                continue;
            }
            let support =
                proctor_files::read_text(&site.workshop.clean.join(path), limits::RUBY_SOURCE)?;
            self.write_spec(path, &support)?;
            self.report.warnings.push(format!(
                "{path} is new: the specs need it, and the project had nothing of the kind"
            ));
        }
        Ok(())
    }

    /// Notes which factories were written for a file.
    fn remember_factories(&mut self, source: &str, files: &[FactoryFile]) -> Result<(), Stop> {
        if let Some((path, metadata)) = self.metadata.get_mut(source).filter(|_| !files.is_empty())
        {
            metadata.factories_written = files.to_vec();
            metadata.write(path)?;
        }
        Ok(())
    }

    /// Writes a spec of the project, unless it says this already.
    pub(super) fn write_spec(&self, spec: &str, text: &str) -> Result<(), Stop> {
        let path = self.root().join(spec);
        if proctor_files::read(&path, limits::RUBY_SOURCE).ok().as_deref() != Some(text.as_bytes())
        {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(&path, text)?;
        }
        Ok(())
    }

    fn implemented(&mut self, part: &LoadedTarget<'_>) {
        let (file, report) = (&part.target.source.path, &part.report);
        if let Some(error) = &report.error {
            self.ended("implement", file, StageOutcome::Failed, error);
            let answer = json!({
                "status": "error", "error": format!("{file} was not covered"), "details": error,
                "suggestion": "repair what the details name, then run again with --from implement",
            });
            self.answered("implement", answer);
            return;
        }
        let message = format!(
            "{} examples, {} pending, {} dropped{}",
            report.examples,
            report.pending.len(),
            report.dropped.len(),
            match report.unreached().count() {
                0 => String::new(),
                count => format!(", {} without an example", pluralize(count, "method")),
            }
        );
        let ending = if report.unreached().next().is_none() {
            StageOutcome::Done
        } else {
            StageOutcome::Failed
        };
        self.ended("implement", file, ending, &message);
        if report.examples == 0 && report.unreached().next().is_some() {
            let reasons: Vec<String> =
                report.unreached().map(|(id, reason)| format!("{id}: {reason}")).collect();
            let answer = json!({
                "status": "error", "error": format!("no example could be written for {file}"),
                "details": reasons.join("; "),
                "suggestion": "supply what is missing (a factory, a value, a stand-in), or leave the methods out with --without",
            });
            return self.answered("implement", answer);
        }
        let traits: BTreeSet<String> = self
            .metadata
            .get(file)
            .into_iter()
            .flat_map(|(_, metadata)| &metadata.factories)
            .filter_map(|one| one.trait_name.clone())
            .collect();
        let mut created =
            vec![json!({ "path": part.target.spec_path, "examples_count": report.examples })];
        created.extend(
            report
                .factories
                .iter()
                .map(|one| json!({ "path": one.path, "traits_added": one.traits_added })),
        );
        let answer = json!({
            "status": "success",
            "data": {
                "files_created": created,
                "pending": report.pending, "kept": report.kept, "filled": report.filled, "traits_known": traits,
                "dropped": report.dropped,
                "unreached": report.unreached().map(|(id, reason)| json!({ "method": id, "reason": reason })).collect::<Vec<_>>(),
            },
        });
        self.answered("implement", answer);
    }
}

/// Consecutive waves that are observed together: a project of usual size is one batch.
fn batches<'t>(open: &[&'t Target]) -> Vec<Vec<&'t Target>> {
    let mut waves: BTreeMap<usize, Vec<&Target>> = BTreeMap::new();
    for target in open {
        waves.entry(target.wave).or_default().push(target);
    }
    let methods = |targets: &[&Target]| targets.iter().map(|one| one.methods.len()).sum::<usize>();
    let mut found: Vec<Vec<&Target>> = Vec::new();
    for targets in waves.into_values() {
        match found.last_mut() {
            Some(last) if methods(last) + methods(&targets) <= MAX_METHODS_PER_BATCH => {
                last.extend(targets);
            }
            _ => found.push(targets),
        }
    }
    found
}

pub(super) fn files(parts: &[LoadedTarget<'_>]) -> Vec<String> {
    parts.iter().map(|part| part.target.source.path.clone()).collect()
}

pub(super) fn covered(coverage: &BTreeMap<String, Covered>, file: &str) -> Covered {
    coverage.get(file).copied().unwrap_or_default()
}

fn selected(parts: &[LoadedTarget<'_>]) -> BTreeSet<String> {
    let methods = parts.iter().flat_map(|part| &part.target.methods);
    methods.filter(|method| method.selected).map(|method| method.method_id.clone()).collect()
}

/// Takes over what was written.
fn update_report(
    report: &mut FileReport,
    one: &Written,
    observation: &Observation,
    wanted: &WantedMethods,
) {
    report.examples = one.examples;
    report.dropped.clone_from(&one.dropped);
    report.warnings.extend(
        one.added_requires
            .iter()
            .map(|line| format!("the spec says {line}, which {} does not load", one.source)),
    );
    report.unproven = one.unproven;
    report.kept.clone_from(&one.kept);
    report.error.clone_from(&one.error);
    report.pending = open_situations(&one.plan);
    let methods = one.plan.classes.iter().flat_map(|class| &class.methods);
    for method in methods {
        let examples = || method.contexts.iter().flat_map(|context| &context.examples);
        let pending =
            examples().filter(|example| matches!(example.body, ExampleBody::Pending(_))).count();
        if let Some(entry) = report.by_method.iter_mut().find(|entry| entry.id == method.id) {
            entry.pending = pending;
            entry.examples = examples().count() - pending;
        }
    }
    report.methods_covered = report
        .by_method
        .iter()
        .filter(|method| method.examples > 0 || makes_objects(&one.plan, &method.id))
        .count();
    let kept = report.kept.clone();
    let bare = report.by_method.iter_mut().filter(|one| one.examples == 0);
    for method in bare.filter(|one| !kept.contains(&one.id)) {
        let dropped = one.dropped.iter().find(|drop| drop.method == method.id);
        let shown = observation
            .cases
            .iter()
            .any(|case| case.method == method.id && !case.noise && !case.stable.is_empty());
        // What it does is known, and somebody does not want it in the spec.
        if shown && dropped.is_none() && !wanted.disabled.is_empty() {
            let words = "no example, since its behaviours are switched off in the metadata";
            report.warnings.push(format!("{}: {words}", method.id));
            continue;
        }
        // Every example of its class makes an object.
        if shown && dropped.is_none() && makes_objects(&one.plan, &method.id) {
            continue;
        }
        let reason = observation.unreached.get(&method.id).cloned();
        let reason = reason.or_else(|| dropped.map(|drop| format!("dropped: {}", drop.reason)));
        let reason = reason.or_else(|| observation.broken.clone());
        method.missing =
            Some(reason.unwrap_or_else(|| {
                "no call was found whose result is the same every time".to_owned()
            }));
    }
}

/// Whether a method is the constructor of a class whose other methods have examples.
fn makes_objects(plan: &SpecPlan, id: &str) -> bool {
    let Some(name) = id.strip_suffix("#initialize") else { return false };
    let prefix = format!("{name}#");
    let methods = plan.classes.iter().flat_map(|class| &class.methods);
    methods.filter(|method| method.id.starts_with(&prefix) && method.id != id).any(|method| {
        let mut examples = method.contexts.iter().flat_map(|context| &context.examples);
        examples.any(|example| matches!(example.body, ExampleBody::Observed(_)))
    })
}

fn open_situations(plan: &SpecPlan) -> Vec<String> {
    let mut found = Vec::new();
    for method in plan.classes.iter().flat_map(|class| &class.methods) {
        for context in &method.contexts {
            for example in &context.examples {
                if let ExampleBody::Pending(reason) = &example.body {
                    let name = context.name.as_deref().unwrap_or_default();
                    found.push(format!("{} {name}: {reason}", method.id));
                }
            }
        }
    }
    found
}
