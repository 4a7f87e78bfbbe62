//! What made a run stop before its end.

use std::fmt;

use proctor_events::StopReason;

/// What made a run stop before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StopCause {
    /// A signal, by number.
    Signal(u8),
    /// A person or program asked for it: `proctor runs stop`, the page, `run_cancel`.
    Request,
    /// The run's own time limit.
    TimeLimit,
}

const SIGNALS: [(u8, &str); 4] = [(1, "SIGHUP"), (2, "SIGINT"), (3, "SIGQUIT"), (15, "SIGTERM")];

impl StopCause {
    /// The word in the stream.
    pub fn word(self) -> StopReason {
        match self {
            Self::Signal(number) => {
                let known = SIGNALS.iter().find(|(known, _)| *known == number);
                match known {
                    Some((_, name)) => StopReason::from(*name),
                    None => StopReason::from(format!("signal {number}").as_str()),
                }
            }
            Self::Request => StopReason::Request,
            Self::TimeLimit => StopReason::TimeLimit,
        }
    }

    /// The signal's number, where it was one.
    pub(crate) fn signal(self) -> Option<u8> {
        match self {
            Self::Signal(number) => Some(number),
            Self::Request | Self::TimeLimit => None,
        }
    }
}

impl fmt::Display for StopCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word().as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_have_the_names_people_know() {
        let word = |cause: StopCause| cause.to_string();
        assert_eq!(word(StopCause::Signal(1)), "SIGHUP");
        assert_eq!(word(StopCause::Signal(2)), "SIGINT");
        assert_eq!(word(StopCause::Signal(3)), "SIGQUIT");
        assert_eq!(word(StopCause::Signal(15)), "SIGTERM");
        assert_eq!(word(StopCause::Signal(10)), "signal 10");
        assert_eq!(word(StopCause::Request), "request");
        assert_eq!(word(StopCause::TimeLimit), "time_limit");
        assert_eq!(StopCause::Signal(2).word(), StopReason::Sigint);
        assert_eq!(StopCause::Signal(7).signal(), Some(7));
        assert_eq!((StopCause::Request.signal(), StopCause::TimeLimit.signal()), (None, None));
    }
}
