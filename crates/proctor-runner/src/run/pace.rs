//! How often the thread of a run lets itself be woken.
//!
//! Workers that run trivial examples send thousands of small messages a second, and on a machine whose cores are all
//! busy with workers the time for being woken is taken from the tests. So when wake-ups come thick and fast, the thread
//! sleeps on for a moment and then handles all that has gathered. A run with little going on is woken at once, and so is
//! one whose workers ask: they stand still until they are answered.
//!
//! The state belongs to the thread of a run; there is one such thread for each run.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Wake-ups closer together than this are thick and fast.
const GAP: Duration = Duration::from_micros(500);
/// So many of them in a row are borne.
const BORNE: u32 = 16;

thread_local! {
    /// When the thread was woken last, and how many times in close succession.
    static WOKEN: Cell<(Option<Instant>, u32)> = const { Cell::new((None, 0)) };
}

/// Called when the thread was woken; returns when it should go to work.
pub(super) fn woken() {
    let (last, close) = WOKEN.get();
    let (wait, close) = decide(last.map_or(Duration::MAX, |last| last.elapsed()), close);
    std::thread::sleep(wait);
    WOKEN.set((Some(Instant::now()), close));
}

/// A worker has asked and waits: the next wake-ups are not put off.
pub(crate) fn asked() {
    WOKEN.set((WOKEN.get().0, 0));
}

/// How long to sleep on after a wake-up this long after the last one, and how many close ones that makes.
fn decide(since: Duration, close: u32) -> (Duration, u32) {
    match GAP.checked_sub(since) {
        None => (Duration::ZERO, close.saturating_sub(1)),
        Some(_) if close < BORNE => (Duration::ZERO, close + 1),
        Some(rest) => (rest, close),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_run_never_waits_and_a_busy_one_waits_for_the_rest_of_the_gap() {
        let busy = Duration::from_micros(100);
        let mut close = 0;
        for _ in 0..BORNE {
            let (wait, now) = decide(busy, close);
            assert_eq!(wait, Duration::ZERO);
            close = now;
        }
        assert_eq!(decide(busy, close), (Duration::from_micros(400), BORNE));
        assert_eq!(
            decide(GAP * 2, close),
            (Duration::ZERO, BORNE - 1),
            "one pause earns one wake-up"
        );
    }
}
