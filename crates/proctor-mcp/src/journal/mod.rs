//! The nine tools of the GHAP journal. The rules are the journal's own; here are the words for a model.

mod read;
mod refusal;
mod sessions;
mod view;
mod write;

use serde::Deserialize;

pub(crate) use refusal::journal_error;

use crate::table::Tool;
use proctor_tools::schema;

/// The rows.
pub(crate) fn tools() -> Vec<Tool> {
    let mut all = write::tools();
    all.extend(read::tools());
    all.extend(sessions::tools());
    all
}

fn domains(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schema::words(proctor_journal::Domain::ALL.iter().map(|word| word.as_str()))
}

fn strategies(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schema::words(proctor_journal::Strategy::ALL.iter().map(|word| word.as_str()))
}

fn outcomes(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schema::words(proctor_journal::OutcomeStatus::ALL.iter().map(|word| word.as_str()))
}

/// Parameters of a tool that needs nothing but the lane.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct LaneParams {
    /// Your own lane, if several agents work at once: letters, digits, `_`, `-`. Leave out for the main journal.
    #[serde(default)]
    lane: Option<String>,
}
