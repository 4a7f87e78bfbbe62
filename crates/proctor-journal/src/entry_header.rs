//! The header of an entry: the fields that filters, statistics and search need, borrowed from the bytes of a file.
//!
//! Reading an entry in full builds every text in it. Of ten thousand entries a search shows ten and
//! statistics show none, so the others are only looked at. A header is as strict about shapes as the
//! full record, but for evidence, which is counted and not examined.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::decode;
use crate::entry::{AnnotationLine, Entry, Evidence, Lesson, RootCause, StatedExpectation};
use crate::model::{ConfidenceTier, Domain, OutcomeStatus, Strategy};
use crate::record::Key;
use crate::time::UtcTime;

/// What is seen of an entry without building it.
#[derive(Deserialize)]
pub(crate) struct EntryHeader<'a> {
    #[serde(borrow)]
    id: Key<'a>,
    #[serde(borrow)]
    session_id: Key<'a>,
    created_at: UtcTime,
    domain: Domain,
    strategy: Strategy,
    #[serde(borrow)]
    goal: Key<'a>,
    #[serde(borrow)]
    hypothesis: Key<'a>,
    iteration_count: Option<u64>,
    #[serde(borrow)]
    outcome: Option<OutcomeHeader<'a>>,
    #[serde(borrow)]
    surprise: Option<Key<'a>>,
    root_cause: Option<RootCause>,
    lesson: Option<Lesson>,
    confidence_tier: Option<ConfidenceTier>,
    confidence: Option<f64>,
    // Only read so that a line is an entry here exactly where it is one in full.
    #[serde(borrow, rename = "action")]
    _action: Key<'a>,
    #[serde(borrow, rename = "prediction")]
    _prediction: Key<'a>,
    #[serde(borrow, default, rename = "history")]
    _history: Option<Vec<IterationHeader<'a>>>,
    #[serde(borrow, default, rename = "notes")]
    _notes: Option<Vec<Key<'a>>>,
    #[serde(default, rename = "iteration_started_at")]
    _iteration_started_at: Option<UtcTime>,
    #[serde(default, rename = "expectation")]
    _expectation: Option<StatedExpectation>,
    #[serde(borrow, default)]
    evidence: Option<Vec<EvidenceHeader<'a>>>,
}

/// The fields of a piece of evidence that statistics need.
#[derive(Deserialize)]
struct EvidenceHeader<'a> {
    #[serde(borrow)]
    expectation: Option<Key<'a>>,
    #[serde(borrow)]
    verdict: Option<Key<'a>>,
    counts: Option<IgnoredAny>,
}

impl EvidenceHeader<'_> {
    fn of_evidence(evidence: Evidence) -> Self {
        let own = |text: Option<String>| text.map(|text| Key(Cow::Owned(text)));
        Self {
            expectation: own(evidence.expectation),
            verdict: own(evidence.verdict),
            counts: evidence.counts.map(|_| IgnoredAny),
        }
    }

    fn by_exit(&self) -> Option<bool> {
        let verdict = self.verdict.as_ref().map(|key| &*key.0);
        let expectation = self.expectation.as_ref().map(|key| &*key.0);
        by_exit(verdict, expectation, self.counts.is_some())
    }
}

/// Whether this evidence decided by an exit code alone; `None` if it decided nothing.
///
/// Entries of earlier versions expected `pass` or `fail` of commands that counted no tests.
fn by_exit(verdict: Option<&str>, expectation: Option<&str>, has_counts: bool) -> Option<bool> {
    let (Some("confirmed" | "falsified"), Some(expectation)) = (verdict, expectation) else {
        return None;
    };
    let named_test = matches!(expectation, "pass" | "fail");
    Some(expectation.starts_with("exit:") || (named_test && !has_counts))
}

#[derive(Deserialize)]
struct OutcomeHeader<'a> {
    status: OutcomeStatus,
    #[serde(borrow, rename = "result")]
    _result: Key<'a>,
    #[serde(rename = "captured_at")]
    _captured_at: UtcTime,
    auto_captured: Option<bool>,
}

#[derive(Deserialize)]
struct IterationHeader<'a> {
    #[serde(rename = "timestamp")]
    _timestamp: UtcTime,
    #[serde(borrow, rename = "hypothesis")]
    _hypothesis: Key<'a>,
    #[serde(borrow, rename = "action")]
    _action: Key<'a>,
    #[serde(borrow, rename = "prediction")]
    _prediction: Key<'a>,
    #[serde(rename = "superseded_at")]
    _superseded_at: Option<UtcTime>,
    #[serde(rename = "confidence")]
    _confidence: Option<f64>,
}

impl<'a> EntryHeader<'a> {
    /// Parses the bytes of one entry without copying; falls back to the full reader where that fails.
    pub(crate) fn of_bytes(bytes: &'a [u8]) -> serde_json::Result<Self> {
        let borrowed = std::str::from_utf8(decode::without_byte_order_mark(bytes))
            .ok()
            .and_then(|text| serde_json::from_str(text).ok());
        match borrowed {
            Some(header) => Ok(header),
            None => decode::record::<Entry>(bytes).map(Self::of_entry),
        }
    }

    fn of_entry(entry: Entry) -> Self {
        let own = |text: String| Key(Cow::Owned(text));
        Self {
            id: own(entry.id),
            session_id: own(entry.session_id),
            created_at: entry.created_at,
            domain: entry.domain,
            strategy: entry.strategy,
            goal: own(entry.goal),
            hypothesis: own(entry.hypothesis),
            iteration_count: Some(entry.iteration_count),
            outcome: entry.outcome.map(|outcome| OutcomeHeader {
                status: outcome.status,
                _result: own(outcome.result),
                _captured_at: outcome.captured_at,
                auto_captured: Some(outcome.auto_captured),
            }),
            surprise: entry.surprise.map(own),
            root_cause: entry.root_cause,
            lesson: entry.lesson,
            confidence_tier: entry.confidence_tier,
            confidence: entry.confidence,
            _action: own(entry.action),
            _prediction: own(entry.prediction),
            _history: None,
            _notes: None,
            _iteration_started_at: None,
            _expectation: None,
            evidence: Some(entry.evidence.into_iter().map(EvidenceHeader::of_evidence).collect()),
        }
    }

    /// Folds in what was said about it afterwards.
    pub(crate) fn annotate(&mut self, line: &AnnotationLine) {
        if let Some(surprise) = &line.surprise {
            self.surprise = Some(Key(Cow::Owned(surprise.clone())));
        }
        self.root_cause = line.root_cause.clone().or(self.root_cause.take());
        self.lesson = line.lesson.clone().or(self.lesson.take());
    }
}

/// The fields of an entry that filters and statistics need.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct EntryFacts<'a> {
    pub(crate) id: &'a str,
    pub(crate) session_id: &'a str,
    pub(crate) created_at: UtcTime,
    pub(crate) domain: Domain,
    pub(crate) strategy: Strategy,
    pub(crate) status: Option<OutcomeStatus>,
    pub(crate) tier: Option<ConfidenceTier>,
    pub(crate) iteration_count: u64,
    pub(crate) auto_captured: bool,
    /// Whether an exit code alone decided it.
    pub(crate) by_exit: bool,
    pub(crate) needs_annotation: bool,
    pub(crate) confidence: Option<f64>,
}

/// An entry or the header of one, as filters, statistics and search see it.
pub(crate) trait SearchableEntry {
    /// The fields that filters and statistics need.
    fn facts(&self) -> EntryFacts<'_>;
    /// The texts that are searched.
    fn texts(&self) -> [Option<&str>; 5];
}

impl SearchableEntry for Entry {
    fn facts(&self) -> EntryFacts<'_> {
        EntryFacts {
            id: &self.id,
            session_id: &self.session_id,
            created_at: self.created_at,
            domain: self.domain,
            strategy: self.strategy,
            status: self.status(),
            tier: self.confidence_tier,
            iteration_count: self.iteration_count,
            auto_captured: self.is_auto_captured(),
            by_exit: self.is_auto_captured()
                && self.evidence.iter().rev().find_map(|seen| {
                    let (verdict, expectation) =
                        (seen.verdict.as_deref(), seen.expectation.as_deref());
                    by_exit(verdict, expectation, seen.counts.is_some())
                }) == Some(true),
            needs_annotation: self.needs_annotation(),
            confidence: self.confidence,
        }
    }

    fn texts(&self) -> [Option<&str>; 5] {
        searched_texts(&self.goal, &self.hypothesis, self.surprise.as_deref(), self.lesson.as_ref())
    }
}

impl SearchableEntry for EntryHeader<'_> {
    fn facts(&self) -> EntryFacts<'_> {
        let status = self.outcome.as_ref().map(|end| end.status);
        let explained = self.surprise.is_some() && self.root_cause.is_some();
        let auto_captured =
            self.outcome.as_ref().is_some_and(|end| end.auto_captured == Some(true));
        EntryFacts {
            id: &self.id.0,
            session_id: &self.session_id.0,
            created_at: self.created_at,
            domain: self.domain,
            strategy: self.strategy,
            status,
            tier: self.confidence_tier,
            iteration_count: self.iteration_count.unwrap_or(1),
            auto_captured,
            by_exit: auto_captured
                && self.evidence.iter().flatten().rev().find_map(EvidenceHeader::by_exit)
                    == Some(true),
            needs_annotation: status == Some(OutcomeStatus::Falsified) && !explained,
            confidence: self.confidence,
        }
    }

    fn texts(&self) -> [Option<&str>; 5] {
        let surprise = self.surprise.as_ref().map(|text| &*text.0);
        searched_texts(&self.goal.0, &self.hypothesis.0, surprise, self.lesson.as_ref())
    }
}

fn searched_texts<'a>(
    goal: &'a str,
    hypothesis: &'a str,
    surprise: Option<&'a str>,
    lesson: Option<&'a Lesson>,
) -> [Option<&'a str>; 5] {
    [
        Some(goal),
        Some(hypothesis),
        surprise,
        lesson.map(|lesson| lesson.what_worked.as_str()),
        lesson.and_then(|lesson| lesson.takeaway.as_deref()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{entry, resolved};

    fn line(entry: &Entry) -> String {
        serde_json::to_string(entry).unwrap()
    }

    #[test]
    fn a_header_has_the_facts_of_its_entry() {
        let mut full = resolved(entry("a", "fix \"it\"\nnow", "ÜBER"), OutcomeStatus::Falsified);
        full.confidence = Some(0.25);
        full.iteration_count = 3;
        full.lesson = Some(Lesson::new("logging", Some("log first".into())));
        for known in [entry("b", "g", "h"), full] {
            let text = line(&known);
            let header = EntryHeader::of_bytes(text.as_bytes()).unwrap();
            assert_eq!((header.facts(), header.texts()), (known.facts(), known.texts()));
        }
    }

    #[test]
    fn malformed_entries_have_no_header() {
        let good = line(&resolved(entry("a", "g", "h"), OutcomeStatus::Confirmed));
        for (from, to) in [
            (r#""goal":"g""#, r#""goal":7"#),
            (r#""action":"look""#, r#""action":null"#),
            (r#""notes":[]"#, r#""notes":[3]"#),
            (r#""history":[]"#, r#""history":[{"timestamp":1}]"#),
            (r#""domain":"debugging""#, r#""domain":"gardening""#),
            (r#""result":"seen","#, ""),
        ] {
            let bad = good.replacen(from, to, 1);
            assert_ne!(bad, good, "{from}");
            assert!(decode::record::<Entry>(bad.as_bytes()).is_err(), "{bad}");
            assert!(EntryHeader::of_bytes(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn whborrowed_cannot_make_out_is_read_in_full() {
        let odd =
            line(&entry("a", "g", "h")).replace(r#""goal":"g""#, r#""goal":"x","goal":"a\ud800b""#);
        let header = EntryHeader::of_bytes(odd.as_bytes()).unwrap();
        assert_eq!(header.texts()[0], Some("a\u{fffd}b"));
    }
}
