//! The suite without a mutant, twice: once with traced lines, once for its times. Both must be green.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use proctor_events::Status;
use proctor_runner::{Example, ForkedExample, ForkedRun, ForkedRunRequest, LoadedSuite};
use proctor_text::printable;
use serde_json::json;
use tokio::task::JoinSet;

use super::{MutateError, MutateSetup};
use crate::touched::TouchedCode;

/// A suite that hangs without a mutant is ended by its user.
const CLEAN_LIMIT: Duration = Duration::from_hours(24);

/// What the clean runs showed.
pub(super) struct CleanRun {
    /// Examples that passed in both, in order.
    pub(super) passing: Vec<usize>,
    /// Names of those that failed and are left out.
    pub(super) excluded: Vec<String>,
    pub(super) touched: TouchedCode,
    /// How long each took, in milliseconds.
    pub(super) times: Vec<f64>,
}

impl CleanRun {
    pub(super) async fn make(
        loaded: &LoadedSuite,
        setup: &MutateSetup,
    ) -> Result<Self, MutateError> {
        let examples = &loaded.discovery.examples;
        if examples.is_empty() {
            return Err(MutateError::NothingRan("the suite has none".to_owned()));
        }
        let index: HashMap<String, usize> =
            examples.iter().enumerate().map(|(at, it)| (it.key.clone(), at)).collect();
        let reply = loaded.discovery.mutation.clone().unwrap_or_default();
        let mut touched = TouchedCode::from_load(&reply);
        let mut judged = Judged::default();
        for is_traced in [true, false] {
            for run in run_all(loaded, setup, is_traced).await {
                if setup.stop.is_cancelled() {
                    return Err(MutateError::Stopped);
                }
                for notice in &run.notices {
                    touched.add(notice, &index);
                }
                judged.add(&run, &index);
            }
        }
        judged.conclude(examples, setup.exclude_failing, touched)
    }
}

/// What became of the examples over both runs.
#[derive(Default)]
struct Judged {
    passes: BTreeMap<usize, u32>,
    failed: BTreeMap<usize, String>,
    pending: BTreeSet<usize>,
    times: BTreeMap<usize, f64>,
    outside: Vec<String>,
    problems: Vec<String>,
}

impl Judged {
    fn add(&mut self, run: &ForkedRun, index: &HashMap<String, usize>) {
        for result in &run.results {
            let Some(example) = index.get(&result.key).copied() else { continue };
            // Of both runs the longer time counts.
            let time = self.times.entry(example).or_default();
            *time = time.max(result.duration_ms);
            match result.status {
                Status::Passed => *self.passes.entry(example).or_default() += 1,
                Status::Pending => drop(self.pending.insert(example)),
                _ => drop(self.failed.insert(example, result.message.clone())),
            }
        }
        if let (Some(key), Some(crash)) = (&run.open, &run.crash)
            && let Some(example) = index.get(key)
        {
            self.failed.insert(*example, crash.clone());
        }
        self.outside.extend(run.outside.iter().cloned());
        self.problems.extend(run.problem.iter().chain(&run.crash).cloned());
        let unprepared = run.prepared.as_ref().and_then(|it| it.get("not_prepared"));
        self.problems.extend(unprepared.map(ToString::to_string));
    }

    fn conclude(
        self,
        examples: &[Example],
        exclude_failing: bool,
        touched: TouchedCode,
    ) -> Result<CleanRun, MutateError> {
        let name = |(at, message): (&usize, &String)| {
            let line = message.lines().map(str::trim).find(|it| !it.is_empty()).unwrap_or_default();
            let example = &examples[*at];
            let place = example.location.as_deref().unwrap_or(&example.file);
            format!("{} ({place}): {}", example.full_description, printable(line))
        };
        let failing: Vec<String> = self.failed.iter().map(name).collect();
        if !failing.is_empty() && !exclude_failing {
            return Err(MutateError::NotGreen(failing));
        }
        if let Some(error) = self.outside.first() {
            return Err(MutateError::OutsideErrors(error.clone()));
        }
        let has_passed = |at: &usize| {
            self.passes.get(at) == Some(&2)
                && !self.failed.contains_key(at)
                && !self.pending.contains(at)
        };
        let passing: Vec<usize> = (0..examples.len()).filter(has_passed).collect();
        let is_known = |at: usize| {
            self.passes.contains_key(&at)
                || self.failed.contains_key(&at)
                || self.pending.contains(&at)
        };
        let lost = (0..examples.len()).filter(|at| !is_known(*at)).count();
        let problem = self.problems.first().cloned();
        if lost > 0 || passing.is_empty() {
            let why = problem.unwrap_or_else(|| {
                if lost > 0 {
                    format!("{lost} of {} examples gave no result", examples.len())
                } else {
                    "all are pending or fail".to_owned()
                }
            });
            return Err(MutateError::NothingRan(why));
        }
        let times = (0..examples.len()).map(|at| self.times.get(&at).copied().unwrap_or_default());
        Ok(CleanRun { passing, excluded: failing, touched, times: times.collect() })
    }
}

/// Runs all examples, in as many processes as there are workers.
async fn run_all(loaded: &LoadedSuite, setup: &MutateSetup, is_traced: bool) -> Vec<ForkedRun> {
    let mut running = JoinSet::new();
    let chunks = chunks(&loaded.discovery.examples, setup.workers.max(1) as usize);
    for (number, units) in (0..).zip(chunks) {
        let mut slot = loaded.slot(number, u32::from(is_traced));
        let request = ForkedRunRequest {
            prepare: Some(json!({ "trace": is_traced })),
            units,
            stop_at_failure: false,
            limit: CLEAN_LIMIT,
        };
        let stop = setup.stop.clone();
        running.spawn(async move { slot.run(&request, &stop).await });
    }
    let mut runs = Vec::new();
    while let Some(joined) = running.join_next().await {
        runs.extend(joined.ok());
    }
    runs
}

/// Cuts the examples into parts of about the same size. What has to stay together does.
fn chunks(examples: &[Example], parts: usize) -> Vec<Vec<Vec<ForkedExample>>> {
    let mut units: Vec<Vec<ForkedExample>> = Vec::new();
    let mut open = None;
    for example in examples {
        if example.unit.is_none() || open != example.unit {
            units.push(Vec::new());
        }
        open = example.unit;
        if let Some(unit) = units.last_mut() {
            unit.push(ForkedExample::of(example));
        }
    }
    let size = examples.len().div_ceil(parts).max(1);
    let mut chunks: Vec<Vec<Vec<ForkedExample>>> = Vec::new();
    let mut count = size;
    for unit in units {
        if count >= size {
            chunks.push(Vec::new());
            count = 0;
        }
        count += unit.len();
        if let Some(chunk) = chunks.last_mut() {
            chunk.push(unit);
        }
    }
    chunks
}
