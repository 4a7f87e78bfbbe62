//! Runs emitted specs with plain RSpec in a clean copy, under changed circumstances, and says which examples do not hold, and
//! which would hold but for another example that disturbs them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::time::Duration;

use proctor_files::limits;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::sandbox::Sandbox;

/// Spec and line of an example.
pub(crate) type ExampleLocation = (String, u64);

/// The results of several runs of the same specs, merged.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct RepeatedRuns {
    /// Examples that failed in at least one run.
    pub failed: BTreeSet<ExampleLocation>,
    /// Among them those that hold alone, each with the example after which it fails.
    pub disturbed: Vec<(ExampleLocation, ExampleLocation)>,
    /// Why each of the failed ones did, and under which circumstances.
    #[serde(default)]
    pub reasons: Vec<(ExampleLocation, String)>,
    /// How many passed, in the run in which fewest did.
    pub passed: usize,
    /// By run: why nothing could be run.
    pub errors: Vec<Option<String>>,
}

impl RepeatedRuns {
    /// Why the example at this place failed.
    pub(crate) fn reason(&self, place: &ExampleLocation) -> Option<&str> {
        self.reasons.iter().find(|(other, _)| other == place).map(|(_, reason)| reason.as_str())
    }

    /// The first reason why a run was none.
    pub(crate) fn error(&self) -> Option<&str> {
        self.errors.iter().flatten().next().map(String::as_str)
    }
}

/// The circumstances of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunConditions {
    /// RSpec's seed.
    pub seed: u32,
    /// Seconds by which the clock is moved.
    pub shift: u32,
    /// The time zone and other variables that code may look at. What a terminal can do is none of them: libraries that ask for it do so
    /// once, when they are loaded, and all their examples would fall.
    pub environment: &'static [(&'static str, &'static str)],
}

/// Different enough to show what depends on time, order or place.
pub(crate) const RUN_CONDITIONS: &[RunConditions] = &[
    RunConditions { seed: 1, shift: 0, environment: &[("TZ", "UTC")] },
    RunConditions {
        seed: 4242,
        shift: 3_481_217,
        environment: &[("TZ", "Asia/Tokyo"), ("COLUMNS", "41"), ("USER", "somebody")],
    },
    RunConditions {
        seed: 77,
        shift: 34_560_003,
        environment: &[("TZ", "America/New_York"), ("LINES", "13"), ("LOGNAME", "nobody")],
    },
];

/// Seeds for once more in other orders, when everything held.
const OTHER_SEEDS: &[u32] = &[3, 90, 511, 20_011, 8, 1_729, 65_000];

/// The same time and place in other orders.
pub(crate) fn conditions_in_other_orders() -> impl Iterator<Item = RunConditions> {
    OTHER_SEEDS.iter().map(|seed| RunConditions { seed: *seed, ..RUN_CONDITIONS[0] })
}

/// One run: some specs (relative to the root, perhaps with a line) under some circumstances.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct VerificationRun {
    specs: Vec<String>,
    seed: u32,
    shift: u32,
    environment: BTreeMap<&'static str, &'static str>,
}

impl VerificationRun {
    pub(crate) fn new(specs: &[String], how: RunConditions) -> Self {
        let environment = how.environment.iter().copied().collect();
        Self { specs: specs.to_vec(), seed: how.seed, shift: how.shift, environment }
    }
}

/// How long all runs of one verification may take.
const LIMIT: Duration = Duration::from_mins(10);
/// How many run at once.
const MAX_PARALLEL_RUNS: usize = 2;

/// Runs specs several times. With `halve`, who disturbs others is looked for.
pub(crate) fn run(
    sandbox: &Sandbox,
    programs: &Path,
    root: &Path,
    rounds: &[VerificationRun],
    halve: bool,
) -> io::Result<RepeatedRuns> {
    let folder = crate::scratch::private_folder("verify-", Some(root.parent().unwrap_or(root)))?;
    let (job, result) = (folder.path().join("job.json"), folder.path().join("result.json"));
    let wanted = json!({
        "root": root, "folder": folder.path(), "runs": rounds, "halve": halve, "jobs": MAX_PARALLEL_RUNS,
    });
    proctor_files::write_private(&job, wanted.to_string())?;
    let arguments = [programs.join("verify.rb").into(), job.into(), result.clone().into()];
    let finished = sandbox.run(&arguments, root, &[], LIMIT)?;
    let text = proctor_files::read_text(&result, limits::PROGRAM_OUTPUT).unwrap_or_default();
    Ok(serde_json::from_str(&text).unwrap_or_else(|_| {
        let words =
            if finished.timed_out { "the specs take too long" } else { "rspec gave no report" };
        let first: Vec<&str> =
            finished.stderr.lines().chain(finished.stdout.lines()).take(5).collect();
        let error = format!("{words}: {}", first.join(" / "));
        RepeatedRuns { errors: vec![Some(error)], ..RepeatedRuns::default() }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;

    const SPEC: &str = "\
RSpec.describe 'a queue' do
  queue = Queue.new

  it 'is empty' do
    expect(queue.length).to eq(0)
  end

  it 'takes something' do
    queue << 1
    expect(true).to be(true)
  end

  it 'is unconcerned' do
    expect(1).to eq(1)
  end

  it 'fails' do
    expect(1).to eq(2)
  end
end
";

    #[test]
    fn who_disturbs_another_example_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let programs = scratch::unpack(&base.join("programs")).unwrap();
        let root = base.join("copy");
        std::fs::create_dir_all(root.join("spec")).unwrap();
        std::fs::write(root.join("spec/queue_spec.rb"), SPEC).unwrap();
        let specs = ["spec/queue_spec.rb".to_owned()];
        let rounds: Vec<VerificationRun> =
            conditions_in_other_orders().map(|how| VerificationRun::new(&specs, how)).collect();
        let verdict = run(&Sandbox::new("ruby", None), &programs, &root, &rounds, true).unwrap();
        let at = |line: u64| (specs[0].clone(), line);
        assert_eq!(verdict.error(), None);
        assert_eq!(verdict.failed, BTreeSet::from([at(4), at(17)]));
        assert_eq!(verdict.disturbed, [(at(4), at(8))]);
        assert_eq!(verdict.passed, 2);
    }
}
