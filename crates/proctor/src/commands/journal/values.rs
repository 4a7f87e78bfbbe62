//! How the values of journal arguments are read, and the format that every journal command can print.

use clap::Args;
use clap::builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser};
use proctor_journal::capture::Expectation;
use proctor_journal::{Domain, OutcomeStatus, Strategy};

use crate::cli::Format;

/// Text as it was typed: bytes that are not UTF-8 become U+FFFD.
pub(super) fn text() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().map(|text| text.to_string_lossy().into_owned())
}

pub(super) fn domain() -> impl TypedValueParser<Value = Domain> {
    PossibleValuesParser::new(Domain::ALL.iter().map(|word| word.as_str()))
        .try_map(|word| word.parse::<Domain>())
}

pub(super) fn strategy() -> impl TypedValueParser<Value = Strategy> {
    PossibleValuesParser::new(Strategy::ALL.iter().map(|word| word.as_str()))
        .try_map(|word| word.parse::<Strategy>())
}

pub(super) fn status() -> impl TypedValueParser<Value = OutcomeStatus> {
    PossibleValuesParser::new(OutcomeStatus::ALL.iter().map(|word| word.as_str()))
        .try_map(|word| word.parse::<OutcomeStatus>())
}

pub(super) fn expectation(text: &str) -> Result<Expectation, String> {
    text.parse().map_err(|problem: proctor_journal::capture::BadExpectation| problem.to_string())
}

/// What a changing command prints.
#[derive(Debug, Args)]
pub(crate) struct Printed {
    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}
