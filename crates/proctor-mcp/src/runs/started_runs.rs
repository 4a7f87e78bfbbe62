//! The runs that a client has started: the newest is the default of calls without a run id.
//!
//! Calls of one client run concurrently, so `run_wait` may arrive while `run_start` is still under way. It then waits for the start: a
//! result about an older run would be mistaken for one about the new run.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The runs that one client has started. Clones share the state.
#[derive(Debug, Clone, Default)]
pub(crate) struct StartedRuns(Arc<(Mutex<StartState>, Condvar)>);

#[derive(Debug, Default)]
struct StartState {
    /// How many runs are being started right now.
    starting: usize,
    /// The newest run that is going or was.
    newest: Option<String>,
}

/// A run that is being started. Dropping it without [`StartGuard::set_running`] means that the start failed.
#[derive(Debug)]
pub(super) struct StartGuard(StartedRuns);

/// Runs are still being started.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StillStarting;

impl StartedRuns {
    fn state(&self) -> MutexGuard<'_, StartState> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A run is about to be started.
    pub(super) fn begin(&self) -> StartGuard {
        self.state().starting += 1;
        StartGuard(self.clone())
    }

    /// The newest run of this client, if it has started any. Waits for those that are being started.
    pub(super) fn newest(&self, limit: Duration) -> Result<Option<String>, StillStarting> {
        let busy = |state: &mut StartState| state.starting > 0;
        let waited = self.0.1.wait_timeout_while(self.state(), limit, busy);
        let (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() && state.starting > 0 {
            return Err(StillStarting);
        }
        Ok(state.newest.clone())
    }
}

impl StartGuard {
    /// The run is going under this id.
    pub(super) fn set_running(self, id: &str) {
        let mut state = self.0.state();
        // Ids begin with their time; of two that were started at once the later one counts.
        if state.newest.as_deref().is_none_or(|newest| newest < id) {
            state.newest = Some(id.to_owned());
        }
    }
}

impl Drop for StartGuard {
    fn drop(&mut self) {
        self.0.state().starting -= 1;
        self.0.0.1.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT_TIMEOUT: Duration = Duration::from_millis(10);

    #[test]
    fn the_newest_that_going_counts_whatever_comes_to_nothing() {
        let started = StartedRuns::default();
        assert_eq!(started.newest(SHORT_TIMEOUT), Ok(None));
        let (early, late, lost) = (started.begin(), started.begin(), started.begin());
        late.set_running("0200");
        early.set_running("0100");
        assert_eq!(started.newest(SHORT_TIMEOUT), Err(StillStarting));
        drop(lost);
        assert_eq!(started.newest(SHORT_TIMEOUT), Ok(Some("0200".to_owned())));
    }

    #[test]
    fn whoever_asks_meanwhile_waits() {
        let started = StartedRuns::default();
        let starting = started.begin();
        let asking = started.clone();
        let asked = std::thread::spawn(move || asking.newest(Duration::from_mins(1)));
        starting.set_running("0100");
        assert_eq!(asked.join().unwrap(), Ok(Some("0100".to_owned())));
    }
}
