//! Pass rates: how many repetitions passed of those that say something, and whether that is enough.

use std::fmt;

use serde::Serialize;

use crate::Evidence;

/// Repetitions of one or more examples by what they say about what was tested.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Rate {
    /// Those that passed.
    pub passed: u64,
    /// Those that say something.
    pub valid: u64,
    /// Those that were made and say nothing.
    pub void: u64,
    /// Those that have not ended, were cut short or were left out: they might have gone either way.
    pub open: u64,
}

/// Where a demanded pass rate stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RateState {
    /// No outcome of the open repetitions can take it away.
    Reached,
    /// No outcome of the open repetitions can reach it.
    Missed,
    /// It depends on open repetitions, or nothing valid was seen.
    Open,
}

impl Rate {
    /// Counts a repetition that was made to its end.
    pub fn count(&mut self, evidence: Evidence) {
        match evidence {
            Evidence::For => {
                self.passed += 1;
                self.valid += 1;
            }
            Evidence::Against => self.valid += 1,
            Evidence::Nothing => self.void += 1,
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            valid: self.valid + other.valid,
            void: self.void + other.void,
            open: self.open + other.open,
        }
    }

    /// Whether every repetition counted and passed.
    pub fn is_perfect(self) -> bool {
        self.passed == self.valid && self.void == 0 && self.open == 0
    }

    /// The share that passed, between 0 and 1, for display; decisions use [`Rate::against`].
    pub fn share(self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "numbers of repetitions, for display")]
        (self.valid > 0).then(|| self.passed as f64 / self.valid as f64)
    }

    /// Whether the demanded rate is reached, missed, or not settled.
    ///
    /// All open repetitions may fail, may pass, or may say nothing; the final rate lies between the first two.
    pub fn against(self, wanted: PassRate) -> RateState {
        let most = self.valid + self.open;
        if most == 0 {
            return RateState::Open;
        }
        if self.valid > 0 && wanted.is_reached_by(self.passed, most) {
            RateState::Reached
        } else if !wanted.is_reached_by(self.passed + self.open, most) {
            RateState::Missed
        } else {
            RateState::Open
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, valid, void, .. } = self;
        let noun = proctor_text::plural(*valid, "repetition", "repetitions");
        write!(f, "passed {passed} of {valid} valid {noun}")?;
        if *void > 0 { write!(f, ", {void} not valid") } else { Ok(()) }
    }
}

/// A demanded share of passes, kept as the decimal number that was written, so that 7 of 125 reach 0.056.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PassRate {
    numerator: u64,
    denominator: u64,
}

impl PassRate {
    /// A share between 0 and 1; `None` for anything else, which leaves an example without a rate: all of it must pass.
    pub fn new(share: f64) -> Option<Self> {
        if !(0.0..=1.0).contains(&share) {
            return None;
        }
        // The shortest text that means this number: what a person wrote.
        let text = format!("{share}");
        let decimals: String = text.split_once('.').map_or("", |(_, after)| after).to_owned();
        // Beyond 17 digits nothing a person wrote is left.
        let decimals: String = decimals.chars().take(17).collect();
        let denominator = 10_u64.pow(u32::try_from(decimals.len()).ok()?);
        let whole = if share >= 1.0 { denominator } else { 0 };
        let part: u64 = if decimals.is_empty() { 0 } else { decimals.parse().ok()? };
        Some(Self { numerator: whole + part, denominator })
    }

    /// Whether so many passes of so many are enough, exactly.
    pub fn is_reached_by(self, passed: u64, valid: u64) -> bool {
        u128::from(passed) * u128::from(self.denominator)
            >= u128::from(self.numerator) * u128::from(valid)
    }

    /// The share as a percentage, without trailing zeros: `80%`, `5.6%`.
    pub fn percent(self) -> String {
        let scaled = u128::from(self.numerator) * 100;
        let (whole, rest) =
            (scaled / u128::from(self.denominator), scaled % u128::from(self.denominator));
        let width = self.denominator.ilog10() as usize;
        let rest = format!("{rest:0width$}");
        match rest.trim_end_matches('0') {
            "" => format!("{whole}%"),
            rest => format!("{whole}.{rest}%"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rate(share: f64) -> PassRate {
        PassRate::new(share).unwrap()
    }

    #[test]
    fn v5_the_boundary_of_a_rate_is_exact() {
        assert!(rate(0.056).is_reached_by(7, 125));
        assert!(!rate(0.056).is_reached_by(6, 125));
        assert!(rate(0.1).is_reached_by(3, 30) && rate(0.3).is_reached_by(3, 10));
        assert!(!rate(0.67).is_reached_by(2, 3) && rate(0.66).is_reached_by(2, 3));
        assert!(rate(1.0).is_reached_by(5, 5) && !rate(1.0).is_reached_by(4, 5));
        assert!(rate(0.0).is_reached_by(0, 5));
    }

    #[test]
    fn a_share_outside_0_to_1_is_none() {
        for share in [-0.1, 1.000_1, 1.5, f64::NAN, f64::INFINITY] {
            assert_eq!(PassRate::new(share), None, "{share}");
        }
        assert!(PassRate::new(0.0).is_some() && PassRate::new(1.0).is_some());
    }

    #[test]
    fn percentages_read_as_they_were_meant() {
        let shown = |share| rate(share).percent();
        assert_eq!(shown(0.8), "80%");
        assert_eq!(shown(0.056), "5.6%");
        assert_eq!(shown(1.0), "100%");
        assert_eq!(shown(0.0), "0%");
        assert_eq!(shown(0.995), "99.5%");
        assert_eq!(shown(0.105), "10.5%");
    }

    #[test]
    fn open_repetitions_keep_a_rate_open_until_they_cannot_change_it() {
        let of = |passed, valid, open| Rate { passed, valid, open, void: 0 };
        let wanted = rate(0.6);
        assert_eq!(of(2, 2, 3).against(wanted), RateState::Open);
        assert_eq!(of(3, 3, 2).against(wanted), RateState::Reached);
        assert_eq!(of(0, 2, 3).against(wanted), RateState::Open);
        assert_eq!(of(0, 3, 2).against(wanted), RateState::Missed);
        assert_eq!(of(0, 0, 0).against(wanted), RateState::Open, "nothing valid is no pass");
        assert_eq!(of(0, 0, 0).against(rate(0.0)), RateState::Open);
        assert_eq!(of(0, 0, 3).against(rate(0.0)), RateState::Open, "nothing was seen yet");
        assert_eq!(of(0, 1, 3).against(rate(0.0)), RateState::Reached);
    }

    #[test]
    fn rates_add_up_and_are_shown_with_what_they_rest_on() {
        let mut sum = Rate::default();
        for evidence in [Evidence::For, Evidence::Against, Evidence::Nothing] {
            sum.count(evidence);
        }
        assert_eq!(sum, Rate { passed: 1, valid: 2, void: 1, open: 0 });
        assert_eq!(sum.to_string(), "passed 1 of 2 valid repetitions, 1 not valid");
        let one = Rate { passed: 1, valid: 1, void: 0, open: 0 };
        assert_eq!(one.to_string(), "passed 1 of 1 valid repetition");
        let open = Rate { open: 4, ..one };
        assert_eq!(sum.plus(open), Rate { passed: 2, valid: 3, void: 1, open: 4 });
        assert_eq!(sum.plus(sum), Rate { passed: 2, valid: 4, void: 2, open: 0 });
        assert_eq!(open.plus(open).open, 8);
        assert_eq!((sum.share(), Rate::default().share()), (Some(0.5), None));
        assert!(one.is_perfect() && !open.is_perfect() && !sum.is_perfect());
        assert!(!Rate { passed: 1, valid: 2, ..Rate::default() }.is_perfect());
        assert!(!Rate { void: 1, ..one }.is_perfect());
    }

    proptest! {
        /// Whatever is settled stays so, however the rest turns out; and in the end it is the plain rate.
        #[test]
        fn settled_is_settled(
            thousandths in 0_u64..=1000,
            outcomes in prop::collection::vec(0_usize..3, 1..14),
        ) {
            #[expect(clippy::cast_precision_loss, reason = "at most 1000")]
            let wanted = rate(thousandths as f64 / 1000.0);
            let mut now = Rate { open: outcomes.len() as u64, ..Rate::default() };
            let mut settled = RateState::Open;
            for outcome in &outcomes {
                now.open -= 1;
                now.count([Evidence::For, Evidence::Against, Evidence::Nothing][*outcome]);
                let state = now.against(wanted);
                prop_assert!(settled == RateState::Open || state == settled || now.valid + now.open == 0);
                settled = state;
            }
            let expected = if now.valid == 0 {
                RateState::Open
            } else if now.passed * 1000 >= thousandths * now.valid {
                RateState::Reached
            } else {
                RateState::Missed
            };
            prop_assert_eq!(settled, expected);
        }
    }
}
