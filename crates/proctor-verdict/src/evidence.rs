//! What an attempt that ended says about what was tested.

use proctor_events::{ExampleFinished, Exception, Fault, Status};

use crate::tables;

/// What an attempt says about what was tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Evidence {
    /// It did what was asked.
    For,
    /// It did not.
    Against,
    /// The attempt broke through no fault of what was tested, or was not made.
    Nothing,
}

/// What a status and a fault say about what was tested.
///
/// A fault of judge, simulator, host-executed tool or harness excuses what was tested, for every status; a passed
/// attempt that names such a fault contradicts itself and says nothing either. A fault of unknown name excuses nothing.
pub fn evidence(status: &Status, fault: Option<&Fault>) -> Evidence {
    if fault.is_some_and(|fault| tables::EXCUSING_FAULTS.contains(&fault.as_str())) {
        return Evidence::Nothing;
    }
    tables::evidence_of(status.as_str())
}

/// Whether the attempt was made to its end: neither cut short on request nor left out.
pub fn is_made(status: &Status) -> bool {
    !tables::NEVER_MADE.contains(&status.as_str())
}

/// Whether a single attempt ended as it should: it passed, or was known not to work yet.
pub fn is_success(status: &Status) -> bool {
    matches!(status, Status::Passed | Status::Pending)
}

/// Replaces a status that is unknown or that contradicts the fault by a known one. Called once, by the
/// first receiver of the result, so that all later readers agree.
pub fn normalize_status(outcome: &mut ExampleFinished) {
    let (status, explanation) = match (&outcome.status, &outcome.fault) {
        (Status::Other(word), _) => {
            (Status::Errored, format!("it ended with the unknown status `{word}`"))
        }
        (Status::Passed, Some(fault))
            if evidence(&outcome.status, Some(fault)) == Evidence::Nothing =>
        {
            (Status::Inconclusive, format!("it reports `passed` together with the fault `{fault}`"))
        }
        _ => return,
    };
    outcome.message = Some(match outcome.message.take() {
        Some(message) => format!("{explanation}: {message}"),
        None => explanation,
    });
    outcome.status = status;
}

/// The class of the exception of a conversation that ended because a process that answers several conversations died.
pub const AGENT_PROCESS_DIED: &str = "AgentProcessDied";

/// Whether an attempt was cut off by the death of an agent's process that others share. Which of the conversations it was answering
/// brought it down is not known, so each of them has one more attempt, retries or not. A pass is then a retried pass.
pub fn is_agent_process_death(fault: Option<&Fault>, exception: Option<&Exception>) -> bool {
    let class = exception.and_then(|exception| exception.class.as_deref());
    fault == Some(&Fault::Agent) && class == Some(AGENT_PROCESS_DIED)
}

/// Whether a single attempt failed, through whosever fault: it was made to its end and did not end as it should.
pub fn is_failure(status: &Status) -> bool {
    is_made(status) && !is_success(status)
}

/// Whether nothing of the example ran: it was left out, or is known not to work yet.
pub fn never_ran(status: &Status) -> bool {
    matches!(status, Status::NotRun | Status::Pending)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_that_nobody_knows_is_an_error_with_its_word() {
        for (message, expected) in [
            (None, "it ended with the unknown status `splendid`"),
            (Some("so"), "it ended with the unknown status `splendid`: so"),
        ] {
            let mut outcome = ExampleFinished {
                status: Status::from("splendid"),
                message: message.map(str::to_owned),
                ..ExampleFinished::default()
            };
            normalize_status(&mut outcome);
            assert_eq!(outcome.status, Status::Errored);
            assert_eq!(outcome.message.as_deref(), Some(expected));
        }
        for (fault, status) in
            [(None, "passed"), (Some("agent"), "passed"), (Some("judge"), "inconclusive")]
        {
            let fault = fault.map(Fault::from);
            let mut passed =
                ExampleFinished { status: Status::Passed, fault, ..ExampleFinished::default() };
            normalize_status(&mut passed);
            assert_eq!(passed.status.as_str(), status);
            assert_eq!(passed.message.is_some(), status == "inconclusive");
        }
        let mut known = ExampleFinished { status: Status::Failed, ..ExampleFinished::default() };
        normalize_status(&mut known);
        assert_eq!((known.status, known.message), (Status::Failed, None));
    }

    fn says(status: &str, fault: Option<&str>) -> Evidence {
        evidence(&Status::from(status), fault.map(Fault::from).as_ref())
    }

    #[test]
    fn the_table_of_statuses() {
        assert_eq!(says("passed", None), Evidence::For);
        for status in ["failed", "errored", "crashed", "timed_out", "a_word_of_the_future"] {
            assert_eq!(says(status, None), Evidence::Against, "{status}");
            assert_eq!(says(status, Some("agent")), Evidence::Against, "{status}");
            assert_eq!(says(status, Some("somebody_new")), Evidence::Against, "{status}");
        }
        for status in ["pending", "inconclusive", "cancelled", "not_run"] {
            assert_eq!(says(status, None), Evidence::Nothing, "{status}");
            assert_eq!(says(status, Some("agent")), Evidence::Nothing, "{status}");
        }
    }

    #[test]
    fn v5_others_faults_excuse_whatever_the_status() {
        for fault in ["simulator", "judge", "tool", "harness"] {
            for status in Status::KNOWN {
                assert_eq!(says(status, Some(fault)), Evidence::Nothing, "{status} {fault}");
            }
        }
    }

    #[test]
    fn what_was_cut_short_or_left_out_was_not_made() {
        let made: Vec<&str> =
            Status::KNOWN.iter().copied().filter(|word| is_made(&Status::from(*word))).collect();
        let expected =
            ["passed", "failed", "pending", "inconclusive", "errored", "crashed", "timed_out"];
        assert_eq!(made, expected);
        let good: Vec<&str> =
            Status::KNOWN.iter().copied().filter(|word| is_success(&Status::from(*word))).collect();
        assert_eq!(good, ["passed", "pending"]);
        let all = |what: fn(&Status) -> bool| -> Vec<&str> {
            Status::KNOWN.iter().copied().filter(|word| what(&Status::from(*word))).collect()
        };
        let failed = ["failed", "inconclusive", "errored", "crashed", "timed_out"];
        assert_eq!(all(is_failure), failed);
        assert_eq!(all(never_ran), ["pending", "not_run"]);
        let future = Status::from("a_word_of_the_future");
        assert!(is_failure(&future) && !never_ran(&future));
    }
}
