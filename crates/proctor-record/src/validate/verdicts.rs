//! The verdicts of one run: what `SuiteFinished` counts and concludes must follow from the recorded results.
//!
//! The rules are those of `proctor-verdict`. Streams of version 0.1 count every repetition as an example; [`counts`](super::counts) holds
//! them to that.

use proctor_events::{Event, ExampleFinished, ExampleId, ExampleStarted, RunEnding, SuiteFinished};
use proctor_verdict::{Counts, ExampleTally, Facts, PassRate, Policy, RunVerdict};

use super::{FastMap, Findings};

/// The results of a run by example.
#[derive(Debug, Default)]
pub(super) struct CheckedVerdicts {
    examples: FastMap<Option<ExampleId>, TrackedExample>,
    pub(super) policy: Policy,
    /// Errors outside examples.
    pub(super) errors: u64,
}

#[derive(Debug, Default)]
struct TrackedExample {
    tally: ExampleTally,
    pass_rate: Option<PassRate>,
}

impl CheckedVerdicts {
    pub(super) fn started(&mut self, event: &Event, payload: &ExampleStarted) {
        let tracked = self.examples.entry(event.example_id.clone()).or_default();
        tracked.pass_rate = payload.pass_rate.and_then(PassRate::new).or(tracked.pass_rate);
    }

    pub(super) fn finished(&mut self, event: &Event, payload: &ExampleFinished) {
        let tracked = self.examples.entry(event.example_id.clone()).or_default();
        tracked.pass_rate = tracked.pass_rate.or(payload.pass_rate.and_then(PassRate::new));
        if payload.r#final == Some(false) {
            return;
        }
        let flaky = payload.flaky == Some(true);
        let fault = payload.fault.as_ref();
        tracked.tally.count(&payload.status, fault, flaky);
        tracked.tally.count_checks(&payload.status, fault, payload.checks);
    }

    fn counts(&self, errors: u64) -> Counts {
        let mut counts = Counts { errors, ..Counts::default() };
        // Counts do not depend on the order.
        self.examples.values().for_each(|tracked| {
            counts.count(tracked.tally.verdict(tracked.pass_rate, 0), self.policy);
        });
        counts
    }

    /// Compares with what the end of the run says. False if they differ.
    pub(super) fn compare(&self, line: u64, end: &SuiteFinished, findings: &mut Findings) -> bool {
        // RSpec counts errors that it does not describe, so there may be more.
        let errors = end.error_count.unwrap_or_default().max(self.errors);
        let counts = self.counts(errors);
        let mut agree = true;
        let mut same = |what: &str, said: u64, recorded: u64| {
            if said != recorded {
                let message = format!("counts {said} {what}, but {recorded} are recorded");
                findings.error(Some(line), message);
                agree = false;
            }
        };
        same("examples", end.example_count, counts.examples);
        same("failures", end.failure_count, counts.failures);
        same("pending examples", end.pending_count.unwrap_or(counts.pending), counts.pending);
        if let Some(errors) = end.error_count.filter(|errors| *errors < self.errors) {
            same("errors outside examples", errors, self.errors);
        }
        let (said, recorded) = (end.counts.clone().unwrap_or_default(), counts.to_event());
        let pairs = [
            ("passed", said.passed, recorded.passed),
            ("failed", said.failed, recorded.failed),
            ("pending", said.pending, recorded.pending),
            ("inconclusive", said.inconclusive, recorded.inconclusive),
            ("errored", said.errored, recorded.errored),
            ("crashed", said.crashed, recorded.crashed),
            ("timed_out", said.timed_out, recorded.timed_out),
            ("cancelled", said.cancelled, recorded.cancelled),
            ("not_run", said.not_run, recorded.not_run),
            ("flaky", said.flaky, recorded.flaky),
            ("within_rate", said.within_rate, recorded.within_rate),
            ("unchecked", said.unchecked, recorded.unchecked),
        ];
        for (what, said, recorded) in pairs {
            same(what, said.unwrap_or_default(), recorded.unwrap_or_default());
        }
        agree & self.concluded(line, end, counts, findings)
    }

    /// Whether the exit code follows from the counts. Ends that depend on more than results are taken as they are.
    fn concluded(
        &self,
        line: u64,
        end: &SuiteFinished,
        counts: Counts,
        findings: &mut Findings,
    ) -> bool {
        if end.state != Some(RunEnding::Finished) {
            return true;
        }
        let facts = Facts { loaded: true, counts, accounted: true, stopped: None };
        let verdict = RunVerdict::conclude(&facts, self.policy);
        // A run may fail for what no result shows; it cannot pass against its results.
        if verdict.is_passed() || end.exit_code != Some(0) {
            return true;
        }
        let message = format!("says exit code 0, but the recorded run {}", verdict.phrase());
        findings.error(Some(line), message);
        false
    }
}
