//! Pass rates as gates: an example that is repeated passes if enough of its valid repetitions do.
//!
//! Repetitions that say nothing about the agent (inconclusive, or the fault of judge, simulator or harness) do not
//! count. A gate settles as soon as no outcome of the remaining repetitions can change it; they need not be run. Pure.

use std::collections::{HashMap, HashSet};

use proctor_events::{ExampleId, Fault, Status, StatusCounts};

use crate::example::Example;
use crate::plan::times;

/// The gates of a run, by example.
#[derive(Debug, Default)]
pub(super) struct Gates {
    gates: HashMap<usize, Gate>,
}

#[derive(Debug, Clone, Default)]
struct Gate {
    wanted: f64,
    passed: u64,
    valid: u64,
    /// Repetitions without a result.
    open: u64,
    /// Everything that ended, by status, to be taken out of the account if the gate holds.
    ended: Vec<Status>,
    told: bool,
    told_missed: bool,
}

impl Gate {
    /// Whether the rate is reached for certain, or missed for certain, or neither yet.
    fn verdict(&self) -> Option<bool> {
        // All that are open may fail, may pass, or may say nothing; the rate lies between the first two.
        let most = self.valid + self.open;
        if most == 0 {
            return None;
        }
        let (worst, best) = (share(self.passed, most), share(self.passed + self.open, most));
        match (worst >= self.wanted, best < self.wanted) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }

    fn holds(&self) -> bool {
        self.verdict() == Some(true)
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of repetitions")]
fn share(passed: u64, valid: u64) -> f64 {
    passed as f64 / valid as f64
}

impl Gates {
    pub(super) fn new(examples: &[Example], asked: u32) -> Self {
        let gated = examples.iter().enumerate().filter_map(|(place, example)| {
            let open = u64::from(times(example, asked));
            Some((place, Gate { wanted: example.pass_rate?, open, ..Gate::default() }))
        });
        Self { gates: gated.collect() }
    }

    /// A repetition has ended for good. Says so, once, when that settles its example before the last one.
    pub(super) fn count(
        &mut self,
        example: usize,
        status: &Status,
        fault: Option<&Fault>,
    ) -> Option<String> {
        let gate = self.gates.get_mut(&example)?;
        gate.open = gate.open.saturating_sub(1);
        gate.ended.push(status.clone());
        let says_nothing =
            matches!(
                status,
                Status::Inconclusive | Status::Pending | Status::Cancelled | Status::NotRun
            ) || matches!(fault, Some(Fault::Judge | Fault::Simulator | Fault::Harness));
        if !says_nothing {
            gate.valid += 1;
            gate.passed += u64::from(*status == Status::Passed);
        }
        let holds = gate.verdict().filter(|_| gate.open > 0 && !gate.told)?;
        gate.told = true;
        let Gate { passed, valid, wanted, .. } = gate;
        let word = if holds { "reached" } else { "out of reach" };
        Some(format!(
            "the pass rate of {}% is {word}: {passed} of {valid} valid repetitions passed",
            *wanted * 100.0
        ))
    }

    /// Whether it is known, since the last time somebody asked, that the example misses its rate.
    pub(super) fn newly_missed(&mut self, example: usize) -> bool {
        let Some(gate) = self.gates.get_mut(&example) else { return false };
        let missed = match gate.verdict() {
            Some(holds) => !holds,
            // Nothing valid ran: that is no pass.
            None => gate.open == 0,
        };
        missed && !std::mem::replace(&mut gate.told_missed, true)
    }

    /// The statuses that decide about the run: those of examples whose gate holds do not.
    pub(super) fn without_excused(&self, counts: &StatusCounts) -> StatusCounts {
        let mut counts = counts.clone();
        let mut held: Vec<&Gate> = Vec::new();
        held.extend(self.gates.values().filter(|gate| gate.holds()));
        for status in held.into_iter().flat_map(|gate| &gate.ended) {
            let counter = match status {
                Status::Failed => &mut counts.failed,
                Status::Inconclusive => &mut counts.inconclusive,
                Status::Errored | Status::Other(_) => &mut counts.errored,
                Status::Crashed => &mut counts.crashed,
                Status::TimedOut => &mut counts.timed_out,
                Status::NotRun => &mut counts.not_run,
                Status::Cancelled | Status::Passed | Status::Pending => continue,
            };
            *counter = counter.map(|count| count.saturating_sub(1));
        }
        counts
    }

    /// The examples whose gate holds.
    pub(super) fn excused(&self, examples: &[Example]) -> HashSet<ExampleId> {
        let held = examples
            .iter()
            .enumerate()
            .filter(|(place, _)| self.gates.get(place).is_some_and(Gate::holds));
        held.map(|(_, example)| example.id.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn gates(rate: f64, times: u32) -> Gates {
        let gate = Gate { wanted: rate, open: times.into(), ..Gate::default() };
        Gates { gates: [(0, gate)].into() }
    }

    #[test]
    fn it_settles_when_the_rest_cannot_change_it() {
        let mut up = gates(0.6, 5);
        assert_eq!(up.count(0, &Status::Passed, None), None);
        assert_eq!(up.count(0, &Status::Passed, None), None);
        let told = up.count(0, &Status::Passed, None).unwrap();
        assert_eq!(told, "the pass rate of 60% is reached: 3 of 3 valid repetitions passed");
        assert_eq!(up.count(0, &Status::Passed, None), None, "once");
        let mut down = gates(0.8, 5);
        assert_eq!(down.count(0, &Status::Failed, None), None);
        let told = down.count(0, &Status::Failed, None).unwrap();
        assert!(told.contains("out of reach"), "{told}");
    }

    #[test]
    fn what_says_nothing_does_not_count_and_what_is_excused_does_not_decide() {
        let mut gates = gates(0.5, 4);
        gates.count(0, &Status::Inconclusive, Some(&Fault::Judge));
        gates.count(0, &Status::Errored, Some(&Fault::Harness));
        gates.count(0, &Status::Failed, Some(&Fault::Agent));
        gates.count(0, &Status::Passed, None);
        let counts = StatusCounts {
            passed: Some(1),
            failed: Some(2),
            errored: Some(1),
            inconclusive: Some(1),
            ..StatusCounts::default()
        };
        let left = gates.without_excused(&counts);
        assert_eq!((left.failed, left.errored, left.inconclusive), (Some(1), Some(0), Some(0)));
    }

    #[test]
    fn a_missed_rate_is_told_once_as_soon_as_it_is_known() {
        let mut missed = gates(0.8, 5);
        missed.count(0, &Status::Failed, None);
        assert!(!missed.newly_missed(0));
        missed.count(0, &Status::Failed, None);
        assert!(missed.newly_missed(0) && !missed.newly_missed(0) && !missed.newly_missed(7));
        let mut held = gates(0.5, 2);
        held.count(0, &Status::Failed, None);
        held.count(0, &Status::Passed, None);
        assert!(!held.newly_missed(0));
        let mut silent = gates(0.5, 1);
        silent.count(0, &Status::Inconclusive, None);
        assert!(silent.newly_missed(0));
    }

    #[test]
    fn nothing_valid_is_no_pass() {
        let mut gates = gates(0.5, 1);
        gates.count(0, &Status::Inconclusive, None);
        assert!(gates.excused(&[]).is_empty());
        assert_eq!(gates.gates[&0].verdict(), None);
    }

    proptest! {
        /// Whatever is settled stays so, however the rest turns out; and in the end it is the plain rate.
        #[test]
        fn settled_is_settled(rate in 0.05_f64..1.0, outcomes in prop::collection::vec(0_usize..3, 1..12)) {
            let mut gates = gates(rate, u32::try_from(outcomes.len()).unwrap());
            let mut settled = None;
            for outcome in &outcomes {
                let status = [Status::Passed, Status::Failed, Status::Inconclusive][*outcome].clone();
                gates.count(0, &status, None);
                let now = gates.gates[&0].verdict();
                prop_assert!(settled.is_none() || now == settled, "{settled:?} then {now:?}");
                settled = now;
            }
            let count = |wanted: usize| outcomes.iter().filter(|outcome| **outcome == wanted).count() as u64;
            let (passed, valid) = (count(0), count(0) + count(1));
            let plain = (valid > 0).then(|| share(passed, valid) >= rate);
            prop_assert_eq!(settled, plain);
        }
    }
}
