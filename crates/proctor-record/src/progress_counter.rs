//! Progress after every result, from the events of a run. Runs record it now and then; whoever wants it after each result counts here.

use std::collections::HashMap;

use proctor_events::{Body, Event, ExampleFinished, ExampleId, Progress};
use proctor_verdict::{ExampleTally, ExampleVerdict, PassRate, Policy};

/// Counts results as the runner does, by the rules of `proctor-verdict`. Recorded progress corrects it: only the runner knows how many
/// repetitions it will add.
#[derive(Debug, Clone, Default)]
pub struct ProgressCounter {
    policy: Policy,
    progress: Progress,
    reported: Option<Progress>,
    examples: HashMap<ExampleId, Counted>,
}

#[derive(Debug, Clone)]
struct Counted {
    tally: ExampleTally,
    pass_rate: Option<PassRate>,
    /// Repetitions without a result.
    open: u64,
}

impl Counted {
    fn new(pass_rate: Option<f64>, repeats: Option<u32>) -> Self {
        let open = u64::from(repeats.unwrap_or(1));
        Self { tally: ExampleTally::default(), pass_rate: pass_rate.and_then(PassRate::new), open }
    }

    fn verdict(&self) -> ExampleVerdict {
        self.tally.verdict(self.pass_rate, self.open)
    }
}

impl ProgressCounter {
    /// Counts one event. Returns the progress if it is new: after every final result, and where the runner recorded another one.
    pub fn apply(&mut self, event: &Event) -> Option<Progress> {
        match &event.body {
            Body::SuiteStarted(started) => {
                self.policy = Policy::of_event(started.policy.as_ref());
                let total = started.repetition_count.or(started.example_count);
                self.progress.total = total.unwrap_or_default();
                return None;
            }
            Body::ExampleStarted(started) => {
                let id = event.example_id.clone()?;
                let counted = || Counted::new(started.pass_rate, started.repeats);
                self.examples.entry(id).or_insert_with(counted);
                return None;
            }
            Body::ExampleFinished(finished) if finished.r#final != Some(false) => {
                self.count(event.example_id.as_ref()?, finished);
            }
            Body::Progress(recorded) => self.progress = recorded.clone(),
            _ => return None,
        }
        let new = self.reported.as_ref() != Some(&self.progress);
        self.reported = Some(self.progress.clone());
        new.then(|| self.progress.clone())
    }

    fn count(&mut self, id: &ExampleId, finished: &ExampleFinished) {
        let policy = self.policy;
        let counted = || Counted::new(finished.pass_rate, finished.repeats);
        let example = self.examples.entry(id.clone()).or_insert_with(counted);
        let failed_before = example.verdict().is_failure(policy);
        example.open = example.open.saturating_sub(1);
        let fault = finished.fault.as_ref();
        example.tally.count(&finished.status, fault, finished.flaky == Some(true));
        example.tally.count_checks(&finished.status, fault, finished.checks);
        let failed = example.verdict().is_failure(policy);
        let failures = self.progress.failures + u64::from(failed);
        self.progress.failures = failures.saturating_sub(u64::from(failed_before));
        self.progress.completed += 1;
        // A stream that announced less than it has would be beyond its end.
        self.progress.total = self.progress.total.max(self.progress.completed);
    }
}

#[cfg(test)]
mod tests {
    use proctor_events::{ExampleStarted, Status, SuiteStarted};

    use super::*;

    fn finished(id: &str, status: Status, last: bool) -> Event {
        let finished = ExampleFinished { status, r#final: Some(last), ..Default::default() };
        Event::new(finished).about(&id.into())
    }

    fn counts(progress: Option<Progress>) -> Option<(u64, u64, u64)> {
        progress.map(|progress| (progress.completed, progress.total, progress.failures))
    }

    #[test]
    fn every_final_result_is_progress() {
        let mut counter = ProgressCounter::default();
        let started = SuiteStarted { example_count: Some(3), ..Default::default() };
        assert_eq!(counter.apply(&Event::new(started)), None);
        let mut after = |id, status, last| counts(counter.apply(&finished(id, status, last)));
        assert_eq!(after("a", Status::Passed, true), Some((1, 3, 0)));
        assert_eq!(after("b", Status::Failed, false), None, "another attempt follows");
        assert_eq!(after("b", Status::Failed, true), Some((2, 3, 1)));
        assert_eq!(after("c", Status::Pending, true), Some((3, 3, 1)));
        let same = Progress { completed: 3, total: 3, failures: 1 };
        assert_eq!(counter.apply(&Event::new(same)), None, "it has been said");
        let more = Progress { completed: 3, total: 9, failures: 1 };
        assert_eq!(counts(counter.apply(&Event::new(more))), Some((3, 9, 1)));
    }

    /// A failure that a pass rate allows fails nothing, and one that makes the rate impossible does at once.
    #[test]
    fn pass_rates_decide_what_fails() {
        let mut counter = ProgressCounter::default();
        let started =
            ExampleStarted { pass_rate: Some(0.5), repeats: Some(4), ..Default::default() };
        counter.apply(&Event::new(started).about(&"a".into()));
        let mut after = |status| counter.apply(&finished("a", status, true)).unwrap().failures;
        let failures = [Status::Failed, Status::Failed, Status::Failed].map(&mut after);
        assert_eq!(failures, [0, 0, 1]);
    }
}
