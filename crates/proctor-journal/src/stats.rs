//! How often predictions come true, with the uncertainty said.
//!
//! Rates are confirmed out of confirmed and falsified: an abandoned entry tells nothing about its
//! hypothesis, so it is counted beside the rate, not in it. Every rate comes with its n, a Wilson
//! interval, and the share that was captured automatically, since self-graded entries flatter.

use std::collections::BTreeMap;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use crate::entry::Entry;
use crate::entry_header::{EntryFacts, SearchableEntry};
use crate::model::OutcomeStatus;

/// Below this many decided entries a rate is called too few to tell.
pub const MIN_SAMPLE: u64 = 10;

/// The tier of entries that an exit code alone decided, in statistics. In the entry itself they are gold.
pub const EXIT_TIER: &str = "exit";

/// The normal quantile of a 95 % interval.
const Z: f64 = 1.959_963_984_540_054;

/// A share with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// How many had it.
    pub hits: u64,
    /// Out of how many.
    pub n: u64,
    /// The share.
    pub value: f64,
    /// The lower end of the 95 % Wilson interval.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Rate {
    /// A share of `n`; `None` when there is nothing to share.
    #[expect(clippy::cast_precision_loss, reason = "counts of entries are far below 2^52")]
    pub fn new(hits: u64, n: u64) -> Option<Self> {
        if n == 0 {
            return None;
        }
        let (p, count) = (hits as f64 / n as f64, n as f64);
        let scale = 1.0 + Z * Z / count;
        let centre = (p + Z * Z / (2.0 * count)) / scale;
        let half = Z / scale * (p * (1.0 - p) / count + Z * Z / (4.0 * count * count)).sqrt();
        // At the edges the interval ends exactly there; rounding must not carry it past.
        let low = if hits == 0 { 0.0 } else { (centre - half).max(0.0) };
        let high = if hits == n { 1.0 } else { (centre + half).min(1.0) };
        Some(Self { hits, n, value: p, low, high })
    }

    /// Whether there are too few to say anything.
    pub const fn is_too_few(&self) -> bool {
        self.n < MIN_SAMPLE
    }
}

/// Numbers for one group of entries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Group {
    /// Predictions that came true.
    pub confirmed: u64,
    /// Predictions that did not.
    pub falsified: u64,
    /// Entries given up.
    pub abandoned: u64,
    /// Entries still active.
    pub active: u64,
    /// Confirmed at the first iteration.
    pub first_try: u64,
    /// Confirmed or falsified by a command's real outcome.
    pub auto_captured: u64,
    /// Iterations of all decided entries.
    pub iterations: u64,
}

impl Group {
    /// Entries whose prediction was decided.
    pub const fn decided(&self) -> u64 {
        self.confirmed + self.falsified
    }

    /// All entries.
    pub const fn all(&self) -> u64 {
        self.decided() + self.abandoned + self.active
    }

    /// Confirmed of decided.
    pub fn confirmed_rate(&self) -> Option<Rate> {
        Rate::new(self.confirmed, self.decided())
    }

    /// Confirmed at the first iteration, of decided: iterations hide wrong hypotheses.
    pub fn first_try_rate(&self) -> Option<Rate> {
        Rate::new(self.first_try, self.decided())
    }

    /// Decided by a command's real outcome, of decided.
    pub fn auto_share(&self) -> Option<Rate> {
        Rate::new(self.auto_captured, self.decided())
    }

    fn add(&mut self, entry: &EntryFacts<'_>) {
        match entry.status {
            None => self.active += 1,
            Some(OutcomeStatus::Abandoned) => self.abandoned += 1,
            Some(OutcomeStatus::Confirmed) => {
                self.confirmed += 1;
                self.first_try += u64::from(entry.iteration_count <= 1);
            }
            Some(OutcomeStatus::Falsified) => self.falsified += 1,
        }
        if matches!(entry.status, Some(OutcomeStatus::Confirmed | OutcomeStatus::Falsified)) {
            self.auto_captured += u64::from(entry.auto_captured);
            self.iterations += entry.iteration_count;
        }
    }
}

impl Serialize for Group {
    /// Counts with the rates made of them, so that a program need not know how.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut group = serializer.serialize_struct("Group", 9)?;
        group.serialize_field("confirmed", &self.confirmed)?;
        group.serialize_field("falsified", &self.falsified)?;
        group.serialize_field("abandoned", &self.abandoned)?;
        group.serialize_field("active", &self.active)?;
        group.serialize_field("iterations", &self.iterations)?;
        group.serialize_field("too_few", &(self.decided() < MIN_SAMPLE))?;
        group.serialize_field("confirmed_rate", &self.confirmed_rate())?;
        group.serialize_field("first_try_rate", &self.first_try_rate())?;
        group.serialize_field("auto_share", &self.auto_share())?;
        group.end()
    }
}

/// One bin of the reliability diagram: predictions stated with about the same confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bin {
    /// Stated confidence from here …
    pub from: f64,
    /// … up to here (the last bin includes its end).
    pub to: f64,
    /// The mean of what was stated.
    pub stated: f64,
    /// What came true.
    pub seen: Rate,
}

/// How well stated confidence fits what happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// Decided entries with a stated confidence.
    pub n: u64,
    /// Mean squared error of the stated probabilities: 0 is perfect, 0.25 is always saying one half.
    pub brier: f64,
    /// Ten bins; empty ones are left out.
    pub bins: Vec<Bin>,
}

/// All numbers of a journal.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stats {
    /// Everything together.
    pub total: Group,
    /// By kind of work.
    pub by_domain: BTreeMap<&'static str, Group>,
    /// By approach.
    pub by_strategy: BTreeMap<&'static str, Group>,
    /// By confidence tier; active entries have none. Gold ones that an exit code alone decided are apart, as `exit`.
    pub by_tier: BTreeMap<&'static str, Group>,
    /// By the month of creation.
    pub by_month: BTreeMap<String, Group>,
    /// Falsified entries without a surprise or root cause.
    pub needing_annotation: u64,
    /// How well stated confidence fits; `None` when none was stated.
    pub calibration: Option<Calibration>,
}

/// Counts entries.
pub fn stats<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Stats {
    count(entries.into_iter().map(Entry::facts))
}

/// [`stats`] over what is known of entries.
pub(crate) fn count<'a>(entries: impl IntoIterator<Item = EntryFacts<'a>>) -> Stats {
    let mut stats = Stats::default();
    let mut stated = Vec::new();
    let mut months: BTreeMap<(i16, i8), Group> = BTreeMap::new();
    for entry in entries {
        stats.total.add(&entry);
        stats.by_domain.entry(entry.domain.as_str()).or_default().add(&entry);
        stats.by_strategy.entry(entry.strategy.as_str()).or_default().add(&entry);
        if let Some(tier) = entry.tier {
            let name = if entry.by_exit { EXIT_TIER } else { tier.as_str() };
            stats.by_tier.entry(name).or_default().add(&entry);
        }
        let date = entry.created_at.civil().date();
        months.entry((date.year(), date.month())).or_default().add(&entry);
        stats.needing_annotation += u64::from(entry.needs_annotation);
        stated.extend(forecast(&entry));
    }
    stats.by_month = months
        .into_iter()
        .map(|((year, month), group)| (format!("{year:04}-{month:02}"), group))
        .collect();
    // In one order, so that the last digit of a sum does not depend on how entries were read.
    stated.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    stats.calibration = calibration(&stated);
    stats
}

/// A stated probability and whether it came true.
fn forecast(entry: &EntryFacts<'_>) -> Option<(f64, bool)> {
    let came_true = match entry.status? {
        OutcomeStatus::Confirmed => true,
        OutcomeStatus::Falsified => false,
        OutcomeStatus::Abandoned => return None,
    };
    entry.confidence.filter(|p| (0.0..=1.0).contains(p)).map(|p| (p, came_true))
}

#[expect(clippy::cast_precision_loss, reason = "counts of entries are far below 2^52")]
fn calibration(stated: &[(f64, bool)]) -> Option<Calibration> {
    if stated.is_empty() {
        return None;
    }
    let error = |(p, came_true): &(f64, bool)| (p - f64::from(u8::from(*came_true))).powi(2);
    let brier = stated.iter().map(error).sum::<f64>() / stated.len() as f64;
    let bins = (0..10_u8).filter_map(|tenth| bin(stated, tenth)).collect();
    Some(Calibration { n: stated.len() as u64, brier, bins })
}

#[expect(clippy::cast_precision_loss, reason = "counts of entries are far below 2^52")]
fn bin(stated: &[(f64, bool)], tenth: u8) -> Option<Bin> {
    let (from, to) = (f64::from(tenth) / 10.0, f64::from(tenth + 1) / 10.0);
    let inside: Vec<_> =
        stated.iter().filter(|(p, _)| *p >= from && (*p < to || tenth == 9)).collect();
    let hits = inside.iter().filter(|(_, came_true)| *came_true).count() as u64;
    let seen = Rate::new(hits, inside.len() as u64)?;
    let mean = inside.iter().map(|(p, _)| p).sum::<f64>() / inside.len() as f64;
    Some(Bin { from, to, stated: mean, seen })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{entry, resolved};

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 5e-4
    }

    #[test]
    fn wilson_intervals_match_published_values() {
        let rate = Rate::new(8, 10).unwrap();
        assert!(near(rate.low, 0.4902) && near(rate.high, 0.9433), "{rate:?}");
        let none = Rate::new(0, 10).unwrap();
        assert!(near(none.low, 0.0) && near(none.high, 0.2775), "{none:?}");
        assert_eq!(Rate::new(0, 0), None);
        assert!(Rate::new(9, 9).unwrap().is_too_few());
    }

    #[test]
    fn abandoned_entries_are_shown_but_not_rated() {
        let mut second = resolved(entry("b", "g", "h"), OutcomeStatus::Confirmed);
        second.iteration_count = 3;
        let entries = [
            resolved(entry("a", "g", "h"), OutcomeStatus::Confirmed),
            second,
            resolved(entry("c", "g", "h"), OutcomeStatus::Falsified),
            resolved(entry("d", "g", "h"), OutcomeStatus::Abandoned),
            entry("e", "g", "h"),
        ];
        let stats = stats(&entries);
        assert_eq!(stats.total.confirmed_rate().map(|r| (r.hits, r.n)), Some((2, 3)));
        assert_eq!(stats.total.first_try_rate().map(|r| (r.hits, r.n)), Some((1, 3)));
        assert_eq!((stats.total.abandoned, stats.total.active, stats.total.all()), (1, 1, 5));
        assert_eq!(stats.by_month["2025-12"].all(), 5);
        assert_eq!(stats.by_tier.keys().copied().collect::<Vec<_>>(), ["abandoned", "silver"]);
        assert_eq!(stats.needing_annotation, 1);
        assert_eq!(stats.calibration, None);
    }

    #[test]
    fn brier_score_and_bins_follow_stated_confidence() {
        let with = |p: f64, status| {
            let mut entry = resolved(entry("a", "g", "h"), status);
            entry.confidence = Some(p);
            entry
        };
        let entries = [
            with(1.0, OutcomeStatus::Confirmed),
            with(0.9, OutcomeStatus::Falsified),
            with(0.2, OutcomeStatus::Falsified),
            with(0.5, OutcomeStatus::Abandoned),
        ];
        let calibration = stats(&entries).calibration.unwrap();
        assert_eq!(calibration.n, 3);
        assert!(near(calibration.brier, (0.0 + 0.81 + 0.04) / 3.0));
        assert_eq!(calibration.bins.len(), 2);
        assert_eq!((calibration.bins[1].seen.hits, calibration.bins[1].seen.n), (1, 2));
    }

    #[test]
    fn an_old_pass_without_counted_tests_was_decided_by_its_exit_code() {
        let decided = |expect: &str, counts: Option<crate::Counts>| {
            let mut entry = resolved(entry("a", "g", "h"), OutcomeStatus::Confirmed);
            entry.confidence_tier = Some(crate::ConfidenceTier::Gold);
            if let Some(outcome) = &mut entry.outcome {
                outcome.auto_captured = true;
            }
            let run = crate::capture::CommandResult::default();
            entry.evidence.push(crate::Evidence {
                verdict: Some("confirmed".into()),
                expectation: Some(expect.into()),
                counts,
                ..crate::capture::observe(&run, entry.created_at)
            });
            entry
        };
        let counted = || Some(crate::Counts::new(1, 0, 0, 0));
        let entries = [
            decided("pass", None),
            decided("exit:0", counted()),
            decided("pass", counted()),
            decided("match:x", None),
        ];
        let tiers = stats(&entries).by_tier;
        assert_eq!((tiers["exit"].confirmed, tiers["gold"].confirmed), (2, 2));
        for entry in entries {
            let line = serde_json::to_string(&entry).unwrap();
            let header = crate::entry_header::EntryHeader::of_bytes(line.as_bytes()).unwrap();
            assert_eq!(header.facts(), entry.facts());
        }
    }
}
