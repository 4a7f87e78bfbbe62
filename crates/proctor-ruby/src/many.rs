//! Many files at once, on several threads. Threads are started and joined here; nothing outlives the call.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::facts::{FileFacts, SyntaxError};
use crate::outline::analyze;

/// The facts of a file, or all places where it is not Ruby.
type ReadResult = Result<FileFacts, Vec<SyntaxError>>;

/// Reads many files on at most `threads` threads, this one among them. The answers stand in the order of the files,
/// however the threads shared the work.
pub fn analyze_all<S: AsRef<[u8]> + Sync>(sources: &[S], threads: usize) -> Vec<ReadResult> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(source) = sources.get(place) else { return found };
            found.push((place, analyze(source.as_ref())));
        }
    };
    let helpers = threads.min(sources.len()).saturating_sub(1);
    let mut all = std::thread::scope(|scope| {
        // A thread that cannot be had is done without.
        let helpers: Vec<_> = (0..helpers)
            .map_while(|_| std::thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let mut all = work();
        for helper in helpers {
            match helper.join() {
                Ok(found) => all.extend(found),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    all.sort_unstable_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, read)| read).collect()
}
