//! Signals: the first asks the run to end after the step it is in, the second ends the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::signal::unix::{SignalKind, signal};

use super::events::Counts;
use crate::error::CommandError;

const SIGINT: u8 = 2;
const SIGTERM: u8 = 15;

/// Watches from now on.
pub(super) struct Signals {
    first: Arc<AtomicU8>,
}

impl Signals {
    pub(super) fn watch(counts: Arc<Counts>) -> Result<Self, CommandError> {
        let first = Arc::new(AtomicU8::new(0));
        let seen = Arc::clone(&first);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (mut interrupts, mut terminations) = {
            let _entered = runtime.enter();
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
        };
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            runtime.block_on(async {
                loop {
                    let number = tokio::select! {
                        Some(()) = interrupts.recv() => SIGINT,
                        Some(()) = terminations.recv() => SIGTERM,
                        else => return,
                    };
                    let before =
                        seen.compare_exchange(0, number, Ordering::SeqCst, Ordering::SeqCst);
                    if before.is_err() {
                        std::process::exit(128 + i32::from(number));
                    }
                    counts.stop();
                }
            });
        })?;
        Ok(Self { first })
    }

    /// The first signal that came, if one did.
    pub(super) fn caught(&self) -> Option<u8> {
        match self.first.load(Ordering::SeqCst) {
            0 => None,
            number => Some(number),
        }
    }
}
