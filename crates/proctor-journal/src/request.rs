//! What a caller can ask for, before limits are applied.

use crate::capture::Expectation;
use crate::entry::{Evidence, Lesson, RootCause};
use crate::error::Refusal;
use crate::model::{Domain, OutcomeStatus, Strategy};
use crate::text::{truncate_field, truncate_optional_field};
use crate::warning::Warning;

/// A new entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// The kind of work.
    pub domain: Domain,
    /// The approach.
    pub strategy: Strategy,
    /// What is to be reached.
    pub goal: String,
    /// What is believed.
    pub hypothesis: String,
    /// What is done about it.
    pub action: String,
    /// What will be seen if the belief is right.
    pub prediction: String,
    /// The probability that the prediction comes true, if the author states one.
    pub confidence: Option<f64>,
    /// What a run is expected to do, if the author says so.
    pub expectation: Option<Expectation>,
}

impl Draft {
    /// A draft with empty texts, to be filled in by name.
    pub fn new(domain: Domain, strategy: Strategy) -> Self {
        Self {
            domain,
            strategy,
            goal: String::new(),
            hypothesis: String::new(),
            action: String::new(),
            prediction: String::new(),
            confidence: None,
            expectation: None,
        }
    }

    /// The first of goal, hypothesis, action and prediction that says nothing. The library stores
    /// it all the same; a command line or a tool should refuse it.
    pub fn blank_field(&self) -> Option<&'static str> {
        let fields = [
            ("goal", &self.goal),
            ("hypothesis", &self.hypothesis),
            ("action", &self.action),
            ("prediction", &self.prediction),
        ];
        fields.into_iter().find(|(_, text)| text.trim().is_empty()).map(|(name, _)| name)
    }

    pub(crate) fn checked(self, warnings: &mut Vec<Warning>) -> Result<Self, Refusal> {
        check_confidence(self.confidence)?;
        Ok(Self {
            goal: truncate_field("goal", self.goal, warnings),
            hypothesis: truncate_field("hypothesis", self.hypothesis, warnings),
            action: truncate_field("action", self.action, warnings),
            prediction: truncate_field("prediction", self.prediction, warnings),
            ..self
        })
    }
}

/// A change to the active entry. Goal and domain never change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// A new belief.
    pub hypothesis: Option<String>,
    /// A new action.
    pub action: Option<String>,
    /// A new prediction.
    pub prediction: Option<String>,
    /// A new approach.
    pub strategy: Option<Strategy>,
    /// A remark to append.
    pub note: Option<String>,
    /// A newly stated probability.
    pub confidence: Option<f64>,
    /// A newly stated expectation for the next run.
    pub expectation: Option<Expectation>,
}

impl Change {
    /// The first of hypothesis, action and prediction that is given and says nothing.
    pub fn blank_field(&self) -> Option<&'static str> {
        let fields = [
            ("hypothesis", &self.hypothesis),
            ("action", &self.action),
            ("prediction", &self.prediction),
        ];
        let is_blank = |text: &Option<String>| text.as_ref().is_some_and(|t| t.trim().is_empty());
        fields.into_iter().find(|(_, text)| is_blank(text)).map(|(name, _)| name)
    }

    /// Whether nothing was asked for; the command line refuses that, the library does nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn checked(self, warnings: &mut Vec<Warning>) -> Result<Self, Refusal> {
        check_confidence(self.confidence)?;
        Ok(Self {
            hypothesis: truncate_optional_field("hypothesis", self.hypothesis, warnings),
            action: truncate_optional_field("action", self.action, warnings),
            prediction: truncate_optional_field("prediction", self.prediction, warnings),
            note: truncate_optional_field("note", self.note, warnings),
            ..self
        })
    }
}

/// How the active entry ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolution {
    /// Confirmed, falsified or abandoned.
    pub status: OutcomeStatus,
    /// What happened.
    pub result: String,
    /// What was unexpected.
    pub surprise: Option<String>,
    /// Why the prediction failed.
    pub root_cause: Option<RootCause>,
    /// What to keep from it.
    pub lesson: Option<Lesson>,
    /// Whether a command's real outcome decided.
    pub auto_captured: bool,
    /// What the command did.
    pub evidence: Option<Evidence>,
}

impl Resolution {
    /// A resolution by hand with no more than a result.
    pub fn new(status: OutcomeStatus, result: impl Into<String>) -> Self {
        Self {
            status,
            result: result.into(),
            surprise: None,
            root_cause: None,
            lesson: None,
            auto_captured: false,
            evidence: None,
        }
    }

    pub(crate) fn checked(self, warnings: &mut Vec<Warning>) -> Self {
        Self {
            result: truncate_field("result", self.result, warnings),
            surprise: truncate_optional_field("surprise", self.surprise, warnings),
            root_cause: self.root_cause.map(|cause| truncate_cause(cause, warnings)),
            lesson: self.lesson.map(|lesson| truncate_lesson(lesson, warnings)),
            ..self
        }
    }
}

/// What is added to an entry afterwards.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Annotation {
    /// What was unexpected.
    pub surprise: Option<String>,
    /// Why the prediction failed.
    pub root_cause: Option<RootCause>,
    /// What to keep from it.
    pub lesson: Option<Lesson>,
    /// A remark to append.
    pub note: Option<String>,
}

impl Annotation {
    /// Whether nothing was asked for.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn checked(self, warnings: &mut Vec<Warning>) -> Self {
        Self {
            surprise: truncate_optional_field("surprise", self.surprise, warnings),
            root_cause: self.root_cause.map(|cause| truncate_cause(cause, warnings)),
            lesson: self.lesson.map(|lesson| truncate_lesson(lesson, warnings)),
            note: truncate_optional_field("note", self.note, warnings),
        }
    }
}

fn truncate_cause(cause: RootCause, warnings: &mut Vec<Warning>) -> RootCause {
    RootCause {
        category: truncate_field("root cause category", cause.category, warnings),
        description: truncate_field("root cause description", cause.description, warnings),
        ..cause
    }
}

fn truncate_lesson(lesson: Lesson, warnings: &mut Vec<Warning>) -> Lesson {
    Lesson {
        what_worked: truncate_field("lesson", lesson.what_worked, warnings),
        takeaway: truncate_optional_field("takeaway", lesson.takeaway, warnings),
        ..lesson
    }
}

fn check_confidence(confidence: Option<f64>) -> Result<(), Refusal> {
    match confidence {
        Some(stated) if !(0.0..=1.0).contains(&stated) => {
            Err(Refusal::Confidence(stated.to_string()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_fields_are_named() {
        let mut draft = Draft::new(Domain::Testing, Strategy::AskUser);
        assert_eq!(draft.blank_field(), Some("goal"));
        draft.goal = "g".into();
        draft.hypothesis = " \n".into();
        assert_eq!(draft.blank_field(), Some("hypothesis"));
        assert_eq!(Change::default().blank_field(), None);
        let change = Change { action: Some(String::new()), ..Change::default() };
        assert_eq!(change.blank_field(), Some("action"));
    }
}
