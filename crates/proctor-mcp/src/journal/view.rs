//! Entries as tools answer them: short by default, in full where one is asked for.

use proctor_journal::{ConfidenceTier, Entry, Evidence, FoundEntry, Warning};
use proctor_text::truncate;
use schemars::JsonSchema;
use serde::Serialize;

/// How much of a text a short answer carries.
const SHORT: usize = 240;
/// How many notes, iterations and pieces of evidence a full answer carries, newest last.
const FULL: usize = 10;

/// The short answer of a tool that changed an entry.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct EntryChange {
    /// The entry.
    id: String,
    /// `active`, `confirmed`, `falsified` or `abandoned`.
    status: String,
    /// Which iteration of hypothesis, action and prediction this is.
    iteration: u64,
    /// How far the outcome can be trusted: `gold`, `silver` or `abandoned`.
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<String>,
    /// The session it belongs to.
    session: String,
    /// The lane.
    #[serde(skip_serializing_if = "Option::is_none")]
    lane: Option<String>,
    /// Set when it was falsified and nobody has said yet what was surprising and why.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    needs_annotation: bool,
    /// What went differently without going wrong, and remarks on vague entries.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl EntryChange {
    pub(super) fn new(entry: &Entry, lane: Option<&str>, warnings: &[Warning]) -> Self {
        Self {
            id: entry.id.clone(),
            status: status(entry),
            iteration: entry.iteration_count,
            tier: tier(entry),
            session: entry.session_id.clone(),
            lane: lane.map(ToOwned::to_owned),
            needs_annotation: entry.needs_annotation(),
            warnings: warning_texts(warnings),
        }
    }

    pub(super) fn warn(&mut self, remark: String) {
        self.warnings.push(remark);
    }
}

/// An entry in few words.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct EntrySummary {
    /// The entry.
    id: String,
    /// `active`, `confirmed`, `falsified` or `abandoned`.
    status: String,
    /// How far the outcome can be trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<String>,
    /// The kind of work.
    domain: String,
    /// When the goal was set.
    created: String,
    /// What was to be reached.
    goal: String,
    /// What was believed.
    hypothesis: String,
    /// What was unexpected.
    #[serde(skip_serializing_if = "Option::is_none")]
    surprise: Option<String>,
    /// What to keep from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    lesson: Option<String>,
    /// The lane.
    #[serde(skip_serializing_if = "Option::is_none")]
    lane: Option<String>,
}

impl EntrySummary {
    pub(super) fn new(entry: &Entry, lane: Option<&str>) -> Self {
        let short = |text: &str| truncate(text, SHORT);
        let lesson = entry.lesson.as_ref();
        Self {
            id: entry.id.clone(),
            status: status(entry),
            tier: tier(entry),
            domain: entry.domain.to_string(),
            created: entry.created_at.to_string(),
            goal: short(&entry.goal),
            hypothesis: short(&entry.hypothesis),
            surprise: entry.surprise.as_deref().map(short),
            lesson: lesson
                .map(|lesson| short(lesson.takeaway.as_ref().unwrap_or(&lesson.what_worked))),
            lane: lane.map(ToOwned::to_owned),
        }
    }

    pub(super) fn found(found: &FoundEntry) -> Self {
        Self::new(&found.entry, found.lane.as_deref())
    }
}

/// An entry in full, but for the older of many notes and iterations.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct EntryView {
    /// The entry.
    id: String,
    /// `active`, `confirmed`, `falsified` or `abandoned`.
    status: String,
    /// The kind of work.
    domain: String,
    /// The approach.
    strategy: String,
    /// What is to be reached.
    goal: String,
    /// What is believed.
    hypothesis: String,
    /// What is done about it.
    action: String,
    /// What will be seen if the belief is right.
    prediction: String,
    /// Which iteration this is.
    iteration: u64,
    /// When the goal was set.
    created: String,
    /// The session it belongs to.
    session: String,
    /// The lane.
    #[serde(skip_serializing_if = "Option::is_none")]
    lane: Option<String>,
    /// The stated probability that the prediction comes true.
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<f64>,
    /// What the next run is expected to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    expect: Option<String>,
    /// What happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
    /// How far the outcome can be trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<String>,
    /// What was unexpected.
    #[serde(skip_serializing_if = "Option::is_none")]
    surprise: Option<String>,
    /// Why the prediction failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    root_cause: Option<String>,
    /// What worked in the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    lesson: Option<String>,
    /// The general rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    takeaway: Option<String>,
    /// The newest remarks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// The newest of the iterations before this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    earlier: Vec<EarlierIteration>,
    /// What commands really did, newest last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<EvidenceView>,
}

/// An iteration that was replaced.
#[derive(Debug, Serialize, JsonSchema)]
struct EarlierIteration {
    /// What was believed.
    hypothesis: String,
    /// What was predicted.
    prediction: String,
}

/// What a command really did.
#[derive(Debug, Serialize, JsonSchema)]
struct EvidenceView {
    /// `confirmed`, `falsified`, `inconclusive` or `evidence_view`.
    verdict: String,
    /// The command.
    command: String,
    /// Why the verdict is what it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl EntryView {
    pub(super) fn new(entry: &Entry, lane: Option<&str>) -> Self {
        let lesson = entry.lesson.as_ref();
        let cause = entry.root_cause.as_ref();
        Self {
            id: entry.id.clone(),
            status: status(entry),
            domain: entry.domain.to_string(),
            strategy: entry.strategy.to_string(),
            goal: entry.goal.clone(),
            hypothesis: entry.hypothesis.clone(),
            action: entry.action.clone(),
            prediction: entry.prediction.clone(),
            iteration: entry.iteration_count,
            created: entry.created_at.to_string(),
            session: entry.session_id.clone(),
            lane: lane.map(ToOwned::to_owned),
            confidence: entry.confidence,
            expect: entry.expectation.as_ref().map(|stated| stated.expect.clone()),
            result: entry.outcome.as_ref().map(|outcome| outcome.result.clone()),
            tier: tier(entry),
            surprise: entry.surprise.clone(),
            root_cause: cause.map(|cause| format!("{}: {}", cause.category, cause.description)),
            lesson: lesson.map(|lesson| lesson.what_worked.clone()),
            takeaway: lesson.and_then(|lesson| lesson.takeaway.clone()),
            notes: newest(&entry.notes).cloned().collect(),
            earlier: newest(&entry.history)
                .map(|earlier| EarlierIteration {
                    hypothesis: truncate(&earlier.hypothesis, SHORT),
                    prediction: truncate(&earlier.prediction, SHORT),
                })
                .collect(),
            evidence: newest(&entry.evidence).map(evidence_view).collect(),
        }
    }
}

fn evidence_view(evidence: &Evidence) -> EvidenceView {
    EvidenceView {
        verdict: evidence.verdict.clone().unwrap_or_else(|| "seen".to_owned()),
        command: truncate(&evidence.argv.join(" "), SHORT),
        reason: evidence.reason.clone(),
    }
}

fn newest<T>(all: &[T]) -> impl Iterator<Item = &T> {
    all.iter().skip(all.len().saturating_sub(FULL))
}

fn status(entry: &Entry) -> String {
    entry.status().map_or("active", |status| status.as_str()).to_owned()
}

fn tier(entry: &Entry) -> Option<String> {
    entry.confidence_tier.map(ConfidenceTier::as_str).map(ToOwned::to_owned)
}

/// The texts of warnings.
pub(super) fn warning_texts(warnings: &[Warning]) -> Vec<String> {
    warnings.iter().map(ToString::to_string).collect()
}
