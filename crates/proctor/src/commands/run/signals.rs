//! Ctrl-C and SIGTERM: the first one stops the run, the second one ends it at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use proctor_runner::Controller;
use tokio::signal::unix::{SignalKind, signal};

use crate::error::CommandError;

const SIGINT: u8 = 2;
const SIGTERM: u8 = 15;

/// Remembers which signal came first.
pub(super) struct Signals {
    first: Arc<AtomicU8>,
}

impl Signals {
    /// Watches on a thread of its own until the process ends.
    pub(super) fn watch(controller: &Controller) -> Result<Self, CommandError> {
        let first = Arc::new(AtomicU8::new(0));
        let (seen, controller) = (Arc::clone(&first), controller.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        // Registered before the run starts, so that no signal finds us unprepared.
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
                    if before.is_ok() { controller.cancel() } else { controller.kill() }
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
