//! SIGINT (Ctrl-C), SIGTERM and SIGHUP: the first one asks for an end, the second one makes it. What that means is up to the command.
//!
//! However busy or blocked the rest of the process is, a second signal ends it: what has not ended within a short time is left to
//! the guards, which end the workers when we are gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::CommandError;

const SIGHUP: u8 = 1;
const SIGINT: u8 = 2;
const SIGTERM: u8 = 15;

/// How long the process may take to end after the second signal; the third ends it at once.
const END_WITHIN: Duration = Duration::from_secs(2);

/// Remembers which signal came first.
pub(in crate::commands) struct Signals {
    first: Arc<AtomicU8>,
}

/// The signals that ask for an end.
struct Asked {
    interrupts: Signal,
    terminations: Signal,
    /// Absent if the parent process ignores hangups (`nohup`).
    hangups: Option<Signal>,
}

impl Asked {
    fn watch() -> std::io::Result<Self> {
        let hangups = if is_ignored(SIGHUP) { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Self {
            interrupts: signal(SignalKind::interrupt())?,
            terminations: signal(SignalKind::terminate())?,
            hangups,
        })
    }

    async fn next(&mut self) -> Option<u8> {
        let hangup = async {
            match &mut self.hangups {
                Some(hangups) => hangups.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            Some(()) = self.interrupts.recv() => Some(SIGINT),
            Some(()) = self.terminations.recv() => Some(SIGTERM),
            Some(()) = hangup => Some(SIGHUP),
            else => None,
        }
    }
}

/// Whether a signal was ignored when we were started, as the kernel tells.
fn is_ignored(number: u8) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (number - 1)) != 0)
}

impl Signals {
    /// Watches on a thread of its own until the process ends: `ask` is called with the first signal, `end` with each later one.
    pub(in crate::commands) fn watch(
        ask: impl Fn(u8) + Send + 'static,
        end: impl Fn(u8) + Send + 'static,
    ) -> Result<Self, CommandError> {
        let first = Arc::new(AtomicU8::new(0));
        let seen = Arc::clone(&first);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        // Registered before the run starts, so that no signal finds us unprepared.
        let mut asked = {
            let _entered = runtime.enter();
            Asked::watch()?
        };
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            runtime.block_on(async {
                let Some(number) = asked.next().await else { return };
                seen.store(number, Ordering::SeqCst);
                ask(number);
                let Some(again) = asked.next().await else { return };
                end(again);
                // A third signal shortens the wait.
                let _ = tokio::time::timeout(END_WITHIN, asked.next()).await;
                // The exit code names the signal that came first, as it would have in an orderly end.
                std::process::exit(128 + i32::from(number));
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
