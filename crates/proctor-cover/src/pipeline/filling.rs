//! What is left after observation: answers that were accepted before are put back, then a model is asked, if there is one.

use proctor_files::limits;

use super::wave::{ExecutionSite, LoadedTarget};
use super::{FileReport, PipelineRun, StageOutcome};
use crate::discover::Target;
use crate::fill::{
    AcceptedAnswer, Answer, AnswerGate, FillRequest, Filler, OpenItem, Refusal, open_items,
};
use crate::metadata::{KeptAnswer, hash};
use crate::stop::Stop;

/// How often a model is asked about one situation.
const MAX_TRIES: u32 = 3;

impl PipelineRun<'_> {
    /// Fills the specs of a wave.
    pub(super) fn fill(
        &mut self,
        parts: &mut [LoadedTarget<'_>],
        site: &ExecutionSite,
    ) -> Result<(), Stop> {
        for part in parts.iter_mut().filter(|part| part.report.error.is_none()) {
            self.fill_file(part.target, &mut part.report, site)?;
        }
        Ok(())
    }

    /// Files that need nothing else still have gaps that a model may fill.
    pub(super) fn fill_cached(&mut self, cached: &[&Target]) -> Result<(), Stop> {
        if self.helpers.filler.is_none() {
            return Ok(());
        }
        let mut site = None;
        for target in cached {
            let place = self.report.files.iter().position(|file| file.source == target.source.path);
            let Some(place) = place.filter(|place| !self.report.files[*place].pending.is_empty())
            else {
                continue;
            };
            let path = crate::metadata::path_for(&self.folder, &target.source.path);
            if let Ok(Some(metadata)) = crate::metadata::Metadata::read(&path) {
                self.metadata.insert(target.source.path.clone(), (path, metadata));
            }
            if site.is_none() {
                site = Some(self.execution_site()?);
            }
            let Some(site) = &site else { continue };
            let mut report = self.report.files.remove(place);
            self.begun("implement", &target.source.path);
            self.fill_file(target, &mut report, site)?;
            let message =
                format!("{} situations filled, {} left", report.filled, report.pending.len());
            self.ended("implement", &target.source.path, StageOutcome::Done, &message);
            report.cached = report.filled == 0;
            self.report.files.push(report);
        }
        Ok(())
    }

    fn fill_file(
        &mut self,
        target: &Target,
        report: &mut FileReport,
        site: &ExecutionSite,
    ) -> Result<(), Stop> {
        let Ok(mut spec) =
            proctor_files::read_text(&self.root().join(&target.spec_path), limits::RUBY_SOURCE)
        else {
            return Ok(());
        };
        let project = self.project.clone();
        let gate = AnswerGate {
            project: &project,
            workshop: &site.workshop,
            sandbox: &site.sandbox,
            source: &target.source,
            effort: &site.effort,
        };
        let mut given_up: Vec<String> = Vec::new();
        loop {
            self.check_stop()?;
            let Some((_, metadata)) = self.metadata.get(&target.source.path) else { return Ok(()) };
            let items = open_items(&target.source, &target.spec_path, &spec, metadata);
            let known = metadata.answers.clone();
            let next = items.into_iter().find(|item| !given_up.contains(&item.id));
            let Some(item) = next else { break };
            let outcome = match known.iter().find(|answer| answer.id == item.id) {
                Some(old) => gate
                    .judge(&item, &spec, &answer_from_cache(old))
                    .map_err(|refusal| vec![refusal]),
                None => match self.helpers.filler {
                    Some(filler) => self.ask_until_kept(filler, &gate, &item, &spec),
                    None => Err(Vec::new()),
                },
            };
            match outcome {
                Ok(accepted) => {
                    spec.clone_from(&accepted.text);
                    self.accept(target, &accepted, report)?;
                }
                Err(refusals) => {
                    report.refused.extend(refusals.iter().map(|refusal| {
                        format!("{} {}: {refusal}", item.method_id, item.contexts.join(" "))
                    }));
                    given_up.push(item.id);
                }
            }
        }
        Ok(())
    }

    /// Asks until an answer is kept, or often enough.
    fn ask_until_kept(
        &mut self,
        filler: &dyn Filler,
        gate: &AnswerGate<'_>,
        item: &OpenItem,
        spec: &str,
    ) -> Result<AcceptedAnswer, Vec<Refusal>> {
        let mut refusals: Vec<Refusal> = Vec::new();
        let mut last: Option<Answer> = None;
        for attempt in 1..=MAX_TRIES {
            self.note(
                "implement",
                format!(
                    "asking {} about {} {}",
                    filler.name(),
                    item.method_id,
                    item.contexts.join(" ")
                ),
            );
            let before = last.as_ref().zip(refusals.last());
            let answer = match filler.fill(&FillRequest { item, spec, attempt, before }) {
                Ok(answer) => answer,
                Err(error) => {
                    refusals.push(Refusal::new(
                        "machine",
                        error.to_string(),
                        "see the model's configuration",
                    ));
                    break;
                }
            };
            match gate.judge(item, spec, &answer) {
                Ok(accepted) => return Ok(accepted),
                Err(refusal) => {
                    self.note("implement", format!("not kept: {refusal}"));
                    refusals.push(refusal);
                    last = Some(answer);
                }
            }
        }
        Err(refusals)
    }

    fn accept(
        &mut self,
        target: &Target,
        accepted: &AcceptedAnswer,
        report: &mut FileReport,
    ) -> Result<(), Stop> {
        self.write_spec(&target.spec_path, &accepted.text)?;
        report.filled += 1;
        report.examples += 1;
        let context = format!("{} ", accepted.answer.method_id);
        if let Some(place) = report.pending.iter().position(|line| {
            line.starts_with(&context)
                && accepted.contexts.last().is_none_or(|name| line.contains(name.as_str()))
        }) {
            report.pending.remove(place);
        }
        if let Some(method) =
            report.by_method.iter_mut().find(|method| method.id == accepted.answer.method_id)
        {
            method.examples += 1;
            method.missing = None;
            method.pending = method.pending.saturating_sub(1);
        }
        report.methods_covered = report
            .by_method
            .iter()
            .filter(|method| method.examples > 0)
            .count()
            .max(report.methods_covered);
        let digest = hash(accepted.text.as_bytes());
        let answer = accepted.answer.clone();
        self.update(&target.source.path, "test_implementer", |metadata| {
            metadata.remember(answer, digest);
        })
    }
}

fn answer_from_cache(old: &KeptAnswer) -> Answer {
    Answer { description: Some(old.description.clone()), ..Answer::body(old.lines.join("\n")) }
}
