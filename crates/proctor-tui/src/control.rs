//! What `q` and Ctrl+C mean, by what has been asked before.

use crate::input::Command;

/// How far leaving has got.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Control {
    /// Nothing has been asked.
    #[default]
    Free,
    /// The run was asked to stop.
    Stopping,
    /// The run was told to die.
    Killing,
}

impl Control {
    /// One more press. `live` says whether there is a run that this process could stop.
    pub(crate) fn press(&mut self, live: bool) -> Command {
        if !live {
            return Command::Quit;
        }
        let (next, command) = match self {
            Self::Free => (Self::Stopping, Command::StopRun),
            Self::Stopping => (Self::Killing, Command::KillRun),
            // The third press leaves, even if the run has not ended.
            Self::Killing => (Self::Killing, Command::Quit),
        };
        *self = next;
        command
    }

    /// What the reader should know, and what the next press does.
    pub(crate) fn notice(self, live: bool) -> Option<&'static str> {
        match self {
            Self::Stopping if live => Some("stopping: what runs may finish · q again kills it"),
            Self::Killing if live => Some("killing the run · q again leaves"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_then_kill_then_leave() {
        let mut control = Control::default();
        assert_eq!(control.notice(true), None);
        assert_eq!(control.press(true), Command::StopRun);
        assert!(control.notice(true).is_some());
        assert_eq!(control.press(true), Command::KillRun);
        assert_eq!(control.press(true), Command::Quit);
    }

    #[test]
    fn without_a_run_of_ours_one_press_leaves() {
        let mut control = Control::Stopping;
        assert_eq!(control.press(false), Command::Quit);
        assert_eq!(control.notice(false), None);
    }
}
