//! Before code is executed: how each file is loaded, which spec is there, and what stands in the way.

use proctor_files::limits;
use serde_json::json;

use super::wave::{ExecutionSite, LoadedTarget};
use super::{FileReport, PipelineRun, StageOutcome};
use crate::discover::{Discovery, Target};
use crate::load_methods::find_load_methods;
use crate::project::SourceFile;
use crate::stop::Stop;

impl PipelineRun<'_> {
    /// Finds out how each file can be loaded. One that cannot be ends here, with the reason.
    pub(super) fn load<'t>(
        &mut self,
        discovery: &Discovery,
        targets: &[&'t Target],
        site: &ExecutionSite,
    ) -> Result<Vec<LoadedTarget<'t>>, Stop> {
        let sources: Vec<SourceFile> = targets.iter().map(|target| target.source.clone()).collect();
        let ways = find_load_methods(
            &self.project,
            &site.workshop,
            &site.sandbox,
            &sources,
            &discovery.all,
        )?;
        let mut parts: Vec<LoadedTarget<'t>> = Vec::new();
        for (target, way) in targets.iter().zip(ways) {
            let index = parts.len();
            let report = Self::file_report(target);
            let loaded = way.map_err(|error| format!("cannot be loaded: {error}"));
            match loaded.and_then(|way| Ok((way, self.existing_spec(target)?))) {
                Ok((way, existing)) => {
                    if let Some(warning) = &way.warning {
                        let file = &target.source.path;
                        self.report
                            .warnings
                            .push(format!("{file}: stored objects cannot be made: {warning}"));
                    }
                    parts.push(LoadedTarget { index, target, way, existing, report });
                }
                Err(error) => self.fail(target, report, error)?,
            }
        }
        self.check_helper(&mut parts, site)?;
        Ok(parts)
    }

    /// A helper that does not load is left out of the specs, and its error is shown.
    fn check_helper(
        &mut self,
        parts: &mut [LoadedTarget<'_>],
        site: &ExecutionSite,
    ) -> Result<(), Stop> {
        let helper = ["rails_helper", "spec_helper"]
            .into_iter()
            .find(|name| self.root().join(format!("spec/{name}.rb")).is_file());
        let Some(helper) = helper else { return Ok(()) };
        let line = format!("require \"{helper}\"");
        if parts.iter().all(|part| part.way.lines.contains(&line)) {
            return Ok(());
        }
        let root = &site.workshop.clean;
        let mut arguments: Vec<std::ffi::OsString> = Vec::new();
        for path in self.project.load_paths() {
            arguments.extend(["-I".into(), root.join(path).into()]);
        }
        let code = format!(
            "begin; require 'rspec'; require '{helper}'; rescue Exception => e; warn \"#{{e.class}}: #{{e.message.lines.first.to_s.strip}} (#{{e.backtrace&.first}})\"; exit!(1); end"
        );
        arguments.extend(["-e".into(), code.into()]);
        let finished =
            site.sandbox.run(&arguments, root, &[], std::time::Duration::from_secs(30))?;
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
    fn existing_spec(&self, target: &Target) -> Result<Option<String>, String> {
        let path = self.root().join(&target.spec_path);
        let (Ok(root), Ok(real)) = (self.root().canonicalize(), path.canonicalize()) else {
            return Ok(None);
        };
        if !real.starts_with(&root) {
            return Err(format!(
                "{} is a symbolic link that leads out of the project; proctor does not write through it",
                target.spec_path
            ));
        }
        let bytes = proctor_files::read(&path, limits::RUBY_SOURCE)
            .map_err(|error| format!("{} cannot be read: {error}", target.spec_path))?;
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(error) => Err(format!(
                "{} is not UTF-8 text (byte {}); convert the file, then run again. The file is unchanged",
                target.spec_path,
                error.utf8_error().valid_up_to() + 1
            )),
        }
    }

    fn fail(&mut self, target: &Target, mut report: FileReport, error: String) -> Result<(), Stop> {
        let file = target.source.path.clone();
        self.begun("implement", &file);
        self.ended("implement", &file, StageOutcome::Failed, &error);
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
}
