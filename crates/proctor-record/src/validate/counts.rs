//! The numbers of a run of version 0.1, which counts every repetition: what `SuiteFinished` counts must be what was recorded.

use proctor_events::{ExampleFinished, StatusCounts, SuiteFinished};
use proctor_verdict::{Counts, ExampleTally, Policy};

use super::Findings;

/// Final results, each counted by the verdict that it alone gives.
#[derive(Debug, Default)]
pub(super) struct ResultCounts {
    counts: Counts,
    /// Errors outside examples.
    pub(super) errors: u64,
    /// Whether an example may fail within its pass rate.
    pub(super) pass_rates: bool,
}

impl ResultCounts {
    /// Counts a result, if it is final.
    pub(super) fn add(&mut self, payload: &ExampleFinished) {
        if !payload.r#final.unwrap_or(true) {
            return;
        }
        let mut tally = ExampleTally::default();
        // The party at fault does not matter to these counts.
        tally.count(&payload.status, None, payload.flaky == Some(true));
        self.counts.count(tally.verdict(None, 0), Policy::default());
    }

    /// How many of the results are `not_run`.
    pub(super) fn not_run(&self) -> u64 {
        self.counts.not_run
    }

    /// Compares with what the end of the run says. False if they differ.
    pub(super) fn compare(&self, line: u64, end: &SuiteFinished, findings: &mut Findings) -> bool {
        let mut agree = true;
        let mut differ = |message: String| {
            findings.error(Some(line), message);
            agree = false;
        };
        let mut same = |what: &str, counted: u64, recorded: u64| {
            if counted != recorded {
                differ(format!("counts {counted} {what}, but {recorded} are recorded"));
            }
        };
        if let Some(counts) = &end.counts {
            for (status, counted, recorded) in self.pairs(counts) {
                same(status, counted.unwrap_or_default(), recorded);
            }
        }
        if let Some(pending) = end.pending_count {
            same("pending results", pending, self.counts.pending);
        }
        // Failures within a pass rate may be left out of this number.
        if end.failure_count > self.counts.failures || !self.pass_rates {
            same("failures", end.failure_count, self.counts.failures);
        }
        // RSpec counts errors that it does not describe, so there may be more.
        if let Some(errors) = end.error_count.filter(|errors| *errors < self.errors) {
            same("errors outside examples", errors, self.errors);
        }
        let left = self.counts.failures - self.counts.inconclusive + self.counts.missing();
        if end.exit_code == Some(0) && !self.pass_rates && left + self.errors > 0 {
            differ(format!("says exit code 0, but {} did not pass", left + self.errors));
        }
        agree
    }

    fn pairs<'a>(&self, end: &StatusCounts) -> [(&'a str, Option<u64>, u64); 10] {
        let counts = &self.counts;
        [
            ("passed", end.passed, counts.passed),
            ("failed", end.failed, counts.failed),
            ("pending", end.pending, counts.pending),
            ("inconclusive", end.inconclusive, counts.inconclusive),
            ("errored", end.errored, counts.errored),
            ("crashed", end.crashed, counts.crashed),
            ("timed_out", end.timed_out, counts.timed_out),
            ("cancelled", end.cancelled, counts.cancelled),
            ("not_run", end.not_run, counts.not_run),
            ("flaky", end.flaky, counts.flaky),
        ]
    }
}
