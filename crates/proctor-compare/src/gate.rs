//! Whether a change may pass: the decision of `compare --gate`, and its exit code.
//!
//! | decision | exit code | when |
//! |---|---|---|
//! | pass | 0 | nothing that was observed got worse |
//! | stop | 1 | a regression, an example without a result on one side, a limit that is exceeded |
//! | not comparable | 2 | a side did not load, or the two have nothing in common |
//! | cannot tell | 3 | something got worse, and chance cannot be excluded |
//!
//! The first that holds of: not comparable, stop, cannot tell.

use proctor_stats::holm;
use proctor_text::pluralize;
use serde::{Deserialize, Serialize};

use crate::assess::p_words;
use crate::model::{Assessment, Comparison, Gap, UsageChange};

/// Which examples may lack a result on one side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AllowedGaps {
    /// None.
    #[default]
    None,
    /// Those without a result before.
    New,
    /// Missing before or after.
    All,
}

/// What is made of «cannot tell».
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Undecided {
    /// It is a result of its own.
    #[default]
    Fail,
    /// The gate passes.
    Ok,
}

/// What a gate looks at beyond the verdict.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GateRules {
    /// Which examples may lack a result on one side.
    pub allowed_gaps: AllowedGaps,
    /// What is made of «cannot tell».
    pub undecided: Undecided,
    /// Criteria that must not get worse.
    pub criteria: Vec<String>,
    /// The factor by which durations may grow.
    pub most_duration: Option<f64>,
    /// The factor by which costs may grow.
    pub most_cost: Option<f64>,
}

/// What a gate decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateDecision {
    /// Nothing that was observed got worse.
    Pass,
    /// Something got worse.
    Stop,
    /// The two cannot be compared.
    NotComparable,
    /// Something got worse, perhaps by chance.
    CannotTell,
}

impl GateDecision {
    /// The exit code that says so.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Stop => 1,
            Self::NotComparable => 2,
            Self::CannotTell => 3,
        }
    }

    /// The words for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Stop => "stop",
            Self::NotComparable => "not comparable",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// A decision with its reasons.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gate {
    /// What the exit code says.
    pub decision: GateDecision,
    /// The exit code that says so.
    pub exit_code: u8,
    /// Why, a sentence each; for `pass` what it could still hide.
    pub reasons: Vec<String>,
}

impl Gate {
    /// Nothing has been looked at.
    pub(crate) fn open() -> Self {
        Self::new(GateDecision::Pass, Vec::new())
    }

    /// Decides on a comparison.
    pub fn of(comparison: &Comparison, rules: &GateRules) -> Self {
        if let Some(why) = &comparison.not_comparable {
            return Self::new(GateDecision::NotComparable, vec![why.clone()]);
        }
        let mut found = GateReasons::default();
        found.changes(comparison);
        found.gaps(&comparison.gaps, rules.allowed_gaps);
        found.criteria(comparison, &rules.criteria);
        found.usage("duration", comparison.duration.as_ref(), rules.most_duration);
        found.usage("cost", comparison.cost.as_ref(), rules.most_cost);
        if !found.stops.is_empty() {
            return Self::new(GateDecision::Stop, found.stops);
        }
        if !found.doubts.is_empty() && rules.undecided == Undecided::Fail {
            return Self::new(GateDecision::CannotTell, found.doubts);
        }
        let mut reasons = found.doubts;
        reasons.push(possible_drop_text(comparison));
        Self::new(GateDecision::Pass, reasons)
    }

    fn new(decision: GateDecision, reasons: Vec<String>) -> Self {
        Self { decision, exit_code: decision.exit_code(), reasons }
    }
}

/// What a pass could still hide.
fn possible_drop_text(comparison: &Comparison) -> String {
    match (comparison.possible_drop(), comparison.rules.margin) {
        (None, _) => "every example is deterministic: what was seen is all there is".to_owned(),
        (Some(drop), Some(margin)) if comparison.suite.verdict == Assessment::Unchanged => format!(
            "shown: not worse by more than {} (a drop of up to {} is possible)",
            points(margin),
            points(drop)
        ),
        (Some(drop), _) => format!("a drop of up to {} is possible", points(drop)),
    }
}

fn points(share: f64) -> String {
    let value = share * 100.0;
    let value = if value < 10.0 { format!("{value:.1}") } else { format!("{value:.0}") };
    let value = value.strip_suffix(".0").unwrap_or(&value);
    if value == "1" { "1 point".to_owned() } else { format!("{value} points") }
}

/// Reasons to stop, and reasons to doubt.
#[derive(Default)]
struct GateReasons {
    stops: Vec<String>,
    doubts: Vec<String>,
}

impl GateReasons {
    fn changes(&mut self, comparison: &Comparison) {
        let (counts, suite) = (&comparison.counts, &comparison.suite);
        if counts.regressions > 0 {
            self.stops.push(match counts.regressions {
                1 => "1 example got worse".to_owned(),
                more => format!("{more} examples got worse"),
            });
        }
        if suite.verdict == Assessment::Regression {
            self.stops.push(format!("the suite as a whole got worse ({})", p_words(suite.p_worse)));
        }
        let (before, after) = (comparison.before.errors, comparison.after.errors);
        if after > before {
            self.stops.push(format!("errors outside examples: {before} before, {after} now"));
        }
        if comparison.verdict == Assessment::CannotTell {
            self.doubts.push(doubt(comparison));
        }
    }

    fn gaps(&mut self, gaps: &[Gap], allowed: AllowedGaps) {
        let count =
            |missing_after| gaps.iter().filter(|gap| gap.missing_after == missing_after).count();
        let (gone, new) = (count(true), count(false));
        if gone > 0 && allowed != AllowedGaps::All {
            self.stops.push(format!("{} without a result now", pluralize(gone, "example")));
        }
        if new > 0 && allowed == AllowedGaps::None {
            self.stops.push(format!("{} without a result before", pluralize(new, "example")));
        }
    }

    fn criteria(&mut self, comparison: &Comparison, wanted: &[String]) {
        let named = |name: &String| comparison.criteria.iter().find(|change| change.name == *name);
        for name in wanted.iter().filter(|name| named(name).is_none()) {
            self.stops.push(format!("criterion `{name}`: no example checks it on both sides"));
        }
        let found: Vec<_> = wanted.iter().filter_map(named).collect();
        let adjusted = holm(&found.iter().map(|change| change.p_worse).collect::<Vec<_>>());
        for (change, p) in found.into_iter().zip(adjusted) {
            let falls = [change.change, change.score_change]
                .into_iter()
                .flatten()
                .any(|change| change.estimate < -1e-12);
            if falls && p <= comparison.rules.level_criteria {
                self.stops.push(format!("criterion `{}` got worse ({})", change.name, p_words(p)));
            } else if falls {
                self.doubts.push(format!(
                    "criterion `{}` holds less often or scores lower, perhaps by chance ({})",
                    change.name,
                    p_words(p)
                ));
            }
        }
    }

    fn usage(&mut self, name: &str, change: Option<&UsageChange>, most: Option<f64>) {
        let Some(most) = most else { return };
        let Some(change) = change else {
            self.stops.push(format!("{name}: no example has one on both sides"));
            return;
        };
        let factor = match change.ratio {
            Some(ratio) if change.rated == change.examples => ratio,
            // Something that cost nothing has no factor: the sums have one.
            _ if change.before > 0.0 => change.after / change.before,
            _ if change.after > 0.0 => f64::INFINITY,
            _ => 1.0,
        };
        if factor <= most {
            return;
        }
        let text = format!("{name} × {factor:.2}, more than × {most}");
        match change.ratio_range {
            _ if factor.is_infinite() => {
                self.stops.push(format!("{name}: nothing before, something now"));
            }
            Some(range) if range.low > most => self.stops.push(text),
            Some(_) => self.doubts.push(format!("{text}, within what runs vary by")),
            None => self
                .doubts
                .push(format!("{text}; how much runs vary is known from three earlier runs on")),
        }
    }
}

/// What got worse, perhaps by chance, and what would tell.
fn doubt(comparison: &Comparison) -> String {
    let (counts, suite) = (&comparison.counts, &comparison.suite);
    let mut text = match counts.perhaps_worse {
        0 => "the suite may have got worse".to_owned(),
        1 => "1 example passes less often, perhaps by chance".to_owned(),
        more => format!("{more} examples pass less often, perhaps by chance"),
    };
    if let (Some(margin), Assessment::CannotTell) = (comparison.rules.margin, suite.verdict) {
        text = format!("«not worse by more than {}» is not shown", points(margin));
        if let Some(drop) = comparison.possible_drop() {
            text += &format!(": a drop of up to {} is possible", points(drop));
        }
    }
    let of_examples = comparison.examples.iter().filter_map(|change| change.repeats_to_tell).max();
    match suite.repeats_to_tell.or(of_examples) {
        Some(repeats) => format!(
            "{text}; about {repeats} repeats a side would tell (`proctor run --repeat {repeats}`, 80 % power)"
        ),
        None => text,
    }
}
