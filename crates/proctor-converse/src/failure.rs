//! What went wrong when a party was asked, and who is at fault.

use std::borrow::Cow;

use proctor_events::{Body, Fault, ModelCall, Status};
use proctor_llm::{ErrorKind, ModelError};

/// Where a failure comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureOrigin {
    /// The party that was asked: the agent, the judge, the simulator, the tool.
    Party,
    /// Proctor, its configuration or a cassette.
    Harness,
    /// The run has spent what it may.
    Budget,
}

/// A party could not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Where it comes from.
    pub origin: FailureOrigin,
    /// The kind of failure, as `AgentError` and `JudgeError` events name it.
    pub class: Cow<'static, str>,
    /// What happened, for people.
    pub message: String,
    /// What becomes of the attempt, where that is known already: how a saved conversation ended.
    pub verdict: Option<(Status, Option<Fault>)>,
}

impl Failure {
    /// The conversation ends here, with this status and fault.
    pub(crate) fn ending(status: Status, fault: Option<Fault>, message: String) -> Self {
        let verdict = Some((status, fault));
        Self {
            origin: FailureOrigin::Harness,
            class: "SavedConversationEnded".into(),
            message,
            verdict,
        }
    }

    /// A failure of the party that was asked.
    pub fn party(class: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        let (class, message) = (class.into(), message.into());
        Self { origin: FailureOrigin::Party, class, message, verdict: None }
    }

    /// The same, with the tools at fault although the agent was asked: they could not be listed for it.
    pub(crate) fn of_tools(self) -> Self {
        let is_party = self.origin == FailureOrigin::Party && self.verdict.is_none();
        let at_fault = is_party.then_some((Status::Errored, Some(Fault::Tool)));
        Self { verdict: at_fault.or(self.verdict), ..self }
    }

    /// A failure of the configuration or of Proctor itself.
    pub fn harness(message: impl Into<String>) -> Self {
        let (class, message) = ("Harness".into(), message.into());
        Self { origin: FailureOrigin::Harness, class, message, verdict: None }
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        let origin = match error.kind {
            ErrorKind::CassetteMiss | ErrorKind::Storage | ErrorKind::Config => {
                FailureOrigin::Harness
            }
            ErrorKind::BudgetExhausted => FailureOrigin::Budget,
            ErrorKind::Unreachable
            | ErrorKind::Timeout
            | ErrorKind::Refused
            | ErrorKind::RateLimited
            | ErrorKind::QuotaExhausted
            | ErrorKind::Overloaded
            | ErrorKind::BadRequest
            | ErrorKind::NotFound
            | ErrorKind::Malformed
            | ErrorKind::Truncated
            | ErrorKind::NoKey
            | ErrorKind::ScriptExhausted
            | ErrorKind::CommandFailed => FailureOrigin::Party,
        };
        let class = match error.kind {
            ErrorKind::Unreachable => "Unreachable",
            ErrorKind::Timeout => "Timeout",
            ErrorKind::Refused => "Refused",
            ErrorKind::RateLimited => "RateLimited",
            ErrorKind::QuotaExhausted => "QuotaExhausted",
            ErrorKind::Overloaded => "Overloaded",
            ErrorKind::BadRequest => "BadRequest",
            ErrorKind::NotFound => "NotFound",
            ErrorKind::Malformed => "Malformed",
            ErrorKind::Truncated => "Truncated",
            ErrorKind::BudgetExhausted => "BudgetExhausted",
            ErrorKind::NoKey => "NoKey",
            ErrorKind::CassetteMiss => "CassetteMiss",
            ErrorKind::ScriptExhausted => "ScriptExhausted",
            ErrorKind::CommandFailed => "CommandFailed",
            ErrorKind::Storage => "Storage",
            ErrorKind::Config => "Config",
        };
        Self { origin, class: class.into(), message: error.message, verdict: None }
    }
}

/// The answer of a party, with what is to be recorded about the model behind it.
#[derive(Debug)]
pub struct PartyAnswer<T> {
    /// What the party answered, or why it did not.
    pub outcome: Result<T, Failure>,
    /// The call to a model, where there was one.
    pub call: Option<Box<ModelCall>>,
    /// What else is to be recorded about it.
    pub events: Vec<Body>,
}

impl<T> PartyAnswer<T> {
    /// An answer without a model behind it.
    pub fn plain(outcome: Result<T, Failure>) -> Self {
        Self { outcome, call: None, events: Vec::new() }
    }

    /// An answer of a model.
    pub(crate) fn of_model(outcome: Result<T, Failure>, call: Box<ModelCall>) -> Self {
        Self { outcome, call: Some(call), events: Vec::new() }
    }

    /// The answer, and everything that is to be recorded about it.
    pub(crate) fn into_parts(self) -> (Result<T, Failure>, Vec<Body>) {
        let call = self.call.map(|call| Body::ModelCall(*call));
        (self.outcome, call.into_iter().chain(self.events).collect())
    }
}
