//! The suite kind `*.workspace.yaml`: set-up, mock, run and assertions in one file.
//!
//! [`read`] turns text into a checked [`WorkspaceFile`] or a list of problems with line and column; [`schema`]
//! is its JSON schema; [`run`] performs it in a workspace of its own and removes that afterwards.

mod perform;
mod read;
mod schema;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::assertion::Assertion;
use crate::cassette::Cassette;
use crate::contained_path::{PathProblem, RelPath};
use crate::error::ToolError;
use crate::mock::MockResponse;
use crate::orchestrator::{Backend, Orchestrator};
use crate::tools::run::MOST_REPEATS;

pub use perform::{Outcome, run};
pub use proctor_yaml::FileProblem;
pub use read::read;
pub use schema::schema;

/// How a file's name ends.
pub const ENDING: &str = ".workspace.yaml";

/// A test of an orchestrator in one file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceFile {
    /// What is tested: the example's name.
    #[schemars(regex(pattern = r"\S"))]
    pub name: String,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Tags to select it by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(regex(pattern = r"\S")))]
    pub tags: Vec<String>,
    /// Why it is not run at present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"\S"))]
    pub pending: Option<String>,
    /// The workspace.
    #[serde(default)]
    pub setup: SetupSection,
    /// What the scripted model answers, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mock: Vec<MockResponse>,
    /// The run.
    pub run: RunSection,
    /// What must hold afterwards.
    #[serde(rename = "assert")]
    #[schemars(length(min = 1))]
    pub assertions: Vec<Assertion>,
    /// The cassette that `run.cassette` names, once [`WorkspaceFile::load_cassette`] has read it.
    #[serde(skip)]
    pub recorded: Option<Cassette>,
}

/// Why the cassette that a file names cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("run.cassette: {name}: {problem}")]
pub struct CassetteFileError {
    name: String,
    #[source]
    problem: CassetteFileProblem,
}

#[derive(Debug, thiserror::Error)]
enum CassetteFileProblem {
    /// Without the path, which the message names already.
    #[error("{}", .0.why)]
    Path(PathProblem),
    #[error(transparent)]
    Unreadable(#[from] std::io::Error),
    #[error("its {size} bytes are more than {LARGEST_CASSETTE}")]
    TooLarge { size: u64 },
    #[error(transparent)]
    NotACassette(#[from] serde_json::Error),
    #[error("{}", .0.message)]
    Version(ToolError),
}

/// The largest cassette that is read, in bytes.
const LARGEST_CASSETTE: u64 = 64 << 20;

impl WorkspaceFile {
    /// Makes the paths of `setup.read` absolute, from the folder that the file stands in.
    pub fn resolve_read(&mut self, folder: &Path) {
        for path in &mut self.setup.read {
            let joined = folder.join(&path);
            *path = std::path::absolute(&joined).unwrap_or(joined);
        }
    }

    /// Reads the cassette that the file names, from the folder that the file stands in.
    pub fn load_cassette(&mut self, folder: &Path) -> Result<(), CassetteFileError> {
        let Some(name) = &self.run.cassette else { return Ok(()) };
        let read = read_cassette(folder, name);
        let failed = |problem| CassetteFileError { name: name.clone(), problem };
        self.recorded = Some(read.map_err(failed)?);
        Ok(())
    }
}

fn read_cassette(folder: &Path, name: &str) -> Result<Cassette, CassetteFileProblem> {
    let inside = RelPath::parse(name).map_err(CassetteFileProblem::Path)?;
    let path = folder.join(inside.as_str());
    let size = std::fs::metadata(&path)?.len();
    if size > LARGEST_CASSETTE {
        return Err(CassetteFileProblem::TooLarge { size });
    }
    let cassette: Cassette =
        serde_json::from_slice(&proctor_files::read(&path, LARGEST_CASSETTE)?)?;
    cassette.check().map_err(CassetteFileProblem::Version)?;
    Ok(cassette)
}

/// The workspace of a file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetupSection {
    /// Files to create: path relative to the workspace → content.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fixtures: BTreeMap<String, String>,
    /// Overrides of the orchestrator's configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
    /// The scratchpad as the first iteration finds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scratchpad: Option<String>,
    /// Which orchestrator (default: ralph).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orchestrator: Option<Orchestrator>,
    /// Files and folders outside of the workspace that mock runs may read; relative to the folder of this file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<PathBuf>,
    /// Make the workspace a git repository of its own.
    #[serde(default)]
    pub git: bool,
}

/// The run of a file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunSection {
    /// The task for the orchestrator.
    #[schemars(regex(pattern = r"\S"))]
    pub task: String,
    /// Which model answers (default `mock`).
    #[serde(default)]
    pub backend: Backend,
    /// Most iterations (default: what the configuration says, else 5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_iterations: Option<u32>,
    /// Most seconds (default: what the configuration says, else 300).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86_400))]
    pub max_runtime_secs: Option<u64>,
    /// Environment variables for the run; `null` passes on our own value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("propertyNames" = {"pattern": "^[^=]+$"}))]
    pub env: BTreeMap<String, Option<String>>,
    /// Run this many times from the same state; every assertion must hold in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MOST_REPEATS))]
    pub repeat: Option<u32>,
    /// Replay this cassette instead of `mock`: a file of JSON (from `test_inspect` with format `cassette`), named from this file's
    /// folder. The assertion `no_drift` tells whether the run is still the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cassette: Option<String>,
    /// Refuse the run unless it can be confined completely (backend `mock` only). Without it, what this machine lacks is a warning.
    #[serde(default)]
    pub require_confinement: bool,
    /// Too few responses are part of the test, not a mistake in it.
    #[serde(default)]
    pub allow_exhausted: bool,
}
