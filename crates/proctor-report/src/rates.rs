//! How often an example passed, out of the attempts that say something about it.

use std::fmt;

use proctor_events::{Fault, Status};
use proctor_record::{Attempt, Example};
use proctor_stats::{Interval, Z95, clustered, pass_at_k, pass_hat_k, wilson};

/// A pass rate. It is never shown without the number of attempts it rests on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rate {
    pub(crate) passed: u64,
    pub(crate) valid: u64,
    /// Attempts that ended, but say nothing about what was tested.
    pub(crate) invalid: u64,
}

impl Rate {
    pub(crate) fn of(example: &Example) -> Self {
        let mut rate = Self::default();
        example.attempts.iter().for_each(|attempt| rate.count(attempt));
        rate
    }

    /// By the last attempt of every repetition: a retry replaces what it repeats.
    pub(crate) fn of_repeats(example: &Example) -> Self {
        let mut rate = Self::default();
        example.deciding_attempts().for_each(|attempt| rate.count(attempt));
        rate
    }

    fn count(&mut self, attempt: &Attempt) {
        match &attempt.status {
            // Not an attempt at all, or none yet.
            None | Some(Status::Pending | Status::Cancelled | Status::NotRun) => {}
            Some(status) if blameless(status, attempt.fault.as_ref()) => self.invalid += 1,
            Some(status) => {
                self.valid += 1;
                self.passed += u64::from(*status == Status::Passed);
            }
        }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            valid: self.valid + other.valid,
            invalid: self.invalid + other.invalid,
        }
    }

    /// Whether every attempt counted and passed.
    pub(crate) fn is_perfect(self) -> bool {
        self.passed == self.valid && self.invalid == 0
    }

    /// The interval in which the true rate is to be expected, with 95 % confidence, in percent.
    pub(crate) fn interval(self) -> Option<(f64, f64)> {
        let Interval { low, high } = wilson(self.passed, self.valid, Z95);
        (self.valid > 0).then_some((low * 100.0, high * 100.0))
    }

    /// The chances that one of `k` attempts passes, and that all of them do; nothing where fewer were valid.
    pub(crate) fn of_k(self, k: u64) -> Option<(f64, f64)> {
        Some((pass_at_k(self.valid, self.passed, k)?, pass_hat_k(self.valid, self.passed, k)?))
    }

    pub(crate) fn percent(self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "counts of attempts are small")]
        let share = |passed: u64, valid: u64| 100.0 * passed as f64 / valid as f64;
        (self.valid > 0).then(|| share(self.passed, self.valid))
    }
}

/// The interval of the rate over several examples, with 95 % confidence, in percent. Attempts at one example resemble each
/// other, so it rests on the examples.
pub(crate) fn common_interval(rates: &[Rate]) -> Option<(f64, f64)> {
    let counts: Vec<(u64, u64)> = rates.iter().map(|rate| (rate.passed, rate.valid)).collect();
    let Interval { low, high } = clustered(&counts);
    counts.iter().any(|(_, valid)| *valid > 0).then_some((low * 100.0, high * 100.0))
}

/// Whether an example with a pass rate of its own has reached it; nothing where it has none, or nothing valid ran.
pub(crate) fn gate(example: &Example) -> Option<bool> {
    let wanted = example.pass_rate?;
    let rate = Rate::of_repeats(example);
    Some(rate.percent()? / 100.0 >= wanted)
}

/// Whether an outcome must not be held against what was tested.
fn blameless(status: &Status, fault: Option<&Fault>) -> bool {
    *status == Status::Inconclusive
        || matches!(fault, Some(Fault::Judge | Fault::Simulator | Fault::Harness))
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, valid, invalid } = self;
        write!(f, "passed {passed}/{valid} valid attempts")?;
        if *invalid > 0 { write!(f, ", {invalid} not valid") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_attempts_that_say_something_count() {
        let attempt = |status: &str, fault: Option<&str>| Attempt {
            status: Some(Status::from(status)),
            fault: fault.map(Fault::from),
            ..Attempt::default()
        };
        let example = Example {
            attempts: vec![
                attempt("passed", None),
                attempt("failed", None),
                attempt("errored", Some("agent")),
                attempt("errored", Some("harness")),
                attempt("inconclusive", Some("judge")),
                attempt("inconclusive", None),
                attempt("pending", None),
                attempt("not_run", None),
                Attempt::default(),
            ],
            ..Example::default()
        };
        let rate = Rate::of(&example);
        assert_eq!(rate, Rate { passed: 1, valid: 3, invalid: 3 });
        assert_eq!(rate.to_string(), "passed 1/3 valid attempts, 3 not valid");
        assert_eq!(Rate::default().percent(), None);
    }
}
