//! The closed vocabularies of the journal: domains, strategies, outcomes and confidence tiers.
//!
//! One macro makes each enum, so that help texts, tool schemas and validators are fed from the
//! same list (`ALL`) and cannot drift apart. Nothing here holds state.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A word that is not in one of the closed vocabularies.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} `{found}`: use one of {allowed}")]
pub struct UnknownWord {
    /// Which vocabulary was consulted, for example `domain`.
    pub what: &'static str,
    /// The word that was given.
    pub found: String,
    /// The words that would have been accepted, comma separated.
    pub allowed: String,
}

macro_rules! vocabulary {
    ($(#[$meta:meta])* $name:ident, $what:literal, { $($(#[$vmeta:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$vmeta])* $variant,)* }

        impl $name {
            /// Every value, in the order of the specification.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The word used in files, flags and schemas.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;

            fn from_str(word: &str) -> Result<Self, UnknownWord> {
                match word {
                    $($word => Ok(Self::$variant),)*
                    _ => Err(UnknownWord {
                        what: $what,
                        found: word.to_owned(),
                        allowed: [$($word,)*].join(", "),
                    }),
                }
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Word;
                impl serde::de::Visitor<'_> for Word {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!("the name of a ", $what))
                    }
                    fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<$name, E> {
                        word.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Word)
            }
        }
    };
}

vocabulary! {
    /// The kind of work an entry belongs to.
    Domain, "domain", {
        /// Finding the cause of wrong behaviour.
        Debugging = "debugging",
        /// Changing structure, not behaviour.
        Refactoring = "refactoring",
        /// Adding behaviour.
        Feature = "feature",
        /// Writing or repairing tests.
        Testing = "testing",
        /// Settings, build, environment.
        Configuration = "configuration",
        /// Explaining.
        Documentation = "documentation",
        /// Making it faster or smaller.
        Performance = "performance",
        /// Making it safe.
        Security = "security",
        /// Making parts work together.
        Integration = "integration",
    }
}

vocabulary! {
    /// How the work is approached.
    Strategy, "strategy", {
        /// Rule causes out one by one.
        SystematicElimination = "systematic-elimination",
        /// Try and see.
        TrialAndError = "trial-and-error",
        /// Read before acting.
        ResearchFirst = "research-first",
        /// Split the problem.
        DivideAndConquer = "divide-and-conquer",
        /// Ask why until it stops.
        RootCauseAnalysis = "root-cause-analysis",
        /// Follow a working example.
        CopyFromSimilar = "copy-from-similar",
        /// Test what is taken for granted.
        CheckAssumptions = "check-assumptions",
        /// Take the message at its word.
        ReadTheError = "read-the-error",
        /// Ask a person.
        AskUser = "ask-user",
    }
}

vocabulary! {
    /// How an entry ended.
    OutcomeStatus, "outcome status", {
        /// What was predicted happened.
        Confirmed = "confirmed",
        /// What was predicted did not happen.
        Falsified = "falsified",
        /// The outcome was never determined.
        Abandoned = "abandoned",
    }
}

vocabulary! {
    /// How far an outcome can be trusted, by the way it was captured.
    ConfidenceTier, "confidence tier", {
        /// Captured from a test or build whose result was predicted beforehand.
        Gold = "gold",
        /// Resolved by hand.
        Silver = "silver",
        /// A hypothesis found to be poor afterwards; never assigned by this crate.
        Bronze = "bronze",
        /// The goal was given up.
        Abandoned = "abandoned",
    }
}

/// Root-cause categories worth suggesting. The field itself is free text.
pub const ROOT_CAUSES: &[&str] = &[
    "wrong-assumption",
    "missing-knowledge",
    "oversight",
    "environment-issue",
    "misleading-symptom",
    "incomplete-fix",
    "wrong-scope",
    "test-isolation",
    "timing-issue",
];

impl ConfidenceTier {
    /// The tier of an outcome: abandoned, else gold when it was captured automatically, else silver.
    pub const fn of(status: OutcomeStatus, auto_captured: bool) -> Self {
        match (status, auto_captured) {
            (OutcomeStatus::Abandoned, _) => Self::Abandoned,
            (_, true) => Self::Gold,
            (_, false) => Self::Silver,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip_and_refusals_list_the_alternatives() {
        for domain in Domain::ALL {
            assert_eq!(domain.as_str().parse::<Domain>().unwrap(), *domain);
        }
        for strategy in Strategy::ALL {
            assert_eq!(strategy.as_str().parse::<Strategy>().unwrap(), *strategy);
        }
        let refused = "debuging".parse::<Domain>().unwrap_err().to_string();
        assert!(refused.starts_with("unknown domain `debuging`: use one of debugging, "));
    }

    #[test]
    fn tier_follows_the_way_of_capture() {
        assert_eq!(ConfidenceTier::of(OutcomeStatus::Abandoned, true), ConfidenceTier::Abandoned);
        assert_eq!(ConfidenceTier::of(OutcomeStatus::Falsified, true), ConfidenceTier::Gold);
        assert_eq!(ConfidenceTier::of(OutcomeStatus::Confirmed, false), ConfidenceTier::Silver);
    }
}
