//! The stages that execute code, wave by wave: files of a wave are observed together, and the next wave begins only when
//! the specs of this one pass.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use proctor_ruby::spec::{ExampleBody, SpecPlan};
use serde_json::json;

use super::{Ending, FileReport, Run};
use crate::discover::{Discovery, Target};
use crate::implement::{Task, Written, implement};
use crate::metadata::hash;
use crate::observation::{Effort, Workshop, faults, find_ways, observe};
use crate::project::{SourceFile, Way};
use crate::review::{Covered, measure};
use crate::sandbox::Sandbox;
use crate::stop::Stop;

/// Where code is executed, and how much may be spent.
pub(super) struct Ground {
    pub(super) workshop: Workshop,
    pub(super) sandbox: Sandbox,
    pub(super) effort: Effort,
}

/// A target that can be loaded, on its way through the wave.
pub(super) struct Part<'a> {
    pub(super) target: &'a Target,
    pub(super) way: Way,
    /// The spec as it was.
    pub(super) existing: Option<String>,
    pub(super) report: FileReport,
}

impl Run<'_> {
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
        let mut ground = self.ground()?;
        let mut waves: BTreeMap<usize, Vec<&Target>> = BTreeMap::new();
        for target in open {
            waves.entry(target.wave).or_default().push(target);
        }
        let methods = |targets: &[&Target]| {
            targets.iter().map(|target| target.methods.len()).sum::<usize>().max(1)
        };
        let (all, count) = (methods(open), waves.len());
        let mut broken: Option<String> = None;
        for (wave, targets) in waves {
            self.check_stop()?;
            if let Some(reason) = &broken {
                self.leave_out(&targets, reason);
                continue;
            }
            ground.effort = share(&self.options.effort, methods(&targets), all, count);
            self.note("implement", format!("wave {wave}: {} files", targets.len()));
            broken = self
                .wave(discovery, &targets, &ground, wanted)?
                .map(|failed| format!("wave {wave} did not pass: {failed}"));
        }
        Ok(())
    }

    pub(super) fn ground(&mut self) -> Result<Ground, Stop> {
        let sandbox = Sandbox::new(&self.options.ruby);
        self.report.isolated = sandbox.is_isolated();
        let workshop = Workshop::new(&self.project)?;
        Ok(Ground { workshop, sandbox, effort: self.options.effort.clone() })
    }

    /// Files of later waves, after a wave whose specs fail.
    fn leave_out(&mut self, targets: &[&Target], reason: &str) {
        for target in targets {
            let file = &target.source.path;
            self.begun("implement", file);
            self.ended("implement", file, Ending::Skipped, reason);
            let mut report = Self::file_report(target);
            report.error = Some(format!("not started: {reason}"));
            self.report.files.push(report);
        }
    }

    /// One wave; gives back which specs fail, if any do.
    fn wave(
        &mut self,
        discovery: &Discovery,
        targets: &[&Target],
        ground: &Ground,
        (write, review): (bool, bool),
    ) -> Result<Option<String>, Stop> {
        let mut parts = self.load(discovery, targets, ground)?;
        if parts.is_empty() {
            return Ok(None);
        }
        self.before(&mut parts, ground)?;
        if write {
            for part in &parts {
                self.begun("implement", &part.target.source.path);
            }
            self.write(discovery, &mut parts, ground)?;
            self.fill(&mut parts, ground)?;
            for part in &parts {
                self.implemented(part);
            }
        }
        let failed = if review { self.review(&mut parts, ground)? } else { None };
        self.report.files.extend(parts.into_iter().map(|part| part.report));
        Ok(failed)
    }

    /// Finds out how each file can be loaded. One that cannot be ends here, with the reason.
    fn load<'t>(
        &mut self,
        discovery: &Discovery,
        targets: &[&'t Target],
        ground: &Ground,
    ) -> Result<Vec<Part<'t>>, Stop> {
        let sources: Vec<SourceFile> = targets.iter().map(|target| target.source.clone()).collect();
        let ways =
            find_ways(&self.project, &ground.workshop, &ground.sandbox, &sources, &discovery.all)?;
        let mut parts = Vec::new();
        for (target, way) in targets.iter().zip(ways) {
            let report = Self::file_report(target);
            let loaded = way.map_err(|error| format!("cannot be loaded: {error}"));
            match loaded.and_then(|way| Ok((way, self.existing(target)?))) {
                Ok((way, existing)) => parts.push(Part { target, way, existing, report }),
                Err(error) => self.fail(target, report, error)?,
            }
        }
        self.check_helper(&mut parts, ground)?;
        Ok(parts)
    }

    /// A helper that does not load is left out of the specs, and its error is shown.
    fn check_helper(&mut self, parts: &mut [Part<'_>], ground: &Ground) -> Result<(), Stop> {
        let helper = ["rails_helper", "spec_helper"]
            .into_iter()
            .find(|name| self.root().join(format!("spec/{name}.rb")).is_file());
        let Some(helper) = helper else { return Ok(()) };
        let line = format!("require \"{helper}\"");
        if parts.iter().all(|part| part.way.lines.contains(&line)) {
            return Ok(());
        }
        let root = &ground.workshop.clean;
        let mut arguments: Vec<std::ffi::OsString> = Vec::new();
        for path in self.project.load_paths() {
            arguments.extend(["-I".into(), root.join(path).into()]);
        }
        let code = format!(
            "begin; require 'rspec'; require '{helper}'; rescue Exception => e; warn \"#{{e.class}}: #{{e.message.lines.first.to_s.strip}} (#{{e.backtrace&.first}})\"; exit!(1); end"
        );
        arguments.extend(["-e".into(), code.into()]);
        let finished =
            ground.sandbox.run(&arguments, root, &[], std::time::Duration::from_secs(30))?;
        if !finished.success {
            let error = finished
                .stderr
                .lines()
                .last()
                .unwrap_or("it ends the process")
                .replace(&format!("{}/", root.to_string_lossy()), "");
            let warning =
                format!("spec/{helper}.rb does not load, so the new specs do without it: {error}");
            if !self.report.warnings.contains(&warning) {
                self.report.warnings.push(warning);
            }
        }
        Ok(())
    }

    /// The spec that is there. What could not be put back as it was is left alone.
    fn existing(&self, target: &Target) -> Result<Option<String>, String> {
        let path = self.root().join(&target.spec_path);
        let (Ok(root), Ok(real)) = (self.root().canonicalize(), path.canonicalize()) else {
            return Ok(None);
        };
        if !real.starts_with(&root) {
            return Err(format!(
                "{} is a link to a place outside of the project; nothing is written through it",
                target.spec_path
            ));
        }
        let bytes = fs::read(&path)
            .map_err(|error| format!("{} cannot be read: {error}", target.spec_path))?;
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(error) => Err(format!(
                "{} is not UTF-8 text (byte {}); convert it, then run again. It was left as it is",
                target.spec_path,
                error.utf8_error().valid_up_to() + 1
            )),
        }
    }

    fn fail(&mut self, target: &Target, mut report: FileReport, error: String) -> Result<(), Stop> {
        let file = target.source.path.clone();
        self.begun("implement", &file);
        self.ended("implement", &file, Ending::Failed, &error);
        if let Some((path, metadata)) = self.metadata.get_mut(&file) {
            metadata.note("errors", format!("test_implementer: {error}"));
            metadata.write(path)?;
        }
        self.answered(
            "implement",
            json!({
                "status": "error", "error": format!("{file} was not covered"), "details": error,
                "suggestion": "repair what the details name, then run again with --from implement",
            }),
        );
        report.error = Some(error);
        self.report.files.push(report);
        Ok(())
    }

    /// What the specs that are there reach already.
    fn before(&mut self, parts: &mut [Part<'_>], ground: &Ground) -> Result<(), Stop> {
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
            &ground.workshop,
            &ground.sandbox,
            (&old, &files),
            &[],
            &ground.effort,
        )?;
        for part in parts {
            part.report.before = covered(&measured.coverage, &part.target.source.path);
        }
        Ok(())
    }

    /// Observes, chooses, writes and verifies.
    fn write(
        &mut self,
        discovery: &Discovery,
        parts: &mut [Part<'_>],
        ground: &Ground,
    ) -> Result<(), Stop> {
        let sources: Vec<SourceFile> =
            parts.iter().map(|part| part.target.source.clone()).collect();
        let ways: Vec<Way> = parts.iter().map(|part| part.way.clone()).collect();
        let selected = selected(parts);
        let list = faults(&sources, 150);
        let (workshop, sandbox) = (&ground.workshop, &ground.sandbox);
        workshop.probe(&sources)?;
        self.note("implement", format!("observing {} methods", selected.len()));
        let observation = observe(
            &self.project,
            workshop,
            sandbox,
            (&sources, &discovery.all),
            &selected,
            &ways,
            &list,
            &ground.effort,
        )?;
        self.report.warnings.extend(observation.trouble.iter().take(3).cloned());
        let tasks: Vec<Task<'_>> = parts
            .iter()
            .zip(&sources)
            .zip(&ways)
            .enumerate()
            .map(|(index, ((part, file), way))| Task {
                index,
                file,
                way,
                spec: part.target.spec_path.clone(),
                existing: part.existing.clone(),
            })
            .collect();
        self.note("implement", "writing and verifying specs");
        let written = implement(workshop, sandbox, &tasks, &observation, &selected)?;
        workshop.restore(&sources)?;
        for (part, one) in parts.iter_mut().zip(&written) {
            take(&mut part.report, one);
            self.keep(one)?;
        }
        Ok(())
    }

    /// Puts a finished spec into the project and its marks into the metadata.
    fn keep(&mut self, one: &Written) -> Result<(), Stop> {
        if one.error.is_none() && one.examples + one.pending > 0 {
            self.put(&one.spec, &one.text)?;
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

    /// Writes a spec of the project, unless it says this already.
    pub(super) fn put(&self, spec: &str, text: &str) -> Result<(), Stop> {
        let path = self.root().join(spec);
        if fs::read(&path).ok().as_deref() != Some(text.as_bytes()) {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(&path, text)?;
        }
        Ok(())
    }

    fn implemented(&mut self, part: &Part<'_>) {
        let (file, report) = (&part.target.source.path, &part.report);
        if let Some(error) = &report.error {
            self.ended("implement", file, Ending::Failed, error);
            let answer = json!({
                "status": "error", "error": format!("{file} was not covered"), "details": error,
                "suggestion": "repair what the details name, then run again with --from implement",
            });
            self.answered("implement", answer);
            return;
        }
        let message = format!(
            "{} examples, {} pending, {} dropped",
            report.examples,
            report.pending.len(),
            report.dropped
        );
        self.ended("implement", file, Ending::Done, &message);
        let traits: BTreeSet<String> = self
            .metadata
            .get(file)
            .into_iter()
            .flat_map(|(_, metadata)| &metadata.factories)
            .filter_map(|one| one.trait_name.clone())
            .collect();
        let answer = json!({
            "status": "success",
            "data": {
                "files_created": [{ "path": part.target.spec_path, "examples_count": report.examples }],
                "pending": report.pending, "kept": report.kept, "filled": report.filled, "traits_known": traits,
            },
        });
        self.answered("implement", answer);
    }
}

/// The part of the effort that a wave gets: by its methods, but never next to nothing.
fn share(effort: &Effort, methods: usize, all: usize, waves: usize) -> Effort {
    if waves < 2 {
        return effort.clone();
    }
    #[expect(clippy::cast_precision_loss, reason = "numbers of methods are small")]
    let part = methods as f64 / all as f64;
    let of = |seconds: f64| (seconds * part).max(seconds.min(3.0));
    Effort {
        seconds: of(effort.seconds),
        mutation_seconds: of(effort.mutation_seconds),
        ..effort.clone()
    }
}

pub(super) fn files(parts: &[Part<'_>]) -> Vec<String> {
    parts.iter().map(|part| part.target.source.path.clone()).collect()
}

pub(super) fn covered(coverage: &BTreeMap<String, Covered>, file: &str) -> Covered {
    coverage.get(file).copied().unwrap_or_default()
}

fn selected(parts: &[Part<'_>]) -> BTreeSet<String> {
    let methods = parts.iter().flat_map(|part| &part.target.methods);
    methods.filter(|method| method.selected).map(|method| method.method_id.clone()).collect()
}

/// Takes over what was written.
fn take(report: &mut FileReport, one: &Written) {
    report.examples = one.examples;
    report.dropped = one.dropped;
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
    report.methods_covered = report.by_method.iter().filter(|method| method.examples > 0).count();
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
