//! What a run is expected to do, said in one of four ways.

use std::fmt;
use std::str::FromStr;

use proctor_text::has_mask;
use regex::Regex;

/// What a run is expected to do.
#[derive(Clone, Debug)]
pub enum Expectation {
    /// The tests that a runner counts pass.
    Pass,
    /// Tests that a runner counts fail.
    Fail,
    /// This exit code.
    Exit(i32),
    /// The output matches.
    Match(Regex),
}

impl PartialEq for Expectation {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pass => f.write_str("pass"),
            Self::Fail => f.write_str("fail"),
            Self::Exit(code) => write!(f, "exit:{code}"),
            Self::Match(pattern) => write!(f, "match:{pattern}"),
        }
    }
}

/// A text that is not an expectation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadExpectation {
    /// Not one of the four forms.
    #[error("`{0}` is not an expectation: use pass, fail, exit:N or match:RE")]
    Form(String),
    /// Not a number.
    #[error("`{0}` is not an exit code: use a number as in exit:1")]
    Code(String),
    /// A secret was masked in it when it was kept. Read as a regular expression, the mask would match almost anything.
    #[error(
        "`{0}` holds [redacted] in place of a secret, which is not kept: state an expectation without it"
    )]
    Masked(String),
    /// Not a regular expression.
    #[error("`{pattern}` is not a regular expression: {reason}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl FromStr for Expectation {
    type Err = BadExpectation;

    fn from_str(text: &str) -> Result<Self, BadExpectation> {
        match text.split_once(':') {
            None if text == "pass" => Ok(Self::Pass),
            None if text == "fail" => Ok(Self::Fail),
            Some(("exit", code)) => code
                .trim()
                .parse()
                .map(Self::Exit)
                .map_err(|_| BadExpectation::Code(code.to_owned())),
            Some(("match", pattern)) if has_mask(pattern) => {
                Err(BadExpectation::Masked(pattern.to_owned()))
            }
            Some(("match", pattern)) => {
                Regex::new(pattern).map(Self::Match).map_err(|error| BadExpectation::Pattern {
                    pattern: pattern.to_owned(),
                    reason: error.to_string().lines().last().unwrap_or_default().to_owned(),
                })
            }
            _ => Err(BadExpectation::Form(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_four_forms_round_trip() {
        for text in ["pass", "fail", "exit:3", "match:a|b: c"] {
            assert_eq!(text.parse::<Expectation>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_forms_are_refused_with_the_way_out() {
        let refused = |text: &str| text.parse::<Expectation>().unwrap_err().to_string();
        assert_eq!(
            refused("green"),
            "`green` is not an expectation: use pass, fail, exit:N or match:RE"
        );
        assert_eq!(refused("exit:x"), "`x` is not an exit code: use a number as in exit:1");
        // As a class of characters it would be found in almost every output.
        assert!(refused("match:[redacted]").contains("in place of a secret"));
        assert!(r"match:\[redacted\]".parse::<Expectation>().is_ok());
        assert!(refused("match:(").starts_with("`(` is not a regular expression: "));
    }
}
