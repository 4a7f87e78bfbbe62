//! Makes the runs: loads the suite, runs it clean, then tries mutants in the slots until the campaign is over.
//!
//! Owns the processes and the temporary files of a run. Decides nothing: which examples look is `touched`, what comes next and what it
//! means is `campaign`.

mod clean_run;
mod trials;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proctor_runner::{
    Example, ForkSlot, LoadedSuite, OutsideError, Selection, Suite, SuiteEnvironment, SuiteError,
};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::clean_run::CleanRun;
use self::trials::TrialRunner;
use crate::campaign::{Campaign, Candidate, MutantVerdict, Observation, Trial};
use crate::plan::MutationPlan;
use crate::report::{LookingExample, MutantReport, MutantState, MutationReport};
use crate::stored_results::{StoredResults, StoredVerdict, world};
use crate::touched::Choice;

/// The version of the report.
const REPORT_VERSION: u32 = 1;
/// The runs without a mutant have the first generations of each slot.
const CAMPAIGN_GENERATIONS: u32 = 2;
/// How often verdicts are kept while the run goes on.
const SAVE_EVERY: Duration = Duration::from_secs(2);

/// How mutants are run.
pub struct MutateSetup {
    /// The suite.
    pub suite: Arc<Suite>,
    /// What it needs.
    pub environment: SuiteEnvironment,
    /// Which of its examples take part.
    pub selection: Selection,
    /// How many processes run at once.
    pub workers: u32,
    /// Whether examples that fail without a mutant are left out instead of refusing the run.
    pub exclude_failing: bool,
    /// An example may take so many times as long as in the clean run.
    pub time_factor: f64,
    /// And so much longer.
    pub time_floor: Duration,
    /// How much memory a process may take in addition to what the loaded suite has.
    pub memory_bytes: Option<u64>,
    /// Where verdicts are kept; none are if absent.
    pub results: Option<PathBuf>,
    /// Whether verdicts of earlier runs are used.
    pub resume: bool,
    /// How the suite is asked for, as far as it may decide verdicts.
    pub settings: String,
    /// Removes secrets from texts that are kept.
    pub redact: Box<dyn Fn(&str) -> String + Send + Sync>,
    /// Ends the run.
    pub stop: CancellationToken,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum MutateError {
    /// The runtime could not be started, or a temporary file not be written.
    #[error("cannot prepare the run: {0}")]
    System(#[from] std::io::Error),
    /// The suite cannot be used.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// The suite could not be loaded.
    #[error("the suite could not be loaded")]
    DidNotLoad(Vec<OutsideError>),
    /// No example ran.
    #[error("no example ran without a mutant, so none could notice one: {0}")]
    NothingRan(String),
    /// The suite fails already.
    #[error("{} without a mutant: {}", failing_words(.0.len()), .0.join("; "))]
    NotGreen(Vec<String>),
    /// Something outside of examples fails already.
    #[error("the suite has errors without a mutant: {0}")]
    OutsideErrors(String),
    /// The run was stopped before there was anything to report.
    #[error("the run was stopped")]
    Stopped,
}

fn failing_words(count: usize) -> String {
    if count == 1 { "one example fails".to_owned() } else { format!("{count} examples fail") }
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "plain data: each variant says what its fields are")]
pub enum MutateProgress {
    /// The suite is loaded.
    Loaded { examples: usize, load_ms: f64 },
    /// It passed twice without a mutant.
    Clean { examples: usize, took_ms: u128 },
    /// Examples were chosen for each mutant.
    Chosen { to_run: usize, not_covered: usize, equivalent: usize, reused: usize },
    /// So many have a verdict.
    Decided { decided: usize, of: usize, killed: usize, alive: usize },
}

/// Runs the mutants of a plan.
pub fn mutate(
    plan: &MutationPlan,
    setup: &MutateSetup,
    progress: &mut dyn FnMut(MutateProgress),
) -> Result<MutationReport, MutateError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut run = MutationRun::open(plan, setup).await?;
        let decided = run.conduct(progress).await;
        let MutationRun { loaded, report, .. } = run;
        loaded.close().await;
        decided.map(|()| report)
    })
}

struct MutationRun<'a> {
    plan: &'a MutationPlan,
    setup: &'a MutateSetup,
    loaded: LoadedSuite,
    trials: Arc<TrialRunner>,
    report: MutationReport,
    /// For each campaign's mutant, its index in the plan.
    candidates: Vec<usize>,
    /// The mutants whose verdicts are those of an earlier run, by their index in the plan.
    reused: Vec<usize>,
    stored: Option<StoredResults>,
}

impl<'a> MutationRun<'a> {
    async fn open(plan: &'a MutationPlan, setup: &'a MutateSetup) -> Result<Self, MutateError> {
        let trials = Arc::new(TrialRunner::new(setup)?);
        let environment = trials.watching_environment(plan)?;
        let loaded = tokio::select! {
            loaded = LoadedSuite::open(&setup.suite, &environment, &setup.selection) => loaded?,
            () = setup.stop.cancelled() => return Err(MutateError::Stopped),
        };
        let report = MutationReport {
            version: REPORT_VERSION,
            left_out: plan.left_out,
            notes: plan.notes.iter().chain(&loaded.discovery.notes).cloned().collect(),
            mutants: plan
                .mutants
                .iter()
                .map(|mutant| MutantReport::of(mutant, &plan.files[mutant.file]))
                .collect(),
            ..MutationReport::default()
        };
        Ok(Self {
            plan,
            setup,
            loaded,
            trials,
            report,
            candidates: Vec::new(),
            reused: Vec::new(),
            stored: None,
        })
    }

    async fn conduct(
        &mut self,
        progress: &mut dyn FnMut(MutateProgress),
    ) -> Result<(), MutateError> {
        let discovery = &self.loaded.discovery;
        if !discovery.errors.is_empty() {
            return Err(MutateError::DidNotLoad(discovery.errors.clone()));
        }
        let (examples, load_ms) = (discovery.examples.len(), discovery.load_ms);
        progress(MutateProgress::Loaded { examples, load_ms });
        let began = Instant::now();
        let clean = CleanRun::make(&self.loaded, self.setup).await?;
        self.report.examples = clean.passing.len();
        self.report.excluded.clone_from(&clean.excluded);
        let took_ms = began.elapsed().as_millis();
        progress(MutateProgress::Clean { examples: clean.passing.len(), took_ms });
        let candidates = self.choose(&clean, progress);
        self.run_campaign(candidates, &clean, progress).await;
        self.report.stopped = self.setup.stop.is_cancelled();
        self.report.summarize();
        Ok(())
    }

    /// Decides what needs no run, and makes candidates of the rest.
    fn choose(
        &mut self,
        clean: &CleanRun,
        progress: &mut dyn FnMut(MutateProgress),
    ) -> Vec<Candidate> {
        self.open_stored();
        let mut candidates = Vec::new();
        let places = first_places(self.plan);
        for (number, mutant) in self.plan.mutants.iter().enumerate() {
            let report = &mut self.report.mutants[number];
            if let Some(reason) = &mutant.change.equivalent {
                (report.state, report.message) = (MutantState::Equivalent, reason.clone());
                continue;
            }
            let file = &self.plan.files[mutant.file];
            let place = &file.places[mutant.change.place];
            let path = file.path.to_string_lossy();
            match clean.touched.choose(&path, &mutant.change, place, &clean.passing) {
                Choice::NotCovered => report.state = MutantState::NotCovered,
                Choice::Run { mode, examples, likely } => {
                    let looks = |it: &usize| looking(&self.loaded.discovery.examples[*it]);
                    report.looked = examples.iter().map(looks).collect();
                    let all = &self.loaded.discovery.examples;
                    let stored = self.stored.as_ref().and_then(|it| it.verdicts.get(&mutant.id));
                    if let Some(stored) = stored.filter(|it| it.holds_for(&examples, all)) {
                        report.reuse(stored, all);
                        self.report.reused += 1;
                        self.reused.push(number);
                        continue;
                    }
                    self.candidates.push(number);
                    let place = places[mutant.file] + mutant.change.place;
                    candidates.push(Candidate { place, file: mutant.file, mode, examples, likely });
                }
            }
        }
        let count = |state| self.report.mutants.iter().filter(|it| it.state == state).count();
        progress(MutateProgress::Chosen {
            to_run: candidates.len(),
            not_covered: count(MutantState::NotCovered),
            equivalent: count(MutantState::Equivalent),
            reused: self.report.reused,
        });
        candidates
    }

    fn open_stored(&mut self) {
        let Some(folder) = &self.setup.results else { return };
        let world = world(&self.setup.environment.root, &self.setup.settings);
        let mut stored = StoredResults::open(folder, world);
        if !self.setup.resume {
            stored.verdicts.clear();
        }
        self.stored = Some(stored);
    }

    async fn run_campaign(
        &mut self,
        candidates: Vec<Candidate>,
        clean: &CleanRun,
        progress: &mut dyn FnMut(MutateProgress),
    ) {
        let mut campaign = Campaign::new(candidates);
        let mut slots: Vec<(u32, ForkSlot)> = (0..self.setup.workers.max(1))
            .map(|number| (number, self.loaded.slot(number, CAMPAIGN_GENERATIONS)))
            .collect();
        let mut running: JoinSet<((u32, ForkSlot), Trial, Observation)> = JoinSet::new();
        let mut saved = Instant::now();
        let times = Arc::new(clean.times.clone());
        let keys: Arc<Vec<String>> =
            Arc::new(self.loaded.discovery.examples.iter().map(|it| it.key.clone()).collect());
        let load_ms = self.loaded.discovery.load_ms;
        while !self.setup.stop.is_cancelled() {
            while !slots.is_empty()
                && let Some(trial) = campaign.next_trial()
            {
                let Some((place, mut slot)) = slots.pop() else { break };
                let number = self.candidates[trial.mutant];
                let file = &self.plan.files[self.plan.mutants[number].file];
                let checkpoint = clean.touched.checkpoint(&file.path.to_string_lossy());
                let (trials, keys) = (Arc::clone(&self.trials), Arc::clone(&keys));
                let (times, stop) = (Arc::clone(&times), self.setup.stop.clone());
                let prepared = trials.prepare(self.plan, number, &trial);
                let resumed = prepared.as_ref().ok().and_then(|code| {
                    let limits = trials::Limits { keys: &keys, times: &times, load_ms };
                    let from = trials::Checkpoint {
                        loaded: &self.loaded,
                        number: checkpoint?,
                        slot: place,
                    };
                    trials.slot_from(&from, &trial, code, limits)
                });
                running.spawn(async move {
                    let seen = match prepared {
                        Ok(code) => {
                            let limits = trials::Limits { keys: &keys, times: &times, load_ms };
                            let slots = trials::Slots { forked: &mut slot, resumed };
                            trials.run(slots, &trial, &code, limits, &stop).await
                        }
                        Err(error) => Observation::Broke(error.to_string()),
                    };
                    ((place, slot), trial, seen)
                });
            }
            let Some(Ok((slot, trial, seen))) = running.join_next().await else { break };
            slots.push(slot);
            if self.setup.stop.is_cancelled() {
                break;
            }
            campaign.record(&trial, seen);
            if saved.elapsed() >= SAVE_EVERY {
                saved = Instant::now();
                self.adopt(&campaign);
                self.save();
                progress(self.decided(&campaign));
            }
        }
        // Whatever still runs was killed by the stop; its processes must be gone before the suite is closed.
        while running.join_next().await.is_some() {}
        self.adopt(&campaign);
        self.save();
        progress(self.decided(&campaign));
    }

    fn decided(&self, campaign: &Campaign) -> MutateProgress {
        let count = |state| self.report.with_state(state).count();
        MutateProgress::Decided {
            decided: campaign.decided(),
            of: self.candidates.len(),
            killed: count(MutantState::Killed),
            alive: count(MutantState::Alive),
        }
    }

    /// Takes the verdicts of the campaign over into the report. One that was taken back is open again.
    fn adopt(&mut self, campaign: &Campaign) {
        let examples = &self.loaded.discovery.examples;
        for (mutant, number) in self.candidates.iter().enumerate() {
            let report = &mut self.report.mutants[*number];
            (report.state, report.killed_by, report.example) = (MutantState::NotRun, None, None);
            report.message.clear();
            report.mode = Some(campaign.mode(mutant));
            match campaign.verdict(mutant) {
                None | Some(MutantVerdict::NotCovered | MutantVerdict::Equivalent { .. }) => {}
                Some(MutantVerdict::Alive) => report.state = MutantState::Alive,
                Some(MutantVerdict::Unknown { reason }) => {
                    (report.state, report.message) = (MutantState::Unknown, reason.clone());
                }
                Some(MutantVerdict::Killed { by, example, message }) => {
                    (report.state, report.killed_by) = (MutantState::Killed, Some(*by));
                    report.message.clone_from(message);
                    report.example = example.map(|it| looking(&examples[it]));
                }
            }
        }
        let name = |it: &usize| examples[*it].full_description.clone();
        self.report.distrusted = campaign.distrusted().iter().map(name).collect();
        let distrusted: Vec<LookingExample> =
            campaign.distrusted().iter().map(|it| looking(&examples[*it])).collect();
        for number in &self.reused {
            let report = &mut self.report.mutants[*number];
            if report.example.as_ref().is_some_and(|it| distrusted.contains(it)) {
                (report.state, report.killed_by, report.example) =
                    (MutantState::Unknown, None, None);
                let reason = "the example that noticed it in an earlier run also fails with the code unchanged";
                reason.clone_into(&mut report.message);
            }
        }
    }

    /// Keeps the verdicts. That they cannot be kept costs only time later.
    fn save(&mut self) {
        let Some(stored) = &mut self.stored else { return };
        let examples = &self.loaded.discovery.examples;
        for number in self.candidates.iter().chain(&self.reused) {
            let report = &self.report.mutants[*number];
            let Some(verdict) = report.to_stored(examples, &self.setup.redact) else {
                stored.verdicts.remove(&report.id);
                continue;
            };
            stored.verdicts.insert(report.id.clone(), verdict);
        }
        if let Err(error) = stored.save() {
            let note = format!("the verdicts cannot be kept for a later run: {error}");
            if !self.report.notes.contains(&note) {
                self.report.notes.push(note);
            }
        }
    }
}

/// The number of the first place of each file, counted over all files.
fn first_places(plan: &MutationPlan) -> Vec<usize> {
    let mut next = 0;
    let first = |file: &crate::plan::PlannedFile| {
        let first = next;
        next += file.places.len();
        first
    };
    plan.files.iter().map(first).collect()
}

fn looking(example: &Example) -> LookingExample {
    LookingExample {
        description: example.full_description.clone(),
        location: example.location.clone().unwrap_or_else(|| example.file.clone()),
    }
}

impl StoredVerdict {
    /// Whether the example that noticed the mutant is still one that looks at it.
    fn holds_for(&self, looking: &[usize], examples: &[Example]) -> bool {
        self.example
            .as_ref()
            .is_none_or(|id| looking.iter().any(|it| examples[*it].id.as_str() == id))
    }
}

impl MutantReport {
    fn reuse(&mut self, stored: &StoredVerdict, examples: &[Example]) {
        self.state =
            if stored.killed_by.is_some() { MutantState::Killed } else { MutantState::Alive };
        self.killed_by = stored.killed_by;
        self.message.clone_from(&stored.message);
        self.mode = Some(stored.mode);
        let ids: BTreeMap<&str, &Example> =
            examples.iter().map(|it| (it.id.as_str(), it)).collect();
        let example = stored.example.as_deref().and_then(|id| ids.get(id));
        self.example = example.map(|it| looking(it));
    }

    fn to_stored(
        &self,
        examples: &[Example],
        redact: &(dyn Fn(&str) -> String + Send + Sync),
    ) -> Option<StoredVerdict> {
        if !matches!(self.state, MutantState::Killed | MutantState::Alive) {
            return None;
        }
        let same = |it: &&Example| self.example.as_ref() == Some(&looking(it));
        Some(StoredVerdict {
            killed_by: self.killed_by,
            example: examples.iter().find(same).map(|it| it.id.to_string()),
            message: redact(&self.message),
            mode: self.mode?,
        })
    }
}
