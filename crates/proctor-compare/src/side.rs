//! One side of a comparison: a run reduced to outcomes, durations, costs and checks.
//!
//! Which attempts count is decided by `proctor-verdict`: of every repetition the last one, as for its verdict and its pass rate. Attempts that
//! broke through no fault of what was tested, and those that never ran, count for neither side.

use std::collections::HashSet;

use proctor_record::{Attempt, CheckTally, Example, RunData, RunInfo, Tally};
use proctor_stats::{Arm, StopRule};
use proctor_verdict::{Evidence, PassRate, RunState, evidence};
use serde::{Deserialize, Serialize};

/// The version of a stored side.
pub const SIDE_VERSION: u32 = 1;

/// A run reduced to what a comparison needs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// The version of this form.
    pub v: u32,
    /// What people call it: `last~1`, `baseline main`, a run id.
    pub label: String,
    /// The run it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// When that run started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// The commit it ran on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// What the configuration it ran with hashes to (`config_fingerprint` of `run.json`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_fingerprint: Option<String>,
    /// Whether the run came to its end.
    pub complete: bool,
    /// The state of the run, in the words of `SuiteFinished.state`. Absent in sides stored by version 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Whether the run decided on further repetitions by the results so far (`--repeat auto`).
    #[serde(default, skip_serializing_if = "is_false")]
    pub adaptive: bool,
    /// How many lines of the recording could not be read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unreadable: u64,
    /// How many errors it had outside examples.
    #[serde(default)]
    pub errors: u64,
    /// Its examples.
    pub examples: Vec<ExampleResults>,
}

/// What one example did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ExampleResults {
    /// Its stable id.
    pub id: String,
    /// The file it stands in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its description chain.
    #[serde(default)]
    pub path: Vec<String>,
    /// Its description as one line.
    pub title: String,
    /// Attempts that count, one per repetition.
    #[serde(default)]
    pub trials: Vec<CountedAttempt>,
    /// How many repetitions did not count.
    #[serde(default)]
    pub not_counted: u64,
    /// The verdict of the example. Sides stored by version 0.1 have the status of the last repetition.
    pub status: String,
    /// Whether both outcomes were seen in this run, retries included.
    #[serde(default)]
    pub mixed: bool,
    /// The share of repetitions that must pass, where the example says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass_rate: Option<f64>,
    /// How many repetitions were planned, where it was more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<u32>,
    /// What the project declares of the example's agent or suite (`deterministic: true`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deterministic: Option<bool>,
    /// Whether the answers of its agent are a script.
    #[serde(default, skip_serializing_if = "is_false")]
    pub scripted: bool,
}

/// One attempt that counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CountedAttempt {
    /// Whether it passed.
    pub passed: bool,
    /// Whether something took part that may answer differently next time: a model, or an agent of unknown kind.
    #[serde(default)]
    pub model: bool,
    /// Whether `model` is set for an agent of unknown kind, and no model was seen.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unknown_agent: bool,
    /// How long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
    /// What its model calls cost, in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// What was checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
}

/// One check of a criterion.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The criterion.
    pub name: String,
    /// Whether it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
    /// Its score between 0 and 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

/// Why a stored side cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredSideError {
    /// It is not the JSON of a side.
    NotASide(String),
    /// It was written by a newer version.
    Newer(u32),
    /// Two of its examples have the same id.
    Duplicate(String),
}

impl std::fmt::Display for StoredSideError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotASide(problem) => write!(f, "not a baseline: {problem}"),
            Self::Duplicate(id) => write!(f, "not a baseline: two examples have the id {id}"),
            Self::Newer(found) => write!(
                f,
                "a baseline of version {found}, newer than {SIDE_VERSION}; upgrade proctor to use it"
            ),
        }
    }
}

impl std::error::Error for StoredSideError {}

impl Side {
    /// Reduces a run.
    pub fn of(run: &RunData, label: &str) -> Self {
        Self {
            v: SIDE_VERSION,
            label: label.to_owned(),
            run_id: run.run_id.as_ref().map(ToString::to_string),
            started_at: run.started_at.map(|time| time.to_string()),
            commit: None,
            config_fingerprint: None,
            complete: run.finished_at.is_some(),
            state: Some(run.verdict().state().word().to_owned()),
            adaptive: run.repeat_limit.is_some(),
            unreadable: 0,
            errors: run.errors.len() as u64,
            examples: run
                .examples
                .iter()
                .filter_map(|example| ExampleResults::of(example, run.over))
                .collect(),
        }
    }

    /// The same side with what is written down about its run beside its events.
    #[must_use]
    pub fn about(mut self, info: Option<RunInfo>) -> Self {
        if let Some(info) = info {
            self.commit = info.git.map(|git| git.commit);
            self.config_fingerprint = info.config_fingerprint;
        }
        self
    }

    /// Why nothing can be compared with this side, where that is so.
    pub(crate) fn obstacle(&self) -> Option<String> {
        let state = |state: RunState| self.state.as_deref() == Some(state.word());
        if self.unreadable > 0 {
            let lines = proctor_text::pluralize(self.unreadable, "line");
            return Some(format!("{lines} of its recording cannot be read"));
        }
        if state(RunState::DidNotLoad) {
            return Some(RunState::DidNotLoad.phrase().to_owned());
        }
        if state(RunState::NothingFound) || self.examples.is_empty() {
            return Some("it has no example".to_owned());
        }
        None
    }

    /// Reads a stored side.
    pub fn from_json(text: &str) -> Result<Self, StoredSideError> {
        #[derive(Deserialize)]
        struct Versioned {
            v: u32,
        }
        let not_a_side = |error: serde_json::Error| StoredSideError::NotASide(error.to_string());
        let found = serde_json::from_str::<Versioned>(text).map_err(not_a_side)?.v;
        if found > SIDE_VERSION {
            return Err(StoredSideError::Newer(found));
        }
        let side: Self = serde_json::from_str(text).map_err(not_a_side)?;
        // Examples are paired by id: of two with one id it would be chance which of them is compared.
        let mut known = HashSet::new();
        match side.examples.iter().find(|example| !known.insert(&*example.id)) {
            Some(twice) => Err(StoredSideError::Duplicate(twice.id.clone())),
            None => Ok(side),
        }
    }
}

impl ExampleResults {
    /// Reduces an example; `None` for events that belong to none.
    pub fn of(example: &Example, over: bool) -> Option<Self> {
        let id = example.id.as_ref()?.to_string();
        let deciding = example.deciding_attempts();
        let repeats_answers = example.deterministic.unwrap_or(example.scripted);
        let trials: Vec<CountedAttempt> =
            deciding.iter().filter_map(|attempt| trial(attempt, repeats_answers)).collect();
        let outcomes: Vec<bool> = example.attempts.iter().filter_map(outcome).collect();
        let verdict = example.verdict(over);
        Some(Self {
            id,
            file: example.file.clone(),
            path: example.path.clone(),
            title: example.title(),
            not_counted: (deciding.len() - trials.len()) as u64,
            trials,
            status: verdict.word().to_owned(),
            mixed: outcomes.contains(&true) && outcomes.contains(&false),
            pass_rate: example.pass_rate,
            planned: example.repeats,
            deterministic: example.deterministic,
            scripted: example.scripted,
        })
    }

    /// Passes and attempts.
    pub fn tally(&self) -> (u64, u64) {
        let passed = self.trials.iter().filter(|trial| trial.passed).count();
        (passed as u64, self.trials.len() as u64)
    }
}

impl ExampleResults {
    /// Its attempts as a test needs them: how many passed, and by which rule they ended.
    ///
    /// A pass rate ends an example as soon as it is settled. Repetitions that were under way at that moment may have added results;
    /// those beyond the first that settle it are left out, so that what remains follows from the rule alone.
    pub(crate) fn arm(&self) -> Arm {
        let (passed, attempts) = self.tally();
        let all = Arm::fixed((passed, attempts));
        let Some((needed, planned)) = self.settling() else { return all };
        let too_many = planned - needed + 1;
        let stop = StopRule::Settled { needed, planned };
        let (mut passed, mut failed) = (0, 0);
        for trial in &self.trials {
            if trial.passed {
                passed += 1;
            } else {
                failed += 1;
            }
            let settled = passed == needed || failed == too_many;
            if settled && (attempts < planned || passed + failed == planned) {
                return Arm { passed, attempts: passed + failed, stop };
            }
        }
        all
    }

    /// The attempts that are made whatever their outcome: all, or those that come before a pass rate can be settled.
    pub(crate) fn unconditional(&self) -> (u64, u64) {
        let Some((needed, planned)) = self.settling() else { return self.tally() };
        if self.arm().stop == StopRule::Fixed {
            return self.tally();
        }
        let least = usize::try_from(needed.min(planned - needed + 1)).unwrap_or(usize::MAX);
        let first = self.trials.iter().take(least);
        (first.clone().filter(|trial| trial.passed).count() as u64, first.count() as u64)
    }

    /// Passes that settle its pass rate, and the repetitions planned for it; `None` where it has no rate to settle.
    fn settling(&self) -> Option<(u64, u64)> {
        let rate = PassRate::new(self.pass_rate?)?;
        let planned = u64::from(self.planned?);
        let needed = (1..=planned).find(|passed| rate.is_reached_by(*passed, planned))?;
        Some((needed, planned))
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// The attempt that decides a repetition, where it says something.
fn trial(attempt: &Attempt, agent_repeats_answers: bool) -> Option<CountedAttempt> {
    let passed = outcome(attempt)?;
    let tally = attempt.tally();
    let model = involves_a_model(&tally, agent_repeats_answers);
    let unknown_agent = !agent_repeats_answers && is_unknown_agent(&tally);
    Some(CountedAttempt {
        passed,
        model: model || unknown_agent,
        unknown_agent: unknown_agent && !model,
        duration_ms: attempt.duration_ms.map(proctor_events::Millis::get),
        cost_usd: tally.cost_usd,
        checks: tally.checks.iter().filter_map(check).collect(),
    })
}

/// Whether an attempt speaks for what was tested, against it, or not at all.
fn outcome(attempt: &Attempt) -> Option<bool> {
    match evidence(attempt.status.as_ref()?, attempt.fault.as_ref()) {
        Evidence::For => Some(true),
        Evidence::Against => Some(false),
        Evidence::Nothing => None,
    }
}

/// Whether a model answered live. Scripted answers and answers from a cache or cassette come out the same every time, and so do
/// those of an agent that is declared deterministic.
fn involves_a_model(tally: &Tally, agent_repeats_answers: bool) -> bool {
    let of_agent = if agent_repeats_answers { tally.agent_calls } else { 0 };
    tally.open_calls > of_agent
}

/// Whether an agent answered whose model Proctor did not ask, so that it may be anything.
fn is_unknown_agent(tally: &Tally) -> bool {
    tally.replies > 0 && tally.agent_calls == 0
}

/// A check that has a name and came to something.
fn check(check: &CheckTally) -> Option<Check> {
    let has_result = check.passed.is_some() || check.score.is_some();
    let name = check.name.clone().filter(|_| has_result)?;
    Some(Check { name, passed: check.passed, score: check.score })
}
