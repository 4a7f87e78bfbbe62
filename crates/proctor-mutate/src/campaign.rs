//! The pure step of a mutation run: which trial comes next, and what the result of a trial means.
//!
//! A mutant is *put into force* in a fork of the loaded suite (`Mode::Fork`: one method is evaluated again, or its file is not loaded yet) or
//! in a suite that is loaded anew with the changed file (`Mode::Fresh`). A *control* is the same run with the code unchanged but put into force
//! in the same way (in a suite loaded anew once; then the example runs once more in the loaded suite): what also fails there was not noticed because of the mutant. A *confirmation* is the same run with the mutant once more:
//! an example that fails now and then, or because of what another process has left behind, does not fail twice for nothing.
//!
//! | state | input | next state |
//! |---|---|---|
//! | waiting | given out | running |
//! | running | all examples passed, in force | alive; unknown if an example that looked is not trusted |
//! | running | failed, in force, control known to pass | killed |
//! | running | failed, in force, no control yet | suspected |
//! | running | failed, in force, and passed when it ran again | unknown |
//! | running | failed by an example behind others | suspected, after the example was run alone: then it counts as confirmed, and its control is that of the example alone |
//! | running | all likely examples passed, or they could not be run, their spec files loaded anew | waiting, for all examples with all spec files |
//! | running | not in force, in a fork | waiting, to be loaded anew, with all mutants of the same place |
//! | running | not in force, loaded anew | unknown |
//! | running | the run itself broke | waiting, once; then unknown |
//! | suspected | enough controls passed, noticed while the suite was loaded | killed |
//! | suspected | enough controls passed, and confirmed already | killed |
//! | suspected | enough controls passed, noticed once by an example | controlled, to be run once more |
//! | controlled | noticed again, often enough | killed |
//! | controlled | all examples passed | unknown: the examples do not agree with themselves; what that example has killed is run more often |
//! | controlled | not in force, or the run itself broke | as running |
//! | suspected, controlled | a control failed in a fork | waiting, to be loaded anew, with the killed ones of the same place |
//! | suspected, controlled | a control failed by an example, loaded anew | waiting without that example, with all that it has killed |
//! | suspected | a control broke otherwise, loaded anew | unknown |
//! | alive, unknown | – | final |
//! | killed | as above | final but for these three |

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

/// Controls that must pass before the first kill by an example counts; the clean runs come on top.
const CONTROLS_OF_AN_EXAMPLE: u32 = 2;

/// How often a mutant must be noticed again; and by an example that has noticed another one only once.
const CONFIRMATIONS: u32 = 1;
const CONFIRMATIONS_OF_A_WAVERING_EXAMPLE: u32 = 3;

/// How a mutant is put into force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// In a fork of the loaded suite.
    Fork,
    /// In a suite that is loaded with the changed file.
    Fresh,
}

/// How much of a suite is loaded anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// The spec files of the examples that are run.
    Needed,
    /// Everything.
    Whole,
}

/// How a mutant was noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KilledBy {
    /// An example failed.
    Failure,
    /// An example did not end in time.
    TimeOut,
    /// The process of an example ended.
    Crash,
    /// A hook outside of examples failed.
    OutsideError,
    /// The suite could not be loaded.
    LoadError,
}

/// What became of a mutant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum MutantVerdict {
    /// Noticed.
    Killed {
        /// In which way.
        by: KilledBy,
        /// The example that noticed it, by its index; absent for errors outside of examples.
        example: Option<usize>,
        /// What it said.
        message: String,
    },
    /// In force, and all examples passed.
    Alive,
    /// No example reaches the code.
    NotCovered,
    /// Marked in the code as changing nothing.
    Equivalent {
        /// As marked.
        reason: String,
    },
    /// Nothing can be said.
    Unknown {
        /// Why.
        reason: String,
    },
}

/// A mutant as the campaign knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Mutants of one place are put into force in the same way: a method, or code outside of methods.
    pub place: usize,
    /// Its file.
    pub file: usize,
    /// How it is tried first.
    pub mode: Mode,
    /// The examples that look, in order.
    pub examples: Vec<usize>,
    /// Those of them that are tried first where the suite is loaded anew, with their spec files alone. If none of them notices the
    /// mutant, all are tried. Empty if that is not worth it.
    pub likely: Vec<usize>,
}

/// What a trial is for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Purpose {
    /// Whether an example notices the mutant.
    Mutant,
    /// Whether the example that has noticed it does so when it is run alone.
    Alone(Suspicion),
    /// Whether an example notices it again.
    Confirmation,
    /// Whether the examples pass with the code unchanged.
    Control(ControlKey),
    /// Whether an example passes once more in the loaded suite, into which nothing is put.
    Plain,
}

/// Something to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// The mutant; for a control, one whose place is controlled.
    pub mutant: usize,
    /// How the code is put into force.
    pub mode: Mode,
    /// How much is loaded anew.
    pub extent: Extent,
    /// The examples to run, in order.
    pub examples: Vec<usize>,
    purpose: Purpose,
}

impl Trial {
    /// Whether the code stays unchanged.
    #[must_use]
    pub fn is_control(&self) -> bool {
        matches!(self.purpose, Purpose::Control(_) | Purpose::Plain)
    }

    /// Whether nothing is put into force, not even the unchanged code.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.purpose == Purpose::Plain
    }
}

/// What a trial came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observation {
    /// In force; every example passed.
    Passed,
    /// In force; noticed by the example at this place of the trial's list, or by none.
    Noticed {
        /// In which way.
        by: KilledBy,
        /// Index into the trial's examples.
        at: Option<usize>,
        /// What was said.
        message: String,
        /// Whether the same run was made again, with the same result.
        again: bool,
    },
    /// Noticed by the example at this place, and not when it ran again.
    Unsteady {
        /// Index into the trial's examples.
        at: Option<usize>,
        /// What was said.
        message: String,
    },
    /// The changed code was not put into force.
    NotInForce(String),
    /// The run itself broke.
    Broke(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Waiting,
    Running,
    Suspected(Suspicion),
    Controlled(Suspicion),
    Done(MutantVerdict),
}

/// How a mutant was noticed, by the example at a place of the list that was run.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Suspicion {
    by: KilledBy,
    at: Option<usize>,
    message: String,
    examples: Vec<usize>,
}

impl Candidate {
    fn first_extent(&self) -> Extent {
        if self.mode == Mode::Fork || self.likely.is_empty() {
            Extent::Whole
        } else {
            Extent::Needed
        }
    }
}

impl Suspicion {
    fn verdict(self) -> MutantVerdict {
        let example = self.at.map(|at| self.examples[at]);
        MutantVerdict::Killed { by: self.by, example, message: self.message }
    }
}

#[derive(Debug, Clone)]
struct Entry {
    candidate: Candidate,
    state: State,
    broke: bool,
    /// How much of the suite is loaded anew for it.
    extent: Extent,
    /// Whether an example was left out because it is not trusted.
    has_distrusted: bool,
    /// How it was noticed, and how often again.
    confirmed: Option<(Suspicion, u32)>,
}

/// What a control stands for: the place (in a fork) or file (loaded anew), and the list of examples.
type ControlKey = (Mode, Extent, usize, Vec<usize>);

/// All mutants of a run and what is known of them.
#[derive(Debug, Clone, Default)]
pub struct Campaign {
    entries: Vec<Entry>,
    waiting: VecDeque<usize>,
    suspected: BTreeSet<usize>,
    /// Noticed by an example behind others, which is to be run alone.
    crowded: BTreeMap<usize, Suspicion>,
    /// Controlled ones that are not being confirmed yet.
    unconfirmed: BTreeSet<usize>,
    /// How many of the list's first examples passed in a control.
    controlled: BTreeMap<ControlKey, usize>,
    /// Controls that are running.
    open_controls: BTreeSet<ControlKey>,
    /// Examples that run once more with nothing put into force.
    open_plain: BTreeSet<usize>,
    /// How many controls an example has passed as the last one.
    passed_controls: BTreeMap<usize, u32>,
    /// Examples that failed with the code unchanged.
    distrusted: BTreeSet<usize>,
    /// Examples that noticed a mutant once and not a second time.
    wavering: BTreeSet<usize>,
}

impl Campaign {
    /// All candidates wait.
    #[must_use]
    pub fn new(candidates: Vec<Candidate>) -> Self {
        let entry = |candidate: Candidate| Entry {
            extent: candidate.first_extent(),
            candidate,
            state: State::Waiting,
            broke: false,
            has_distrusted: false,
            confirmed: None,
        };
        let entries: Vec<Entry> = candidates.into_iter().map(entry).collect();
        Self { waiting: (0..entries.len()).collect(), entries, ..Self::default() }
    }

    /// What is to be run next; `None` if nothing is, for now.
    pub fn next_trial(&mut self) -> Option<Trial> {
        self.next_alone()
            .or_else(|| self.next_control())
            .or_else(|| self.next_confirmation())
            .or_else(|| self.next_mutant())
    }

    /// Whether everything has a verdict.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.entries.iter().all(|entry| matches!(entry.state, State::Done(_)))
    }

    /// The verdict of a mutant, if it has one. A kill may still be taken back while trials run.
    #[must_use]
    pub fn verdict(&self, mutant: usize) -> Option<&MutantVerdict> {
        match &self.entries[mutant].state {
            State::Done(verdict) => Some(verdict),
            _ => None,
        }
    }

    /// How the mutant was put into force at last.
    #[must_use]
    pub fn mode(&self, mutant: usize) -> Mode {
        self.entries[mutant].candidate.mode
    }

    /// Examples that failed with the code unchanged.
    #[must_use]
    pub fn distrusted(&self) -> &BTreeSet<usize> {
        &self.distrusted
    }

    /// How many mutants have a verdict.
    #[must_use]
    pub fn decided(&self) -> usize {
        self.entries.iter().filter(|entry| matches!(entry.state, State::Done(_))).count()
    }

    fn next_mutant(&mut self) -> Option<Trial> {
        while let Some(mutant) = self.waiting.pop_front() {
            // It may have been put back twice, by two trials that ended at the same time.
            if self.entries[mutant].state != State::Waiting {
                continue;
            }
            let mut examples = self.trusted_examples(mutant);
            if examples.is_empty() && self.entries[mutant].extent == Extent::Needed {
                self.entries[mutant].extent = Extent::Whole;
                examples = self.trusted_examples(mutant);
            }
            let entry = &mut self.entries[mutant];
            if examples.is_empty() {
                let reason = "the only examples that look at it also fail with the code unchanged";
                entry.state = State::Done(MutantVerdict::Unknown { reason: reason.to_owned() });
                continue;
            }
            entry.state = State::Running;
            let (mode, extent) = (entry.candidate.mode, entry.extent);
            return Some(Trial { mutant, mode, extent, examples, purpose: Purpose::Mutant });
        }
        None
    }

    /// The run of one example that has noticed a mutant behind others.
    fn next_alone(&mut self) -> Option<Trial> {
        let (mutant, suspicion) = self.crowded.pop_first()?;
        let examples = vec![suspicion.examples[suspicion.at?]];
        let entry = &self.entries[mutant];
        let (mode, extent) = (entry.candidate.mode, entry.extent);
        Some(Trial { mutant, mode, extent, examples, purpose: Purpose::Alone(suspicion) })
    }

    fn trusted_examples(&mut self, mutant: usize) -> Vec<usize> {
        let entry = &self.entries[mutant];
        let all = match entry.extent {
            Extent::Whole => &entry.candidate.examples,
            Extent::Needed => &entry.candidate.likely,
        };
        let trusted: Vec<usize> =
            all.iter().copied().filter(|example| !self.distrusted.contains(example)).collect();
        let has_distrusted = trusted.len() < all.len();
        self.entries[mutant].has_distrusted = has_distrusted;
        trusted
    }

    fn key(&self, mutant: usize, mode: Mode, examples: &[usize]) -> ControlKey {
        let Entry { candidate, extent, .. } = &self.entries[mutant];
        let unit = match mode {
            Mode::Fork => candidate.place,
            Mode::Fresh => candidate.file,
        };
        (mode, *extent, unit, examples.to_vec())
    }

    /// The control that a suspected mutant needs, which is not running yet.
    fn next_control(&mut self) -> Option<Trial> {
        for mutant in self.suspected.iter().copied().collect::<Vec<_>>() {
            let State::Suspected(Suspicion { at, examples, .. }) = &self.entries[mutant].state
            else {
                continue;
            };
            let (at, examples) = (at.unwrap_or(0), examples.clone());
            let mode = self.entries[mutant].candidate.mode;
            let key = self.key(mutant, mode, &examples);
            // The suite was loaded with the unchanged file; that the example is steady shows in the loaded suite for less.
            let is_loaded = self.controlled.get(&key).is_some_and(|count| *count > at);
            if mode == Mode::Fresh && is_loaded {
                if !self.open_plain.insert(examples[at]) {
                    continue;
                }
                let (mode, extent) = (Mode::Fork, Extent::Whole);
                let examples = vec![examples[at]];
                return Some(Trial { mutant, mode, extent, examples, purpose: Purpose::Plain });
            }
            if !self.open_controls.insert(key.clone()) {
                continue;
            }
            let (examples, extent) = (examples[..=at].to_vec(), key.1);
            return Some(Trial { mutant, mode, extent, examples, purpose: Purpose::Control(key) });
        }
        None
    }

    /// The mutant of a suspicion that has passed its controls, with the examples up to the one that noticed it.
    fn next_confirmation(&mut self) -> Option<Trial> {
        while let Some(mutant) = self.unconfirmed.pop_first() {
            let entry = &self.entries[mutant];
            let State::Controlled(suspicion) = &entry.state else { continue };
            let last = suspicion.at.map_or(suspicion.examples.len(), |at| at + 1);
            let examples = suspicion.examples[..last].to_vec();
            let (mode, extent) = (entry.candidate.mode, entry.extent);
            return Some(Trial { mutant, mode, extent, examples, purpose: Purpose::Confirmation });
        }
        None
    }

    /// Takes the result of a trial that was given out.
    pub fn record(&mut self, trial: &Trial, observation: Observation) {
        match &trial.purpose {
            Purpose::Mutant => self.record_mutant(trial, observation),
            Purpose::Alone(suspicion) => self.record_alone(trial, suspicion.clone(), observation),
            Purpose::Confirmation => self.record_confirmation(trial, observation),
            Purpose::Control(key) => self.record_control(trial, key.clone(), observation),
            Purpose::Plain => self.record_plain(trial, observation),
        }
    }

    fn decide(&mut self, mutant: usize, verdict: MutantVerdict) {
        self.suspected.remove(&mutant);
        self.unconfirmed.remove(&mutant);
        self.entries[mutant].state = State::Done(verdict);
    }

    fn wait(&mut self, mutant: usize) {
        self.crowded.remove(&mutant);
        self.suspected.remove(&mutant);
        self.unconfirmed.remove(&mutant);
        self.entries[mutant].confirmed = None;
        self.entries[mutant].state = State::Waiting;
        self.waiting.push_back(mutant);
    }

    fn unknown(&mut self, mutant: usize, reason: String) {
        self.decide(mutant, MutantVerdict::Unknown { reason });
    }

    fn record_mutant(&mut self, trial: &Trial, observation: Observation) {
        let mutant = trial.mutant;
        if self.is_outdated(trial) {
            return self.wait(mutant);
        }
        match observation {
            Observation::Passed | Observation::Broke(_) | Observation::NotInForce(_)
                if self.is_first_try(trial) =>
            {
                self.entries[mutant].extent = Extent::Whole;
                self.wait(mutant);
            }
            Observation::Passed if self.entries[mutant].has_distrusted => {
                let reason = "an example that looks at it also fails with the code unchanged; the others pass";
                self.unknown(mutant, reason.to_owned());
            }
            Observation::Passed => self.decide(mutant, MutantVerdict::Alive),
            Observation::Noticed { by, at, message, again } => {
                let examples = trial.examples.clone();
                let suspicion = Suspicion { by, at, message, examples };
                if !again && at.is_some_and(|at| at > 0) {
                    self.entries[mutant].state = State::Suspected(suspicion.clone());
                    self.crowded.insert(mutant, suspicion);
                } else {
                    self.suspect(mutant, suspicion, again);
                }
            }
            Observation::Unsteady { at, message } => {
                self.give_up_unsteady(mutant, at.map(|at| trial.examples[at]), &message);
            }
            other => self.record_failed_run(trial, other),
        }
    }

    /// Whether only some of the examples that look have been run: if they say nothing, all are.
    fn is_first_try(&self, trial: &Trial) -> bool {
        trial.mode == Mode::Fresh
            && trial.extent == Extent::Needed
            && self.entries[trial.mutant].candidate.likely.len()
                < self.entries[trial.mutant].candidate.examples.len()
    }

    /// An example that notices a mutant without others before it needs a control without them, which many mutants share.
    fn record_alone(&mut self, trial: &Trial, crowded: Suspicion, observation: Observation) {
        if !matches!(self.entries[trial.mutant].state, State::Suspected(_)) {
            // An example before it lost its trust: the mutant waits already.
            return;
        }
        if self.is_outdated(trial) {
            return self.wait(trial.mutant);
        }
        match observation {
            Observation::Noticed { by, at: Some(at), message, .. } => {
                let examples = trial.examples.clone();
                let alone = Suspicion { by, at: Some(at), message, examples };
                self.suspect(trial.mutant, alone, true);
            }
            _ => self.suspect(trial.mutant, crowded, false),
        }
    }

    /// `again`: it was noticed twice.
    fn suspect(&mut self, mutant: usize, suspicion: Suspicion, again: bool) {
        // The examples behind the one that noticed it did not run.
        let last = suspicion.at.map_or(suspicion.examples.len(), |at| at + 1);
        let examples = suspicion.examples[..last].to_vec();
        let suspicion = Suspicion { examples, ..suspicion };
        self.entries[mutant].confirmed = again.then(|| (suspicion.clone(), 1));
        self.entries[mutant].state = State::Suspected(suspicion);
        self.suspected.insert(mutant);
        self.settle(mutant);
    }

    /// The place of its mutant was given up, or an example lost its trust, while it ran.
    fn is_outdated(&self, trial: &Trial) -> bool {
        let entry = &self.entries[trial.mutant];
        (trial.mode, trial.extent) != (entry.candidate.mode, entry.extent)
            || trial.examples.iter().any(|example| self.distrusted.contains(example))
    }

    /// A run with a mutant that says nothing of the mutant.
    fn record_failed_run(&mut self, trial: &Trial, observation: Observation) {
        let mutant = trial.mutant;
        match observation {
            Observation::Passed | Observation::Noticed { .. } | Observation::Unsteady { .. } => {}
            Observation::NotInForce(_) if trial.mode == Mode::Fork => self.load_anew(trial.mutant),
            Observation::NotInForce(reason) => {
                self.unknown(mutant, format!("could not be put into force: {reason}"));
            }
            Observation::Broke(reason) if self.entries[mutant].broke => {
                self.unknown(mutant, format!("could not be run: {reason}"));
            }
            Observation::Broke(_) => {
                self.entries[mutant].broke = true;
                self.wait(mutant);
            }
        }
    }

    fn record_confirmation(&mut self, trial: &Trial, observation: Observation) {
        let mutant = trial.mutant;
        let state = self.entries[mutant].state.clone();
        let State::Controlled(suspicion) = state else { return };
        if self.is_outdated(trial) {
            return self.wait(mutant);
        }
        match observation {
            Observation::Noticed { .. } => self.confirm(mutant, suspicion),
            Observation::Passed | Observation::Unsteady { .. } => {
                let example = suspicion.at.map(|at| suspicion.examples[at]);
                self.give_up_unsteady(mutant, example, &suspicion.message);
            }
            other => self.record_failed_run(trial, other),
        }
    }

    fn give_up_unsteady(&mut self, mutant: usize, example: Option<usize>, message: &str) {
        if let Some(example) = example {
            self.waver(example);
        }
        let first = message.lines().next().unwrap_or_default();
        self.unknown(mutant, format!("noticed once and not a second time: {first}"));
    }

    /// Counts that a mutant was noticed again.
    fn confirm(&mut self, mutant: usize, suspicion: Suspicion) {
        let count = self.entries[mutant].confirmed.as_ref().map_or(0, |(_, count)| *count) + 1;
        self.entries[mutant].confirmed = Some((suspicion.clone(), count));
        if count >= self.confirmations_needed(&suspicion) {
            self.decide(mutant, suspicion.verdict());
        } else {
            self.entries[mutant].state = State::Controlled(suspicion);
            self.unconfirmed.insert(mutant);
        }
    }

    fn confirmations_needed(&self, suspicion: &Suspicion) -> u32 {
        let example = suspicion.at.map(|at| suspicion.examples[at]);
        if example.is_some_and(|it| self.wavering.contains(&it)) {
            CONFIRMATIONS_OF_A_WAVERING_EXAMPLE
        } else {
            CONFIRMATIONS
        }
    }

    /// An example has noticed a mutant once and not again: what it has killed is run more often.
    fn waver(&mut self, example: usize) {
        if !self.wavering.insert(example) {
            return;
        }
        for mutant in 0..self.entries.len() {
            let entry = &self.entries[mutant];
            let (
                State::Done(MutantVerdict::Killed { example: Some(by), .. }),
                Some((suspicion, count)),
            ) = (&entry.state, entry.confirmed.clone())
            else {
                continue;
            };
            if *by == example && count < self.confirmations_needed(&suspicion) {
                self.entries[mutant].state = State::Controlled(suspicion);
                self.unconfirmed.insert(mutant);
            }
        }
    }

    /// Takes a suspicion further if the controls are there.
    fn settle(&mut self, mutant: usize) {
        let entry = &self.entries[mutant];
        let State::Suspected(suspicion) = entry.state.clone() else { return };
        let entry_mode = entry.candidate.mode;
        let key = self.key(mutant, entry_mode, &suspicion.examples);
        let last = suspicion.at.unwrap_or(0);
        let is_controlled = self.controlled.get(&key).is_some_and(|count| *count > last);
        let example = suspicion.at.map(|at| suspicion.examples[at]);
        let passes = example.map(|it| self.passed_controls.get(&it).copied().unwrap_or_default());
        if !is_controlled || passes.is_some_and(|passes| passes < CONTROLS_OF_AN_EXAMPLE) {
            return;
        }
        if suspicion.by == KilledBy::LoadError {
            return self.decide(mutant, suspicion.verdict());
        }
        self.suspected.remove(&mutant);
        let confirmed = self.entries[mutant].confirmed.as_ref().map_or(0, |(_, count)| *count);
        if confirmed >= self.confirmations_needed(&suspicion) {
            return self.decide(mutant, suspicion.verdict());
        }
        self.unconfirmed.insert(mutant);
        self.entries[mutant].state = State::Controlled(suspicion);
    }

    fn record_control(&mut self, trial: &Trial, key: ControlKey, observation: Observation) {
        self.open_controls.remove(&key);
        match observation {
            Observation::Passed => self.control_passed(trial, key),
            Observation::Noticed { .. }
            | Observation::Unsteady { .. }
            | Observation::NotInForce(_)
                if trial.mode == Mode::Fork =>
            {
                self.load_anew(trial.mutant);
            }
            Observation::Noticed { at: Some(at), .. }
            | Observation::Unsteady { at: Some(at), .. } => self.distrust(trial.examples[at]),
            Observation::Noticed { message: reason, .. }
            | Observation::Unsteady { message: reason, .. }
            | Observation::NotInForce(reason)
            | Observation::Broke(reason) => self.give_up_control(trial, &reason),
        }
    }

    fn record_plain(&mut self, trial: &Trial, observation: Observation) {
        let example = trial.examples[0];
        self.open_plain.remove(&example);
        match observation {
            Observation::Passed => self.steady(example),
            Observation::Noticed { .. } | Observation::Unsteady { .. } => self.distrust(example),
            Observation::NotInForce(reason) | Observation::Broke(reason) => {
                let is_waiting = matches!(self.entries[trial.mutant].state, State::Suspected(_));
                if is_waiting {
                    let why =
                        format!("the example that noticed it could not be run again: {reason}");
                    self.unknown(trial.mutant, why);
                }
            }
        }
    }

    /// An example has passed once more with the code unchanged.
    fn steady(&mut self, example: usize) {
        *self.passed_controls.entry(example).or_default() += 1;
        for mutant in self.suspected.clone() {
            self.settle(mutant);
        }
    }

    fn control_passed(&mut self, trial: &Trial, key: ControlKey) {
        let count = self.controlled.entry(key).or_default();
        *count = (*count).max(trial.examples.len());
        if let Some(last) = trial.examples.last() {
            self.steady(*last);
        }
    }

    /// Suspicions that wait for this control cannot be confirmed.
    fn give_up_control(&mut self, trial: &Trial, reason: &str) {
        for mutant in self.suspected.clone() {
            let candidate = &self.entries[mutant].candidate;
            let tried = &self.entries[trial.mutant].candidate;
            let same = match trial.mode {
                Mode::Fork => candidate.place == tried.place,
                Mode::Fresh => candidate.file == tried.file,
            };
            if same && candidate.mode == trial.mode {
                let why = format!("the unchanged code could not be run in the same way: {reason}");
                self.unknown(mutant, why);
            }
        }
    }

    /// The place of this mutant cannot be changed in a fork.
    fn load_anew(&mut self, mutant: usize) {
        let place = self.entries[mutant].candidate.place;
        for other in 0..self.entries.len() {
            let entry = &mut self.entries[other];
            if entry.candidate.place != place || entry.candidate.mode == Mode::Fresh {
                continue;
            }
            entry.candidate.mode = Mode::Fresh;
            entry.extent = entry.candidate.first_extent();
            let is_killed = matches!(entry.state, State::Done(MutantVerdict::Killed { .. }));
            let is_suspected = matches!(entry.state, State::Suspected(_) | State::Controlled(_));
            if is_killed || is_suspected || other == mutant {
                self.wait(other);
            }
        }
    }

    /// An example fails with the code unchanged: what it has noticed was not the mutant.
    fn distrust(&mut self, example: usize) {
        self.distrusted.insert(example);
        for mutant in 0..self.entries.len() {
            let is_its = match &self.entries[mutant].state {
                State::Done(MutantVerdict::Killed { example: Some(by), .. }) => *by == example,
                State::Suspected(it) | State::Controlled(it) => it.examples.contains(&example),
                _ => false,
            };
            if is_its {
                self.wait(mutant);
            }
        }
    }
}

#[cfg(test)]
mod tests;
