//! The closed-looking words of the format: statuses, faults, reasons.
//!
//! Each is an open set on the wire. A word from a newer writer is kept as `Other` and written back
//! unchanged; code that must decide treats it as the cautious choice.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! words {
    ($(
        $(#[doc = $doc:literal])+
        $Name:ident or $Default:ident { $( $(#[doc = $vdoc:literal])+ $Variant:ident = $word:literal, )+ }
    )+) => { $(
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $Name {
            $( $(#[doc = $vdoc])+ $Variant, )+
            /// A word this version does not know.
            Other(Box<str>),
        }

        impl $Name {
            /// Every word this version knows, in order of definition.
            pub const KNOWN: &'static [&'static str] = &[$($word),+];

            /// The word as it stands in JSON.
            pub fn as_str(&self) -> &str {
                match self {
                    $( Self::$Variant => $word, )+
                    Self::Other(word) => word,
                }
            }
        }

        /// The cautious choice, for a value that was not set.
        impl Default for $Name {
            fn default() -> Self {
                Self::$Default
            }
        }

        impl From<&str> for $Name {
            fn from(word: &str) -> Self {
                match word {
                    $( $word => Self::$Variant, )+
                    other => Self::Other(other.into()),
                }
            }
        }

        impl fmt::Display for $Name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl Serialize for $Name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $Name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Cow::<'de, str>::deserialize(deserializer).map(|word| Self::from(&*word))
            }
        }

        impl JsonSchema for $Name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($Name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "description": concat!($($doc, "\n"),+).trim(),
                    "anyOf": [{"enum": Self::KNOWN}, {"type": "string"}],
                })
            }
        }
    )+ };
}

words! {
    /// How an attempt at an example ended.
    Status or NotRun {
        /// It did what was asked.
        Passed = "passed",
        /// A hard expectation did not hold.
        Failed = "failed",
        /// Skipped, or known not to work yet.
        Pending = "pending",
        /// No verdict could be reached, through no fault of the agent.
        Inconclusive = "inconclusive",
        /// The attempt broke down: see `fault`.
        Errored = "errored",
        /// Its worker process died.
        Crashed = "crashed",
        /// It ran longer than it may.
        TimedOut = "timed_out",
        /// It was cut short on request.
        Cancelled = "cancelled",
        /// It never started.
        NotRun = "not_run",
    }

    /// Whose failure an errored or inconclusive attempt was.
    Fault or Harness {
        /// The agent under test.
        Agent = "agent",
        /// The simulated user.
        Simulator = "simulator",
        /// The judge.
        Judge = "judge",
        /// A tool that the host executed.
        Tool = "tool",
        /// Proctor or the machine it runs on.
        Harness = "harness",
    }

    /// How a run came to its end. A run that died says nothing.
    RunEnding or DidNotLoad {
        /// Everything that was to run has a result.
        Finished = "finished",
        /// It was stopped before its end.
        Stopped = "stopped",
        /// A suite could not be loaded, so nothing ran.
        DidNotLoad = "did_not_load",
        /// There was nothing to run.
        NothingFound = "nothing_found",
    }

    /// What stopped a run before its end.
    StopReason or Request {
        /// The terminal went away.
        Sighup = "SIGHUP",
        /// Ctrl-C.
        Sigint = "SIGINT",
        /// Ctrl-\\.
        Sigquit = "SIGQUIT",
        /// A request to terminate.
        Sigterm = "SIGTERM",
        /// A person or program asked for it.
        Request = "request",
        /// The run's own time limit.
        TimeLimit = "time_limit",
    }

    /// Why a simulation ended.
    TerminationReason or Error {
        /// The turn limit was reached.
        MaxTurns = "max_turns",
        /// A stop condition held.
        StopCondition = "stop_condition",
        /// The goal was reached.
        GoalReached = "goal_reached",
        /// Something broke.
        Error = "error",
        /// The wall-clock limit was reached.
        Timeout = "timeout",
    }

    /// Who wrote a user message.
    MessageSource or Unknown {
        /// The simulated user.
        Simulator = "simulator",
        /// The test itself.
        Script = "script",
        /// Not recorded.
        Unknown = "unknown",
    }

    /// What moved a conversation to another topic.
    TopicTrigger or Initial {
        /// A trigger of the topic matched.
        TriggerMatch = "trigger_match",
        /// The judge classified the turn.
        JudgeClassification = "judge_classification",
        /// The conversation began here.
        Initial = "initial",
    }

    /// What kind of check an invariant is.
    InvariantType or Custom {
        /// A criterion for the judge.
        Quality = "quality",
        /// A pattern over text.
        Pattern = "pattern",
        /// A tool call that must or must not happen.
        ToolCall = "tool_call",
        /// Claims that must be backed by tool results.
        Grounding = "grounding",
        /// The test's own code.
        Custom = "custom",
    }

    /// Whether an evaluation decides the verdict.
    EvaluationMode or Hard {
        /// It decides pass or fail.
        Hard = "hard",
        /// It is recorded as quality.
        Soft = "soft",
    }

    /// A standard stream of a worker.
    OutputStream or Stdout {
        /// Standard output.
        Stdout = "stdout",
        /// Standard error.
        Stderr = "stderr",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_the_future_survives() {
        let status: Status = serde_json::from_str(r#""quarantined""#).unwrap();
        assert_eq!(status, Status::Other("quarantined".into()));
        assert_eq!(serde_json::to_string(&status).unwrap(), r#""quarantined""#);
    }

    #[test]
    fn every_known_word_is_its_own_inverse() {
        for word in Status::KNOWN {
            let status = Status::from(*word);
            assert!(!matches!(status, Status::Other(_)), "{word}");
            assert_eq!(status.as_str(), *word);
        }
    }
}
