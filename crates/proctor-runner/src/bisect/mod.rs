//! `proctor bisect`: which examples make another one fail, found in parallel forks of one loaded suite.
//!
//! `target` and `minimize` decide, in pure code; `probe` makes one run. Here they meet: every run that may be made now is given a slot, and
//! runs whose result is of no interest any more are killed.

mod minimize;
mod probe;
mod target;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::Serialize;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::probe::ProbeResult;
pub use self::target::FailureRate;
use self::target::{Finding, Purpose, TargetSearch};
use crate::example::{Example, OutsideError};
use crate::plan::Selection;
use crate::suite::{OpenedSuite, Suite, SuiteEnvironment, SuiteError};
use crate::worker_link::WorkerLink;

/// How a search is made.
#[derive(Debug, Clone)]
pub struct BisectOptions {
    /// How many runs are made at a time.
    pub workers: u32,
    /// How long an example may take, in milliseconds.
    pub timeout: Option<u64>,
    /// How often everything is run to see a failure.
    pub attempts: u32,
    /// Which examples take part.
    pub selection: Selection,
}

/// What became of a search.
#[derive(Debug, Clone, Default, Serialize)]
pub struct BisectReport {
    /// The seed that orders the examples, if one does.
    pub seed: Option<u64>,
    /// How many examples take part.
    pub examples: usize,
    /// How many runs were made.
    pub runs: u32,
    /// How often everything was run to see a failure.
    pub attempts: u32,
    /// The examples that failed, in order.
    pub failures: Vec<ExplainedFailure>,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// What makes an example fail.
#[derive(Debug, Clone, Serialize)]
pub struct ExplainedFailure {
    /// The example that fails.
    pub example: BisectedExample,
    /// What it said.
    pub message: String,
    /// What was found out.
    pub finding: FindingKind,
    /// The examples that must run before it, in this order; empty unless they were found.
    pub culprits: Vec<BisectedExample>,
    /// How often it failed with them, or with everything before it.
    pub with: Option<FailureRate>,
    /// How often it failed without any other example.
    pub alone: Option<FailureRate>,
}

/// What can be found out about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// It fails with the culprits and passes without them; both were run again.
    Found,
    /// It needs no other example.
    FailsAlone,
    /// It failed once and never again.
    NotReproduced,
    /// A set was found, but it did not stand the last test.
    Unconfirmed,
}

/// An example as RSpec names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BisectedExample {
    /// `./spec/a_spec.rb[1:2]`.
    pub id: String,
    /// Its stable id.
    pub stable_id: String,
    /// The whole chain of descriptions.
    pub description: String,
    /// `file:line`.
    pub location: Option<String>,
}

impl BisectedExample {
    fn of(example: &Example) -> Self {
        Self {
            id: example.key.clone(),
            stable_id: example.id.to_string(),
            description: example.full_description.clone(),
            location: example.location.clone(),
        }
    }
}

/// How far a search is.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "plain data: each variant says what its fields are")]
pub enum BisectProgress<'a> {
    /// The suite is loaded.
    Loaded { examples: usize, seed: Option<u64> },
    /// Everything was run.
    RanAll { failed: usize, run: u32 },
    /// The search for one failure begins.
    Target { description: &'a str, number: usize, of: usize },
    /// So many examples are still suspected, after so many runs.
    Suspects { left: usize, runs: u32 },
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum BisectError {
    /// The runtime could not be started.
    #[error("cannot start the runtime: {0}")]
    Runtime(#[from] std::io::Error),
    /// The suite cannot be used.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// The suite could not be loaded.
    #[error("the suite could not be loaded")]
    DidNotLoad(Vec<OutsideError>),
    /// No example takes part.
    #[error("no example was found")]
    NothingFound,
    /// Nothing could be run.
    #[error("the examples could not be run: {0}")]
    NotRun(String),
    /// The search was stopped.
    #[error("the search was stopped")]
    Stopped,
}

/// Ends a search; clones end the same one.
#[derive(Debug, Clone, Default)]
pub struct BisectStop(CancellationToken);

impl BisectStop {
    /// Ends the search: its runs are killed.
    pub fn stop(&self) {
        self.0.cancel();
    }
}

/// Searches for what makes examples of a suite fail. `stop` ends the search.
pub fn bisect(
    suite: &Suite,
    environment: &SuiteEnvironment,
    options: &BisectOptions,
    BisectStop(stop): &BisectStop,
    progress: &mut dyn FnMut(BisectProgress<'_>),
) -> Result<BisectReport, BisectError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let environment = SuiteEnvironment { workers: 0, ..environment.clone() };
    runtime.block_on(async {
        let opened = tokio::select! {
            opened = suite.open(&environment) => opened?,
            () = stop.cancelled() => return Err(BisectError::Stopped),
        };
        let OpenedSuite { discovery, links, finish, .. } = opened;
        let searched = if discovery.errors.is_empty() {
            let examples = options.selection.apply(discovery.examples);
            let report = BisectReport {
                seed: discovery.seed,
                notes: discovery.notes,
                ..BisectReport::default()
            };
            let links = (0..options.workers.max(1)).map(links).collect();
            let mut search = Search::new(examples, links, options, stop, progress, report);
            search.run().await.map(|()| search.report)
        } else {
            Err(BisectError::DidNotLoad(discovery.errors))
        };
        finish(searched.is_err()).await;
        searched
    })
}

/// A slot and the number of processes it has had.
struct ProbeSlot {
    link: Arc<dyn WorkerLink>,
    number: u32,
    generation: u32,
}

struct Search<'a> {
    examples: Vec<Example>,
    slots: Vec<ProbeSlot>,
    options: &'a BisectOptions,
    stop: &'a CancellationToken,
    progress: &'a mut dyn FnMut(BisectProgress<'_>),
    report: BisectReport,
}

type Ended = (Purpose, ProbeSlot, ProbeResult);

impl<'a> Search<'a> {
    fn new(
        examples: Vec<Example>,
        links: Vec<Arc<dyn WorkerLink>>,
        options: &'a BisectOptions,
        stop: &'a CancellationToken,
        progress: &'a mut dyn FnMut(BisectProgress<'_>),
        mut report: BisectReport,
    ) -> Self {
        report.examples = examples.len();
        let slot = |(number, link)| ProbeSlot { link, number, generation: 0 };
        let slots = (0..).zip(links).map(slot).collect();
        Self { examples, slots, options, stop, progress, report }
    }

    async fn run(&mut self) -> Result<(), BisectError> {
        if self.examples.is_empty() {
            return Err(BisectError::NothingFound);
        }
        (self.progress)(BisectProgress::Loaded {
            examples: self.examples.len(),
            seed: self.report.seed,
        });
        let failures = self.first_failures().await?;
        let count = failures.len();
        let mut last_culprits: Option<Vec<usize>> = None;
        for (number, (place, message)) in failures.into_iter().enumerate() {
            let description = self.examples[place].full_description.clone();
            (self.progress)(BisectProgress::Target {
                description: &description,
                number: number + 1,
                of: count,
            });
            let guess = last_culprits.as_ref().map(|culprits| {
                culprits.iter().copied().filter(|culprit| *culprit < place).collect()
            });
            let finding = self.explain(place, guess).await?;
            if let Finding::Found { culprits, .. } = &finding {
                last_culprits = Some(culprits.clone());
            }
            let explained = self.explained(place, message, finding);
            self.report.failures.push(explained);
        }
        Ok(())
    }

    /// Runs everything until something fails; the failures of that run, by place.
    async fn first_failures(&mut self) -> Result<BTreeMap<usize, String>, BisectError> {
        let everything: Vec<usize> = (0..self.examples.len()).collect();
        for run in 1..=self.options.attempts.max(1) {
            let mut probes = JoinSet::new();
            let Some(slot) = self.slots.pop() else { break };
            self.start(&mut probes, slot, Purpose::With, &everything, &self.stop.child_token());
            let Some(Ok((_, slot, result))) = probes.join_next().await else { break };
            self.slots.push(slot);
            self.check_stop()?;
            self.report.attempts = run;
            if result.ended.is_empty() {
                return Err(BisectError::NotRun(result.problem.unwrap_or_default()));
            }
            let failed: BTreeMap<usize, String> = everything
                .iter()
                .filter_map(|place| {
                    let failure = result.ended.get(&self.examples[*place].key)?.clone()?;
                    Some((*place, failure))
                })
                .collect();
            (self.progress)(BisectProgress::RanAll { failed: failed.len(), run });
            if !failed.is_empty() {
                return Ok(failed);
            }
        }
        Ok(BTreeMap::new())
    }

    async fn explain(
        &mut self,
        place: usize,
        guess: Option<Vec<usize>>,
    ) -> Result<Finding, BisectError> {
        let mut search = TargetSearch::new((0..place).collect(), guess, self.options.attempts);
        let mut probes: JoinSet<Ended> = JoinSet::new();
        let mut cancels: VecDeque<(Purpose, CancellationToken)> = VecDeque::new();
        let mut suspects = usize::MAX;
        let target = self.examples[place].key.clone();
        loop {
            while search.finding().is_none()
                && !self.slots.is_empty()
                && let Some(probe) = search.next_probe()
            {
                let Some(slot) = self.slots.pop() else { break };
                let token = self.stop.child_token();
                cancels.push_back((probe.purpose, token.clone()));
                let places: Vec<usize> = probe.before.into_iter().chain([place]).collect();
                self.start(&mut probes, slot, probe.purpose, &places, &token);
            }
            let Some(joined) = probes.join_next().await else { break };
            let Ok((purpose, slot, result)) = joined else { continue };
            self.slots.push(slot);
            self.check_stop()?;
            // An example that did not get its turn, because its process died before, did not fail.
            search.record(purpose, result.failed(&target) == Some(true));
            for (purpose, token) in &cancels {
                if !search.wants(*purpose) {
                    token.cancel();
                }
            }
            cancels.retain(|(_, token)| !token.is_cancelled());
            if search.suspects() != suspects {
                suspects = search.suspects();
                (self.progress)(BisectProgress::Suspects {
                    left: suspects,
                    runs: self.report.runs,
                });
            }
        }
        search.finding().cloned().ok_or(BisectError::Stopped)
    }

    fn start(
        &mut self,
        probes: &mut JoinSet<Ended>,
        mut slot: ProbeSlot,
        purpose: Purpose,
        places: &[usize],
        token: &CancellationToken,
    ) {
        self.report.runs += 1;
        slot.generation += 1;
        let keys: Vec<String> =
            places.iter().map(|place| self.examples[*place].key.clone()).collect();
        let (limit, token) = (self.options.timeout, token.clone());
        probes.spawn(async move {
            let worker = (slot.number, slot.generation);
            let result = probe::run(Arc::clone(&slot.link), worker, keys, limit, token).await;
            (purpose, slot, result)
        });
    }

    fn check_stop(&self) -> Result<(), BisectError> {
        if self.stop.is_cancelled() { Err(BisectError::Stopped) } else { Ok(()) }
    }

    fn explained(&self, place: usize, message: String, finding: Finding) -> ExplainedFailure {
        let (kind, culprits, with, alone) = match finding {
            Finding::Found { culprits, with, alone } => {
                (FindingKind::Found, culprits, Some(with), Some(alone))
            }
            Finding::FailsAlone { alone } => {
                (FindingKind::FailsAlone, Vec::new(), None, Some(alone))
            }
            Finding::NotReproduced { with } => {
                (FindingKind::NotReproduced, Vec::new(), Some(with), None)
            }
            Finding::Unconfirmed { culprits, with, alone } => {
                (FindingKind::Unconfirmed, culprits, Some(with), Some(alone))
            }
        };
        let of = |place: &usize| BisectedExample::of(&self.examples[*place]);
        ExplainedFailure {
            example: of(&place),
            message,
            finding: kind,
            culprits: culprits.iter().map(of).collect(),
            with,
            alone,
        }
    }
}
