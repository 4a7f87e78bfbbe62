//! Entries for unit tests.

use crate::entry::{Entry, Outcome};
use crate::model::{ConfidenceTier, Domain, OutcomeStatus, Strategy};
use crate::record::Extra;
use crate::time::UtcTime;

pub(crate) fn at(text: &str) -> UtcTime {
    text.parse().unwrap()
}

pub(crate) fn entry(id: &str, goal: &str, hypothesis: &str) -> Entry {
    Entry {
        id: id.to_owned(),
        session_id: "session_20251203_140000_x7y8z9".to_owned(),
        created_at: at("2025-12-03T14:30:22Z"),
        domain: Domain::Debugging,
        strategy: Strategy::SystematicElimination,
        goal: goal.to_owned(),
        hypothesis: hypothesis.to_owned(),
        action: "look".to_owned(),
        prediction: "it shows".to_owned(),
        history: Vec::new(),
        iteration_count: 1,
        outcome: None,
        surprise: None,
        root_cause: None,
        lesson: None,
        confidence_tier: None,
        notes: Vec::new(),
        iteration_started_at: None,
        confidence: None,
        expectation: None,
        evidence: Vec::new(),
        evidence_moved: None,
        extra: Extra::default(),
    }
}

pub(crate) fn resolved(entry: Entry, status: OutcomeStatus) -> Entry {
    Entry {
        outcome: Some(Outcome {
            status,
            result: "seen".to_owned(),
            captured_at: at("2025-12-03T15:00:00Z"),
            auto_captured: false,
            extra: Extra::default(),
        }),
        confidence_tier: Some(ConfidenceTier::of(status, false)),
        ..entry
    }
}
