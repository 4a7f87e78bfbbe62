//! The limits of a run: what the call says, else the configuration, else the default. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::ToolError;

const MAX_ITERATIONS: u64 = 5;
const MAX_RUNTIME_SECS: u64 = 300;
const LONGEST_RUNTIME_SECS: u64 = 24 * 60 * 60;

/// Where a limit comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitSource {
    /// A parameter of `test_run`, or `run` in a workspace file.
    Call,
    /// The `config` of `test_setup`, or the workspace's `ralph.yml`.
    Configuration,
    /// Nobody said anything.
    Default,
}

/// A limit and where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunLimit {
    /// The limit.
    pub value: u64,
    /// Where it comes from.
    pub from: LimitSource,
}

/// The limits that hold for a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunLimits {
    /// Most iterations.
    pub max_iterations: RunLimit,
    /// Most seconds.
    pub max_runtime_secs: RunLimit,
    /// Failed calls in a row that end the loop; absent where the orchestrator knows no such limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_consecutive_failures: Option<RunLimit>,
}

/// What the call or the configuration says, as far as it says something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct GivenLimits {
    pub(crate) max_iterations: Option<u64>,
    pub(crate) max_runtime_secs: Option<u64>,
    pub(crate) max_consecutive_failures: Option<u64>,
}

impl RunLimits {
    /// The limits that hold. `default_failures` is the orchestrator's own.
    pub(crate) fn resolve(
        call: GivenLimits,
        configuration: GivenLimits,
        default_failures: Option<u64>,
    ) -> Result<Self, ToolError> {
        let first = |call: Option<u64>, configuration: Option<u64>, default: u64| {
            let given = call.map(|value| RunLimit { value, from: LimitSource::Call });
            let configured =
                configuration.map(|value| RunLimit { value, from: LimitSource::Configuration });
            let default = RunLimit { value: default, from: LimitSource::Default };
            given.or(configured).unwrap_or(default)
        };
        let limits = Self {
            max_iterations: first(
                call.max_iterations,
                configuration.max_iterations,
                MAX_ITERATIONS,
            ),
            max_runtime_secs: first(
                call.max_runtime_secs,
                configuration.max_runtime_secs,
                MAX_RUNTIME_SECS,
            ),
            max_consecutive_failures: default_failures.map(|default| {
                first(
                    call.max_consecutive_failures,
                    configuration.max_consecutive_failures,
                    default,
                )
            }),
        };
        check("max_iterations", limits.max_iterations, u32::MAX.into())?;
        check("max_runtime_secs", limits.max_runtime_secs, LONGEST_RUNTIME_SECS)?;
        Ok(limits)
    }
}

fn check(name: &str, limit: RunLimit, most: u64) -> Result<(), ToolError> {
    let RunLimit { value, from } = limit;
    if (1..=most).contains(&value) {
        return Ok(());
    }
    let error = ToolError::invalid(format!("{name} must be between 1 and {most}, not {value}"));
    Err(match from {
        LimitSource::Configuration => {
            error.hint(format!("the configuration says so; test_run with {name} overrides it"))
        }
        _ => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(value: Option<u64>) -> GivenLimits {
        GivenLimits {
            max_iterations: value,
            max_runtime_secs: value,
            max_consecutive_failures: value,
        }
    }

    #[test]
    fn the_call_comes_before_the_configuration_and_that_before_the_default() {
        let none = given(None);
        for (call, configuration, value, from) in [
            (given(Some(7)), given(Some(8)), Some(7), LimitSource::Call),
            (none, given(Some(8)), Some(8), LimitSource::Configuration),
            (none, none, None, LimitSource::Default),
        ] {
            let limits = RunLimits::resolve(call, configuration, Some(3)).unwrap();
            let all = [
                (limits.max_iterations, 5),
                (limits.max_runtime_secs, 300),
                (limits.max_consecutive_failures.unwrap(), 3),
            ];
            for (limit, default) in all {
                assert_eq!(limit, RunLimit { value: value.unwrap_or(default), from });
            }
        }
        let without = RunLimits::resolve(none, given(Some(8)), None).unwrap();
        assert_eq!(without.max_consecutive_failures, None);
    }

    #[test]
    fn a_limit_out_of_range_is_refused_wherever_it_comes_from() {
        let bad = |call, configuration| {
            RunLimits::resolve(given(call), given(configuration), None).unwrap_err().to_string()
        };
        assert!(bad(Some(0), None).contains("max_iterations must be between 1"));
        assert!(bad(None, Some(0)).contains("the configuration says so"));
        assert!(bad(None, Some(86_401)).contains("max_runtime_secs must be between 1 and 86400"));
        assert!(RunLimits::resolve(given(Some(1)), given(Some(0)), None).is_ok());
    }
}
