//! Ctrl-C and SIGTERM: the first one asks for an end, the second one makes it. What that means is up to the command.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::signal::unix::{SignalKind, signal};

use crate::error::CommandError;

const SIGINT: u8 = 2;
const SIGTERM: u8 = 15;

/// Remembers which signal came first.
pub(in crate::commands) struct Signals {
    first: Arc<AtomicU8>,
}

impl Signals {
    /// Watches on a thread of its own until the process ends: `ask` is called for the first signal, `end` with each later one.
    pub(in crate::commands) fn watch(
        ask: impl Fn() + Send + 'static,
        end: impl Fn(u8) + Send + 'static,
    ) -> Result<Self, CommandError> {
        let first = Arc::new(AtomicU8::new(0));
        let seen = Arc::clone(&first);
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
                    if before.is_ok() { ask() } else { end(number) }
                }
            });
        })?;
        Ok(Self { first })
    }

    /// The first signal that came, if one did.
    pub(in crate::commands) fn caught(&self) -> Option<u8> {
        match self.first.load(Ordering::SeqCst) {
            0 => None,
            number => Some(number),
        }
    }
}
