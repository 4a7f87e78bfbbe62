//! The review stage: specs are run by a runner, measured against faults, checked by rules and repaired where that is safe.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use proctor_files::limits;
use proctor_text::pluralize;
use serde_json::{Value, json};

use super::wave::{ExecutionSite, LoadedTarget, covered, files};
use super::{PipelineRun, StageOutcome};
use crate::metadata::hash;
use crate::observation::{ProjectCopies, faults, first_probe_of};
use crate::project::SourceFile;
use crate::review::branches::{self, ExecutedProbes};
use crate::review::fix::fix;
use crate::review::{Measured, measure, measure_at, rules};
use crate::stop::Stop;
use crate::verify::{self, RUN_CONDITIONS, RepeatedRuns, VerificationRun};

/// A spec that failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpecFailure {
    /// The spec file, relative to the root.
    pub spec: String,
    /// `file:line`
    pub place: String,
    /// The whole description.
    pub description: String,
    /// What went wrong.
    pub message: String,
}

/// What running specs gave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpecRun {
    /// Examples that passed.
    pub passed: usize,
    /// Examples that are pending.
    pub pending: usize,
    /// Examples that did not pass.
    pub failed: Vec<SpecFailure>,
    /// Why nothing could be run, or what failed outside of examples.
    pub error: Option<String>,
}

/// Runs spec files of a project (a scratch copy) and says what became of them.
pub trait SpecRunner {
    /// Runs these files, relative to `root`. A run that is not `shown` only compares.
    fn run(&self, root: &Path, specs: &[String], shown: bool) -> SpecRun;
}

impl PipelineRun<'_> {
    /// Reviews the parts of a wave; gives back which specs fail, if any do.
    pub(super) fn review(
        &mut self,
        parts: &mut [LoadedTarget<'_>],
        site: &ExecutionSite,
    ) -> Result<Option<String>, Stop> {
        let clean = &site.workshop.clean;
        let present: Vec<String> = parts
            .iter()
            .map(|part| part.target.spec_path.clone())
            .filter(|spec| clean.join(spec).is_file())
            .collect();
        for part in parts.iter() {
            self.begun("review", &part.target.source.path);
        }
        if self.helpers.fix {
            self.repair(parts, site)?;
        }
        let sources: Vec<SourceFile> =
            parts.iter().map(|part| part.target.source.clone()).collect();
        let list = faults(&sources, 150);
        let (mut measured, mut ran) = (Measured::default(), SpecRun::default());
        if !present.is_empty() {
            self.note("review", format!("running {}", pluralize(present.len(), "spec file")));
            let runner = self.helpers.runner;
            ran = runner.map(|runner| runner.run(clean, &present, true)).unwrap_or_default();
            self.note(
                "review",
                format!("running specs against {}", pluralize(list.len(), "fault")),
            );
            let files = files(parts);
            measured = measure(
                &self.project,
                &site.workshop,
                &site.sandbox,
                (&present, &files),
                &list,
                &site.effort,
            )?;
            // A runner that could run nothing at all says nothing about specs that do run.
            let nothing = ran.error.clone().filter(|_| ran.passed + ran.failed.len() == 0);
            if let Some(problem) = nothing.filter(|_| measured.error.is_none()) {
                let warning = format!(
                    "the runner could not run the specs, so they were run without it: {problem}"
                );
                self.report.warnings.push(warning);
                ran = run_from_measurement(&measured);
            } else if runner.is_none() {
                ran = run_from_measurement(&measured);
            }
            add_plain_run(&mut ran, &plain_run(&present, site)?);
        }
        let seen = self.executed_probes(&present, &sources, &ran, site)?;
        let survived = measured.survived.iter().map(|id| list[*id].clone());
        self.unnoticed.push(survived.collect());
        for (index, part) in parts.iter_mut().enumerate() {
            let file = part.target.source.path.clone();
            part.report.after = covered(&measured.coverage, &file);
            let count = |ids: &[usize], method: Option<&str>| {
                ids.iter()
                    .filter(|id| {
                        list[**id].file == file
                            && method.is_none_or(|method| list[**id].method == method)
                    })
                    .count()
            };
            part.report.killed = count(&measured.killed, None);
            part.report.faults = part.report.killed + count(&measured.survived, None);
            for method in &mut part.report.by_method {
                method.killed = count(&measured.killed, Some(&method.id));
                method.faults = method.killed + count(&measured.survived, Some(&method.id));
            }
            let probes =
                seen.as_ref().map(|seen| ExecutedProbes { seen, base: first_probe_of(index) });
            self.conclude(part, &ran, measured.error.as_deref(), probes.as_ref())?;
        }
        Ok(summary(&ran))
    }

    /// Rules, the metadata's part, the answer.
    fn conclude(
        &mut self,
        part: &mut LoadedTarget<'_>,
        ran: &SpecRun,
        error: Option<&str>,
        probes: Option<&ExecutedProbes<'_>>,
    ) -> Result<(), Stop> {
        let (file, spec) = (part.target.source.path.clone(), part.target.spec_path.clone());
        let text = proctor_files::read_text(&self.root().join(&spec), limits::RUBY_SOURCE)
            .unwrap_or_default();
        let mut findings = rules::check(&spec, &text);
        if let Some(probes) = probes {
            findings.extend(self.untaken_branches(part, &text, probes));
            findings.sort_by_key(|finding| (finding.line, finding.rule));
        }
        part.report.violations = findings.iter().map(|finding| violation(&spec, finding)).collect();
        let failed: Vec<_> = ran.failed.iter().filter(|failure| failure.spec == spec).collect();
        let passed = failed.is_empty() && ran.error.is_none() && part.report.error.is_none();
        part.report.passed = Some(passed);
        part.report.warnings.extend(
            failed.iter().map(|failure| {
                format!("{} failed: {}", failure.place, first_line(&failure.message))
            }),
        );
        part.report.warnings.extend(error.map(|error| format!("review: {error}")));
        let summary = json!({
            "tests_passed": passed, "violations": part.report.violations, "fixed": part.report.fixed,
            "failures": failed.iter().map(|failure| json!({ "location": failure.place, "description": failure.description, "message": failure.message })).collect::<Vec<_>>(),
            "methods_covered": part.report.methods_covered,
            "examples": part.report.examples, "pending": part.report.pending.len(), "open": part.report.pending,
            "before": part.report.before, "branches": part.report.after,
            "unreached": part.report.unreached().map(|(id, reason)| json!({ "method": id, "reason": reason })).collect::<Vec<_>>(),
            "killed": part.report.killed, "faults": part.report.faults,
        });
        let notes: Vec<String> = part
            .report
            .violations
            .iter()
            .map(|one| {
                format!(
                    "test_reviewer: rule {} at {}",
                    one["rule"],
                    one["location"].as_str().unwrap_or_default()
                )
            })
            .collect();
        self.update(&file, "test_reviewer", |metadata| {
            metadata.review = Some(summary.clone());
            metadata.spec_hash = hash(text.as_bytes());
            for note in notes {
                metadata.note("errors", note);
            }
        })?;
        let message = format!(
            "{}; {} of {} faults noticed, {} violations",
            if passed { "specs pass" } else { "specs fail" },
            part.report.killed,
            part.report.faults,
            part.report.violations.len()
        );
        self.ended(
            "review",
            &file,
            if passed { StageOutcome::Done } else { StageOutcome::Failed },
            &message,
        );
        self.answered("review", json!({ "status": "success", "data": summary }));
        Ok(())
    }

    /// Branches of the selected methods that no example of the spec takes.
    fn untaken_branches(
        &self,
        part: &LoadedTarget<'_>,
        text: &str,
        probes: &ExecutedProbes<'_>,
    ) -> Vec<rules::Finding> {
        let target = part.target;
        let is_wanted = |id: &str| {
            target.methods.iter().any(|method| method.selected && method.method_id == id)
        };
        let disabled = self.disabled(std::slice::from_ref(part));
        branches::check(&target.source.facts, text, probes, &is_wanted, &disabled)
    }

    /// What the specs execute, by a run with probes; `None` where they do not run.
    fn executed_probes(
        &mut self,
        specs: &[String],
        sources: &[SourceFile],
        ran: &SpecRun,
        site: &ExecutionSite,
    ) -> Result<Option<BTreeSet<u64>>, Stop> {
        if specs.is_empty() || ran.error.is_some() {
            return Ok(None);
        }
        let ProjectCopies { probed, clean, .. } = &site.workshop;
        for spec in specs {
            let to = probed.join(spec);
            if let Some(folder) = to.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::copy(clean.join(spec), to)?;
        }
        site.workshop.probe(sources)?;
        let names: Vec<&str> = specs.iter().map(String::as_str).collect();
        let measured = measure_at(
            probed,
            &self.project,
            &site.workshop,
            &site.sandbox,
            (&names, &[]),
            &[],
            &site.effort,
        );
        site.workshop.restore(sources)?;
        let measured = measured?;
        if let Some(error) = measured.error {
            let warning = format!("rules 5 and 8 were not checked: {}", first_line(&error));
            self.report.warnings.push(warning);
            return Ok(None);
        }
        Ok(Some(measured.seen))
    }

    /// Repairs what can be repaired safely. What makes a spec fail is taken back.
    fn repair(&mut self, parts: &mut [LoadedTarget<'_>], site: &ExecutionSite) -> Result<(), Stop> {
        for part in parts.iter_mut() {
            let spec = part.target.spec_path.clone();
            let copy = site.workshop.clean.join(&spec);
            let Ok(text) = proctor_files::read_text(&copy, limits::RUBY_SOURCE) else { continue };
            let fixed = fix(&spec, &text);
            if fixed.applied.is_empty() {
                continue;
            }
            let before = self.failures(&spec, site)?;
            fs::write(&copy, &fixed.text)?;
            if self.failures(&spec, site)? > before {
                fs::write(&copy, &text)?;
                part.report
                    .warnings
                    .push(format!("{spec}: repairs were taken back, the spec failed with them"));
                continue;
            }
            self.write_spec(&spec, &fixed.text)?;
            part.report.fixed =
                fixed.applied.iter().map(|finding| violation(&spec, finding)).collect();
        }
        Ok(())
    }

    fn failures(&self, spec: &str, site: &ExecutionSite) -> Result<usize, Stop> {
        let specs = [spec.to_owned()];
        let ran = match self.helpers.runner {
            Some(runner) => runner.run(&site.workshop.clean, &specs, false),
            None => run_from_measurement(&measure(
                &self.project,
                &site.workshop,
                &site.sandbox,
                (&specs, &[]),
                &[],
                &site.effort,
            )?),
        };
        Ok(ran.failed.len() + usize::from(ran.error.is_some()) * 1000)
    }
}

/// The specs as their users run them: plain RSpec with nothing of ours loaded, each file alone, then all together.
fn plain_run(specs: &[String], site: &ExecutionSite) -> Result<RepeatedRuns, Stop> {
    let how = RUN_CONDITIONS[0];
    let mut rounds = vec![VerificationRun::new(specs, how)];
    if specs.len() > 1 {
        rounds
            .extend(specs.iter().map(|spec| VerificationRun::new(std::slice::from_ref(spec), how)));
    }
    let ProjectCopies { programs, clean, .. } = &site.workshop;
    Ok(verify::run(&site.sandbox, programs, clean, &rounds, false)?)
}

/// What fails under plain RSpec has failed, whatever our own runner says: ours has more loaded.
fn add_plain_run(ran: &mut SpecRun, plain: &RepeatedRuns) {
    if ran.error.is_none() {
        ran.error = plain.error().map(|error| format!("plain rspec: {error}"));
    }
    for (spec, line) in &plain.failed {
        let place = format!("{spec}:{line}");
        if ran.failed.iter().any(|failure| failure.place == place) {
            continue;
        }
        let reason = plain.reason(&(spec.clone(), *line)).unwrap_or("failed").to_owned();
        ran.failed.push(SpecFailure {
            spec: spec.clone(),
            place,
            description: String::new(),
            message: reason,
        });
    }
}

fn violation(spec: &str, finding: &rules::Finding) -> Value {
    json!({
        "rule": finding.rule, "severity": finding.severity, "description": finding.message,
        "location": format!("{spec}:{}", finding.line), "fix": finding.fix, "fixable": finding.is_fixable,
    })
}

/// The results of the measurement itself, where there is no spec runner.
fn run_from_measurement(measured: &Measured) -> SpecRun {
    let failed = measured.failed_at.iter().zip(&measured.failed).map(
        |((file, line), (description, message))| SpecFailure {
            spec: file.clone(),
            place: format!("{file}:{line}"),
            description: description.clone(),
            message: message.clone(),
        },
    );
    SpecRun {
        passed: measured.passed,
        pending: measured.pending,
        failed: failed.collect(),
        error: measured.error.clone(),
    }
}

fn summary(ran: &SpecRun) -> Option<String> {
    if let Some(error) = &ran.error {
        return Some(first_line(error).to_owned());
    }
    let first = ran.failed.first()?;
    let more = if ran.failed.len() > 1 {
        format!(" and {} more", ran.failed.len() - 1)
    } else {
        String::new()
    };
    Some(format!("{} ({}){more}", first.place, first_line(&first.message)))
}

fn first_line(text: &str) -> &str {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim()
}
