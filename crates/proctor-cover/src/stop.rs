//! Why the pipeline ended: the seed's error answer.

use serde::Serialize;

/// An answer that stops the pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{error}: {details}")]
pub struct Stop {
    /// error, stop
    pub status: String,
    /// For `stop`: `red_zone_new_code`, `user_cancelled`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What is wrong.
    pub error: String,
    /// More about it.
    pub details: String,
    /// The way out.
    pub suggestion: String,
}

impl Stop {
    pub(crate) fn error(error: String, details: String, suggestion: &str) -> Self {
        Self {
            status: "error".to_owned(),
            reason: None,
            error,
            details,
            suggestion: suggestion.to_owned(),
        }
    }
}

impl Stop {
    /// Complete confinement was demanded, and this machine does not allow it.
    pub(crate) fn not_confined(missing: &[String]) -> Self {
        Self::error(
            "the project's code cannot be confined".to_owned(),
            missing.join("; "),
            "`proctor doctor` says what this machine allows; without --require-confinement cover goes on with what there is",
        )
    }

    /// Somebody does not want it.
    #[must_use]
    pub fn cancelled(details: &str) -> Self {
        Self {
            status: "stop".to_owned(),
            reason: Some("user_cancelled".to_owned()),
            error: "cancelled".to_owned(),
            details: details.to_owned(),
            suggestion: "run again; finished files are not done twice".to_owned(),
        }
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Self::error("system error".to_owned(), error.to_string(), "see the details")
    }
}
