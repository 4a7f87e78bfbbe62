//! Where the repetitions of an adaptive run went, and what they have shown: data, and the same in words.

use std::collections::BTreeMap;
use std::fmt;

use proctor_text::pluralize;

use super::repeat_plan::Pairs;

/// So many examples are named; the others are counted.
const MAX_NAMED: usize = 5;
/// With more different numbers of repetitions than this, their range is shown.
const MAX_LISTED_COUNTS: usize = 4;

/// Where the repetitions of an adaptive run went.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RepeatReport {
    /// Up to how many repetitions an example could get.
    pub limit: u32,
    /// How many examples were run how often.
    pub examples_by_repeats: BTreeMap<u32, u64>,
    /// What all pairs with the baseline say; `None` where there are none.
    pub suite: Option<SuiteEvidence>,
    /// Examples that are shown to be worse than in the baseline, or always fail now with no model to vary by.
    pub worse: Vec<String>,
    /// Examples that did as in the baseline in every pair.
    pub alike: u64,
    /// Examples that did not, by no more than chance explains.
    pub not_shown: u64,
    /// What became of pass rates.
    pub rates: RateCounts,
}

/// What all pairs of a run with its baseline say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SuiteEvidence {
    pub(super) pairs: Pairs,
    /// Whether the suite is shown to be worse.
    pub is_worse: bool,
}

/// What became of the pass rates of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RateCounts {
    /// Shown to be reached.
    pub reached: u64,
    /// Shown to be missed.
    pub missed: u64,
    /// Examples of which neither is shown.
    pub open: Vec<String>,
}

impl fmt::Display for RepeatReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "repeats: {}", self.spent())?;
        if let Some(suite) = &self.suite {
            write!(f, "\nbaseline: {}", self.compared(suite))?;
        }
        let rates = &self.rates;
        if rates.reached + rates.missed > 0 || !rates.open.is_empty() {
            write!(f, "\npass rates: {}", self.rated())?;
        }
        Ok(())
    }
}

impl RepeatReport {
    /// `12 examples × 1, 3 examples × 8`.
    fn spent(&self) -> String {
        let by_repeats = &self.examples_by_repeats;
        let all: u64 = by_repeats.iter().map(|(repeats, count)| u64::from(*repeats) * count).sum();
        let told = |count: u64, times: String| format!("{} × {times}", pluralize(count, "example"));
        match (by_repeats.first_key_value(), by_repeats.last_key_value()) {
            (Some((least, _)), Some((most, _))) if by_repeats.len() > MAX_LISTED_COUNTS => {
                let range = told(by_repeats.values().sum(), format!("{least} to {most}"));
                format!("{range}, {all} in all")
            }
            _ => {
                let each = by_repeats.iter().map(|(times, count)| told(*count, times.to_string()));
                each.collect::<Vec<_>>().join(", ")
            }
        }
    }

    fn compared(&self, suite: &SuiteEvidence) -> String {
        let Pairs { worse, better, .. } = suite.pairs;
        let verdict = if suite.is_worse {
            "the suite got worse"
        } else if worse + better == 0 {
            "no change seen"
        } else {
            "no drop of the suite shown"
        };
        let mut parts = vec![format!("{verdict} ({worse} pairs worse, {better} better)")];
        if !self.worse.is_empty() {
            parts.push(format!("regression shown in {}", named(&self.worse)));
        }
        if self.not_shown > 0 {
            parts.push(format!("differences within chance in {}", self.not_shown));
        }
        if self.alike > 0 {
            parts.push(format!("no change seen in {}", self.alike));
        }
        parts.join(", ")
    }

    fn rated(&self) -> String {
        let RateCounts { reached, missed, open } = &self.rates;
        let mut parts = Vec::new();
        if *reached > 0 {
            parts.push(format!("shown to be reached in {reached}"));
        }
        if *missed > 0 {
            parts.push(format!("shown to be missed in {missed}"));
        }
        if !open.is_empty() {
            let limit = self.limit;
            parts.push(format!("still open within the limit of {limit} in {}", named(open)));
        }
        parts.join(", ")
    }
}

/// `2 (refund, booking)`.
fn named(titles: &[String]) -> String {
    let more = titles.len().saturating_sub(MAX_NAMED);
    let mut names: Vec<String> = titles.iter().take(MAX_NAMED).cloned().collect();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    format!("{} ({})", titles.len(), names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../../../docs/running.md");

    #[test]
    fn the_page_shows_what_is_told() {
        let report = RepeatReport {
            limit: 20,
            examples_by_repeats: [(3, 10), (9, 5)].into(),
            suite: Some(SuiteEvidence {
                pairs: Pairs { worse: 9, better: 7, alike: 59 },
                is_worse: false,
            }),
            alike: 10,
            not_shown: 5,
            rates: RateCounts {
                reached: 2,
                missed: 0,
                open: vec!["Refunds after the deadline".to_owned()],
            },
            ..RepeatReport::default()
        };
        assert!(PAGE.contains(&format!("```text\n{report}\n```")), "{report}");
    }

    #[test]
    fn what_got_worse_is_named_and_long_lists_are_cut() {
        let report = RepeatReport {
            limit: 20,
            examples_by_repeats: [(1, 1), (8, 7)].into(),
            suite: Some(SuiteEvidence {
                pairs: Pairs { worse: 50, better: 1, alike: 0 },
                is_worse: true,
            }),
            worse: (1..=7).map(|number| format!("e{number}")).collect(),
            ..RepeatReport::default()
        };
        assert_eq!(
            report.to_string(),
            "repeats: 1 example × 1, 7 examples × 8\n\
             baseline: the suite got worse (50 pairs worse, 1 better), \
             regression shown in 7 (e1, e2, e3, e4, e5, 2 more)"
        );
    }
}
