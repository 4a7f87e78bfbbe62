//! Running an [`Observer`] on its own thread, and waiting for it at the end.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{BusWarning, ObserverReport, ObserverThread, Subscription, guarded};
use crate::catalogue::Observer;

pub(super) fn run(
    subscription: &Subscription,
    mut observer: impl Observer,
    warn: &dyn Fn(BusWarning),
) {
    while let Some(event) = subscription.recv() {
        if let Err(problem) = guarded(|| observer.dispatch(&event)) {
            let queue = subscription.queue();
            if queue.failed.fetch_add(1, Ordering::Relaxed) == 0 {
                warn(BusWarning::ObserverFailed {
                    observer: queue.name().to_owned(),
                    event_type: event.type_name().to_owned(),
                    problem,
                });
            }
        }
    }
    let _ = guarded(|| {
        observer.on_close();
        Ok(())
    });
}

/// Waits for all threads together; one that does not end is left behind and reported.
pub(super) fn join(threads: Vec<ObserverThread>, at_most: Duration) -> Vec<ObserverReport> {
    let deadline = Instant::now() + at_most;
    let mut pause = Duration::from_micros(50);
    while threads.iter().any(|thread| !thread.handle.is_finished()) && Instant::now() < deadline {
        // The standard library has no join with a deadline; this is the end of a run, not a hot path.
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
    threads.into_iter().map(report).collect()
}

fn report(thread: ObserverThread) -> ObserverReport {
    let ObserverThread { queue, handle } = thread;
    let stuck = !handle.is_finished();
    if !stuck {
        // Its panics were caught inside; an error here could only repeat what is already counted.
        let _ = handle.join();
    }
    ObserverReport {
        name: queue.name().to_owned(),
        delivered: queue.delivered.load(Ordering::Relaxed),
        dropped: queue.dropped.load(Ordering::Relaxed),
        failed: queue.failed.load(Ordering::Relaxed),
        stuck,
    }
}
