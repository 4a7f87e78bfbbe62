//! The lines of a cassette.
//!
//! The first line is `{"cassette":2, …}` with metadata of the run; every
//! other line is an [`Entry`]. A newer version is refused; members that are not known are ignored
//! by the player and never written over, since a cassette is only ever written anew. A last line
//! that was torn by a crash is dropped.
//!
//! Version 1 had the same lines; its requests of conversations held only what was asked (no models, limits or
//! tools), and its judges' answers no marks.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{ErrorKind, ModelError};
use crate::request::{ConversationId, Purpose};

/// The version this crate writes, and the newest it reads.
pub const VERSION: u64 = 2;

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The answer: of a model, an [`Answer`](crate::Answer) as JSON; of a tool, its result.
    Answer(Value),
    /// The failure of the peer.
    Error(ModelError),
}

/// One call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its place in the file, in the order in which calls ended.
    pub seq: u64,
    /// What the model was asked for.
    pub kind: Purpose,
    /// The conversation that the request belongs to.
    #[serde(rename = "lane")]
    pub conversation: ConversationId,
    /// The number of the call among those of its kind and conversation, in the order of requests.
    pub n: u64,
    /// Hash of the request.
    pub hash: String,
    /// The request in canonical form, without secrets.
    pub request: Value,
    /// What came of it.
    pub outcome: Outcome,
}

/// The first line.
pub(crate) fn header(about: &Map<String, Value>) -> String {
    // Written by hand so that the version comes first, whatever order the JSON library keeps.
    format!("{{\"cassette\":{VERSION},\"about\":{}}}", Value::Object(about.clone()))
}

/// The version and the entries of a cassette.
pub(crate) fn parse(text: &str, name: &str) -> Result<(u64, Vec<Entry>), ModelError> {
    let wrong = |message: String| ModelError::new(ErrorKind::Storage, message);
    let mut lines = text.lines().enumerate();
    let first: Value = lines
        .next()
        .and_then(|(_, line)| serde_json::from_str(line).ok())
        .ok_or_else(|| wrong(format!("{name} is not a cassette: the first line is not JSON")))?;
    let version = match first.get("cassette").and_then(Value::as_u64) {
        Some(version) if version <= VERSION => version,
        Some(version) => {
            return Err(wrong(format!(
                "{name} is a cassette of version {version}, and this proctor reads versions up to {VERSION}; upgrade proctor, or record the cassette again"
            )));
        }
        None => {
            return Err(wrong(format!("{name} is not a cassette: the first line has no version")));
        }
    };
    let torn = !text.ends_with('\n');
    let count = text.lines().count();
    let mut entries = Vec::new();
    for (index, line) in lines {
        match serde_json::from_str(line) {
            Ok(entry) => entries.push(entry),
            Err(_) if torn && index + 1 == count => {}
            Err(problem) => {
                return Err(wrong(format!(
                    "{name}, line {}: malformed entry: {problem}",
                    index + 1
                )));
            }
        }
    }
    Ok((version, entries))
}
