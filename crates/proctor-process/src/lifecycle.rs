//! The life of one process as a pure step: (state, event) → (state, effects).
//!
//! Owns the state and the times of the stop ladder; does nothing itself. Times are offsets on the
//! driver's clock. The driver (`process/driver.rs`) performs the effects and feeds events back.
//!
//! The ladder fits into the given time `T`: shutdown request at 0 (only with an RPC channel),
//! SIGTERM at half of what precedes the kill, SIGKILL to the whole tree at `T - min(T/5, 250 ms)`.
//! A rung that cannot work is left at once: no channel or a refused shutdown leads to SIGTERM.
//! A second stop can only bring the rungs forward. If the tree survives SIGKILL for a second (the
//! guard is stuck or stopped), the guard itself is killed.

use std::time::Duration;

/// Time kept for killing and reaping at the end of the ladder.
const KILL_RESERVE: Duration = Duration::from_millis(250);
/// How long a killed tree may take before the guard itself is killed.
const FORCE_AFTER: Duration = Duration::from_secs(1);

/// The state of a process as its users see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// Not started.
    Pending,
    /// Started (or starting) and not asked to end.
    Running,
    /// Asked to end.
    Stopping,
    /// Ended, or never came to life.
    Exited,
}

/// Where a process stands, with the times of the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    Pending,
    Starting,
    Running {
        rpc: bool,
    },
    /// Shutdown was asked for; SIGTERM and SIGKILL are still to come.
    Asked {
        term_at: Duration,
        kill_at: Duration,
    },
    /// SIGTERM was sent; SIGKILL is still to come.
    Terminating {
        kill_at: Duration,
    },
    /// SIGKILL was sent to the tree; `force_at` is for a guard that does not do its work.
    Killing {
        force_at: Option<Duration>,
    },
    Exited,
}

/// What can happen to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    Start,
    Started {
        rpc: bool,
    },
    Stop {
        timeout: Duration,
    },
    Kill,
    /// The shutdown request cannot be delivered or was refused.
    ShutdownRefused,
    /// The clock reached [`Life::deadline`] (an early or late tick is harmless).
    Tick,
    /// The process has ended and was reaped, or could not be started.
    Ended,
}

/// What the driver has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    Launch,
    AskShutdown { within: Duration },
    Terminate,
    KillTree,
    ForceKill,
    Announce,
}

/// An event that makes no sense in this state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Illegal;

type Step = Result<(Life, Vec<Effect>), Illegal>;

impl Life {
    pub(crate) fn state(self) -> State {
        match self {
            Self::Pending => State::Pending,
            Self::Starting | Self::Running { .. } => State::Running,
            Self::Asked { .. } | Self::Terminating { .. } | Self::Killing { .. } => State::Stopping,
            Self::Exited => State::Exited,
        }
    }

    /// When the next [`Event::Tick`] is due.
    pub(crate) fn deadline(self) -> Option<Duration> {
        match self {
            Self::Asked { term_at, .. } => Some(term_at),
            Self::Terminating { kill_at } => Some(kill_at),
            Self::Killing { force_at } => force_at,
            _ => None,
        }
    }

    /// The step function. `now` is the driver's clock.
    pub(crate) fn step(self, now: Duration, event: Event) -> Step {
        match event {
            Event::Start => self.start(),
            Event::Started { rpc } => self.started(rpc),
            Event::Stop { timeout } => self.stop(now, timeout),
            Event::Kill => self.kill(now),
            Event::ShutdownRefused => Ok(self.shutdown_refused()),
            Event::Tick => Ok(self.tick(now)),
            Event::Ended => self.ended(),
        }
    }

    fn start(self) -> Step {
        match self {
            Self::Pending => Ok((Self::Starting, vec![Effect::Launch])),
            _ => Err(Illegal),
        }
    }

    fn started(self, rpc: bool) -> Step {
        match self {
            Self::Starting => Ok((Self::Running { rpc }, Vec::new())),
            _ => Err(Illegal),
        }
    }

    fn stop(self, now: Duration, timeout: Duration) -> Step {
        let kill_after = timeout.saturating_sub(KILL_RESERVE.min(timeout / 5));
        let kill_at = now + kill_after;
        let term_at = now + kill_after / 2;
        match self {
            Self::Pending | Self::Starting => Err(Illegal),
            Self::Running { .. } if timeout.is_zero() => self.kill(now),
            Self::Running { rpc: true } => {
                let ask = Effect::AskShutdown { within: kill_after };
                Ok((Self::Asked { term_at, kill_at }, vec![ask]))
            }
            Self::Running { rpc: false } => {
                Ok((Self::Terminating { kill_at }, vec![Effect::Terminate]))
            }
            Self::Asked { term_at: old_term, kill_at: old_kill } => {
                let sooner =
                    Self::Asked { term_at: old_term.min(term_at), kill_at: old_kill.min(kill_at) };
                Ok(sooner.tick(now))
            }
            Self::Terminating { kill_at: old } => {
                Ok(Self::Terminating { kill_at: old.min(kill_at) }.tick(now))
            }
            Self::Killing { .. } | Self::Exited => Ok((self, Vec::new())),
        }
    }

    fn kill(self, now: Duration) -> Step {
        match self {
            Self::Pending | Self::Starting => Err(Illegal),
            Self::Killing { .. } | Self::Exited => Ok((self, Vec::new())),
            _ => {
                let killing = Self::Killing { force_at: Some(now + FORCE_AFTER) };
                Ok((killing, vec![Effect::KillTree]))
            }
        }
    }

    fn shutdown_refused(self) -> (Self, Vec<Effect>) {
        match self {
            Self::Asked { kill_at, .. } => (Self::Terminating { kill_at }, vec![Effect::Terminate]),
            _ => (self, Vec::new()),
        }
    }

    fn tick(self, now: Duration) -> (Self, Vec<Effect>) {
        match self {
            Self::Asked { kill_at, .. } | Self::Terminating { kill_at } if now >= kill_at => {
                let killing = Self::Killing { force_at: Some(now + FORCE_AFTER) };
                (killing, vec![Effect::KillTree])
            }
            Self::Asked { term_at, kill_at } if now >= term_at => {
                (Self::Terminating { kill_at }, vec![Effect::Terminate])
            }
            Self::Killing { force_at: Some(at) } if now >= at => {
                (Self::Killing { force_at: None }, vec![Effect::ForceKill])
            }
            _ => (self, Vec::new()),
        }
    }

    fn ended(self) -> Step {
        match self {
            Self::Pending | Self::Exited => Err(Illegal),
            _ => Ok((Self::Exited, vec![Effect::Announce])),
        }
    }
}

#[cfg(test)]
mod tests;
