//! Faults of a model endpoint, on request: what an agent must live with in production.

use std::time::Duration;

/// What happens to one call. All but [`Fault::Slow`] take nothing from the script or tape: the call that follows gets the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Answered as usual; keeps a place in a list of faults.
    None,
    /// Refused with this HTTP status; the time is what `retry-after` says.
    Status(u16, Option<Duration>),
    /// Not answered at all, until the client gives up or the conversation ends.
    Timeout,
    /// The answer begins and the connection breaks.
    CutStream,
    /// Answered with a body, or an event, that is not JSON.
    Malformed,
    /// Answered after this time; of a stream, the first piece comes at once.
    Slow(Duration),
}

impl Fault {
    /// What is recorded about a call that it happened to.
    pub(crate) fn description(self) -> Option<String> {
        Some(match self {
            Self::None | Self::Slow(_) => return None,
            Self::Status(status, _) => format!("fault: status {status}"),
            Self::Timeout => "fault: no answer".into(),
            Self::CutStream => "fault: cut stream".into(),
            Self::Malformed => "fault: malformed answer".into(),
        })
    }
}
