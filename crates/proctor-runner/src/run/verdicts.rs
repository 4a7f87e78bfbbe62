//! The verdicts of a run's examples as results come in, and what settles early.
//!
//! The rules are those of `proctor-verdict`; this keeps a tally per example and remembers what was said about it. A pass rate settles
//! as soon as no outcome of the remaining repetitions can change it; they need not be run. Pure.

use proctor_events::{ExampleFinished, ExampleId};
use proctor_verdict::{Counts, ExampleTally, ExampleVerdict, PassRate, Policy, RateState};

use crate::example::Example;

/// The verdicts of a run, by the place of the example.
#[derive(Debug, Default)]
pub(super) struct Verdicts {
    examples: Vec<Tracked>,
    policy: Policy,
    failures: u64,
}

#[derive(Debug, Clone, Default)]
struct Tracked {
    tally: ExampleTally,
    pass_rate: Option<PassRate>,
    /// Repetitions without a result.
    open: u64,
    settled_announced: bool,
    missed_announced: bool,
}

impl Tracked {
    fn verdict(&self) -> ExampleVerdict {
        self.tally.verdict(self.pass_rate, self.open)
    }
}

impl Verdicts {
    /// Nothing has a result yet; each example says how often it is to run, at most.
    pub(super) fn new(examples: &[Example], policy: Policy) -> Self {
        let tracked = |example: &Example| Tracked {
            pass_rate: example.pass_rate.and_then(PassRate::new),
            open: u64::from(example.repeats.unwrap_or(1)),
            ..Tracked::default()
        };
        Self { examples: examples.iter().map(tracked).collect(), policy, failures: 0 }
    }

    /// A further example is known.
    pub(super) fn add(&mut self) {
        self.examples.push(Tracked { open: 1, ..Tracked::default() });
    }

    /// A repetition has ended for good. Says so, once, when that settles the pass rate of its example before the last one.
    pub(super) fn count(&mut self, example: usize, result: &ExampleFinished) -> Option<String> {
        let policy = self.policy;
        let tracked = self.examples.get_mut(example)?;
        let failed_before = tracked.verdict().is_failure(policy);
        tracked.open = tracked.open.saturating_sub(1);
        let flaky = result.flaky == Some(true);
        let fault = result.fault.as_ref();
        tracked.tally.count(&result.status, fault, flaky);
        tracked.tally.count_checks(&result.status, fault, result.checks);
        let verdict = tracked.verdict();
        self.failures += u64::from(verdict.is_failure(policy));
        self.failures -= u64::from(failed_before);
        let wanted = tracked.pass_rate?;
        let word = match verdict.rate_state()? {
            RateState::Reached => "reached",
            RateState::Missed => "out of reach",
            RateState::Open => return None,
        };
        if tracked.open == 0 || std::mem::replace(&mut tracked.settled_announced, true) {
            return None;
        }
        let rate = tracked.tally.rate();
        Some(format!("the pass rate of {} is {word}: {rate}", wanted.percent()))
    }

    /// No further repetition of the example will come.
    pub(super) fn close(&mut self, example: usize) {
        let policy = self.policy;
        let Some(tracked) = self.examples.get_mut(example) else { return };
        let failed_before = tracked.verdict().is_failure(policy);
        tracked.open = 0;
        self.failures += u64::from(tracked.verdict().is_failure(policy));
        self.failures -= u64::from(failed_before);
    }

    /// Whether it is known, since the last time this was asked, that the example misses its pass rate.
    pub(super) fn newly_missed(&mut self, example: usize) -> bool {
        let policy = self.policy;
        let Some(tracked) = self.examples.get_mut(example) else { return false };
        if tracked.pass_rate.is_none() {
            return false;
        }
        let missed = tracked.verdict().is_failure(policy);
        missed && !std::mem::replace(&mut tracked.missed_announced, true)
    }

    /// How many examples fail the run so far.
    pub(super) fn failures(&self) -> u64 {
        self.failures
    }

    /// The verdicts, counted.
    pub(super) fn counts(&self, errors: u64) -> Counts {
        let mut counts = Counts { errors, ..Counts::default() };
        for tracked in &self.examples {
            counts.count(tracked.verdict(), self.policy);
        }
        counts
    }

    /// The examples that fail the run.
    pub(super) fn failed(&self, examples: &[Example]) -> Vec<ExampleId> {
        let all = examples.iter().zip(&self.examples);
        let failed = all.filter(|(_, tracked)| tracked.verdict().is_failure(self.policy));
        failed.map(|(example, _)| example.id.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use proctor_events::{Fault, Status};

    use super::*;

    fn verdicts(pass_rate: Option<f64>, times: u64) -> Verdicts {
        let tracked = Tracked {
            pass_rate: pass_rate.and_then(PassRate::new),
            open: times,
            ..Tracked::default()
        };
        Verdicts { examples: vec![tracked], ..Verdicts::default() }
    }

    fn result(status: Status) -> ExampleFinished {
        ExampleFinished { status, ..ExampleFinished::default() }
    }

    #[test]
    fn a_rate_settles_when_the_rest_cannot_change_it() {
        let mut up = verdicts(Some(0.6), 5);
        assert_eq!(up.count(0, &result(Status::Passed)), None);
        assert_eq!(up.count(0, &result(Status::Passed)), None);
        let told = up.count(0, &result(Status::Passed)).unwrap();
        assert_eq!(told, "the pass rate of 60% is reached: passed 3 of 3 valid repetitions");
        assert_eq!(up.count(0, &result(Status::Passed)), None, "once");
        let mut down = verdicts(Some(0.8), 5);
        assert_eq!(down.count(0, &result(Status::Failed)), None);
        let told = down.count(0, &result(Status::Failed)).unwrap();
        assert!(told.contains("out of reach"), "{told}");
        assert_eq!((down.failures(), down.counts(0).failed), (1, 1));
    }

    #[test]
    fn a_missed_rate_is_announced_once_as_soon_as_it_is_known() {
        let mut missed = verdicts(Some(0.8), 5);
        missed.count(0, &result(Status::Failed));
        assert!(!missed.newly_missed(0));
        missed.count(0, &result(Status::Failed));
        assert!(missed.newly_missed(0) && !missed.newly_missed(0) && !missed.newly_missed(7));
        let mut held = verdicts(Some(0.5), 2);
        held.count(0, &result(Status::Failed));
        held.count(0, &result(Status::Passed));
        assert!(!held.newly_missed(0));
        assert_eq!((held.failures(), held.counts(0).within_rate), (0, 1));
        let mut silent = verdicts(Some(0.5), 1);
        silent.count(0, &result(Status::Inconclusive));
        assert!(silent.newly_missed(0), "nothing was shown");
        let mut plain = verdicts(None, 1);
        plain.count(0, &result(Status::Failed));
        assert!(!plain.newly_missed(0), "it demands no rate");
    }

    #[test]
    fn a_rate_is_missed_when_no_further_repetition_will_come() {
        let mut missed = verdicts(Some(0.8), 5);
        missed.count(0, &result(Status::Failed));
        assert_eq!((missed.failures(), missed.newly_missed(0)), (0, false));
        missed.close(0);
        missed.close(0);
        missed.close(7);
        assert_eq!((missed.failures(), missed.newly_missed(0)), (1, true));
    }

    #[test]
    fn excused_attempts_are_no_failures_of_a_rate() {
        let mut rated = verdicts(Some(0.5), 4);
        for (status, fault) in [
            (Status::Inconclusive, Some(Fault::Judge)),
            (Status::Errored, Some(Fault::Harness)),
            (Status::Failed, Some(Fault::Agent)),
            (Status::Passed, None),
        ] {
            rated.count(0, &ExampleFinished { fault, ..result(status) });
        }
        let counts = rated.counts(2);
        assert_eq!((counts.passed, counts.within_rate, counts.failures), (1, 1, 0));
        assert_eq!((counts.errors, rated.failures()), (2, 0));
    }

    #[test]
    fn what_checked_nothing_fails_the_run_where_the_policy_says_so() {
        let with = |checks| ExampleFinished { checks, ..result(Status::Passed) };
        let mut tolerant = verdicts(None, 2);
        tolerant.count(0, &with(Some(0)));
        assert_eq!(tolerant.counts(0).unchecked, 0, "another repetition is to come");
        tolerant.count(0, &with(Some(0)));
        assert_eq!((tolerant.counts(0).unchecked, tolerant.failures()), (1, 0));
        let strict = |rate, checks: &[Option<u64>]| {
            let mut strict = verdicts(rate, checks.len() as u64);
            strict.policy.unchecked_fails = true;
            for one in checks {
                strict.count(0, &with(*one));
            }
            let counts = strict.counts(0);
            assert_eq!(counts.failures, strict.failures());
            (counts.passed, counts.unchecked, counts.failures)
        };
        assert_eq!(strict(None, &[Some(0)]), (1, 1, 1));
        assert_eq!(strict(None, &[Some(3), Some(0)]), (1, 1, 1), "every repetition must show it");
        assert_eq!(strict(None, &[Some(3)]), (1, 0, 0));
        assert_eq!(strict(None, &[None]), (1, 0, 0), "what is not reported is not known");
        assert_eq!(strict(Some(0.5), &[Some(0), Some(0), Some(1), Some(1)]), (1, 0, 0));
        assert_eq!(strict(Some(0.5), &[Some(0), Some(0), Some(0), Some(0)]), (1, 1, 1));
    }

    #[test]
    fn examples_that_are_added_late_must_have_a_result() {
        let mut attended = Verdicts::default();
        attended.add();
        attended.add();
        attended.count(0, &result(Status::Passed));
        let counts = attended.counts(0);
        assert_eq!((counts.examples, counts.passed, counts.running), (2, 1, 1));
    }
}
