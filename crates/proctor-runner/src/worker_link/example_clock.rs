//! The time limits of the examples that one worker process runs, judged where its messages are read.
//!
//! Costs nothing where no example has a limit. Where one has, the judge sleeps until the running example's time is up, or for the
//! shortest limit while nothing runs: no task is woken for an example.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::orders::ExampleRun;
use super::reports::Report;

/// Knows the limits of what a worker was given, and since when it runs what it runs.
#[derive(Debug, Default)]
pub(super) struct ExampleClock {
    has_limits: AtomicBool,
    /// Wakes the judge when there is a limit for the first time.
    first_limit: Notify,
    state: Mutex<ClockState>,
}

#[derive(Debug, Default)]
struct ClockState {
    limits: HashMap<(String, u32), Duration>,
    shortest: Option<Duration>,
    /// When the time of the running example is up.
    deadline: Option<Instant>,
    /// Whether the worker is being ended because a time was up.
    is_over: bool,
}

impl ExampleClock {
    fn lock(&self) -> MutexGuard<'_, ClockState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers the limits of what the worker is given.
    pub(super) fn add_limits(&self, units: &[Vec<ExampleRun>]) {
        let limited = units.iter().flatten().filter_map(|run| Some((run, run.limit_ms?)));
        for (run, limit) in limited {
            let limit = Duration::from_millis(limit);
            let mut state = self.lock();
            state.shortest = Some(state.shortest.map_or(limit, |shortest| shortest.min(limit)));
            state.limits.insert((run.key.clone(), run.repeat), limit);
            if !self.has_limits.swap(true, Ordering::Relaxed) {
                self.first_limit.notify_one();
            }
        }
    }

    /// Takes note of starts and results. Once a time is up, starts are left out: the worker is being ended, so another one runs
    /// those examples.
    pub(super) fn observe(&self, reports: &mut Vec<Report>) {
        if !self.has_limits.load(Ordering::Relaxed) {
            return;
        }
        let mut state = self.lock();
        reports.retain(|report| match report {
            Report::Started { .. } if state.is_over => false,
            Report::Started { key, repeat } => {
                let limit = state.limits.remove(&(key.clone(), *repeat));
                state.deadline = limit.map(|limit| Instant::now() + limit);
                true
            }
            Report::Finished { .. } => {
                state.deadline = None;
                true
            }
            _ => true,
        });
    }

    /// Resolves when the time of an example is up.
    pub(super) async fn time_is_up(&self) {
        loop {
            let wake_at = {
                let mut state = self.lock();
                let now = Instant::now();
                if state.deadline.is_some_and(|deadline| deadline <= now) {
                    state.is_over = true;
                    return;
                }
                state.deadline.or_else(|| Some(now + state.shortest?))
            };
            match wake_at {
                Some(wake_at) => tokio::time::sleep_until(wake_at).await,
                None => self.first_limit.notified().await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proctor_events::ExampleFinished;

    use super::*;

    fn run(key: &str, limit_ms: Option<u64>) -> ExampleRun {
        ExampleRun { key: key.to_owned(), repeat: 1, attempt: 1, limit_ms }
    }

    fn started(key: &str) -> Report {
        Report::Started { key: key.to_owned(), repeat: 1 }
    }

    fn finished(key: &str) -> Report {
        let outcome = Box::new(ExampleFinished::default());
        Report::Finished { key: key.to_owned(), repeat: 1, outcome }
    }

    fn observe(clock: &ExampleClock, report: Report) -> usize {
        let mut reports = vec![report];
        clock.observe(&mut reports);
        reports.len()
    }

    /// How long the judge waits, in milliseconds; `None` if it still waits after an hour.
    async fn waits(clock: &Arc<ExampleClock>) -> Option<u128> {
        let began = Instant::now();
        let waited = tokio::time::timeout(Duration::from_hours(1), clock.time_is_up()).await;
        waited.ok().map(|()| began.elapsed().as_millis())
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_of_an_example_counts_from_its_start() {
        let clock = Arc::new(ExampleClock::default());
        clock.add_limits(&[vec![run("a", Some(50)), run("b", Some(200))]]);
        observe(&clock, started("a"));
        tokio::time::advance(Duration::from_millis(49)).await;
        observe(&clock, finished("a"));
        let judge = tokio::spawn({
            let clock = Arc::clone(&clock);
            async move { waits(&clock).await }
        });
        // The judge sleeps already, for the shortest limit, when the next one starts.
        tokio::time::sleep(Duration::from_millis(20)).await;
        observe(&clock, started("b"));
        assert_eq!(judge.await.unwrap(), Some(220));
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_no_limit_or_has_ended_is_not_judged() {
        let clock = Arc::new(ExampleClock::default());
        clock.add_limits(&[vec![run("a", None)]]);
        observe(&clock, started("a"));
        assert_eq!(waits(&clock).await, None);
        clock.add_limits(&[vec![run("b", Some(500))]]);
        observe(&clock, started("b"));
        observe(&clock, finished("b"));
        observe(&clock, started("c"));
        assert_eq!(waits(&clock).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_starts_when_a_time_is_up_runs_elsewhere_and_results_still_count() {
        let clock = Arc::new(ExampleClock::default());
        clock.add_limits(&[vec![run("a", Some(5)), run("b", Some(5))]]);
        assert_eq!(observe(&clock, started("a")), 1);
        assert_eq!(waits(&clock).await, Some(5));
        assert_eq!(observe(&clock, finished("a")), 1);
        assert_eq!(observe(&clock, started("b")), 0);
        assert_eq!(observe(&clock, finished("b")), 1);
    }
}
