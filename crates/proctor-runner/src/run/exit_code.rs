//! From what happened to the exit code. Pure.

use proctor_events::StatusCounts;

/// What the exit code depends on.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    pub(super) counts: StatusCounts,
    pub(super) total: u64,
    pub(super) accounted: bool,
    pub(super) errors: u64,
    /// Nothing could be run: a load error, for instance.
    pub(super) unusable: bool,
    pub(super) flaky_fails: bool,
    pub(super) inconclusive_fails: bool,
    pub(super) allow_empty: bool,
}

/// 0 passed, 1 something failed, 2 nothing trustworthy ran.
pub(super) fn exit_code(facts: &Facts) -> u8 {
    let count = |value: Option<u64>| value.unwrap_or_default();
    let counts = &facts.counts;
    let failures = count(counts.failed)
        + count(counts.errored)
        + count(counts.crashed)
        + count(counts.timed_out)
        + count(counts.cancelled)
        + count(counts.not_run)
        + if facts.inconclusive_fails { count(counts.inconclusive) } else { 0 }
        + if facts.flaky_fails { count(counts.flaky) } else { 0 };
    match facts {
        Facts { unusable: true, .. } => 2,
        Facts { total: 0, errors: 0, .. } => {
            if facts.allow_empty {
                0
            } else {
                2
            }
        }
        Facts { total: 0, .. } => 2,
        Facts { accounted: false, .. } => 1,
        _ => u8::from(failures > 0 || facts.errors > 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(change: impl FnOnce(&mut Facts)) -> u8 {
        let counts = StatusCounts {
            passed: Some(3),
            pending: Some(1),
            flaky: Some(1),
            ..Default::default()
        };
        let mut facts = Facts {
            counts,
            total: 4,
            accounted: true,
            inconclusive_fails: true,
            ..Facts::default()
        };
        change(&mut facts);
        exit_code(&facts)
    }

    #[test]
    fn the_table_of_the_design() {
        assert_eq!(code(|_| {}), 0, "pending and flaky are allowed");
        assert_eq!(code(|f| f.flaky_fails = true), 1);
        assert_eq!(code(|f| f.counts.failed = Some(1)), 1);
        assert_eq!(code(|f| f.counts.crashed = Some(1)), 1);
        assert_eq!(code(|f| f.counts.timed_out = Some(1)), 1);
        assert_eq!(code(|f| f.counts.errored = Some(1)), 1);
        assert_eq!(code(|f| f.counts.not_run = Some(1)), 1, "what did not run did not pass");
        assert_eq!(code(|f| f.counts.inconclusive = Some(1)), 1);
        assert_eq!(code(|f| (f.counts.inconclusive, f.inconclusive_fails) = (Some(1), false)), 0);
        assert_eq!(code(|f| f.errors = 1), 1, "an error outside examples after some ran");
        assert_eq!(code(|f| f.accounted = false), 1, "an example got lost");
        assert_eq!(code(|f| f.unusable = true), 2);
        assert_eq!(code(|f| f.total = 0), 2);
        assert_eq!(code(|f| (f.total, f.allow_empty) = (0, true)), 0);
    }
}
