//! Why the pipeline ended: the seed's error answer.

use serde::ser::{Serialize, SerializeMap as _, Serializer};

/// An answer that stops the pipeline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{error}: {details}")]
pub struct Stop {
    /// error, stop
    pub status: String,
    /// For `stop`: `red_zone_new_code`, `user_cancelled`
    pub reason: Option<String>,
    /// What is wrong.
    pub error: String,
    /// More about it.
    pub details: String,
    /// The way out.
    pub suggestion: String,
}

impl Serialize for Stop {
    /// A stop on purpose has a reason, and a message for people in one sentence.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("status", &self.status)?;
        if let Some(reason) = &self.reason {
            map.serialize_entry("reason", reason)?;
            map.serialize_entry("message", &self.to_string())?;
        }
        map.serialize_entry("error", &self.error)?;
        map.serialize_entry("details", &self.details)?;
        map.serialize_entry("suggestion", &self.suggestion)?;
        map.end()
    }
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
        Self::stopped(
            "user_cancelled",
            "cancelled".to_owned(),
            details,
            "run again; finished files are not done twice",
        )
    }

    /// The pipeline ends here on purpose.
    pub(crate) fn stopped(reason: &str, error: String, details: &str, suggestion: &str) -> Self {
        Self {
            status: "stop".to_owned(),
            reason: Some(reason.to_owned()),
            error,
            details: details.to_owned(),
            suggestion: suggestion.to_owned(),
        }
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Self::error("system error".to_owned(), error.to_string(), "see the details")
    }
}
