//! Whether one outcome per run decides on an example, and the reason.
//!
//! | on either side | |
//! |---|---|
//! | both outcomes in one run, or known to be flaky | varies, whatever is declared |
//! | `deterministic: false` | varies |
//! | a live model, or an agent of which nothing is known | varies |
//! | `deterministic: true`, a scripted agent, or no model | deterministic |
//!
//! The first row that applies decides.

use std::fmt;

use crate::earlier_runs::ExampleHistory;
use crate::pair::Pair;
use crate::side::ExampleResults;

/// Why an example counts as deterministic, or why it does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Determinism {
    /// The project says `deterministic: true`.
    Declared,
    /// The agent's answers are a script.
    Scripted,
    /// No model was called, and no agent answered that could be one.
    NoModel,
    /// The example passed and failed in one run.
    BothOutcomes,
    /// Earlier runs disagree; the text says how.
    KnownFlaky(String),
    /// The project says `deterministic: false`.
    DeclaredVarying,
    /// A live model answered.
    ModelTakesPart,
    /// An agent answered without model calls that Proctor could see, and nothing is declared of it.
    UnknownAgent,
}

impl Determinism {
    pub(crate) fn of(pair: &Pair<'_>, record: Option<&ExampleHistory>) -> Self {
        let sides = [pair.after, pair.before];
        let attempts = || sides.into_iter().flat_map(|side| &side.trials);
        if sides.into_iter().any(has_both_outcomes) {
            return Self::BothOutcomes;
        }
        if let Some(how) = record.and_then(|record| record.flaky.clone()) {
            return Self::KnownFlaky(how);
        }
        match pair.after.deterministic.or(pair.before.deterministic) {
            Some(false) => Self::DeclaredVarying,
            _ if attempts().any(|attempt| attempt.model && !attempt.unknown_agent) => {
                Self::ModelTakesPart
            }
            _ if attempts().any(|attempt| attempt.model) => Self::UnknownAgent,
            Some(true) => Self::Declared,
            None if sides.into_iter().any(|side| side.scripted) => Self::Scripted,
            None => Self::NoModel,
        }
    }

    pub(crate) fn is_deterministic(&self) -> bool {
        matches!(self, Self::Declared | Self::Scripted | Self::NoModel)
    }
}

fn has_both_outcomes(side: &ExampleResults) -> bool {
    let (passed, attempts) = side.tally();
    side.mixed || (passed > 0 && passed < attempts)
}

impl fmt::Display for Determinism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Declared => "it is declared deterministic",
            Self::Scripted => "the agent's answers are scripted",
            Self::NoModel => "no model takes part",
            Self::BothOutcomes => "both outcomes were seen in one run",
            Self::KnownFlaky(how) => return write!(f, "it is known to be flaky: {how}"),
            Self::DeclaredVarying => "it is declared not deterministic",
            Self::ModelTakesPart => "a model takes part",
            Self::UnknownAgent => "whether the agent calls a model is not known",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::side::CountedAttempt;

    fn example(passed: &[bool]) -> ExampleResults {
        let trials =
            passed.iter().map(|passed| CountedAttempt { passed: *passed, ..Default::default() });
        ExampleResults { trials: trials.collect(), ..ExampleResults::default() }
    }

    fn with_model(unknown_agent: bool) -> ExampleResults {
        let attempt =
            CountedAttempt { passed: true, model: true, unknown_agent, ..Default::default() };
        ExampleResults { trials: vec![attempt], ..ExampleResults::default() }
    }

    fn declared(deterministic: bool) -> ExampleResults {
        ExampleResults { deterministic: Some(deterministic), ..example(&[true]) }
    }

    fn scripted() -> ExampleResults {
        ExampleResults { scripted: true, ..example(&[true]) }
    }

    /// The reason in words, whichever of the two sides is before.
    fn reason(one: &ExampleResults, other: &ExampleResults) -> (bool, String) {
        let found = Determinism::of(&Pair { before: one, after: other }, None);
        assert_eq!(found, Determinism::of(&Pair { before: other, after: one }, None));
        (found.is_deterministic(), found.to_string())
    }

    #[test]
    fn what_is_declared_deterministic() {
        assert_eq!(
            reason(&declared(true), &declared(true)),
            (true, "it is declared deterministic".to_owned())
        );
        let both = ExampleResults { scripted: true, ..declared(true) };
        assert_eq!(reason(&both, &both).1, "it is declared deterministic");
    }

    #[test]
    fn a_scripted_agent_is_not_said_to_be_declared() {
        assert_eq!(
            reason(&scripted(), &scripted()),
            (true, "the agent's answers are scripted".to_owned())
        );
    }

    #[test]
    fn an_example_without_a_model() {
        let plain = example(&[true]);
        assert_eq!(reason(&plain, &plain), (true, "no model takes part".to_owned()));
    }

    #[test]
    fn both_outcomes_count_more_than_a_declaration() {
        for other in [declared(true), scripted(), example(&[true])] {
            let differs = ExampleResults { deterministic: Some(true), ..example(&[true, false]) };
            let words = (false, "both outcomes were seen in one run".to_owned());
            assert_eq!(reason(&differs, &other), words);
            let retried = ExampleResults { mixed: true, ..declared(true) };
            assert_eq!(reason(&retried, &other), words);
        }
    }

    #[test]
    fn a_flaky_example_varies_whatever_is_declared() {
        let flaky = Some("both outcomes in run 7".to_owned());
        let record = ExampleHistory { flaky, ..ExampleHistory::default() };
        for side in [declared(true), scripted(), example(&[true])] {
            let pair = Pair { before: &side, after: &side };
            let found = Determinism::of(&pair, Some(&record));
            assert!(!found.is_deterministic());
            assert_eq!(found.to_string(), "it is known to be flaky: both outcomes in run 7");
        }
    }

    #[test]
    fn what_is_declared_not_deterministic_varies_though_scripted() {
        let side = ExampleResults { scripted: true, ..declared(false) };
        assert_eq!(reason(&side, &side), (false, "it is declared not deterministic".to_owned()));
    }

    #[test]
    fn a_model_on_one_side_is_enough() {
        for other in [declared(true), scripted(), example(&[true]), with_model(true)] {
            let words = (false, "a model takes part".to_owned());
            assert_eq!(reason(&with_model(false), &other), words);
        }
    }

    #[test]
    fn an_agent_of_which_nothing_is_known_is_not_called_a_model() {
        for other in [scripted(), example(&[true]), with_model(true)] {
            assert_eq!(
                reason(&with_model(true), &other),
                (false, "whether the agent calls a model is not known".to_owned())
            );
        }
    }
}
