//! A run in numbers. Every number is of examples, each counted once by its verdict, unless its name says otherwise.

use proctor_events::StatusCounts;
use schemars::JsonSchema;
use serde::Serialize;

use crate::tables::Outcome;
use crate::{ExampleVerdict, Policy};

/// A run in numbers. The first ten add up to `examples`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
    /// Examples known so far.
    pub examples: u64,
    /// Examples that passed: those that are flaky or within their pass rate too.
    pub passed: u64,
    /// Examples that failed, or missed their pass rate.
    pub failed: u64,
    /// Examples that are skipped or known not to work yet.
    pub pending: u64,
    /// Examples of which nothing was shown.
    pub inconclusive: u64,
    /// Examples that broke down.
    pub errored: u64,
    /// Examples whose worker died.
    pub crashed: u64,
    /// Examples that ran longer than they may.
    pub timed_out: u64,
    /// Examples that were cut short on request.
    pub cancelled: u64,
    /// Examples that never started, or not as often as their verdict needs.
    pub not_run: u64,
    /// Examples without a verdict: they have not ended.
    pub running: u64,
    /// Of the passed examples, those that needed more than one attempt.
    pub flaky: u64,
    /// Of the passed examples, those with failures that their pass rate allows.
    pub within_rate: u64,
    /// Of the passed examples, those that checked nothing.
    pub unchecked: u64,
    /// Examples that fail the run.
    pub failures: u64,
    /// Repetitions that were begun or are to begin.
    pub repetitions: u64,
    /// Attempts that were made, retries included.
    pub attempts: u64,
    /// Errors outside examples.
    pub errors: u64,
}

impl Counts {
    /// Counts an example.
    pub fn count(&mut self, verdict: ExampleVerdict, policy: Policy) {
        self.examples += 1;
        let counter = match verdict.outcome() {
            Outcome::Passed | Outcome::Flaky | Outcome::WithinRate => &mut self.passed,
            Outcome::Failed => &mut self.failed,
            Outcome::Pending => &mut self.pending,
            Outcome::Inconclusive => &mut self.inconclusive,
            Outcome::Errored => &mut self.errored,
            Outcome::Crashed => &mut self.crashed,
            Outcome::TimedOut => &mut self.timed_out,
            Outcome::Cancelled => &mut self.cancelled,
            Outcome::NotRun => &mut self.not_run,
            Outcome::Running | Outcome::Unfinished => &mut self.running,
        };
        *counter += 1;
        self.flaky += u64::from(verdict.outcome() == Outcome::Flaky);
        self.within_rate += u64::from(verdict.outcome() == Outcome::WithinRate);
        self.unchecked += u64::from(verdict.is_unchecked());
        self.failures += u64::from(verdict.is_failure(policy));
    }

    /// The verdicts as the stream carries them: what did not occur is left out.
    pub fn to_event(&self) -> StatusCounts {
        let some = |count: u64| (count > 0).then_some(count);
        StatusCounts {
            passed: some(self.passed),
            failed: some(self.failed),
            pending: some(self.pending),
            inconclusive: some(self.inconclusive),
            errored: some(self.errored),
            crashed: some(self.crashed),
            timed_out: some(self.timed_out),
            cancelled: some(self.cancelled),
            not_run: some(self.not_run),
            flaky: some(self.flaky),
            within_rate: some(self.within_rate),
            unchecked: some(self.unchecked),
            ..StatusCounts::default()
        }
    }

    /// Examples that have a verdict.
    pub fn decided(&self) -> u64 {
        self.examples - self.running
    }

    /// Examples that gave no result although they were to run.
    pub fn missing(&self) -> u64 {
        self.cancelled + self.not_run
    }
}

#[cfg(test)]
mod tests {
    use proctor_events::Status;

    use super::*;
    use crate::{AttemptNumber, Observation};

    fn verdict(status: Option<&Status>, flaky: bool, checks: Option<u64>) -> ExampleVerdict {
        let one = Observation {
            number: AttemptNumber::FIRST,
            status,
            fault: None,
            is_final: true,
            flaky,
            checks,
        };
        ExampleVerdict::of(&[one], None, false)
    }

    #[test]
    fn every_example_is_counted_once() {
        let mut counts = Counts::default();
        for word in Status::KNOWN {
            counts.count(verdict(Some(&Status::from(*word)), false, None), Policy::default());
        }
        counts.count(verdict(Some(&Status::Passed), true, None), Policy::default());
        counts.count(verdict(Some(&Status::Passed), false, Some(0)), Policy::default());
        counts.count(verdict(None, false, None), Policy::default());
        let expected = Counts {
            examples: 12,
            passed: 3,
            failed: 1,
            pending: 1,
            inconclusive: 1,
            errored: 1,
            crashed: 1,
            timed_out: 1,
            cancelled: 1,
            not_run: 1,
            running: 1,
            flaky: 1,
            within_rate: 0,
            unchecked: 1,
            failures: 5,
            repetitions: 0,
            attempts: 0,
            errors: 0,
        };
        assert_eq!(counts, expected);
        assert_eq!((counts.decided(), counts.missing()), (11, 2));
        let event = counts.to_event();
        assert_eq!((event.passed, event.within_rate, event.unchecked), (Some(3), None, Some(1)));
        let ones = [event.failed, event.pending, event.inconclusive, event.errored, event.crashed];
        assert_eq!(ones, [Some(1); 5]);
        let ones = [event.timed_out, event.cancelled, event.not_run, event.flaky];
        assert_eq!(ones, [Some(1); 4]);
    }

    #[test]
    fn failures_within_a_rate_are_counted_as_that() {
        let failed = Status::Failed;
        let passed = Status::Passed;
        let attempt = |repeat, status| Observation {
            number: AttemptNumber { repeat, attempt: 1 },
            status: Some(status),
            fault: None,
            is_final: true,
            flaky: false,
            checks: None,
        };
        let verdict =
            ExampleVerdict::of(&[attempt(1, &failed), attempt(2, &passed)], Some(0.5), true);
        let mut counts = Counts::default();
        counts.count(verdict, Policy::default());
        assert_eq!((counts.passed, counts.within_rate, counts.failures), (1, 1, 0));
        assert_eq!(counts.to_event().within_rate, Some(1));
    }
}
