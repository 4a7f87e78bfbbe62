//! The review's measurements: statuses, branch coverage and faults noticed, by running the written specs.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::time::Duration;

use proctor_files::limits;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::observation::{Effort, Fault, ProjectCopies};
use crate::project::Project;
use crate::sandbox::Sandbox;

/// Coverage of one file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Covered {
    /// Branches there are.
    pub branches: u64,
    /// Branches taken.
    pub taken: u64,
    /// Lines there are.
    pub lines: u64,
    /// Lines executed.
    pub executed: u64,
}

/// What a review measured.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Measured {
    /// By file.
    pub coverage: BTreeMap<String, Covered>,
    /// Examples that passed, failed, are pending.
    pub passed: usize,
    /// Failed examples with their messages.
    pub failed: Vec<(String, String)>,
    /// Spec and line of failed examples, in the same order.
    pub failed_at: Vec<(String, u64)>,
    /// Answers of probes, where the code had some: twice the probe, plus one for yes.
    pub seen: BTreeSet<u64>,
    /// Pending examples.
    pub pending: usize,
    /// Faults noticed.
    pub killed: Vec<usize>,
    /// Faults not noticed.
    pub survived: Vec<usize>,
    /// Why nothing could be measured.
    pub error: Option<String>,
}

impl Measured {
    /// Noticed faults among those tried.
    #[must_use]
    pub fn score(&self) -> Option<f64> {
        let all = self.killed.len() + self.survived.len();
        #[expect(clippy::cast_precision_loss, reason = "counts are small")]
        let share = || self.killed.len() as f64 / all as f64;
        (all > 0).then(share)
    }
}

/// Runs specs in the clean copy with coverage, then every fault.
pub fn measure(
    project: &Project,
    workshop: &ProjectCopies,
    sandbox: &Sandbox,
    (specs, files): (&[String], &[String]),
    faults: &[Fault],
    effort: &Effort,
) -> io::Result<Measured> {
    let specs: Vec<&str> = specs.iter().map(String::as_str).collect();
    measure_at(&workshop.clean, project, workshop, sandbox, (&specs, files), faults, effort)
}

/// The same in a copy of one's choice. Specs may be followed by `:LINE`; probes of an instrumented copy are read.
pub(crate) fn measure_at(
    root: &Path,
    project: &Project,
    workshop: &ProjectCopies,
    sandbox: &Sandbox,
    (specs, files): (&[&str], &[String]),
    faults: &[Fault],
    effort: &Effort,
) -> io::Result<Measured> {
    let paths: Vec<_> = project.load_paths().iter().map(|path| root.join(path)).collect();
    let job = json!({
        "root": root, "load_paths": paths, "specs": specs, "files": files, "mutants": faults, "seed": 5,
        "seconds": effort.mutation_seconds, "mutant_seconds": 3.0, "jobs": effort.jobs, "memory": effort.memory,
    });
    let path = workshop.folder.path().join("review.json");
    let result = workshop.folder.path().join("reviewed.ndjson");
    proctor_files::write_private(&path, job.to_string())?;
    let arguments =
        [workshop.programs.join("review.rb").into(), path.into(), result.clone().into()];
    let limit = Duration::from_secs_f64(effort.mutation_seconds + 180.0);
    let finished = sandbox.run(&arguments, root, &[], limit)?;
    let mut measured = Measured::default();
    for line in
        proctor_files::read_text(&result, limits::PROGRAM_OUTPUT).unwrap_or_default().lines()
    {
        if let Ok(value) = serde_json::from_str::<Value>(line) {
            add_result(&mut measured, &value);
        }
    }
    if !finished.success && measured.error.is_none() {
        measured.error =
            Some(finished.stderr.lines().next().unwrap_or("the review ended early").to_owned());
    }
    Ok(measured)
}

fn add_result(measured: &mut Measured, value: &Value) {
    let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let number = |key: &str| value[key].as_u64().unwrap_or(0);
    match value["type"].as_str() {
        Some("example") => match value["status"].as_str() {
            Some("passed") => measured.passed += 1,
            Some("pending") => measured.pending += 1,
            _ => {
                measured.failed.push((text("description"), text("message")));
                measured.failed_at.push((text("file"), number("line")));
            }
        },
        Some("coverage") => {
            let covered = Covered {
                branches: number("branches"),
                taken: number("taken"),
                lines: number("lines"),
                executed: number("executed"),
            };
            measured.coverage.insert(text("file"), covered);
        }
        Some("mutant") => {
            let id = usize::try_from(number("id")).unwrap_or(0);
            match value["killed"].as_bool() {
                Some(true) => measured.killed.push(id),
                Some(false) => measured.survived.push(id),
                None => {}
            }
        }
        Some("seen") => {
            measured
                .seen
                .extend(value["keys"].as_array().into_iter().flatten().filter_map(Value::as_u64));
        }
        Some("load_error") => measured.error = Some(text("message")),
        _ => {}
    }
}
