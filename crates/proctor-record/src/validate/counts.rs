//! The numbers of one run: what `SuiteFinished` counts must be what was recorded.

use proctor_events::{ExampleFinished, Status, StatusCounts, SuiteFinished};

use super::Findings;

/// Final results, counted.
#[derive(Debug, Default)]
pub(super) struct Counts {
    passed: u64,
    failed: u64,
    pending: u64,
    inconclusive: u64,
    errored: u64,
    crashed: u64,
    timed_out: u64,
    cancelled: u64,
    pub(super) not_run: u64,
    flaky: u64,
    /// Errors outside examples.
    pub(super) errors: u64,
    /// Whether an example may fail within its pass rate.
    pub(super) pass_rates: bool,
}

impl Counts {
    /// Counts a result, if it is final.
    pub(super) fn add(&mut self, payload: &ExampleFinished) {
        if !payload.r#final.unwrap_or(true) {
            return;
        }
        *match &payload.status {
            Status::Passed => &mut self.passed,
            Status::Failed => &mut self.failed,
            Status::Pending => &mut self.pending,
            Status::Inconclusive => &mut self.inconclusive,
            Status::Crashed => &mut self.crashed,
            Status::TimedOut => &mut self.timed_out,
            Status::Cancelled => &mut self.cancelled,
            Status::NotRun => &mut self.not_run,
            Status::Errored | Status::Other(_) => &mut self.errored,
        } += 1;
        self.flaky += u64::from(payload.flaky == Some(true));
    }

    fn failures(&self) -> u64 {
        self.failed + self.inconclusive + self.errored + self.crashed + self.timed_out
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
            same("pending results", pending, self.pending);
        }
        // Failures within a pass rate may be left out of this number.
        if end.failure_count > self.failures() || !self.pass_rates {
            same("failures", end.failure_count, self.failures());
        }
        // RSpec counts errors that it does not describe, so there may be more.
        if let Some(errors) = end.error_count.filter(|errors| *errors < self.errors) {
            same("errors outside examples", errors, self.errors);
        }
        let left = self.failures() - self.inconclusive + self.cancelled + self.not_run;
        if end.exit_code == Some(0) && !self.pass_rates && left + self.errors > 0 {
            differ(format!("says exit code 0, but {} did not pass", left + self.errors));
        }
        agree
    }

    fn pairs<'a>(&self, end: &StatusCounts) -> [(&'a str, Option<u64>, u64); 10] {
        [
            ("passed", end.passed, self.passed),
            ("failed", end.failed, self.failed),
            ("pending", end.pending, self.pending),
            ("inconclusive", end.inconclusive, self.inconclusive),
            ("errored", end.errored, self.errored),
            ("crashed", end.crashed, self.crashed),
            ("timed_out", end.timed_out, self.timed_out),
            ("cancelled", end.cancelled, self.cancelled),
            ("not_run", end.not_run, self.not_run),
            ("flaky", end.flaky, self.flaky),
        ]
    }
}
