//! Which worker is shown: chosen by the user, following the events, or rotating.
//!
//! The screen must be readable, so nothing here jumps with every event: a worker that is shown stays
//! while it has something to say, a failure is shown for a while, and the reader's own choice holds.

use std::time::Duration;

use crate::workers::Tab;

/// How long the reader's own choice holds, and a failure stays in view.
const GRACE: Duration = Duration::from_secs(3);
/// How often rotation moves on.
const ROTATION: Duration = Duration::from_secs(2);
/// A running worker that is silent for this long may be left, an idle one sooner.
const SILENCE: Duration = Duration::from_secs(2);
const IDLE: Duration = Duration::from_millis(500);

/// Whether the worker that is shown is chosen by the user or follows the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Manual,
    Follow,
    Rotate,
}

/// What decides whether a worker is worth showing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WorkerActivity {
    pub(crate) running: bool,
    /// When it last had something to say.
    pub(crate) active: Duration,
    /// Which of all events that was.
    pub(crate) event: u64,
}

/// Chooses a worker. Workers are named by their place.
#[derive(Debug, Clone)]
pub(crate) struct Focus {
    mode: Mode,
    /// Until then the view stays.
    hold: Duration,
    /// Where something failed that has not been shown yet.
    failed: Option<Tab>,
}

impl Default for Focus {
    fn default() -> Self {
        Self { mode: Mode::Follow, hold: Duration::ZERO, failed: None }
    }
}

impl Focus {
    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    /// Turns a mode on, or off if it was on.
    pub(crate) fn toggle(&mut self, mode: Mode, now: Duration) {
        self.mode = if self.mode == mode { Mode::Manual } else { mode };
        self.failed = None;
        self.hold = if mode == Mode::Rotate { now + ROTATION } else { now };
    }

    /// The reader chose a worker.
    pub(crate) fn chosen(&mut self, now: Duration) {
        self.hold = now + GRACE;
        self.failed = None;
    }

    /// Something failed there.
    pub(crate) fn failed(&mut self, tab: Tab) {
        if self.mode == Mode::Follow {
            self.failed = Some(tab);
        }
    }

    /// The tab of an unseen failure, if it is time to show it.
    pub(crate) fn failure_to_show(&mut self, now: Duration) -> Option<Tab> {
        if now < self.hold {
            return None;
        }
        let tab = self.failed.take()?;
        self.hold = now + GRACE;
        Some(tab)
    }

    /// Where to look now, if elsewhere than at `shown`.
    pub(crate) fn next(
        &mut self,
        now: Duration,
        workers: &[WorkerActivity],
        shown: usize,
    ) -> Option<usize> {
        if now < self.hold {
            return None;
        }
        match self.mode {
            Mode::Manual => None,
            Mode::Follow => follow(now, workers, shown),
            Mode::Rotate => {
                self.hold = now + ROTATION;
                rotate(workers, shown)
            }
        }
    }
}

fn follow(now: Duration, workers: &[WorkerActivity], shown: usize) -> Option<usize> {
    let current = workers.get(shown)?;
    let silence = now.saturating_sub(current.active);
    if silence < if current.running { SILENCE } else { IDLE } {
        return None;
    }
    let (place, _) = workers.iter().enumerate().max_by_key(|(_, worker)| worker.event)?;
    (place != shown).then_some(place)
}

fn rotate(workers: &[WorkerActivity], shown: usize) -> Option<usize> {
    let count = workers.len();
    (1..count).map(|step| (shown + step) % count).find(|place| workers[*place].running)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn worker(running: bool, active: u64, event: u64) -> WorkerActivity {
        WorkerActivity { running, active: at(active), event }
    }

    #[test]
    fn a_worker_that_speaks_is_not_left() {
        let mut focus = Focus::default();
        let workers = [worker(true, 9_000, 8), worker(true, 9_900, 9)];
        assert_eq!(focus.next(at(10_000), &workers, 0), None);
        assert_eq!(focus.next(at(11_000), &workers, 0), Some(1));
        assert_eq!(focus.next(at(11_000), &workers, 1), None);
    }

    #[test]
    fn an_idle_worker_is_left_soon() {
        let mut focus = Focus::default();
        let workers = [worker(false, 9_000, 8), worker(true, 9_100, 9)];
        assert_eq!(focus.next(at(9_400), &workers, 0), None);
        assert_eq!(focus.next(at(9_500), &workers, 0), Some(1));
    }

    #[test]
    fn the_readers_choice_holds_for_three_seconds() {
        let mut focus = Focus::default();
        let workers = [worker(false, 0, 1), worker(true, 10_000, 9)];
        focus.chosen(at(10_000));
        assert_eq!(focus.next(at(12_999), &workers, 0), None);
        assert_eq!(focus.next(at(13_000), &workers, 0), Some(1));
    }

    #[test]
    fn a_failure_comes_first_and_stays_in_view() {
        let mut focus = Focus::default();
        focus.chosen(at(10_000));
        focus.failed(Tab::Worker(4));
        assert_eq!(focus.failure_to_show(at(12_000)), None, "the reader's choice holds");
        assert_eq!(focus.failure_to_show(at(13_000)), Some(Tab::Worker(4)));
        assert_eq!(focus.failure_to_show(at(13_001)), None, "shown once");
        let workers = [worker(false, 0, 1), worker(true, 15_000, 9)];
        assert_eq!(focus.next(at(15_900), &workers, 0), None);
        assert_eq!(focus.next(at(16_000), &workers, 0), Some(1));
    }

    #[test]
    fn rotation_moves_every_two_seconds_over_running_workers() {
        let mut focus = Focus::default();
        focus.toggle(Mode::Rotate, at(0));
        focus.failed(Tab::Worker(1));
        assert_eq!(focus.failure_to_show(at(5_000)), None, "failures are for follow mode");
        let workers = [worker(true, 0, 1), worker(false, 0, 2), worker(true, 0, 3)];
        assert_eq!(focus.next(at(1_999), &workers, 0), None);
        assert_eq!(focus.next(at(2_000), &workers, 0), Some(2));
        assert_eq!(focus.next(at(3_999), &workers, 2), None);
        assert_eq!(focus.next(at(4_000), &workers, 2), Some(0));
    }

    #[test]
    fn a_mode_is_switched_off_by_its_own_key() {
        let mut focus = Focus::default();
        focus.toggle(Mode::Follow, at(0));
        assert_eq!(focus.mode(), Mode::Manual);
        assert_eq!(focus.next(at(9_000), &[worker(false, 0, 0), worker(true, 1, 1)], 0), None);
        focus.toggle(Mode::Rotate, at(0));
        focus.toggle(Mode::Follow, at(0));
        assert_eq!(focus.mode(), Mode::Follow);
    }
}
